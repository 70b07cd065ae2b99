r"""Hidden Markov models in codes: what a state emits, the expected counts of sequences, and the estimates from them.

.. math:: P(x, z) = \pi_{z_0} b_{z_0}(x_0) \prod_{t > 0} a_{z_{t-1} z_t} b_{z_t}(x_t)

The statistics are sums over the steps of all sequences. So they can be taken in pieces and merged, if all pieces
are counted under the same parameters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayeskit._inference.chain import Chain, ExpectedTransitions, Impossible, Weights
from bayeskit._inference.kernels.chain_messages import TINY
from bayeskit._numba import kernel
from bayeskit.errors import DataError, Incompatible
from bayeskit.typing import Floats, Ints

# Rows that are looked at for the first means: enough to see all states, few enough to sort by distance.
_MOST_FOR_START = 5_000
# The variance of a column that is constant over all rows, relative to its square.
_LEAST_VARIANCE = 1e-12
# The inverse of a smaller variance is not a number that can be squared.
SMALLEST_VARIANCE = 1e-150
_LOG_2_PI = np.log(2.0 * np.pi)


@kernel
def _log_normals(values: Any, means: Any, precision: Any, constant: Any, out: Any) -> None:
    """Write the log density of each row in each state; a missing cell (NaN) has no factor."""
    n, columns = values.shape
    for t in range(n):
        for k in range(means.shape[0]):
            total = 0.0
            for j in range(columns):
                x = values[t, j] - means[k, j]
                if not np.isnan(x):
                    total += constant[k, j] - 0.5 * x * x * precision[k, j]
            out[t, k] = total


@kernel
def _relative(logs: Any, shift: Any) -> bool:
    """Turn logarithms into weights relative to the largest of each row; return whether one was lost."""
    n, states = logs.shape
    lost = False
    for t in range(n):
        largest = -np.inf
        for k in range(states):
            largest = max(largest, logs[t, k])
        if largest == -np.inf:
            largest = 0.0
        shift[t] = largest
        for k in range(states):
            x = logs[t, k]
            y = np.exp(x - largest)
            lost |= y < TINY and x > -np.inf
            logs[t, k] = y
    return bool(lost)


@kernel
def _add_codes(codes: Any, gamma: Any, out: Any) -> None:
    """Add the share of each state in each row to the row's code."""
    n, states = gamma.shape
    for t in range(n):
        c = np.uintp(codes[t])
        for k in range(states):
            out[c, k] += gamma[t, k]


@kernel
def _add_moments(values: Any, gamma: Any, pivot: Any, weight: Any, sums: Any, squares: Any) -> None:
    """Add the weight, the sum and the sum of squares of each column about the pivot of each state."""
    n, columns = values.shape
    for t in range(n):
        for k in range(gamma.shape[1]):
            g = gamma[t, k]
            if g > 0.0:
                for j in range(columns):
                    x = values[t, j] - pivot[k, j]
                    if not np.isnan(x):
                        weight[k, j] += g
                        sums[k, j] += g * x
                        squares[k, j] += g * x * x


@dataclass(frozen=True, eq=False)
class CodeEmission:
    """P(category | state): an array of shape (states, categories). The code after the last category is missing."""

    kind: ClassVar[str] = "categorical"
    table: Floats

    @cached_property
    def _by_code(self) -> Floats:
        return np.ascontiguousarray(np.vstack([self.table.T, np.ones(len(self.table))]))

    @cached_property
    def _logs_by_code(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self._by_code)

    def weights(self, rows: NDArray[Any], logs: bool) -> Weights:
        return Weights((self._logs_by_code if logs else self._by_code).take(rows, axis=0))

    def zero(self) -> tuple[Floats, ...]:
        """Return the sums of no rows: shape (categories and one for missing, states)."""
        return (np.zeros(self._by_code.shape),)

    def add(self, rows: NDArray[Any], gamma: Floats, sums: tuple[Floats, ...]) -> None:
        _add_codes(rows, gamma, sums[0])

    def permuted(self, order: Ints) -> CodeEmission:
        return CodeEmission(self.table[order])

    def draw(self, states: Ints, rng: np.random.Generator) -> NDArray[Any]:
        """Draw an observation in each state."""
        last = self.table.shape[1] - 1
        steps = np.cumsum(self.table, axis=1)[states]
        return np.asarray(np.minimum((rng.random(len(states))[:, None] >= steps).sum(axis=1), last))

    @property
    def n_parameters(self) -> int:
        return int(self.table.shape[0] * (self.table.shape[1] - 1))


