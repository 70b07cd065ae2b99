"""Computes moments of numeric attributes by class, and by class and state of categorical attributes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.encoded import Chunk
from bayeskit._intrinsics import fma
from bayeskit._numba import kernel
from bayeskit._schema import Name, Schema, Variable
from bayeskit._statistics import double
from bayeskit._statistics.cell_moments import CellMoments
from bayeskit._statistics.moments import Moments, exponent_for
from bayeskit.errors import DataError, InfiniteValue
from bayeskit.typing import Floats

# The low parts are plain sums of rounding errors. Folding them into the high parts this often keeps them, and
# so their own rounding, small.
FOLD_ROWS = 512
# Columns that are summed together, and the room of their five planes.
WIDTH = 32
PACK = 5 * WIDTH


@kernel
def find_pivots(values: Any, target: Any, weights: Any, pivot: Any, found: Any) -> None:
    """Write the first value of each class and attribute; ``found`` (K, d + 1) is initially zero.

    The last column of ``found`` counts the attributes found, so that a complete class costs one check per row.
    """
    n, d = np.uintp(values.shape[0]), np.uintp(values.shape[1])
    open_classes = pivot.shape[0]
    for i in range(n):
        c = np.uintp(target[i])
        if found[c, d] == d or weights[i] == 0.0:
            continue
        for j in range(d):
            x = values[i, j]
            if found[c, j] == 0 and x == x:
                pivot[c, j] = x
                found[c, j] = 1
                found[c, d] += 1
        if found[c, d] == d:
            open_classes -= 1
            if open_classes == 0:
                return


@kernel
def fold(high: Any, low: Any) -> None:
    """Carry the low parts into the high ones where they are large enough."""
    for c in range(np.uintp(high.shape[0])):
        for j in range(np.uintp(high.shape[1])):
            a, b = high[c, j], low[c, j]
            s = a + b
            part = s - a
            high[c, j] = s
            low[c, j] = (a - (s - part)) + (b - part)


@kernel
def fold_packed(packed: Any, first_cell: Any) -> None:
    """Carry the low parts of one block into the high ones where they are large enough."""
    for plane in (1, 3):
        for j in range(WIDTH):
            place = first_cell + np.uintp(plane * WIDTH + j)
            a, b = packed[place], packed[place + np.uintp(WIDTH)]
            s = a + b
            part = s - a
            packed[place] = s
            packed[place + np.uintp(WIDTH)] = (a - (s - part)) + (b - part)


@kernel
def sum_plain(values: Any, target: Any, count: Any, packed: Any, n_blocks: Any) -> None:
    """Sum rows of weight one without missing values; ``count`` has shape (K,).

    x − p is computed exactly as t + e, and each sum as high + low. ``packed`` is flat, of shape (K, blocks,
    5, 32): pivot, first, first_low, second, second_low of 32 columns at a time. So the distances between the
    five are constants, which the compiler needs to vectorise the loop.
    """
    n, d = np.uintp(values.shape[0]), np.uintp(values.shape[1])
    blocks, width = np.uintp(n_blocks), np.uintp(WIDTH)
    flat = values.reshape(-1)
    n_cells = np.uintp(packed.shape[0]) // np.uintp(PACK)
    # Folding costs a pass over all cells: with many classes it must be rarer.
    stretch = np.uintp(max(FOLD_ROWS, 8 * count.shape[0]))
    start = np.uintp(0)
    while start < n:
        stop = min(n, start + stretch)
        for i in range(start, stop):
            c = np.uintp(target[i])
            count[c] += 1.0
            for block in range(blocks):
                base = (c * blocks + block) * np.uintp(PACK)
                left = block * width
                at = i * d + left
                wide = min(width, d - left)
                # Four at a time: values beyond the row are summed into unused room, which is faster than
                # three single steps. The last rows have nothing beyond them.
                if i + np.uintp(4) < n:
                    wide = (wide + np.uintp(3)) & ~np.uintp(3)
                for j in range(wide):
                    x, p = flat[at + j], packed[base + j]
                    t = x - p
                    z = x - t
                    e = (x - (t + z)) + (z - p)
                    a = packed[base + np.uintp(WIDTH) + j]
                    s = a + t
                    b = s - a
                    packed[base + np.uintp(WIDTH) + j] = s
                    packed[base + np.uintp(2 * WIDTH) + j] += ((a - (s - b)) + (t - b)) + e
                    square = t * t
                    rest = fma(2.0 * t, e, fma(t, t, -square))
                    a = packed[base + np.uintp(3 * WIDTH) + j]
                    s = a + square
                    b = s - a
                    packed[base + np.uintp(3 * WIDTH) + j] = s
                    packed[base + np.uintp(4 * WIDTH) + j] += ((a - (s - b)) + (square - b)) + rest
        for cell in range(n_cells):
            fold_packed(packed, cell * np.uintp(PACK))
        start = stop


@kernel
def sum_weighted(
    values: Any, target: Any, weights: Any, pivot: Any, weight: Any, weight_low: Any,
    first: Any, first_low: Any, second: Any, second_low: Any,
) -> None:  # fmt: skip
    """Sum rows of any weight, with NaN for missing values; rows of weight 0 are skipped."""
    n, d = np.uintp(values.shape[0]), np.uintp(values.shape[1])
    stretch = np.uintp(max(FOLD_ROWS, 8 * pivot.shape[0]))
    start = np.uintp(0)
    while start < n:
        stop = min(n, start + stretch)
        for i in range(start, stop):
            c, row_weight = np.uintp(target[i]), weights[i]
            if row_weight == 0.0:
                continue
            for j in range(d):
                x = values[i, j]
                w = row_weight if x == x else 0.0
                a = weight[c, j]
                s = a + w
                b = s - a
                weight[c, j] = s
                weight_low[c, j] += (a - (s - b)) + (w - b)
            for j in range(d):
                p = pivot[c, j]
                x = values[i, j] if values[i, j] == values[i, j] else p
                t = x - p
                z = x - t
                e = (x - (t + z)) + (z - p)
                product = row_weight * t
                rest = fma(row_weight, e, fma(row_weight, t, -product))
                a = first[c, j]
                s = a + product
                b = s - a
                first[c, j] = s
                first_low[c, j] += ((a - (s - b)) + (product - b)) + rest
            for j in range(d):
                p = pivot[c, j]
                x = values[i, j] if values[i, j] == values[i, j] else p
                t = x - p
                z = x - t
                e = (x - (t + z)) + (z - p)
                square = t * t
                rest = fma(2.0 * t, e, fma(t, t, -square))
                product = row_weight * square
                rest = fma(row_weight, rest, fma(row_weight, square, -product))
                a = second[c, j]
                s = a + product
                b = s - a
                second[c, j] = s
                second_low[c, j] += ((a - (s - b)) + (product - b)) + rest
        fold(weight, weight_low)
        fold(first, first_low)
        fold(second, second_low)
        start = stop


@kernel
def find_largest(values: Any, weights: Any, largest: Any) -> Any:
    """Write the largest magnitude of each column; return the flat index of the first infinity, or −1."""
    n, d = np.uintp(values.shape[0]), np.uintp(values.shape[1])
    for i in range(n):
        if weights[i] == 0.0:
            continue
        for j in range(d):
            largest[j] = max(largest[j], abs(values[i, j]) if values[i, j] == values[i, j] else 0.0)
    endless = False
    for j in range(d):
        endless |= largest[j] == np.inf
    if not endless:
        return np.int64(-1)
    for i in range(n):
        for j in range(d):
            if weights[i] != 0.0 and abs(values[i, j]) == np.inf:
                return np.int64(i) * np.int64(values.shape[1]) + np.int64(j)
    return np.int64(-1)


Codes = NDArray[np.uint32]


def count_moments(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Moments:
    """Sum the values of these attributes in each class.

    Rows without weights and without missing values take the fast loop. If it finds a NaN or overflows, the
    chunk is counted again by the careful loop.

    Examples
    --------
    >>> from bayeskit.statistics import Variable
    >>> schema = Schema((Variable("x", "numeric"),), Variable("y", "categorical", ("no", "yes")))
    >>> chunk = Chunk(3, np.empty((3, 0), np.uint8), np.array([[1.0], [3.0], [7.0]]),
    ...               target=np.array([0, 0, 1], np.uint32))
    >>> count_moments(chunk, schema, ("x",)).mean()[0].ravel()
    array([2., 7.])
    """
    if chunk.target is None:
        raise DataError("Rows without a class cannot be counted. Give the class of every row.")
    values = _columns(chunk, schema, attributes)
    shape = (double.PLANES, schema.n_classes, len(attributes))
    if not schema.n_classes or not attributes or not chunk.n_rows:
        return Moments(np.zeros(shape), np.zeros(len(attributes), np.int64))
    if chunk.weights is None:
        cells = np.zeros(shape)
        if not _count(cells, values, chunk.target, None) & double.TROUBLE:
            return Moments(cells, np.zeros(len(attributes), np.int64))
    weights = np.ones(chunk.n_rows) if chunk.weights is None else chunk.weights
    largest = np.zeros(len(attributes))
    infinite = find_largest(values, weights, largest)
    if infinite >= 0:
        row, place = divmod(infinite, len(attributes))
        raise InfiniteValue(attributes[place], chunk.first_row + row, float(values[row, place]))
    with np.errstate(divide="ignore"):
        exponent = exponent_for(np.log2(largest))
    if exponent.any():
        with np.errstate(under="ignore"):
            values = np.ldexp(values, -exponent)
    cells = np.zeros(shape)
    _count(cells, values, chunk.target, weights)
    return Moments(cells, exponent)


def _columns(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Floats:
    place = [schema.numeric_index[name] for name in attributes]
    if place == list(range(chunk.values.shape[1])):
        return np.ascontiguousarray(chunk.values)
    return np.ascontiguousarray(chunk.values[:, place])


def _count(cells: Floats, values: Floats, target: Codes, weights: Floats | None) -> int:
    """Count into zero cells; return the status of ``settle_cells``.

    The first value of a class is its pivot. If that is far from the mean, even double-doubles lose digits
    over a whole chunk, so the rows are counted again about the mean.
    """
    classes, width = cells.shape[1:]
    every = np.ones(len(values)) if weights is None else weights
    found = np.zeros((classes, width + 1), np.int64)
    find_pivots(values, target, every, cells[double.PIVOT], found)
    _sum(cells, values, target, weights)
    if double.plainly_settled(cells):
        return int(double.FINE)
    status = int(double.settle_cells(cells))
    if status == double.FAR:
        pivot = cells[double.PIVOT].copy()
        cells[:] = 0.0
        cells[double.PIVOT] = pivot
        _sum(cells, values, target, weights)
        status = int(double.settle_cells(cells))
    return status


def _sum(cells: Floats, values: Floats, target: Codes, weights: Floats | None) -> None:
    weight, weight_low, pivot, first, first_low, second, second_low = cells
    if weights is None:
        classes, width = pivot.shape
        n_blocks = -(-width // WIDTH)
        packed = np.zeros((classes, n_blocks, 5, WIDTH))
        wide = np.zeros((classes, n_blocks * WIDTH))
        wide[:, :width] = pivot
        packed[:, :, 0] = wide.reshape(classes, n_blocks, -1)
        count = np.zeros(classes)
        sum_plain(values, target, count, packed.reshape(-1), n_blocks)
        weight[:] = count[:, None]
        for plane, sums in enumerate((first, first_low, second, second_low), start=1):
            sums[:] = packed[:, :, plane].reshape(classes, -1)[:, :width]
    else:
        sum_weighted(values, target, weights, pivot, weight, weight_low, first, first_low, second, second_low)


# With more cells per attribute, the packed loop, which gives each of them 32 columns, takes too much memory.
LARGEST_PACKED = 2**15


def count_cell_moments(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> CellMoments:
    """Sum the values of these attributes in each class and state, one categorical attribute after the other.

    For one categorical attribute, the pair (state, class) acts as a class with more values, so the loops are
    those of the moments by class.

    Examples
    --------
    >>> two = Variable("a", "categorical", (0, 1)), Variable("u", "numeric")
    >>> schema = Schema(two, Variable("y", "categorical", ("no", "yes")))
    >>> chunk = Chunk(3, np.array([[0], [0], [1]], np.uint8), np.array([[1.0], [3.0], [7.0]]),
    ...               target=np.array([1, 1, 1], np.uint32))
    >>> count_cell_moments(chunk, schema, ("u",)).mean()[0][:, 1, 0]
    array([2., 7., 0.])
    """
    if chunk.target is None:
        raise DataError("Rows without a class cannot be counted. Give the class of every row.")
    zero = CellMoments.zero(schema, attributes)
    if not schema.categorical or not attributes or not chunk.n_rows:
        return zero
    # Missing values are found once here, instead of once for every attribute.
    careful = not np.isfinite(chunk.values).all()
    found = []
    for j, variable in enumerate(schema.categorical):
        codes = chunk.column(j)
        n_cells = (variable.size + 1) * schema.n_classes
        cell = codes.astype(np.uint32) * np.uint32(schema.n_classes) + chunk.target
        weights = chunk.row_weights if careful or n_cells > LARGEST_PACKED else chunk.weights
        target = Variable(schema.target.name, "categorical", tuple(range(n_cells)))
        rows = replace(chunk, target=cell, weights=weights)
        found.append(count_moments(rows, Schema(schema.attributes, target), attributes))
    # An exponent depends on the column only, but only attributes whose sums overflowed need it.
    exponents = np.stack([moments.exponent for moments in found])
    exponent = np.take_along_axis(exponents, np.abs(exponents).argmax(axis=0)[None], axis=0)[0]
    for moments, begin, end in zip(found, schema.offsets[:-1], schema.offsets[1:], strict=True):
        cells = zero.cells[:, int(begin) : int(end)]
        cells[:] = moments.rescaled(exponent).cells.reshape(cells.shape)
    return CellMoments(zero.cells, exponent)
