"""Averages over super-parents (AODE and A2DE), and the choice of a single super-parent (SPODE)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayeskit._conditionals.averaged import SuperParentAverage, check_memory, joint_mass
from bayeskit._conditionals.cell_gaussian import ChildGaussians
from bayeskit._conditionals.class_prior import ClassPrior, class_factors
from bayeskit._conditionals.conditional import Conditional
from bayeskit._conditionals.one_parent import OneParent
from bayeskit._conditionals.pair_cells import pair_cells
from bayeskit._conditionals.two_parents import estimate_two_parents
from bayeskit._counting.backend import count
from bayeskit._data.encoded import Chunk
from bayeskit._fitting.model import ModelForm, ModelSpec, class_prior_of, weighted_classes
from bayeskit._fitting.naive import Naive, presence_conditionals
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
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Pattern, Plan
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
