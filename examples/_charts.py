"""Two plain charts for the worked cases, described as the library's own charts are."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bayeskit.charts import Axis, Bars, Curve, Key, Panel, Plot, PlotPicture, states_axis

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
    """A column of bars: its name, how a number is written, and whether every factor of ten adds the same length."""

    name: str
    written: Callable[[float], str]
    logarithmic: bool = False

    def share(self, number, numbers):
        """Return the length of a bar as a share of the longest."""
        if not self.logarithmic:
            return number / max(numbers)
        start = min(numbers) / 3
        return math.log(number / start) / math.log(max(numbers) / start)


def bars(title, notes, groups, columns):
    """Draw bars with their numbers, one column of them under another.

    Parameters
    ----------
    groups : list of (heading, rows)
        A row is its name and a number for each column; a group has a colour of its own.
    columns : list of Column
    """
    rows = [row for _, members in groups for row in members]
    legend = tuple(Key(name, k) for k, (name, _) in enumerate(groups))
    names = states_axis("", [name for name, *_ in rows], downwards=True)
    panels = []
    for j, column in enumerate(columns):
        numbers = [row[1 + j] for row in rows]
        series, first = [], 0
        for k, (_, members) in enumerate(groups):
            values = [row[1 + j] for row in members]
            series.append(
                Bars(
                    np.arange(first, first + len(values), dtype=float),
                    np.array([column.share(value, numbers) for value in values]),
                    np.full(len(values), 0.7),
                    k,
                    horizontal=True,
                    texts=tuple(map(column.written, values)),
                    description=", ".join(f"{row[0]} {column.written(row[1 + j])}" for row in members),
                )
            )
            first += len(values)
        # The bars have their numbers next to them.
        panels.append(
            Panel(Axis("", 0.0, 1.0, bare=True), names, tuple(series), column.name, ROW * len(rows))
        )
    return PlotPicture(Plot(title, tuple(notes), " ".join(notes), tuple(panels), legend))


def powers_of_two(least, most):
    """Return ticks at powers of two as logarithms, for an axis on which each step doubles."""
    first, last = round(math.log2(least)), round(math.log2(most))
    return [(float(k), f"{2**k:,}") for k in range(first, last + 1)]


def shares(most, step):
    """Return ticks in per cent."""
    n = math.ceil(most / step - 1e-9)
    return [(k * step, f"{100 * k * step:.4g}%") for k in range(n + 1)]
