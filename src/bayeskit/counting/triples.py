"""Rows → triples: every attribute under every two super-parents, with the class."""

from __future__ import annotations

import numpy as np

from bayeskit.counting.kernels.triples import count_codes_by_triples, mirror_triples
from bayeskit.data.chunk import Chunk
from bayeskit.schema import Name, Schema
from bayeskit.statistics.triples import Triples

# Rows counted at a time: their addresses stay in the second cache while all triples pass over them.
_BLOCK_ROWS = 4096


def count_triples(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Triples:
    """Count n(v_i, v_j, v_k, c) for every two super-parents i, j among ``attributes`` and every attribute k.

    Each triple of super-parents is counted once and copied to its other two places.

    Examples
    --------
    >>> from bayeskit.schema import Variable
    >>> two = tuple(Variable(name, "categorical", (0, 1)) for name in "ab")
    >>> schema = Schema(two, Variable("y", "categorical", ("no", "yes")))
    >>> codes, target = np.array([[0, 1], [0, 1], [1, 2]], np.uint8), np.array([1, 1, 0], np.uint32)
    >>> counted = count_triples(Chunk(3, codes, np.empty((3, 0)), target=target), schema, ("a", "b"))
    >>> counted.joint(0)[:, :, 1]  # two rows with a = 0, b = 1; the last of each is for missing values
    array([[0., 2., 0.],
           [0., 0., 0.],
           [0., 0., 0.]])
    """
    assert chunk.target is not None
    triples = Triples.zero(schema, attributes)
    triples.margin[:] = np.bincount(chunk.target, chunk.weights, schema.n_classes)
    m = len(triples.parents)
    if m < 2 or not chunk.n_rows:
        return triples
    codes = chunk.codes
    if isinstance(codes, tuple):
        codes = np.column_stack([column[:] for column in codes]).astype(schema.code_dtype, copy=False)
    parents, is_parent = triples.parents.astype(np.uintp), np.zeros(codes.shape[1], dtype=np.bool_)
    is_parent[triples.parents] = True
    starts = np.zeros((m, m), dtype=np.uintp)
    starts[np.triu_indices(m, 1)] = triples.starts[:-1]
    step = min(chunk.n_rows, _BLOCK_ROWS)
    # An address fits 32 bits: statistics.triples.LARGEST keeps the whole table below 2³² cells.
    places, base = np.empty((codes.shape[1], step), dtype=np.uint32), np.empty(step, dtype=np.uint32)
    count_codes_by_triples(
        codes,
        chunk.target,
        chunk.row_weights,
        schema.offsets,
        parents,
        is_parent,
        starts,
        places,
        base,
        triples.counts,
    )
    mirror_triples(schema.offsets, parents, starts, triples.counts)
    return triples
