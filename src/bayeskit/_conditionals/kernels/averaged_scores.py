"""Kernels that score rows under every super-parent, for AODE and SPODE."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit._conditionals.pair_cells import cell, is_present
from bayeskit._numba import kernel

_U = np.uintp

# Products or factors below these are represented by their logarithms, because the smallest double is 1e-308.
_SMALL_PRODUCT, _SMALL_FACTOR = 1e-200, 1e-100


@kernel
def score_parents(
    codes: Any, starts: Any, table: Any, width: Any, first: Any, eligible: Any, places: Any, out: Any
) -> None:
    """Write log P(c, x_i) + Σ_j log P(x_j | c, x_i) for every super-parent i: shape (n, d, K).

    ``table`` is flat, its classes padded to ``width``, which is 2 or a multiple of 4. A super-parent that is not
    eligible gets NaN.
    """
    n, d = codes.shape
    n_classes = out.shape[2]
    total = starts[d]
    w = _U(width)
    for r in range(n):
        for j in range(d):
            places[j] = (starts[j] + _U(codes[r, j])) * w
        for i in range(d):
            g = starts[i] + _U(codes[r, i])
            if not eligible[g]:
                for c in range(n_classes):
                    out[r, i, c] = np.nan
                continue
            base = g * total * w
            if w == _U(2):
                a = 0.0
                b = 0.0
                for j in range(d):
                    place = base + places[j]
                    a += table[place]
                    b += table[place + _U(1)]
                out[r, i, 0] = first[g, 0] + a
                if n_classes > 1:
                    out[r, i, 1] = first[g, 1] + b
                continue
            for start in range(0, width, 4):
                u = _U(start)
                a = 0.0
                b = 0.0
                e = 0.0
                f = 0.0
                for j in range(d):
                    place = base + places[j] + u
                    a += table[place]
                    b += table[place + _U(1)]
                    e += table[place + _U(2)]
                    f += table[place + _U(3)]
                out[r, i, start] = first[g, start] + a
                if start + 1 < n_classes:
                    out[r, i, start + 1] = first[g, start + 1] + b
                if start + 2 < n_classes:
                    out[r, i, start + 2] = first[g, start + 2] + e
                if start + 3 < n_classes:
                    out[r, i, start + 3] = first[g, start + 3] + f


@kernel
def sum_parents(scores: Any, log_weights: Any, by_row: bool, out: Any, alone: Any) -> int:
    """Add log Σ_i w_i exp(score_i) over the eligible super-parents to ``out``.

    ``log_weights`` has a row for each row of the scores (``by_row``) or one for all. Rows that have no super-parent are
    marked in ``alone`` and counted.
    """
    n, d, n_classes = scores.shape
    n_alone = 0
    for r in range(n):
        weights = log_weights[r] if by_row else log_weights[0]
        nobody = True
        for i in range(d):
            if not np.isnan(scores[r, i, 0]) and weights[i] > -np.inf:
                nobody = False
        alone[r] = nobody
        if nobody:
            n_alone += 1
            continue
        for c in range(n_classes):
            best = -np.inf
            for i in range(d):
                s = scores[r, i, c] + weights[i]
                if s > best:
                    best = s
            if best == -np.inf:
                out[r, c] = -np.inf
                continue
            total = 0.0
            for i in range(d):
                s = scores[r, i, c] + weights[i]
                if not np.isnan(s):
                    total += np.exp(s - best)
            out[r, c] += best + np.log(total)
    return n_alone


@kernel
def _multiply(products: Any, c: Any, p: float) -> Any:
    """Multiply a product by a probability; return the logarithm of the scale factor taken out, mostly 0."""
    if p < _SMALL_FACTOR:
        return np.log(p)
    products[c] *= p
    if products[c] >= _SMALL_PRODUCT:
        return 0.0
    taken = np.log(products[c])
    products[c] = 1.0
    return taken


@kernel
def score_left_out(
    codes: Any,
    target: Any,
    own: Any,
    cells: Any,
    joint: Any,
    joint_total: Any,
    min_count: float,
    work: Any,
    out: Any,
) -> float:
    """Write the leave-one-out scores of :func:`score_parents`, with the weight ``own`` of each row removed.

    With a negative ``min_count``, every present value is a super-parent. ``joint`` holds the imaginary counts of
    P(c, x_i), and ``joint_total`` their sums. If a sum is negative, the first factor is P(x_i | c) instead. Returns
    the most negative remaining count, or 0.
    """
    counts, offsets, real, sizes, mode, mass, extra, total_mass, alike, first, scale, constants = cells
    n, d = codes.shape
    n_classes = out.shape[2]
    least = 0.0
    for r in range(n):
        y, w = target[r], own[r]
        for i in range(d):
            for j in range(i, d):
                if w > 0.0 and _U(codes[r, i]) <= real[i] and _U(codes[r, j]) <= real[j]:
                    left = counts[offsets[i] + _U(codes[r, i]), offsets[j] + _U(codes[r, j]), y] - w
                    if left < -1e-9 * w:
                        least = min(least, left)
        for i in range(d):
            u = _U(codes[r, i])
            g = offsets[i] + u
            weight = 0.0
            if u < sizes[i]:
                for c in range(n_classes):
                    weight += counts[g, g, c]
                weight -= w
            # Sums of fractional weights depend on the order, so ignore shortfalls by rounding.
            seldom = weight < min_count - 1e-9 * max(1.0, min_count) or weight <= 1e-12 * w
            if u >= sizes[i] or (seldom and min_count >= 0.0):
                for c in range(n_classes):
                    out[r, i, c] = np.nan
                continue
            rows = 0.0
            for c in range(n_classes):
                rows += first[i, c]
            rows -= w
            for c in range(n_classes):
                mine = w if c == y else 0.0
                out[r, i, c] = 0.0
                if joint_total[i] < 0.0:
                    work[c] = cell(
                        counts, offsets, real, sizes, mode, mass, extra, total_mass, alike, first, scale, constants,
                        i, u, np.intp(-1), _U(0), c, mine, 0.0,
                    )  # fmt: skip
                else:
                    whole = rows + joint_total[i]
                    work[c] = (max(counts[g, g, c] - mine, 0.0) + joint[g]) / whole if whole > 0.0 else 1.0
            for j in range(d):
                x = _U(codes[r, j])
                if j == i or not is_present(real, sizes, j, x):
                    continue
                h, spare = offsets[j] + x, offsets[j] + real[j]
                if mode[j] == 2 or x > real[j]:
                    for c in range(n_classes):
                        mine = w if c == y else 0.0
                        p = cell(
                            counts, offsets, real, sizes, mode, mass, extra, total_mass, alike, first, scale,
                            constants, j, x, i, u, c, mine, mine,
                        )  # fmt: skip
                        out[r, i, c] += _multiply(work, c, p)
                else:
                    # The same as `cell` does, without a call for every class.
                    holes = 1.0 if sizes[j] == real[j] else 0.0
                    a, whole = scale[i, j] * mass[h], scale[i, j] * total_mass[j]
                    for c in range(n_classes):
                        mine = w if c == y else 0.0
                        n = max(counts[g, h, c] - mine, 0.0)
                        total = max(counts[g, g, c] - mine - holes * counts[g, spare, c], 0.0)
                        if mode[j] == 0:
                            p = (n + a) / (total + whole) if total + whole > 0.0 else 1.0 / alike[j]
                        else:
                            n0, total0 = max(counts[h, h, c] - mine, 0.0), max(first[j, c] - mine, 0.0)
                            p = (n0 + constants[0] / alike[j]) / (total0 + constants[0])
                            p = (n + constants[1] * p) / (total + constants[1])
                        out[r, i, c] += _multiply(work, c, p)
            for c in range(n_classes):
                out[r, i, c] += np.log(work[c])
    return least


@kernel
def leave_general(
    codes: Any, own: Any, sums: Any, offsets: Any, sizes: Any, least: float, gone: Any, out: Any
) -> None:
    """Copy codes, without values that are implied by another value of the row (subsumption resolution).

    ``sums[g, h]`` is n(x_i, x_j) over all classes. If n(x_j) = n(x_i, x_j) ≥ ``least``, then x_j implies x_i, and x_i
    is left out. ``gone[i]`` is the code that means "left out".
    """
    n, d = codes.shape
    for r in range(n):
        for i in range(d):
            out[r, i] = codes[r, i]
        for j in range(d):
            x = _U(codes[r, j])
            if x >= sizes[j]:
                continue
            h = offsets[j] + x
            for i in range(d):
                u = _U(codes[r, i])
                if i == j or u >= sizes[i] or _U(out[r, i]) == gone[i] or _U(out[r, j]) == gone[j]:
                    continue
                g = offsets[i] + u
                of_j, of_both = sums[h, h] - own[r], sums[g, h] - own[r]
                if of_j >= least and of_j - of_both <= 1e-9 * of_j:
                    out[r, i] = gone[i]


@kernel
def information_left_out(
    codes: Any, target: Any, own: Any, counts: Any, offsets: Any, sizes: Any, of_class: Any, out: Any
) -> None:
    """Write I(X_i; Y) with the weight ``own`` of each row removed from the counts n(v, c): shape (n, d)."""
    n, d = codes.shape
    n_classes = counts.shape[1]
    for i in range(d):
        whole, total = 0.0, 0.0
        for v in range(sizes[i]):
            g = offsets[i] + _U(v)
            state = 0.0
            for c in range(n_classes):
                whole += _n_log_n(counts[g, c])
                state += counts[g, c]
            whole -= _n_log_n(state)
        for c in range(n_classes):
            whole -= _n_log_n(of_class[i, c])
            total += of_class[i, c]
        whole += _n_log_n(total)
        for r in range(n):
            x, y, w = _U(codes[r, i]), target[r], own[r]
            left, rows = whole, total
            if x < sizes[i] and w > 0.0:
                g = offsets[i] + x
                state = 0.0
                for c in range(n_classes):
                    state += counts[g, c]
                rows -= w
                left += _n_log_n(counts[g, y] - w) - _n_log_n(counts[g, y])
                left -= _n_log_n(state - w) - _n_log_n(state)
                left -= _n_log_n(of_class[i, y] - w) - _n_log_n(of_class[i, y])
                left += _n_log_n(rows) - _n_log_n(total)
            out[r, i] = max(left, 0.0) / rows if rows > 0.0 else 0.0


@kernel
def _n_log_n(n: float) -> float:
    return n * np.log(n) if n > 0.0 else 0.0
