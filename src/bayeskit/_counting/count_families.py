"""Counts families: their configurations, and sums of products of numeric attributes in each configuration."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._counting.count_tables import class_weights
from bayeskit._data.encoded import Chunk
from bayeskit._intrinsics import fibonacci_hash
from bayeskit._messages import RowNumber
from bayeskit._numba import kernel
from bayeskit._schema import Schema
from bayeskit._statistics.families import Cells, Families
from bayeskit._statistics.part import key_of
from bayeskit._statistics.regression_families import LARGEST, RegressionFamilies
from bayeskit._statistics.regression_families import Cells as RegressionCells
from bayeskit._statistics.regressions import Regressions
from bayeskit.errors import DataError
from bayeskit.typing import Floats

_U = np.uintp


@kernel
def count_by_address(
    codes: Any, columns: Any, radices: Any, target: Any, weights: Any, n_classes: Any, counts: Any
) -> None:
    """Add every row's weight to the cell of its key; ``counts`` has one cell for each possible key.

    ``columns`` are the parents and then the child, the most significant first.
    """
    k = _U(n_classes)
    for i in range(_U(codes.shape[0])):
        key = _U(0)
        for j in range(_U(columns.shape[0])):
            key = key * radices[j] + _U(codes[i, columns[j]])
        counts[key * k + _U(target[i])] += weights[i]


@kernel
def count_by_hash(
    codes: Any,
    columns: Any,
    radices: Any,
    target: Any,
    weights: Any,
    n_classes: Any,
    table: Any,
    counts: Any,
    used: Any,
) -> Any:
    """Add every row's weight to the cell of its key in a hash table, and return the number of cells.

    ``table`` contains keys, −1 if free. Its length is a power of two above the number of rows, so a free
    place always exists. ``used`` are the occupied places, in the order of their first row.
    """
    k, mask = _U(n_classes), _U(table.shape[0] - 1)
    shift = np.uint64(64)
    while _U(1) << (np.uint64(64) - shift) < _U(table.shape[0]):
        shift -= np.uint64(1)
    n_used = _U(0)
    for i in range(_U(codes.shape[0])):
        if weights[i] == 0.0:
            continue
        number = _U(0)
        for j in range(_U(columns.shape[0])):
            number = number * radices[j] + _U(codes[i, columns[j]])
        number = number * k + _U(target[i])
        key = np.int64(number)
        place = fibonacci_hash(np.uint64(number)) >> shift
        while table[place] != key:
            if table[place] < 0:
                table[place] = key
                counts[place] = 0.0
                used[n_used] = place
                n_used += _U(1)
                break
            place = (place + _U(1)) & mask
        counts[place] += weights[i]
    return np.int64(n_used)


# A table of all keys is cheaper than a hash table if it is small, or has at most this many cells per row.
_SMALL_TABLE, _CELLS_A_ROW = 2**12, 4


def count_families(chunk: Chunk, schema: Schema, attributes: tuple[Any, ...]) -> Families:
    """Count n(x, u₁, …, u_k, c) for every family (child, parent 1, …, parent k).

    Examples
    --------
    >>> from bayeskit.statistics import Variable
    >>> schema = Schema((Variable("a", "categorical", (0, 1)),), Variable("y", "categorical", ("no", "yes")))
    >>> rows = Chunk(3, np.array([[0], [1], [1]], np.uint8), np.empty((3, 0)), target=np.array([0, 1, 1], np.uint32))
    >>> counted = count_families(rows, schema, (("a",),))
    >>> counted.keys, counted.counts
    (array([0, 3]), array([1., 2.]))
    """
    assert chunk.target is not None
    zero = Families.zero(schema, attributes)
    margin = class_weights(chunk.target, chunk.weights, schema.n_classes)
    if not chunk.n_rows or not attributes:
        return zero.with_cells(zero_cells(len(attributes)), margin)
    codes = chunk.codes
    if isinstance(codes, tuple):
        codes = np.column_stack([column[:] for column in codes]).astype(schema.code_dtype, copy=False)
    return zero.with_cells(_cells_of(codes, chunk, zero, schema.n_classes), margin)


def zero_cells(n: int) -> list[Cells]:
    """Return the cells of families without rows."""
    return [(np.empty(0, np.int64), np.empty(0))] * n


def _cells_of(codes: NDArray[Any], chunk: Chunk, families: Families, n_classes: int) -> Iterator[Cells]:
    size = 1 << (2 * chunk.n_rows - 1).bit_length()
    table, sums, used = np.empty(0, np.int64), np.empty(0), np.empty(0, np.uintp)
    for f in range(len(families)):
        begin, end = int(families.bounds[f]), int(families.bounds[f + 1])
        # The child last: cells that differ in a less significant digit are closer in memory.
        order = np.r_[begin + 1 : end, begin]
        columns = families.members[order].astype(np.uintp)
        radices = families.radices[order].astype(np.uintp)
        rows = (codes, columns, radices, chunk.target, chunk.row_weights, n_classes)
        n_keys = math.prod(int(r) for r in radices) * n_classes
        if n_keys <= max(_SMALL_TABLE, _CELLS_A_ROW * chunk.n_rows):
            cells = np.zeros(n_keys)
            count_by_address(*rows, cells)
            keys = np.flatnonzero(cells)
            yield keys.astype(np.int64), cells[keys]
            continue
        if not len(table):
            table, sums, used = np.empty(size, np.int64), np.empty(size), np.empty(chunk.n_rows, np.uintp)
        table.fill(-1)
        places = used[: count_by_hash(*rows, table, sums, used)]
        found = table[places]
        in_order = np.argsort(found)
        yield found[in_order], sums[places[in_order]]


def count_regressions(chunk: Chunk, schema: Schema, attributes: tuple[Any, ...]) -> RegressionFamilies:
    """Sum z and zzᵀ, z = (numeric parents, child), for every family (child, parent 1, …, parent k).

    Rows with a missing value in z are left out; a missing discrete parent has its own code.

    Examples
    --------
    >>> from bayeskit.statistics import Variable
    >>> two = Variable("a", "categorical", (0, 1)), Variable("u", "numeric")
    >>> schema = Schema(two, Variable("y", "categorical", ("no", "yes")))
    >>> codes, values = np.array([[0], [1], [1]], np.uint8), np.array([[1.0], [2.0], [4.0]])
    >>> rows = Chunk(3, codes, values, target=np.array([0, 1, 1], np.uint32))
    >>> keys, sums = count_regressions(rows, schema, (("u", "a"),)).cells[0]
    >>> keys, sums.n, sums.mean.ravel()
    (array([0, 3]), array([1., 2.]), array([1., 3.]))
    """
    assert chunk.target is not None
    zero = RegressionFamilies.zero(schema, attributes)
    used = sorted({int(j) for j in zero.columns})
    _refuse_large(chunk, schema, used)
    heavy = None if chunk.weights is None or chunk.weights.all() else chunk.weights != 0.0
    return zero.with_cells(_regressions_of(chunk, zero, f, heavy) for f in range(len(zero)))


def _regressions_of(
    chunk: Chunk, zero: RegressionFamilies, f: int, heavy: NDArray[np.bool_] | None
) -> RegressionCells:
    z = chunk.values[:, zero.numeric_of(f)]
    whole = ~np.isnan(z).any(axis=1)
    rows = np.flatnonzero(whole if heavy is None else whole & heavy)
    digits = [chunk.column(j)[rows].astype(np.int64) for j in zero.discrete_of(f)]
    assert chunk.target is not None
    radices = zero.radices_of(f)
    keys, cell = _numbered(
        key_of([*digits, chunk.target[rows].astype(np.int64)], radices), math.prod(radices)
    )
    return keys, Regressions.of(z[rows], cell, chunk.row_weights[rows], len(keys))


def _numbered(key: NDArray[np.int64], n_keys: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys in ascending order, and the position of each row's key among them."""
    if n_keys > max(_SMALL_TABLE, _CELLS_A_ROW * len(key)):
        keys, cell = np.unique(key, return_inverse=True)
        return keys, cell.ravel().astype(np.int64)
    place = np.zeros(n_keys, np.int64)
    place[key] = 1
    keys = np.flatnonzero(place)
    place[keys] = np.arange(len(keys))
    return keys.astype(np.int64), place[key]


def _refuse_large(chunk: Chunk, schema: Schema, columns: list[int]) -> None:
    values: Floats = chunk.values[:, columns]
    # NaN does not exceed anything.
    beyond = (np.abs(values) > LARGEST) & (chunk.row_weights != 0.0)[:, None]
    if beyond.any():
        row, at = (int(place) for place in np.argwhere(beyond)[0])
        raise DataError(
            "{name!r} is {value} in {place}: squares of "
            "values beyond {largest:g} cannot be summed. Correct it, make it missing, or change the unit of the "
            "column.",
            name=schema.numeric[columns[at]].name,
            value=values[row, at],
            place=RowNumber(chunk.first_row + row),
            largest=LARGEST,
        )
