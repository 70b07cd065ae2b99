"""Kernels for leave-one-out scores: from counts (states, words) and from moments (Gaussian, Student, Poisson).

Each returns the most negative remaining count or weight, or 0.0. A negative one means that the row was never counted.

Of moments, ``classes`` (7, K, d) and ``pooled`` (7, 1, d) are cells in double-double, ``of_classes`` and ``of_pooled``
their means (high, low) and centred sums, all in units of 2^power.
"""

from __future__ import annotations

from math import ldexp, lgamma, log, log1p, pi, sqrt
from typing import Any

import numpy as np

from bayeskit._conditionals.kernels.gaussian_scores import HALF_LOG_TAU, distance, remaining, variance_of
from bayeskit._numba import kernel
from bayeskit._statistics.double import WEIGHT, add, add_exactly

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


LARGEST = float(np.finfo(np.float64).max)
LOG_TWO = log(2.0)
FIRST_CLASS = np.uintp(0)


@kernel
def take_out(x: Any, w: float, pooled: Any, of_pooled: Any, rest: Any) -> Any:
    """Write n, mean (high, low) and variance of all classes without the row to ``rest`` (4, d)."""
    for j in range(np.uintp(x.shape[0])):
        mine = w if x[j] == x[j] else 0.0
        n, high, low, spread = remaining(pooled, of_pooled, FIRST_CLASS, j, x[j], mine)
        if n < 0.0:
            return n
        rest[0, j], rest[1, j], rest[2, j], rest[3, j] = n, high, low, (spread / n if n > 0.0 else 0.0)
    return 0.0


@kernel
def add_gaussian(
    values: Any, target: Any, own: Any, classes: Any, of_classes: Any, pooled: Any, of_pooled: Any, power: Any,
    least: Any, unbiased: Any, floor: float, share: float, rest: Any, after: Any, out: Any,
) -> Any:  # fmt: skip
    """Add Σ_j log N(x_j; class k) to ``out`` (n, K); a ``share`` of 0 or above is scikit-learn's floor."""
    k = np.uintp(out.shape[1])
    for i in range(np.uintp(values.shape[0])):
        label, w, x = np.uintp(target[i]), own[i], values[i]
        negative = take_out(x, w, pooled, of_pooled, rest)
        if negative < 0.0:
            return negative
        widest = 0.0
        if share >= 0.0:
            for j in range(np.uintp(x.shape[0])):
                widest = max(widest, min(ldexp(rest[3, j], 2 * power[j]), LARGEST))
        for j in range(np.uintp(x.shape[0])):
            if x[j] != x[j]:
                continue
            overall = rest[3, j]
            if share >= 0.0:
                lowest, added = 0.0, ldexp(share * widest, -2 * power[j])
            else:
                lowest, added = floor * overall, 0.0
            of_all = overall
            if unbiased:
                of_all = overall * rest[0, j] / (rest[0, j] - 1.0) if rest[0, j] > 1.0 else 0.0
            used = share >= 0.0 or overall > 0.0
            for c in range(k):
                mine = w if c == label else 0.0
                n, high, low, spread = remaining(classes, of_classes, c, j, x[j], mine)
                if n < 0.0:
                    return n
                if n <= 0.0:
                    high, low = rest[1, j], rest[2, j]
                variance = variance_of(n, spread, unbiased)
                variance = max(variance if variance >= 0.0 else of_all, lowest) + added
                used &= variance > 0.0
                after[0, c], after[1, c], after[2, c] = high, low, variance
            if not used:
                continue
            norm = -HALF_LOG_TAU - LOG_TWO * power[j]
            for c in range(k):
                deviation = max(sqrt(after[2, c]), least[j])
                z = distance(x[j], after[0, c], after[1, c], sqrt(0.5) / deviation)
                out[i, c] += norm - log(deviation) - z * z
    return 0.0


@kernel
def half_step_of(a: float) -> float:
    """Return log Γ(a + ½) − log Γ(a); see ``half_step`` of the Student family."""
    if a < 50.0:
        return lgamma(a + 0.5) - lgamma(a)
    cube = a * a * a
    return 0.5 * log(a) - 1 / (8 * a) + 1 / (192 * cube) - 1 / (640 * (cube * a * a))


