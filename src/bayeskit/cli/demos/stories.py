"""What the demonstration tells of each table (what is left out, what is at stake), and its words in both languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ALIASES = {"melon": "melon8"}


@dataclass(frozen=True)
class Story:
    """What to do with the answers on one table.

    Attributes
    ----------
    exclude : tuple of column names
        Columns that are not used.
    loss : {action: {class: cost}} or None
        None is one for each mistake.
    reject : float or None
        What it costs not to decide.
    likely : class or None
        A row of which this is the most probable class is shown, because there the loss speaks against it.
    actions, stake, why_left_out : by language
    """

    loss: Mapping[str, Mapping[Any, float]] | None = None
    reject: float | None = None
    likely: Any = None
    exclude: tuple[str, ...] = ()
    actions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    stake: Mapping[str, str] = field(default_factory=dict)
    why_left_out: Mapping[str, str] = field(default_factory=dict)


_ANY = Story(
    reject=0.2,
    stake={
        "en": "A mistake costs 1; to ask someone who knows costs 0.2.",
        "zh": "判错的代价为 1；请教懂行的人代价为 0.2。",
    },
)
_MELON = Story(
    loss={"buy": {"是": 0.0, "否": 5.0}, "leave": {"是": 1.0, "否": 0.0}},
    likely="是",
    actions={"zh": {"buy": "买下", "leave": "放弃"}},
    stake={
        "en": "To buy a bad melon costs 5; to leave a good one costs 1.",
        "zh": "买到坏瓜的代价为 5；错过好瓜的代价为 1。",
    },
)
STORIES: Mapping[str, Story] = {
    "adult": Story(
        loss={"write": {"<=50K": 1.0, ">50K": 0.0}, "skip": {"<=50K": 0.0, ">50K": 4.0}},
        likely="<=50K",
        exclude=("fnlwgt", "race", "sex", "native-country"),
        actions={"zh": {"write": "寄信", "skip": "不寄"}},
        stake={
            "en": "A letter about a savings plan costs 1 if sent in vain; not to write to someone over 50K costs 4.",
            "zh": "白寄一封理财推荐信的代价为 1；漏寄给收入超过 50K 的人，代价为 4。",
        },
        why_left_out={
            "en": "fnlwgt is a sampling weight; race, sex and origin are left out on purpose.",
            "zh": "fnlwgt 是抽样权重；种族、性别与籍贯有意不用。",
        },
    ),
    "mushroom": Story(
        loss={"eat": {"e": 0.0, "p": 100.0}, "leave": {"e": 1.0, "p": 0.0}},
        likely="e",
        actions={"zh": {"eat": "吃", "leave": "不吃"}},
        stake={
            "en": "To eat a poisonous mushroom (p) costs 100; to leave an edible one (e) costs 1.",
            "zh": "吃下毒蘑菇（p）的代价为 100；放弃可食的蘑菇（e）代价为 1。",
        },
    ),
    "melon8": _MELON,
    "melon2": _MELON,
    "melon2-missing": _MELON,
    "melon3": _MELON,
}

# Tables of texts: a column of sentences is no attribute with states.
TEXTS = ("sms", "news")


def story_of(table: str) -> Story:
    """Return the story of a table; one with a right to refuse where none was written."""
    return STORIES.get(table, _ANY)


def known_names() -> tuple[str, ...]:
    """List the names that the demonstration knows, the short ones first.

    Examples
    --------
    >>> known_names()[:2]
    ('melon', 'melon8')
    """
    from bayeskit.datasets.dataset import REGISTRY

    return (*ALIASES, *(name for name in REGISTRY if name not in TEXTS))


def table_name(name: str) -> str | None:
    """Return the table that a name means, None where there is none.

    Examples
    --------
    >>> table_name("melon"), table_name("pear")
    ('melon8', None)
    """
    return ALIASES.get(name, name) if name in known_names() else None


WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "reading": "reading {name}",
        "training": "training on {n} rows",
        "compiling": "compiling, once: the loops are kept for the next time",
        "validating": "cross-validating {model}",
        "rows": "{n:,} rows, {d} attributes; to be predicted: {target}",
        "sampled": "{used:,} of its {n:,} rows, drawn at random, are used here.",
        "not_used": "Not used: {names}. {why}",
        "columns": "1. What was understood of the columns",
        "column": "column",
        "read_as": "read as",
        "states": "{n} states",
        "missing": "missing",
        "suggestion": "might also suit",
        "table": "a table",
        "bernoulli": "yes or no",
        "compare": "2. Models on the same {k} folds: each row is judged by a model that never saw it",
        "model": "model",
        "error": "error",
        "log_loss": "log-loss",
        "brier": "Brier",
        "cpu": "CPU s",
        "winner": "{model} errs least, in {error} of the rows",
        "winners": "{models} err least, each in {error} of the rows",
        "winner_same": ", and {model} has the best probabilities (log-loss {loss:.3f}).",
        "winner_too": ", and has the best probabilities (log-loss {loss:.3f}).",
        "winner_other": "; {model} has the best probabilities (log-loss {loss:.3f}).",
        "ours": " {model} errs in {error}, in 1/{ratio:.0f} of the CPU time of {best}.",
        "too_sure": " The probabilities of {model} are worse than knowing nothing: it is too sure of itself here.",
        "explain": "3. Row {row} by hand (it is {truth})",
        "decide": "4. What to do about it",
        "action": "action",
        "risk": "risk: Σ cost · P",
        "most_probable": "The most probable class is {label}; the action of least risk is: {action}.",
        "rejected": "The most probable class is {label}; to say so risks {risk:.3g}, more than {reject:g}, so: ask.",
        "next": "next:",
    },
    "zh": {
        "reading": "读取 {name}",
        "training": "用 {n} 个样本训练",
        "compiling": "正在编译（仅此一次）：编译结果会保存备用",
        "validating": "交叉验证 {model}",
        "rows": "{n:,} 个样本，{d} 个属性；预测目标：{target}",
        "sampled": "此处随机抽取全部 {n:,} 个样本中的 {used:,} 个。",
        "not_used": "未使用：{names}。{why}",
        "columns": "1. 对各列的理解",
        "column": "列",
        "read_as": "读作",
        "states": "{n} 个取值",
        "missing": "缺失",
        "suggestion": "也可考虑",
        "table": "概率表",
        "bernoulli": "是或否",
        "compare": "2. 各模型在相同的 {k} 折上比较：每个样本都由未见过它的模型判断",
        "model": "模型",
        "error": "错误率",
        "log_loss": "对数损失",
        "brier": "Brier",
        "cpu": "CPU 秒",
        "logistic regression": "对数几率回归",
        "random forest": "随机森林",
        "majority class": "多数类",
        "winner": "{model}的错误率最低，为 {error}",
        "winners": "{models}的错误率同为最低，为 {error}",
        "winner_same": "，其中{model}的概率最好（对数损失 {loss:.3f}）。",
        "winner_too": "，其概率也最好（对数损失 {loss:.3f}）。",
        "winner_other": "；概率最好的是{model}（对数损失 {loss:.3f}）。",
        "ours": "{model} 的错误率为 {error}，CPU 时间为{best}的 1/{ratio:.0f}。",
        "too_sure": "{model} 的概率还不如一无所知：在此过于自信。",
        "explain": "3. 手算样本 {row}（实为 {truth}）",
        "decide": "4. 据此如何行动",
        "action": "行动",
        "risk": "风险：Σ 代价 · P",
        "most_probable": "最可能的类是 {label}；风险最小的行动是：{action}。",
        "rejected": "最可能的类是 {label}；如此断定的风险为 {risk:.3g}，高于 {reject:g}，因此：请教他人。",
        "next": "下一步：",
    },
}


def words_of(lang: str) -> Mapping[str, str]:
    """Return the words of a language."""
    return WORDS[lang]
