"""Averages over super-parents (AODE, A2DE), the choice of a single one (SPODE), and averages over views."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit._conditionals.averaged import SuperParentAverage, check_memory, joint_mass
from bayeskit._conditionals.cell_gaussian import ChildGaussians
from bayeskit._conditionals.class_prior import ClassPrior, class_factors, log_normalise
from bayeskit._conditionals.conditional import Conditional, refuse_infinite
from bayeskit._conditionals.one_parent import OneParent
from bayeskit._conditionals.pair_cells import pair_cells
from bayeskit._conditionals.two_parents import estimate_two_parents
from bayeskit._counting.backend import count
from bayeskit._counting.count_interactions import Axes
from bayeskit._data.encoded import Chunk
from bayeskit._data.reading import cut_variable
from bayeskit._fitting.choose_cuts import Views, draw_views, kinds_of
from bayeskit._fitting.leave_one_out import log_posterior, look_up
from bayeskit._fitting.model import Model, ModelForm, ModelSpec, class_prior_of, estimate, weighted_classes
from bayeskit._fitting.naive import Naive, presence_conditionals, sample_chunk
from bayeskit._fitting.with_parents import (
    Constants,
    OneDependence,
    cell_gaussian,
    numeric_places,
    pair_constants,
    pairs_plan,
    with_numeric,
)
from bayeskit._graphs.dag import Dag
from bayeskit._schema import Name, Schema
from bayeskit._statistics.interactions import Interactions
from bayeskit._statistics.part import CellTable
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Pattern, Plan, Term
from bayeskit.typing import Floats


@dataclass(frozen=True)
class Averaging(ModelForm):
    """An average over super-parents.

    Attributes
    ----------
    min_count : float
        The minimum count of a value for its attribute to be a super-parent.
    by_information : bool
        Weight super-parents by I(X_i; Y).
    subsumption : float or None
    constants : back-off constants, or None if they are not chosen yet
    """

    min_count: float = 1.0
    by_information: bool = False
    subsumption: float | None = None
    constants: Constants | None = None

    def plan(self, schema: Schema, spec: ModelSpec) -> Plan:
        if schema.categorical:
            check_memory(schema)
        return pairs_plan(schema)

    def settled(self, statistics: Statistics, spec: ModelSpec) -> ModelForm:
        if not statistics.schema.categorical:
            return Naive()
        if self.constants is not None:
            return self
        d = len(statistics.schema.categorical)
        families = [(j, i) for j in range(d) for i in range(d) if i != j] or [(0, -1)]
        return replace(self, constants=pair_constants(statistics, spec, families))

    def conditionals(
        self, statistics: Statistics, spec: ModelSpec, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        settled = self.settled(statistics, spec)
        if not isinstance(settled, Averaging):
            return settled.conditionals(statistics, spec, prior)
        averaged = settled.discrete(statistics, spec, prior)
        if not statistics.schema.numeric:
            return (averaged,)
        gaussian = cell_gaussian(statistics, spec)
        nobody = np.full(len(statistics.schema.numeric), -1, dtype=np.int64)
        alone = (*averaged.alone, ChildGaussians(gaussian, nobody))
        averaged = replace(averaged, alone=alone, numeric=gaussian)
        return (averaged, *presence_conditionals(statistics, spec))

    def discrete(self, statistics: Statistics, spec: ModelSpec, prior: ClassPrior) -> SuperParentAverage:
        """Estimate the average over the categorical attributes only."""
        schema = statistics.schema
        pairs: Any = statistics.parts["pairs"]
        cells = pair_cells(
            pairs, schema, spec.smoothing, self.constants, missing=spec.missing, unseen=spec.unseen
        )
        nobody = np.full(len(schema.categorical), -1, dtype=np.int64)
        return SuperParentAverage(
            cells,
            joint_mass(cells, schema, spec.smoothing),
            self.min_count,
            self.by_information,
            self.subsumption,
            (OneParent(cells, nobody),),
            prior,
        )


@dataclass(frozen=True)
class TwoDependence(ModelForm):
    """An average over pairs of super-parents. AODE predicts the rows in which no pair qualifies.

    Attributes
    ----------
    super_parents : names
    min_count : float
        The minimum joint count of two values for their attributes to be super-parents.
    numeric : Dag or None
        The parents of numeric attributes. None: they are derived from the counts.
    """

    super_parents: tuple[Name, ...]
    min_count: float = 1.0
    numeric: Dag | None = None

    def plan(self, schema: Schema, spec: ModelSpec) -> Plan:
        plan = pairs_plan(schema)
        if not self._applies(schema):
            return plan
        return Plan((*plan.patterns, Pattern("triples", self.super_parents)))

    def _applies(self, schema: Schema) -> bool:
        return len(schema.categorical) > 1 and len(self.super_parents) > 1

    def settled(self, statistics: Statistics, spec: ModelSpec) -> ModelForm:
        schema = statistics.schema
        if not self._applies(schema):
            return Averaging(self.min_count).settled(statistics, spec)
        if self.numeric is not None or not schema.numeric:
            return self
        alone = Dag.of({}, (v.name for v in schema.categorical))
        return replace(self, numeric=with_numeric(alone, statistics))

    def conditionals(
        self, statistics: Statistics, spec: ModelSpec, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        settled = self.settled(statistics, spec)
        if not isinstance(settled, TwoDependence):
            return settled.conditionals(statistics, spec, prior)
        schema = statistics.schema
        triples: Any = statistics.parts["triples"]
        fallback = Averaging(self.min_count).discrete(statistics, spec, prior)
        found: list[Any] = [
            estimate_two_parents(
                triples,
                schema,
                spec.smoothing,
                self.super_parents,
                fallback=fallback,
                min_count=self.min_count,
                missing=spec.missing,
                unseen=spec.unseen,
            )
        ]
        if settled.numeric is not None:
            found += presence_conditionals(statistics, spec)
            places = numeric_places(settled.numeric, schema)
            found.append(ChildGaussians(cell_gaussian(statistics, spec), places))
        return tuple(found)


FOLDS = 10


# The number of (row, super-parent) pairs in a block of rows.
_BLOCK = 2**17


def star(schema: Schema, super_parent: Name) -> Dag:
    """Return the graph in which one attribute is the parent of all others."""
    names = tuple(v.name for v in schema.attributes)
    return Dag(names, tuple(() if name == super_parent else (super_parent,) for name in names))


def losses_left_out(statistics: Statistics, spec: ModelSpec, chunks: Iterable[Chunk]) -> Floats:
    """Return the mean leave-one-out log-loss of every categorical attribute as the super-parent.

    A row of weight w counts as w rows of weight 1: min(w, 1) is left out of the counts, and its loss has weight w.
    """
    scored = _Scores(statistics, spec)
    loss, weight = np.zeros(len(statistics.schema.categorical)), 0.0
    for chunk in _blocks(chunks):
        own = np.minimum(chunk.row_weights, 1.0)
        loss += chunk.row_weights @ scored.losses(chunk, own)
        weight += float(chunk.row_weights.sum())
    return loss / max(weight, 1e-300)


def losses_by_folds(
    statistics: Statistics, spec: ModelSpec, chunks: Callable[[], Iterable[Chunk]], folds: int = FOLDS
) -> Floats:
    """Return the mean cross-validated log-loss of every categorical attribute as the super-parent.

    Row r belongs to fold r modulo ``folds``. The training counts of a fold are all counts minus those of the fold.
    """
    schema, plan = statistics.schema, statistics.plan
    loss, weight = np.zeros(len(schema.categorical)), 0.0
    for fold in range(folds):
        gone = Statistics.zero(schema, plan)
        for part in _fold(chunks(), fold, folds):
            gone = gone.merge(count(part, schema, plan))
        scored = _Scores(statistics.subtract(gone), spec)
        for part in _fold(chunks(), fold, folds):
            loss += part.row_weights @ scored.losses(part, np.zeros(part.n_rows))
            weight += float(part.row_weights.sum())
    return loss / max(weight, 1e-300)


class _Scores:
    """Log-losses of rows under every super-parent."""

    def __init__(self, statistics: Statistics, spec: ModelSpec) -> None:
        self.factors = class_factors(spec.class_weight, statistics.class_counts, statistics.schema.target)
        self.statistics = weighted_classes(statistics, spec)
        form = Averaging(min_count=-1.0).settled(self.statistics, spec)
        self.spec = replace(spec, form=form)
        self.prior: ClassPrior = class_prior_of(self.statistics, spec)
        found: Any = form.conditionals(self.statistics, self.spec, self.prior)
        self.averaged, self.others = found[0], found[1:]
        self.constants = getattr(form, "constants", None)

    def losses(self, chunk: Chunk, own: Floats) -> Floats:
        """Return −log P(y | x) of every row under every super-parent: shape (n, d)."""
        assert chunk.target is not None
        if self.factors is not None:
            own = own * self.factors[chunk.target]
        rows = np.arange(chunk.n_rows)
        prior = self.prior.log_left_out(chunk.target, own)
        scores = self.averaged.scores_left_out(chunk, own, given_class=True)
        for i in range(scores.shape[1]):
            # Sum over a missing super-parent.
            holes = np.flatnonzero(chunk.codes[:, i] >= self.averaged.cells.sizes[i])
            if len(holes):
                scores[holes, i] = self._summed(chunk.take(holes), own[holes], i)
        for other in self.others:
            more = np.zeros(prior.shape)
            other.add_left_out(chunk, own, more)
            scores += more[:, None, :]
        scores += prior[:, None, :]
        best = scores.max(axis=2, keepdims=True)
        nothing = ~np.isfinite(best)
        scores = np.where(nothing, prior[:, None, :], scores - np.where(nothing, 0.0, best))
        with np.errstate(divide="ignore"):
            evidence = np.log(np.exp(scores).sum(axis=2))
        # The loss of an impossible class is limited to −log of the smallest double.
        return np.asarray(np.minimum(evidence - scores[rows, :, chunk.target], 745.0))

    def _summed(self, chunk: Chunk, own: Floats, i: int) -> Floats:
        schema = self.statistics.schema
        form = OneDependence(star(schema, schema.categorical[i].name), self.constants)
        out = np.zeros((chunk.n_rows, schema.n_classes))
        for conditional in form.conditionals(self.statistics, self.spec, self.prior):
            if not any(type(conditional) is type(other) for other in self.others):
                conditional.add_left_out(chunk, own, out)
        return out


def _blocks(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    for chunk in chunks:
        step = max(16, _BLOCK // max(1, chunk.codes.shape[1]))
        for start in range(0, chunk.n_rows, step):
            yield chunk.take(slice(start, min(start + step, chunk.n_rows)))


def _fold(chunks: Iterable[Chunk], fold: int, folds: int) -> Iterator[Chunk]:
    seen = 0
    for chunk in chunks:
        rows: Any = np.arange((fold - seen) % folds, chunk.n_rows, folds)
        seen += chunk.n_rows
        if len(rows):
            yield from _blocks([chunk.take(rows)])


Cuts = dict[Name, tuple[float, ...]]


@dataclass(frozen=True)
class OverViews(ModelForm):
    r"""The average of any form over views: sets of cut points of the numeric attributes, each with its own model.

    .. math:: \log P(c \mid x) = \frac{1}{R} \sum_v \log P_v(c \mid x) + \text{const}

    The plan lists the tables that each view needs. All are counted in one pass. Tables of categorical attributes are
    counted once for all views.

    Attributes
    ----------
    views : Views
    forms : tuple of Form, one for each view
    """

    views: Views
    forms: tuple[ModelForm, ...]

    def plan(self, schema: Schema, spec: ModelSpec) -> Plan:
        axes: dict[tuple[Any, ...], int] = {}
        tables: dict[tuple[int, ...], None] = {}
        for view in self._in(schema):
            for _, table in view.tables(spec):
                tables[tuple(axes.setdefault(axis, len(axes)) for axis in table)] = None
        interactions = Pattern("interactions", (tuple(axes), tuple(tables)))
        return Plan((*Plan.naive(schema).patterns, interactions))

    def settled(self, statistics: Statistics, spec: ModelSpec) -> ModelForm:
        found = (
            view.form.settled(view.statistics(statistics, spec), view.spec(spec))
            for view in self._in(statistics.schema)
        )
        return replace(self, forms=tuple(found))

    def conditionals(
        self, statistics: Statistics, spec: ModelSpec, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        return (MeanOverViews(tuple(view.voter(statistics, spec) for view in self._in(statistics.schema))),)

    def _in(self, schema: Schema) -> Iterator[View]:
        for cuts, form in zip(self.views.cuts, self.forms, strict=True):
            yield View(schema, cuts, form)


@dataclass(frozen=True, eq=False)
class View:
    """One set of cut points of the numeric attributes of a schema, and the form of its model."""

    whole: Schema
    cuts: Cuts
    form: ModelForm

    @cached_property
    def schema(self) -> Schema:
        """The schema with intervals instead of numbers."""
        return self.whole.with_variables(
            cut_variable(v.name, self.cuts[v.name]) if v.kind == "numeric" else v
            for v in self.whole.attributes
        )

    def spec(self, spec: ModelSpec) -> ModelSpec:
        """Return the spec of the view's model, whose class weights are already applied."""
        return replace(spec, form=self.form, class_weight=None)

    def tables(self, spec: ModelSpec) -> Iterator[tuple[Term, tuple[tuple[Any, ...], ...]]]:
        """Yield the terms of attributes that the form needs, and the axes of each."""
        for term in self.form.plan(self.schema, self.spec(spec)).terms(self.schema):
            if len(term.cells) > 1:
                yield term, tuple((name, *self.cuts.get(name, ())) for name in term.cells[1:])

    def statistics(self, statistics: Statistics, spec: ModelSpec) -> Statistics:
        """Return the statistics that the form needs, from the tables of all views."""
        part: Any = statistics.parts["interactions"]
        pattern: Any = next(p for p in statistics.plan.patterns if p.kind == "interactions")
        axes, tables = pattern.attributes
        place = {tuple(axes[a] for a in table): t for t, table in enumerate(tables)}
        target = self.schema.target.name
        cells = [CellTable.of_array(Term((target,)), part.margin)]
        for term, table in self.tables(spec):
            cells.append(CellTable.of_array(term, np.moveaxis(part.table(place[table]), -1, 0)))
        plan = self.form.plan(self.schema, self.spec(spec))
        return Statistics.from_cell_tables(self.schema, plan, cells)

    def voter(self, statistics: Statistics, spec: ModelSpec) -> ViewVoter:
        counted, own = self.statistics(statistics, spec), self.spec(spec)
        return ViewVoter(self, counted, own, estimate(counted, own))

    @cached_property
    def _axes(self) -> Axes:
        axes = tuple((v.name, *self.cuts[v.name]) for v in self.whole.numeric)
        return Axes.of(Interactions.zero(self.whole, (axes, ())), self.whole)

    def of(self, chunk: Chunk) -> Chunk:
        """Return the rows with their numbers as intervals."""
        intervals = self._axes.codes(chunk, slice(0, chunk.n_rows))
        codes = np.empty((chunk.n_rows, len(self.schema.attributes)), dtype=self.schema.code_dtype)
        for kind, columns in (("numeric", intervals), ("categorical", chunk.codes.T)):
            places = [j for j, v in enumerate(self.whole.attributes) if v.kind == kind]
            for j, column in zip(places, columns, strict=True):
                codes[:, j] = column
        return replace(chunk, codes=codes, values=np.empty((chunk.n_rows, 0)))


