"""The cost curve (cost for every ratio of the two costs) and the reject curve (error against rejected rows)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._report.charts.chart import Chart
from bayeskit._report.charts.plot import Axis, Curve, Key, Panel, Plot, Points
from bayeskit._report.charts.reliability_chart import class_codes, outcomes
from bayeskit._report.words import chart_words
from bayeskit._schema import Label
from bayeskit.errors import SettingError

_STEPS = 201


@dataclass(frozen=True, eq=False)
class CostCurve(Chart):
    r"""The mean cost per row as a function of c, where a false alarm costs 2c and a miss 2(1 − c).

    The class is predicted if P ≥ c, which is optimal for this loss. The area under the curve is the Brier
    score.

    Attributes
    ----------
    label : label
    share : array of shape (m,)
        c from 0 to 1.
    cost : array of shape (m,)
        The cost of the model.
    best : array of shape (m,)
        The cost with the threshold that is best on these rows, for each c.
    always, never : arrays of shape (m,)
        The cost of always and of never predicting the class.
    brier : float
        The mean of (P − hit)².

    References
    ----------
    J. Hernández-Orallo, P. Flach and C. Ferri, "Brier curves: a new cost-based visualisation of classifier
    performance", ICML 2011.
    """

    label: Label
    share: Floats
    cost: Floats
    best: Floats
    always: Floats
    never: Floats
    brier: float
    lang: str = "en"

    def _texts(self) -> tuple[str, str]:
        words, said = chart_words(self.lang), {"label": self.label, "brier": f"{self.brier:.4f}"}
        return words["cost_title"].format(**said), words["cost_note"].format(**said)

    def _curves(self) -> list[tuple[int, str, Floats]]:
        words = chart_words(self.lang)
        return [
            (7, words["cost_always"].format(label=self.label), self.always),
            (4, words["cost_never"].format(label=self.label), self.never),
            (2, words["cost_best"], self.best),
            (0, words["cost_model"], self.cost),
        ]

    def description(self) -> Plot:
        words = chart_words(self.lang)
        title, note = self._texts()
        # Without a model, one would always take the cheaper of the two lines; beyond their crossing they only rise.
        cheaper = {7: self.always <= self.never, 4: self.never <= self.always}
        curves = tuple(
            Curve(self.share[shown], values[shown], k, name, name, dashed=k in cheaper)
            for k, name, values in self._curves()
            for shown in [cheaper.get(k, np.ones(len(self.share), dtype=bool))]
        )
        most = max(float(self.cost.max()), float(np.minimum(self.always, self.never).max())) * 1.15
        x = Axis(words["cost_axis"], 0.0, 1.0)
        y = Axis(words["cost"], 0.0, most if most > 0 else 1.0, most=5)
        names = tuple(Key(curve.name, curve.colour) for curve in curves[::-1])
        return Plot(title, (note,), note, (Panel(x, y, curves),), names)


def cost_curve(
    y: ArrayLike,
    posterior: ArrayLike,
    classes: Sequence[Label] | NDArray[Any],
    *,
    label: Label | None = None,
    lang: str = "en",
) -> CostCurve:
    """Compute the mean cost for every ratio of the costs of false alarms and misses.

    Parameters
    ----------
    y : array of shape (n,)
    posterior : array of shape (n, K)
        The result of ``predict_proba`` of any classifier.
    classes : sequence of K labels
    label : label, optional
        The positive class. By default, the second of two classes.
    lang : "en" or "zh"

    Examples
    --------
    >>> curve = cost_curve([0, 1], [[0.75, 0.25], [0.5, 0.5]], [0, 1])
    >>> curve.brier, float(curve.cost[50])  # c = 0.25: the first row is a false alarm, of 2c in two rows
    (0.15625, 0.25)
    """
    chart_words(lang)
    label, p, hit = outcomes(y, posterior, classes, label, binary=True)
    c, n = np.linspace(0.0, 1.0, _STEPS), len(p)
    order = np.argsort(p, kind="stable")
    ranked = p[order]
    hits_below = np.concatenate([[0.0], np.cumsum(hit[order])])
    n_hits = hits_below[-1]
    # At threshold t, the rows with P < t are negative, and those of the class among them are misses.
    cuts = np.concatenate([[0], np.flatnonzero(np.diff(ranked)) + 1, [n]])
    missed, alarms = hits_below[cuts] / n, ((n - cuts) - (n_hits - hits_below[cuts])) / n
    own = np.searchsorted(ranked, c - 1e-12)
    cost = 2 * (c * ((n - own) - (n_hits - hits_below[own])) + (1 - c) * hits_below[own]) / n
    best = np.array([np.min(2 * (a * alarms + (1 - a) * missed)) for a in c.tolist()])
    share = n_hits / n
    lines = 2 * c * (1 - share), 2 * (1 - c) * share
    return CostCurve(label, c, cost, best, *lines, float(np.mean((p - hit) ** 2)), lang)


Floats = NDArray[np.float64]
_MARKED = (0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
# As fractions of the axes: the gap before a number, the width of a digit, and the margins above and below a line.
_GAP, _DIGIT, _OVER, _UNDER = 0.017, 0.019, 0.015, 0.075


class Chow(NamedTuple):
    """The result of Chow's rule at one cost of rejecting: the rejected share, the error of the rest, the mean
    cost."""

    rejected: float
    error: float
    risk: float


@dataclass(frozen=True, eq=False)
class RejectCurve(Chart):
    """The error rate of the remaining rows when the least certain rows are rejected.

    Attributes
    ----------
    threshold : array of shape (m,)
        The lowest posterior of the predicted class that is accepted, ascending.
    rejected : array of shape (m,)
        The share of rows below the threshold.
    error : array of shape (m,)
        The error rate of the remaining rows.
    n_rows : int
    """

    threshold: Floats
    rejected: Floats
    error: Floats
    n_rows: int
    lang: str = "en"

    def at(self, cost: float) -> Chow:
        """Return the result for a cost of rejecting a row, relative to a cost of 1 for an error.

        Rows whose posterior is at least 1 − cost are accepted.

        Examples
        --------
        >>> curve = reject_curve([0, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [0, 1])
        >>> curve.at(0.3)  # the second row is rejected, the others are right
        Chow(rejected=0.3333333333333333, error=0.0, risk=0.09999999999999999)
        """
        if not 0.0 <= cost <= 1.0:
            raise SettingError(
                "cost is {cost!r}; give the cost of rejecting a row, from 0 to 1, where a wrong answer costs 1.",
                cost=cost,
            )
        # Rounding must not reject the row that lies on the threshold.
        place = int(np.searchsorted(self.threshold, 1.0 - cost - 1e-12))
        if place == len(self.threshold):
            return Chow(1.0, 0.0, cost)
        rejected, error = float(self.rejected[place]), float(self.error[place])
        return Chow(rejected, error, cost * rejected + error * (1.0 - rejected))

    def description(self) -> Plot:
        words = chart_words(self.lang)
        said = {"n": f"{self.n_rows:,}", "error": f"{100 * self.error[0]:.3g}%"}
        listed = "; ".join(f"{100 * r:.0f}%: {100 * e:.2f}%" for r, e in self._tenths())
        most = max(float(self.error.max()), 0.01) * 1.08
        everything = Curve(np.array([0.0, 1.0]), np.repeat(self.error[0], 2), None, dashed=True)
        series = (everything, Curve(self.rejected, self.error, description=listed), self._marked_points(most))
        panel = Panel(
            Axis(words["rejected"], 0.0, 1.0, "percent"), Axis(words["error"], 0.0, most, "percent"), series
        )
        return Plot(words["reject_title"], (words["reject_note"].format(**said),), listed, (panel,))

    def _marked_points(self, most: float) -> Points:
        """Return the points of commonly used posteriors, except those whose labels would overlap something."""
        kept: list[tuple[float, float, str]] = []
        end = -np.inf
        for posterior in _MARKED:
            place = int(np.searchsorted(self.threshold, posterior))
            if place >= len(self.threshold) or place == 0:
                continue
            x, y = float(self.rejected[place]), float(self.error[place])
            # Avoid the number before it, and the line of accepting all rows.
            if x < end + _GAP or -_UNDER < (y - self.error[0]) / most < _OVER:
                continue
            end = x + _GAP + _DIGIT * len(str(posterior))
            kept.append((x, y, str(posterior)))
        at = np.array([place[:2] for place in kept], dtype=np.float64).reshape(-1, 2)
        texts = tuple(text for _, _, text in kept)
        description = "; ".join(f"P ≥ {text}: {100 * x:.0f}%, {100 * y:.2f}%" for x, y, text in kept)
        return Points(at[:, 0], at[:, 1], 0, 4.0, texts=texts, description=description)

    def _tenths(self) -> list[tuple[float, float]]:
        places = [int(np.searchsorted(self.rejected, share)) for share in np.arange(0, 1, 0.1)]
        return [(float(self.rejected[i]), float(self.error[i])) for i in places if i < len(self.error)]


def reject_curve(
    y: ArrayLike, posterior: ArrayLike, classes: Sequence[Label] | NDArray[Any], *, lang: str = "en"
) -> RejectCurve:
    """Reject the least certain rows one by one, and compute the error rate of the others.

    Parameters
    ----------
    y : array of shape (n,)
    posterior : array of shape (n, K)
        The result of ``predict_proba`` of any classifier.
    classes : sequence of K labels
    lang : "en" or "zh"

    Examples
    --------
    >>> curve = reject_curve([0, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [0, 1])
    >>> curve.threshold, curve.error.round(3)
    (array([0.6, 0.8, 0.9]), array([0.333, 0.   , 0.   ]))
    """
    chart_words(lang)
    codes, shares, _ = class_codes(y, posterior, classes)
    chosen = shares.argmax(axis=1)
    sure, wrong = shares[np.arange(len(codes)), chosen], chosen != codes
    order = np.argsort(sure, kind="stable")
    threshold, first = np.unique(sure[order], return_index=True)
    n = len(sure)
    # Rows with the same posterior are accepted or rejected together.
    errors = np.cumsum(wrong[order][::-1])[::-1][first]
    return RejectCurve(threshold, first / n, errors / (n - first), n, lang)
