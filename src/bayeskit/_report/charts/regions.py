"""The regions chart: the most probable class over two attributes, its probability, and the lines between regions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._messages import run_on
from bayeskit._report.charts.axis import BANDS
from bayeskit._report.charts.chart import Chart
from bayeskit._report.charts.plot import Area, Axis, Cells, Key, Panel, Plot, Points, Series, states_axis
from bayeskit._report.words import chart_words
from bayeskit._schema import Label, Name

Floats = NDArray[np.float64]
# More dots would be unreadable, and a large file.
MOST_DOTS = 400
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two attributes: the values on the grid, numbers or states."""

    name: Name
    numeric: bool
    values: tuple[Any, ...]

    def axis(self) -> Axis:
        """Return the axis on which every value of the grid has a cell of the same width around it."""
        if not self.numeric:
            return states_axis(str(self.name), self.values)
        half = (self.values[-1] - self.values[0]) / max(len(self.values) - 1, 1) / 2 or 0.5
        return Axis(str(self.name), self.values[0] - half, self.values[-1] + half)

    def place(self, value: object) -> float | None:
        """Return the position of a value on the scale; None if it has none."""
        if not self.numeric:
            return float(self.values.index(value)) if value in self.values else None
        return float(value) if isinstance(value, (int, float)) and np.isfinite(value) else None


@dataclass(frozen=True, eq=False)
class Regions(Chart):
    """P(c | two attributes) on a grid, with the most probable class of each cell.

    Attributes
    ----------
    target : hashable
    classes : tuple of K labels
    x, y : Side
    posterior : array of shape (values of y, values of x, K)
    given : tuple of (name, value)
        The values of other attributes. Attributes that are not named are unknown.
    dots : tuple of (x, y, number of the class)
        Rows to draw, if given.
    """

    target: Name
    classes: tuple[Label, ...]
    x: Side
    y: Side
    posterior: Floats
    given: tuple[tuple[Name, Any], ...] = ()
    dots: tuple[tuple[Any, Any, int], ...] = ()
    lang: str = "en"

    @property
    def chosen(self) -> NDArray[np.intp]:
        """The index of the most probable class: shape (values of y, values of x)."""
        return np.asarray(self.posterior.argmax(axis=2), dtype=np.intp)

    def bands(self) -> NDArray[np.intp]:
        """The certainty of that class, from 0 (as likely as any other) to 4 (certain)."""
        least = 1.0 / max(len(self.classes), 2)
        share = (self.posterior.max(axis=2) - least) / (1.0 - least)
        return np.asarray(np.clip((share * BANDS).astype(np.intp), 0, BANDS - 1))

    def description(self) -> Plot:
        words = chart_words(self.lang)
        title = words["regions_title"].format(target=self.target, x=self.x.name, y=self.y.name)
        notes = [words["regions_note"]]
        if self.given:
            listed = words.join(f"{name} = {value}" for name, value in self.given)
            notes.append(words["regions_given"].format(given=listed))
        notes.append(words["regions_missing"])
        dots = _thinned(self.dots)
        if dots:
            notes.append(words["regions_dots"].format(n=len(dots)))
        note = run_on(notes, self.lang)
        x, y = self.x.axis(), self.y.axis()
        ground = (
            self._areas(x, y) if self.x.numeric and self.y.numeric else [Cells(self.chosen, self.bands())]
        )
        series: tuple[Series, ...] = (*ground, *self._points(dots, x, y))
        names = tuple(Key(str(label), k) for k, label in enumerate(self.classes))
        return Plot(title, (note,), " ".join(notes), (Panel(x, y, series, height=320.0),), names)

    def _areas(self, x: Axis, y: Axis) -> list[Area]:
        """Return the areas of the classes with smooth borders, the more certain ones on top."""
        # The outermost values are those of the ends of the axes, too.
        across, up = (
            np.array([axis.low, *side.values, axis.high], dtype=np.float64)
            for axis, side in ((x, self.x), (y, self.y))
        )
        # Between two values of the grid, log-odds change more evenly than probabilities.
        posterior = np.pad(self.posterior, ((1, 1), (1, 1), (0, 0)), mode="edge").clip(_TINY, 1.0 - _TINY)
        odds = np.log(posterior) - np.log1p(-posterior)
        least = 1.0 / max(len(self.classes), 2)
        found = []
        for k in range(len(self.classes)):
            others = np.delete(odds, k, axis=2).max(axis=2, initial=-np.inf)
            ahead = np.clip(odds[:, :, k] - others, None, 1.0 / _TINY)
            for band in range(BANDS):
                limit = least + (1.0 - least) * band / BANDS
                certain = odds[:, :, k] - np.log(limit / (1.0 - limit))
                lines = loops(across, up, np.minimum(ahead, certain) if band else ahead)
                found += [Area(tuple(lines), k, band, str(self.classes[k]))] if lines else []
        return found

    def _points(self, dots: Sequence[tuple[Any, Any, int]], x: Axis, y: Axis) -> list[Points]:
        """Return the rows of each class that lie on the grid."""
        found: dict[int, list[tuple[float, float]]] = {k: [] for k in range(len(self.classes))}
        for n, (a, b, k) in enumerate(dots):
            across, up = self.x.place(a), self.y.place(b)
            if across is None or up is None:
                continue
            # Rows with the same states would overlap, so spread them over the cell by the golden ratio.
            across += 0.0 if self.x.numeric else 0.6 * ((n * 0.618034) % 1.0 - 0.5)
            up += 0.0 if self.y.numeric else 0.6 * ((n * 0.754878) % 1.0 - 0.5)
            if x.holds(across) and y.holds(up):
                found[k].append((across, up))
        places = {k: np.array(at) for k, at in found.items() if at}
        return [
            Points(at[:, 0], at[:, 1], k, 3.4, description=f"{self.classes[k]}: {len(at)}")
            for k, at in places.items()
        ]


