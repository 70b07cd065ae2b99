"""The loops that carry leave-one-out posteriors on by one attribute and add up their losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import fibonacci_hash, kernel

RMSE, LOG_LOSS, ERROR, MCC = 0, 1, 2, 3

_U = np.uintp
# A share below the least is kept as share · 2⁶⁰⁰, and how often that was done: none ever underflows, so a class
# that looked hopeless after a hundred attributes can still come back.
_LEAST, _MOST, _STEP = 2.0**-600, 2.0**600, 600.0 * np.log(2.0)


@kernel
def number_kinds(
    codes: Any,
    columns: Any,
    radices: Any,
    target: Any,
    own: Any,
    n_classes: Any,
    table: Any,
    shift: Any,
    kind: Any,
    first: Any,
    keys: Any,
) -> Any:
    """Number the rows by the cell of a family that they stand in, and return how many kinds there are.

    Rows of one cell and one weight to be left out have the same probabilities. ``table`` of 2^(64 − shift) places
    is full of −1 and becomes a hash from cells to their kind, ``kind`` are the numbers of the rows, ``first`` is
    the first row of each and ``keys`` its cell.
    """
    mask, n = _U(table.shape[0] - 1), 0
    for i in range(codes.shape[0]):
        key = _U(0)
        for j in range(columns.shape[0]):
            key = key * radices[j] + _U(codes[i, columns[j]])
        key = key * _U(n_classes) + _U(target[i])
        place = fibonacci_hash(np.uint64(key)) >> np.uint64(shift)
        while table[place, 0] >= 0 and table[place, 0] != np.int64(key):
            place = (place + _U(1)) & mask
        if table[place, 0] < 0:
            table[place, 0] = np.int64(key)
            table[place, 1] = n
        found = table[place, 1]
        if found == n or own[first[found]] != own[i]:
            found = n
            first[n] = i
            keys[n] = np.int64(key)
            n += 1
        kind[i] = found
    return n


@kernel
def add_losses(
    shares: Any,
    steps: Any,
    levels: Any,
    kind: Any,
    target: Any,
    own: Any,
    weights: Any,
    class_weights: Any,
    held: Any,
    criterion: Any,
    losses: Any,
    confusion: Any,
) -> None:
    """Carry the posteriors of all rows and models on by one attribute, and add their losses.

    Parameters
    ----------
    shares, steps : arrays of shape (n, models, K)
        The posteriors: shares · 2^(−600·steps).
    levels, kind : arrays of shape (kinds, k + 1, K) and (n,)
        p_l of the attribute for each kind of row; model m takes level min(m, k).
    target, own, weights : arrays of shape (n,)
    class_weights, held : array of shape (K,), bool
        P(c) ∝ this where every class is impossible, without the row's own weight unless it is ``held``.
    criterion : int
    losses : array of shape (models,)
    confusion : array of shape (models, K, K)
        Weight by class and answer.
    """
    k, deepest = shares.shape[2], levels.shape[1] - 1
    n_all = 0.0
    for c in range(k):
        n_all += class_weights[c]
    for i in range(shares.shape[0]):
        y, row = np.int64(target[i]), kind[i]
        for m in range(shares.shape[1]):
            level = min(m, deepest)
            total, is_small = 0.0, False
            for c in range(k):
                p, share = levels[row, level, c], shares[i, m, c]
                value = share * p
                if value < _LEAST or steps[i, m, c] > 0:
                    is_small = True
                    if value < _LEAST and share > 0.0 and p > 0.0:
                        value = share * _MOST * p
                        steps[i, m, c] += 1
                        if value < _LEAST:
                            value *= _MOST
                            steps[i, m, c] += 1
                shares[i, m, c] = value
                total += value
            lowest = np.int64(0)
            if is_small:
                lowest, total = np.int64(-1), 0.0
                for c in range(k):
                    if shares[i, m, c] > 0.0 and (lowest < 0 or steps[i, m, c] < lowest):
                        lowest = np.int64(steps[i, m, c])
                for c in range(k):
                    if steps[i, m, c] == lowest:
                        total += shares[i, m, c]
            answer, best, of_own = 0, -1.0, 0.0
            if lowest < 0:
                # Every class is impossible: the answer is the class prior.
                taken = 0.0 if held else own[i]
                left = n_all - taken
                for c in range(k):
                    share = (
                        max(class_weights[c] - (taken if c == y else 0.0), 0.0) / left
                        if left > 0.0
                        else 1.0 / k
                    )
                    if share > best:
                        answer, best = c, share
                    if c == y:
                        of_own = share
            else:
                for c in range(k):
                    share = shares[i, m, c] / total
                    if is_small and share > 0.0:
                        steps[i, m, c] -= lowest
                        if steps[i, m, c] > 0 and share > 1.0:
                            share *= _LEAST
                            steps[i, m, c] -= 1
                    shares[i, m, c] = share
                    if is_small and steps[i, m, c] > 0:
                        share = 0.0
                    if share > best:
                        answer, best = c, share
                    if c == y:
                        of_own = share
            if criterion == RMSE:
                losses[m] += weights[i] * ((1.0 - of_own) * (1.0 - of_own))
            elif criterion == LOG_LOSS:
                # A row of no weight has no loss, be it impossible.
                if weights[i] > 0.0:
                    log_own = np.log(of_own)
                    if lowest >= 0 and is_small:
                        log_own = np.log(shares[i, m, y]) - steps[i, m, y] * _STEP
                    losses[m] -= weights[i] * log_own
            elif criterion == ERROR:
                losses[m] += weights[i] if answer != y else 0.0
            else:
                confusion[m, y, answer] += weights[i]
