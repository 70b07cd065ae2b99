r"""Mutual information of each attribute with the class, and of pairs of attributes, from counts.

The function ``information`` has a module of another name, because a package cannot hold both under one.

Mutual information is biased upwards for columns with many values: with a thousand values in a few thousand
rows, even an irrelevant column seems informative. This expected value under chance can be subtracted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bayeskit._display_table import DisplayTable
from bayeskit._report.words import words_of
from bayeskit._schema import Name
from bayeskit._statistics.information import class_information, entropy, mixture_information, pair_information
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import DataTypeError, SettingError, UsageError

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier

Floats = NDArray[np.float64]

# No variance is below this share of the attribute's variance over all classes, as in the Gaussian family.
_FLOOR = 1e-9


@dataclass(frozen=True)
class AttributeInformation:
    """The information of one attribute about the class, in nats, over the rows where it is present.

    Attributes
    ----------
    name : hashable
    states : int, or None for a numeric attribute
    entropy : float
        H(X). For a numeric attribute, the differential entropy, which may be negative and depends on the
        unit.
    information : float
        I(X; Y). For a numeric attribute, that of a normal distribution in each class.
    share : float
        I(X; Y)/H(Y), between 0 and 1.
    """

    name: Name
    states: int | None
    entropy: float
    information: float
    share: float


@dataclass(frozen=True)
class PairInformation:
    """The conditional mutual information of two attributes, I(X_i; X_j | Y), in nats."""

    first: Name
    second: Name
    information: float


@dataclass(frozen=True)
class InformationTable:
    """Rows about attributes (:class:`AttributeInformation`) or pairs (:class:`PairInformation`), the largest first.

    Prints as a table, also in notebooks.
    """

    target: Name
    n_classes: int
    entropy: float
    rows: tuple[Any, ...]
    lang: str = "en"

    def __str__(self) -> str:
        from bayeskit._display_table import as_text

        return as_text(_page(self))

    def _repr_html_(self) -> str:
        from bayeskit._display_table import notebook_html

        return notebook_html(_page(self))


def information(source: object, *, lang: str = "en") -> InformationTable:
    """Return the mutual information of each attribute with the class, sorted by I(X; Y).

    Parameters
    ----------
    source : a fitted or lazy classifier, or its Statistics
        Raw counts are used, without smoothing and class weights. The columns of a block of words are not
        listed.
    lang : "en" or "zh"

    Examples
    --------
    >>> from bayeskit import NaiveBayes, datasets
    >>> melon = datasets.load_dataset("melon3")
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


def pairs(source: object, most: int | None = 10, *, lang: str = "en") -> InformationTable:
    """Return the pairs of attributes sorted by conditional mutual information, I(X_i; X_j | Y).

    Parameters
    ----------
    source : a classifier that counts pairs, such as TAN or AODE, or its Statistics
    most : int, optional
        The maximum number of pairs; None for all.
    lang : "en" or "zh"

    Examples
    --------
    >>> from bayeskit import TAN, datasets
    >>> melon = datasets.load_dataset("melon2")
    >>> best = pairs(TAN().fit(melon.X, melon.y), most=1).rows[0]
    >>> best.first, best.second, round(best.information, 6)
    ('根蒂', '脐部', 0.597535)
    """
    words_of(lang)
    whole = isinstance(most, (int, np.integer)) and not isinstance(most, bool)
    if most is not None and (not whole or most < 1):
        raise SettingError(
            "most is {most!r}; give a number of pairs of at least 1, or None for all.", most=most
        )
    statistics = _statistics_of(source)
    if "pairs" not in statistics.parts:
        raise UsageError(
            "These statistics contain no pairs of attributes. Fit a model that counts them, such as TAN or "
            "AODE."
        )
    shared = pair_information(statistics.parts["pairs"])  # type: ignore[arg-type]
    names = [v.name for v in statistics.schema.categorical]
    i, j = np.triu_indices(len(names), 1)
    found = shared[i, j]
    order = np.argsort(-np.round(found, 12), kind="stable")[:most]
    rows = tuple(PairInformation(names[i[q]], names[j[q]], float(found[q])) for q in order)
    target = statistics.schema.target
    return InformationTable(target.name, target.size, float(entropy(statistics.class_counts)), rows, lang)


def _statistics_of(source: object) -> Statistics:
    statistics = source if isinstance(source, Statistics) else getattr(source, "statistics_", None)
    if not isinstance(statistics, Statistics):
        raise DataTypeError(
            "A {kind} has no statistics. Pass a fitted bayeskit classifier.", kind=type(source).__name__
        )
    return statistics


def _categorical(statistics: Statistics) -> list[AttributeInformation]:
    schema = statistics.schema
    tell = class_information(statistics.tables.counts, schema.offsets)
    rows = []
    for variable, gain in zip(schema.categorical, tell.tolist(), strict=True):
        counts = statistics.table(variable.name)
        of_class = float(entropy(counts.sum(axis=0)))
        rows.append(
            AttributeInformation(
                variable.name, variable.size, float(entropy(counts.sum(axis=1))), gain, _share(gain, of_class)
            )
        )
    return rows


