"""Counts unlabelled rows, with the weight of each row split between the classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bayeskit._counting.backend import COUNTERS
from bayeskit._counting.count_moments import FOLD_ROWS, WIDTH, find_largest
from bayeskit._counting.count_totals import is_sparse, summed
from bayeskit._data.encoded import Chunk
from bayeskit._intrinsics import fma
from bayeskit._numba import kernel
from bayeskit._schema import Name, Schema
from bayeskit._statistics import double
from bayeskit._statistics.moments import Moments, exponent_for
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.tables import Tables
from bayeskit._statistics.term import Plan
from bayeskit._statistics.totals import Totals, empty_sums
from bayeskit.errors import InfiniteValue
from bayeskit.typing import Floats

_U = np.uintp


@kernel
def share_rows(joint: Any, log_prior: Any, weights: Any, factor: Any, least: Any) -> float:
    """Turn log P(c, x) into w·P(c | x) in place; return Σ w log P(x), where w is factor·weight.

    Rows that are impossible in every class are shared by the prior, and make the sum −inf. Shares below
    ``least`` become zero, because their squares would underflow.
    """
    n, k = joint.shape
    value = 0.0
    for i in range(n):
        w = factor * weights[i]
        best = joint[i, 0]
        for c in range(1, k):
            if joint[i, c] > best:
                best = joint[i, c]
        if best == -np.inf:
            if w > 0.0:
                value = -np.inf
            for c in range(k):
                joint[i, c] = w * np.exp(log_prior[c])
            continue
        total = 0.0
        for c in range(k):
            e = np.exp(joint[i, c] - best)
            joint[i, c] = e
            total += e
        if w > 0.0:
            value += w * (best + np.log(total))
        scale = w / total
        for c in range(k):
            share = joint[i, c] * scale
            joint[i, c] = share if share >= least else 0.0
    return value


@kernel
def count_shares(codes: Any, shares: Any, offsets: Any, flat: Any) -> None:
    """Add the shares of every row to n(v, c) of each of its codes, with all classes in one pass."""
    n, d = codes.shape
    k = _U(shares.shape[1])
    for i in range(n):
        for j in range(d):
            place = (offsets[j] + _U(codes[i, j])) * k
            for c in range(k):
                flat[place + c] += shares[i, c]


@kernel
def count_two_shares(codes: Any, shares: Any, offsets: Any, flat: Any) -> None:
    """The same as ``count_shares`` for two classes."""
    n, d = codes.shape
    for i in range(n):
        first = shares[i, 0]
        second = shares[i, 1]
        for j in range(d):
            place = (offsets[j] + _U(codes[i, j])) * _U(2)
            flat[place] += first
            flat[place + _U(1)] += second


@kernel
def total_shares(indptr: Any, indices: Any, data: Any, shares: Any, sums: Any) -> None:
    """Add every entry of sparse rows, times the row's shares, to its column: ``sums`` has shape (V, K)."""
    n, k = shares.shape
    for i in range(n):
        for q in range(_U(indptr[i]), _U(indptr[i + 1])):
            v = _U(indices[q])
            x = data[q]
            for c in range(k):
                sums[v, c] += x * shares[i, c]


