"""Forms with at most one parent per attribute besides the class: a given graph, and the tree of TAN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit._conditionals.cell_gaussian import estimate_cell_gaussian
from bayeskit._conditionals.child_gaussians import ChildGaussians
from bayeskit._conditionals.class_prior import ClassPrior
from bayeskit._conditionals.conditional import Conditional
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
