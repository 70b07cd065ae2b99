"""What mistakes cost, whatever the two kinds cost (the cost curve), and errors against rows left undecided (the reject
curve).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit.errors import SettingError
from bayeskit.report.charts.axis import (
    SMALL,
    WIDTH,
    Mark,
    Scale,
    dashes,
    dot,
    frame,
    percent_ticks,
    polyline,
    ticks_of,
)
from bayeskit.report.charts.chart import Chart
from bayeskit.report.charts.chart_words import chart_words
from bayeskit.report.charts.legend import heading, legend
from bayeskit.report.charts.reliability_chart import class_codes, outcomes
from bayeskit.report.scene import Group, Scene, Words, text_width
from bayeskit.schema import Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STEPS = 201


@dataclass(frozen=True, eq=False)
class CostCurve(Chart):
    r"""The mean cost of a row as a function of c, where a false alarm costs 2c and a miss 2(1 − c).

    The class is said where P ≥ c, as the loss asks. The area under the curve is the Brier score of the posterior.

    Attributes
    ----------
    label : label
    share : array of shape (m,)
        c from 0 to 1.
    cost : array of shape (m,)
        Of the model.
    best : array of shape (m,)
        With the threshold that turns out best on these rows, for each c.
    always, never : arrays of shape (m,)
        Of saying the class always and never.
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

    def scene(self) -> Scene:
        words = chart_words(self.lang)
        title, note = self._texts()
        marks, top = heading(title, [note])
        curves = self._curves()
        names, top = legend([(f"fill-{k}", name) for k, name, _ in curves[::-1]], top)
        top += 26
        # The lines of doing without a model rise far above what anybody would pay: they are cut.
        most = max(float(self.cost.max()), float(np.minimum(self.always, self.never).max())) * 1.15
        most = most if most > 0 else 1.0
        x, y = Scale(0, 1, 56, WIDTH - 24), Scale(0, most, top + 270, top)
        axes = frame(x, y, ticks_of(0, 1), ticks_of(0, most, 5), words["cost_axis"], words["cost"])
        marks += [*names, *axes]
        groups = [Group(title, tuple(marks))]
        for k, name, values in curves:
            if k in (7, 4):
                keep = np.flatnonzero(values <= most)
                ends = [(x(self.share[i]), y(values[i])) for i in (keep[0], keep[-1])]
                groups.append(Group(name, (dashes(*ends[0], *ends[1], f"line-{k}"),)))
            else:
                points = [(x(c), y(value)) for c, value in zip(self.share, values)]
                groups.append(Group(name, (polyline(points, f"line-{k}"),)))
        return Scene(WIDTH, y.start + 52, title, note, tuple(groups))

    def _on_axes(self, axes: Axes) -> None:
        for k, name, values in self._curves():
            axes.plot(self.share, values, "--" if k in (7, 4) else "-", label=name)
        axes.set_xlabel(chart_words(self.lang)["cost_axis"])
        axes.set_ylabel(chart_words(self.lang)["cost"])
        axes.set_title(self._texts()[0])
        axes.legend()


def cost_curve(
    y: ArrayLike,
    posterior: ArrayLike,
    classes: Sequence[Label] | NDArray[Any],
    *,
    label: Label | None = None,
    lang: str = "en",
) -> CostCurve:
    """Tell what mistakes about one class cost, for every proportion of the costs of the two kinds.

    Parameters
    ----------
    y : array of shape (n,)
    posterior : array of shape (n, K)
        As ``predict_proba`` gives them, of any classifier.
    classes : sequence of K labels
    label : label, optional
        The class that is said or not; of two classes the second.
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
    # At threshold t the rows with P < t are passed over: those of the class among them are missed.
    cuts = np.concatenate([[0], np.flatnonzero(np.diff(ranked)) + 1, [n]])
    missed, alarms = hits_below[cuts] / n, ((n - cuts) - (n_hits - hits_below[cuts])) / n
    own = np.searchsorted(ranked, c - 1e-12)
    cost = 2 * (c * ((n - own) - (n_hits - hits_below[own])) + (1 - c) * hits_below[own]) / n
    best = np.array([np.min(2 * (a * alarms + (1 - a) * missed)) for a in c.tolist()])
    share = n_hits / n
    lines = 2 * c * (1 - share), 2 * (1 - c) * share
    return CostCurve(label, c, cost, best, *lines, float(np.mean((p - hit) ** 2)), lang)


Floats = NDArray[np.float64]
_ASKED = (0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)


class Chow(NamedTuple):
    """What Chow's rule does at one cost of rejection: the share rejected, the error of the rest, the mean cost."""

    rejected: float
    error: float
    risk: float


