"""Two plain charts for the worked cases, made of the parts that the library's own charts are made of."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bayeskit.report.charts.axis import WIDTH, straight
from bayeskit.report.charts.chart import ChartPicture, PlotPicture
from bayeskit.report.charts.legend import colour_of, heading
from bayeskit.report.charts.plot import Axis, Curve, Key, Panel, Plot
from bayeskit.report.scene import Group, Rectangle, Scene, Words, text_width

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
    # Beyond a few the points are left to the line.
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
    """A column of bars: its name, how a number is written, and whether every factor of ten adds the same length."""

    name: str
    written: Callable[[float], str]
    logarithmic: bool = False

    def share(self, number, numbers):
        """Return how long a bar is beside the longest."""
        if not self.logarithmic:
            return number / max(numbers)
        start = min(numbers) / 3
        return math.log(number / start) / math.log(max(numbers) / start)


def bars(title, notes, groups, columns):
    """Draw bars with their numbers, one column of them beside another.

    Parameters
    ----------
    groups : list of (heading, rows)
        A row is its name and a number for each column; a group has a colour of its own.
    columns : list of Column
    """
    marks, top = heading(title, notes)
    rows = [row for _, members in groups for row in members]
    numbers = [[row[1 + j] for row in rows] for j in range(len(columns))]
    left = 26 + max(text_width(name, 12.0) for name, *_ in rows)
    width = (WIDTH - 16 - left) / len(columns)
    # After the longest bar there must be room for the longest number.
    told = [
        text_width(column.written(x), 11.0)
        for column, values in zip(columns, numbers, strict=True)
        for x in values
    ]
    longest = width - max(told) - 12
    y = top + 14
    marks += [Words(left + j * width, y, column.name, "chart-small") for j, column in enumerate(columns)]
    for k, (name, members) in enumerate(groups):
        y += ROW
        marks.append(Words(16, y, name, "chart-name"))
        for label, *values in members:
            y += ROW
            marks.append(Words(left - 8, y, label, "chart-text", "end"))
            for j, (column, value) in enumerate(zip(columns, values, strict=True)):
                start, length = left + j * width, max(longest * column.share(value, numbers[j]), 1.0)
                marks.append(Rectangle(start, y - 12, length, 15, f"fill-{colour_of(k)}", 2.0))
                marks.append(Words(start + length + 5, y, column.written(value), "chart-small"))
        marks += [
            straight(left + j * width, y - ROW * len(members) + 6, left + j * width, y + 8, "chart-axis")
            for j in range(len(columns))
        ]
    return ChartPicture(Scene(WIDTH, y + 24, title, " ".join(notes), (Group(title, tuple(marks)),)))


def powers_of_two(least, most):
    """Return ticks at powers of two as logarithms, for an axis on which each step doubles."""
    first, last = round(math.log2(least)), round(math.log2(most))
    return [(float(k), f"{2**k:,}") for k in range(first, last + 1)]


def shares(most, step):
    """Return ticks in per cent."""
    n = math.ceil(most / step - 1e-9)
    return [(k * step, f"{100 * k * step:.4g}%") for k in range(n + 1)]
