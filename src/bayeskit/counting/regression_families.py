"""Rows → regressions: sums of products of numeric attributes in each configuration of discrete ones and the class."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.encoded import Chunk
from bayeskit.errors import DataError
from bayeskit.schema import Schema
from bayeskit.statistics.cells import key_of
from bayeskit.statistics.regression_families import LARGEST, Cells, RegressionFamilies
from bayeskit.statistics.regressions import Regressions
from bayeskit.typing import Floats

# Cells are numbered by a table of all keys while it is small, or has no more than this many places a row.
_SMALL_TABLE, _PLACES_A_ROW = 2**12, 4


def count_regressions(chunk: Chunk, schema: Schema, attributes: tuple[Any, ...]) -> RegressionFamilies:
    """Sum z and zzᵀ, z = (numeric parents, child), for every family (child, parent 1, …, parent k).

    Rows in which some of z is missing are left out; a discrete parent that is missing has the code of that.

    Examples
    --------
    >>> from bayeskit.schema import Variable
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
    return zero.with_cells(_cells_of(chunk, zero, f, heavy) for f in range(len(zero)))


def _cells_of(chunk: Chunk, zero: RegressionFamilies, f: int, heavy: NDArray[np.bool_] | None) -> Cells:
    z = chunk.values[:, zero.numeric_of(f)]
    whole = ~np.isnan(z).any(axis=1)
    rows = np.flatnonzero(whole if heavy is None else whole & heavy)
    digits = [np.asarray(_column(chunk.codes, j))[rows].astype(np.int64) for j in zero.discrete_of(f)]
    assert chunk.target is not None
    radices = zero.radices_of(f)
    keys, cell = _numbered(
        key_of([*digits, chunk.target[rows].astype(np.int64)], radices), math.prod(radices)
    )
    return keys, Regressions.of(z[rows], cell, chunk.row_weights[rows], len(keys))


def _column(codes: Any, j: int) -> Any:
    return codes[j][:] if isinstance(codes, tuple) else codes[:, j]


def _numbered(key: NDArray[np.int64], n_keys: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the different keys, ascending, and which of them each row has."""
    if n_keys > max(_SMALL_TABLE, _PLACES_A_ROW * len(key)):
        keys, cell = np.unique(key, return_inverse=True)
        return keys, cell.ravel().astype(np.int64)
    place = np.zeros(n_keys, np.int64)
    place[key] = 1
    keys = np.flatnonzero(place)
    place[keys] = np.arange(len(keys))
    return keys.astype(np.int64), place[key]


def _refuse_large(chunk: Chunk, schema: Schema, columns: list[int]) -> None:
    values: Floats = chunk.values[:, columns]
    # A NaN is not beyond anything.
    beyond = (np.abs(values) > LARGEST) & (chunk.row_weights != 0.0)[:, None]
    if beyond.any():
        row, at = (int(place) for place in np.argwhere(beyond)[0])
        raise DataError(
            f"{schema.numeric[columns[at]].name!r} is {values[row, at]} in row {chunk.first_row + row}: squares of "
            f"values beyond {LARGEST:g} cannot be summed. Correct it, make it missing, or change the unit of the "
            "column."
        )
