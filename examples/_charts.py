"""Two plain charts for the worked cases, described as the library's own charts are."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bayeskit.charts import Axis, Bars, Curve, Key, Panel, Plot, PlotPicture, Points, states_axis

ROW = 24.0


def lines(title, notes, curves, across, up, x_ticks, y_ticks):
    """Draw curves over a common axis; the ticks also say where the axes end.

    Parameters
    ----------
    curves : mapping from name to a list of points (x, y)
    across, up : what runs along the axes
    x_ticks, y_ticks : lists of (number, text)
    """
    x = Axis(across, x_ticks[0][0], x_ticks[-1][0], ticks=tuple(x_ticks))
    y = Axis(up, y_ticks[0][0], y_ticks[-1][0], ticks=tuple(y_ticks))
    # With many points only the line is drawn.
    series = tuple(
        Curve(
            np.clip([a for a, _ in points], x.low, x.high),
            np.clip([b for _, b in points], y.low, y.high),
            k,
            name,
            name,
            size=3.4 if len(points) <= 20 else 0.0,
        )
        for k, (name, points) in enumerate(curves.items())
    )
    names = tuple(Key(curve.name, curve.colour) for curve in series)
    return PlotPicture(Plot(title, tuple(notes), " ".join(notes), (Panel(x, y, series),), names))


@dataclass(frozen=True)
class Column:
    """A column of numbers: its name, how a number is written, and whether its axis is logarithmic.

    Bars begin at zero, which a logarithmic axis does not have, so its numbers are drawn as dots.
    """

    name: str
    written: Callable[[float], str]
    logarithmic: bool = False

    def axis(self, numbers):
        """Return the axis of all its numbers."""
        if not self.logarithmic:
            return Axis("", 0.0, max(numbers), bare=True)  # the bars have their numbers next to them
        low, high = math.floor(math.log10(min(numbers))), math.ceil(math.log10(max(numbers)))
        # Within one power of ten, 2 and 5 are marked too, and the axis ends at the last one that is needed.
        marks = (1, 2, 5) if high - low == 1 else (1,)
        all_marks = [m * 10.0**k for k in range(low, high + 1) for m in marks]
        last = next(mark for mark in all_marks if mark >= max(numbers))
        ticks = tuple((math.log10(mark), self.written(mark)) for mark in all_marks if mark <= last)
        span = ticks[-1][0] - low
        return Axis("", float(low), low + 1.15 * span, ticks=ticks)

    def series(self, first, values, colour, description):
        """Return the numbers of a group, whose first row is ``first``."""
        at, texts = np.arange(first, first + len(values), dtype=float), tuple(map(self.written, values))
        if self.logarithmic:
            return Points(np.log10(values), at, colour, 4.2, texts=texts, description=description)
        width = np.full(len(values), 0.7)
        return Bars(
            at, np.array(values), width, colour, horizontal=True, texts=texts, description=description
        )


def bars(title, notes, groups, columns):
    """Draw rows of numbers as bars or dots, one column of them under another.

    Parameters
    ----------
    groups : list of (heading, rows)
        A row is its name and a number for each column; a group has a colour of its own, which its heading explains.
    columns : list of Column
    """
    rows = [row for _, members in groups for row in members]
    legend = tuple(Key(name, k) for k, (name, _) in enumerate(groups) if name)
    names = states_axis("", [name for name, *_ in rows], downwards=True)
    panels = []
    for j, column in enumerate(columns):
        series, first = [], 0
        for k, (_, members) in enumerate(groups):
            description = ", ".join(f"{row[0]} {column.written(row[1 + j])}" for row in members)
            series.append(column.series(first, [row[1 + j] for row in members], k, description))
            first += len(members)
        axis = column.axis([row[1 + j] for row in rows])
        panels.append(Panel(axis, names, tuple(series), column.name, ROW * len(rows)))
    return PlotPicture(Plot(title, tuple(notes), " ".join(notes), tuple(panels), legend))


def powers_of_two(least, most):
    """Return ticks at powers of two as logarithms, for an axis on which each step doubles."""
    first, last = round(math.log2(least)), round(math.log2(most))
    return [(float(k), f"{2**k:,}") for k in range(first, last + 1)]


def shares(most, step):
    """Return ticks in per cent."""
    n = math.ceil(most / step - 1e-9)
    return [(k * step, f"{100 * k * step:.4g}%") for k in range(n + 1)]