@kernel
def add_student(
    values: Any, target: Any, own: Any, classes: Any, of_classes: Any, pooled: Any, of_pooled: Any, power: Any,
    least: Any, given_mean: Any, kappa: Any, alpha: Any, given_beta: Any, steps: Any, rest: Any, after: Any,
    out: Any,
) -> Any:  # fmt: skip
    """Add Σ_j log t(x_j; class k) to ``out`` (n, K). Prior parameters that are NaN are computed from all classes."""
    k = np.uintp(out.shape[1])
    for i in range(np.uintp(values.shape[0])):
        label, w, x = np.uintp(target[i]), own[i], values[i]
        negative = take_out(x, w, pooled, of_pooled, rest)
        if negative < 0.0:
            return negative
        for j in range(np.uintp(x.shape[0])):
            if x[j] != x[j]:
                continue
            centre, centre_low = given_mean[j], 0.0
            if centre != centre:
                centre, centre_low = rest[1, j], rest[2, j]
            beta = given_beta[j] if given_beta[j] == given_beta[j] else 0.5 * rest[3, j]
            used = rest[0, j] > 0.0
            for c in range(k):
                mine = w if c == label else 0.0
                n, high, low, spread = remaining(classes, of_classes, c, j, x[j], mine)
                if n < 0.0:
                    return n
                apart = (centre - high) + (centre_low - low)
                kappa_n = kappa[j] + n
                beta_n = beta + 0.5 * spread + 0.5 * apart * apart * kappa[j] * n / kappa_n
                used &= beta_n > 0.0
                high, low = add_exactly(high, low + apart * (kappa[j] / kappa_n))
                alpha_n = alpha[j] + 0.5 * n
                after[0, c], after[1, c], after[3, c] = high, low, 2.0 * alpha_n
                after[2, c] = max(sqrt(max(beta_n, 0.0) * (kappa_n + 1.0) / (alpha_n * kappa_n)), least[j])
            if not used:
                continue
            for c in range(k):
                freedom, scale = after[3, c], after[2, c]
                step = half_step_of(0.5 * freedom) if c == label else steps[c, j]
                z = distance(x[j], after[0, c], after[1, c], (1.0 / sqrt(freedom)) / scale)
                norm = step - 0.5 * log(pi * freedom) - log(scale) - LOG_TWO * power[j]
                out[i, c] += norm - 0.5 * (freedom + 1.0) * log1p(z * z)
    return 0.0


@kernel
def add_poisson(
    values: Any, counts: Any, target: Any, own: Any, classes: Any, of_classes: Any, power: Any, total: Any,
    alpha: float, after: Any, out: Any,
) -> Any:  # fmt: skip
    """Add Σ_j log Poisson(x_j; class k) to ``out`` (n, K).

    ``values`` are ``counts`` in units of 2^power; ``total`` (K, d) is Σw·x of each class.
    """
    k = np.uintp(out.shape[1])
    for i in range(np.uintp(values.shape[0])):
        label, w = np.uintp(target[i]), own[i]
        for j in range(np.uintp(values.shape[1])):
            x = counts[i, j]
            if x != x:
                continue
            left, high, low, _ = remaining(classes, of_classes, label, j, values[i, j], w)
            if left < 0.0:
                return left
            weight, amount = 0.0, 0.0
            for c in range(k):
                n, mine = classes[WEIGHT, c, j], total[c, j]
                if c == label and w != 0.0:
                    n, mine = left, min(max(ldexp(high + low, power[j]), -1e100), 1e100) * left
                after[0, c], after[1, c] = max(n, 0.0), max(mine, 0.0)
                weight += after[0, c]
                amount += after[1, c]
            pooled = amount / weight if weight > 0.0 else 0.0
            used = False
            for c in range(k):
                imagined = after[0, c] + alpha
                after[2, c] = (after[1, c] + alpha * pooled) / imagined if imagined > 0.0 else pooled
                used |= after[2, c] > 0.0
            if not used:
                continue
            norm = lgamma(x + 1.0)
            for c in range(k):
                rate = after[2, c]
                if rate > 0.0:
                    out[i, c] += x * log(rate) - rate - norm
                elif x > 0.0:
                    out[i, c] = -np.inf
    return 0.0
