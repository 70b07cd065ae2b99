"""The posterior over two attributes: which class is the most probable where, and how sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.report.charts.axis import WIDTH, Mark, Scale, Tick, dot, frame, room_for, ticks_of
from bayeskit.report.charts.chart import Chart
from bayeskit.report.charts.chart_words import chart_words
from bayeskit.report.charts.legend import BANDS, COLOURS, colour_of, heading, legend, mixed
from bayeskit.report.scene import Group, Rectangle, Scene, plain, shortened
from bayeskit.schema import Label, Name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
# A picture of more dots is a cloud, and a large file.
MOST_DOTS = 400


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two attributes: the values on the grid, numbers or states."""

    name: Name
    numeric: bool
    values: tuple[Any, ...]

    def scale(self, start: float, stop: float) -> Scale:
        """Return the scale on which every value of the grid has a cell of the same width around it."""
        if not self.numeric:
            return Scale(-0.5, len(self.values) - 0.5, start, stop)
        half = (self.values[-1] - self.values[0]) / max(len(self.values) - 1, 1) / 2 or 0.5
        return Scale(self.values[0] - half, self.values[-1] + half, start, stop)

    def ticks(self, room: float | None) -> list[Tick]:
        """Return what to write along the side; ``room`` is how long it is, None where texts do not stand in a row."""
        if self.numeric:
            return ticks_of(self.values[0], self.values[-1], 6)
        each = 200.0 if room is None else room / len(self.values)
        return [
            (float(i), shortened(plain(value), max(each, 40.0), 11.0)) for i, value in enumerate(self.values)
        ]

    def place(self, value: object) -> float | None:
        """Return where a value stands on the scale; None for one that has no place."""
        if not self.numeric:
            return float(self.values.index(value)) if value in self.values else None
        return float(value) if isinstance(value, (int, float)) and np.isfinite(value) else None


