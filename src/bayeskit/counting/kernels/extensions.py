"""Loops that count a family with each of many further parents, and score what they counted at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayeskit.kernel import kernel

_U = np.uintp


@kernel
def family_code(columns: Any, parents: Any, sizes: Any, code: Any) -> None:
    """Write the number of each row's configuration of some columns, the first slowest."""
    n = code.shape[0]
    for i in range(n):
        code[i] = 0
    for p in range(parents.shape[0]):
        size = np.uint32(sizes[parents[p]])
        column = columns[parents[p]]
        for i in range(n):
            code[i] = code[i] * size + column[i]


@kernel
def count_extension(code: Any, column: Any, size: int, cells: int, table: Any) -> None:
    """Count code × column into the first ``cells`` of a table; two tables in turn, so that no count waits."""
    n = code.shape[0]
    s = _U(size)
    second = _U(cells)
    for u in range(2 * cells):
        table[u] = 0
    even = n - (n & 1)
    for i in range(0, even, 2):
        a = _U(i)
        table[_U(code[a]) * s + _U(column[a])] += 1
        b = a + _U(1)
        table[second + _U(code[b]) * s + _U(column[b])] += 1
    if even < n:
        table[_U(code[_U(even)]) * s + _U(column[_U(even)])] += 1
    for u in range(_U(cells)):
        table[u] += table[second + u]


@kernel
def log_likelihood(table: Any, q: int, r: int, more: int, x_log_x: Any) -> float:
    """Return Σ n log(n / n_parents) of a table of q × r × more cells, the child in the middle."""
    total = 0.0
    for j in range(q):
        for m in range(more):
            here = 0
            for k in range(r):
                x = table[(j * r + k) * more + m]
                if x > 0:
                    here += x
                    total += x_log_x[x]
            total -= x_log_x[here]
    return total


@kernel
def dirichlet_evidence(
    table: Any, q: int, r: int, more: int, weight: float, by_observed: bool, all_configurations: float
) -> float:
    """Return log P(counts) under Dirichlet rows: weight / (configurations · r) a cell, or ``weight`` where < 0.

    A negative weight −a is a for every cell, whatever their number (K2: −1). ``by_observed`` divides by the
    configurations that occur instead of all.
    """
    configurations = all_configurations
    if by_observed:
        seen = 0
        for j in range(q):
            for m in range(more):
                for k in range(r):
                    if table[(j * r + k) * more + m] > 0:
                        seen += 1
                        break
        configurations = float(max(seen, 1))
    cell = -weight if weight < 0.0 else weight / (configurations * r)
    row = cell * r
    log_cell = math.lgamma(cell)
    log_row = math.lgamma(row)
    total = 0.0
    for j in range(q):
        for m in range(more):
            here = 0
            for k in range(r):
                x = table[(j * r + k) * more + m]
                if x > 0:
                    here += x
                    total += math.lgamma(cell + x) - log_cell
            if here > 0:
                total += log_row - math.lgamma(row + here)
    return total


@kernel
def _scored(
    table: Any,
    q: int,
    r: int,
    size: int,
    by_likelihood: bool,
    weight: float,
    by_observed: bool,
    declared: float,
    x_log_x: Any,
) -> Any:
    if by_likelihood:
        return log_likelihood(table, q, r, size, x_log_x)
    return dirichlet_evidence(table, q, r, size, weight, by_observed, declared * size)


@kernel
def score_extensions(
    columns: Any,
    sizes: Any,
    code: Any,
    q: int,
    r: int,
    more: Any,
    by_likelihood: bool,
    weight: float,
    by_observed: bool,
    declared: float,
    x_log_x: Any,
    table: Any,
    out: Any,
) -> None:
    """Score (child, parents + each of ``more``); ``code`` is parents · r + child, ``declared`` all configurations."""
    for m in range(more.shape[0]):
        size = sizes[more[m]]
        count_extension(code, columns[more[m]], size, q * r * size, table)
        out[m] = _scored(table, q, r, size, by_likelihood, weight, by_observed, declared, x_log_x)


@kernel
def score_tables(
    tables: Any,
    start: Any,
    sizes: Any,
    more: Any,
    q: int,
    r: int,
    by_likelihood: bool,
    weight: float,
    by_observed: bool,
    x_log_x: Any,
    out: Any,
) -> None:
    """Score tables that are counted: that of more[m] begins at start[m]."""
    for m in range(more.shape[0]):
        out[m] = _scored(
            tables[start[m] :], q, r, sizes[more[m]], by_likelihood, weight, by_observed, float(q), x_log_x
        )
