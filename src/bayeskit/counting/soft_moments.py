"""Count the moments of rows whose class is not known: every class takes its share of a row's weight."""

from __future__ import annotations

import numpy as np

from bayeskit.counting.kernels.moments import WIDTH, find_largest
from bayeskit.counting.kernels.soft_moments import find_soft_pivots, sum_shares
from bayeskit.data.chunk import Chunk
from bayeskit.errors import InfiniteValue
from bayeskit.schema import Name, Schema
from bayeskit.statistics import double
from bayeskit.statistics.moments import Moments, exponent_for
from bayeskit.statistics.part import Floats


def count_soft_moments(chunk: Chunk, shares: Floats, schema: Schema, attributes: tuple[Name, ...]) -> Moments:
    r"""Sum the values of these attributes in each class, each row by its shares.

    .. math:: n_c = \sum_i r_{ic}, \quad S_1 = \sum_i r_{ic} (x_i - p_c), \quad S_2 = \sum_i r_{ic} (x_i - p_c)^2

    Parameters
    ----------
    chunk : Chunk
        Its target and weights are not looked at.
    shares : array of shape (n, K)
        The weight r of each row in each class.

    Examples
    --------
    >>> from bayeskit.schema import Variable
    >>> schema = Schema((Variable("x", "numeric"),), Variable("y", "categorical", ("no", "yes")))
    >>> chunk = Chunk(2, np.empty((2, 0), np.uint8), np.array([[1.0], [5.0]]))
    >>> count_soft_moments(chunk, np.array([[0.75, 0.5], [0.25, 0.5]]), schema, ("x",)).mean()[0].ravel()
    array([2., 3.])
    """
    n_classes, width = schema.n_classes, len(attributes)
    cells = np.zeros((double.PLANES, n_classes, width))
    if not n_classes or not width or not chunk.n_rows:
        return Moments(cells, np.zeros(width, np.int64))
    place = [schema.numeric_index[name] for name in attributes]
    whole = place == list(range(chunk.values.shape[1]))
    values = np.ascontiguousarray(chunk.values if whole else chunk.values[:, place])
    if not _count(cells, values, shares) & double.TROUBLE:
        return Moments(cells, np.zeros(width, np.int64))
    # An infinite value, or squares beyond the range of a double: once more, in other units.
    largest = np.zeros(width)
    infinite = find_largest(values, shares.sum(axis=1), largest)
    if infinite >= 0:
        row, column = divmod(infinite, width)
        raise InfiniteValue(attributes[column], chunk.first_row + row, float(values[row, column]))
    with np.errstate(divide="ignore", under="ignore"):
        exponent = exponent_for(np.log2(largest))
        values = np.ldexp(values, -exponent)
    _count(cells, values, shares)
    return Moments(cells, exponent)


def _count(cells: Floats, values: Floats, shares: Floats) -> int:
    """Count into cells; return the status of ``settle_cells``.

    Sums about a pivot far from the mean lose digits, so the rows are then counted once more about the mean.
    """
    pivot = np.empty(cells.shape[1:])
    find_soft_pivots(values, shares, shares.argmax(axis=0), pivot)
    _sum(cells, values, shares, pivot)
    if double.plainly_settled(cells):
        return int(double.FINE)
    status = int(double.settle_cells(cells))
    if status == double.FAR:
        _sum(cells, values, shares, cells[double.PIVOT].copy())
        status = int(double.settle_cells(cells))
    return status


def _sum(cells: Floats, values: Floats, shares: Floats, pivot: Floats) -> None:
    """Write the sums about these pivots; a cell without weight is all zeros."""
    n_classes, width = pivot.shape
    n_blocks = -(-width // WIDTH)
    packed = np.zeros((n_classes, n_blocks, double.PLANES, WIDTH))
    wide = np.zeros((n_classes, n_blocks * WIDTH))
    wide[:, :width] = pivot
    packed[:, :, 0] = wide.reshape(n_classes, n_blocks, -1)
    sum_shares(values, shares, packed.reshape(-1), n_blocks)
    planes = packed.transpose(2, 0, 1, 3).reshape(double.PLANES, n_classes, -1)[:, :, :width]
    # The loop has the pivot first, so that all its sums lie side by side.
    for place, plane in zip((double.PIVOT, double.WEIGHT, double.WEIGHT_LOW), planes):
        cells[place] = plane
    cells[double.FIRST :] = planes[3:]
    cells[:, cells[double.WEIGHT] == 0.0] = 0.0