def _thinned(dots: Sequence[Any]) -> list[Any]:
    """Return at most ``MOST_DOTS`` evenly spaced dots."""
    if len(dots) <= MOST_DOTS:
        return list(dots)
    return [dots[i] for i in np.linspace(0, len(dots) - 1, MOST_DOTS).astype(int)]


# The corners of a cell, counter-clockwise, as steps along (row, column).
_CORNERS = ((0, 0), (0, 1), (1, 1), (1, 0))
# An edge of the grid: its lower corner, and whether it is upright.
_Edge = tuple[int, int, bool]


def loops(x: Floats, y: Floats, values: Floats) -> list[Floats]:
    """Return closed polygons around the places where the values, interpolated on edges, are at least zero.

    Inside is to the left of each line. Beyond the grid everything counts as below zero, so every line is closed.

    Parameters
    ----------
    x, y : arrays of shape (columns,) and (rows,)
    values : array of shape (rows, columns)

    Examples
    --------
    >>> corner = loops(np.arange(2.0), np.arange(2.0), np.array([[1.0, -1.0], [-1.0, -3.0]]))
    >>> sorted({tuple(point) for point in corner[0].tolist()})
    [(0.0, 0.0), (0.0, 0.5), (0.5, 0.0)]
    """
    x, y = (np.concatenate([side[:1], side, side[-1:]]) for side in (x, y))
    values = np.pad(values, 1, constant_values=-1.0)
    inside = values >= 0.0
    follows: dict[_Edge, _Edge] = {}
    # Only cells with both kinds of corners are crossed.
    n_inside = inside[:-1, :-1].astype(int) + inside[1:, :-1] + inside[:-1, 1:] + inside[1:, 1:]
    for i, j in np.argwhere((n_inside > 0) & (n_inside < 4)).tolist():
        follows.update(_crossings(inside[i : i + 2, j : j + 2], values[i : i + 2, j : j + 2], i, j))
    found = []
    while follows:
        edge, after = follows.popitem()
        line = [edge]
        while after != line[0]:
            line.append(after)
            after = follows.pop(after)
        found.append(np.array([_point(each, x, y, values) for each in line]))
    return found


def _crossings(inside: NDArray[np.bool_], values: Floats, i: int, j: int) -> Iterator[tuple[_Edge, _Edge]]:
    """Yield where the line enters a cell and where it leaves it."""
    edges = ((i, j, False), (i, j + 1, True), (i + 1, j, False), (i, j, True))
    corners = [bool(inside[corner]) for corner in _CORNERS]
    # Counter-clockwise around the cell, the area begins at some edges and ends at others. The line runs from an end to
    # a beginning.
    begins = [k for k in range(4) if not corners[k] and corners[(k + 1) % 4]]
    ends = [k for k in range(4) if corners[k] and not corners[(k + 1) % 4]]
    # Where opposite corners are inside, the middle decides whether they are joined.
    nearest = max if len(begins) == 2 and values.mean() >= 0.0 else min
    for begin in begins:
        end = nearest(ends, key=lambda k: (k - begin) % 4)
        yield edges[end], edges[begin]


def _point(edge: _Edge, x: Floats, y: Floats, values: Floats) -> tuple[float, float]:
    """Return where the values pass zero on an edge."""
    i, j, upright = edge
    k, m = (i + 1, j) if upright else (i, j + 1)
    low, high = float(values[i, j]), float(values[k, m])
    share = low / (low - high)
    return float(x[j] + share * (x[m] - x[j])), float(y[i] + share * (y[k] - y[i]))
