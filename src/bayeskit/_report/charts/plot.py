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
# Where scales lie across the SVG, in pixels, and between which their texts stay; the least gap between two texts.
# Whether texts fit is measured there.
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
        """Return the ticks that are given, else round numbers."""
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
    """A line through points; a dashed one is straight, and is drawn as far as the axes go.

    ``colour`` is the number of a colour, None that of a line to compare with; ``size`` the radius of dots at the
    points, 0 for none; ``lower`` and ``upper`` the ends of an interval around each; ``description`` what is read out.
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
    """Marks of one shape and colour (None: ink), with a rim or without; ``texts`` are to the right of them."""

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
    """Bars from 0 to ``values``, ``width`` wide around ``at``, their texts at their ends; a text may be empty."""

    at: Floats
    values: Floats
    width: Floats
    colour: int
    name: str = ""
    horizontal: bool = False
    texts: tuple[str, ...] = ()
    description: str = ""


@dataclass(frozen=True, eq=False)
class Cells:
    """A grid that fills its axes, from the lower left: the colour of each cell, and how strong it is (0 to 4)."""

    colours: NDArray[np.intp]
    bands: NDArray[np.intp]
    description: str = ""


@dataclass(frozen=True, eq=False)
class Ring:
    """A closed line of four Bézier curves, 13 points: an ellipse."""

    points: Floats
    colour: int
    description: str = ""


@dataclass(frozen=True)
class Tag:
    """A short text on a small plate, over all else."""

    x: float
    y: float
    text: str
    description: str = ""


Series = Curve | Points | Bars | Cells | Ring | Tag


@dataclass(frozen=True)
class Panel:
    """Two axes and what lies on them.

    Attributes
    ----------
    x, y : Axis
    series : tuple
        What is drawn later lies on top.
    title : str
        Of this panel; empty if the title of the chart suffices.
    height : float
        In pixels, without what stands around the axes; beside that of other panels, the share of a figure.
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
        """Return curves whose names are at their ends, and the heights of the names, so that none covers another."""
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
    """One of several scales that are read off a common one.

    Attributes
    ----------
    name : str
    x : array of shape (m,)
        Places on the common scale.
    up : array of shape (m,)
        How high they lie in the lane, from 0 to 1.
    texts : tuple of (number of a place, text)
    curved : bool
        Whether the places are points of a curve; else they lie side by side on a level line, and ascend.
    mark : (x, up), optional
        A place that is pointed out.
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
        """Return the places of the texts of a level line so that none covers another: middle, row and text.

        Middles are in the pixels of the scale. Rows 0 and 2 are over the line, 1 and 3 under it; what finds no room
        in them is left out.
        """
        rows: list[list[tuple[float, float]]] = [[], [], [], []]
        found = []
        # The ends of the line first: should texts not all fit, these are the ones to know.
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
    """A scale, and lanes under it that are read off it."""

    x: Axis
    lanes: tuple[Lane, ...]
    title: ClassVar[str] = ""
    beneath: ClassVar[bool] = False

    @property
    def height(self) -> float:
        return 62.0 * (len(self.lanes) + 1)


@dataclass(frozen=True)
class Conversion:
    """Two scales over one another: what lies on one place is the same on both. ``at`` is pointed out, in words, too."""

    above: Axis
    below: Axis
    at: float | None = None
    text: str = ""
    title: ClassVar[str] = ""
    beneath: ClassVar[bool] = True
    height: ClassVar[float] = 62.0


@dataclass(frozen=True)
class Key:
    """An entry of the legend: a square in a colour, an example of a shape, or words alone."""

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
