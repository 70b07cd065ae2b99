"""Networks as values: `Network` (Bayesian: nodes, parents, distributions) and `FactorGraph` (Markov)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from bayeskit._graphs.dag import Dag, unknown_node
from bayeskit._graphs.distributions import Distribution, uniform
from bayeskit._graphs.factor import Factor
from bayeskit._messages import Message
from bayeskit._schema import Label, Name, Variable, first_twice
from bayeskit.errors import NotSupported, SettingError, UsageError

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
                    raise SettingError("A factor is over {name!r}, which is no variable here.", name=name)
                if states != self.variables[self.position[name]].states:
                    raise SettingError(
                        "A factor gives {name!r} other states than the network does.", name=name
                    )

    @cached_property
    def position(self) -> dict[Name, int]:
        return {variable.name: place for place, variable in enumerate(self.variables)}
