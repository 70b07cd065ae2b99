"""Conditional distributions of a node, in codes: tables, deterministic rules, noisy-MAX, regressions, softmax.

The axis order is always *parents, then the child*. Codes and numbers of rows are given apart: of the discrete
variables of a family the codes, of the numeric ones the numbers, the child last. Every kind has

============================  ======================================================================================
``log_prob(codes, numbers)``  log p(child | parents) of each complete row
``is_smooth``                 whether no number of the child has a probability of its own
``constant``                  the number that the child always has; NaN if it has none
``n_free``                    the number of free parameters
============================  ======================================================================================

Discrete kinds can be converted to a table. They can also be used without one, because a rule with few parameters may
have a table too large for memory:

========================  ==========================================================================================
``table()``               P(child | parents), cell by cell
``log_at(codes)``         the logs of what is left of it where some variables are observed (−1: free)
``log_rows(parents)``     log P(child's states | parents) for each row of the parents' codes
``is_positive(codes)``    whether no cell that agrees with the codes is zero
``n_numbers``             how many numbers the distribution itself holds
``pieces(codes, order)``  small factors that give the table when their hidden variables are summed out. Optional:
                          only kinds with such a structure have it
========================  ==========================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bayeskit._data.frames import as_array
from bayeskit.typing import Floats, Ints

# A row that sums to one within rounding is kept bit for bit.
AS_GOOD_AS_ONE = 1e-12


def row_sums(values: Floats) -> Floats:
    """Return the sums over the last axis, infinite if they overflow."""
    with np.errstate(over="ignore"):
        return np.asarray(values.sum(axis=-1))


def summing_to_one(values: Floats, sums: Floats) -> Floats:
    """Return rows that sum to one: unchanged if they do, otherwise divided once by their sums.

    Examples
    --------
    >>> rows = np.array([[0.1, 0.9], [1.0, 3.0]])
    >>> summing_to_one(rows, row_sums(rows))
    array([[0.1 , 0.9 ],
           [0.25, 0.75]])
    """
    off = np.abs(sums - 1.0) > AS_GOOD_AS_ONE
    return np.where(off[..., None], values / sums[..., None], values) if off.any() else values


def frozen(values: ArrayLike, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return a read-only copy in C order."""
    array = np.array(values, dtype=dtype, order="C")
    array.flags.writeable = False
    return array