@dataclass(frozen=True, eq=False)
class NormalEmission:
    """Independent normal columns in each state: means and variances of shape (states, columns). NaN is missing."""

    kind: ClassVar[str] = "gaussian"
    means: Floats
    variances: Floats

    def weights(self, rows: NDArray[Any], logs: bool) -> Weights:
        out = np.empty((len(rows), len(self.means)))
        _log_normals(rows, self.means, 1.0 / self.variances, -0.5 * (_LOG_2_PI + np.log(self.variances)), out)
        if logs:
            return Weights(out)
        shift = np.empty(len(rows))
        lost = _relative(out, shift)
        return Weights(out, shift, bool(lost))

    def zero(self) -> tuple[Floats, ...]:
        """Return the sums of no rows: weights, sums and squares about the means."""
        shape = self.means.shape
        return np.zeros(shape), np.zeros(shape), np.zeros(shape)

    def add(self, rows: NDArray[Any], gamma: Floats, sums: tuple[Floats, ...]) -> None:
        _add_moments(rows, gamma, self.means, *sums)

    def permuted(self, order: Ints) -> NormalEmission:
        return NormalEmission(self.means[order], self.variances[order])

    def draw(self, states: Ints, rng: np.random.Generator) -> NDArray[Any]:
        """Draw an observation in each state."""
        return rng.normal(self.means[states], np.sqrt(self.variances[states]))

    @property
    def n_parameters(self) -> int:
        return 2 * self.means.size


Emission = CodeEmission | NormalEmission


@dataclass(frozen=True, eq=False)
class HiddenParameters:
    """A hidden Markov model: P(first state), P(next state | state), and what a state emits."""

    start: Floats
    transition: Floats
    emission: Emission

    @property
    def n_states(self) -> int:
        return len(self.start)

    @property
    def n_parameters(self) -> int:
        k = self.n_states
        return k - 1 + k * (k - 1) + self.emission.n_parameters

    def chain(self, rows: NDArray[Any], fresh: NDArray[np.uint8]) -> Chain:
        """Return the chain of the hidden states of some rows."""
        return Chain(
            self.start[None], self.transition[None], fresh,
            lambda begin, end, logs: self.emission.weights(rows[begin:end], logs),
        )  # fmt: skip

    def permuted(self, order: Ints) -> HiddenParameters:
        """Return the model with its states in another order."""
        return HiddenParameters(
            self.start[order], self.transition[np.ix_(order, order)], self.emission.permuted(order)
        )


@dataclass(frozen=True, eq=False)
class HiddenCounts:
    """Expected counts of a hidden Markov model: sums over the steps of sequences, each split between states.

    ``merge`` adds the counts of other sequences. Both must have been counted under the same parameters: within one
    E-step, or from sequences whose states are known. Nothing can be subtracted, because a step is split differently
    after every step of EM.

    Attributes
    ----------
    starts : array of shape (K,)
        How many sequences start in each state.
    transitions : array of shape (K, K)
        How often each state follows each.
    emissions : tuple of arrays
        Categories: how often each state emits each (the last one is missing). Numbers: for each state and column the
        number of values, their sum and the sum of their squares, about ``pivot``.
    log_probability : float
        log P(x) of the sequences; 0 if the states were known.
    """

    starts: Floats
    transitions: Floats
    emissions: tuple[Floats, ...]
    pivot: Floats | None = None
    log_probability: float = 0.0

    @property
    def occupancy(self) -> Floats:
        """How many steps are spent in each state."""
        return np.asarray(self.starts + self.transitions.sum(axis=0))

    @property
    def total(self) -> float:
        """The number of steps."""
        return float(self.occupancy.sum())

    def permuted(self, order: Ints) -> HiddenCounts:
        """Return the counts with the states in another order."""
        pivot = None if self.pivot is None else self.pivot[order]
        parts = tuple(part[:, order] if pivot is None else part[order] for part in self.emissions)
        moves = self.transitions[np.ix_(order, order)]
        return HiddenCounts(self.starts[order], moves, parts, pivot, self.log_probability)

    def merge(self, other: HiddenCounts) -> HiddenCounts:
        """Return the counts of the sequences of both."""
        mine, its = (self.pivot, other.pivot)
        shapes = [[a.shape for a in (c.transitions, *c.emissions)] for c in (self, other)]
        if shapes[0] != shapes[1] or (mine is None) != (its is None) or not np.array_equal(mine, its):  # type: ignore[arg-type]
            raise Incompatible(
                "These counts were taken under different parameters, or of different categories or columns, so their "
                "sum has no meaning. Count both with the same model."
            )
        return HiddenCounts(
            self.starts + other.starts,
            self.transitions + other.transitions,
            tuple(a + b for a, b in zip(self.emissions, other.emissions, strict=True)),
            self.pivot,
            self.log_probability + other.log_probability,
        )


