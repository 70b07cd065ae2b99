"""Rows → sparse dyadic grids."""

from __future__ import annotations

import math

import numpy as np

from bayeskit.counting.kernels.grids import SLOT_BITS, fill_grid, find_largest
from bayeskit.data.chunk import Chunk
from bayeskit.errors import DataError
from bayeskit.schema import Name, Schema
from bayeskit.statistics.grids import FINENESS, LEAST_EXPONENT, MOST_CELLS, Grid, Grids


def count_grids(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Grids:
    """Count n(cell, c) for each of these numeric attributes.

    Missing values and rows of weight 0 count nowhere.

    Examples
    --------
    >>> from bayeskit.schema import Variable
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
            f"{name!r} is {chunk.values[infinite, column]} in row {chunk.first_row + infinite} "
            "(from 0). Give NaN where a value is missing, or leave such rows out."
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