def count_soft(chunk: Chunk, shares: Floats, schema: Schema, plan: Plan) -> Statistics:
    """Compute all sums of a plan over rows with shares in the classes.

    Tables, moments and totals have their own loops. For any other pattern, each row is repeated for every
    class in which it has a share, with that weight.

    Parameters
    ----------
    chunk : Chunk
        Its target and weights are ignored.
    shares : array of shape (n, K)
        The weight of each row in each class.

    Examples
    --------
    >>> from bayeskit.statistics import Variable
    >>> schema = Schema((Variable("x", "categorical", ("a", "b")),), Variable("y", "categorical", ("no", "yes")))
    >>> chunk = Chunk(2, np.array([[0], [1]], np.uint8), np.empty((2, 0)))
    >>> count_soft(chunk, np.array([[0.25, 0.75], [0.5, 0.5]]), schema, Plan.naive(schema)).table("x")
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    parts: dict[Any, Any] = {}
    spread: Chunk | None = None
    for pattern in plan.patterns:
        if pattern.kind == "tables":
            parts["tables"] = _tables(chunk, shares, schema)
        elif pattern.kind == "moments":
            parts["moments"] = count_soft_moments(chunk, shares, schema, pattern.attributes)
        elif pattern.kind == "totals":
            parts["totals"] = _totals(chunk, shares, schema, pattern.attributes)
        else:
            spread = _spread(chunk, shares) if spread is None else spread
            parts[pattern.kind] = COUNTERS[pattern.kind](spread, schema, pattern.attributes)
    return Statistics(schema, plan, parts)


def _spread(chunk: Chunk, shares: Floats) -> Chunk:
    rows, classes = np.nonzero(shares)
    each = replace(chunk, target=None, weights=None).take(rows)
    return replace(each, target=classes.astype(np.uint32), weights=shares[rows, classes])


def _tables(chunk: Chunk, shares: Floats, schema: Schema) -> Tables:
    counts = np.zeros((int(schema.offsets[-1]), schema.n_classes))
    if chunk.codes.shape[1]:
        count = count_two_shares if schema.n_classes == 2 else count_shares
        count(chunk.codes, shares, schema.offsets, counts.reshape(-1))
    return Tables(shares.sum(axis=0), counts)


def _totals(chunk: Chunk, shares: Floats, schema: Schema, attributes: tuple[Any, ...]) -> Totals:
    block, above = summed(chunk.block), chunk.block_above
    sums = empty_sums(schema, attributes)
    if is_sparse(block):
        entries = block.data if above is None else (block.data > above).astype(np.float64)
        by_column = np.zeros(sums.shape[::-1])
        total_shares(block.indptr, block.indices, entries, shares, by_column)
        sums[:] = by_column.T
    else:
        sums[:] = shares.T @ (block if above is None else (block > above).astype(np.float64))
    return Totals(sums, shares.sum(axis=0))


# The room of one class and 32 columns: the pivot, then weight, first and second, each as high and low parts.
PACK = 7 * WIDTH


@kernel
def find_soft_pivots(values: Any, shares: Any, surest: Any, pivot: Any) -> None:
    """Write a value for each class and attribute: that of its most certain row, or of the first with a share.

    All rows have a share in all classes, so the first row, which is the pivot if classes are known, may be
    far from the class mean.
    """
    n, d = np.uintp(values.shape[0]), np.uintp(values.shape[1])
    for c in range(np.uintp(pivot.shape[0])):
        for j in range(d):
            x = values[surest[c], j]
            i = np.uintp(0)
            while x != x and i < n:
                if shares[i, c] > 0.0:
                    x = values[i, j]
                i += np.uintp(1)
            pivot[c, j] = x if x == x else 0.0


@kernel
def fold_soft(packed: Any) -> None:
    """Carry the low parts into the high ones where they are large enough."""
    for cell in range(np.uintp(packed.shape[0]) // np.uintp(PACK)):
        for plane in (1, 3, 5):
            for j in range(WIDTH):
                place = cell * np.uintp(PACK) + np.uintp(plane * WIDTH + j)
                a, b = packed[place], packed[place + np.uintp(WIDTH)]
                s = a + b
                part = s - a
                packed[place] = s
                packed[place + np.uintp(WIDTH)] = (a - (s - part)) + (b - part)


@kernel
def sum_shares(values: Any, shares: Any, packed: Any, n_blocks: Any) -> None:
    """Sum rows with a share in every class; NaN means missing.

    ``packed`` is flat, of shape (K, blocks, 7, 32), as in ``sum_plain``: with constant distances, the
    compiler vectorises the loop over columns. Weights are summed for each column, since cells may be missing.
    """
    n, d, k = np.uintp(values.shape[0]), np.uintp(values.shape[1]), np.uintp(shares.shape[1])
    blocks, width = np.uintp(n_blocks), np.uintp(WIDTH)
    flat = values.reshape(-1)
    start = np.uintp(0)
    while start < n:
        stop = min(n, start + np.uintp(FOLD_ROWS))
        for i in range(start, stop):
            for c in range(k):
                share = shares[i, c]
                if share == 0.0:
                    continue
                for block in range(blocks):
                    base = (c * blocks + block) * np.uintp(PACK)
                    left = block * width
                    at = i * d + left
                    wide = min(width, d - left)
                    # Values beyond the row are summed into unused room, see ``sum_plain``.
                    if i + np.uintp(4) < n:
                        wide = (wide + np.uintp(3)) & ~np.uintp(3)
                    for j in range(wide):
                        x, p = flat[at + j], packed[base + j]
                        w = share if x == x else 0.0
                        x = x if x == x else p
                        a = packed[base + np.uintp(WIDTH) + j]
                        s = a + w
                        b = s - a
                        packed[base + np.uintp(WIDTH) + j] = s
                        packed[base + np.uintp(2 * WIDTH) + j] += (a - (s - b)) + (w - b)
                        t = x - p
                        z = x - t
                        e = (x - (t + z)) + (z - p)
                        product = w * t
                        rest = fma(w, e, fma(w, t, -product))
                        a = packed[base + np.uintp(3 * WIDTH) + j]
                        s = a + product
                        b = s - a
                        packed[base + np.uintp(3 * WIDTH) + j] = s
                        packed[base + np.uintp(4 * WIDTH) + j] += ((a - (s - b)) + (product - b)) + rest
                        square = t * t
                        rest = fma(2.0 * t, e, fma(t, t, -square))
                        product = w * square
                        rest = fma(w, rest, fma(w, square, -product))
                        a = packed[base + np.uintp(5 * WIDTH) + j]
                        s = a + product
                        b = s - a
                        packed[base + np.uintp(5 * WIDTH) + j] = s
                        packed[base + np.uintp(6 * WIDTH) + j] += ((a - (s - b)) + (product - b)) + rest
        fold_soft(packed)
        start = stop


def count_soft_moments(chunk: Chunk, shares: Floats, schema: Schema, attributes: tuple[Name, ...]) -> Moments:
    r"""Sum the values of these attributes in each class, with each row weighted by its shares.

    .. math:: n_c = \sum_i r_{ic}, \quad S_1 = \sum_i r_{ic} (x_i - p_c), \quad S_2 = \sum_i r_{ic} (x_i - p_c)^2

    Parameters
    ----------
    chunk : Chunk
        Its target and weights are ignored.
    shares : array of shape (n, K)
        The weight r of each row in each class.

    Examples
    --------
    >>> from bayeskit.statistics import Variable
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
    # An infinite value, or squares that overflow: again, in other units.
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

    Sums about a pivot far from the mean lose digits; then the rows are counted again about the mean.
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
    # The pivot comes first in the loop, so that all sums are adjacent.
    for place, plane in zip((double.PIVOT, double.WEIGHT, double.WEIGHT_LOW), planes[:3], strict=True):
        cells[place] = plane
    cells[double.FIRST :] = planes[3:]
    cells[:, cells[double.WEIGHT] == 0.0] = 0.0