@dataclass(frozen=True, eq=False)
class Regions(Chart):
    """P(c | two attributes) on a grid.

    Attributes
    ----------
    target : hashable
    classes : tuple of K labels
    x, y : Side
    posterior : array of shape (values of y, values of x, K)
    given : tuple of (name, value)
        The other attributes that are known; those not named are unknown.
    dots : tuple of (x, y, number of the class)
        Rows, if some were given.
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
        """The number of the most probable class: shape (values of y, values of x)."""
        return np.asarray(self.posterior.argmax(axis=2), dtype=np.intp)

    def bands(self) -> NDArray[np.intp]:
        """How sure it is, from 0 (as likely as any other) to 4 (certain)."""
        least = 1.0 / max(len(self.classes), 2)
        share = (self.posterior.max(axis=2) - least) / (1.0 - least)
        return np.asarray(np.clip((share * BANDS).astype(np.intp), 0, BANDS - 1))

    def _title(self) -> str:
        said = {"target": self.target, "x": self.x.name, "y": self.y.name}
        return chart_words(self.lang)["regions_title"].format(**said)

    def scene(self) -> Scene:
        words, title = chart_words(self.lang), self._title()
        notes = [words["regions_note"]]
        if self.given:
            listed = ", ".join(f"{name} = {value}" for name, value in self.given)
            notes.append(words["regions_given"].format(given=listed))
        notes.append(words["regions_missing"])
        dots = _thinned(self.dots)
        if dots:
            notes.append(words["regions_dots"].format(n=len(dots)))
        marks, top = heading(title, [" ".join(notes) if self.lang == "en" else "".join(notes)])
        names, top = legend([(f"fill-{colour_of(k)}", str(c)) for k, c in enumerate(self.classes)], top)
        top += 24
        left = room_for(self.y.ticks(None))
        x, y = self.x.scale(left, WIDTH - 20), self.y.scale(top + 320, top)
        names_of = (str(self.x.name), str(self.y.name))
        axes = frame(x, y, self.x.ticks(WIDTH - left), self.y.ticks(None), *names_of)
        groups = [
            Group(title, (*marks, *names)),
            Group(title, tuple(axes)),
            Group(title, tuple(self._cells(x, y))),
        ]
        if dots:
            groups.append(Group(notes[-1], tuple(self._dots(dots, x, y))))
        return Scene(WIDTH, y.start + 52, title, " ".join(notes), tuple(groups))

    def _cells(self, x: Scale, y: Scale) -> list[Mark]:
        """Draw cells of one colour side by side as one rectangle: a tenth of the marks."""
        chosen, bands = self.chosen, self.bands()
        height, width = (y.start - y.stop) / chosen.shape[0], (x.stop - x.start) / chosen.shape[1]
        marks: list[Mark] = []
        for i in range(chosen.shape[0]):
            key = chosen[i] * BANDS + bands[i]
            edges = [0, *(np.flatnonzero(np.diff(key)) + 1).tolist(), chosen.shape[1]]
            for a, b in pairwise(edges):
                style = f"shade-{colour_of(int(chosen[i, a]))}-{bands[i, a]}"
                # A little over the edge: else the page shines through between.
                right = 0.5 if b < chosen.shape[1] else 0.0
                above = 0.5 if i < chosen.shape[0] - 1 else 0.0
                at = (x.start + a * width, y.start - (i + 1) * height - above)
                marks.append(Rectangle(*at, (b - a) * width + right, height + above, style))
        return marks

    def _dots(self, dots: Sequence[tuple[Any, Any, int]], x: Scale, y: Scale) -> list[Mark]:
        marks: list[Mark] = []
        for n, (a, b, k) in enumerate(dots):
            across, up = self.x.place(a), self.y.place(b)
            if across is None or up is None:
                continue
            # Rows of the same states would lie on one another: spread over the cell by the golden ratio.
            across += 0.0 if self.x.numeric else 0.6 * ((n * 0.618034) % 1.0 - 0.5)
            up += 0.0 if self.y.numeric else 0.6 * ((n * 0.754878) % 1.0 - 0.5)
            if x.low <= across <= x.high and y.low <= up <= y.high:
                marks.append(dot(x(across), y(up), 3.4, f"dot-{colour_of(k)}"))
        return marks

    def _on_axes(self, axes: Axes) -> None:
        chosen, bands = self.chosen, self.bands()
        image = np.empty((*chosen.shape, 3))
        for k in range(len(self.classes)):
            for band in range(BANDS):
                shade = mixed(COLOURS[colour_of(k)][0], "#ffffff", 0.14 + 0.62 * band / (BANDS - 1))
                image[(chosen == k) & (bands == band)] = [int(shade[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        x, y = self.x.scale(0, 1), self.y.scale(0, 1)
        extent = (x.low, x.high, y.low, y.high)
        axes.imshow(image, origin="lower", extent=extent, aspect="auto", interpolation="nearest")
        for side, set_ticks in ((self.x, axes.set_xticks), (self.y, axes.set_yticks)):
            if not side.numeric:
                set_ticks(range(len(side.values)), [str(value) for value in side.values])
        for k, label in enumerate(self.classes):
            mine = [(self.x.place(a), self.y.place(b)) for a, b, c in self.dots if c == k]
            known = [(a, b) for a, b in mine if a is not None and b is not None]
            look: dict[str, Any] = {
                "s": 18,
                "edgecolor": "white",
                "linewidth": 0.6,
                "color": COLOURS[colour_of(k)][0],
            }
            axes.scatter(*zip(*known or [(np.nan, np.nan)]), label=str(label), **look)
        axes.set_xlabel(str(self.x.name))
        axes.set_ylabel(str(self.y.name))
        axes.set_title(self._title())
        axes.legend()


def _thinned(dots: Sequence[Any]) -> list[Any]:
    """Keep as many as a picture bears, evenly over the rows."""
    if len(dots) <= MOST_DOTS:
        return list(dots)
    return [dots[i] for i in np.linspace(0, len(dots) - 1, MOST_DOTS).astype(int)]
