"""Kernels for leave-one-out scores from counts: tables of states, and blocks of words.

Each returns the most negative remaining count, or 0.0. A negative count means that the row was never counted.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from bayeskit._numba import kernel
from bayeskit._statistics.double import add

# If a remainder is negative by more than this fraction of the count, the row was never counted.
DUST = 1e-9
# A remainder below this fraction of the count is rounding error: class weights round the count and the removed weight
# separately.
NOTHING = 4e-15
# A remainder below this fraction of a fractional total in a single double is rounding error.
DUST_ABOVE = 1e-12


@kernel
def sum_states(counts: Any, counts_low: Any, offsets: Any, spare: Any, high: Any, low: Any) -> None:
    """Sum the states of each attribute, and its spare cell if ``spare`` is set, in double-double."""
    for j in range(np.uintp(offsets.shape[0] - 1)):
        last = offsets[j + np.uintp(1)] - (np.uintp(0) if spare[j] else np.uintp(1))
        for c in range(np.uintp(counts.shape[1])):
            a, b = 0.0, 0.0
            for g in range(offsets[j], last):
                a, b = add(a, b, counts[g, c], counts_low[g, c])
            high[j, c], low[j, c] = a, b


@kernel
def without(held: float, low: float, own: float, margin: float) -> float:
    """Return held + low − own, with rounding errors set to 0. Negative if the weight was never counted."""
    left = (held - own) + low
    if left <= NOTHING * held and left >= -DUST * held - 1e-12 * margin:
        return 0.0
    return left


@kernel
def add_tables(
    codes: Any, target: Any, own: Any, places: Any, log_table: Any, offsets: Any, counts: Any, counts_low: Any,
    imaginary: Any, high: Any, low: Any, prior: Any, spare: Any, spare_total: Any, margin: Any, out: Any,
) -> Any:  # fmt: skip
    """Add Σ_j log P(x_j | c) to ``out`` (n, K), with the row's own weight removed from its class.

    ``places`` and ``log_table`` are those of all rows. ``counts`` (with ``offsets``) and ``imaginary`` are those of the
    states and the spare cell of each attribute. ``high + low`` are the sums of the counts, and ``prior`` the sums of
    the imaginary counts.
    """
    d, k = np.uintp(codes.shape[1]), np.uintp(out.shape[1])
    for i in range(np.uintp(codes.shape[0])):
        label, w = np.uintp(target[i]), own[i]
        for j in range(d):
            code = np.uintp(codes[i, j])
            size = offsets[j + np.uintp(1)] - offsets[j] - np.uintp(1)
            place = places[j] + code
            if w == 0.0:
                for c in range(k):
                    out[i, c] += log_table[place, c]
                continue
            if code > size:
                return -w  # an unseen state
            g = offsets[j] + code
            left = without(counts[g, label], counts_low[g, label], w, margin[label])
            if left < 0.0:
                return left
            # If missing is not a state (or no longer one without this row), leave the attribute out for all classes.
            if code == size and (not spare[j] or spare_total[j] - w <= DUST_ABOVE * spare_total[j]):
                continue
            for c in range(k):
                if c != label:
                    out[i, c] += log_table[place, c]
            total = max(without(high[j, label], low[j, label], w, margin[label]), 0.0) + prior[j]
            left += imaginary[g]
            if total <= 0.0:
                out[i, label] -= 0.0 if code == size else log(float(size))
            elif left <= 0.0:
                out[i, label] = -np.inf
            else:
                out[i, label] += log(left / total)
    return 0.0


@kernel
def remainder(held: float, taken: float) -> float:
    """Return held − taken, or 0 if it is zero up to rounding of one double; integers are never rounding."""
    rest = held - taken
    if rest >= -DUST * held and rest <= DUST_ABOVE * held and rest != np.rint(rest):
        return 0.0
    return rest


@kernel
def score_multinomial(
    indptr: Any, indices: Any, data: Any, target: Any, own: Any, sums: Any, whole: Any, alpha: Any, scores: Any
) -> Any:  # fmt: skip
    """Write log P(words | own class) without the row to ``scores`` (n,); no cell may be stored twice."""
    one = np.uintp(1)
    for i in range(np.uintp(target.shape[0])):
        label, w = np.uintp(target[i]), own[i]
        first, last = np.uintp(indptr[i]), np.uintp(indptr[i + one])
        length = 0.0
        for q in range(first, last):
            length += data[q]
        left = whole[label] - w * length
        log_whole = log(left) if left > 0.0 else 0.0
        score = 0.0
        for q in range(first, last):
            x = data[q]
            if x == 0.0:
                continue
            v = np.uintp(indices[q])
            rest = remainder(sums[label, v], w * x)
            if rest < 0.0:
                return rest
            rest += alpha[v]
            score += x * (log(rest) - log_whole) if rest > 0.0 else -np.inf
        scores[i] = score
    return 0.0


@kernel
def score_bernoulli(
    indptr: Any, indices: Any, data: Any, above: float, rows: Any, w: float, held: Any, absent: Any, zero: Any,
    short: Any, alpha: Any, whole: Any, base: float, scores: Any,
) -> Any:  # fmt: skip
    """Write log P(words | class) of ``rows``, all of one class and weight w, without each of them.

    ``absent`` is log P(word absent) for a row without the word, or 0 if that is log 0 (``zero``). If the count would be
    negative (``short``), the row must have the word. ``base`` is the sum of ``absent``.
    """
    one = np.uintp(1)
    zeros, shorts = 0, 0
    for word in range(np.uintp(zero.shape[0])):
        zeros += zero[word]
        shorts += short[word]
    for place in range(np.uintp(rows.shape[0])):
        i = np.uintp(rows[place])
        score, missing_zeros, missing_shorts = base, zeros, shorts
        for q in range(np.uintp(indptr[i]), np.uintp(indptr[i + one])):
            if data[q] > above:
                v = np.uintp(indices[q])
                rest = remainder(held[v], w)
                if rest < 0.0:
                    return rest
                rest += alpha[v]
                score += (log(rest / whole[v]) if rest > 0.0 else -np.inf) - absent[v]
                missing_zeros -= zero[v]
                missing_shorts -= short[v]
        if missing_shorts > 0:
            return -w
        scores[i] = -np.inf if missing_zeros > 0 else score
    return 0.0
