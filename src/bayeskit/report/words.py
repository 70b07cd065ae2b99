"""The words of a report, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

from bayeskit.errors import SettingError
from bayeskit.messages import Joined

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "title": "{target} is {label} with probability {p}",
        "value": "value",
        "prior": "P({target})",
        "prior_given": "P({target}), as given",
        "prior_unused": "P({target}), not used",
        "prior_nothing": "nothing known",
        "share": "share",
        "super_parent": "all given {name}",
        "super_parent_weighed": "all given {name}, weight {weight}",
        "log_odds": "log-odds",
        "log_odds_note": "log-odds: ln of the factor of {a} over that of {b}; they add up to the last one.",
        "log_odds_only": "log-odds: ln of the number of {a} over that of {b}; within a block they add up.",
        "joint": "product",
        "sum": "sum of blocks",
        "rest": "together",
        "evidence": "sum of products",
        "posterior": "posterior",
        "calibrated": "calibrated",
        "risk": "R({action} | x)",
        "decision": "decision",
        "rejected": "{action}, at the cost of {cost}",
        "risk_note": "R(a | x): the cost of a in each class times the posterior, summed; the least is taken.",
        "left_out": "Left out: {names} ({why}).",
        "summed": "Summed over (Σ): {names} ({why}).",
        "summed_why": "not known in this row, but others depend on it",
        "unused_why": "not taken into the model",
        "same_why": "its factor is the same in every class",
        "general_why": "follows from another value of the row",
        "missing": "missing",
        "missing_why": "missing in this row",
        "unseen_why": "a value never learned",
        "constant_why": "the same in every row learned",
        "treated": "{value} (as missing)",
        "present": "{n} of {width} columns",
        "impossible": "Every class has a product of 0, so the answer is the class prior.",
        "others": "Other classes: {list}.",
        "tables": "(n+a)/(N+A): n of N rows of the class have the value; a and A are the prior's imaginary rows.",
        "back_off": "(n+c·p)/(N+c): p is the estimate with a parent less (or 1 over the states), c its weight.",
        "given": "v | u=w: n and N count rows that have w, too.",
        "average": "Each block is P(c, x_i) ∏ P(x_j | c, x_i) with another x_i; share: of the sum of the first class.",
        "weights": "Each block is multiplied by its weight before they are added.",
        "folded": "Blocks shown without their factors: {n}; explanation.average.super_parents has all.",
        "alone": "No value was seen often enough for its attribute to be a super-parent: naive Bayes answers.",
        "by_value": "Each factor is P(c, x) with the value over that without it; together: what they say beyond that.",
        "density_note": "Densities may exceed 1.",
        "information_title": "What the attributes tell about {target}",
        "attribute": "attribute",
        "states": "states",
        "number": "number",
        "of_entropy": "of H(Y)",
        "nats": "Entropies and information in nats, each over the rows where the attribute is present.",
        "separator": ", ",
        "gap": " ",
    },
    "zh": {
        "title": "{target} 为 {label}，概率 {p}",
        "value": "取值",
        "prior": "P({target})",
        "prior_given": "P({target})（给定）",
        "prior_unused": "P({target})（未用）",
        "prior_nothing": "一无所知时",
        "share": "占比",
        "super_parent": "以 {name} 为超父",
        "super_parent_weighed": "以 {name} 为超父，权重 {weight}",
        "log_odds": "对数几率",
        "log_odds_note": "对数几率：ln（{a} 的因子 / {b} 的因子），相加即得最后一行。",
        "log_odds_only": "对数几率：ln（{a} 的数值 / {b} 的数值），每一块内可相加。",
        "joint": "乘积",
        "sum": "各块之和",
        "rest": "共同作用",
        "evidence": "乘积之和",
        "posterior": "后验概率",
        "calibrated": "校准后",
        "risk": "R({action} | x)",
        "decision": "决策",
        "rejected": "{action}（代价 {cost}）",
        "risk_note": "R(a | x)：行动 a 在各类下的代价乘以后验概率，再求和；取风险最小者。",
        "left_out": "未计入：{names}（{why}）。",
        "summed": "求和消去（Σ）：{names}（{why}）。",
        "summed_why": "此样本中未知，但有属性依赖它",
        "unused_why": "模型未采用",
        "same_why": "其因子在各类中相同",
        "general_why": "可由此样本的另一取值推出",
        "missing": "缺失",
        "missing_why": "此样本缺失",
        "unseen_why": "训练中未见过的取值",
        "constant_why": "训练中取值恒定",
        "treated": "{value}（按缺失）",
        "present": "{width} 列中的 {n} 列",
        "impossible": "每一类的乘积都为 0，因此给出类先验。",
        "others": "其他类：{list}。",
        "tables": "(n+a)/(N+A)：该类 N 个样本中有 n 个取此值；a 与 A 是先验带来的虚拟样本数。",
        "back_off": "(n+c·p)/(N+c)：p 为少一个父属性时的估计（或状态数的倒数），c 为其权重。",
        "given": "v | u=w：n 与 N 只计同时取 w 的样本。",
        "average": "每一块为 P(c, x_i) ∏ P(x_j | c, x_i)，各取一个 x_i；占比：在第一类之和中所占。",
        "weights": "各块先乘以权重再相加。",
        "folded": "另有 {n} 块未列出因子，见 explanation.average.super_parents。",
        "alone": "没有取值出现得足够多，故无超父，由朴素贝叶斯作答。",
        "by_value": "每个因子为含此取值的 P(c, x) 与不含时之比；共同作用为其余部分。",
        "density_note": "密度可大于 1。",
        "information_title": "各属性关于 {target} 的信息",
        "attribute": "属性",
        "states": "取值数",
        "number": "数值",
        "of_entropy": "占 H(Y)",
        "nats": "熵与信息以奈特计，均按该属性不缺失的样本计算。",
        "separator": "、",
        "gap": "",
    },
}


def words_of(lang: str) -> Mapping[str, str]:
    """Return the words of a language.

    Examples
    --------
    >>> words_of("zh")["posterior"]
    '后验概率'
    """
    try:
        return WORDS[lang]
    except (KeyError, TypeError):
        raise SettingError(
            "lang is {lang!r}; choose from {names}.", lang=lang, names=Joined(map(repr, WORDS))
        ) from None
