"""Forms of a graph over the attributes, with the class as a parent of all: at most one more parent (a given graph, the
tree of TAN), or several (kDB, any given graph).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayeskit._conditionals.cell_gaussian import ChildGaussians, estimate_cell_gaussian
from bayeskit._conditionals.class_prior import ClassPrior
from bayeskit._conditionals.conditional import Conditional
from bayeskit._conditionals.family_tries import FamilyTries, estimate_families
from bayeskit._conditionals.kernels.trie_scores import BACK_OFF
from bayeskit._conditionals.one_parent import OneParent
from bayeskit._conditionals.pair_cells import pair_cells
from bayeskit._fitting.model import ModelForm, ModelSpec
from bayeskit._fitting.naive import Naive, presence_conditionals
from bayeskit._graphs.dag import Dag
from bayeskit._schema import Name, Schema, Variable
from bayeskit._statistics.information import gaussian_information
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Pattern, Plan
from bayeskit._structure.learners import learn, tree
from bayeskit.priors import BackOff

Constants = tuple[float, ...]


def pairs_plan(schema: Schema) -> Plan:
    """Return the plan for all pairs, and for the moments of numeric attributes by class and state of each attribute."""
    if not schema.categorical:
        return Plan.naive(schema)
    names = tuple(v.name for v in schema.numeric)
    extra = (Pattern("cell_moments", names),) if names else ()
    return Plan((*Plan.pairs(schema).patterns, *extra))


@dataclass(frozen=True)
class OneDependence(ModelForm):
    """The form of a given graph: P(c) ∏ P(x_j | c, x_pa(j)).

    Attributes
    ----------
    dag : Dag
        The graph over all attributes, with at most one parent each. A numeric attribute is never a parent.
    constants : back-off constants of levels 0 and 1, or None if they are not chosen yet
    """

    dag: Dag
    constants: Constants | None = None

    def plan(self, schema: Schema, spec: ModelSpec) -> Plan:
        return pairs_plan(schema)

    def graph(self, statistics: Statistics) -> Dag:
        return self.dag

    def settled(self, statistics: Statistics, spec: ModelSpec) -> ModelForm:
        if not statistics.schema.categorical:
            return Naive()
        if self.constants is not None:
            return self
        parents = _places(self.dag, statistics.schema)
        families = [(j, int(i)) for j, i in enumerate(parents)]
        return OneDependence(self.dag, pair_constants(statistics, spec, families))

    def conditionals(
        self, statistics: Statistics, spec: ModelSpec, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        settled = self.settled(statistics, spec)
        if not isinstance(settled, OneDependence):
            return settled.conditionals(statistics, spec, prior)
        schema = statistics.schema
        pairs: Any = statistics.parts["pairs"]
        cells = pair_cells(
            pairs, schema, spec.smoothing, settled.constants, missing=spec.missing, unseen=spec.unseen
        )
        found: list[Any] = [OneParent(cells, _places(self.dag, schema))]
        if schema.numeric:
            found += presence_conditionals(statistics, spec)
            found.append(ChildGaussians(cell_gaussian(statistics, spec), numeric_places(self.dag, schema)))
        return tuple(found)


@dataclass(frozen=True)
class Tree(ModelForm):
    """The tree of TAN, derived from the counts whenever they change.

    Attributes
    ----------
    root : name, optional
    criterion : None, "aic" or "bic"
    order : names, optional
        The order of the discrete attributes. By default, column order.
    """

    root: Name | None = None
    criterion: str | None = None
    order: tuple[Name, ...] | None = None

    def plan(self, schema: Schema, spec: ModelSpec) -> Plan:
        return pairs_plan(schema)

    def graph(self, statistics: Statistics) -> Dag:
        """Learn the tree, and add the numeric attributes as children."""
        found = learn(tree(statistics.schema, self.root, self.criterion, self.order), lambda plan: statistics)
        return with_numeric(found, statistics)

    def settled(self, statistics: Statistics, spec: ModelSpec) -> ModelForm:
        if not statistics.schema.categorical:
            return Naive()
        return OneDependence(self.graph(statistics)).settled(statistics, spec)

    def conditionals(
        self, statistics: Statistics, spec: ModelSpec, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        return self.settled(statistics, spec).conditionals(statistics, spec, prior)


def with_numeric(dag: Dag, statistics: Statistics) -> Dag:
    """Add the numeric attributes. Each gets the discrete parent with the highest mutual information given the class."""
    schema = statistics.schema
    if not schema.numeric:
        return dag
    parents = dag.as_mapping()
    cells: Any = statistics.parts["cell_moments"]
    shared = gaussian_information(cells, statistics.moments, schema)
    for m, variable in enumerate(schema.numeric):
        best = int(np.round(shared[:, m], 12).argmax())
        parents[variable.name] = (schema.categorical[best].name,) if shared[best, m] > 0 else ()
    names = tuple(v.name for v in schema.attributes)
    return Dag(names, tuple(parents[name] for name in names))


def pair_constants(statistics: Statistics, spec: ModelSpec, families: list[tuple[int, int]]) -> Constants:
    """Return the back-off constants of levels 0 and 1: given ones, or those chosen for these (child, parent) pairs."""
    priors = [spec.smoothing.of(v) for v in statistics.schema.categorical]
    back_off = [prior for prior in priors if isinstance(prior, BackOff)]
    if not back_off:
        return (1.0, 1.0)
    given = next((prior for prior in back_off if prior.constants is not None), None)
    if given is not None:
        return tuple(given.levels(1).tolist())
    from bayeskit._conditionals.back_off import choose_pair_constants

    pairs: Any = statistics.parts["pairs"]
    chosen = choose_pair_constants(
        pairs, statistics.schema, families, missing=spec.missing, unseen=spec.unseen
    ).tolist()
    # If no attribute has a parent, the second level is never used.
    return tuple([*chosen, *chosen[-1:], 1.0, 1.0][:2])


def cell_gaussian(statistics: Statistics, spec: ModelSpec) -> Any:
    """Estimate the Gaussian of every numeric attribute for every class and every state of a discrete attribute."""
    cells: Any = statistics.parts["cell_moments"]
    return estimate_cell_gaussian(
        cells, statistics.moments, statistics.schema, alpha=spec.alpha, unbiased=spec.unbiased
    )


def _places(dag: Dag, schema: Schema) -> Any:
    """Return the index of the parent of each categorical attribute, or −1 if it has none."""
    return _parent_numbers(dag, schema, schema.categorical)


def numeric_places(dag: Dag, schema: Schema) -> Any:
    """Return the index of the parent of each numeric attribute, or −1 if it has none."""
    return _parent_numbers(dag, schema, schema.numeric)


def _parent_numbers(dag: Dag, schema: Schema, children: tuple[Variable, ...]) -> Any:
    # A column that is missing in every row has no states to sum over, so it is never a parent.
    number = {v.name: j for j, v in enumerate(schema.categorical) if v.size}
    above = dict(zip(dag.nodes, dag.parents, strict=True))
    parents = [[number[p] for p in above[v.name] if p in number] for v in children]
    return np.array([p[0] if p else -1 for p in parents], dtype=np.int64)


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

    @classmethod
    def held(cls, structure: Mapping[Any, Any]) -> WithParents:
        """Return the form of a structure that is already chosen."""
        return cls(Dag(tuple(structure), tuple(tuple(parents) for parents in structure.values())))

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


def settled_constants(tries: FamilyTries) -> Constants:
    """Return the chosen back-off constants, those of the family with the most parents."""
    backs_off = [f for f, mode in enumerate(tries.rule.mode.tolist()) if mode == BACK_OFF]
    if not backs_off:
        return (1.0,)
    f = max(backs_off, key=tries.n_parents)
    start = int(tries.trie.first_parent[f]) + f
    return tuple(tries.constants[start : start + tries.n_parents(f) + 1].tolist())
