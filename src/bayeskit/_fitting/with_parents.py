"""The form with several parents per attribute besides the class: kDB, and any given graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayeskit._conditionals.child_gaussians import ChildGaussians
from bayeskit._conditionals.class_prior import ClassPrior
from bayeskit._conditionals.conditional import Conditional
from bayeskit._conditionals.family_tries import estimate_families
from bayeskit._conditionals.kernels.trie_scores import BACK_OFF
from bayeskit._fitting.model import ModelForm, ModelSpec
from bayeskit._fitting.naive import Naive, presence_conditionals
from bayeskit._fitting.one_dependence import Constants, cell_gaussian, numeric_places
from bayeskit._graphs.dag import Dag
from bayeskit._schema import Name, Schema
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Pattern, Plan


@dataclass(frozen=True)
class WithParents(ModelForm):
    """The form of a given graph: P(c) ∏ P(x_j | c, parents of x_j).

    Attributes
    ----------
    dag : Dag
        The graph over the attributes that the model uses. A numeric attribute has at most one parent and is never a
        parent. Back-off drops the last parent first.
    constants : back-off constants of the levels, or None if they are not chosen yet
    """

    dag: Dag
    constants: Constants | None = None

    def plan(self, schema: Schema, spec: ModelSpec) -> Plan:
        """Return the counts to take: each attribute with its parents and the class."""
        if not schema.categorical:
            return Plan.naive(schema)
        families = self._families(schema)
        numeric = tuple(v.name for v in schema.numeric)
        extra = (Pattern("cell_moments", numeric),) if numeric else ()
        return Plan((*Plan.naive(schema).patterns, Pattern("families", families), *extra))

    def graph(self, statistics: Statistics) -> Dag:
        return self.dag

    def settled(self, statistics: Statistics, spec: ModelSpec) -> ModelForm:
        if not statistics.schema.categorical:
            return Naive()
        if self.constants is not None:
            return self
        return replace(self, constants=settled_constants(self._tries(statistics, spec)))

    def conditionals(
        self, statistics: Statistics, spec: ModelSpec, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        schema = statistics.schema
        if not schema.categorical:
            return Naive().conditionals(statistics, spec, prior)
        found: list[Any] = [self._tries(statistics, spec)]
        if schema.numeric:
            found += presence_conditionals(statistics, spec)
            places = numeric_places(self.dag, schema)
            found.append(ChildGaussians(cell_gaussian(statistics, spec), places))
        return tuple(found)

    def _families(self, schema: Schema) -> tuple[tuple[Name, ...], ...]:
        discrete = {v.name for v in schema.categorical}
        pairs = zip(self.dag.nodes, self.dag.parents, strict=True)
        return tuple((node, *parents) for node, parents in pairs if node in discrete)

    def _tries(self, statistics: Statistics, spec: ModelSpec) -> Any:
        families: Any = statistics.parts["families"]
        counted = next(p.attributes for p in statistics.plan.patterns if p.kind == "families")
        mine = self._families(statistics.schema)
        if counted != mine:
            # The statistics may contain other families, too.
            families = families.chosen([counted.index(family) for family in mine])
        return estimate_families(
            families,
            statistics.schema,
            spec.smoothing,
            constants=None if self.constants is None else np.asarray(self.constants),
            missing=spec.missing,
            unseen=spec.unseen,
        )


def settled_constants(tries: Any) -> Constants:
    """Return the chosen back-off constants, those of the family with the most parents."""
    backs_off = [f for f, mode in enumerate(tries.rule.mode.tolist()) if mode == BACK_OFF]
    if not backs_off:
        return (1.0,)
    f = max(backs_off, key=tries.n_parents)
    start = int(tries.trie.first_parent[f]) + f
    return tuple(tries.constants[start : start + tries.n_parents(f) + 1].tolist())
