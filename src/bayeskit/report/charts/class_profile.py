"""How each attribute is distributed in each class, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import ColumnError, SettingError
from bayeskit.report.charts.axis import LEFT, SMALL, WIDTH, Mark, Scale, polyline, straight, thinned, ticks_of
from bayeskit.report.charts.chart import Chart
from bayeskit.report.charts.chart_words import chart_words
from bayeskit.report.charts.legend import COLOURS, colour_of, heading, legend
from bayeskit.report.charts.terms import Terms
from bayeskit.report.scene import Group, Rectangle, Scene, Words, plain, shortened
from bayeskit.schema import Label, Name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELS, NUMBERS = 120.0, 44.0
# Bars of two classes are as tall as the number beside each.
BAR, TALL_BAR, CURVE, MOST_STATES = 7.0, 11.0, 74.0, 8


def profile_scene(chart: ClassProfile) -> Scene:
    """Draw class profiles."""
    words = chart_words(chart.lang)
    # The commonest classes have the colours there are.
    order = np.argsort(-chart.prior, kind="stable")[: len(COLOURS)]
    classes = sorted(order.tolist())
    notes = [words["profile_note"]]
    for name, hidden in (
        ("profile_more", len(chart.distributions) - chart.most),
        ("profile_classes", len(chart.classes) - len(classes)),
    ):
        if hidden > 0:
            notes.append(words[name].format(n=hidden))
    title = words["profile_title"].format(target=chart.target)
    marks, y = heading(title, notes)
    names, y = legend([(f"fill-{i}", str(chart.classes[k])) for i, k in enumerate(classes)], y)
    groups = [Group(title, (*marks, *names))]
    for found in chart.distributions[: chart.most]:
        draw = _curves if found.numeric else _bars
        group, y = draw(found, classes, y + 14, chart)
        groups.append(group)
    listed = "; ".join(f"{plain(d.name)} {d.information:.3f}" for d in chart.distributions[: chart.most])
    return Scene(WIDTH, y + 14, title, listed, tuple(groups))


def _heading(found: Distribution, y: float) -> list[Mark]:
    name = shortened(plain(found.name), WIDTH - 2 * LEFT, 12.5)
    return [Words(LEFT, y + 12, name, "chart-name")]


def _bars(found: Distribution, classes: list[int], y: float, chart: ClassProfile) -> tuple[Group, float]:
    rows = [(str(value), found.shares[:, i]) for i, value in enumerate(found.values)]
    if len(rows) > MOST_STATES:
        overall = chart.prior @ found.shares
        top = np.argsort(-overall, kind="stable")[: MOST_STATES - 1]
        rest = np.setdiff1d(np.arange(len(rows)), top)
        more = chart_words(chart.lang)["others"].format(n=len(rest))
        rows = [*(rows[i] for i in sorted(top.tolist())), (more, found.shares[:, rest].sum(axis=1))]
    marks, y = _heading(found, y), y + 20
    x = Scale(0.0, 1.0, LEFT + LABELS, WIDTH - LEFT - NUMBERS)
    said = []
    few = len(classes) <= 2
    each = TALL_BAR if few else BAR
    for text, shares in rows:
        tall = max(each * len(classes), 12.0)
        label = shortened(plain(text), LABELS - 10, SMALL)
        marks.append(Words(x.start - 8, y + tall / 2 + 4, label, "chart-small", "end"))
        for i, k in enumerate(classes):
            width = max(x(float(shares[k])) - x.start, 0.8)
            marks.append(Rectangle(x.start, y + i * each, width, each - 1, f"fill-{i}"))
            if few:
                number = f"{100 * shares[k]:.0f}%"
                marks.append(Words(x.start + width + 5, y + (i + 0.5) * each + 3.5, number, "chart-small"))
        listed = ", ".join(f"{plain(chart.classes[k])} {100 * shares[k]:.1f}%" for k in classes)
        said.append(f"{plain(text)}: {listed}")
        y += tall + 6
    return Group(f"{plain(found.name)}: {'; '.join(said)}", tuple(marks)), y


def _curves(found: Distribution, classes: list[int], y: float, chart: ClassProfile) -> tuple[Group, float]:
    numbers = np.asarray(found.values, dtype=np.float64)
    marks, top = _heading(found, y), y + 22
    x = Scale(float(numbers[0]), float(numbers[-1]), LEFT + 10, WIDTH - LEFT - 10)
    highest = float(found.shares[classes].max())
    up = Scale(0.0, highest if highest > 0 else 1.0, top + CURVE, top)
    for value, text in thinned(x, ticks_of(x.low, x.high, 6)):
        marks.append(straight(x(value), top, x(value), up.start, "chart-grid"))
        marks.append(Words(x(value), up.start + 16, text, "chart-small", "middle"))
    marks.append(straight(x.start, up.start, x.stop, up.start, "chart-axis"))
    for i, k in enumerate(classes):
        points = [(x(v), up(float(p))) for v, p in zip(numbers, found.shares[k])]
        marks.append(polyline(points, f"line-{i}"))
    means = found.shares @ numbers / np.maximum(found.shares.sum(axis=1), 1e-300)
    said = ", ".join(f"{plain(chart.classes[k])} {means[k]:.4g}" for k in classes)
    return Group(f"{plain(found.name)}: {said}", tuple(marks)), up.start + 22


Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Distribution:
    """One attribute in every class.

    Attributes
    ----------
    name : hashable
    numeric : bool
    values : tuple
        States, or numbers over the span that the classes have.
    shares : array of shape (K, m)
        P(state | c), or the density at the numbers.
    information : float
        How much it tells about the class, I(X; Y) in nats.
    """

    name: Name
    numeric: bool
    values: tuple[Label, ...]
    shares: Floats
    information: float


@dataclass(frozen=True, eq=False)
class ClassProfile(Chart):
    """Every attribute by class; those that tell most come first.

    Attributes
    ----------
    target : hashable
    classes : tuple of K labels
    prior : array of shape (K,)
    distributions : tuple of Distribution
    most : int
        How many are drawn.
    """

    target: Name
    classes: tuple[Label, ...]
    prior: Floats
    distributions: tuple[Distribution, ...]
    most: int = 8
    lang: str = "en"

    def __getitem__(self, name: Name) -> Distribution:
        for found in self.distributions:
            if found.name == name:
                return found
        known = ", ".join(repr(d.name) for d in self.distributions[:12])
        raise ColumnError(f"There is no attribute {name!r}. There are {known}.")

    def scene(self) -> Scene:
        return profile_scene(self)

    def plot(self, ax: Axes | None = None) -> Any:
        """Draw with Matplotlib: the attribute that tells most on axes that are given, else each on axes of its own.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        The axes, or a list of them.
        """
        if ax is not None:
            return super().plot(ax)
        shown = self.distributions[: self.most]
        first = super().plot(None)
        figure = first.figure
        first.remove()
        found = []
        for i, distribution in enumerate(shown):
            axes = figure.add_subplot(len(shown), 1, i + 1)
            found.append(replace(self, distributions=(distribution,)).plot(axes))
            if i:  # one legend serves all
                axes.get_legend().remove()
        return found

    def _on_axes(self, axes: Any) -> None:
        found = self.distributions[0]
        for k, label in enumerate(self.classes):
            colour = COLOURS[colour_of(k)][0]
            if found.numeric:
                axes.plot(found.values, found.shares[k], color=colour, label=str(label))
            else:
                at = np.arange(len(found.values)) + 0.8 * (k + 0.5) / len(self.classes) - 0.4
                axes.bar(at, found.shares[k], 0.8 / len(self.classes), color=colour, label=str(label))
        if not found.numeric:
            axes.set_xticks(range(len(found.values)), [str(value) for value in found.values])
        axes.set_title(str(found.name))
        axes.legend(title=str(self.target))


def class_profile(
    terms: Sequence[Terms],
    prior: Floats,
    classes: Sequence[Label],
    *,
    target: Name,
    attributes: Sequence[Name] | None = None,
    most: int = 8,
    lang: str = "en",
) -> ClassProfile:
    """Put the distributions of attributes side by side.

    Parameters
    ----------
    terms : sequence of Terms
        log P(value | c).
    prior : array of shape (K,)
    classes : sequence of K labels
    target : name of the class
    attributes : sequence of names, optional
        Those to keep, in this order; else all, those that tell most first.
    most : int
    lang : "en" or "zh"

    Examples
    --------
    >>> rain = Terms("rain", False, ("no", "yes"), np.log([[0.9, 0.2], [0.1, 0.8]]))
    >>> profile = class_profile([rain], np.array([0.5, 0.5]), ["dry", "wet"], target="lawn")
    >>> profile["rain"].shares.round(3).tolist(), round(profile["rain"].information, 3)
    ([[0.9, 0.1], [0.2, 0.8]], 0.275)
    """
    chart_words(lang)
    if isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 1:
        raise SettingError(f"most is {most!r}; give the number of attributes to draw, at least 1.")
    found = [_distribution(term, np.asarray(prior)) for term in terms]
    if attributes is None:
        found.sort(key=lambda one: -one.information)
    else:
        by_name = {one.name: one for one in found}
        strange = next((name for name in attributes if name not in by_name), None)
        if strange is not None:
            known = ", ".join(repr(name) for name in list(by_name)[:12])
            raise ColumnError(f"There is no attribute {strange!r}. There are {known}.")
        found, most = [by_name[name] for name in attributes], max(len(attributes), 1)
    if not found:
        raise SettingError("There is no attribute to draw.")
    return ClassProfile(target, tuple(classes), np.asarray(prior), tuple(found), int(most), lang)


def _distribution(term: Terms, prior: Floats) -> Distribution:
    shares = np.exp(term.logs).T
    if term.numeric and len(term.values) > 1:
        numbers = np.asarray(term.values, dtype=np.float64)
        weights = shares * np.gradient(numbers)
    else:
        weights = shares
    weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    joint = prior[:, None] * weights
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = joint * (np.log(weights) - np.log(joint.sum(axis=0)))
    return Distribution(term.name, term.numeric, term.values, shares, max(0.0, float(np.nansum(terms))))
