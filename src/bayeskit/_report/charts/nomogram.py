"""Nomograms: points for each value, and the probability for their sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._markup import plain
from bayeskit._messages import Joined
from bayeskit._report.charts.axis import Scale, Tick, apart, round_numbers, written
from bayeskit._report.charts.chart import Chart
from bayeskit._report.charts.class_profile import Terms
from bayeskit._report.charts.plot import START, STOP, Axis, Conversion, Lane, Plot, Rulers
from bayeskit._report.words import chart_words
from bayeskit._schema import Label, Name
from bayeskit.errors import SettingError, UsageError

Floats = NDArray[np.float64]

# The log-odds of 0.9997, at which the curve of a number ends.
FAR = 8.0
# If not all fit, the first ones are kept.
_CHANCES = (0.5, 0.1, 0.9, 0.01, 0.99, 0.001, 0.999, 0.05, 0.95, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6)


@dataclass(frozen=True, eq=False)
class Ruler:
    """The scale of one attribute: its values and their log-odds. An unknown value adds 0.

    Attributes
    ----------
    name : hashable
    numeric : bool
        Whether the values are numbers along a curve, or states.
    values : tuple
    log_odds : array of shape (m,)
    """

    name: Name
    numeric: bool
    values: tuple[Label, ...]
    log_odds: Floats

    @property
    def least(self) -> float:
        """The lowest log-odds, at 0 points."""
        return float(self._shown().min())

    @property
    def spread(self) -> float:
        """The range of its log-odds."""
        return float(np.ptp(self._shown()))

    def _shown(self) -> Floats:
        # A density at an extreme value makes a class almost certain. With log-odds of hundreds on the scale, nothing
        # else could be read.
        return np.clip(self.log_odds, -FAR, FAR) if self.numeric else self.log_odds


@dataclass(frozen=True)
class Reading:
    """The value of one attribute in a row (None if unknown), and its contribution to the log-odds."""

    name: Name
    value: Any
    log_odds: float


@dataclass(frozen=True, eq=False)
class Nomogram(Chart):
    r"""A nomogram: points for attribute values, whose sum gives the odds of a class.

    .. math:: \log\frac{P(c \mid x)}{P(\bar c \mid x)} = b + \sum_i \log\frac{P(x_i \mid c)}{P(x_i \mid \bar c)}
              = a + u \sum_i \text{points}(x_i)

    The lowest value of every attribute has 0 points. The most influential attribute goes up to 100. Numbers
    with log-odds beyond ±8 have points below 0 or above the end of their curve.

    Attributes
    ----------
    target, label, against : labels
        ``against`` is None for all other classes.
    start : float
        b, the log-odds if nothing is known.
    rulers : tuple of Ruler
        The most influential first.
    row : tuple of Reading
        The values of a row, if one was given.
    most : int
        The number of rulers to draw.
    """

    target: Name
    label: Label
    against: Label | None
    start: float
    rulers: tuple[Ruler, ...]
    row: tuple[Reading, ...] = ()
    most: int = 12
    lang: str = "en"

    @cached_property
    def unit(self) -> float:
        """u, the log-odds of one point."""
        widest = max((ruler.spread for ruler in self.rulers), default=0.0)
        return widest / 100.0 if widest > 0 else 1.0

    @cached_property
    def intercept(self) -> float:
        """a, the log-odds of 0 points in total."""
        return math.fsum([self.start, *(ruler.least for ruler in self.rulers)])

    def points(self, name: Name) -> Floats:
        """Return the points of the values of one attribute."""
        ruler = self[name]
        return (ruler.log_odds - ruler.least) / self.unit

    def __getitem__(self, name: Name) -> Ruler:
        for ruler in self.rulers:
            if ruler.name == name:
                return ruler
        raise SettingError(
            "There is no attribute {name!r}. There are {names}.",
            name=name,
            names=Joined(repr(r.name) for r in self.rulers[:12]),
        )

    def probability(self, points: float) -> float:
        """Return the probability for a sum of points."""
        return float(1.0 / (1.0 + math.exp(min(-(self.intercept + self.unit * points), 700.0))))

    @property
    def total(self) -> float | None:
        """The total points of the row; None if no row was given."""
        if not self.row:
            return None
        least = {ruler.name: ruler.least for ruler in self.rulers}
        return math.fsum((r.log_odds - least[r.name]) / self.unit for r in self.row)

    @property
    def log_odds(self) -> float | None:
        """The log-odds of the row; None if no row was given."""
        return math.fsum([self.start, *(r.log_odds for r in self.row)]) if self.row else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        from bayeskit._visible import plain

        rulers = [
            {
                "name": r.name,
                "values": r.values,
                "log_odds": r.log_odds.tolist(),
                "points": self.points(r.name).tolist(),
            }
            for r in self.rulers
        ]
        row = [{"name": plain(r.name), "value": plain(r.value), "log_odds": r.log_odds} for r in self.row]
        return {
            "target": plain(self.target),
            "label": plain(self.label),
            "against": plain(self.against),
            "start": self.start,
            "intercept": self.intercept,
            "unit": self.unit,
            "attributes": [{key: plain(value) for key, value in ruler.items()} for ruler in rulers],
            "row": row,
            "total": self.total,
        }

    def description(self) -> Plot:
        words = chart_words(self.lang)
        shown = self.rulers[: self.most]
        title = words["nomogram_title"].format(target=self.target, label=self.label)
        scale = Axis(words["points"], 0.0, 100.0, most=11)
        listed = words.pairs((plain(r.name), written(r.spread / self.unit)) for r in shown)
        lanes = tuple((self._curve if ruler.numeric else self._states)(ruler) for ruler in shown)
        return Plot(title, self._notes(), listed, (Rulers(scale, lanes), self._totals()))

    def _notes(self) -> tuple[str, ...]:
        words, hidden = chart_words(self.lang), len(self.rulers) - self.most
        said = {"label": self.label, "against": self.against}
        notes = [words["nomogram_rest" if self.against is None else "nomogram_pair"].format(**said)]
        notes.append(words["nomogram_note"])
        if hidden > 0:
            notes.append(words["nomogram_more"].format(n=hidden))
        if self.total is not None:
            notes.append(words["nomogram_row"].format(total=f"{self.total:.0f}"))
        return tuple(notes)

    def _states(self, ruler: Ruler) -> Lane:
        """States along a line, in the order of their points."""
        placed = sorted(zip(self.points(ruler.name).tolist(), map(str, ruler.values), strict=True))
        x = np.array([points for points, _ in placed])
        texts = tuple(enumerate(text for _, text in placed))
        description = chart_words(self.lang).pairs((text, f"{points:.1f}") for points, text in placed)
        read = self._reading(ruler)
        mark = None if read is None else (self._place(ruler, read), 0.5)
        return Lane(str(ruler.name), x, np.full(len(x), 0.5), texts, False, mark, description)

    def _curve(self, ruler: Ruler) -> Lane:
        """Return numbers as a curve of number over points, because two numbers may have the same points."""
        values = np.asarray(ruler.values, dtype=np.float64)
        low, span = float(values.min()), float(np.ptp(values))
        points = self.points(ruler.name)
        up = (values - low) / span if span else np.full(len(values), 0.5)
        numbers = [
            (int(np.argmin(np.abs(values - value))), written(value))
            for value in round_numbers(low, low + span, 4)
        ]
        description = chart_words(self.lang).pairs((text, f"{points[at]:.1f}") for at, text in numbers)
        read, mark = self._reading(ruler), None
        if read is not None:
            height = 0.5
            if span and isinstance(read.value, (int, float)):
                height = float(np.clip((read.value - low) / span, 0.0, 1.0))
            mark = (self._place(ruler, read), height)
        x = np.clip(points, 0.0, ruler.spread / self.unit)
        return Lane(str(ruler.name), x, up, tuple(numbers), True, mark, description)

    def _reading(self, ruler: Ruler) -> Reading | None:
        return next((read for read in self.row if read.name == ruler.name), None)

    def _place(self, ruler: Ruler, read: Reading) -> float:
        """Return the position of a reading on the scale of points, clipped to its ends."""
        return min(max((read.log_odds - ruler.least) / self.unit, 0.0), 100.0)

    def _totals(self) -> Conversion:
        """The sum of points and, below it, its probability."""
        words, total = chart_words(self.lang), self.total
        most = max(sum(ruler.spread for ruler in self.rulers) / self.unit, 1.0)
        above = Axis(words["total"], 0.0, most, most=7)
        name = words["probability"].format(label=self.label)
        below = Axis(name, 0.0, most, ticks=tuple(self._chances(most)))
        if total is None:
            return Conversion(above, below)
        text = f"{total:.0f} → {_percent(self.probability(total))}"
        return Conversion(above, below, min(max(total, 0.0), most), text)

    def _chances(self, most: float) -> list[Tick]:
        """Return the positions of probabilities below the sum of points, as many as there is room for."""
        kept: list[Tick] = []
        across = Scale(0.0, most, START, STOP)
        for p in _CHANCES:
            at = (math.log(p / (1 - p)) - self.intercept) / self.unit
            more = sorted([*kept, (at, written(p))])
            if 0 <= at <= most and len(apart(across, more, 5.0)) == len(more):
                kept = more
        return kept


def _percent(p: float) -> str:
    """Write a probability; none is 0 or 1.

    >>> _percent(0.0), _percent(0.1234), _percent(1.0)
    ('<0.1%', '12.3%', '>99.9%')
    """
    return "<0.1%" if p < 0.0005 else ">99.9%" if p > 0.9995 else f"{100 * p:.1f}%"


def nomogram(
    terms: Sequence[Terms],
    start: Floats,
    classes: Sequence[Label],
    *,
    target: Name,
    label: Label | None = None,
    against: Label | None = None,
    row: Sequence[tuple[Name, Any, Floats]] = (),
    most: int = 12,
    lang: str = "en",
) -> Nomogram:
    """Make a nomogram from the terms of each value and class.

    Parameters
    ----------
    terms : sequence of Terms
    start : array of shape (K,)
        log P(c) if nothing is known.
    classes : sequence of K labels
    target : name of the class
    label : label, optional
        The class to predict. By default, the last one.
    against : label, optional
        Another class, instead of all others.
    row : sequence of (name, value, log P(x | c) of shape (K,)), optional
    most : int
    lang : "en" or "zh"

    Examples
    --------
    >>> colour = Terms("colour", False, ("green", "red"), np.log([[0.2, 0.6], [0.8, 0.4]]))
    >>> chart = nomogram([colour], np.log([0.5, 0.5]), ["no", "yes"], target="ripe")
    >>> chart.points("colour"), round(chart.probability(100.0), 3)
    (array([100.,   0.]), 0.75)
    """
    chart_words(lang)
    mine, others = _sides(list(classes), label, against)
    if isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 1:
        raise SettingError("most is {most!r}; give the number of attributes to draw, at least 1.", most=most)
    rulers = []
    for term in terms:
        odds = _odds(term.logs, start, mine, others)
        finite = np.isfinite(odds)
        if not term.numeric and not finite.all():
            value = term.values[int(np.argmin(finite))]
            raise UsageError(
                "{name!r} = {value!r} has probability 0 in some class, so its points are infinite. Smooth the "
                "tables (smoothing or alpha above 0) for a nomogram.",
                name=term.name,
                value=value,
            )
        # At extreme values a density may be 0 in both classes. The curve ends there, or one step beyond the scale.
        kept = _near(odds, finite) if term.numeric else finite
        values = tuple(v for v, there in zip(term.values, kept, strict=True) if there)
        if values:
            rulers.append(Ruler(term.name, term.numeric, values, odds[kept]))
    rulers.sort(key=lambda ruler: -ruler.spread)
    names = {ruler.name for ruler in rulers}
    readings = tuple(
        Reading(name, value, float(_odds(logs[None], start, mine, others)[0]))
        for name, value, logs in row
        if name in names
    )
    begin = float(start[mine] - np.logaddexp.reduce(start[others]))
    other = classes[others[0]] if len(others) == 1 else None
    return Nomogram(target, classes[mine], other, begin, tuple(rulers), readings, int(most), lang)


def _sides(classes: list[Label], label: Label | None, against: Label | None) -> tuple[int, list[int]]:
    for name, value in (("label", label), ("against", against)):
        if value is not None and value not in classes:
            raise SettingError(
                "{name} is {value!r}, which is not a class. There are {names}.",
                name=name,
                value=value,
                names=Joined(map(repr, classes[:12])),
            )
    if len(classes) < 2:
        raise UsageError("A nomogram compares one class with others, and there is only one class here.")
    mine = len(classes) - 1 if label is None else classes.index(label)
    if label is None and against is not None and classes.index(against) == mine:
        mine = 0
    others = [k for k in range(len(classes)) if k != mine] if against is None else [classes.index(against)]
    if mine in others:
        raise SettingError(
            "label and against are both {class_!r}; give two different classes.", class_=classes[mine]
        )
    return mine, others


def _near(odds: Floats, finite: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which of ascending numbers to draw: those with log-odds on the scale, and one more on each side."""
    seen = np.flatnonzero(finite & (np.abs(odds) <= FAR))
    if not len(seen):
        return finite
    kept = np.zeros(len(odds), dtype=bool)
    kept[max(seen[0] - 1, 0) : seen[-1] + 2] = True
    return kept & finite


def _odds(logs: Floats, start: Floats, mine: int, others: list[int]) -> Floats:
    """Return the contributions of values to the log-odds. Several other classes count as their mixture."""
    with np.errstate(invalid="ignore"):
        rest = np.logaddexp.reduce(logs[:, others] + start[others], axis=1) - np.logaddexp.reduce(
            start[others]
        )
        return np.asarray(logs[:, mine] - rest)
