"""Loops that score rows under every two super-parents as if they had not been counted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayeskit.estimation.kernels.two_parents import absorb, close_rows
from bayeskit.kernel import kernel, set_all

_U = np.uintp
# Factors of at least this size are multiplied and one logarithm is taken of many; smaller ones one by one.
_SMALL, _TINY = 1e-30, 1e-200
# So much of a weight must be there to be taken out; the rest is rounding.
_ROUNDED = 1.0 - 1e-9


@kernel
def left(held: Any, own: Any) -> Any:
    """Return what is left of a cell; what is left by rounding alone is nothing."""
    rest = held - own
    return rest if rest > 4e-15 * held else 0.0


@kernel
def score_own_class(
    code: Any,
    i: Any,
    j: Any,
    y: Any,
    sizes: Any,
    is_state: Any,
    counts: Any,
    imaginary: Any,
    totals: Any,
    own: Any,
    short: Any,
) -> Any:
    """Return Σ log P(x_k | c, x_i, x_j) over k of the row's own class, its weight taken out of every count.

    ``counts`` and ``totals`` are those of the context; ``short[0]`` becomes the most that any cell lacks.
    """
    product, logarithm, place = 1.0, 0.0, _U(0)
    for k in range(_U(len(sizes))):
        v = _U(code[k])
        here = place + v
        place += sizes[k] + _U(1)
        if k in (i, j) or (v == sizes[k] and not is_state[k]):
            continue
        held = counts[here, y] if v <= sizes[k] else 0.0
        short[0] = max(short[0], own * _ROUNDED - held)
        total = left(totals[k, y], own)
        if total > 0.0:
            share = (left(held, own) + imaginary[here + k]) / total
        else:
            share = 1.0 / sizes[k] if v < sizes[k] else 1.0
        if share < _SMALL:
            logarithm += math.log(share) if share > 0.0 else -math.inf
        else:
            product *= share
            if product < _TINY:
                logarithm += math.log(product)
                product = 1.0
    return logarithm + math.log(product)


@kernel
def add_left_out_two_parents(
    codes: Any,
    target: Any,
    own: Any,
    pairs: Any,
    cells: Any,
    row_of: Any,
    offsets: Any,
    votes_of: Any,
    table: Any,
    sizes: Any,
    is_state: Any,
    counts: Any,
    starts: Any,
    weight: Any,
    least: Any,
    imaginary: Any,
    totals: Any,
    joint: Any,
    joint_total: Any,
    alike: Any,
    scores: Any,
    best: Any,
    total: Any,
    votes: Any,
    short: Any,
    out: Any,
    fallen: Any,
) -> None:
    """Add log P(c, x) of every row as if so much of its own weight had never been counted.

    Only the row's own class has other counts; the other classes are looked up, but for the total of
    P(c, x_i, x_j), which all share. ``short[0]`` becomes the most that any cell lacks beyond rounding.
    """
    n, d, k = codes.shape[0], _U(codes.shape[1]), _U(out.shape[1])
    for begin in range(0, n, len(scores)):
        taken = min(len(scores), n - begin)
        best[:] = -math.inf
        total[:] = 0.0
        set_all(votes, 0.0)
        for p in range(len(pairs)):
            i, j = pairs[p, 0], pairs[p, 1]
            for r in range(taken):
                code, w, y = codes[begin + r], own[begin + r], _U(target[begin + r])
                v, u = _U(code[i]), _U(code[j])
                cell = cells[p] + v * (sizes[j] + _U(2)) + u
                known = v <= sizes[i] and u <= sizes[j]
                source = starts[p] + v * (sizes[j] + _U(1)) + u if known else _U(0)
                # The flat rows of the counts lack the cell for unseen that each attribute has in the table.
                held = counts[source, offsets[i] - i + v, y] if known else 0.0
                short[0] = max(short[0], w * _ROUNDED - held)
                scores[r] = -math.inf
                if row_of[cell] < 0 or left(weight[_U(row_of[cell])], w) < least:
                    continue
                row = _U(row_of[cell])
                votes[r] += votes_of[p]
                rest = left(joint_total[p], w)
                for c in range(k):
                    scores[r, c] = alike[p]
                    if rest > 0.0:
                        scores[r, c] = table[row, offsets[i] + v, c] + math.log(joint_total[p] / rest)
                for m in range(d):
                    if m not in (i, j):
                        for c in range(k):
                            scores[r, c] += table[row, offsets[m] + _U(code[m]), c]
                if w > 0.0 and known:
                    first = alike[p]
                    if rest > 0.0:
                        share = (left(held, w) + joint[cell]) / rest * votes_of[p]
                        first = math.log(share) if share > 0.0 else -math.inf
                    scores[r, y] = first + score_own_class(
                        *(code, i, j, y, sizes, is_state, counts[source], imaginary[p], totals[row], w, short)
                    )
            absorb(scores, taken, best, total)
        close_rows(begin, taken, best, total, votes, out, fallen)