def _logs(values: Floats) -> Floats:
    """Return the logarithms, with −inf for zero and no warning."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


@dataclass(frozen=True, eq=False)
class Piece:
    """A factor over some axes of a distribution (parents, then the child) and over hidden variables.

    Axis k < number of axes of the distribution is that one; larger numbers are hidden variables. ``is_conditional``
    means that it is a table of its last axis given the others.
    """

    axes: tuple[int, ...]
    values: Floats
    is_conditional: bool = True


def _chain(tables: Sequence[Floats], parents: Sequence[int], child: int) -> list[Piece]:
    """Return a chain of hidden variables: the first table is over (parent, next), others over (before, parent, next).

    The last hidden variable of the chain is the child itself.
    """
    pieces: list[Piece] = []
    before: tuple[int, ...] = ()
    for k, (table, parent) in enumerate(zip(tables, parents, strict=True)):
        following = child if k == len(tables) - 1 else child + 1 + k
        pieces.append(Piece((*before, parent, following), table))
        before = (following,)
    return pieces


def place_of(codes: Sequence[int]) -> tuple[int | slice, ...]:
    """Return the index of the cells that agree with some codes (−1: free)."""
    return tuple(slice(None) if code < 0 else int(code) for code in codes)


@dataclass(frozen=True, eq=False)
class Table:
    """A table P(child | parents): one axis for each parent, then the child. ``np.asarray`` gives the cells."""

    values: Floats
    is_smooth: ClassVar[bool] = True
    constant: ClassVar[float] = math.nan

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen(self.values))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return as_array(self.values, dtype, copy)

    def table(self) -> Floats:
        """Return P(node | parents) as an array: the parents in their order, then the node."""
        return self.values

    @property
    def n_numbers(self) -> int:
        return int(self.values.size)

    @property
    def n_free(self) -> int:
        """The number of free parameters."""
        return int(self.values.size) - math.prod(self.values.shape[:-1])

    def log_at(self, codes: Sequence[int]) -> Floats:
        return _logs(self.values[place_of(codes)])

    def log_rows(self, parents: Ints, numbers: Floats | None = None) -> Floats:
        return _logs(np.broadcast_to(self.values[tuple(parents.T)], (len(parents), self.values.shape[-1])))

    def log_prob(self, codes: Ints, numbers: Floats | None = None) -> Floats:
        return _logs(self.values[tuple(codes.T)])

    def is_positive(self, codes: Sequence[int]) -> bool:
        return bool((self.values[place_of(codes)] > 0.0).all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]


# A function with more cells is not searched for a structure.
LARGEST_FUNCTION = 2**20


@dataclass(frozen=True, eq=False)
class Deterministic:
    """A deterministic child: the code of its state for each parent configuration."""

    outcome: NDArray[np.int64]
    size: int
    is_smooth: ClassVar[bool] = True
    constant: ClassVar[float] = math.nan
    n_free: ClassVar[int] = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcome", frozen(self.outcome, np.int64))

    def table(self) -> Floats:
        """Return P(node | parents) as an array: the parents in their order, then the node."""
        values = np.zeros((*self.outcome.shape, self.size))
        np.put_along_axis(values, self.outcome[..., None], 1.0, axis=-1)
        return values

    @property
    def n_numbers(self) -> int:
        return int(self.outcome.size)

    def log_at(self, codes: Sequence[int]) -> Floats:
        outcome, child = self.outcome[place_of(codes[:-1])], int(codes[-1])
        if child >= 0:
            return np.where(outcome == child, 0.0, -np.inf)
        return np.where(np.eye(self.size, dtype=bool), 0.0, -np.inf)[outcome]

    def log_rows(self, parents: Ints, numbers: Floats | None = None) -> Floats:
        outcome = np.broadcast_to(self.outcome[tuple(parents.T)], len(parents))
        return np.where(outcome[:, None] == np.arange(self.size), 0.0, -np.inf)

    def log_prob(self, codes: Ints, numbers: Floats | None = None) -> Floats:
        return np.where(self.outcome[tuple(codes[:, :-1].T)] == codes[:, -1], 0.0, -np.inf)

    def is_positive(self, codes: Sequence[int]) -> bool:
        child = int(codes[-1])
        return self.size == 1 or (child >= 0 and bool((self.outcome[place_of(codes[:-1])] == child).all()))

    def pieces(self, codes: Sequence[int], order: Sequence[int]) -> list[Piece]:
        """Split the table into pieces that read the parents in the given order and pass on a hidden state.

        These are the states of the smallest automaton that computes the function: two for a parity or an OR of
        any number of parents, k + 1 for a count of k. There are no pieces if the automaton is as large as the table.
        """
        child = self.outcome.ndim
        free = [k for k in order if codes[k] < 0]
        rest = self.outcome[place_of(codes[:-1])].transpose(np.argsort(np.argsort(free)))
        if not free:
            return [Piece((child,), np.eye(self.size)[int(rest)])]
        most, cells = rest.size * self.size, 0
        if most > LARGEST_FUNCTION:
            return []
        tables: list[Floats] = []
        n_states = self.size
        for size in reversed(rest.shape):
            rows, named = np.unique(rest.reshape(-1, size), axis=0, return_inverse=True)
            cells += rows.size * n_states
            if cells > most:
                return []
            tables.append(np.eye(n_states)[rows])
            n_states, rest = len(rows), named.ravel()
        tables[-1] = tables[-1][0]  # before the first parent there is one state
        return _chain(tables[::-1], free, child)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Deterministic)
            and self.size == other.size
            and np.array_equal(self.outcome, other.outcome)
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class NoisyMax:
    r"""A noisy-MAX: the child is the *largest* of the independent effects of its parents and a leak.

    .. math:: P(y \le k \mid x_1, \dots, x_m) = L(k) \prod_i F_i(k \mid x_i)

    Parameters
    ----------
    causes : one array of shape (states of the parent, states of the child) for each parent
        Row s is the distribution of the effect of parent state s, over the child's states as declared.
    leak : array of shape (states of the child,)
        The distribution of the effect without any cause. All mass on the state "no effect" means no leak.
    rising : bool
        Whether the child's states are in ascending order of effect: the first means no effect, the last is
        the strongest. If False, the order is reversed, and the formula holds for the states counted from the
        end.

    Noisy-OR is the special case of two states.

    Examples
    --------
    >>> NoisyMax(([[1.0, 0.0], [0.25, 0.75]],), [0.5, 0.5]).table().tolist()
    [[0.5, 0.5], [0.125, 0.875]]
    >>> NoisyMax(([[0.0, 1.0], [0.75, 0.25]],), [0.5, 0.5], rising=False).table().tolist()
    [[0.5, 0.5], [0.875, 0.125]]
    """

    causes: tuple[Floats, ...]
    leak: Floats
    rising: bool = True
    is_smooth: ClassVar[bool] = True
    constant: ClassVar[float] = math.nan

    def __post_init__(self) -> None:
        object.__setattr__(self, "causes", tuple(frozen(cause) for cause in self.causes))
        object.__setattr__(self, "leak", frozen(self.leak))

    def turned(self) -> NoisyMax:
        """Return the same causes for a child whose states are declared in the opposite order."""
        return NoisyMax(tuple(cause[:, ::-1] for cause in self.causes), self.leak[::-1], not self.rising)

    def table(self) -> Floats:
        """Return P(node | parents) as an array: the parents in their order, then the node."""
        if not self.rising:
            return self.turned().table()[..., ::-1]
        below = np.cumsum(self.leak)
        for cause in self.causes:
            # The axis of this parent comes before the child's and after those of earlier parents.
            below = below[..., None, :] * np.cumsum(cause, axis=1)
        values = np.diff(below, axis=-1, prepend=0.0)
        values = np.maximum(values, 0.0)  # differences of equal products may round below zero
        return np.asarray(values / values.sum(axis=-1, keepdims=True))

    @property
    def n_numbers(self) -> int:
        return int(self.leak.size + sum(cause.size for cause in self.causes))

    @property
    def n_free(self) -> int:
        """The number of free parameters."""
        # One state of each cause has no effect.
        return (len(self.leak) - 1) * (1 + sum(len(cause) - 1 for cause in self.causes))

    def log_at(self, codes: Sequence[int]) -> Floats:
        """Observed causes multiply the leak; each free one is an axis."""
        *parents, child = codes
        leak, *effects = self._log_below()
        # Sums of logs, because a product over hundreds of causes would underflow.
        seen = [effect[code] for effect, code in zip(effects, parents, strict=True) if code >= 0]
        below = np.sum([leak[0], *seen], axis=0)
        for effect, code in zip(effects, parents, strict=True):
            if code < 0:
                below = below[..., None, :] + effect
        return np.asarray(self._log_differences(below)[(..., *place_of([child]))])

    def log_rows(self, parents: Ints, numbers: Floats | None = None) -> Floats:
        leak, *effects = self._log_below()
        below = np.repeat(leak, len(parents), axis=0)
        for effect, codes in zip(effects, parents.T, strict=True):
            below += effect[codes]
        return self._log_differences(below)

    def log_prob(self, codes: Ints, numbers: Floats | None = None) -> Floats:
        return self.log_rows(codes[:, :-1])[np.arange(len(codes)), codes[:, -1]]

    def is_positive(self, codes: Sequence[int]) -> bool:
        r"""Decide from the causes alone whether all cells are positive.

        :math:`P(y = k \mid x) > 0` if no cause excludes every effect up to k, and k itself is produced by the
        leak or by some cause. This holds for all x if the first condition holds in every state of each cause,
        and some cause (or the leak) can produce k in all of its states.
        """
        if not self.rising:
            last = len(self.leak) - 1
            return self.turned().is_positive([*codes[:-1], last - codes[-1] if codes[-1] >= 0 else -1])
        *parents, child = codes
        said = [
            cause[place_of([code])].reshape(-1, len(self.leak))
            for cause, code in zip(self.causes, parents, strict=True)
        ]
        said.append(self.leak[None, :])
        wanted = range(len(self.leak)) if child < 0 else [int(child)]
        return all(
            all((cause[:, : k + 1] > 0.0).any(axis=1).all() for cause in said)
            and any((cause[:, k] > 0.0).all() for cause in said)
            for k in wanted
        )

    def pieces(self, codes: Sequence[int], order: Sequence[int]) -> list[Piece]:
        r"""Take the causes one after the other, in the given order: a hidden state is the largest effect so far.

        .. math:: P(h_i = k \mid h_{i-1} = j, x_i) = [k = j] \, F_i(j \mid x_i) + [k > j] \, p_i(k \mid x_i)

        No number is the difference of others, so nothing cancels. If the child shows no effect, every cause had
        none: one number for each state of each cause, without any hidden variable.
        """
        *parents, child = codes
        last, size = len(self.causes), len(self.leak)
        turn = slice(None) if self.rising else slice(None, None, -1)
        if child >= 0 and child == (0 if self.rising else size - 1):
            alone = [Piece((k,), cause[:, child], False) for k, cause in enumerate(self.causes)]
            return [*alone, Piece((last,), np.eye(size)[child] * self.leak[child], False)]
        steps = [_larger(cause[:, turn]) for cause in self.causes]
        start = self.leak[turn]
        free = [k for k in order if parents[k] < 0]
        for k in (k for k in order if parents[k] >= 0):
            after = start @ steps[k][:, parents[k], :]
            if after[after > 0.0].min() < SMALLEST:
                free.append(k)  # it stays a variable, so that the engine can scale
            else:
                start = after
        if not free:
            return [Piece((last,), start[turn])]
        tables = [steps[k] for k in free]
        tables[0] = np.tensordot(start, tables[0], axes=1)
        tables[-1] = tables[-1][..., turn]
        return _chain(tables, free, last)

    def _log_below(self) -> list[Floats]:
        """Return log P(effect ≤ k), counted from no effect, of the leak and of each state of each cause."""
        effects = np.concatenate([self.leak[None, :], *self.causes])
        logs = _logs(np.cumsum(effects if self.rising else effects[:, ::-1], axis=1))
        return np.split(logs, np.cumsum([1, *(len(cause) for cause in self.causes)])[:-1])

    def _log_differences(self, below: Floats) -> Floats:
        """Turn log P(y ≤ k) into log P(y = k) in place, in the declared order of the child's states."""
        total = below[..., -1:].copy()  # 0 up to rounding
        for k in range(below.shape[-1] - 1, 0, -1):
            this, before = below[..., k], below[..., k - 1]
            # log(1 − P(y < k) / P(y ≤ k)); if nothing up to k is possible, neither is k.
            gap = np.subtract(before, this, out=np.full(this.shape, -np.inf), where=this > -np.inf)
            np.minimum(gap, 0.0, out=gap)
            np.negative(np.expm1(gap, out=gap), out=gap)
            with np.errstate(divide="ignore"):
                this += np.log(gap, out=gap)
        below -= total
        return below if self.rising else below[..., ::-1]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, NoisyMax)
            and self.rising == other.rising
            and len(self.causes) == len(other.causes)
            and np.array_equal(self.leak, other.leak)
            and all(np.array_equal(a, b) for a, b in zip(self.causes, other.causes, strict=True))
        )

    __hash__ = None  # type: ignore[assignment]


