"""An influence diagram as a value: a network some of whose nodes are decisions, and utilities over its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from bayeskit._graphs.dag import Dag, ancestors, descendants, topological_order
from bayeskit._graphs.distributions import frozen, uniform
from bayeskit._graphs.network import Network, Node
from bayeskit._messages import Message
from bayeskit._schema import Name, first_twice
from bayeskit.errors import SettingError, UnorderedDecisions
from bayeskit.typing import Floats


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
    >>> from bayeskit._graphs.distributions import Table
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
