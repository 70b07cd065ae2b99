"""The chosen model class by class: what is found, what is right, and what a threshold of the posterior costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit._report.charts.reliability_chart import wilson
from bayeskit._report.comparison_report.comparison import Comparison, JudgedRows
from bayeskit._schema import Label

# Ratios of the cost of a miss to that of a false alarm.
RATIOS = (1, 2, 5, 10, 20, 50)
Interval = tuple[float, float]


@dataclass(frozen=True)
class ClassFigures:
    """One class on the test rows.

    Attributes
    ----------
    label : label
    rows, said, found : int
        Its test rows, the rows that are predicted as it, and how many of these are correct.
    recall, precision, f1 : float or None
        None if there is no row to compute it from.
    recall_interval, precision_interval : (float, float) or None
        95% intervals (Wilson).
    """

    label: Label
    rows: int
    said: int
    found: int
    recall: float | None
    precision: float | None
    f1: float | None
    recall_interval: Interval | None
    precision_interval: Interval | None


def class_figures(classes: tuple[Label, ...], held: JudgedRows) -> tuple[ClassFigures, ...]:
    """Return recall, precision and F1 of each class.

    Examples
    --------
    >>> held = JudgedRows(np.arange(4), np.array([0, 0, 0, 1]), np.eye(2)[[0, 0, 1, 1]])
    >>> [(each.recall, each.precision) for each in class_figures(("a", "b"), held)]
    [(0.6666666666666666, 1.0), (1.0, 0.5)]
    """
    said, k = held.posterior.argmax(axis=1), len(classes)
    rows, taken = (np.bincount(codes, minlength=k) for codes in (held.truth, said))
    hits = np.bincount(held.truth[said == held.truth], minlength=k)
    made = []
    for label, n, m, found in zip(classes, rows.tolist(), taken.tolist(), hits.tolist(), strict=True):
        recall, precision = (found / each if each else None for each in (n, m))
        f1 = 2 * found / (n + m) if n + m else None
        of_recall, of_precision = (_interval(found, each) for each in (n, m))
        made.append(ClassFigures(label, n, m, found, recall, precision, f1, of_recall, of_precision))
    return tuple(made)


def _interval(found: int, n: int) -> Interval | None:
    if not n:
        return None
    low, high = wilson(np.array([found / n]), np.array([n]))
    return float(low[0]), float(high[0])


def rarest(found: Comparison) -> int | None:
    """Return the place of the rarest class of the test rows, which is the one to look for; None if all rows have one.

    Of several, the last is taken, as for two classes.
    """
    rows = np.bincount(found.held.truth, minlength=len(found.classes))
    present = np.flatnonzero(rows)
    return int(present[::-1][rows[present[::-1]].argmin()]) if len(present) > 1 else None


@dataclass(frozen=True)
class Threshold:
    """What comes of saying a class from a posterior on: a miss costs ``ratio`` times as much as a false alarm.

    ``cost`` is that of a row, a false alarm being 1; ``half`` the same where the class is said from 1/2 on, and
    ``fixed`` where it is always or never said.
    """

    ratio: int
    posterior: float
    said: float
    recall: float
    precision: float | None
    cost: float
    half: float
    fixed: float


def thresholds(found: Comparison, k: int) -> tuple[Threshold, ...]:
    """Return the threshold of a class for each ratio of costs: the least risk is to say it from 1/(1 + ratio) on."""
    p, hit = found.held.posterior[:, k], found.held.truth == k
    made = []
    for ratio in RATIOS:
        bound = 1.0 / (1.0 + ratio)
        said = p >= bound
        right, n = int((said & hit).sum()), len(p)

        def cost(yes: np.ndarray, ratio: int = ratio) -> float:
            return float((ratio * (hit & ~yes) + (~hit & yes)).mean())

        fixed = min(cost(np.zeros(n, dtype=bool)), cost(np.ones(n, dtype=bool)))
        precision = right / int(said.sum()) if said.any() else None
        share, recall = float(said.mean()), right / max(int(hit.sum()), 1)
        made.append(Threshold(ratio, bound, share, recall, precision, cost(said), cost(p >= 0.5), fixed))
    return tuple(made)
