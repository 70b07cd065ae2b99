"""Kernels that count a family extended by each of many parents, and score or test it immediately.

There are versions by codes; by bits, 64 rows at a time with one plane per state; and with weights.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayeskit._intrinsics import ones
from bayeskit._numba import kernel

_U = np.uintp


@kernel
def family_code(columns: Any, parents: Any, sizes: Any, code: Any) -> None:
    """Write the number of each row's configuration of some columns, the first varying slowest."""
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
    """Count code × column into the first ``cells`` of a table.

    It alternates between two tables, so that no count waits for the one before.
    """
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
    """Return Σ n log(n / n_parents) of a table of q × r × more cells, with the child on the middle axis."""
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
    """Return log P(counts) under Dirichlet rows with weight / (configurations · r) per cell.

    A negative weight −a means a in every cell, whatever their number (K2: −1). ``by_observed`` divides by the
    number of configurations that occur.
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
    """Score counted tables; that of more[m] starts at start[m]."""
    for m in range(more.shape[0]):
        out[m] = _scored(
            tables[start[m] :], q, r, sizes[more[m]], by_likelihood, weight, by_observed, float(q), x_log_x
        )


@kernel
def pack_states(columns: Any, sizes: Any, first: Any, planes: Any) -> None:
    """For every variable v and state s, set the bits of the rows in that state in planes[first[v] + s].

    A variable with size 0 has no planes.
    """
    n = columns.shape[1]
    for p in range(planes.shape[0]):
        for w in range(planes.shape[1]):
            planes[p, w] = np.uint64(0)
    for v in range(columns.shape[0]):
        if sizes[v] == 0:
            continue
        for i in range(n):
            planes[first[v] + columns[v, i], i >> 6] |= np.uint64(1) << np.uint64(i & 63)


@kernel
def count_bits(
    planes: Any,
    first: Any,
    sizes: Any,
    inside: Any,
    more: Any,
    start: Any,
    partial: Any,
    digits: Any,
    tables: Any,
) -> None:
    """Count every configuration of the columns ``inside`` (the first slowest) with every state of each of ``more``.

    The table of more[m] starts at start[m]: configurations × states. ``partial[l]`` contains the rows that
    agree with the first l + 1 digits, so that only the planes of changed digits are read again.
    """
    words = _U(planes.shape[1])
    depth = inside.shape[0]
    configurations = 1
    for level in range(depth):
        configurations *= sizes[inside[level]]
        digits[level] = 0
    changed = 0
    for j in range(configurations):
        for level in range(changed, depth):
            plane = planes[first[inside[level]] + digits[level]]
            if level == 0:
                for w in range(words):
                    partial[0, w] = plane[w]
            else:
                for w in range(words):
                    partial[level, w] = partial[level - 1, w] & plane[w]
        rows = partial[depth - 1]
        here = 0
        for w in range(words):
            here += ones(rows[w])
        for m in range(more.shape[0]):
            size = sizes[more[m]]
            at = start[m] + j * size
            left = here
            for s in range(size - 1):
                seen = 0
                if left > 0:
                    plane = planes[first[more[m]] + s]
                    for w in range(words):
                        seen += ones(rows[w] & plane[w])
                tables[at + s] = seen
                left -= seen
            tables[at + size - 1] = left
        changed = depth - 1
        while changed >= 0:
            digits[changed] += 1
            if digits[changed] < sizes[inside[changed]]:
                break
            digits[changed] = 0
            changed -= 1


@kernel
def deviation(table: Any, q: int, r: int, s: int, pearson: bool, rows: Any, columns: Any, out: Any) -> None:
    r"""Write G² = 2 Σ n log(n n_z / (n_az n_bz)), or Pearson's Σ (n − e)² / e, and the observed degrees of freedom.

    ``table`` has q × r × s counts. The observed degrees of freedom are Σ_z (states of a that occur −
    1)(states of b that occur − 1). Each cell has its own logarithm: sums of n log n would cancel, and a small
    G² would lose its digits.
    """
    total = 0.0
    seen = 0
    for j in range(q):
        first = j * r * s
        here = 0
        for b in range(s):
            columns[b] = 0
        states = 0
        for a in range(r):
            line = 0
            for b in range(s):
                x = table[first + a * s + b]
                line += x
                columns[b] += x
            rows[a] = line
            here += line
            states += line > 0
        if here == 0:
            continue
        others = 0
        for b in range(s):
            others += columns[b] > 0
        seen += (states - 1) * (others - 1)
        for a in range(r):
            if rows[a] == 0:
                continue
            for b in range(s):
                x = table[first + a * s + b]
                expected = float(rows[a]) * float(columns[b]) / here
                if pearson:
                    if expected > 0.0:
                        total += (x - expected) * (x - expected) / expected
                elif x > 0:
                    total += x * math.log(x / expected)
    out[0] = total if pearson else 2.0 * total
    out[1] = float(seen)


@kernel
def shrunken_deviation(
    table: Any, q: int, r: int, s: int, n: float, cells: float, rows: Any, columns: Any, out: Any
) -> None:
    r"""Write 2n times the mutual information of the table shrunk towards the uniform one of ``cells`` cells.

    The weight of the uniform table is that of James and Stein, λ = (1 − Σ p²) / ((n − 1) Σ (1/cells − p)²).
    Configurations of z without rows become uniform, so they add nothing and need not be in the table.
    """
    uniform = 1.0 / cells
    squares = 0.0
    for u in range(q * r * s):
        p = table[u] / n
        squares += p * p
    distance = (n - 1.0) * (squares - uniform)
    shrink = 1.0
    if distance > 0.0:
        shrink = min(1.0, max(0.0, (1.0 - squares) / distance))
    total = 0.0
    for j in range(q):
        first = j * r * s
        here = 0.0
        for b in range(s):
            columns[b] = 0.0
        for a in range(r):
            rows[a] = 0.0
            for b in range(s):
                p = shrink * uniform + (1.0 - shrink) * (table[first + a * s + b] / n)
                rows[a] += p
                columns[b] += p
            here += rows[a]
        for a in range(r):
            for b in range(s):
                p = shrink * uniform + (1.0 - shrink) * (table[first + a * s + b] / n)
                if p > 0.0:
                    total += p * math.log(p * here / (rows[a] * columns[b]))
    out[0] = 2.0 * n * total


@kernel
def measure_tables(
    tables: Any,
    start: Any,
    sizes: Any,
    more: Any,
    q: int,
    r: int,
    n: int,
    declared: float,
    shrunken: bool,
    pearson: bool,
    rows: Any,
    columns: Any,
    out: Any,
) -> None:
    """Measure counted tables; that of more[m] starts at start[m] and has q × r × sizes[more[m]] cells."""
    for m in range(more.shape[0]):
        s = sizes[more[m]]
        table = tables[start[m] :]
        deviation(table, q, r, s, pearson, rows, columns, out[m])
        if shrunken:
            shrunken_deviation(table, q, r, s, float(n), declared * r * s, rows, columns, out[m])


@kernel
def measure_extensions(
    data: Any,
    sizes: Any,
    code: Any,
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
    """Count and measure one table for each of ``more``; ``code`` is the number of z times r, plus a."""
    n = code.shape[0]
    for m in range(more.shape[0]):
        s = sizes[more[m]]
        count_extension(code, data[more[m]], s, q * r * s, table)
        deviation(table, q, r, s, pearson, rows, columns, out[m])
        if shrunken:
            shrunken_deviation(table, q, r, s, float(n), declared * r * s, rows, columns, out[m])


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
    """Return Σ n log(n / n_parents) of a table of q × r × more cells, with the child on the middle axis."""
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
    """Count and measure one table for each of ``more``.

    ``code`` is the number of z times r, plus a; n is the total weight.
    """
    for m in range(more.shape[0]):
        s = sizes[more[m]]
        weigh_extension(code, data[more[m]], weights, s, q * r * s, table)
        deviation(table, q, r, s, pearson, rows, columns, out[m])
        if shrunken:
            shrunken_deviation(table, q, r, s, n, declared * r * s, rows, columns, out[m])
