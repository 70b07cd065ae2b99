"""Errors against the share of rows left undecided: the reject curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit.errors import SettingError
from bayeskit.report.charts.axis import SMALL, WIDTH, Mark, Scale, dashes, dot, frame, polyline
from bayeskit.report.charts.chart import Chart
from bayeskit.report.charts.legend import heading
from bayeskit.report.charts.outcomes import class_codes
from bayeskit.report.charts.ticks import percent_ticks
from bayeskit.report.charts.words import chart_words
from bayeskit.report.picture_text import text_width
from bayeskit.report.scene import Group, Scene, Words
from bayeskit.schema import Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
