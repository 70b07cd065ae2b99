"""Loops that count rows that have weights: a family with each of many further parents, scored or tested at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayeskit.counting.kernels.contingency import deviation, shrunken_deviation
from bayeskit.counting.kernels.extensions import dirichlet_evidence
from bayeskit.kernel import kernel

_U = np.uintp


@kernel
def weigh_extension(code: Any, column: Any, weights: Any, size: int, cells: int, table: Any) -> None:
    """Add the weights of code × column to the first ``cells`` of a table."""
    s = _U(size)
    for u in range(_U(cells)):
        table[u] = 0.0
    for i in range(_U(code.shape[0])):
        table[_U(code[i]) * s + _U(column[i])] += weights[i]


@kernel
def weighted_log_likelihood(table: Any, q: int, r: int, more: int) -> float:
    """Return Σ n log(n / n_parents) of a table of q × r × more cells, the child in the middle."""
    total = 0.0
    for j in range(q):
        for m in range(more):
            here = 0.0
            for k in range(r):
                x = table[(j * r + k) * more + m]
                if x > 0.0:
                    here += x
                    total += x * math.log(x)
            if here > 0.0:
                total -= here * math.log(here)
    return total


@kernel
def score_weighted(
    columns: Any,
    sizes: Any,
    code: Any,
    weights: Any,
    q: int,
    r: int,
    more: Any,
    by_likelihood: bool,
    weight: float,
    by_observed: bool,
    declared: float,
    table: Any,
    out: Any,
) -> None:
    """Score (child, parents + each of ``more``); ``code`` is parents · r + child, ``declared`` all configurations."""
    for m in range(more.shape[0]):
        size = sizes[more[m]]
        weigh_extension(code, columns[more[m]], weights, size, q * r * size, table)
        if by_likelihood:
            out[m] = weighted_log_likelihood(table, q, r, size)
        else:
            out[m] = dirichlet_evidence(table, q, r, size, weight, by_observed, declared * size)


@kernel
def measure_weighted(
    data: Any,
    sizes: Any,
    code: Any,
    weights: Any,
    n: float,
    more: Any,
    q: int,
    r: int,
    declared: float,
    shrunken: bool,
    pearson: bool,
    table: Any,
    rows: Any,
    columns: Any,
    out: Any,
) -> None:
    """Count and measure one table for each of ``more``; ``code`` is the number of z times r, plus a; n all weight."""
    for m in range(more.shape[0]):
        s = sizes[more[m]]
        weigh_extension(code, data[more[m]], weights, s, q * r * s, table)
        deviation(table, q, r, s, pearson, rows, columns, out[m])
        if shrunken:
            shrunken_deviation(table, q, r, s, n, declared * r * s, rows, columns, out[m])