# Observed causes are multiplied together while no product is smaller than this.
SMALLEST = 1e-200


def _larger(effect: Floats) -> Floats:
    """Return P(larger of the two = k | before = j, cause = x) with the axes j, x, k, from P(effect = k | x)."""
    effect = effect / effect.sum(axis=1, keepdims=True)
    size = effect.shape[1]
    found = np.repeat(effect[None], size, axis=0)
    found[np.tri(size, k=-1, dtype=bool)[:, None, :].repeat(len(effect), axis=1)] = 0.0
    states = np.arange(size)
    found[states, :, states] = np.cumsum(effect, axis=1).T
    return found


# An equation without noise holds if its error is at most this fraction of its largest term.
EXACT = 1e-10


def log_normal(residual: Floats, variance: Floats, size: Floats) -> tuple[Floats, Floats]:
    """Return the log density of residuals around zero, and 1 where both the variance and the residual are zero.

    For variance zero it is log 1 = 0 at the point and −∞ elsewhere. ``size`` is the largest term of the residual.

    Examples
    --------
    >>> density, hits = log_normal(np.array([0.0, 0.0, 2.0]), np.array([1.0, 0.0, 0.0]), np.ones(3))
    >>> density.round(4), hits
    (array([-0.9189,  0.    ,    -inf]), array([0., 1., 0.]))
    """
    certain = variance == 0.0
    some = np.where(certain, 1.0, variance)
    with np.errstate(over="ignore"):
        density = -0.5 * (np.log(2.0 * np.pi * some) + (residual / np.sqrt(some)) ** 2)
    on_point = certain & (np.abs(residual) <= EXACT * size)
    log = np.where(certain, np.where(on_point, 0.0, -np.inf), density)
    return log, on_point.astype(np.float64)


