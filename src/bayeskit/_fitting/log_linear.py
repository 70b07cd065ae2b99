"""The log-linear composite: how counts of chosen sets of attributes, and rows, become its weights."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.class_prior import ClassPrior, class_factors, log_normalise
from bayeskit._conditionals.conditional import Conditional
from bayeskit._conditionals.interaction_terms import InteractionTerms, used_codes
from bayeskit._conditionals.log_linear import LogLinearScore
from bayeskit._conditionals.log_linear_weights import (
    FEW_ROWS,
    LEAST_ON_FEW,
    PATH,
    RowLosses,
    Weights,
    choose_weights,
    is_worse,
)
from bayeskit._counting.backend import count
from bayeskit._counting.count_interactions import add_counts
from bayeskit._data.encoded import Chunk
from bayeskit._fitting.choose_cuts import Views
from bayeskit._fitting.choose_interactions import Choice, Names
from bayeskit._fitting.long_runs import never
from bayeskit._fitting.model import ModelForm, ModelSpec, class_prior_of, estimate, weighted_classes
from bayeskit._fitting.naive import Sampling, sample_chunk
from bayeskit._schema import Name, Schema
from bayeskit._statistics.row_sample import RowSample, content_numbers
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Pattern, Plan
from bayeskit.typing import Floats

# Parts of the rows that are left out of triples one after the other.
_FOLDS = 10
# Rows below which approximate leave-one-out is too hopeful, and the folds that then answer for each other.
FEW_TO_JUDGE, _JUDGED_BY = 1_500, 5


@dataclass(frozen=True)
class LogLinear(ModelForm):
    """A log-linear model of the class over chosen sets of attributes; its weights follow from counts and a sample.

    Attributes
    ----------
    axes, tables : what is counted, see :class:`~bayeskit._statistics.interactions.Interactions`
    names : tuple of the attributes of each term
    term_starts : tuple of the first table of each term, and the end
    strengths : c₁, c₂, c₃
    n_rows : int
        The most rows of the sample that chooses the weights.
    penalty : float or None
        λ; None where it is to be chosen.
    weights : Weights or None
        None where they are still to be chosen.
    """

    axes: tuple[tuple[Any, ...], ...]
    tables: tuple[tuple[int, ...], ...]
    names: tuple[Names, ...]
    term_starts: tuple[int, ...]
    strengths: tuple[float, float, float]
    n_rows: int
    penalty: float | None = None
    weights: Weights | None = None

    def plan(self, schema: Schema, spec: ModelSpec) -> Plan:
        interactions = Pattern("interactions", (self.axes, self.tables))
        return Plan((*Plan.naive(schema).patterns, interactions, Pattern("row_sample", (self.n_rows,))))

    def settled(self, statistics: Statistics, spec: ModelSpec) -> LogLinear:
        if self.weights is not None:
            return self
        sample: Any = statistics.parts["row_sample"]
        known = _SETTLED.get(sample)
        if known is None or known[0] is not statistics.parts["interactions"] or known[1] != (self, spec):
            known = statistics.parts["interactions"], (self, spec), self._chosen(statistics, spec)
            _SETTLED[sample] = known
        return replace(self, weights=known[2])

    def conditionals(
        self, statistics: Statistics, spec: ModelSpec, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        weights = self.settled(statistics, spec).weights
        assert weights is not None
        return (LogLinearScore(self.terms(statistics, spec), self.names, weights),)

    def terms(self, statistics: Statistics, spec: ModelSpec) -> InteractionTerms:
        """Return the terms, from statistics whose class weights are already applied."""
        counts: Any = statistics.parts["interactions"]
        starts, strengths = np.array(self.term_starts, dtype=np.int64), np.array(self.strengths)
        used = used_codes(counts, spec.missing)
        return InteractionTerms.of_counts(statistics.schema, counts, starts, strengths, used)

    @property
    def kinds(self) -> NDArray[np.int64]:
        """0, 1 or 2 for each term of one, two or three attributes."""
        return np.array([len(names) - 1 for names in self.names], dtype=np.int64)

    def losses(self, statistics: Statistics, spec: ModelSpec, sample: RowSample) -> RowLosses:
        """Return the losses of rows that were counted, each left out of the counts, as a function of weights.

        Cells of three attributes have so few rows that the true class, one row short, can be recognised by that alone.
        So a tenth of the rows is left out of them at a time, stratified by class. A state that no other row has says
        nothing, as it says nothing of a new row.
        """
        schema, chunk = statistics.schema, sample_chunk(sample, statistics.schema)
        terms = self.terms(statistics, spec)
        first = int((self.kinds < 2).sum())
        unseen = only_here(statistics, chunk, sample.own)
        found = np.empty((terms.n_terms, chunk.n_rows, schema.n_classes))
        found[:first] = terms.some(0, first).left_out(chunk, sample.own, unseen).of(slice(0, chunk.n_rows))
        if first < terms.n_terms:
            threes = terms.some(first, terms.n_terms)
            codes, fold = terms.axes.codes(chunk, slice(0, chunk.n_rows)), folds_of(chunk, schema, _FOLDS)
            for rows in (np.flatnonzero(fold == f) for f in range(_FOLDS)):
                some, counted = np.take(codes, rows, axis=1), np.zeros_like(threes.counts.counts)
                add_counts(some, sample.target[rows], sample.weight[rows], threes.counts, counted)
                found[first:, rows] = threes.without(counted).of_codes(some)
            found[first:][threes.silent(unseen)] = 0.0
        prior = class_prior_of(statistics, spec).log_left_out(sample.target, sample.own)
        return RowLosses.of(found, prior, sample.target, sample.weight)

    def _chosen(self, statistics: Statistics, spec: ModelSpec) -> Weights:
        sample: Any = statistics.parts["row_sample"]
        k = statistics.schema.n_classes
        if k < 2 or not self.names or not len(sample.weight):
            return Weights.none(len(self.names), k)
        losses = self.losses(statistics, spec, sample)
        own, simple = sample.own, self.kinds < 2
        path = self._path(float((sample.weight / own).sum()))
        plain = choose_weights(losses.some(simple), self.kinds[simple], own, path)
        if not simple.all():
            near = tuple(s for s in path if 0.3 * plain.penalty <= s <= 11.0 * plain.penalty)
            fuller = choose_weights(losses, self.kinds, own, near)
            if is_worse(plain.left_out, fuller.left_out, losses.weights, own):
                return fuller
        return plain.among(simple)

    def _path(self, n_rows: float) -> tuple[float, ...]:
        if self.penalty is not None:
            return (self.penalty,)
        return tuple(s for s in PATH if n_rows >= FEW_ROWS or s >= LEAST_ON_FEW)


# Weights by the sample that they were chosen by, as long as that is there: leave-one-out asks for them once more.
_SETTLED: WeakKeyDictionary[Any, tuple[Any, Any, Weights]] = WeakKeyDictionary()


def left_out_twice(statistics: Statistics, spec: ModelSpec, score: LogLinearScore, chunk: Chunk) -> Floats:
    """Return log P(c | x) of rows that were counted, each left out of counts and, to first order, weights."""
    schema = statistics.schema
    factors = class_factors(spec.class_weight, statistics.class_counts, schema.target)
    assert chunk.target is not None
    own = chunk.row_weights if factors is None else chunk.row_weights * factors[chunk.target]
    weighted = weighted_classes(statistics, spec)
    prior = class_prior_of(weighted, spec).log_left_out(chunk.target, own)
    sample: Any = statistics.parts["row_sample"]
    had_a_part = sample.holds(schema, chunk.codes, chunk.values)
    unseen = only_here(weighted, chunk, own)
    return score.approximate_left_out(chunk, own, prior, had_a_part, unseen)


def only_here(statistics: Statistics, chunk: Chunk, own: Floats) -> NDArray[np.bool_]:
    """Return which states of counted rows no other row has, so that they are unseen without it: shape (n, categorical).

    Otherwise a column that names the rows would have a weight: of the same few cells, those of the true class are one
    row short, and a small class has the larger shares. Neither is so in a new row, whose name is unseen.
    """
    out = np.zeros(chunk.codes.shape, dtype=bool)
    for j, variable in enumerate(statistics.schema.categorical):
        n = np.append(statistics.table(variable.name).sum(axis=1), np.inf)  # missing comes last
        n[: variable.n_declared] = np.inf  # stays without rows
        out[:, j] = n[np.minimum(chunk.codes[:, j], variable.size)] <= own * (1.0 + 1e-9)
    return out


def folds_of(rows: Chunk, schema: Schema, n_folds: int) -> NDArray[np.int64]:
    """Part rows into folds that are alike in all classes; what a row holds decides on its fold, not where it stands."""
    assert rows.target is not None
    fold = np.empty(rows.n_rows, dtype=np.int64)
    numbers = content_numbers(schema, rows.codes, rows.values)
    for c in range(schema.n_classes):
        of_class = np.flatnonzero(rows.target == c)
        ranked = of_class[np.argsort(numbers[of_class], kind="stable")]
        # Small classes shall not all begin with the same fold; the order of the classes has no part in it either.
        first = int(numbers[ranked[0]]) if len(ranked) else 0
        fold[ranked] = (first + np.arange(len(ranked))) % n_folds
    return fold


def log_out_of_fold(
    rows: Chunk,
    schema: Schema,
    spec: ModelSpec,
    choose: Callable[[Statistics], ModelForm],
    is_over: Callable[[], bool] = never,
) -> Floats | None:
    """Return log P(c | x) of each row by a model whose form, counts and weights the other folds have chosen.

    Parameters
    ----------
    choose : callable
        From statistics of :class:`Sampling` to a form.
    is_over : callable
        Called before each fold; if it returns True, the result is None.
    """
    fold = folds_of(rows, schema, _JUDGED_BY)
    out = np.empty((rows.n_rows, schema.n_classes))
    for f in range(_JUDGED_BY):
        if is_over():
            return None
        learn, judge = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        if len(judge):
            others = rows.take(learn)
            form = choose(count(others, schema, Sampling().plan(schema, spec)))
            own = replace(spec, form=form)
            # Moments of numbers are counted for those who ask for them; the answers need only the tables.
            needed = tuple(p for p in form.plan(schema, own).patterns if p.kind != "moments")
            model = estimate(count(others, schema, Plan(needed)), own)
            joint = model.joint_chunk(rows.take(judge))
            log_normalise(joint, model.log_prior)
            out[judge] = joint
    return out


def form_of(
    choice: Choice, schema: Schema, strengths: tuple[float, float, float], penalty: float | None
) -> LogLinear:
    """Lay out the tables of the terms that were chosen."""
    places: dict[tuple[Any, ...], int] = {}
    tables: list[tuple[int, ...]] = []
    names: list[Names] = []
    starts = [0]
    views, coarse = Views(choice.views), Views(choice.coarse_views)
    singles = tuple((name,) for name in choice.attributes)
    for group, cut in ((singles + choice.pairs, views), (choice.triples, coarse)):
        # The place of each attribute's axis in each view: hashing an axis, which holds its cut points, takes long.
        known: dict[Name, list[int]] = {}
        for term in group:
            if any(name not in known for name in term):
                axes = [_axes_of(name, cut) for name in term]
                for in_view in zip(*axes, strict=True):
                    for axis in in_view:
                        places.setdefault(axis, len(places))
                known.update(
                    {name: [places[axis] for axis in of] for name, of in zip(term, axes, strict=True)}
                )
            # A set of which nothing is cut is the same in each view.
            is_cut = any(schema[name].kind == "numeric" for name in term)
            tables += itertools.islice(zip(*map(known.get, term), strict=True), None if is_cut else 1)
            names.append(tuple(term))
            starts.append(len(tables))
    return LogLinear(
        tuple(places), tuple(tables), tuple(names), tuple(starts), strengths, choice.n_rows, penalty
    )


def _axes_of(name: Name, views: Views) -> list[tuple[Any, ...]]:
    """List the axis of an attribute in each view."""
    return [(name, *cuts.get(name, ())) for cuts in views.cuts]
