"""Curves of how well posteriors rank the rows: ROC, precision and recall, and lift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._report.charts.chart import Chart
from bayeskit._report.charts.plot import Axis, Curve, Panel, Plot
from bayeskit._report.charts.reliability_chart import outcomes, wilson
from bayeskit._report.words import chart_words
from bayeskit._schema import Label

Floats = NDArray[np.float64]
Kind = Literal["roc", "precision_recall", "lift"]
_Z = 1.959963984540054  # of 95%


@dataclass(frozen=True, eq=False)
class RankingCurve(Chart):
    """A curve over all thresholds of the posterior of one class.

    Attributes
    ----------
    kind : "roc", "precision_recall" or "lift"
    label : label
    threshold : array of shape (m,)
        The lowest posterior at which a row is predicted as the class, descending.
    x, y : arrays of shape (m,)
        The axes of the curve. ROC: the false positive rate and the true positive rate. Precision and recall: recall
        and precision. Lift: the share of rows that are predicted as the class, and how many times more rows of the
        class are among them than among as many random rows.
    area : float
        ROC: the AUC. Precision and recall: the average precision. Lift: the lift of the first tenth of the rows.
    interval : (float, float) or None
        The 95% interval of the area: by Hanley and McNeil (1982) of the AUC, by Wilson of the average precision.
    share : float
        The share of rows of the class: the precision of random guessing.
    """

    kind: Kind
    label: Label
    threshold: Floats
    x: Floats
    y: Floats
    area: float
    interval: tuple[float, float] | None
    share: float
    lang: str = "en"

    def description(self) -> Plot:
        words = chart_words(self.lang)
        low, high = self.interval or (np.nan, np.nan)
        said = {"label": self.label, "area": f"{self.area:.3f}", "low": f"{low:.3f}", "high": f"{high:.3f}"}
        said |= {"share": f"{100 * self.share:.3g}%", "lift": f"{self.area:.2g}"}
        title, note = (words[f"{self.kind}_{part}"].format(**said) for part in ("title", "note"))
        listed = "; ".join(f"{100 * x:.0f}%: {y:.3g}" for x, y in self._tenths())
        names = [words[f"{self.kind}_{axis}"] for axis in "xy"]
        if self.kind == "lift":
            high_y = max(float(self.y.max(initial=1.0)) * 1.08, 1.5)
            y, none = Axis(names[1], 0.0, high_y, most=5), np.ones(2)
        else:
            y = Axis(names[1], 0.0, 1.0, "percent")
            none = np.array([0.0, 1.0]) if self.kind == "roc" else np.full(2, self.share)
        chance = Curve(np.array([0.0, 1.0]), none, None, dashed=True)
        # Rows that are tied before the first threshold stand in any order, and have its share of hits on average.
        first = slice(0, int(len(self.x) > 0 and self.x[0] > 0.0))
        curve = Curve(
            np.append(0.0 * self.x[first], self.x), np.append(self.y[first], self.y), description=listed
        )
        panel = Panel(Axis(names[0], 0.0, 1.0, "percent"), y, (chance, curve))
        return Plot(title, (note,), listed, (panel,))

    def _tenths(self) -> list[tuple[float, float]]:
        places = [int(np.searchsorted(self.x, share)) for share in np.arange(0.1, 1.01, 0.1)]
        return [(float(self.x[i]), float(self.y[i])) for i in places if i < len(self.x)]


@dataclass(frozen=True, eq=False)
class _RankedRows:
    """The rows of a class and the others that are taken at each threshold, the highest first."""

    label: Label
    threshold: Floats
    hits: Floats
    taken: Floats

    @property
    def n_hits(self) -> float:
        return float(self.hits[-1])

    @property
    def n(self) -> float:
        return float(self.taken[-1])


def _ranked(y: ArrayLike, posterior: ArrayLike, classes: Any, label: Label | None) -> _RankedRows:
    label, p, hit = outcomes(y, posterior, classes, label, binary=True)
    order = np.argsort(-p, kind="stable")
    ranked = p[order]
    # Rows of the same posterior are taken together.
    last = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)
    return _RankedRows(label, ranked[last], np.cumsum(hit[order])[last], last + 1.0)


def roc_curve(
    y: ArrayLike,
    posterior: ArrayLike,
    classes: Sequence[Label] | NDArray[Any],
    *,
    label: Label | None = None,
    lang: str = "en",
) -> RankingCurve:
    """Return the receiver operating characteristic: rows found against false alarms, over all thresholds.

    Parameters
    ----------
    y : array of shape (n,)
    posterior : array of shape (n, K)
        The result of ``predict_proba`` of any classifier.
    classes : sequence of K labels
    label : label, optional
        The class to find. By default, the second of two classes.
    lang : "en" or "zh"

    References
    ----------
    J. A. Hanley and B. J. McNeil, "The meaning and use of the area under a receiver operating characteristic (ROC)
    curve", Radiology 143, 1982.

    Examples
    --------
    >>> roc_curve([0, 0, 1], [[0.9, 0.1], [0.6, 0.4], [0.6, 0.4]], [0, 1]).area
    0.75
    """
    found = _ranked(y, posterior, classes, label)
    a, b = found.n_hits, found.n - found.n_hits
    x = np.append(0.0, (found.taken - found.hits) / max(b, 1.0))
    up = np.append(0.0, found.hits / max(a, 1.0))
    area = float((np.diff(x) * (up[1:] + up[:-1]) / 2).sum()) if a and b else float("nan")
    interval = None
    if a and b:
        q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
        spread = area * (1 - area) + (a - 1) * (q1 - area**2) + (b - 1) * (q2 - area**2)
        half = _Z * float(np.sqrt(max(spread, 0.0) / (a * b)))
        interval = max(area - half, 0.0), min(area + half, 1.0)
    threshold = np.append(np.inf, found.threshold)
    return RankingCurve("roc", found.label, threshold, x, up, area, interval, a / found.n, lang)


def precision_recall_curve(
    y: ArrayLike,
    posterior: ArrayLike,
    classes: Sequence[Label] | NDArray[Any],
    *,
    label: Label | None = None,
    lang: str = "en",
) -> RankingCurve:
    """Return precision against recall over all thresholds. It shows how well a rare class is found.

    Parameters
    ----------
    y, posterior, classes, label, lang : see :func:`roc_curve`

    Examples
    --------
    >>> curve = precision_recall_curve([0, 0, 1], [[0.9, 0.1], [0.3, 0.7], [0.4, 0.6]], [0, 1])
    >>> curve.x, curve.y.round(3), curve.area
    (array([0., 1., 1.]), array([0.   , 0.5  , 0.333]), 0.5)
    """
    found = _ranked(y, posterior, classes, label)
    recall = found.hits / max(found.n_hits, 1.0)
    precision = found.hits / found.taken
    area = float((np.diff(recall, prepend=0.0) * precision).sum())
    low, high = wilson(np.array([area]), np.array([max(found.n_hits, 1.0)]))
    interval = (float(low[0]), float(high[0])) if found.n_hits else None
    share = found.n_hits / found.n
    return RankingCurve(
        "precision_recall", found.label, found.threshold, recall, precision, area, interval, share, lang
    )


def lift_curve(
    y: ArrayLike,
    posterior: ArrayLike,
    classes: Sequence[Label] | NDArray[Any],
    *,
    label: Label | None = None,
    lang: str = "en",
) -> RankingCurve:
    """Return how many times more rows of a class are found than by chance, if the likeliest rows are taken.

    Parameters
    ----------
    y, posterior, classes, label, lang : see :func:`roc_curve`

    Examples
    --------
    >>> curve = lift_curve([1, 0, 0, 0], [[0.1, 0.9], [0.6, 0.4], [0.7, 0.3], [0.8, 0.2]], [0, 1])
    >>> curve.x, curve.y.round(3)
    (array([0.25, 0.5 , 0.75, 1.  ]), array([4.   , 2.   , 1.333, 1.   ]))
    """
    found = _ranked(y, posterior, classes, label)
    x = found.taken / found.n
    share = found.n_hits / found.n
    up = found.hits / found.taken / (share or 1.0)
    first = int(np.searchsorted(x, 0.1 - 1e-12))
    return RankingCurve(
        "lift", found.label, found.threshold, x, up, float(up[min(first, len(up) - 1)]), None, share, lang
    )
