"""Closed lines around the area in which a function on a grid is at least zero."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
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
