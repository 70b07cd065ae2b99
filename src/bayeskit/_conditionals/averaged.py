r"""Averaged one-dependence estimators (AODE): each attribute in turn is the super-parent.

.. math:: P(c, x) \propto \sum_{i \in S} P(c, x_i) \prod_{j \ne i} P(x_j \mid c, x_i)

where S are the present attributes whose value was counted at least ``min_count`` times. Divided by |S|, this is a
distribution of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.cell_gaussian import draw_children
from bayeskit._conditionals.class_prior import ClassPrior
from bayeskit._conditionals.conditional import (
    Codes,
    Conditional,
    DrawnRows,
    DrawRule,
    ParameterPosterior,
    Workings,
    no_formula,
)
from bayeskit._conditionals.kernels.averaged_scores import (
    information_left_out,
    leave_general,
    score_left_out,
    score_parents,
    sum_parents,
)
from bayeskit._conditionals.one_parent import OneParent
from bayeskit._conditionals.pair_cells import PairCells, fill_averaged
from bayeskit._conditionals.scoring import Average, Normals, Score, Sum, constant
from bayeskit._data.encoded import Chunk
from bayeskit._messages import Message
from bayeskit._schema import Schema, Variable
from bayeskit._statistics.information import class_information
from bayeskit._statistics.part import never_counted
from bayeskit._statistics.tables import Pairs
from bayeskit.errors import DataError, NotSupported
from bayeskit.priors import Smoothing, joint_cells
from bayeskit.typing import Floats

# The number of doubles in the scores of one block of rows, sized for the L2 cache.
_BLOCK = 2**15
_ROUNDING = 1e-12
# The maximum size in bytes of the counts of all pairs together with the table made from them.
LARGEST = 2**30


@dataclass(frozen=True, eq=False)
class SuperParentAverage(Conditional):
    """The logarithm of the sum of P(c, x) over super-parents.

    Attributes
    ----------
    cells : PairCells
    joint : array of shape (T,)
        The imaginary counts of P(c, x_i), the same in every class.
    min_count : float
    by_information : bool
        Weight each super-parent by I(X_i; Y).
    subsumption : float or None
        Leave out values that are implied by other values with at least this count.
    alone : conditionals
        The conditionals of naive Bayes, for rows without a super-parent.
    prior : ClassPrior
        P(c) for such rows.
    numeric : CellGaussian, optional
        The Gaussians of the numeric attributes, each given the class and the super-parent.
    """

    cells: PairCells
    joint: Floats
    min_count: float
    by_information: bool
    subsumption: float | None
    alone: Any
    prior: ClassPrior
    numeric: Any = None

    adds_prior = False

    @cached_property
    def starts(self) -> NDArray[np.uintp]:
        return np.concatenate([[0], np.cumsum(self.cells.real.astype(np.int64) + 3)]).astype(np.uintp)

    @cached_property
    def _padded(self) -> tuple[int, Floats]:
        k = self.cells.counts.shape[2]
        width = class_width(k)
        size = int(self.starts[-1])
        table = np.zeros((size, size, width))
        fill_averaged(self.cells, self.starts, table)
        return width, table.reshape(-1)

    @cached_property
    def joint_total(self) -> Floats:
        """The sum of the imaginary counts of P(c, x_i) over classes and states, including unseen if it has a share."""
        begin = self.cells.offsets[:-1].astype(np.intp)
        sums = np.add.reduceat(self.joint, begin) if len(begin) else self.joint
        sizes = np.maximum(self.cells.sizes.astype(np.float64), 1.0)
        return np.asarray(sums * np.maximum(self.cells.alike / sizes, 1.0) * self.cells.counts.shape[2])

    @cached_property
    def _first(self) -> tuple[Floats, NDArray[np.bool_]]:
        """log P(c, x_i) by code, and which codes may be super-parents."""
        cells = self.cells
        k = cells.counts.shape[2]
        first = np.zeros((int(self.starts[-1]), 4 * -(-k // 4)))
        eligible = np.zeros(len(first), dtype=np.bool_)
        rows = cells.first.sum(axis=1)
        for i, size in enumerate(cells.sizes.tolist()):
            g = np.arange(size) + int(cells.offsets[i])
            n = cells.counts[g, g]
            whole = rows[i] + self.joint_total[i]
            here = np.arange(size) + int(self.starts[i])
            with np.errstate(divide="ignore"):
                first[here, :k] = np.log((n + self.joint[g, None]) / whole) if whole > 0 else 0.0
            seen = n.sum(axis=1)
            eligible[here] = (seen >= self.min_count - 1e-9 * max(1.0, self.min_count)) & (seen > 0)
        return first, eligible

    @cached_property
    def log_weights(self) -> Floats:
        """log w_i of every super-parent: shape (1, d)."""
        if not self.by_information:
            return np.zeros((1, len(self.cells.sizes)))
        return _log_weights(class_information(*self._tables))[None, :]

    @cached_property
    def _tables(self) -> tuple[Floats, NDArray[np.intp]]:
        """n(v, c), with the spare cell of an attribute set to zero unless missing is a state; and the offsets."""
        cells, offsets = self.cells, self.cells.offsets.astype(np.intp)
        g = np.arange(len(cells.counts))
        counts = cells.counts[g, g]
        pieces, starts = [], [0]
        for i, size in enumerate(cells.sizes.tolist()):
            pieces += [counts[offsets[i] : offsets[i] + size], np.zeros((1, counts.shape[1]))]
            starts.append(starts[-1] + size + 1)
        return (np.concatenate(pieces) if pieces else counts), np.array(starts)

    def _blocks(self, n_rows: int) -> list[slice]:
        cells = max(1, len(self.cells.sizes) * self.cells.counts.shape[2])
        step = max(64, _BLOCK // cells)
        return [slice(a, min(a + step, n_rows)) for a in range(0, n_rows, step)]

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        d, k = len(self.cells.sizes), self.cells.counts.shape[2]
        width, table = self._padded
        first, eligible = self._first
        codes = self._without_general(chunk.codes, np.zeros(chunk.n_rows))
        places = np.empty(d, dtype=np.uintp)
        for rows in self._blocks(chunk.n_rows):
            scores = np.empty((rows.stop - rows.start, d, k))
            score_parents(codes[rows], self.starts, table, width, first, eligible, places, scores)
            part = chunk.take(rows)
            if self.numeric is not None:
                self.numeric.scores(part, scores)
            self._combine(part, scores, self.log_weights, None, out[rows])

    def scores(self, chunk: Chunk) -> Floats:
        """Return log P(c, x_i) + Σ_j log P(x_j | c, x_i) of every attribute i: (n, d, K). NaN if i is no super-parent.

        This is computed from the counts, for single rows that do not justify building the table of all pairs.
        """
        none = np.zeros(chunk.n_rows)
        codes = np.ascontiguousarray(self._without_general(chunk.codes, none))
        scores = np.empty((chunk.n_rows, len(self.cells.sizes), self.cells.counts.shape[2]))
        score_left_out(
            codes, np.zeros(chunk.n_rows, np.uint32), none, self.cells, self.joint, self.joint_total,
            float(self.min_count), np.empty(scores.shape[2]), scores,
        )  # fmt: skip
        if self.numeric is not None:
            self.numeric.scores(chunk, scores)
        return scores

    def log_given(self, codes: NDArray[Any], i: int) -> Floats:
        """Return log P(x_j | c, x_i) of all attributes j of one row, 0 for those left out: shape (d, K)."""
        width, table = self._padded
        places = self.starts[:-1].astype(np.intp) + codes.astype(np.intp)
        blocks = table.reshape(int(self.starts[-1]), -1, width)
        return np.asarray(blocks[places[i], places, : self.cells.counts.shape[2]])

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add the leave-one-out log P(c, x), with the weight ``own`` of each row removed from the counts."""
        codes = self._without_general(chunk.codes, own)
        for rows in self._blocks(chunk.n_rows):
            part = replace(chunk.take(rows), codes=np.ascontiguousarray(codes[rows]))
            scores = self.scores_left_out(part, own[rows])
            weights = self._weights_left_out(chunk.take(rows), own[rows])
            self._combine(chunk.take(rows), scores, weights, own[rows], out[rows])

    def scores_left_out(self, chunk: Chunk, own: Floats, *, given_class: bool = False) -> Floats:
        """Return the score of every super-parent, shape (n, d, K), with the weight ``own`` of each row left out.

        With ``given_class`` the first factor is P(x_i | c), not P(c, x_i).
        """
        scores = np.empty((chunk.n_rows, len(self.cells.sizes), self.cells.counts.shape[2]))
        totals = np.full(len(self.cells.sizes), -1.0) if given_class else self.joint_total
        least = score_left_out(
            chunk.codes, chunk.target, own, self.cells, self.joint, totals, float(self.min_count),
            np.empty(scores.shape[2]), scores,
        )  # fmt: skip
        if least < 0.0:
            raise never_counted(least)
        if self.numeric is not None:
            self.numeric.scores_left_out(chunk, own, scores)
        return scores

    def _weights_left_out(self, chunk: Chunk, own: Floats) -> Floats:
        if not self.by_information:
            return self.log_weights
        counts = self.cells.counts
        g = np.arange(len(counts))
        found = np.empty((chunk.n_rows, len(self.cells.sizes)))
        information_left_out(
            chunk.codes, chunk.target, own, np.ascontiguousarray(counts[g, g]), self.cells.offsets,
            self.cells.sizes, self.cells.first, found,
        )  # fmt: skip
        return _log_weights(found)

    def posterior(self, rule: DrawRule) -> ParameterPosterior:
        raise NotSupported(
            "{who} averages over models that share their counts, so it has no single posterior of tables",
            who=rule.who,
        )

    def sample_all(self, n: int, rng: np.random.Generator, given: int | None) -> DrawnRows | None:
        """Draw a super-parent i by its weight with P(c, x_i), then the others by P(x_j | c, x_i).

        Values that are too rare for a super-parent are drawn only as values of other attributes. If there are such
        values, the average does not sum to one, and this is an approximation. Return None if no value is frequent
        enough.
        """
        table, owner, state = _first_table(self)
        if given is not None:
            kept = np.zeros_like(table)
            kept[:, given] = table[:, given]
            table = kept
        if not table.sum() > 0.0:
            return None
        k = table.shape[1]
        flat = rng.choice(table.size, size=n, p=(table / table.sum()).ravel())
        place, classes = flat // k, (flat % k).astype(np.intp)
        parents = owner[place]
        codes = np.zeros((n, len(self.cells.sizes)), dtype=np.intp)
        for i in np.unique(parents).tolist():
            rows = np.flatnonzero(parents == i)
            codes[rows] = _draw_given(self, i, state[place[rows]], classes[rows], rng)
        values = np.empty((n, 0))
        if self.numeric is not None:
            values = draw_children(self.numeric, parents[:, None], classes, codes, rng)
        return DrawnRows(classes, codes, values)

    def explain(self, chunk: Chunk, page: Workings) -> None:
        page.add_average(self)

    def score(self) -> Score:
        if self.subsumption is not None:
            raise no_formula(Message("subsumption={value!r}", value=self.subsumption))
        cells, k = self.cells, self.cells.counts.shape[2]
        first, eligible = self._first
        width, table = self._padded
        blocks = table.reshape(len(eligible), len(eligible), width)[..., :k]
        real, starts = cells.real.astype(np.intp), self.starts[:-1].astype(np.intp)
        owner = np.repeat(np.arange(len(real)), real + 3)
        weights = self.log_weights[0]
        # Ignore the code for "left out", which comes after the code for unseen.
        kept = np.flatnonzero(np.arange(len(owner)) - starts[owner] < real[owner] + 2)
        speaks = np.flatnonzero(eligible & (weights > -np.inf)[owner])
        place = np.cumsum(np.isin(np.arange(len(owner)), kept)) - 1
        logs = blocks[np.ix_(speaks, kept)].copy()
        logs[np.arange(len(speaks)), place[speaks]] = first[speaks, :k] + weights[owner[speaks], None]
        offsets = np.concatenate([[0], np.cumsum(real + 2)]).astype(np.intp)
        normals = None
        if self.numeric is not None:
            of_cell = cells.offsets.astype(np.intp)[owner] + np.arange(len(owner)) - starts[owner]
            used = np.flatnonzero(self.numeric.used)
            parts = (np.swapaxes(part[of_cell[speaks]], 1, 2)[:, used] for part in self.numeric.in_units)
            normals = Normals(used, *parts)
        alone = Sum((constant(self.prior.log), *(conditional.score() for conditional in self.alone)))
        return Average(offsets, place[speaks][:, None], logs, normals, alone)

    def in_its_place(self) -> tuple[Conditional, ...]:
        return tuple(self.alone)

    def log_excess(self, chunk: Chunk) -> Floats:
        """Return the logarithm of Σ w_i over the super-parents of a row, by which the sum exceeds the average."""
        _, eligible = self._first
        places = self._without_general(chunk.codes, np.zeros(chunk.n_rows)) + self.starts[:-1]
        weight = eligible[places.astype(np.intp)] @ np.exp(self.log_weights[0])
        return np.asarray(np.log(np.where(weight > 0, weight, 1.0)))

    def _combine(
        self, chunk: Chunk, scores: Floats, weights: Floats, own: Floats | None, out: Floats
    ) -> None:
        alone = np.zeros(chunk.n_rows, dtype=np.bool_)
        if not sum_parents(scores, weights, len(weights) > 1, out, alone):
            return
        rest = np.flatnonzero(alone)
        part = chunk.take(rest)
        found = np.zeros((len(rest), out.shape[1]))
        if own is None:
            found += self.prior.log
            for conditional in self.alone:
                conditional.add_log_prob(part, found)
        else:
            assert part.target is not None
            found += self.prior.log_left_out(part.target, own[rest])
            for conditional in self.alone:
                conditional.add_left_out(part, own[rest], found)
        out[rest] += found

    def _without_general(self, codes: Codes, own: Floats) -> Any:
        if self.subsumption is None:
            return codes
        gone = self.cells.real + np.uintp(2)
        left = np.empty(codes.shape, dtype=codes.dtype if int(gone.max(initial=0)) < 256 else np.uint32)
        leave_general(
            codes, own, self._sums, self.cells.offsets, self.cells.sizes, float(self.subsumption), gone, left
        )
        return left

    @cached_property
    def _sums(self) -> Floats:
        return np.ascontiguousarray(self.cells.counts.sum(axis=2))


