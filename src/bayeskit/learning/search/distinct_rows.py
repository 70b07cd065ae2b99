"""Rows that occur many times, kept once with a weight, where this makes counting cheaper."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit.counting.kernels.distinct import find_distinct, hash_rows

Floats = NDArray[np.float64]

# Fewer rows than this are counted before they are compared.
FEWEST_ROWS = 2**14
# One row in so many, evenly spread, is looked at first: where more than half of these differ, the pass over all rows
# is spared.
SAMPLED = 16
# Weighted rows are counted one by one, others 64 at a time by bits: below one in so many, weights win.
PAYS = 16


class DistinctRows(NamedTuple):
    """Columns in which every row differs from every other, and what each row weighs."""

    columns: NDArray[Any]
    weights: Floats


def distinct_rows(columns: NDArray[Any], weights: Floats | None, most: int) -> DistinctRows | None:
    """Return each different row once, in the order in which they are met; None where more than ``most`` differ.

    Parameters
    ----------
    columns : unsigned integer array of shape (variables, rows)
    weights : float64 array, optional
        What each row weighs; one where it is left out.
    most : int

    Examples
    --------
    >>> rows = distinct_rows(np.array([[0, 1, 0], [2, 2, 2]], np.uint8), None, 3)
    >>> rows.columns.tolist(), rows.weights
    ([[0, 1], [2, 2]], array([2., 1.]))
    """
    n = columns.shape[1]
    most = min(most, n)
    hashes = np.empty(n, np.uint64)
    hash_rows(columns, hashes)
    first, sums = np.empty(most, np.int64), np.empty(most)
    table = np.full(1 << (2 * most).bit_length(), -1, np.int64)
    given = np.empty(0) if weights is None else weights
    found = find_distinct(columns, hashes, given, most, table, first, sums)
    if found < 0:
        return None
    return DistinctRows(np.ascontiguousarray(columns[:, first[:found]]), sums[:found])


def joined_where_it_pays(columns: NDArray[Any], weights: Floats | None) -> DistinctRows | None:
    """Return the different rows with their weights where there are few enough of them; else None.

    A sample is looked at first, so that rows of which most differ cost next to nothing.
    """
    n = columns.shape[1]
    if n < FEWEST_ROWS or not len(columns):
        return None
    sample = np.ascontiguousarray(columns[:, ::SAMPLED])
    if distinct_rows(sample, None, sample.shape[1] // 2) is None:
        return None
    return distinct_rows(columns, weights, n // PAYS)
