"""Networks as values: `Network` (Bayesian), `FactorGraph` (Markov) and `Diagram` (with decisions and utilities)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from bayeskit._graphs.dag import Dag, ancestors, descendants, topological_order, unknown_node
from bayeskit._graphs.distributions import Distribution, frozen, uniform
from bayeskit._graphs.factor import Factor
from bayeskit._messages import Message
from bayeskit._schema import Label, Name, Variable, first_twice
from bayeskit.errors import NotSupported, SettingError, UnorderedDecisions, UsageError
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit._data.file_reading import FileReading


def discrete(name: Name, states: Iterable[Label]) -> Variable:
    """Return the variable of a node with exactly these states."""
    states = tuple(states)
    return Variable(name, "categorical", states, n_declared=len(states), closed=True)


def continuous(name: Name) -> Variable:
    return Variable(name, "numeric")


@dataclass(frozen=True)
class Node:
    """A variable, its parents, its distribution (None: not set yet), and notes from a file.

    ``notes`` are texts of a file format: labels, positions, comments.
    """

    variable: Variable
    parents: tuple[Name, ...] = ()
    distribution: Distribution | None = None
    notes: Mapping[str, str] = field(default_factory=dict, compare=False)
    name: Name = field(init=False, repr=False, compare=False)
    is_discrete: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.variable.name)
        object.__setattr__(self, "is_discrete", self.variable.kind == "categorical")


@dataclass(frozen=True)
class Network:
    """Nodes in order; every parent is a node, and there is no cycle.

    The shapes of distributions must fit the nodes; the code that builds a network checks them.
    """

    nodes: tuple[Node, ...] = ()
    name: str = field(default="", compare=False)
    notes: Mapping[str, str] = field(default_factory=dict, compare=False)
    # How the file was read that the network was learned from.
    reading: FileReading | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        self.dag  # noqa: B018  (raises where the arcs are no graph)

    @cached_property
    def dag(self) -> Dag:
        return Dag(tuple(node.name for node in self.nodes), tuple(node.parents for node in self.nodes))

    def __getitem__(self, name: Name) -> Node:
        try:
            return self.nodes[self.dag.position[name]]
        except (KeyError, TypeError):
            raise unknown_node(name, self.dag.nodes) from None

    def family(self, name: Name) -> tuple[Node, ...]:
        """Return the parents of a node in their order, then the node itself."""
        node = self[name]
        return (*(self[parent] for parent in node.parents), node)

    def sizes_of(self, names: Iterable[Name]) -> tuple[int, ...]:
        return tuple(self[name].variable.size for name in names)

    def shape_of(self, name: Name) -> tuple[int, ...]:
        """Return the shape of a discrete node's table: its parents' sizes, then its own."""
        return self.sizes_of((*self[name].parents, name))

    def with_node(self, node: Node) -> Network:
        """Return the network with this node in place of the one with its name."""
        place = self.dag.position[node.name]
        old = self.nodes[place]
        nodes = (*self.nodes[:place], node, *self.nodes[place + 1 :])
        if node.parents != old.parents or node.is_discrete != old.is_discrete:
            return replace(self, nodes=nodes)
        # The graph is unchanged and already checked: so a chain of 10,000 tables is set in seconds.
        made = object.__new__(Network)
        made.__dict__.update(self.__dict__ | {"nodes": nodes})
        return made

    def require_distributions(self) -> None:
        """Raise an error if a node has no states or no table."""
        for node in self.nodes:
            if node.is_discrete and not node.variable.size:
                raise UsageError(
                    "The states of {name!r} are not known. Give states= or call fit.", name=node.name
                )
            if node.distribution is None:
                raise UsageError(
                    "{name!r} has no table yet. Call {way_out}({name!r}, ...) or fit.",
                    name=node.name,
                    way_out="set_softmax" if node.name in self.softmax_nodes else "set_cpt",
                )

    @cached_property
    def is_discrete(self) -> bool:
        return all(node.is_discrete for node in self.nodes)

    def numeric_parents(self, node: Node) -> tuple[Name, ...]:
        return tuple(p for p in node.parents if not self[p].is_discrete)

    @cached_property
    def softmax_nodes(self) -> tuple[Name, ...]:
        """The discrete nodes with continuous parents."""
        if self.is_discrete:
            return ()
        return tuple(node.name for node in self.nodes if node.is_discrete and self.numeric_parents(node))

    def without_softmax(self) -> Network:
        """Return the network in which no discrete node has a continuous parent; such nodes lose their distribution."""
        if not self.softmax_nodes:
            return self
        nodes = (
            replace(node, parents=tuple(p for p in node.parents if self[p].is_discrete), distribution=None)
            if node.name in self.softmax_nodes
            else node
            for node in self.nodes
        )
        return replace(self, nodes=tuple(nodes))

    def with_stand_ins(self) -> Network:
        """Return the network with uniform tables in place of softmax nodes, given their discrete parents."""
        found = self.without_softmax()
        for name in self.softmax_nodes:
            found = found.with_node(replace(found[name], distribution=uniform(found.shape_of(name))))
        return found

    def refuse_softmax(self, what: str, node: Name | None = None) -> None:
        """Raise an error if this node, or any discrete node, has a continuous parent: ``what`` is not possible then."""
        for name in self.softmax_nodes[:1] if node is None else [node]:
            raise NotSupported(
                "{name!r} is discrete and {numeric!r}, its parent, is continuous: {what} has no closed form. Sample "
                "with approximate(...), observe {numeric!r}, or cut it into intervals (Discretizer).",
                name=name,
                numeric=self.numeric_parents(self[name])[0],
                what=Message(what),
            )


@dataclass(frozen=True)
class FactorGraph:
    """Discrete variables and factors; the normalised product of the factors is their distribution."""

    variables: tuple[Variable, ...]
    factors: tuple[Factor, ...]
    name: str = field(default="", compare=False)
    notes: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        twice = first_twice(variable.name for variable in self.variables)
        if twice is not None:
            raise SettingError("Two variables are named {twice!r}. Rename one of them.", twice=twice)
        for factor in self.factors:
            for name, states in zip(factor.names, factor.states, strict=True):
                if name not in self.position:
                    raise SettingError(
                        "A factor is over {name!r}, which is not a variable of this network.", name=name
                    )
                if states != self.variables[self.position[name]].states:
                    raise SettingError("A factor gives {name!r} other states than the network.", name=name)

    @cached_property
    def position(self) -> dict[Name, int]:
        return {variable.name: place for place, variable in enumerate(self.variables)}


@dataclass(frozen=True, eq=False)
class Utility:
    """A utility: a number for each configuration of its parents. Several utilities of a diagram add.

    Attributes
    ----------
    name : the name of the utility
    parents : the nodes it depends on, one for each axis
    values : array of shape (number of states of each parent)
    notes : texts of a file format
    """

    name: Name
    parents: tuple[Name, ...]
    values: Floats
    notes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen(self.values))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Utility)
            and (self.name, self.parents) == (other.name, other.parents)
            and np.array_equal(self.values, other.values)
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Diagram:
    """Chance nodes and decisions in one network, and utilities.

    The parents of a decision are what is observed before it; it has no distribution. Earlier decisions and what
    was observed before them are remembered (perfect recall), whether there is an arc or not.

    Examples
    --------
    >>> from bayeskit._graphs.network import discrete
    >>> from bayeskit.networks import Table
    >>> rain = Node(discrete("rain", ["no", "yes"]), (), Table([0.8, 0.2]))
    >>> coat = Node(discrete("coat", ["leave", "take"]), ("rain",))
    >>> comfort = Utility("comfort", ("rain", "coat"), [[10, 5], [0, 8]])
    >>> Diagram(Network((rain, coat)), ("coat",), (comfort,)).past("coat")
    ('rain',)
    """

    network: Network
    decisions: tuple[Name, ...]
    utilities: tuple[Utility, ...]

    def __post_init__(self) -> None:
        if not self.decisions:
            raise SettingError(
                "The diagram has no decision. Name one in decisions=, or ask a BayesianNetwork instead."
            )
        if not self.utilities:
            raise SettingError(
                "The diagram has no utility, so no choice is better than another. Give utilities= or losses=."
            )
        nodes, names = self.network.dag.position, [utility.name for utility in self.utilities]
        twice = first_twice(names)
        if twice is not None:
            raise SettingError("Two utilities are named {twice!r}. Rename one of them.", twice=twice)
        for utility in self.utilities:
            if utility.name in nodes:
                raise SettingError(
                    "{name!r} is both a utility and {kind}. A utility has a table of its own and no states: rename "
                    "it, or take the node out of the network.",
                    name=utility.name,
                    kind=Message("a decision" if utility.name in self.decisions else "a chance node"),
                )
            above = next((p for p in utility.parents if p in names), None)
            if above is not None:
                raise SettingError(
                    "{parent!r}, a parent of {name!r}, is a utility, and utilities have no children. They add by "
                    "themselves: take it out of the parents.",
                    parent=above,
                    name=utility.name,
                )
        self.dag  # noqa: B018  (raises where a parent of a utility is no node)
        for node in self.network.nodes:
            if not node.is_discrete:
                raise SettingError(
                    "{name!r} is continuous, and an influence diagram has only nodes with states. Cut it into "
                    "intervals first.",
                    name=node.name,
                )
        self.order  # noqa: B018  (raises where the decisions have no order)

    @cached_property
    def dag(self) -> Dag:
        """The graph of all nodes, with utilities last."""
        dag = self.network.dag
        names = tuple(utility.name for utility in self.utilities)
        return Dag((*dag.nodes, *names), (*dag.parents, *(utility.parents for utility in self.utilities)))

    @cached_property
    def order(self) -> tuple[Name, ...]:
        """The decisions in the order in which they are made."""
        dag = self.network.dag
        order = tuple(name for name in topological_order(dag) if name in self.decisions)
        for first, second in pairwise(order):
            if first not in ancestors(dag, second):
                raise UnorderedDecisions((first, second))
        return order

    def past(self, decision: Name) -> tuple[Name, ...]:
        """Return what is known when a decision is made: all that was observed and decided before."""
        made = self.order[: self.order.index(decision) + 1]
        known = {p for d in made for p in self.network[d].parents} | {*made[:-1]}
        return tuple(name for name in self.network.dag.nodes if name in known)

    def require_tables(self) -> None:
        """Raise an error if a chance node has no states or no table."""
        chance = replace(self.network, nodes=tuple(map(self._assumed, self.network.nodes)))
        chance.require_distributions()

    def _assumed(self, node: Node) -> Node:
        if node.name not in self.decisions:
            return node
        size = node.variable.size
        return replace(node, parents=(), distribution=uniform((size,)) if size else None)

    def deciding(self, policies: Mapping[Name, Node]) -> Network:
        """Return the network in which these nodes stand for the decisions, and all others are chosen at random."""
        nodes = (policies.get(node.name) or self._assumed(node) for node in self.network.nodes)
        return replace(self.network, nodes=tuple(nodes))

    def observing(self, nodes: Iterable[Name], decision: Name) -> Diagram:
        """Return the diagram in which these nodes are also observed before a decision."""
        node = self.network[decision]
        more = tuple(name for name in nodes if name not in node.parents)
        return replace(self, network=self.network.with_node(replace(node, parents=(*node.parents, *more))))

    def blocked(self, decision: Name) -> frozenset[Name]:
        """Return the nodes that cannot be observed before a decision, because they depend on it."""
        later = self.order[self.order.index(decision) :]
        return frozenset({*later, *descendants(self.network.dag, decision)})