def _first_table(averaged: SuperParentAverage) -> tuple[Floats, Codes, Codes]:
    """Return w_i P(c, x_i) of every state (states, K), and the attribute and the code of each."""
    cells = averaged.cells
    sizes = cells.sizes.astype(np.intp)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    state = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    g = cells.offsets.astype(np.intp)[owner] + state
    counts = cells.counts[g, g]
    whole = cells.first.sum(axis=1) + averaged.joint_total
    table = (counts + averaged.joint[g, None]) / np.maximum(whole, 1e-300)[owner, None]
    seen = counts.sum(axis=1)
    least = averaged.min_count - 1e-9 * max(1.0, averaged.min_count)
    table[(seen < least) | (seen <= 0.0)] = 0.0
    return table * np.exp(averaged.log_weights[0])[owner, None], owner, state


def _draw_given(
    averaged: SuperParentAverage, i: int, x: Codes, classes: Codes, rng: np.random.Generator
) -> Codes:
    """Draw all attributes given the class and x_i."""
    cells = averaged.cells
    parents = np.full(len(cells.sizes), i, dtype=np.int64)
    parents[i] = -1
    others = OneParent(cells, parents)
    codes = np.zeros((len(x), len(parents)), dtype=np.intp)
    codes[:, i] = x
    for j in np.flatnonzero((parents >= 0) & (cells.sizes > 0)).tolist():
        cumulative = np.cumsum(others.probabilities(j), axis=1)[x, :, classes]
        draw = rng.random(len(x)) * cumulative[:, -1]
        codes[:, j] = (draw[:, None] >= cumulative[:, :-1]).sum(axis=1)
    return codes


