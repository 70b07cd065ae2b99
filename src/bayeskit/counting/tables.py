"""Rows → tables of counts."""

from __future__ import annotations

import numpy as np

from bayeskit.counting.kernels.tables import count_classes, count_codes
from bayeskit.data.chunk import Chunk
from bayeskit.schema import Name, Schema
from bayeskit.statistics.tables import Tables


def count_tables(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Tables:
    """Count n(c) and n(v, c) for every categorical attribute."""
    assert chunk.target is not None
    margin = np.zeros(schema.n_classes)
    counts = np.zeros((int(schema.offsets[-1]), schema.n_classes))
    if attributes:
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
