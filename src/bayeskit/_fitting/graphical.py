"""The form of a Bayesian network over the class and the attributes, given or learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.back_off import states_of_missing
from bayeskit._conditionals.class_prior import ClassFamily, ClassPrior, estimate_class_family
from bayeskit._conditionals.conditional import Conditional
from bayeskit._conditionals.family_tries import FamilyTries, estimate_families
from bayeskit._conditionals.linear_family import LinearFamily, estimate_linear
from bayeskit._fitting.graph_factors import GraphFactors
from bayeskit._fitting.model import ModelForm, ModelSpec
from bayeskit._fitting.naive import presence_conditionals
from bayeskit._fitting.with_parents import Constants, settled_constants
from bayeskit._graphs.dag import Dag, topological_order
from bayeskit._schema import Name, Schema, Variable
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import PARTS, Pattern, Plan
from bayeskit.errors import SettingError

Flags = NDArray[np.bool_]
Family = tuple[Name, ...]

# A target with a single state, for families that do not include the class.
_ALL = Variable("all", "categorical", ("all",), n_declared=1, closed=True)


@dataclass(frozen=True)
class Graphical(ModelForm):
    r"""The form of a given graph: :math:`P(c \mid \mathrm{pa}_c) \prod_j P(x_j \mid \mathrm{pa}_j)`.

    Attributes
    ----------
    dag : Dag
        The graph over the class (named by :func:`class_node`) and the attributes that the model uses. Categorical
        attributes and the class have no numeric parents. Back-off drops the last categorical parent first.
    constants : back-off constants of the children of the class and of all other attributes, or None if they are not
        chosen yet

    Examples
    --------
    >>> graph = Dag.of({"y": ["a"], "b": ["y", "a"]}, ["y", "a", "b"])
    >>> two = Variable("a", "categorical", (0, 1)), Variable("b", "categorical", (0, 1))
    >>> schema = Schema(two, Variable("y", "categorical", ("no", "yes")))
    >>> Graphical(graph).plan(schema, ModelSpec()).patterns[-1].attributes
    (('b', 'a'), ('a',))
    """

    dag: Dag
    constants: tuple[Constants, Constants] | None = None

    smooths_by_rows: ClassVar[bool] = True

    def plan(self, schema: Schema, spec: ModelSpec) -> Plan:
        """Return the counts to take: each attribute with its parents and the class, and the class with its parents."""
        parts = _Parts(self.dag, schema)
        if parts.of_class and spec.class_prior is not None:
            raise SettingError(
                "class_prior is given, but in this graph the class has the parents {of_class!r}, so there is no "
                "P(c) to replace. Leave class_prior out, or reverse these arcs.",
                of_class=list(parts.of_class),
            )
        patterns = [*Plan.naive(schema).patterns]
        if parts.families:
            patterns.append(Pattern("families", parts.families))
        if parts.numeric:
            patterns.append(Pattern("regressions", parts.numeric))
        return Plan(tuple(patterns))

    def graph(self, statistics: Statistics) -> Dag:
        return self.dag

    def settled(self, statistics: Statistics, spec: ModelSpec) -> ModelForm:
        if self.constants is not None:
            return self
        factors = self.factors(statistics, spec)
        return replace(self, constants=(settled_constants(factors.tables), settled_constants(factors.apart)))

    def conditionals(
        self, statistics: Statistics, spec: ModelSpec, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        return (self.factors(statistics, spec), *presence_conditionals(statistics, spec))

    def factors(self, statistics: Statistics, spec: ModelSpec) -> GraphFactors:
        """Estimate the families of the graph."""
        schema = statistics.schema
        parts = _Parts(_with_states(self.dag, schema), schema)
        counted = _FamilyEstimator(statistics, spec, parts)
        of_tables, of_apart = self.constants or (None, None)
        return GraphFactors(
            schema,
            parts.dag,
            parts.target,
            counted.tries(parts.tables, of_tables),
            counted.tries(parts.apart, of_apart, alone=True),
            counted.class_family(),
            counted.numbers(),
            statistics,
            partial(self.factors, spec=spec),
        )


def class_node(schema: Schema) -> Name:
    """Return the name of the class in a graph: its own name, or "class" if a column already has that name.

    >>> class_node(Schema((Variable("y", "numeric"),), Variable("y", "categorical")))
    'class'
    """
    name = schema.target.name
    if name in schema.position:
        name = "class"
    while name in schema.position:
        name = f"{name}_"
    return name


class _Parts:
    """The families of a graph, grouped as they are counted and estimated."""

    def __init__(self, dag: Dag, schema: Schema) -> None:
        self.dag, self.target = dag, class_node(schema)
        check_graph(dag, schema)
        numeric = schema.numeric_index
        attributes = [name for name in dag.nodes if name != self.target]
        self.tables = tuple(self._family(n) for n in attributes if n not in numeric and self.has_class(n))
        self.apart = tuple(self._family(n) for n in attributes if n not in numeric and not self.has_class(n))
        # Families are counted by class, so the family of the class is that of its parents alone.
        self.of_class = dag.parents_of(self.target)
        self.numeric = tuple(self._family(n) for n in topological_order(dag) if n in numeric)

    @property
    def families(self) -> tuple[Family, ...]:
        """The categorical families to count, each once. Those of the children of the class come first."""
        of_class = (self.of_class,) if self.of_class else ()
        return tuple(dict.fromkeys((*self.tables, *self.apart, *of_class)))

    def has_class(self, name: Name) -> bool:
        return self.target in self.dag.parents_of(name)

    def _family(self, name: Name) -> Family:
        return (name, *(p for p in self.dag.parents_of(name) if p != self.target))


@dataclass(frozen=True, eq=False)
class _FamilyEstimator:
    """Estimates the families of a graph, one kind at a time, from statistics."""

    statistics: Statistics
    spec: ModelSpec
    parts: _Parts

    def _counted(self, kind: str, wanted: Sequence[Family]) -> Any:
        """Return some of the counted families.

        A parent without states is counted but not in the graph. It has only one code, so the keys are the same
        without it.
        """
        zero: Any = PARTS[kind].zero(self.statistics.schema, tuple(wanted))
        part: Any = self.statistics.parts.get(kind)
        if part is None:
            return zero
        known = self.parts.dag.position
        attributes: Any = next(p.attributes for p in self.statistics.plan.patterns if p.kind == kind)
        place = {tuple(name for name in family if name in known): f for f, family in enumerate(attributes)}
        return zero.chosen_from(part, [place[family] for family in wanted])

    @cached_property
    def is_state(self) -> Flags:
        """For each categorical attribute, whether missing is a state: if it has missing values."""
        schema = self.statistics.schema
        families: Any = self.statistics.parts.get("families")
        if self.spec.missing != "state" or families is None:
            return np.zeros(len(schema.categorical), np.bool_)
        return states_of_missing(families, schema)

    def tries(
        self, wanted: Sequence[Family], constants: Constants | None, alone: bool = False
    ) -> FamilyTries:
        """Estimate categorical attributes; with ``alone``, without the class as a parent."""
        schema, families = self.statistics.schema, self._counted("families", wanted)
        if alone:
            schema, families = Schema(schema.attributes, _ALL), families.without_class()
        return estimate_families(
            families,
            schema,
            self.spec.smoothing,
            constants=None if constants is None else np.asarray(constants),
            missing=self.spec.missing,
            unseen=self.spec.unseen,
            is_state=self.is_state,
        )

    def class_family(self) -> ClassFamily | None:
        if not self.parts.of_class:
            return None
        families = self._counted("families", [self.parts.of_class])
        schema, prior = self.statistics.schema, self.spec.class_smoothing
        return estimate_class_family(families, 0, schema, prior, self.is_state)

    def numbers(self) -> tuple[LinearFamily, ...]:
        counted = self._counted("regressions", self.parts.numeric)
        return tuple(
            estimate_linear(
                counted,
                f,
                has_class=self.parts.has_class(family[0]),
                is_state=self.is_state,
                unbiased=self.spec.unbiased,
            )
            for f, family in enumerate(self.parts.numeric)
        )


def _with_states(dag: Dag, schema: Schema) -> Dag:
    """Return the graph without attributes that have no states: there is nothing to estimate or to sum over."""
    gone = {v.name for v in schema.categorical if not v.size}
    if not gone.intersection(dag.nodes):
        return dag
    kept = {
        node: tuple(p for p in parents if p not in gone)
        for node, parents in zip(dag.nodes, dag.parents, strict=True)
        if node not in gone
    }
    return Dag(tuple(kept), tuple(kept.values()))


def check_graph(dag: Dag, schema: Schema) -> None:
    """Raise an error if a graph has no class, has nodes that are not columns, or has a discrete child of a number."""
    target = class_node(schema)
    if target not in dag.position:
        raise SettingError(
            "The graph has no node {target!r}, which is the class. Name its parents, or none.", target=target
        )
    strange = [name for name in dag.nodes if name != target and name not in schema.position]
    if strange:
        raise SettingError(
            "The graph names {strange!r}, which is not a column and not the class {target!r}.",
            strange=strange[0],
            target=target,
        )
    for name, parents in zip(dag.nodes, dag.parents, strict=True):
        numeric = [p for p in parents if p in schema.numeric_index]
        if numeric and name not in schema.numeric_index:
            raise SettingError(
                "{name!r} is discrete and has the continuous parent {numeric!r}. Exact answers need the arc in "
                "the other direction, or the parent cut into intervals.",
                name=name,
                numeric=numeric[0],
            )


def as_graph(structure: Mapping[Name, Any], schema: Schema) -> Dag:
    """Return the graph of a held mapping from nodes (including the class) to their parents."""
    names = [class_node(schema), *schema.position]
    return Dag.of(structure, [name for name in names if name in structure])
