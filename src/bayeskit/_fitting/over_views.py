r"""The average of any form over views: several sets of cut points of the numeric attributes, each with its own model.

.. math:: \log P(c \mid x) = \frac{1}{R} \sum_v \log P_v(c \mid x) + \text{const}

The plan of the form lists the tables that each view needs. All are counted in one pass. Tables of categorical
attributes are counted once for all views.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit._conditionals.class_prior import ClassPrior, log_normalise
from bayeskit._conditionals.conditional import Conditional, refuse_infinite
from bayeskit._counting.backend import count
from bayeskit._counting.count_interactions import Axes
from bayeskit._data.encoded import Chunk
from bayeskit._data.reading import cut_variable
from bayeskit._fitting.choose_cuts import Views, draw_views, kinds_of
from bayeskit._fitting.leave_one_out import log_posterior, look_up
from bayeskit._fitting.model import Model, ModelForm, ModelSpec, estimate
from bayeskit._fitting.sampled_rows import sample_chunk
from bayeskit._schema import Name, Schema
from bayeskit._statistics.interactions import Interactions
from bayeskit._statistics.part import CellTable
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Pattern, Plan, Term
from bayeskit.typing import Floats

Cuts = dict[Name, tuple[float, ...]]


@dataclass(frozen=True)
class OverViews(ModelForm):
    """The form whose log-posterior is the mean of the log-posteriors of all views.

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