def class_width(n_classes: int) -> int:
    """Return the number of classes in the table, padded to the width of the kernel."""
    return 2 if n_classes <= 2 else 4 * -(-n_classes // 4)


def memory(schema: Schema) -> int:
    """Return the size in bytes of the counts of all pairs and the table made from them."""
    codes = sum(v.size + 3 for v in schema.categorical)
    return Pairs.memory(schema) + 8 * class_width(schema.n_classes) * codes**2


def fits(schema: Schema) -> bool:
    """Return whether the counts of all pairs and the table made from them may be held in memory."""
    return Pairs.fits(schema) and memory(schema) <= LARGEST


def check_memory(schema: Schema) -> None:
    """Raise an error if the counts and the table do not fit into memory, before they are allocated."""
    sizes, needed = [v.size for v in schema.categorical], memory(schema)
    if needed > LARGEST:
        raise DataError(
            "An average over {n} attributes with {sizes} states together in {n_classes} "
            "classes takes {needed:.3g} GiB, and {largest:.3g} GiB are allowed. Leave attributes out, "
            'join rare states, treat numbers as numbers (numeric="gaussian"), or use TAN, KDB or AutoBayes.',
            n=len(sizes),
            sizes=sum(sizes),
            n_classes=schema.n_classes,
            needed=needed / 2**30,
            largest=LARGEST / 2**30,
        )


def joint_mass(cells: PairCells, schema: Schema, smoothing: Smoothing) -> Floats:
    """Return the imaginary counts of P(c, x_i) for every state, spare cells included: shape (T,)."""
    mass = np.zeros(len(cells.mass))
    for i, variable in enumerate(schema.categorical):
        found = joint_cells(smoothing.of(variable), [variable], schema.n_classes)
        start, size = int(cells.offsets[i]), variable.size
        mass[start : start + size] = found
        if cells.sizes[i] > size:
            one = variable if size else Variable(variable.name, "categorical", (variable.name,))
            mass[start + size] = float(joint_cells(smoothing.of(variable), [one], schema.n_classes).mean())
    return mass


def _log_weights(information: Floats) -> Floats:
    """Return the logarithms of the weights; they are equal if no attribute is informative."""
    # Information below the rounding error is zero.
    information = np.where(information > _ROUNDING, information, 0.0)
    with np.errstate(divide="ignore"):
        logs = np.log(information)
    useless = ~(information > 0).any(axis=-1, keepdims=True)
    return np.where(useless, 0.0, logs)