def expected_counts(
    parameters: HiddenParameters, rows: NDArray[Any], fresh: NDArray[np.uint8]
) -> HiddenCounts:
    """Return the expected counts of sequences (the E-step). An impossible row raises an error that names it."""
    chain, emission = parameters.chain(rows, fresh), parameters.emission
    found, sums = ExpectedTransitions.zero(chain), emission.zero()
    try:
        for part in chain.backward(found):
            emission.add(rows[part.block.begin : part.block.end], part.gamma, sums)
    except Impossible as impossible:
        raise impossible_row(impossible.row, fresh) from None
    return HiddenCounts(
        found.starts[0],
        found.transitions[0],
        sums,
        emission.means if isinstance(emission, NormalEmission) else None,
        found.log_probability,
    )


def known_counts(
    states: Ints, n_states: int, rows: NDArray[Any], fresh: NDArray[np.uint8], emission: Emission
) -> HiddenCounts:
    """Return the counts of sequences whose states are known."""
    starts = np.bincount(states[fresh == 1], minlength=n_states).astype(np.float64)
    after = np.flatnonzero(fresh == 0)
    pairs = np.bincount(states[after - 1] * n_states + states[after], minlength=n_states**2)
    sums = emission.zero()
    emission.add(rows, np.eye(n_states)[states], sums)
    pivot = emission.means if isinstance(emission, NormalEmission) else None
    return HiddenCounts(starts, pairs.reshape(n_states, n_states).astype(np.float64), sums, pivot)


def impossible_row(row: int, fresh: NDArray[np.uint8]) -> DataError:
    """Return the error for a row that has probability zero."""
    begins = np.flatnonzero(fresh[: row + 1])
    return DataError(
        "Step {step} of sequence {sequence} (the first are 0) has probability zero: no state that can be reached emits "
        "what was observed. Fit with smoothing= above 0, or with sequences that have it.",
        step=int(row - begins[-1]),
        sequence=len(begins) - 1,
    )


@dataclass(frozen=True, eq=False)
class HiddenProblem:
    """The problem of EM for a hidden Markov model.

    Attributes
    ----------
    rows : int64 codes of shape (n,), or numbers of shape (n, columns)
    fresh : 1 where a sequence begins
    like : any emission of the same kind and size
    smoothing : the imaginary count of every cell of all tables
    every : the mean and the variance of each column over all rows
    variance_floor : the least variance, as a share of that over all rows
    """

    rows: NDArray[Any]
    fresh: NDArray[np.uint8]
    like: Emission
    smoothing: float = 0.0
    every: tuple[Floats, Floats] | None = None
    variance_floor: float = 0.0
    _latest: list[Any] = field(default_factory=list)

    @property
    def floor(self) -> Floats:
        """The least variance of each column; a column that is constant over all rows has a tiny one."""
        assert self.every is not None
        mean, variance = self.every
        least = np.where(variance > 0.0, SMALLEST_VARIANCE, _LEAST_VARIANCE * np.maximum(1.0, mean * mean))
        return np.maximum(self.variance_floor * variance, least)

    def expect(self, parameters: HiddenParameters) -> tuple[HiddenCounts, float]:
        found = expected_counts(parameters, self.rows, self.fresh)
        self._latest[:] = parameters, found
        return found, found.log_probability + self.log_prior(parameters)

    def counts_at(self, parameters: HiddenParameters) -> HiddenCounts:
        """Return the expected counts at parameters; those of the last E-step are still there."""
        if self._latest and self._latest[0] is parameters:
            found: HiddenCounts = self._latest[1]
            return found
        return expected_counts(parameters, self.rows, self.fresh)

    def log_prior(self, parameters: HiddenParameters) -> float:
        """Return the log of the Dirichlet prior, up to a constant."""
        if not self.smoothing:
            return 0.0
        emission = parameters.emission
        tables = [parameters.start, parameters.transition]
        tables += [emission.table] if isinstance(emission, CodeEmission) else []
        with np.errstate(divide="ignore"):
            return float(self.smoothing * sum(float(np.log(table).sum()) for table in tables))

    def maximise(self, statistics: HiddenCounts) -> HiddenParameters:
        return HiddenParameters(
            _shares(statistics.starts, self.smoothing),
            _shares(statistics.transitions, self.smoothing),
            self._emission(statistics),
        )

    def _emission(self, statistics: HiddenCounts) -> Emission:
        if isinstance(self.like, CodeEmission):
            return CodeEmission(_shares(statistics.emissions[0][:-1].T, self.smoothing))
        weight, sums, squares = statistics.emissions
        assert statistics.pivot is not None and self.every is not None
        seen, floor = weight > 0.0, self.floor
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = sums / weight
            variance = np.maximum(squares / weight - mean * mean, floor)
        # A state without values may emit anything: what all rows show is as good as any.
        means = np.where(seen, statistics.pivot + mean, self.every[0])
        return NormalEmission(means, np.where(seen, variance, np.maximum(self.every[1], floor)))

    def flat(self, parameters: HiddenParameters) -> Floats:
        emission = parameters.emission
        with np.errstate(divide="ignore"):
            logs = [np.log(parameters.start), np.log(parameters.transition).ravel()]
            if isinstance(emission, CodeEmission):
                return np.concatenate([*logs, np.log(emission.table).ravel()])
            return np.concatenate([*logs, emission.means.ravel(), np.log(emission.variances).ravel()])

    def unflat(self, vector: Floats) -> HiddenParameters:
        like, k = self.like, self._n_states(len(vector))
        start, transition, rest = np.split(vector, [k, k + k * k])
        emission: Emission
        if isinstance(like, CodeEmission):
            emission = CodeEmission(_from_logs(rest.reshape(k, -1)))
        else:
            means, logs = rest.reshape(2, k, -1)
            emission = NormalEmission(means, np.maximum(np.exp(logs), self.floor))
        return HiddenParameters(_from_logs(start), _from_logs(transition.reshape(k, k)), emission)

    def _n_states(self, length: int) -> int:
        like = self.like
        cells = int(like.table.shape[1] if isinstance(like, CodeEmission) else 2 * like.means.shape[1])
        # k + k² + k · cells = length
        return round(math.sqrt((1 + cells) ** 2 / 4 + length) - (1 + cells) / 2)


