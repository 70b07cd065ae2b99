r"""What attributes tell beyond chance: a column of a thousand values seems to tell much in a few thousand rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bayeskit.report.information_table import InformationTable, information
from bayeskit.statistics import Statistics

if TYPE_CHECKING:
    from bayeskit.classifiers.base import CountClassifier

# Where so many rows are expected in a cell, half a degree of freedom over N is exact enough.
MANY = 50.0


def information_beyond_chance(source: CountClassifier, *, lang: str = "en") -> InformationTable:
    """Return what each attribute tells about the class, less what one that knows nothing would seem to tell.

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
        told = max(row.information - chance, 0.0)
        rows.append(replace(row, information=told, share=row.share * told / max(row.information, 1e-300)))
    rows.sort(key=lambda row: -round(row.information, 12))
    return replace(table, rows=tuple(rows))


def chance_information(counts: NDArray[np.float64]) -> float:
    r"""Return the mean of I(X; Y) over all tables with the same margins: what shuffled rows would give.

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
        for a, m in zip(sizes.tolist(), times.tolist()):
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