@dataclass(frozen=True, eq=False)
class ViewVoter:
    """The model of one view, with its statistics and specification."""

    view: View
    statistics: Statistics
    spec: ModelSpec
    model: Model

    def log_posterior(self, chunk: Chunk) -> Floats:
        """Return log P(c | x) of each row."""
        joint = self.model.joint_chunk(self.view.of(chunk))
        log_normalise(joint, self.model.log_prior)
        return joint

    def log_left_out(self, chunk: Chunk, own: Floats) -> Floats:
        """Return the leave-one-out log P(c | x) of training rows."""
        scores = look_up(self.model, self.statistics, self.spec, self.view.of(chunk), own)
        return log_posterior(*scores)


@dataclass(frozen=True, eq=False)
class MeanOverViews(Conditional):
    """The mean of the log-posteriors of all views."""

    voters: tuple[ViewVoter, ...]

    adds_prior = False
    is_distribution = False

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        refuse_infinite(chunk)
        for voter in self.voters:
            out += voter.log_posterior(chunk) / len(self.voters)

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        for voter in self.voters:
            out += voter.log_left_out(chunk, own) / len(self.voters)


def draw_from_sample(statistics: Statistics, n_views: int, seed: int) -> Views:
    """Draw the cut points of views from a sample of rows."""
    sample: Any = statistics.parts["row_sample"]
    columns = {v.name: sample.values[:, j] for j, v in enumerate(statistics.schema.numeric)}
    kinds = kinds_of(statistics.total, n_views if columns else 1)
    return draw_views(columns, sample.weight, kinds, (seed, 0))


def single_counts(statistics: Statistics, cuts: Cuts, form: ModelForm) -> Statistics:
    """Return n(c) and n(v, c) of a sample of rows in one view."""
    sample: Any = statistics.parts["row_sample"]
    view = View(statistics.schema, cuts, form)
    return count(view.of(sample_chunk(sample, statistics.schema)), view.schema, Plan.naive(view.schema))
