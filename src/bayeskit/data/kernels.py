"""Loops that turn integers into codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bayeskit.kernel import kernel


@kernel
def _look_up(matrix: Any, low: Any, starts: Any, table: Any, out: Any) -> None:
    n, d = matrix.shape
    for i in range(n):
        for j in range(d):
            out[i, j] = table[starts[j] + np.uintp(matrix[i, j] - low[j])]


@kernel
def _code_runs(matrix: Any, first: Any, size: Any, other: Any, out: Any) -> int:
    n, d = matrix.shape
    strange = -1
    for i in range(n):
        for j in range(d):
            place = np.int64(matrix[i, j]) - first[j]
            if place < 0 or place >= size[j]:
                place = other[j]
                strange = i
            out[i, j] = place
    return strange


def code_runs(
    matrix: NDArray[Any],
    first: NDArray[np.int64],
    size: NDArray[np.int64],
    other: NDArray[np.int64],
    dtype: DTypeLike,
) -> tuple[NDArray[Any], int]:
    """Code columns whose states are runs of whole numbers; return the codes and a row with another value, or −1."""
    if matrix.dtype != np.uint8:
        matrix = matrix.astype(np.int64, copy=False)
    out = np.empty(matrix.shape, dtype=dtype)
    return out, int(_code_runs(np.ascontiguousarray(matrix), first, size, other, out))


@kernel
def find_intervals(values: Any, cuts: Any, out: Any) -> int:
    """Write how many cuts lie below each value, NaN one more than all; return a row that is infinite, or −1."""
    n_cuts = len(cuts)
    strange = -1
    for i in range(len(values)):
        x = values[i]
        if np.isnan(x):
            out[i] = n_cuts + 1
            continue
        if np.isinf(x):
            strange = i
        low, length = 0, n_cuts
        while length > 0:
            half = length >> 1
            if cuts[low + half] < x:
                low += half + 1
                length -= half + 1
            else:
                length = half
        out[i] = low
    return strange


def column_bounds(matrix: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the least and the largest value of each column.

    NumPy reduces long rows far faster than short ones, so 64 rows at a time are laid side by side.
    """
    n, d = matrix.shape
    whole = (n // 64) * 64
    if not matrix.flags.c_contiguous or whole == 0:
        return matrix.min(axis=0), matrix.max(axis=0)
    wide = matrix[:whole].reshape(-1, 64 * d)
    low, high = wide.min(axis=0).reshape(64, d).min(axis=0), wide.max(axis=0).reshape(64, d).max(axis=0)
    if whole < n:
        low, high = np.minimum(low, matrix[whole:].min(axis=0)), np.maximum(high, matrix[whole:].max(axis=0))
    return low, high


def look_up_codes(
    matrix: NDArray[Any], low: NDArray[Any], tables: list[NDArray[Any]], dtype: DTypeLike
) -> NDArray[Any]:
    """Replace every value v of column j by ``tables[j][v − low[j]]``."""
    starts = np.concatenate([[0], np.cumsum([len(t) for t in tables])[:-1]]).astype(np.uintp)
    out = np.empty(matrix.shape, dtype=dtype)
    flat = np.concatenate(tables).astype(dtype)
    if matrix.dtype != np.uint8:
        matrix = matrix.astype(np.int64, copy=False)
    _look_up(np.ascontiguousarray(matrix), low.astype(matrix.dtype), starts, flat, out)
    return out