@dataclass(frozen=True, eq=False)
class RejectCurve(Chart):
    """The error of the rows that are answered when the least sure ones are not.

    Attributes
    ----------
    threshold : array of shape (m,)
        The least posterior of the class chosen that is answered, ascending.
    rejected : array of shape (m,)
        The share of rows below it.
    error : array of shape (m,)
        The share of wrong answers among the rest.
    n_rows : int
    """

    threshold: Floats
    rejected: Floats
    error: Floats
    n_rows: int
    lang: str = "en"

    def at(self, cost: float) -> Chow:
        """Return what happens if to reject a row costs so much, a wrong answer being 1: answer from 1 − cost on.

        Examples
        --------
        >>> curve = reject_curve([0, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [0, 1])
        >>> curve.at(0.3)  # the second row is rejected, the others are right
        Chow(rejected=0.3333333333333333, error=0.0, risk=0.09999999999999999)
        """
        if not 0.0 <= cost <= 1.0:
            raise SettingError(f"cost is {cost!r}; rejecting costs between 0 and 1, a wrong answer being 1.")
        # Rounding must not reject the row that lies on the threshold.
        place = int(np.searchsorted(self.threshold, 1.0 - cost - 1e-12))
        if place == len(self.threshold):
            return Chow(1.0, 0.0, cost)
        rejected, error = float(self.rejected[place]), float(self.error[place])
        return Chow(rejected, error, cost * rejected + error * (1.0 - rejected))

    def scene(self) -> Scene:
        words = chart_words(self.lang)
        said = {"n": f"{self.n_rows:,}", "error": f"{100 * self.error[0]:.3g}%"}
        marks, top = heading(words["reject_title"], [words["reject_note"].format(**said)])
        top += 26
        most = max(float(self.error.max()), 0.01) * 1.08
        x, y = Scale(0, 1, 56, WIDTH - 24), Scale(0, most, top + 270, top)
        marks += frame(x, y, percent_ticks(), percent_ticks(most), words["rejected"], words["error"])
        marks.append(dashes(x(0), y(self.error[0]), x(1), y(self.error[0]), "chart-reference"))
        keep = np.unique(np.linspace(0, len(self.error) - 1, 400).astype(int))
        curve: list[Mark] = [polyline([(x(self.rejected[i]), y(self.error[i])) for i in keep], "line-0")]
        end = -np.inf
        for asked in _ASKED:
            place = int(np.searchsorted(self.threshold, asked))
            if place >= len(self.threshold) or place == 0:
                continue
            here, below = x(self.rejected[place]), y(self.error[place]) - y(self.error[0])
            # A text would touch the one before, or the dashed line.
            if here < end + 6 or -4 < below < 20:
                continue
            end = here + 6 + text_width(str(asked), SMALL)
            # To the right and above: the curve falls.
            curve.append(dot(here, y(self.error[place]), 4.0, "dot-0"))
            curve.append(Words(here + 6, y(self.error[place]) - 6, str(asked), "chart-small"))
        listed = "; ".join(f"{100 * r:.0f}%: {100 * e:.2f}%" for r, e in self._tenths())
        groups = (Group(words["reject_title"], tuple(marks)), Group(listed, tuple(curve)))
        return Scene(WIDTH, y.start + 52, words["reject_title"], listed, groups)

    def _tenths(self) -> list[tuple[float, float]]:
        places = [int(np.searchsorted(self.rejected, share)) for share in np.arange(0, 1, 0.1)]
        return [(float(self.rejected[i]), float(self.error[i])) for i in places if i < len(self.error)]

    def _on_axes(self, axes: Axes) -> None:
        words = chart_words(self.lang)
        axes.plot(self.rejected, self.error)
        axes.set_xlabel(words["rejected"])
        axes.set_ylabel(words["error"])
        axes.set_title(words["reject_title"])
        axes.set_ylim(bottom=0)


def reject_curve(
    y: ArrayLike, posterior: ArrayLike, classes: Sequence[Label] | NDArray[Any], *, lang: str = "en"
) -> RejectCurve:
    """Leave out the least sure rows, one after another, and tell how many of the others are wrong.

    Parameters
    ----------
    y : array of shape (n,)
    posterior : array of shape (n, K)
        As ``predict_proba`` gives them, of any classifier.
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
    # Rows of one posterior are answered or rejected together.
    errors = np.cumsum(wrong[order][::-1])[::-1][first]
    return RejectCurve(threshold, first / n, errors / (n - first), n, lang)
