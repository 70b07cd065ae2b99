"""The loops over the rows of a chain: forward and backward messages, in probabilities or logarithms, and best paths."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit._numba import kernel

# A probability below this, relative to its row, has lost digits or will soon.
TINY = 1e-290
# Linear messages whose product is smaller than this are computed in logarithms.
_LEAST_PRODUCT = 1e-250
# A message is rescaled when its largest entry leaves this range.
_SMALL, _LARGE = 1e-30, 1e30
_U = np.uintp


@kernel
def filter_rows(
    first: Any, matrices: Any, which: Any, weight: Any, fresh: Any, carry: Any, alpha: Any, scale: Any
) -> int:
    """Write P(z_t | x_0 … x_t) and its scale for each row. Return 1 if a state was lost, 2 if all were, else 0.

    The message is rescaled only when it has become small: no division stands between one row and the next.
    """
    n, states = weight.shape
    lost = 0
    before = 0.0
    for k in range(states):
        before += carry[k]
    for t in range(n):
        m = np.uintp(which[t])
        if fresh[t]:
            before = 1.0
            for k in range(states):
                alpha[t, k] = first[m, k]
        else:
            c = carry[0]
            for k in range(states):
                alpha[t, k] = c * matrices[m, 0, k]
            for j in range(1, states):
                c = carry[j]
                for k in range(states):
                    alpha[t, k] += c * matrices[m, j, k]
        total = 0.0
        for k in range(states):
            x = alpha[t, k] * weight[t, k]
            if x < TINY and alpha[t, k] > 0.0 and weight[t, k] > 0.0:
                lost = 1
            carry[k] = x
            total += x
        if not total > TINY:
            return 2
        scale[t] = total / before
        share = 1.0 / total
        for k in range(states):
            alpha[t, k] = carry[k] * share
        before = total
        if total < _SMALL or total > _LARGE:
            before = 1.0
            for k in range(states):
                carry[k] = alpha[t, k]
    for k in range(states):
        carry[k] /= before
    return lost


@kernel
def smooth_rows(
    matrices: Any,
    which: Any,
    weight: Any,
    fresh: Any,
    alpha: Any,
    before: Any,
    scale: Any,
    message: Any,
    work: Any,
    beta: Any,
    gamma: Any,
    starts: Any,
    outer: Any,
) -> int:
    """Write the backward messages and P(z_t | x), and add the expected starts and transitions of the rows.

    ``before`` is the forward message of the row before the block, ``message`` the backward message of its last row.
    The transitions in ``outer`` still have to be multiplied by the matrices. Return 1 if digits were lost, else 0.
    """
    n, states = weight.shape
    for i in range(n):
        t = n - 1 - i
        m = np.uintp(which[t])
        total = 0.0
        for k in range(states):
            beta[t, k] = message[k]
            gamma[t, k] = alpha[t, k] * message[k]
            total += gamma[t, k]
        if not total > _LEAST_PRODUCT:
            return 1
        for k in range(states):
            gamma[t, k] /= total
        if fresh[t]:
            for k in range(states):
                starts[m, k] += gamma[t, k]
                message[k] = 1.0
            continue
        for k in range(states):
            work[k] = weight[t, k] * message[k]
        share = 1.0 / (scale[t] * total)
        largest = 0.0
        for j in range(states):
            a = (alpha[t - 1, j] if t > 0 else before[j]) * share
            s = 0.0
            for k in range(states):
                outer[m, j, k] += a * work[k]
                s += matrices[m, j, k] * work[k]
            message[j] = s
            largest = max(largest, s)
        if largest < _SMALL or largest > _LARGE:
            for j in range(states):
                message[j] /= largest
    return 0


@kernel
def log_filter_rows(
    first: Any, matrices: Any, which: Any, weight: Any, fresh: Any, carry: Any, alpha: Any, scale: Any
) -> int:
    """Write log P(z_t | x_0 … x_t) and its log scale for each row. Return the first impossible row, or −1."""
    n, states = weight.shape
    for t in range(n):
        m = np.uintp(which[t])
        top = -np.inf
        for k in range(states):
            if fresh[t]:
                x = first[m, k]
            else:
                largest = -np.inf
                for j in range(states):
                    largest = max(largest, carry[j] + matrices[m, j, k])
                x = largest
                if largest > -np.inf:
                    s = 0.0
                    for j in range(states):
                        s += np.exp(carry[j] + matrices[m, j, k] - largest)
                    x += np.log(s)
            alpha[t, k] = x + weight[t, k]
            top = max(top, alpha[t, k])
        if not top > -np.inf:
            return int(t)
        s = 0.0
        for k in range(states):
            s += np.exp(alpha[t, k] - top)
        scale[t] = top + np.log(s)
        for k in range(states):
            alpha[t, k] -= scale[t]
        for k in range(states):
            carry[k] = alpha[t, k]
    return -1


@kernel
def log_smooth_rows(
    matrices: Any,
    which: Any,
    weight: Any,
    fresh: Any,
    alpha: Any,
    before: Any,
    message: Any,
    work: Any,
    beta: Any,
    gamma: Any,
    starts: Any,
    counts: Any,
) -> None:
    """Do what ``smooth_rows`` does, all messages in logarithms. The transitions in ``counts`` are complete."""
    n, states = weight.shape
    for i in range(n):
        t = n - 1 - i
        m = np.uintp(which[t])
        top = -np.inf
        for k in range(states):
            beta[t, k] = message[k]
            top = max(top, alpha[t, k] + message[k])
        total = 0.0
        for k in range(states):
            gamma[t, k] = np.exp(alpha[t, k] + message[k] - top)
            total += gamma[t, k]
        for k in range(states):
            gamma[t, k] /= total
        if fresh[t]:
            for k in range(states):
                starts[m, k] += gamma[t, k]
                message[k] = 0.0
            continue
        for k in range(states):
            work[k] = weight[t, k] + message[k]
        top = -np.inf
        for j in range(states):
            a = alpha[t - 1, j] if t > 0 else before[j]
            for k in range(states):
                top = max(top, a + (matrices[m, j, k] + work[k]))
        total = 0.0
        for j in range(states):
            a = alpha[t - 1, j] if t > 0 else before[j]
            for k in range(states):
                total += np.exp(a + (matrices[m, j, k] + work[k]) - top)
        best = -np.inf
        for j in range(states):
            a = alpha[t - 1, j] if t > 0 else before[j]
            largest = -np.inf
            for k in range(states):
                x = matrices[m, j, k] + work[k]
                counts[m, j, k] += np.exp(a + x - top) / total
                largest = max(largest, x)
            s = 0.0
            if largest > -np.inf:
                for k in range(states):
                    s += np.exp(matrices[m, j, k] + work[k] - largest)
                largest += np.log(s)
            message[j] = largest
            best = max(best, largest)
        for j in range(states):
            message[j] -= best


@kernel
def _best_of_four(a: float, b: float, c: float, d: float) -> Any:
    """Return the largest of four numbers, and which it is; the first of equal ones.

    Without a branch: which state is better cannot be guessed.
    """
    second = b > a
    fourth = d > c
    left = b if second else a
    right = d if fourth else c
    other = right > left
    place = 1.0 if second else 0.0
    beyond = 3.0 if fourth else 2.0
    return right if other else left, beyond if other else place


@kernel
def best_path_of_few(
    first: Any,
    matrices: Any,
    which: Any,
    weight: Any,
    fresh: Any,
    carry: Any,
    came: Any,
    gain: Any,
) -> Any:
    """Do what ``best_path_of_rows`` does for at most four states, which never leave the registers.

    Of fewer than four, the last one is repeated, which changes neither the largest nor the first of equal ones.
    """
    n, states = weight.shape
    last = _U(states - 1)
    k1, k2, k3 = min(_U(1), last), min(_U(2), last), min(_U(3), last)
    c0, c1, c2, c3 = carry[0], carry[k1], carry[k2], carry[k3]
    for t in range(_U(n)):
        m = _U(which[t])
        if fresh[t]:
            end = _best_of_four(c0, c1, c2, c3)[1]
            for k in range(states):
                came[t, k] = int(end)
            c0 = first[m, 0] + weight[t, 0]
            c1 = first[m, k1] + weight[t, k1]
            c2 = first[m, k2] + weight[t, k2]
            c3 = first[m, k3] + weight[t, k3]
        else:
            x0, p0 = _best_of_four(
                c0 + matrices[m, 0, 0],
                c1 + matrices[m, k1, 0],
                c2 + matrices[m, k2, 0],
                c3 + matrices[m, k3, 0],
            )
            x1, p1 = _best_of_four(
                c0 + matrices[m, 0, k1],
                c1 + matrices[m, k1, k1],
                c2 + matrices[m, k2, k1],
                c3 + matrices[m, k3, k1],
            )
            x2, p2 = _best_of_four(
                c0 + matrices[m, 0, k2],
                c1 + matrices[m, k1, k2],
                c2 + matrices[m, k2, k2],
                c3 + matrices[m, k3, k2],
            )
            x3, p3 = _best_of_four(
                c0 + matrices[m, 0, k3],
                c1 + matrices[m, k1, k3],
                c2 + matrices[m, k2, k3],
                c3 + matrices[m, k3, k3],
            )
            came[t, 0] = int(p0)
            came[t, k1] = int(p1)
            came[t, k2] = int(p2)
            came[t, k3] = int(p3)
            c0 = x0 + weight[t, 0]
            c1 = x1 + weight[t, k1]
            c2 = x2 + weight[t, k2]
            c3 = x3 + weight[t, k3]
        top = max(max(c0, c1), max(c2, c3))
        if not top > -np.inf:
            return np.int64(t)
        gain[0] += top
        c0 -= top
        c1 -= top
        c2 -= top
        c3 -= top
    carry[0], carry[k1], carry[k2], carry[k3] = c0, c1, c2, c3
    return np.int64(-1)


@kernel
def best_path_of_rows(
    first: Any,
    matrices: Any,
    which: Any,
    weight: Any,
    fresh: Any,
    carry: Any,
    came: Any,
    gain: Any,
    best: Any,
    place: Any,
) -> Any:
    """Write from which state the best path to each state came, and add the logs of the best path to ``gain``.

    Of equally good states the first is taken. Return the first impossible row, or −1.

    There are at least five states. ``best`` and ``place`` are work space for each state. They and the rows of
    ``matrices`` may be longer, so that the processor works on whole vectors of states.
    """
    n, states = weight.shape
    fours = _U(states - states % 4)
    top = 0.0
    for t in range(_U(n)):
        m = _U(which[t])
        if fresh[t]:
            # A path begins here; the one before ended in its best state.
            end = 0
            for j in range(1, states):
                if carry[j] > carry[end]:
                    end = j
            for k in range(states):
                came[t, k] = end
                carry[k] = first[m, k] + weight[t, k]
        else:
            # Relative to the best, sums of a million logarithms keep their digits.
            c0, c1, c2, c3 = carry[0] - top, carry[1] - top, carry[2] - top, carry[3] - top
            for k in range(_U(best.shape[0])):
                best[k], place[k] = _best_of_four(
                    c0 + matrices[m, 0, k],
                    c1 + matrices[m, 1, k],
                    c2 + matrices[m, 2, k],
                    c3 + matrices[m, 3, k],
                )
            for j in range(_U(4), fours, _U(4)):
                j1, j2, j3 = j + _U(1), j + _U(2), j + _U(3)
                c0, c1, c2, c3 = carry[j] - top, carry[j1] - top, carry[j2] - top, carry[j3] - top
                offset = float(j)
                for k in range(_U(best.shape[0])):
                    x, p = _best_of_four(
                        c0 + matrices[m, j, k],
                        c1 + matrices[m, j1, k],
                        c2 + matrices[m, j2, k],
                        c3 + matrices[m, j3, k],
                    )
                    better = x > best[k]
                    best[k] = x if better else best[k]
                    place[k] = offset + p if better else place[k]
            for j in range(fours, _U(states)):
                c0 = carry[j] - top
                offset = float(j)
                for k in range(_U(best.shape[0])):
                    x = c0 + matrices[m, j, k]
                    better = x > best[k]
                    best[k] = x if better else best[k]
                    place[k] = offset if better else place[k]
            for k in range(states):
                came[t, k] = int(place[k])
                carry[k] = best[k] + weight[t, k]
        top = -np.inf
        for k in range(states):
            top = max(top, carry[k])
        if not top > -np.inf:
            return np.int64(t)
        gain[0] += top
    for k in range(states):
        carry[k] -= top
    return np.int64(-1)


@kernel
def trace_back(came: Any, end: int, path: Any) -> int:
    """Write the states of the best path that ends in a state; return the state of the row before the block."""
    state = end
    for i in range(path.shape[0]):
        t = path.shape[0] - 1 - i
        path[t] = state
        state = int(came[t, state])
    return state
