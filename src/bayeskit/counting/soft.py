"""Counting rows whose class is not known: each belongs to every class with a share of its weight."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bayeskit.counting.backend import COUNTERS
from bayeskit.counting.kernels import soft as kernels
from bayeskit.counting.soft_moments import count_soft_moments
from bayeskit.counting.totals import is_sparse, summed
from bayeskit.data.encoded import Chunk
from bayeskit.schema import Schema
from bayeskit.statistics import Plan, Statistics
from bayeskit.statistics.tables import Tables
from bayeskit.statistics.totals import Totals, empty_sums
from bayeskit.typing import Floats


def count_soft(chunk: Chunk, shares: Floats, schema: Schema, plan: Plan) -> Statistics:
    """Take all the sums of a plan over rows that have shares in the classes.

    Tables, moments and totals have loops of their own. For any other pattern each row stands once for every class in
    which it has a share, with that weight.

    Parameters
    ----------
    chunk : Chunk
        Its target and weights are not looked at.
    shares : array of shape (n, K)
        The weight of each row in each class.

    Examples
    --------
    >>> from bayeskit.schema import Variable
    >>> schema = Schema((Variable("x", "categorical", ("a", "b")),), Variable("y", "categorical", ("no", "yes")))
    >>> chunk = Chunk(2, np.array([[0], [1]], np.uint8), np.empty((2, 0)))
    >>> count_soft(chunk, np.array([[0.25, 0.75], [0.5, 0.5]]), schema, Plan.naive(schema)).table("x")
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    parts: dict[Any, Any] = {}
    spread: Chunk | None = None
    for pattern in plan.patterns:
        if pattern.kind == "tables":
            parts["tables"] = _tables(chunk, shares, schema)
        elif pattern.kind == "moments":
            parts["moments"] = count_soft_moments(chunk, shares, schema, pattern.attributes)
        elif pattern.kind == "totals":
            parts["totals"] = _totals(chunk, shares, schema, pattern.attributes)
        else:
            spread = _spread(chunk, shares) if spread is None else spread
            parts[pattern.kind] = COUNTERS[pattern.kind](spread, schema, pattern.attributes)
    return Statistics(schema, plan, parts)


def _spread(chunk: Chunk, shares: Floats) -> Chunk:
    rows, classes = np.nonzero(shares)
    each = replace(chunk, target=None, weights=None).take(rows)
    return replace(each, target=classes.astype(np.uint32), weights=shares[rows, classes])


def _tables(chunk: Chunk, shares: Floats, schema: Schema) -> Tables:
    counts = np.zeros((int(schema.offsets[-1]), schema.n_classes))
    if chunk.codes.shape[1]:
        count = kernels.count_two_shares if schema.n_classes == 2 else kernels.count_shares
        count(chunk.codes, shares, schema.offsets, counts.reshape(-1))
    return Tables(shares.sum(axis=0), counts)


def _totals(chunk: Chunk, shares: Floats, schema: Schema, attributes: tuple[Any, ...]) -> Totals:
    block, above = summed(chunk.block), chunk.block_above
    sums = empty_sums(schema, attributes)
    if is_sparse(block):
        entries = block.data if above is None else (block.data > above).astype(np.float64)
        by_column = np.zeros(sums.shape[::-1])
        kernels.total_shares(block.indptr, block.indices, entries, shares, by_column)
        sums[:] = by_column.T
    else:
        sums[:] = shares.T @ (block if above is None else (block > above).astype(np.float64))
    return Totals(sums, shares.sum(axis=0))
