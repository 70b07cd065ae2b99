"""Rows → tables of counts."""

from __future__ import annotations

import numpy as np

from bayeskit.counting.kernels import tables as kernels
from bayeskit.data.chunk import Chunk
from bayeskit.schema import Name, Schema
from bayeskit.statistics.tables import Tables

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
        kernels.count_classes(chunk.target, margin)
        for column, start, stop in zip(chunk.codes, schema.offsets, schema.offsets[1:]):
            part = counts[int(start) : int(stop)]
            if part.size > LARGEST_COPIED:
                kernels.count_column(column.own, column.table, chunk.target, k, 0, part.reshape(-1))
                continue
            copies = np.zeros((4, *part.shape))
            kernels.count_column(column.own, column.table, chunk.target, k, part.size, copies.reshape(-1))
            copies.sum(axis=0, out=part)
    elif attributes:
        kernels.count_codes(chunk.codes, chunk.target, schema.offsets, k, margin, counts.reshape(-1))
    else:
        kernels.count_classes(chunk.target, margin)
    return Tables(margin, counts)


def _count_weighted(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Tables:
    k = schema.n_classes
    margin, margin_low = np.zeros(k), np.zeros(k)
    kernels.count_classes_weighted(chunk.target, chunk.weights, margin, margin_low)
    shape = (int(schema.offsets[-1]), k)
    counts, counts_low = np.zeros(shape), np.zeros(shape)
    if attributes:
        codes = chunk.codes
        if isinstance(codes, tuple):
            codes = np.column_stack([column[:] for column in codes]).astype(schema.code_dtype, copy=False)
        flat, low = counts.reshape(-1), counts_low.reshape(-1)
        kernels.count_weighted(codes, chunk.target, chunk.weights, schema.offsets, k, flat, low)
    return Tables(margin, counts, margin_low, counts_low)
