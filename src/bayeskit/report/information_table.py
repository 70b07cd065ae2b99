r"""How much each attribute tells about the class, and each pair about each other: a table from the counts.

The function ``information`` has a module of another name, because a package cannot hold both under one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import DataTypeError, SettingError, UsageError
from bayeskit.report.page import Page
from bayeskit.report.words import words_of
from bayeskit.schema import Name
from bayeskit.statistics import Statistics
from bayeskit.statistics.information import class_information, entropy, pair_information

Floats = NDArray[np.float64]

# No variance is below this share of the attribute's variance over all classes, as in the Gaussian family.
_FLOOR = 1e-9


@dataclass(frozen=True)
class Told:
    """What one attribute tells about the class, in nats, over the rows where it is present.

    Attributes
    ----------
    name : hashable
    states : int, or None for a numeric attribute
    entropy : float
        H(X); of a numeric attribute that of its density, which may be below 0 and depends on the unit.
    information : float
        I(X; Y); of a numeric attribute as if it were Gaussian, overall and in each class, and at most H(Y).
    share : float
        I(X; Y)/H(Y), between 0 and 1.
    """

    name: Name
    states: int | None
    entropy: float
    information: float
    share: float


@dataclass(frozen=True)
class Shared:
    """What two attributes share when the class is known: I(X_i; X_j | Y) in nats."""

    first: Name
    second: Name
    information: float


@dataclass(frozen=True)
class InformationTable:
    """Rows about attributes (:class:`Told`) or pairs (:class:`Shared`), the most telling first.

    ``str`` and notebooks show it as a table.
    """

    target: Name
    n_classes: int
    entropy: float
    rows: tuple[Any, ...]
    lang: str = "en"

    def __str__(self) -> str:
        from bayeskit.report.text import as_text

        return as_text(_page(self))

    def _repr_html_(self) -> str:
        from bayeskit.report.html import as_html

        return as_html(_page(self))


def information(source: object, *, lang: str = "en") -> InformationTable:
    """Return what each attribute tells about the class, sorted by I(X; Y).

    Parameters
    ----------
    source : a fitted or lazy classifier, or its Statistics
        Raw counts are used: neither smoothing nor class weights have a part in it. The columns of a block of
        words are not listed.
    lang : "en" or "zh"

    Examples
    --------
    >>> from bayeskit import NaiveBayes, datasets
    >>> melon = datasets.load("melon3")
    >>> table = information(NaiveBayes().fit(melon.X, melon.y))
    >>> [(row.name, round(row.information, 4)) for row in table.rows[:2]]
    [('纹理', 0.2638), ('脐部', 0.2004)]
    """
    words_of(lang)
    statistics = _statistics_of(source)
    rows = sorted(
        [*_categorical(statistics), *_numeric(statistics)], key=lambda row: -round(row.information, 12)
    )
    target = statistics.schema.target
    return InformationTable(
        target.name, target.size, float(entropy(statistics.class_counts)), tuple(rows), lang
    )


def pairs(source: object, top: int | None = 10, *, lang: str = "en") -> InformationTable:
    """Return the pairs of attributes that share most when the class is known, sorted by I(X_i; X_j | Y).

    Parameters
    ----------
    source : a classifier that counts pairs, such as TAN or AODE, or its Statistics
    top : int, optional
        How many; all of them for None.
    lang : "en" or "zh"

    Examples
    --------
    >>> from bayeskit import TAN, datasets
    >>> melon = datasets.load("melon2")
    >>> best = pairs(TAN().fit(melon.X, melon.y), top=1).rows[0]
    >>> best.first, best.second, round(best.information, 6)
    ('根蒂', '脐部', 0.597535)
    """
    words_of(lang)
    whole = isinstance(top, (int, np.integer)) and not isinstance(top, bool)
    if top is not None and (not whole or top < 1):
        raise SettingError(f"top is {top!r}; give a number of pairs of at least 1, or None for all.")
    statistics = _statistics_of(source)
    if "pairs" not in statistics.parts:
        raise UsageError(
            "These statistics hold no pairs of attributes. Fit a model that counts them, such as TAN or AODE."
        )
    shared = pair_information(statistics.parts["pairs"])  # type: ignore[arg-type]
    names = [v.name for v in statistics.schema.categorical]
    i, j = np.triu_indices(len(names), 1)
    found = shared[i, j]
    order = np.argsort(-np.round(found, 12), kind="stable")[:top]
    rows = tuple(Shared(names[i[q]], names[j[q]], float(found[q])) for q in order)
    target = statistics.schema.target
    return InformationTable(target.name, target.size, float(entropy(statistics.class_counts)), rows, lang)


def _statistics_of(source: object) -> Statistics:
    statistics = source if isinstance(source, Statistics) else getattr(source, "statistics_", None)
    if not isinstance(statistics, Statistics):
        raise DataTypeError(
            f"A {type(source).__name__} has no statistics. Pass a fitted classifier of bayeskit."
        )
    return statistics


def _categorical(statistics: Statistics) -> list[Told]:
    schema = statistics.schema
    tell = class_information(statistics.tables.counts, schema.offsets)
    rows = []
    for variable, told in zip(schema.categorical, tell.tolist()):
        counts = statistics.table(variable.name)
        of_class = float(entropy(counts.sum(axis=0)))
        rows.append(
            Told(
                variable.name, variable.size, float(entropy(counts.sum(axis=1))), told, _share(told, of_class)
            )
        )
    return rows


def _numeric(statistics: Statistics) -> list[Told]:
    """I = ½ Σ_c P(c) log(σ²/σ_c²), over the rows where the attribute is present."""
    schema = statistics.schema
    if not schema.numeric:
        return []
    pooled = statistics.moments.pooled()
    classes = statistics.moments.rescaled(pooled.exponent)
    overall, weight = pooled.held_variance()[0], classes.weight
    varies = overall > 0.0
    overall = np.where(varies, overall, 1.0)
    within = np.maximum(classes.held_variance(), _FLOOR * overall)
    share = weight / np.maximum(weight.sum(axis=0), 1e-300)
    gain = np.where(varies, 0.5 * (share * np.log(overall / within)).sum(axis=0), 0.0)
    # log σ² = log of the held variance + 2·exponent·log 2. What is constant has no density.
    spread = 0.5 * (np.log(2.0 * np.pi * np.e * overall) + 2.0 * np.log(2.0) * pooled.exponent)
    rows = []
    for m, variable in enumerate(schema.numeric):
        of_class = float(entropy(weight[:, m]))
        # The Gaussian has the largest entropy of all, so that this may say more than there is to know.
        told = float(min(max(gain[m], 0.0), of_class))
        height = float(spread[m]) if varies[m] else -np.inf
        rows.append(Told(variable.name, None, height, told, _share(told, of_class)))
    return rows


def _share(told: float, of_class: float) -> float:
    return min(told / of_class, 1.0) if of_class > 0.0 else 0.0


def _page(table: InformationTable) -> Page:
    words = words_of(table.lang)
    header: tuple[str, ...]
    cells: list[tuple[str, ...]]
    last: tuple[str, ...]
    if table.rows and isinstance(table.rows[0], Shared):
        header = (words["attribute"], words["attribute"], "I(X;X'|Y)")
        cells = [(str(row.first), str(row.second), _nats(row.information)) for row in table.rows]
        last = (str(table.target), "", f"H(Y) = {_nats(table.entropy)}")
    else:
        header = (words["attribute"], words["states"], "H(X)", "I(X;Y)", words["of_entropy"])
        cells = [
            (
                str(row.name),
                words["number"] if row.states is None else str(row.states),
                _nats(row.entropy),
                _nats(row.information),
                f"{100 * row.share:.1f}%",
            )
            for row in table.rows
        ]
        last = (str(table.target), str(table.n_classes), _nats(table.entropy), "", "")
    title = words["information_title"].format(target=table.target)
    return Page(title, header, tuple(cells), (last,), (words["nats"],))


def _nats(x: float) -> str:
    return "−∞" if x == -np.inf else f"{x:.4f}".replace("-", "−")
