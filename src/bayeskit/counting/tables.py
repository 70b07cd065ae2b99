"""Rows → tables of counts."""

from __future__ import annotations

import numpy as np

from bayeskit.counting.kernels.tables import count_classes, count_codes, count_column
from bayeskit.data.chunk import Chunk
from bayeskit.schema import Name, Schema
from bayeskit.statistics.tables import Tables


def count_tables(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Tables:
    """Count n(c) and n(v, c) for every categorical attribute."""
    assert chunk.target is not None
    margin = np.zeros(schema.n_classes)
    counts = np.zeros((int(schema.offsets[-1]), schema.n_classes))
    if attributes and isinstance(chunk.codes, tuple):
        count_classes(chunk.target, chunk.row_weights, margin)
        for column, start, stop in zip(chunk.codes, schema.offsets, schema.offsets[1:]):
            flat = counts[int(start) : int(stop)].reshape(-1)
            count_column(column.own, column.table, chunk.target, chunk.row_weights, schema.n_classes, flat)
    elif attributes:
        count_codes(
            chunk.codes,
            chunk.target,
            chunk.row_weights,
            schema.offsets,
            schema.n_classes,
            margin,
            counts.reshape(-1),
        )
    else:
        count_classes(chunk.target, chunk.row_weights, margin)
    return Tables(margin, counts)
