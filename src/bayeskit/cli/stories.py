"""What the demonstration tells of each table: what is left out, and what is at stake."""

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
