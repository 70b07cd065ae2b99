"""Loops over tables of two variables within each configuration of others: how far are the two from independent?"""

from __future__ import annotations

import math
from typing import Any

from bayeskit.counting.kernels.extensions import count_extension
from bayeskit.kernel import kernel


@kernel
def deviation(table: Any, q: int, r: int, s: int, pearson: bool, rows: Any, columns: Any, out: Any) -> None:
    r"""Write G² = 2 Σ n log(n n_z / (n_az n_bz)), or Pearson's Σ (n − e)² / e, and the degrees of freedom seen.

    ``table`` holds q × r × s counts. Seen are the sums over z of (states of a there − 1)(states of b there − 1).
    Each cell has its own logarithm: sums of n log n would cancel, and a small G² would lose its digits.
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

    The weight of the uniform table is James and Stein's, λ = (1 − Σ p²) / ((n − 1) Σ (1/cells − p)²). The
    configurations of z without a row become uniform, so they say nothing and need not be in the table.
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
    """Measure tables that are counted: that of more[m] begins at start[m] and has q × r × sizes[more[m]] cells."""
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
