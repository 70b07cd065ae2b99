"""Kernels that score the words of a block: out += X · table, with one row of the table per column of X."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit._counting.count_totals import is_sparse, locked, refuse_unusable
from bayeskit._numba import intrinsic, kernel
from bayeskit.errors import ColumnError
from bayeskit.typing import Floats

# How many words ahead the table is prefetched: enough to hide the memory latency, few enough to stay in the cache.
_AHEAD = np.uintp(16)
_LINE = np.uintp(8)  # doubles in a cache line
_SLICE = 1 << 20  # cells of a dense block that are cut at a threshold at a time
# Scores are clipped at this value, so that differences between classes stay finite.
_FARTHEST = 1e307


@intrinsic(plain=lambda array, place: None)
def _prefetch(typing_context: Any, array: Any, place: Any) -> Any:
    """Prefetch the cache line at an index of a flat array; the index may be out of range."""
    from llvmlite import ir
    from numba import types

    signature = types.void(array, types.uintp)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        flat = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte = ir.IntType(8).as_pointer()
        address = builder.bitcast(builder.gep(flat.data, [arguments[1]]), byte)
        number = ir.IntType(32)
        prefetch = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        )
        read, keep, data = (ir.Constant(number, n) for n in (0, 3, 1))
        builder.call(prefetch, [address, read, keep, data])
        return context.get_dummy_value()

    return signature, generate


@kernel
def _add_sparse(indptr: Any, indices: Any, data: Any, table: Any, out: Any) -> None:
    """Add x·table[word]; ``table`` is flat, the class innermost.

    The words of a document are scattered over a table of many megabytes, which the processor cannot predict. The
    indices are known in advance, and prefetching makes this twice as fast as a sparse matrix product.
    """
    n_classes = np.uintp(out.shape[1])
    last = np.uintp(indices.shape[0] - 1)
    for i in range(np.uintp(out.shape[0])):
        row = out[i]
        for q in range(np.uintp(indptr[i]), np.uintp(indptr[i + np.uintp(1)])):
            coming = np.uintp(indices[min(q + _AHEAD, last)]) * n_classes
            for line in range(np.uintp(0), n_classes, _LINE):
                _prefetch(table, coming + line)
            start = np.uintp(indices[q]) * n_classes
            x = data[q]
            for c in range(n_classes):
                row[c] += x * table[start + c]


@kernel
def _add_sparse_above(indptr: Any, indices: Any, data: Any, threshold: Any, table: Any, out: Any) -> None:
    """Add table[word] where x > threshold."""
    n_classes = np.uintp(out.shape[1])
    last = np.uintp(indices.shape[0] - 1)
    for i in range(np.uintp(out.shape[0])):
        row = out[i]
        for q in range(np.uintp(indptr[i]), np.uintp(indptr[i + np.uintp(1)])):
            coming = np.uintp(indices[min(q + _AHEAD, last)]) * n_classes
            for line in range(np.uintp(0), n_classes, _LINE):
                _prefetch(table, coming + line)
            if data[q] > threshold:
                start = np.uintp(indices[q]) * n_classes
                for c in range(n_classes):
                    row[c] += table[start + c]


def add_product(block: Any, table: Floats, out: Floats, above: float | None = None) -> None:
    """Add X · table to ``out`` of shape (n, K), or 1[X > above] · table. The table is finite, (V, K).

    Examples
    --------
    >>> out = np.zeros((1, 2))
    >>> add_product(np.array([[2., 1.]]), np.array([[1., 0.], [0., 1.]]), out)
    >>> out
    array([[2., 1.]])
    """
    if block.shape[1] != table.shape[0]:
        raise ColumnError(
            "The block has {length} columns; it was learned with {length2}.",
            length=block.shape[1],
            length2=table.shape[0],
        )
    if is_sparse(block):
        entries = locked(block.indptr), locked(block.indices), locked(block.data)
        if above is None:
            _add_sparse(*entries, locked(table.reshape(-1)), out)
        else:
            _add_sparse_above(*entries, float(above), locked(table.reshape(-1)), out)
    elif above is None:
        with np.errstate(invalid="ignore", over="ignore"):  # the caller checks the result
            out += block @ table
    else:
        step = max(1, _SLICE // max(1, block.shape[1]))
        for start in range(0, block.shape[0], step):
            rows = slice(start, start + step)
            out[rows] += (block[rows] > above).astype(np.float64) @ table


def add_scores(block: Any, table: Floats, out: Floats, first_row: int = 0) -> None:
    """Add X · table to ``out``, even if the product overflows. Raise an error for NaN and infinity in X.

    Examples
    --------
    >>> out = np.zeros((1, 2))
    >>> add_scores(np.array([[1e308, 1e308]]), np.array([[-2.0, -3.0], [-3.0, -5.0]]), out)
    >>> out.tolist()
    [[-1e+307, -inf]]
    """
    before = out.copy()
    add_product(block, table, out)
    # With a finite table, a score is not finite only if the block is not or the product overflows. Checking the few
    # scores instead of the many words costs nothing.
    rows = np.flatnonzero(~np.isfinite(out).all(axis=1))
    if not len(rows):
        return
    refuse_unusable(block, signed=True, first_row=first_row)
    out[rows] = before[rows] + _scaled_product(block[rows], table)


def _scaled_product(block: Any, table: Floats) -> Floats:
    """Return X · table without overflow: the largest class of each row is clipped, and the others are relative to it.

    Rows are divided by their largest number before multiplying. Only the differences between classes matter. These are
    multiplied by it again, and a class that is too far below for a double gets −inf.
    """
    if is_sparse(block):
        data, lengths = np.abs(block.data), np.diff(block.indptr)
        largest = np.zeros(block.shape[0])
        np.maximum.at(largest, np.repeat(np.arange(len(lengths)), lengths), data)
        largest[largest == 0.0] = 1.0
        scaled = block.copy()
        scaled.data = block.data / np.repeat(largest, lengths)
    else:
        largest = np.abs(block).max(axis=1, initial=0.0)
        largest[largest == 0.0] = 1.0
        scaled = block / largest[:, None]
    scores = np.zeros((len(largest), table.shape[1]))
    add_product(scaled, table, scores)
    top, by = scores.max(axis=1, keepdims=True), largest[:, None]
    with np.errstate(over="ignore"):
        apart: Floats = np.clip(top * by, -_FARTHEST, _FARTHEST) + (scores - top) * by
    return apart
