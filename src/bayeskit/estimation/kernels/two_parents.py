"""Loops that look log P(c, x) up under every two super-parents and take the mean over them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayeskit.kernel import kernel, set_all

_U = np.uintp
# A summand e⁻⁴⁵ times the largest is lost in its rounding, however many pairs there are.
_NOTHING = 45.0


@kernel
def add_two_parents(
    codes: Any,
    pairs: Any,
    cells: Any,
    row_of: Any,
    offsets: Any,
    votes_of: Any,
    table: Any,
    places: Any,
    scores: Any,
    best: Any,
    total: Any,
    votes: Any,
    out: Any,
    fallen: Any,
) -> None:
    """Add log P(c, x) of every row, and tell the rows that no pair spoke for.

    One pair after the other over a tile of rows, so that its part of the look-up table stays in the cache.
    ``row_of`` gives the row of the table for each two codes of a pair, −1 where they do not count.
    """
    n, d, step = codes.shape[0], _U(codes.shape[1]), places.shape[0]
    width = _U(table.shape[2])
    length = offsets[-1] * width
    flat, place, score = table.reshape(-1), places.reshape(-1), scores.reshape(-1)
    for begin in range(0, n, step):
        taken = min(step, n - begin)
        for r in range(taken):
            for j in range(d):
                place[_U(r) * d + j] = (offsets[j] + _U(codes[begin + r, j])) * width
        best[:] = -math.inf
        total[:] = 0.0
        set_all(votes, 0.0)
        for p in range(pairs.shape[0]):
            i, j = pairs[p, 0], pairs[p, 1]
            across = offsets[j + _U(1)] - offsets[j]
            for r in range(taken):
                first, into = _U(r) * d, _U(r) * width
                row = row_of[cells[p] + _U(codes[begin + r, i]) * across + _U(codes[begin + r, j])]
                if row < 0:
                    for u in range(width):
                        score[into + u] = -math.inf
                    continue
                votes[r] += votes_of[p]
                base = _U(row) * length
                if width == _U(2):
                    a0 = a1 = 0.0
                    for k in range(d):
                        at = base + _U(place[first + k])
                        a0 += flat[at]
                        a1 += flat[at + _U(1)]
                    score[into] = a0
                    score[into + _U(1)] = a1
                    continue
                for u in range(_U(0), width, _U(4)):
                    a0 = a1 = a2 = a3 = 0.0
                    for k in range(d):
                        at = base + u + _U(place[first + k])
                        a0 += flat[at]
                        a1 += flat[at + _U(1)]
                        a2 += flat[at + _U(2)]
                        a3 += flat[at + _U(3)]
                    score[into + u] = a0
                    score[into + u + _U(1)] = a1
                    score[into + u + _U(2)] = a2
                    score[into + u + _U(3)] = a3
            absorb(scores, taken, best, total)
        close_rows(begin, taken, best, total, votes, out, fallen)


@kernel
def absorb(scores: Any, taken: Any, best: Any, total: Any) -> None:
    """Add exp(score) to total·exp(best) of each row and class, without leaving the range of doubles."""
    score, largest, sums = scores.reshape(-1), best.reshape(-1), total.reshape(-1)
    for u in range(_U(taken) * _U(scores.shape[1])):
        if score[u] > largest[u]:
            sums[u] = sums[u] * math.exp(largest[u] - score[u]) + 1.0
            largest[u] = score[u]
        elif score[u] > largest[u] - _NOTHING:
            sums[u] += math.exp(score[u] - largest[u])


@kernel
def close_rows(begin: Any, taken: Any, best: Any, total: Any, votes: Any, out: Any, fallen: Any) -> None:
    """Add the logarithm of the mean to ``out``, −inf where it is 0; tell the rows without a vote."""
    for r in range(taken):
        fallen[begin + r] = votes[r] <= 0.0
        if votes[r] > 0.0:
            for c in range(out.shape[1]):
                logarithm = math.log(total[r, c] / votes[r]) if total[r, c] > 0.0 else -math.inf
                out[begin + r, c] += best[r, c] + logarithm
