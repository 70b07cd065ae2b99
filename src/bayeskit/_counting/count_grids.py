"""Counts numeric attributes on sparse dyadic grids."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayeskit._data.encoded import Chunk
from bayeskit._intrinsics import fibonacci_hash, set_all
from bayeskit._messages import RowNumber
from bayeskit._numba import kernel
from bayeskit._schema import Name, Schema
from bayeskit._statistics.grids import FINENESS, LEAST_EXPONENT, MOST_CELLS, Grid, Grids
from bayeskit.errors import DataError

_U = np.uintp

# Slots of the hash table, at least four per cell, so that chains stay short. A power of two.
SLOT_BITS = 14
_DOWN = np.uint64(64 - SLOT_BITS)
_MASK = np.uint64((1 << SLOT_BITS) - 1)


@kernel
def find_largest(values: Any, column: Any, weights: Any) -> Any:
    """Return max|x| over the rows with weight and a value, and the first row with an infinity, or −1."""
    largest = 0.0
    for i in range(values.shape[0]):
        x = abs(values[i, column])
        if x > largest and weights[i] != 0.0:
            if math.isinf(x):
                return x, i
            largest = x
    return largest, -1


@kernel
def find_cell(cell: Any, n_cells: Any, slots: Any, ids: Any) -> Any:
    """Return the position of a cell in ``ids``, or ``n_cells`` after adding it there."""
    slot = fibonacci_hash(np.uint64(cell)) >> _DOWN
    while slots[slot] >= 0:
        place = slots[slot]
        if ids[place] == cell:
            return place
        slot = (slot + np.uint64(1)) & _MASK
    slots[slot] = n_cells
    ids[n_cells] = cell
    return n_cells


@kernel
def halve(n_cells: Any, slots: Any, ids: Any, counts: Any) -> Any:
    """Double the width of all cells in place; return their new number."""
    set_all(slots, -1)
    n_classes = counts.shape[1]
    n_new = 0
    for i in range(n_cells):
        # The new position is never after the old one, so nothing is overwritten before it is read.
        place = find_cell(ids[i] >> 1, n_new, slots, ids)
        if place == n_new:
            n_new += 1
        if place != i:
            for c in range(n_classes):
                counts[place, c] += counts[i, c]
                counts[i, c] = 0.0
    return n_new


@kernel
def fill_grid(
    values: Any, column: Any, target: Any, weights: Any, scale: Any, slots: Any, ids: Any, counts: Any
) -> Any:
    """Add every row's weight to n(cell, c), doubling the cell width whenever there are too many cells.

    ``scale`` is two factors whose product is 2^−exponent (one alone may overflow). ``ids`` and ``counts``
    have room for one cell more than allowed. Returns the numbers of cells and of doublings.
    """
    set_all(slots, -1)
    most = ids.shape[0] - 1
    n_cells, doublings = 0, 0
    first, second = scale
    for i in range(values.shape[0]):
        x = values[i, column]
        w = weights[i]
        if w == 0.0 or math.isnan(x):
            continue
        cell = np.int64(math.floor(x * first * second))
        # If the product underflows to 0 although x is negative, floor must still give −1.
        if cell == 0 and x < 0.0:
            cell = np.int64(-1)
        place = find_cell(cell >> doublings, n_cells, slots, ids)
        counts[place, _U(target[i])] += w
        if place == n_cells:
            n_cells += 1
            while n_cells > most:
                n_cells = halve(n_cells, slots, ids, counts)
                doublings += 1
    return n_cells, doublings


def count_grids(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Grids:
    """Count n(cell, c) for each of these numeric attributes.

    Missing values and rows of weight 0 are not counted.

    Examples
    --------
    >>> from bayeskit.statistics import Variable
    >>> schema = Schema((Variable("x", "numeric"),), Variable("y", "categorical", ("no", "yes")))
    >>> values, target = np.array([[0.5], [np.nan], [0.5]]), np.array([0, 1, 1], np.uint32)
    >>> chunk = Chunk(3, np.empty((3, 0), np.uint8), values, target=target)
    >>> count_grids(chunk, schema, ("x",)).counts
    array([[1., 1.]])
    """
    slots = np.empty(1 << SLOT_BITS, np.int32)
    grids = (_count_grid(chunk, schema, name, slots) for name in attributes)
    return Grids.of(grids, schema.n_classes)


def _count_grid(
    chunk: Chunk, schema: Schema, name: Name, slots: np.ndarray[tuple[int], np.dtype[np.int32]]
) -> Grid:
    assert chunk.target is not None
    column = np.uintp(schema.numeric_index[name])
    weights = chunk.row_weights
    largest, infinite = find_largest(chunk.values, column, weights)
    if infinite >= 0:
        raise DataError(
            "{name!r} is {value} in {place}. Give NaN where a value is missing, or leave such rows out.",
            name=name,
            value=chunk.values[infinite, column],
            place=RowNumber(chunk.first_row + infinite),
        )
    limit = math.frexp(largest)[1] if largest else LEAST_EXPONENT
    exponent = limit - FINENESS
    half = -exponent // 2
    scale = (math.ldexp(1.0, half), math.ldexp(1.0, -exponent - half))
    ids = np.empty(MOST_CELLS + 1, np.int64)
    counts = np.zeros((MOST_CELLS + 1, schema.n_classes))
    n_cells, doublings = fill_grid(chunk.values, column, chunk.target, weights, scale, slots, ids, counts)
    order = np.argsort(ids[:n_cells])
    return Grid(limit, exponent + doublings, ids[order], counts[order])
