r"""Exact inference in a chain of hidden states: filtering, smoothing, expected counts, the most probable path.

.. math:: P(z, x) = f(z_0)\, w_0(z_0) \prod_{t > 0} F_t(z_{t-1}, z_t)\, w_t(z_t)

A hidden Markov model has one matrix F and the densities of its observations as weights w. A dynamic network has a
matrix for each different row of observations. Rows of several sequences stand one below the other, and ``fresh`` marks
where one begins.

The rows are worked on in blocks, in scaled probabilities. A block in which these would lose a state that a later
observation may call back is worked on in logarithms. Smoothing keeps the forward message at the border of each block
and computes the rest again, so it needs memory for about √T rows.

References
----------
Rabiner (1989), A tutorial on hidden Markov models and selected applications in speech recognition. Murphy (2002),
Dynamic Bayesian networks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit._numba import kernel
from bayeskit.typing import Floats, Ints

# Smaller blocks are not worth a call, larger ones leave the cache.
BLOCK = 4_096
# A probability below this, relative to its row, has lost digits or will soon.
TINY = 1e-290
# If every entry of the matrices is larger, a lost state is reached again from the others, and nothing is lost.
_LEAST_ENTRY = 1e-100
# Linear messages whose product is smaller than this are computed in logarithms.
_LEAST_PRODUCT = 1e-250
_SAFE_LOG = math.log(1e-200)
# A message is rescaled when its largest entry leaves this range.
_SMALL, _LARGE = 1e-30, 1e30
# Up to this many cells of forward messages are kept for the way back; beyond it they are computed again.
KEPT = 2**20


@kernel
def _forward(
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
def _backward(
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
def _log_forward(
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
def _log_backward(
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
    """Do what ``_backward`` does, all messages in logarithms. The transitions in ``counts`` are complete."""
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
def _best_forward(
    first: Any, matrices: Any, which: Any, weight: Any, fresh: Any, carry: Any, came: Any, best: Any
) -> int:
    """Write from which state the best path to each state came, and the gain of the best path in each row.

    Of equally good states the first is taken. Return the first impossible row, or −1.
    """
    n, states = weight.shape
    for t in range(n):
        m = np.uintp(which[t])
        if fresh[t]:
            # A path begins here; the one before ended in its best state.
            end = 0
            for j in range(1, states):
                if carry[j] > carry[end]:
                    end = j
            for k in range(states):
                came[t, k] = end
                best[t, k] = first[m, k]
        else:
            for k in range(states):
                place, largest = 0, carry[0] + matrices[m, 0, k]
                for j in range(1, states):
                    # Without a branch: which state is better cannot be guessed.
                    x = carry[j] + matrices[m, j, k]
                    better = x > largest
                    largest = x if better else largest
                    place = j if better else place
                came[t, k] = place
                best[t, k] = largest
        top = -np.inf
        for k in range(states):
            carry[k] = best[t, k] + weight[t, k]
            top = max(top, carry[k])
        if not top > -np.inf:
            return int(t)
        # Relative to the best, sums of a million logarithms keep their digits.
        for k in range(states):
            carry[k] -= top
        best[t, 0] = top
    return -1


@kernel
def _trace_back(came: Any, end: int, path: Any) -> int:
    """Write the states of the best path that ends in a state; return the state of the row before the block."""
    state = end
    for i in range(path.shape[0]):
        t = path.shape[0] - 1 - i
        path[t] = state
        state = int(came[t, state])
    return state


class Impossible(Exception):
    """A row has probability zero. The caller, who knows the sequences, raises an error that names it."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


class Weights(NamedTuple):
    """The weights w_t(k) of some rows: relative ones with the log that each row was divided by, or logarithms.

    ``lost`` says that a weight above zero has become zero.
    """

    values: Floats
    shift: Floats | None = None
    lost: bool = False