def _numeric(statistics: Statistics) -> list[AttributeInformation]:
    """Return I(X; Y) of a number that is normal in each class, over the rows where it is present."""
    schema = statistics.schema
    if not schema.numeric:
        return []
    pooled = statistics.moments.pooled()
    classes = statistics.moments.rescaled(pooled.exponent)
    overall, weight = pooled.scaled_variance()[0], classes.weight
    varies = overall > 0.0
    overall = np.where(varies, overall, 1.0)
    (high, low), (centre, centre_low) = classes.scaled_mean(), pooled.scaled_mean()
    # In deviations from the common mean, so that no unit is too large or too small.
    unit = np.sqrt(overall)
    mean = ((high - centre) + (low - centre_low)) / unit
    deviation = np.sqrt(np.maximum(classes.scaled_variance(), _FLOOR * overall)) / unit
    # log σ² = log of the held variance + 2·exponent·log 2. What is constant has no density.
    spread = 0.5 * (np.log(2.0 * np.pi * math.e * overall) + 2.0 * np.log(2.0) * pooled.exponent)
    rows = []
    for m, variable in enumerate(schema.numeric):
        of_class = float(entropy(weight[:, m]))
        gain = mixture_information(weight[:, m], mean[:, m], deviation[:, m]) if varies[m] else 0.0
        height = float(spread[m]) if varies[m] else -np.inf
        gain = min(gain, of_class)
        rows.append(AttributeInformation(variable.name, None, height, gain, _share(gain, of_class)))
    return rows


def _share(information: float, of_class: float) -> float:
    return min(information / of_class, 1.0) if of_class > 0.0 else 0.0


def _page(table: InformationTable) -> DisplayTable:
    words = words_of(table.lang)
    header: tuple[str, ...]
    cells: list[tuple[str, ...]]
    last: tuple[str, ...]
    if table.rows and isinstance(table.rows[0], PairInformation):
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
    return DisplayTable(title, header, tuple(cells), (last,), (words["nats"],))


def _nats(x: float) -> str:
    return "−∞" if x == -np.inf else f"{x:.4f}".replace("-", "−")


# With this many expected rows in a cell, half a degree of freedom over N is exact enough.
MANY = 50.0


def information_beyond_chance(source: CountClassifier, *, lang: str = "en") -> InformationTable:
    """Return the mutual information of each attribute with the class, minus its expected value under chance.

    Parameters
    ----------
    source : a fitted classifier, or its Statistics

    Examples
    --------
    >>> from bayeskit import NaiveBayes
    >>> rows = {"name": [f"n{i}" for i in range(40)], "sex": ["m", "f"] * 20, "y": [0, 1] * 20}
    >>> table = information_beyond_chance(NaiveBayes().fit(rows, target="y"))
    >>> [(row.name, round(row.information, 2)) for row in table.rows]
    [('sex', 0.68), ('name', 0.0)]
    """
    table = information(source, lang=lang)
    statistics = source if isinstance(source, Statistics) else source.statistics_
    rows = []
    for row in table.rows:
        if row.states is None:
            # A mean and a variance in each class: twice the degrees of freedom.
            chance = (table.n_classes - 1.0) / max(float(statistics.class_counts.sum()), 1.0)
        else:
            chance = chance_information(statistics.table(row.name))
        rest = max(row.information - chance, 0.0)
        rows.append(replace(row, information=rest, share=row.share * rest / max(row.information, 1e-300)))
    rows.sort(key=lambda row: -round(row.information, 12))
    return replace(table, rows=tuple(rows))


def chance_information(counts: NDArray[np.float64]) -> float:
    r"""Return the mean of I(X; Y) over all tables with the same margins, as for shuffled rows.

    .. math:: E[I] = \sum_{i,j} \sum_n \frac{n}{N} \log\frac{N n}{a_i b_j} \; P(n \mid N, a_i, b_j)

    with n hypergeometric. N. X. Vinh, J. Epps, J. Bailey: Information theoretic measures for clusterings comparison,
    JMLR 11 (2010).

    Parameters
    ----------
    counts : array of shape (states, classes)

    Examples
    --------
    >>> round(chance_information(np.ones((2, 2))), 4)  # of six tables two say all: log 2 / 3
    0.231
    """
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    total = float(rows.sum())
    sizes, times = np.unique(rows[rows > 0], return_counts=True)
    mean = 0.0
    for b in columns[columns > 0].tolist():
        for a, m in zip(sizes.tolist(), times.tolist(), strict=True):
            if a * b / total > MANY:
                mean += m * (1.0 - a / total) * (1.0 - b / total) / (2.0 * total)
            else:
                mean += m * _cell(total, a, b)
    return mean


def _cell(total: float, a: float, b: float) -> float:
    spread = np.sqrt(a * b / total)
    n = np.arange(max(1.0, a + b - total), min(a, b, a * b / total + 10.0 * spread + 20.0) + 1.0)
    log_p = (
        _log_choose(a, n)
        + _log_choose(total - a, b - n)
        - _log_choose(total, np.asarray(b, dtype=np.float64))
    )
    return float((n / total * np.log(total * n / (a * b)) * np.exp(log_p)).sum())


def _log_choose(n: float, k: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
    return found
