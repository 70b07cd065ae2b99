"""Add the rows of a block to the totals of their classes. Every kernel returns the row it refuses, or −1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.kernel import kernel

Array = NDArray[Any]

# The bits of a double, read as an unsigned number, grow with its size; +inf is the first that is not a
# usable number and everything negative lies above it. One integer maximum, which vectorises, thus asks
# "all finite and none negative?" of a whole row for a tenth of what comparing each value in the adding
# loop costs. Minus zero alone is suspected wrongly; a suspicious row is looked at again.
_INFINITY = np.uint64(0x7FF0_0000_0000_0000)
_NO_SIGN = np.uint64(0x7FFF_FFFF_FFFF_FFFF)


def locked(array: Array) -> Array:
    """Return a view that cannot be written, so that a kernel is compiled for that one kind only."""
    view = array.view()
    view.flags.writeable = False
    return view


@kernel
def _usable(data: Any, bits: Any, start: Any, stop: Any) -> Any:
    largest = np.uint64(0)
    for q in range(start, stop):
        largest = max(largest, bits[q])
    if largest < _INFINITY:
        return True
    refused = 0
    for q in range(start, stop):
        refused += not (data[q] >= 0.0 and data[q] < np.inf)
    return refused == 0


@kernel
def _finite(bits: Any, start: Any, stop: Any) -> Any:
    largest = np.uint64(0)
    for q in range(start, stop):
        largest = max(largest, bits[q] & _NO_SIGN)
    return largest < _INFINITY


@kernel
def add_sparse(
    indptr: Any, indices: Any, data: Any, bits: Any, order: Any, target: Any, weights: Any, sums: Any
) -> Any:
    n_classes = np.uintp(sums.shape[0])
    for r in range(np.uintp(order.shape[0])):
        i = np.uintp(order[r])
        c = np.uintp(target[i])
        w = weights[i]
        if w == 0.0 or c >= n_classes:
            continue
        start, stop = np.uintp(indptr[i]), np.uintp(indptr[i + np.uintp(1)])
        if not _usable(data, bits, start, stop):
            return np.int64(i)
        row = sums[c]
        for q in range(start, stop):
            row[np.uintp(indices[q])] += w * data[q]
    return np.int64(-1)


@kernel
def add_sparse_above(
    indptr: Any,
    indices: Any,
    data: Any,
    bits: Any,
    order: Any,
    target: Any,
    weights: Any,
    threshold: Any,
    sums: Any,
) -> Any:
    n_classes = np.uintp(sums.shape[0])
    for r in range(np.uintp(order.shape[0])):
        i = np.uintp(order[r])
        c = np.uintp(target[i])
        w = weights[i]
        if w == 0.0 or c >= n_classes:
            continue
        start, stop = np.uintp(indptr[i]), np.uintp(indptr[i + np.uintp(1)])
        if not _finite(bits, start, stop):
            return np.int64(i)
        row = sums[c]
        for q in range(start, stop):
            row[np.uintp(indices[q])] += w if data[q] > threshold else 0.0
    return np.int64(-1)


@kernel
def add_dense(data: Any, bits: Any, width: Any, target: Any, weights: Any, sums: Any) -> Any:
    """Add rows that lie one after the other in the flat ``data``."""
    n_classes, width = np.uintp(sums.shape[0]), np.uintp(width)
    for i in range(np.uintp(target.shape[0])):
        c = np.uintp(target[i])
        w = weights[i]
        if w == 0.0 or c >= n_classes:
            continue
        start = i * width
        if not _usable(data, bits, start, start + width):
            return np.int64(i)
        row = sums[c]
        for v in range(width):
            row[v] += w * data[start + v]
    return np.int64(-1)


@kernel
def add_dense_above(
    data: Any, bits: Any, width: Any, target: Any, weights: Any, threshold: Any, sums: Any
) -> Any:
    n_classes, width = np.uintp(sums.shape[0]), np.uintp(width)
    for i in range(np.uintp(target.shape[0])):
        c = np.uintp(target[i])
        w = weights[i]
        if w == 0.0 or c >= n_classes:
            continue
        start = i * width
        if not _finite(bits, start, start + width):
            return np.int64(i)
        row = sums[c]
        for v in range(width):
            row[v] += w if data[start + v] > threshold else 0.0
    return np.int64(-1)