@dataclass(frozen=True, eq=False)
class Chain:
    """A chain of hidden states over rows.

    Attributes
    ----------
    first : array of shape (P, S)
        The distribution of the first state of a sequence, one for each pattern.
    matrices : array of shape (P, S, S)
        From state, to state. Neither has to be normalised.
    fresh : uint8 array of shape (T,)
        1 where a sequence begins.
    weights : function (begin, end, logs) → Weights
    which : int64 array of shape (T,), optional
        The pattern of each row; all are 0 by default.
    logs : the logarithms of ``first`` and ``matrices``, if these have lost digits
    """

    first: Floats
    matrices: Floats
    fresh: NDArray[np.uint8]
    weights: Callable[[int, int, bool], Weights]
    which: Ints | None = None
    logs: tuple[Floats, Floats] | None = None

    @property
    def n_rows(self) -> int:
        return len(self.fresh)

    @property
    def n_states(self) -> int:
        return int(self.first.shape[1])

    @cached_property
    def _is_sparse(self) -> bool:
        return bool(self.logs is not None or (self.matrices < _LEAST_ENTRY).any())

    @cached_property
    def _logs(self) -> tuple[Floats, Floats]:
        with np.errstate(divide="ignore"):
            return self.logs or (np.log(self.first), np.log(self.matrices))

    @cached_property
    def _borders(self) -> list[int]:
        step = max(BLOCK, math.isqrt(self.n_rows) + 1)
        return [*range(0, self.n_rows, step), self.n_rows]

    def _blocks(self) -> list[tuple[int, int]]:
        return list(zip(self._borders[:-1], self._borders[1:], strict=True))

    def _which(self, begin: int, end: int) -> Ints:
        return np.zeros(end - begin, np.int64) if self.which is None else self.which[begin:end]

    def forward(self, carry: _Message | None = None) -> Iterator[Forward]:
        """Filter block by block, from the forward message of the row before, if the first row is not fresh."""
        for begin, end in self._blocks():
            block = self._forward(begin, end, carry)
            carry = block.after
            yield block

    def _forward(self, begin: int, end: int, carry: _Message | None) -> Forward:
        carry = (carry or _Message(np.ones(self.n_states), False)).linear_if_safe()
        which, fresh = self._which(begin, end), self.fresh[begin:end]
        alpha, scale = np.empty((end - begin, self.n_states)), np.empty(end - begin)
        if not carry.is_log:
            weights = self.weights(begin, end, False)
            moved = carry.values.copy()
            lost = _forward(self.first, self.matrices, which, weights.values, fresh, moved, alpha, scale)
            if not (lost == 2 or ((lost or weights.lost) and self._is_sparse)):
                log = float(np.log(scale).sum() + (0.0 if weights.shift is None else weights.shift.sum()))
                return Forward(begin, end, carry, _Message(moved, False), weights, alpha, scale, log)
        weights = self.weights(begin, end, True)
        moved = carry.logs()
        row = _log_forward(*self._logs, which, weights.values, fresh, moved, alpha, scale)
        if row >= 0:
            raise Impossible(begin + int(row))
        return Forward(begin, end, carry, _Message(moved, True), weights, alpha, scale, float(scale.sum()))

    def log_probability(self) -> float:
        """Return log P(x) of all sequences together; −inf if a row is impossible."""
        try:
            return math.fsum(block.log_probability for block in self.forward())
        except Impossible:
            return -math.inf

    def backward(self, counts: ExpectedTransitions | None = None) -> Iterator[Smoothed]:
        """Smooth block by block, the last first; add the expected starts and transitions to ``counts``."""
        counts = ExpectedTransitions.zero(self) if counts is None else counts
        kept: dict[int, Forward] = {}
        carries: list[_Message] = []
        for block in self.forward():
            carries.append(block.carry)
            counts.log_probability += block.log_probability
            if self.n_rows * self.n_states > KEPT:
                kept.clear()
            kept[block.begin] = block
        message = _Message(np.ones(self.n_states), False)
        for (begin, end), carry in reversed(list(zip(self._blocks(), carries, strict=True))):
            block = kept.pop(begin) if begin in kept else self._forward(begin, end, carry)
            found = self._backward(block, message.linear_if_safe(), counts)
            message = found.message
            yield found

    def _backward(self, block: Forward, message: _Message, counts: ExpectedTransitions) -> Smoothed:
        begin, end = block.begin, block.end
        which, fresh = self._which(begin, end), self.fresh[begin:end]
        beta, gamma, work = np.empty_like(block.alpha), np.empty_like(block.alpha), np.empty(self.n_states)
        if not (block.is_log or message.is_log):
            moved = message.values.copy()
            # A block that turns out to need logarithms must not leave sums behind.
            starts, outer = np.zeros_like(counts.starts), np.zeros_like(counts.transitions)
            lost = _backward(
                self.matrices, which, block.weights.values, fresh, block.alpha, block.carry.values, block.scale,
                moved, work, beta, gamma, starts, outer,
            )  # fmt: skip
            if not lost:
                counts.starts += starts
                counts.transitions += outer * self.matrices
                return Smoothed(block, beta, gamma, _Message(moved, False))
        weights = self.weights(begin, end, True)
        moved = message.logs()
        with np.errstate(divide="ignore"):
            alpha = block.alpha if block.is_log else np.log(block.alpha)
        _log_backward(
            self._logs[1], which, weights.values, fresh, alpha, block.carry.logs(), moved, work, beta, gamma,
            counts.starts, counts.transitions,
        )  # fmt: skip
        with np.errstate(under="ignore"):
            beta = np.exp(beta - beta.max(axis=1, keepdims=True))
        return Smoothed(block, beta, gamma, _Message(moved, True))

    def best_path(self) -> tuple[Ints, float]:
        """Return the most probable states of all rows, and log P(states, x)."""
        carry, values, carries = np.zeros(self.n_states), [], []
        kept: dict[int, NDArray[np.int32]] = {}
        for begin, end in self._blocks():
            carries.append(carry.copy())
            came, value = self._best(begin, end, carry)
            values.append(value)
            if self.n_rows * self.n_states > KEPT:
                kept.clear()
            kept[begin] = came
        path = np.empty(self.n_rows, np.int64)
        state = int(carry.argmax())
        for (begin, end), before in reversed(list(zip(self._blocks(), carries, strict=True))):
            came = kept.pop(begin) if begin in kept else self._best(begin, end, before)[0]
            state = int(_trace_back(came, state, path[begin:end]))
        return path, math.fsum(values)

    def _best(self, begin: int, end: int, carry: Floats) -> tuple[NDArray[np.int32], float]:
        came = np.empty((end - begin, self.n_states), np.int32)
        best = np.empty((end - begin, self.n_states))
        weights = self.weights(begin, end, True).values
        row = _best_forward(
            *self._logs, self._which(begin, end), weights, self.fresh[begin:end], carry, came, best
        )
        if row >= 0:
            raise Impossible(begin + int(row))
        return came, float(best[:, 0].sum())


