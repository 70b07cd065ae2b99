"""Count the moments of numeric attributes over one chunk."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayeskit.counting.kernels import moments as kernels
from bayeskit.data.chunk import Chunk
from bayeskit.errors import DataError, InfiniteValue
from bayeskit.schema import Name, Schema
from bayeskit.statistics import double
from bayeskit.statistics.moments import Moments, exponent_for
from bayeskit.statistics.part import Floats

Codes = NDArray[np.uint32]


def count_moments(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Moments:
    """Sum the values of these attributes in each class.

    Rows without weights and without missing values take the fast loop. Where that meets a NaN or leaves
    the range of a double, the chunk is counted again with care.

    Examples
    --------
    >>> from bayeskit.schema import Variable
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
    infinite = kernels.find_largest(values, weights, largest)
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
    """Count into cells of zeros; return the status of ``settle_cells``.

    The first value of a class serves as its pivot. Where that proves to lie far from the mean, even
    double-doubles lose digits over a whole chunk, so the rows are counted once more about the mean.
    """
    classes, width = cells.shape[1:]
    every = np.ones(len(values)) if weights is None else weights
    found = np.zeros((classes, width + 1), np.int64)
    kernels.find_pivots(values, target, every, cells[double.PIVOT], found)
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
        n_blocks = -(-width // kernels.WIDTH)
        packed = np.zeros((classes, n_blocks, 5, kernels.WIDTH))
        wide = np.zeros((classes, n_blocks * kernels.WIDTH))
        wide[:, :width] = pivot
        packed[:, :, 0] = wide.reshape(classes, n_blocks, -1)
        count = np.zeros(classes)
        kernels.sum_plain(values, target, count, packed.reshape(-1), n_blocks)
        weight[:] = count[:, None]
        for plane, sums in enumerate((first, first_low, second, second_low), start=1):
            sums[:] = packed[:, :, plane].reshape(classes, -1)[:, :width]
    else:
        kernels.sum_weighted(
            values, target, weights, pivot, weight, weight_low, first, first_low, second, second_low
        )
