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

from bayeskit._inference.kernels.chain_messages import (
    best_path_of_few,
    best_path_of_rows,
    filter_rows,
    log_filter_rows,
    log_smooth_rows,
    smooth_rows,
    trace_back,
)
from bayeskit.typing import Floats, Ints

# Smaller blocks are not worth a call, larger ones leave the cache.
BLOCK = 4_096
# If every entry of the matrices is larger, a lost state is reached again from the others, and nothing is lost.
_LEAST_ENTRY = 1e-100
_SAFE_LOG = math.log(1e-200)
# Up to this many cells of forward messages are kept for the way back; beyond it they are computed again.
KEPT = 2**20
# Loops over states are unrolled to so many numbers. Matrices of up to so many cells are padded for them.
_LANES, _PADDED = 16, 2**20


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
            lost = filter_rows(self.first, self.matrices, which, weights.values, fresh, moved, alpha, scale)
            if not (lost == 2 or ((lost or weights.lost) and self._is_sparse)):
                log = float(np.log(scale).sum() + (0.0 if weights.shift is None else weights.shift.sum()))
                return Forward(begin, end, carry, _Message(moved, False), weights, alpha, scale, log)
        weights = self.weights(begin, end, True)
        moved = carry.logs()
        row = log_filter_rows(*self._logs, which, weights.values, fresh, moved, alpha, scale)
        if row >= 0:
            raise Impossible(begin + int(row))
        return Forward(begin, end, carry, _Message(moved, True), weights, alpha, scale, float(scale.sum()))

    def log_probability(self) -> float:
        """Return log P(x) of all sequences together; −inf if a row is impossible."""
        try:
            return math.fsum(block.log_probability for block in self.forward())
        except Impossible:
            return -math.inf

    def backward(self, counts: ExpectedTransitions | None = None) -> Iterator[SmoothedBlock]:
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

    def _backward(self, block: Forward, message: _Message, counts: ExpectedTransitions) -> SmoothedBlock:
        begin, end = block.begin, block.end
        which, fresh = self._which(begin, end), self.fresh[begin:end]
        beta, gamma, work = np.empty_like(block.alpha), np.empty_like(block.alpha), np.empty(self.n_states)
        if not (block.is_log or message.is_log):
            moved = message.values.copy()
            # A block that turns out to need logarithms must not leave sums behind.
            starts, outer = np.zeros_like(counts.starts), np.zeros_like(counts.transitions)
            lost = smooth_rows(
                self.matrices, which, block.weights.values, fresh, block.alpha, block.carry.values, block.scale,
                moved, work, beta, gamma, starts, outer,
            )  # fmt: skip
            if not lost:
                counts.starts += starts
                counts.transitions += outer * self.matrices
                return SmoothedBlock(block, beta, gamma, _Message(moved, False))
        weights = self.weights(begin, end, True)
        moved = message.logs()
        with np.errstate(divide="ignore"):
            alpha = block.alpha if block.is_log else np.log(block.alpha)
        log_smooth_rows(
            self._logs[1], which, weights.values, fresh, alpha, block.carry.logs(), moved, work, beta, gamma,
            counts.starts, counts.transitions,
        )  # fmt: skip
        with np.errstate(under="ignore"):
            beta = np.exp(beta - beta.max(axis=1, keepdims=True))
        return SmoothedBlock(block, beta, gamma, _Message(moved, True))

    def best_path(self) -> tuple[Ints, float]:
        """Return the most probable states of all rows, and log P(states, x)."""
        carry, values, carries = np.zeros(self.n_states), [], []
        kept: dict[int, NDArray[Any]] = {}
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
            state = int(trace_back(came, state, path[begin:end]))
        return path, math.fsum(values)

    @cached_property
    def _wide_logs(self) -> Floats:
        """The logs of the matrices, their rows filled up to whole vectors if that takes little."""
        logs, states = self._logs[1], self.n_states
        width = -(-states // _LANES) * _LANES
        if width == states or len(logs) * states * width > _PADDED:
            return logs
        wide = np.full((len(logs), states, width), -np.inf)
        wide[:, :, :states] = logs
        return wide

    def _best(self, begin: int, end: int, carry: Floats) -> tuple[NDArray[Any], float]:
        states = self.n_states
        came = np.empty((end - begin, states), np.uint8 if states <= 256 else np.int32)
        gain, which = np.zeros(1), self._which(begin, end)
        weights = self.weights(begin, end, True).values
        shared = (which, weights, self.fresh[begin:end], carry, came, gain)
        if states <= 4:
            row = best_path_of_few(*self._logs, *shared)
        else:
            wide, work = self._wide_logs, np.empty((2, self._wide_logs.shape[2]))
            row = best_path_of_rows(self._logs[0], wide, *shared, *work)
        if row >= 0:
            raise Impossible(begin + int(row))
        return came, float(gain[0])


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
class SmoothedBlock:
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
