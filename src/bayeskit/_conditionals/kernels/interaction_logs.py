r"""Loops over tables of interactions: their logarithms, the scores of rows, and both with a row left out.

The term of a table of one, two or three attributes is, in class y,

.. math::
   F_i = \log p_i, \quad G_{ij} = \log \frac{p_{ij}}{p_i p_j}, \quad
   H_{ijk} = \log \frac{p_{ijk}}{q_{ijk}}, \quad q_{ijk} = \frac{p_{ij} p_{ik} p_{jk}}{p_i p_j p_k}

with :math:`p_i = (n_i + c_1/v_i)/(N + c_1)`, :math:`p_{ij} = (n_{ij} + c_2 p_i p_j)/(N + c_2)` and
:math:`p_{ijk} = (n_{ijk} + c_3 q)/(N + c_3)`: where nothing was counted the last two are 0. All counts of a table are
over the rows that have all its attributes.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from bayeskit._numba import kernel

_U = np.uintp


@kernel
def single_log(n: Any, total: Any, size: Any, strength: Any) -> Any:
    """Return log p_i."""
    return log((n + strength / size) / (total + strength))


@kernel
def pair_log(n: Any, first: Any, second: Any, total: Any, v: Any, u: Any, c1: Any, c2: Any) -> Any:
    """Return log p_ij / (p_i p_j) from n_ij, n_i, n_j and N."""
    base = (first + c1 / v) * (second + c1 / u) / ((total + c1) * (total + c1))
    return log((n + c2 * base) / ((total + c2) * base))


@kernel
def triple_log(
    n: Any, a: Any, b: Any, e: Any, ab: Any, ae: Any, be: Any, total: Any, v: Any, u: Any, s: Any,
    c1: Any, c2: Any, c3: Any,
) -> Any:  # fmt: skip
    """Return log p_ijk / q from the counts of the triple, its attributes and its pairs."""
    pa, pb, pe = (a + c1 / v) / (total + c1), (b + c1 / u) / (total + c1), (e + c1 / s) / (total + c1)
    pairs = (ab + c2 * pa * pb) * (ae + c2 * pa * pe) * (be + c2 * pb * pe)
    base = pairs / ((total + c2) * (total + c2) * (total + c2) * pa * pb * pe)
    return log((n + c3 * base) / ((total + c3) * base))


@kernel
def add_margins(
    counts: Any,
    tables: Any,
    widths: Any,
    starts: Any,
    used: Any,
    margin_starts: Any,
    totals: Any,
    margins: Any,
) -> None:
    """Add up N, n_i and, of three attributes, n_ij of each table, over the cells in use.

    The margins of a table lie one after the other: of two attributes i, j; of three i, j, k, ij, ik, jk.
    """
    k = counts.shape[1]
    for t in range(tables.shape[0]):
        a, b, e = tables[t, 0], tables[t, 1], tables[t, 2]
        wa, wb = widths[a], 1 if b < 0 else widths[b]
        we = 1 if e < 0 else widths[e]
        ua, ub = used[a], 1 if b < 0 else used[b]
        ue = 1 if e < 0 else used[e]
        m = margin_starts[t]
        pairs = m + wa + wb + we
        for v in range(ua):
            for u in range(ub):
                for s in range(ue):
                    cell = starts[t] + (v * wb + u) * we + s
                    for c in range(k):
                        n = counts[cell, c]
                        totals[t, c] += n
                        if b >= 0:
                            margins[m + v, c] += n
                            margins[m + wa + u, c] += n
                        if e >= 0:
                            margins[m + wa + wb + s, c] += n
                            margins[pairs + v * wb + u, c] += n
                            margins[pairs + wa * wb + v * we + s, c] += n
                            margins[pairs + wa * wb + wa * we + u * we + s, c] += n


@kernel
def cell_log(
    t: Any, v: Any, u: Any, s: Any, c: Any, own: Any, counts: Any, tables: Any, widths: Any, starts: Any, used: Any,
    margin_starts: Any, totals: Any, margins: Any, strengths: Any,
) -> Any:  # fmt: skip
    """Return the term of one cell in one class, with ``own`` taken out of every count that the cell stands in."""
    a, b, e = tables[t, 0], tables[t, 1], tables[t, 2]
    c1, c2, c3 = strengths[0], strengths[1], strengths[2]
    total = max(totals[t, c] - own, 0.0)
    if b < 0:
        return single_log(max(counts[starts[t] + v, c] - own, 0.0), total, used[a], c1)
    m, wa, wb = margin_starts[t], widths[a], widths[b]
    first, second = max(margins[m + v, c] - own, 0.0), max(margins[m + wa + u, c] - own, 0.0)
    if e < 0:
        n = max(counts[starts[t] + v * wb + u, c] - own, 0.0)
        return pair_log(n, first, second, total, used[a], used[b], c1, c2)
    we = widths[e]
    pairs = m + wa + wb + we
    n = max(counts[starts[t] + (v * wb + u) * we + s, c] - own, 0.0)
    third = max(margins[m + wa + wb + s, c] - own, 0.0)
    ab = max(margins[pairs + v * wb + u, c] - own, 0.0)
    ae = max(margins[pairs + wa * wb + v * we + s, c] - own, 0.0)
    be = max(margins[pairs + wa * wb + wa * we + u * we + s, c] - own, 0.0)
    return triple_log(
        n, first, second, third, ab, ae, be, total, used[a], used[b], used[e], c1, c2, c3
    )  # fmt: skip


@kernel
def fill_logs(
    which: Any, weights: Any, new_starts: Any, counts: Any, tables: Any, widths: Any, starts: Any, used: Any,
    margin_starts: Any, totals: Any, margins: Any, strengths: Any, out: Any,
) -> None:  # fmt: skip
    """Write the weighed term of every cell in use of some tables, in every class."""
    k = counts.shape[1]
    for place in range(which.shape[0]):
        t = which[place]
        a, b, e = tables[t, 0], tables[t, 1], tables[t, 2]
        wb, we = 1 if b < 0 else widths[b], 1 if e < 0 else widths[e]
        for v in range(used[a]):
            for u in range(1 if b < 0 else used[b]):
                for s in range(1 if e < 0 else used[e]):
                    cell = new_starts[place] + (v * wb + u) * we + s
                    for c in range(k):
                        out[cell, c] = weights[place] * cell_log(
                            t, v, u, s, c, 0.0, counts, tables, widths, starts, used, margin_starts, totals,
                            margins, strengths,
                        )  # fmt: skip


@kernel
def add_scores(axes: Any, which: Any, tables: Any, widths: Any, new_starts: Any, logs: Any, out: Any) -> None:
    """Add the weighed logarithms of every row's cells to ``out`` of shape (n, K).

    ``which`` are the tables that have a weight; theirs begin at ``new_starts`` in ``logs``.
    """
    n, k = _U(out.shape[0]), _U(out.shape[1])
    for place in range(which.shape[0]):
        t = which[place]
        a, b, e = tables[t, 0], tables[t, 1], tables[t, 2]
        begin = new_starts[place]
        wb, we = 1 if b < 0 else widths[b], 1 if e < 0 else widths[e]
        for i in range(n):
            cell = axes[a, i]
            if b >= 0:
                cell = cell * wb + axes[b, i]
            if e >= 0:
                cell = cell * we + axes[e, i]
            row = _U(begin + cell)
            for c in range(k):
                out[i, c] += logs[row, c]


@kernel
def add_terms(
    axes: Any, target: Any, own: Any, usual: Any, term_starts: Any, logs: Any, left_logs: Any, counts: Any,
    tables: Any, widths: Any, starts: Any, used: Any, margin_starts: Any, totals: Any, margins: Any, strengths: Any,
    out: Any,
) -> None:  # fmt: skip
    """Write each row's terms, the mean over the tables of each, to ``out`` of shape (terms, n, K).

    The row itself is left out of the counts of its class, with the weight ``own``. Logarithms are taken when they are
    first needed, and kept: in ``logs``, and in ``left_logs`` those without a row of the ``usual`` weight of its class.
    """
    n, k = out.shape[1], out.shape[2]
    for g in range(out.shape[0]):
        share = 1.0 / (term_starts[g + 1] - term_starts[g])
        for t in range(term_starts[g], term_starts[g + 1]):
            a, b, e = tables[t, 0], tables[t, 1], tables[t, 2]
            wb, we = 1 if b < 0 else widths[b], 1 if e < 0 else widths[e]
            for i in range(n):
                v = axes[a, i]
                u = 0 if b < 0 else axes[b, i]
                s = 0 if e < 0 else axes[e, i]
                if v >= used[a] or (b >= 0 and u >= used[b]) or (e >= 0 and s >= used[e]):
                    continue
                cell = starts[t] + (v * wb + u) * we + s
                for c in range(k):
                    if logs[cell, c] != logs[cell, c]:
                        logs[cell, c] = cell_log(
                            t, v, u, s, c, 0.0, counts, tables, widths, starts, used, margin_starts, totals,
                            margins, strengths,
                        )  # fmt: skip
                    out[g, i, c] += share * logs[cell, c]
                w, y = own[i], target[i]
                if w > 0.0:
                    left = left_logs[cell, y]
                    if w != usual[y] or left != left:
                        left = cell_log(
                            t, v, u, s, y, w, counts, tables, widths, starts, used, margin_starts, totals,
                            margins, strengths,
                        )  # fmt: skip
                    if w == usual[y]:
                        left_logs[cell, y] = left
                    out[g, i, y] += share * (left - logs[cell, y])
