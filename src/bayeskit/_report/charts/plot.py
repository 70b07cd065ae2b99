"""The description of a chart: axes, and their content in the units of the data.

Renderers draw any description: `plot_scene` as SVG, `plot_axes` with Matplotlib.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bayeskit._markup import plain
from bayeskit._report.charts.axis import SMALL, WIDTH, Scale, Tick, round_numbers, spread, ticks_of
from bayeskit._report.scene import shortened, text_width

Floats = NDArray[np.float64]
# The horizontal position of scales in the SVG in pixels, the bounds of their texts, and the smallest gap between two
# texts. Whether texts fit is measured in these units.
START, STOP = 136.0, WIDTH - 26
INNER, OUTER, GAP = START - 20, WIDTH - 8, 7.0
Shape = Literal["disc", "square", "triangle", "cross", "ring"]


@dataclass(frozen=True)
class Axis:
    """One axis: its title and its range.

    Attributes
    ----------
    title : str
    low, high : float
        The ends. If ``low`` is the larger one, numbers increase downwards or to the left.
    written : "number", "whole" or "percent"
        How the numbers are written; "whole" means integers only.
    ticks : tuple of (number, text)
        If given, only these ticks are written.
    states : bool
        Whether it is categorical: the ticks are its states, at 0, 1, ….
    bare : bool
        Whether a narrow SVG omits its numbers.
    most : int
        The maximum number of ticks in the SVG.

    Examples
    --------
    >>> Axis("share", 0.0, 0.2, "percent", most=3).shown_ticks()
    [(0.0, '0%'), (0.1, '10%'), (0.2, '20%')]
    """

    title: str
    low: float
    high: float
    written: Literal["number", "whole", "percent"] = "number"
    ticks: tuple[Tick, ...] = ()
    states: bool = False
    bare: bool = False
    most: int = 6

    def shown_ticks(self) -> list[Tick]:
        """Return the given ticks, or round numbers."""
        if self.ticks:
            return list(self.ticks)
        low, high = sorted((self.low, self.high))
        if self.written == "percent":
            return [(value, f"{100 * value:.4g}%") for value in round_numbers(low, high, self.most)]
        return ticks_of(low, high, self.most, whole=self.written == "whole")

    def holds(self, value: float) -> bool:
        """Return whether a number is within the axis."""
        return min(self.low, self.high) <= value <= max(self.low, self.high)


def states_axis(title: str, states: Sequence[object], *, downwards: bool = False) -> Axis:
    """Return the axis on which every state has a width of 1.

    >>> states_axis("", ["no", "yes"]).ticks
    ((0.0, 'no'), (1.0, 'yes'))
    """
    ends = (-0.5, len(states) - 0.5)
    ticks = tuple((float(i), str(state)) for i, state in enumerate(states))
    return Axis(title, *(ends[::-1] if downwards else ends), ticks=ticks, states=True)


@dataclass(frozen=True, eq=False)
class Curve:
    """A line through points. A dashed line is straight and extends to the ends of the axes.

    ``colour`` is the index of a colour, or None for a reference line. ``size`` is the radius of dots at the points, or
    0. ``lower`` and ``upper`` are the ends of an interval around each point. ``description`` is for screen readers.
    """

    x: Floats
    y: Floats
    colour: int | None = 0
    name: str = ""
    description: str = ""
    dashed: bool = False
    size: float = 0.0
    lower: Floats | None = None
    upper: Floats | None = None


@dataclass(frozen=True, eq=False)
class Points:
    """Marks of one shape and colour (None: the text colour), with or without a rim, and ``texts`` to their right."""

    x: Floats
    y: Floats
    colour: int | None
    size: float
    shape: Shape = "disc"
    rim: bool = True
    texts: tuple[str, ...] = ()
    description: str = ""


@dataclass(frozen=True, eq=False)
class Bars:
    """Bars to ``values``, ``width`` wide around ``at``, with texts at their ends; a text may be empty.

    They begin at the start of the axis, which is 0, or at ``base``.
    """

    at: Floats
    values: Floats
    width: Floats
    colour: int
    name: str = ""
    horizontal: bool = False
    texts: tuple[str, ...] = ()
    description: str = ""
    base: Floats | None = None


@dataclass(frozen=True, eq=False)
class Cells:
    """A grid that fills its axes, from the lower left: the colour of each cell, and how strong it is (0 to 4)."""

    colours: NDArray[np.intp]
    bands: NDArray[np.intp]
    description: str = ""


@dataclass(frozen=True, eq=False)
class Area:
    """The area within closed lines, some of which may be holes: its colour, and how strong it is (0 to 4)."""

    loops: tuple[Floats, ...]
    colour: int
    band: int
    description: str = ""


@dataclass(frozen=True, eq=False)
class Ring:
    """A closed line of four Bézier curves, 13 points: an ellipse."""

    points: Floats
    colour: int
    description: str = ""


@dataclass(frozen=True)
class Tag:
    """A short text on a small plate, on top of everything else."""

    x: float
    y: float
    text: str
    description: str = ""


Series = Curve | Points | Bars | Cells | Area | Ring | Tag


@dataclass(frozen=True)
class Panel:
    """Two axes and their content.

    Attributes
    ----------
    x, y : Axis
    series : tuple
        The content. Later series are drawn on top.
    title : str
        The title of this panel; empty if the title of the chart is enough.
    height : float
        In pixels, without the area around the axes. In a figure, heights are relative to those of other panels.
    beneath : bool
        Whether it belongs to the panel above.
    direct : bool
        Whether the names of curves are at their ends.
    """

    x: Axis
    y: Axis
    series: tuple[Series, ...]
    title: str = ""
    height: float = 270.0
    beneath: bool = False
    direct: bool = False

    def named_ends(self) -> list[tuple[Curve, float]]:
        """Return the curves with names at their ends, and the heights of the names, which do not overlap."""
        if not self.direct:
            return []
        named = [one for one in self.series if isinstance(one, Curve) and one.name]
        up = Scale(self.y.low, self.y.high, self.height, 0.0)
        places = spread([up(float(curve.y[-1])) for curve in named], self.height)
        return [
            (curve, self.y.high + (self.y.low - self.y.high) * place / self.height)
            for curve, place in zip(named, places, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Lane:
    """One of several scales below a common one.

    Attributes
    ----------
    name : str
    x : array of shape (m,)
        Positions on the common scale.
    up : array of shape (m,)
        Their heights in the lane, from 0 to 1.
    texts : tuple of (index of a position, text)
    curved : bool
        Whether the positions are points of a curve. Otherwise they are ascending points on a horizontal line.
    mark : (x, up), optional
        A position to highlight.
    description : str
    """

    name: str
    x: Floats
    up: Floats
    texts: tuple[tuple[int, str], ...]
    curved: bool
    mark: tuple[float, float] | None = None
    description: str = ""

    def placed_texts(self, across: Scale) -> list[tuple[float, int, str]]:
        """Return the positions of the texts of a horizontal line without overlaps: middle, row and text.

        Middles are in the pixels of the scale. Rows 0 and 2 are above the line, 1 and 3 below it. Texts for which
        there is no room are left out.
        """
        rows: list[list[tuple[float, float]]] = [[], [], [], []]
        found = []
        # Place the ends of the line first. If not all texts fit, these are the most important.
        for at, text in [self.texts[0], self.texts[-1], *self.texts[1:-1]][: len(self.texts)]:
            text = shortened(plain(text), 110, SMALL)
            half = text_width(text, SMALL) / 2
            # A text at the end of the line is moved inwards.
            middle = min(max(across(float(self.x[at])), INNER + half), OUTER - half)
            begin, end = middle - half, middle + half
            free = (all(end + GAP <= a or b + GAP <= begin for a, b in taken) for taken in rows)
            row = next((i for i, is_free in enumerate(free) if is_free), None)
            if row is not None:
                rows[row].append((begin, end))
                found.append((middle, row, text))
        return found


@dataclass(frozen=True)
class Rulers:
    """A scale, and lanes below it."""

    x: Axis
    lanes: tuple[Lane, ...]
    title: ClassVar[str] = ""
    beneath: ClassVar[bool] = False

    @property
    def height(self) -> float:
        return 62.0 * (len(self.lanes) + 1)


@dataclass(frozen=True)
class Conversion:
    """Two matching scales, one above the other. ``at`` is a highlighted position, which also has a text."""

    above: Axis
    below: Axis
    at: float | None = None
    text: str = ""
    title: ClassVar[str] = ""
    beneath: ClassVar[bool] = True
    height: ClassVar[float] = 62.0


@dataclass(frozen=True)
class Key:
    """An entry of the legend: a coloured square, an example of a shape, or only text."""

    name: str
    colour: int | None = None
    shape: Shape | None = None


@dataclass(frozen=True)
class Plot:
    """A whole chart.

    Attributes
    ----------
    title : str
    notes : tuple of str
        Sentences under the title.
    description : str
        What it shows as text, for screen readers.
    panels : tuple
        One under another.
    legend : tuple of Key
    legend_title : str
        A title of the entries, for panels without the title of the chart.
    """

    title: str
    notes: tuple[str, ...]
    description: str
    panels: tuple[Panel | Rulers | Conversion, ...]
    legend: tuple[Key, ...] = ()
    legend_title: str = ""