def _shares(counts: Floats, smoothing: float) -> Floats:
    """Normalise counts over the last axis; a row without counts becomes uniform, which no likelihood minds."""
    given = counts + smoothing
    total = given.sum(axis=-1, keepdims=True)
    return np.where(total > 0.0, given / np.where(total > 0.0, total, 1.0), 1.0 / counts.shape[-1])


def _from_logs(logs: Floats) -> Floats:
    found = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(found / found.sum(axis=-1, keepdims=True))


def overall(values: Floats) -> tuple[Floats, Floats]:
    """Return the mean and the variance of each column, without missing cells."""
    return np.nanmean(values, axis=0), np.nanvar(values, axis=0)


def pooled(counts: HiddenCounts) -> tuple[Floats, Floats]:
    """Return the mean and the variance of each column over all states, from sums whose pivot all states share."""
    assert counts.pivot is not None
    weight, sums, squares = (part.sum(axis=0) for part in counts.emissions)
    mean = sums / weight
    return counts.pivot[0] + mean, np.maximum(squares / weight - mean * mean, 0.0)


def random_start(
    rows: NDArray[Any], n_states: int, like: Emission, rng: np.random.Generator
) -> HiddenParameters:
    """Return parameters to begin EM with.

    States tend to stay. Categories have their frequencies with noise; means are rows that are far apart (k-means++).
    """
    stay = 0.5 * np.eye(n_states) + 0.5 * rng.dirichlet(np.ones(n_states), n_states)
    start = np.full(n_states, 1.0 / n_states)
    if isinstance(like, CodeEmission):
        m = like.table.shape[1]
        seen = np.bincount(rows, minlength=m + 1)[:m] + 1.0
        noise = rng.dirichlet(np.ones(m), n_states)
        return HiddenParameters(start, stay, CodeEmission(0.5 * seen / seen.sum() + 0.5 * noise))
    mean, variance = overall(rows)
    spread = np.where(variance > 0.0, np.sqrt(variance), 1.0)
    some = (
        rows if len(rows) <= _MOST_FOR_START else rows[rng.choice(len(rows), _MOST_FOR_START, replace=False)]
    )
    points = np.nan_to_num((some - mean) / spread, nan=0.0)
    chosen = [int(rng.integers(len(points)))]
    distance = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < n_states:
        total = distance.sum()
        place = (
            int(rng.choice(len(points), p=distance / total))
            if total > 0.0
            else int(rng.integers(len(points)))
        )
        chosen.append(place)
        distance = np.minimum(distance, ((points - points[place]) ** 2).sum(axis=1))
    wide = np.where(variance > 0.0, variance, 1.0)
    return HiddenParameters(
        start, stay, NormalEmission(mean + spread * points[chosen], np.tile(wide, (n_states, 1)))
    )