@dataclass(frozen=True, eq=False)
class LinearGaussian:
    r"""A linear-Gaussian child: a regression on the numeric parents per configuration d of the discrete ones.

    .. math:: y \mid d, x \sim N(a_d + b_d^\top x, \; v_d)

    Parameters
    ----------
    intercept, variance : arrays with one axis for each *discrete* parent (none: arrays without axes)
    coefficients : array with those axes and one more, over the *numeric* parents in their order
    """

    intercept: Floats
    coefficients: Floats
    variance: Floats

    def __post_init__(self) -> None:
        for name in ("intercept", "coefficients", "variance"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def is_smooth(self) -> bool:
        """Whether all variances are positive."""
        return bool((self.variance > 0.0).all())

    @property
    def constant(self) -> float:
        """The number that a child without parents and variance always has; NaN for any other."""
        varies = self.intercept.ndim or self.coefficients.size or self.variance.any()
        return math.nan if varies else float(self.intercept)

    @property
    def n_free(self) -> int:
        """The number of free parameters."""
        return int(2 * self.intercept.size + self.coefficients.size)

    def moments(self, codes: Ints, numbers: Floats) -> tuple[Floats, Floats]:
        """Return the mean and the variance of the child in each row, from the codes and the numbers of its parents."""
        place = tuple(codes.T)
        mean = self.intercept[place] + (self.coefficients[place] * numbers).sum(axis=-1)
        return np.broadcast_to(mean, len(numbers)), np.broadcast_to(self.variance[place], len(numbers))

    def log_prob(self, codes: Ints, numbers: Floats) -> Floats:
        """Return the log density of each row. Variance zero gives log 1 = 0 at its point and −∞ elsewhere."""
        place = tuple(codes.T)
        x, intercept = numbers[:, -1], self.intercept[place]
        residual, size = x - intercept, np.maximum(np.abs(x), np.abs(intercept))
        for slope, parent in zip(np.moveaxis(self.coefficients[place], -1, 0), numbers.T[:-1], strict=True):
            residual = residual - slope * parent
            size = np.maximum(size, np.abs(slope * parent))
        return log_normal(residual, np.broadcast_to(self.variance[place], len(numbers)), size)[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearGaussian) and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("intercept", "coefficients", "variance")
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Softmax:
    r"""A discrete child of numeric parents: log-linear in them, for each configuration d of the discrete parents.

    .. math:: P(y = k \mid d, x) = \frac{\exp(a_{dk} + b_{dk}^\top x)}{\sum_j \exp(a_{dj} + b_{dj}^\top x)}

    Parameters
    ----------
    intercept : array with one axis for each *discrete* parent, then one over the states of the child
    coefficients : array with those axes and one more, over the *numeric* parents in their order

    Adding the same numbers to all states changes nothing, so they are kept relative to the first state, whose
    intercept and coefficients are zero. For two states the others are log odds: logistic regression.

    Examples
    --------
    >>> buys = Softmax([0.0, -3.0], [[0.0], [0.5]])
    >>> np.exp(buys.log_rows(np.zeros((2, 0), np.int64), np.array([[6.0], [10.0]]))).round(3)
    array([[0.5  , 0.5  ],
           [0.119, 0.881]])
    """

    intercept: Floats
    coefficients: Floats
    is_smooth: ClassVar[bool] = True
    constant: ClassVar[float] = math.nan

    def __post_init__(self) -> None:
        a, b = np.asarray(self.intercept, np.float64), np.asarray(self.coefficients, np.float64)
        object.__setattr__(self, "intercept", frozen(a - a[..., :1]))
        object.__setattr__(self, "coefficients", frozen(b - b[..., :1, :]))

    @property
    def size(self) -> int:
        """The number of states of the child."""
        return int(self.intercept.shape[-1])

    @property
    def n_numbers(self) -> int:
        return int(self.intercept.size + self.coefficients.size)

    @property
    def n_free(self) -> int:
        """The number of free parameters."""
        # All states but the first.
        return self.n_numbers // self.size * (self.size - 1)

    def log_rows(self, parents: Ints, numbers: Floats) -> Floats:
        """Return log P(states | parents) of each row, from the codes and the numbers of its parents."""
        place = tuple(parents.T)
        slopes = np.broadcast_to(self.coefficients[place], (len(numbers), self.size, numbers.shape[1]))
        score = self.intercept[place] + np.einsum("nkm,nm->nk", slopes, numbers)
        score = score - score.max(axis=1, keepdims=True)
        return np.asarray(score - np.log(np.exp(score).sum(axis=1, keepdims=True)))

    def logs_at(self, values: Floats) -> Floats:
        """Return log P(child | discrete parents) for all their states, where the numeric parents have these values."""
        score = self.intercept + self.coefficients @ values
        score = score - score.max(axis=-1, keepdims=True)
        return np.asarray(score - np.log(np.exp(score).sum(axis=-1, keepdims=True)))

    def log_prob(self, codes: Ints, numbers: Floats) -> Floats:
        return self.log_rows(codes[:, :-1], numbers)[np.arange(len(codes)), codes[:, -1]]

    def table_at(self, values: Floats) -> Floats:
        """Return the table over the discrete parents and the child, where the numeric parents have these values."""
        table: Floats = np.exp(self.logs_at(values))
        return np.asarray(table / table.sum(axis=-1, keepdims=True))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Softmax)
            and np.array_equal(self.intercept, other.intercept)
            and np.array_equal(self.coefficients, other.coefficients)
        )

    __hash__ = None  # type: ignore[assignment]


Discrete = Table | Deterministic | NoisyMax
Distribution = Table | Deterministic | NoisyMax | LinearGaussian | Softmax


def uniform(sizes: Sequence[int]) -> Table:
    """Return the uniform table; the child's size comes last."""
    return Table(np.full(tuple(sizes), 1.0 / sizes[-1]))
