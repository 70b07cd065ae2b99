r"""Tables of conditional log-probabilities, estimated from counts and a prior.

.. math:: \hat P(x_i = v \mid c) = \frac{n(v, c) + a_v}{n_i(c) + \sum_u a_u}

where n_i(c) is the weight of the rows of class c in which x_i is present.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.conditional import (
    Codes,
    Component,
    Conditional,
    DiscreteConditional,
    DrawRule,
    LatentTables,
    ParameterPosterior,
    Profiles,
    RowFactor,
    WeightedTerms,
    Workings,
)
from bayeskit._conditionals.kernels.left_out import add_tables, sum_states
from bayeskit._conditionals.posterior_draws import log_normalised
from bayeskit._conditionals.scoring import LookUp, Score, Sum
from bayeskit._data.encoded import Chunk
from bayeskit._numba import kernel
from bayeskit._schema import Schema
from bayeskit._statistics.moments import Moments
from bayeskit._statistics.part import never_counted
from bayeskit._statistics.statistics import Statistics
from bayeskit.priors import Lidstone, Smoothing, one_more_cell
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit._counting.running_sums import RunningSums

_U = np.uintp


@kernel
def add_pairs(codes: Any, offsets: Any, table: Any, out: Any) -> None:
    """Add log-probabilities for two classes, with the sums in two registers. ``table`` is flat, class innermost."""
    n, d = codes.shape
    for i in range(n):
        a = 0.0
        b = 0.0
        for j in range(d):
            place = (offsets[j] + _U(codes[i, j])) << _U(1)
            a += table[place]
            b += table[place + _U(1)]
        out[i, 0] += a
        out[i, 1] += b


@kernel
def add_fours(codes: Any, offsets: Any, table: Any, width: Any, out: Any) -> None:
    """Add log-probabilities for any number of classes, four at a time. Classes in ``table`` are padded to ``width``."""
    n, d = codes.shape
    n_classes = out.shape[1]
    w = _U(width)
    for i in range(n):
        for first in range(0, width, 4):
            u = _U(first)
            a = 0.0
            b = 0.0
            c = 0.0
            e = 0.0
            for j in range(d):
                place = (offsets[j] + _U(codes[i, j])) * w + u
                a += table[place]
                b += table[place + _U(1)]
                c += table[place + _U(2)]
                e += table[place + _U(3)]
            out[i, first] += a
            if first + 1 < n_classes:
                out[i, first + 1] += b
            if first + 2 < n_classes:
                out[i, first + 2] += c
            if first + 3 < n_classes:
                out[i, first + 3] += e


@kernel
def add_eights(codes: Any, offsets: Any, table: Any, out: Any) -> None:
    """Add log-probabilities for five to eight classes, padded to eight, with one look-up per code."""
    n, d = codes.shape
    n_classes = out.shape[1]
    for i in range(n):
        a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = 0.0
        for j in range(d):
            place = (offsets[j] + _U(codes[i, j])) << _U(3)
            a0 += table[place]
            a1 += table[place + _U(1)]
            a2 += table[place + _U(2)]
            a3 += table[place + _U(3)]
            a4 += table[place + _U(4)]
            a5 += table[place + _U(5)]
            a6 += table[place + _U(6)]
            a7 += table[place + _U(7)]
        out[i, 0] += a0
        out[i, 1] += a1
        out[i, 2] += a2
        out[i, 3] += a3
        out[i, 4] += a4
        if n_classes > 5:
            out[i, 5] += a5
        if n_classes > 6:
            out[i, 6] += a6
        if n_classes > 7:
            out[i, 7] += a7


@dataclass(frozen=True, eq=False)
class CountedTables:
    """The counts and imaginary counts that tables were estimated from, for leave-one-out.

    Attributes
    ----------
    counts, counts_low : arrays of shape (Σ(r + 1), K)
        n(v, c) of the states and the spare cell of each attribute, as double-doubles.
    offsets : uintp array of shape (d + 1,)
    imaginary : array of shape (Σ(r + 1),)
    prior : array of shape (d,)
        The sum of the imaginary counts of each attribute.
    spare : bool array of shape (d,)
        Whether missing is a state.
    """

    counts: Floats
    counts_low: Floats | None
    offsets: NDArray[np.uintp]
    imaginary: Floats
    prior: Floats
    spare: NDArray[np.bool_]

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        """The arguments of the kernel."""
        low = np.zeros_like(self.counts) if self.counts_low is None else self.counts_low
        total, total_low = np.empty((2, len(self.prior), self.counts.shape[1]))
        sum_states(self.counts, low, self.offsets, self.spare, total, total_low)
        missing = self.counts[self.offsets[1:].astype(np.intp) - 1].sum(axis=1)
        margin = self.counts[: int(self.offsets[1])].sum(axis=0)
        sums = (self.imaginary, total, total_low, self.prior, self.spare, missing, margin)
        return (self.offsets, self.counts, low, *sums)


@dataclass(frozen=True)
class TableConditional(DiscreteConditional, Component):
    """log P(x_i | c) of all categorical attributes, one after the other.

    Attributes
    ----------
    log_table : array of shape (Σ(r + 2), K)
        Each attribute has its r states, a row for missing and a row for unseen values.
    offsets : uintp array of shape (d + 1,)
    counted : CountedTables, optional
        The counts that they were estimated from.
    """

    log_table: Floats
    offsets: NDArray[np.uintp]
    counted: CountedTables | None = None

    parameters: ClassVar[tuple[str, ...]] = ("log_table",)
    class_axis: ClassVar[int] = 1
    is_separate: ClassVar[bool] = True
    takes_parents: ClassVar[bool] = False

    @cached_property
    def _padded(self) -> tuple[int, Floats]:
        k = self.log_table.shape[1]
        width = 2 if k == 2 else 4 * -(-k // 4)
        table = np.zeros((len(self.log_table), width))
        table[:, :k] = self.log_table
        return width, table.reshape(-1)

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        width, table = self._padded
        if width == 2:
            add_pairs(chunk.codes, self.offsets, table, out)
        elif width == 8:
            add_eights(chunk.codes, self.offsets, table, out)
        else:
            add_fours(chunk.codes, self.offsets, table, width, out)

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add the leave-one-out values of ``add_log_prob``, with the weight ``own`` of each row removed."""
        assert self.counted is not None
        negative = add_tables(
            chunk.codes, chunk.target, own, self.offsets, self.log_table, *self.counted.arrays, out
        )
        if negative < 0.0:
            raise never_counted(negative)

    def probabilities(self, j: int) -> Floats:
        """P(x_j = v | c) of the states of attribute j: shape (r, K)."""
        start, stop = int(self.offsets[j]), int(self.offsets[j + 1])
        return np.exp(self.log_table[start : stop - 2])

    def sample(self, classes: NDArray[np.intp], rng: np.random.Generator) -> Any:
        """Draw codes of shape (n, d)."""
        d = len(self.offsets) - 1
        codes = np.empty((len(classes), d), dtype=np.intp)
        for j in range(d):
            if self.offsets[j + 1] - self.offsets[j] == 2:
                codes[:, j] = 0  # without states, the code 0 means missing
                continue
            cumulative = np.cumsum(self.probabilities(j), axis=0)
            draw = rng.random(len(classes)) * cumulative[-1, classes]
            codes[:, j] = (draw[:, None] >= cumulative[:-1, classes].T).sum(axis=1)
        return codes

    def members(self) -> list[int]:
        return list(range(len(self.offsets) - 1))

    def parents_of(self, j: int) -> list[int]:
        return []

    def codes_of(self, j: int) -> tuple[int, ...]:
        assert self.counted is not None
        start, stop = (int(place) for place in self.offsets[j : j + 2])
        size = stop - start - 2
        states = (*range(size), *[size] * bool(self.counted.spare[j]))
        # The logarithm of a code without a share is 0, so that it is left out of the product.
        is_open = bool((self.log_table[stop - 1] < 0.0).any())
        return (*states, *[size + 1] * is_open) if states else ()

    def table_of(self, j: int, parents: Sequence[int], codes: Sequence[Sequence[int]]) -> Floats:
        return np.asarray(np.exp(self.log_table[int(self.offsets[j]) + np.array(codes[0], dtype=np.intp)]))

    def counts_of(self, statistics: Statistics, j: int) -> Floats:
        return statistics.table(statistics.schema.categorical[j].name)

    def with_attribute_weights(self, discrete: Floats, numeric: Floats) -> Conditional:
        from bayeskit._conditionals.weighted import WeightedTables

        return WeightedTables(self, discrete)

    def following(self, sums: RunningSums) -> RowFactor:
        from bayeskit._conditionals.following import FollowingTables

        return FollowingTables(sums, self)

    def put_terms(self, terms: WeightedTerms) -> None:
        terms.places, terms.log_table = self.offsets, self.log_table

    def score(self) -> Score:
        ends = self.offsets.astype(np.intp).tolist()
        return Sum(
            tuple(LookUp((j,), self.log_table[a:b]) for j, (a, b) in enumerate(pairwise(ends)) if b > a + 2)
        )

    def posterior(self, rule: DrawRule) -> ParameterPosterior:
        from bayeskit._conditionals.drawn_tables import PlainShares, TablePosterior

        return TablePosterior(PlainShares(self, rule.above_mode))

    def add_separate(self, chunk: Chunk, categorical: Codes, numeric: Codes, out: Floats) -> None:
        for i, place in enumerate(categorical.tolist()):
            out[:, place] += self.log_table[int(self.offsets[i]) + chunk.codes[:, i].astype(np.intp)]

    def explain(self, chunk: Chunk, page: Workings) -> None:
        page.add_tables(self)

    def log_prior(self, mean: Floats, alpha: float) -> float:
        if self.counted is None:
            return alpha * float(self.log_table.sum())
        mass = np.broadcast_to(self._imaginary(self.counted)[:, None], self.log_table.shape)
        # 0 log 0 is 0.
        return float((mass * np.where(mass > 0.0, self.log_table, 0.0)).sum())

    def _imaginary(self, counted: CountedTables) -> Floats:
        """Return the imaginary count of every row of the log-table: states, then missing, then unseen."""
        mass = np.zeros(len(self.log_table))
        for j in range(len(counted.prior)):
            begin, end = int(counted.offsets[j]), int(counted.offsets[j + 1])
            into, last = int(self.offsets[j]), int(self.offsets[j + 1]) - 1
            mass[into:last] = counted.imaginary[begin:end]
            mass[last] = counted.prior[j] - counted.imaginary[begin:end].sum()
        return mass

    @property
    def _states(self) -> list[slice]:
        """Return the rows of the states of each attribute, including missing if it is a state."""
        ends = self.offsets.astype(np.intp).tolist()
        # The rows of missing and unseen are zero (a factor of one) unless they are states.
        return [
            slice(start, stop - 1 if self.log_table[stop - 2].any() else stop - 2)
            for start, stop in pairwise(ends)
        ]

    def describe(self, page: Profiles) -> None:
        for j in range(len(self.offsets) - 1):
            page.add_table(j, self.probabilities(j).T)
            missing = self.log_table[int(self.offsets[j + 1]) - 2]
            if missing.any():
                page.add_missing("categorical", j, np.exp(missing))

    def by_class(self) -> list[Floats]:
        return [np.exp(self.log_table)]

    def n_free(self) -> int:
        return sum(max(rows.stop - rows.start - 1, 0) for rows in self._states)

    def flat(self, pooled: Moments | None) -> list[Floats]:
        return [self.log_table]

    def unflat(self, take: Callable[[tuple[int, ...]], Floats], pooled: Moments | None) -> Self:
        """Return the conditional with each table normalised over its states, including missing if it is a state."""
        table = take(self.log_table.shape).copy()
        for rows in self._states:
            if rows.stop > rows.start:
                table[rows] = log_normalised(table[rows])
        return self.moved(log_table=table)

    def write_tables(self, tables: LatentTables, exponent: NDArray[np.int64]) -> bool:
        """Write states and missing, without the rows of unseen values."""
        keep = np.ones(len(self.log_table), dtype=bool)
        keep[self.offsets[1:].astype(np.intp) - 1] = False
        tables.table[:, : self.log_table.shape[1]] = self.log_table[keep]
        return True


