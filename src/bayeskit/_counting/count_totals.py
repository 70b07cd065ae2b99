"""Sums the columns of a block by class. Every kernel returns the first invalid row, or −1."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.encoded import Chunk
from bayeskit._numba import kernel
from bayeskit._schema import Name, Schema
from bayeskit._statistics.totals import Totals, empty_sums, refuse_overflow
from bayeskit.errors import BlockValue, ColumnError, DataError, UsageError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from bayeskit._data.encoded import Block

Array = NDArray[Any]

# The bits of a double, read as an unsigned integer, grow with its value. +inf is the first unusable one, and
# all negative numbers are above it. So one integer maximum, which vectorises, checks "all finite and none
# negative?" for a whole row, for a tenth of the cost of comparing each value in the loop. Only minus zero is
# a false alarm; a suspicious row is checked again.
_INFINITY = np.uint64(0x7FF0_0000_0000_0000)
_NO_SIGN = np.uint64(0x7FFF_FFFF_FFFF_FFFF)


def locked(array: Array) -> Array:
    """Return a read-only view, so that a kernel is compiled for that kind only."""
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
    """Add rows that are stored one after the other in the flat ``data``."""
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


# From this many cells on (1 MB), the totals of all classes no longer fit the cache with the data. Then
# documents are processed class by class, which is a quarter faster if frequent words are scattered.
_CELLS_IN_CACHE = 131_072


def count_totals(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Totals:
    r"""Sum every column of the block over the rows of each class.

    .. math:: S_{cv} = \sum_{i: y_i = c} w_i x_{iv}

    Rows of weight zero are skipped without being checked. A sparse block is never made dense.

    Parameters
    ----------
    chunk : Chunk
        With a block and a target; with ``block_above``, 1[x > block_above] is counted instead of x.
    attributes : tuple of one name
        The block.

    Examples
    --------
    >>> from bayeskit.statistics import Variable
    >>> schema = Schema((Variable("text", "block", width=2),), Variable("y", "categorical", ("ham", "spam")))
    >>> nothing, words, y = np.empty((2, 0)), np.array([[1., 2.], [3., 0.]]), np.array([1, 1], np.uint32)
    >>> count_totals(Chunk(2, nothing.astype(np.uint8), nothing, words, y), schema, ("text",)).sums
    array([[0., 0.],
           [4., 2.]])
    """
    (name,) = attributes
    block, target, width = chunk.block, chunk.target, schema[name].width
    binarize = chunk.block_above
    if block is None or target is None:
        raise UsageError(
            "The block {name!r} can be counted only in rows that have both the block and a class.", name=name
        )
    if block.shape[1] != width:
        raise ColumnError(
            "The block {name!r} has {width} columns, not {length}.",
            name=name,
            width=width,
            length=block.shape[1],
        )
    if binarize is not None:
        block = binarizable(block, binarize)
    n_classes = schema.n_classes
    sums = empty_sums(schema, attributes)
    if _add(block, target, chunk.row_weights, binarize, sums) >= 0:
        # Duplicate entries may be negative one by one but not in sum.
        whole = summed(block)
        sums[:] = 0.0
        if whole is block or _add(whole, target, chunk.row_weights, binarize, sums) >= 0:
            refuse_unusable(
                whole,
                name,
                signed=binarize is not None,
                present=chunk.row_weights != 0,
                first_row=chunk.first_row,
            )
    refuse_overflow(sums, name)
    rows = np.bincount(target, weights=chunk.weights, minlength=n_classes)[:n_classes]
    return Totals(sums, rows.astype(np.float64, copy=False))


def _add(
    block: Block,
    target: NDArray[np.uint32],
    weights: NDArray[np.float64],
    threshold: float | None,
    sums: NDArray[np.float64],
) -> int:
    data = np.ascontiguousarray(block.data if is_sparse(block) else block, dtype=np.float64).reshape(-1)
    data, target, weights = locked(data), locked(target), locked(weights)
    bits = data.view(np.uint64)
    if is_sparse(block):
        entries = locked(block.indptr), locked(block.indices), data, bits
        order = _class_by_class(target, sums)
        if threshold is None:
            return int(add_sparse(*entries, order, target, weights, sums))
        return int(add_sparse_above(*entries, order, target, weights, float(threshold), sums))
    width = block.shape[1]
    if threshold is None:
        return int(add_dense(data, bits, width, target, weights, sums))
    return int(add_dense_above(data, bits, width, target, weights, float(threshold), sums))


def _class_by_class(target: NDArray[np.uint32], sums: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the order in which to process the rows. It is stable, so the sums are bit-identical."""
    if sums.size <= _CELLS_IN_CACHE:
        return np.arange(target.size, dtype=np.intp)
    # Two bytes are sorted by radix, four by comparison.
    keys = target.astype(np.uint16) if sums.shape[0] < 65_536 else target
    return np.argsort(keys, kind="stable")


def is_sparse(block: Block) -> TypeGuard[csr_array]:
    """Whether a block is a sparse matrix or array."""
    sparse = sys.modules.get("scipy.sparse")  # where nobody has imported it, nothing is sparse
    return sparse is not None and bool(sparse.issparse(block))


def binarizable(block: Block, threshold: float) -> Any:
    """Return a block in which each stored entry can be compared with a threshold on its own."""
    if is_sparse(block) and threshold < 0:
        raise DataError(
            "A sparse block cannot be binarized at {threshold}: all zeros that it does not store would "
            "count as one. Use 0 or above, or pass a dense array.",
            threshold=threshold,
        )
    return summed(block)


def summed(block: Block) -> Any:
    """Return a block in which no cell is stored twice; the same object if it is so already."""
    if not is_sparse(block) or block.has_canonical_format:
        return block
    block = block.copy()
    block.sum_duplicates()
    return block


def refuse_unusable(
    block: Any,
    name: Name = "block",
    signed: bool = False,
    present: NDArray[np.bool_] | None = None,
    first_row: int = 0,
) -> None:
    """Raise an error for the first value that is not finite or, unless signed, is negative, among the present rows.

    Examples
    --------
    >>> refuse_unusable(np.array([[0., np.nan]]), "text")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    bayeskit.errors.BlockValue: The block 'text' has NaN in column 1 of row 0 (the first is 0). Fill it, ...
    """
    sparse = is_sparse(block)
    data = block.data[: block.indptr[-1]] if sparse else block.reshape(-1)
    wrong = ~np.isfinite(data)
    if not signed:
        wrong |= data < 0
    if present is not None:
        wrong &= np.repeat(present, np.diff(block.indptr) if sparse else block.shape[1])
    if not wrong.any():
        return
    first = int(np.argmax(wrong))
    if sparse:
        row, column = int(np.searchsorted(block.indptr, first, side="right")) - 1, int(block.indices[first])
    else:
        row, column = divmod(first, block.shape[1])
    raise BlockValue(name, column, first_row + row, float(data[first]))