@dataclass(frozen=True, eq=False)
class _Message:
    """A vector over states, in probabilities or in logarithms, up to a factor."""

    values: Floats
    is_log: bool

    def logs(self) -> Floats:
        """Return a new array of logarithms."""
        with np.errstate(divide="ignore"):
            return self.values.copy() if self.is_log else np.log(self.values)

    def linear_if_safe(self) -> _Message:
        """Return the message in probabilities, unless these would lose a state."""
        if not self.is_log:
            return self
        relative = self.values - self.values.max()
        if (relative[np.isfinite(relative)] < _SAFE_LOG).any():
            return self
        linear = np.exp(relative)
        return _Message(linear / linear.sum(), False)


@dataclass(frozen=True, eq=False)
class Forward:
    """The forward messages of a block of rows."""

    begin: int
    end: int
    carry: _Message
    after: _Message
    weights: Weights
    alpha: Floats
    scale: Floats
    log_probability: float

    @property
    def is_log(self) -> bool:
        return self.after.is_log

    @property
    def filtered(self) -> Floats:
        """P(z_t | x_0 … x_t) of each row."""
        return np.exp(self.alpha) if self.is_log else self.alpha

    @property
    def before(self) -> Floats:
        """P(z_{t−1} | x_0 … x_{t−1}) of each row. It has no meaning where a sequence begins."""
        carry = self.carry.logs()
        return np.vstack([np.exp(carry - carry.max()), self.filtered[:-1]])


@dataclass(frozen=True, eq=False)
class Smoothed:
    """The backward messages (up to a factor a row) and the smoothed states of a block of rows."""

    block: Forward
    beta: Floats
    gamma: Floats
    message: _Message


@dataclass(eq=False)
class ExpectedTransitions:
    """How often each pattern starts in a state, and goes from one state to another: sums over rows."""

    starts: Floats
    transitions: Floats
    log_probability: float = field(default=0.0)

    @classmethod
    def zero(cls, chain: Chain) -> ExpectedTransitions:
        return cls(np.zeros_like(chain.first), np.zeros_like(chain.matrices))
