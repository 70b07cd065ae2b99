"""Rows → tables of counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.data.chunk import Chunk
from bayeskit.kernel import kernel
from bayeskit.schema import Name, Schema
from bayeskit.statistics.tables import Tables

_U = np.uintp


@kernel
def count_codes(codes: Any, target: Any, offsets: Any, n_classes: Any, margin: Any, flat: Any) -> None:
    """Add one for every row to n(c) and to n(v, c) of each of its codes.

    Row by row: consecutive increments then never fall on the same cell, which is what makes this run
    at the speed of the store port (2 G increments a second).
    """
    n, d = codes.shape
    k = _U(n_classes)
    for i in range(n):
        c = _U(target[i])
        margin[c] += 1.0
        for j in range(d):
            flat[(offsets[j] + _U(codes[i, j])) * k + c] += 1.0


@kernel
def count_column(own: Any, table: Any, target: Any, n_classes: Any, step: Any, flat: Any) -> None:
    """Add one for every row to n(v, c) of one column in its own codes; −1 points at the table's end.

    It saves laying the columns side by side, which costs more than the counting. ``flat`` may hold four
    copies of the table, ``step`` apart, for the rows to take in turn: an increment then seldom has to wait
    for the one before it. The caller adds them up. With a step of 0 there is but one.
    """
    k = _U(n_classes)
    size = _U(step)
    n = own.shape[0]
    whole = n - n % 4
    for i in range(0, whole, 4):
        u = _U(i)
        flat[_U(table[own[u]]) * k + _U(target[u])] += 1.0
        flat[size + _U(table[own[u + _U(1)]]) * k + _U(target[u + _U(1)])] += 1.0
        flat[size + size + _U(table[own[u + _U(2)]]) * k + _U(target[u + _U(2)])] += 1.0
        flat[size + size + size + _U(table[own[u + _U(3)]]) * k + _U(target[u + _U(3)])] += 1.0
    for i in range(whole, n):
        flat[_U(table[own[i]]) * k + _U(target[i])] += 1.0


@kernel
def count_classes(target: Any, margin: Any) -> None:
    """Add one for every row to n(c)."""
    for i in range(target.shape[0]):
        margin[_U(target[i])] += 1.0


@kernel
def add_weight(high: Any, low: Any, place: Any, weight: Any) -> None:
    """Add a weight to a cell and keep what the sum loses."""
    a = high[place]
    s = a + weight
    b = s - a
    high[place] = s
    low[place] += (a - (s - b)) + (weight - b)


@kernel
def count_weighted(
    codes: Any, target: Any, weights: Any, offsets: Any, n_classes: Any, flat: Any, flat_low: Any
) -> None:
    """Add every row's weight to n(v, c) of each of its codes."""
    n, d = codes.shape
    k = _U(n_classes)
    for i in range(n):
        c = _U(target[i])
        for j in range(d):
            add_weight(flat, flat_low, (offsets[j] + _U(codes[i, j])) * k + c, weights[i])


@kernel
def count_classes_weighted(target: Any, weights: Any, margin: Any, margin_low: Any) -> None:
    """Add every row's weight to n(c)."""
    for i in range(target.shape[0]):
        add_weight(margin, margin_low, _U(target[i]), weights[i])


# Cells of a table up to which four copies stay in the cache.
LARGEST_COPIED = 4_096


def count_tables(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Tables:
    """Count n(c) and n(v, c) for every categorical attribute."""
    assert chunk.target is not None
    if chunk.weights is not None:
        return _count_weighted(chunk, schema, attributes)
    k = schema.n_classes
    margin, counts = np.zeros(k), np.zeros((int(schema.offsets[-1]), k))
    if isinstance(chunk.codes, tuple):
        count_classes(chunk.target, margin)
        for column, start, stop in zip(chunk.codes, schema.offsets, schema.offsets[1:]):
            part = counts[int(start) : int(stop)]
            if part.size > LARGEST_COPIED:
                count_column(column.own, column.table, chunk.target, k, 0, part.reshape(-1))
                continue
            copies = np.zeros((4, *part.shape))
            count_column(column.own, column.table, chunk.target, k, part.size, copies.reshape(-1))
            copies.sum(axis=0, out=part)
    elif attributes:
        count_codes(chunk.codes, chunk.target, schema.offsets, k, margin, counts.reshape(-1))
    else:
        count_classes(chunk.target, margin)
    return Tables(margin, counts)


def _count_weighted(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Tables:
    k = schema.n_classes
    margin, margin_low = np.zeros(k), np.zeros(k)
    count_classes_weighted(chunk.target, chunk.weights, margin, margin_low)
    shape = (int(schema.offsets[-1]), k)
    counts, counts_low = np.zeros(shape), np.zeros(shape)
    if attributes:
        codes = chunk.codes
        if isinstance(codes, tuple):
            codes = np.column_stack([column[:] for column in codes]).astype(schema.code_dtype, copy=False)
        flat, low = counts.reshape(-1), counts_low.reshape(-1)
        count_weighted(codes, chunk.target, chunk.weights, schema.offsets, k, flat, low)
    return Tables(margin, counts, margin_low, counts_low)