def imaginary_counts(schema: Schema, smoothing: Smoothing) -> Floats:
    """Return the imaginary count of every state of every attribute, one after the other."""
    if isinstance(smoothing.default, Lidstone) and not smoothing.by_name:
        return np.full(int(schema.offsets[-1]) - len(schema.categorical), float(smoothing.default.alpha))
    cells = [smoothing.of(v).cells(v, schema.n_classes) for v in schema.categorical]
    return np.concatenate(cells) if cells else np.empty(0)


def estimate_tables(
    counts: Floats,
    schema: Schema,
    smoothing: Smoothing,
    *,
    missing: str = "ignore",
    unseen: str = "ignore",
    counts_low: Floats | None = None,
) -> TableConditional:
    """Estimate every table from the flat counts n(v, c) of shape (Σ(r + 1), K).

    ``counts_low`` is the low part of these double-doubles. It is only needed for leave-one-out.
    """
    sizes = np.array([v.size for v in schema.categorical], dtype=np.intp)
    d, k = len(sizes), counts.shape[1]
    offsets = np.concatenate([[0], np.cumsum(sizes + 2)]).astype(np.uintp)
    log_table = np.zeros((int(offsets[-1]), k))
    if d == 0:
        return TableConditional(log_table, offsets)
    owner = np.repeat(np.arange(d), sizes)
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    from_rows = schema.offsets[owner].astype(np.intp) + within
    spare_rows = schema.offsets[1:].astype(np.intp) - 1
    real = counts[from_rows]
    imaginary = imaginary_counts(schema, smoothing)
    weight = _sum_by(owner, real, d)
    prior_weight = np.bincount(owner, weights=imaginary, minlength=d)
    one_more = _one_more(owner, imaginary, schema, smoothing)
    extra = one_more if unseen == "smooth" else np.zeros(d)
    is_state = counts[spare_rows].sum(axis=1) > 0 if missing == "state" else np.zeros(d, dtype=bool)
    spare = np.where(is_state[:, None], counts[spare_rows], 0.0)
    spare_prior = np.where(is_state, one_more, 0.0)
    prior = prior_weight + extra + spare_prior
    total = weight + spare + prior[:, None]
    empty = total <= 0  # without rows and without a prior, all states are equally probable
    total[empty] = 1.0
    with np.errstate(divide="ignore"):
        share = (real + imaginary[:, None]) / total[owner]
        share = np.where(empty[owner], 1.0 / np.maximum(sizes, 1)[owner][:, None], share)
        log_table[offsets[owner].astype(np.intp) + within] = np.log(share)
        spare_share = np.where(is_state[:, None] & ~empty, (spare + spare_prior[:, None]) / total, 1.0)
        log_table[offsets[1:].astype(np.intp) - 2] = np.log(spare_share)
        extra_share = np.where((extra > 0)[:, None] & ~empty, extra[:, None] / total, 1.0)
        log_table[offsets[1:].astype(np.intp) - 1] = np.log(extra_share)
    flat = np.zeros(len(counts))
    flat[from_rows], flat[spare_rows] = imaginary, spare_prior
    counted = CountedTables(counts, counts_low, schema.offsets, flat, prior, is_state)
    return TableConditional(log_table, offsets, counted)


def _sum_by(owner: NDArray[np.intp], rows: Floats, d: int) -> Floats:
    sums = np.zeros((d, rows.shape[1]))
    np.add.at(sums, owner, rows)
    return sums


def _one_more(owner: NDArray[np.intp], imaginary: Floats, schema: Schema, smoothing: Smoothing) -> Floats:
    """Return the imaginary count of an additional state of each attribute; see `one_more_cell`."""
    sizes = np.array([v.size for v in schema.categorical])
    means = np.bincount(owner, weights=imaginary, minlength=len(sizes)) / np.maximum(sizes, 1)
    for j in np.flatnonzero(sizes == 0).tolist():
        variable = schema.categorical[j]
        means[j] = one_more_cell(smoothing.of(variable), variable, schema.n_classes)
    return np.asarray(means)
