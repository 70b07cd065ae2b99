"""Networks that change: nodes and arcs added, taken away, renamed; copies, comparison, intervention."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from bayeskit.errors import SettingError, UsageError
from bayeskit.graphs.distributions import Distribution, LinearGaussian, Table
from bayeskit.graphs.network import Network, Node
from bayeskit.graphs.node_names import node_name, parent_names
from bayeskit.networks.analyses.comparing import same_network
from bayeskit.networks.given.axes import numbers
from bayeskit.networks.given.building import state_labels, variable_of
from bayeskit.networks.given.setting import Setting
from bayeskit.schema import Name, Variable, first_twice, state_code


class Editing(Setting):
    """Changes of the graph. They happen in place and return the network; one that fails changes nothing.

    A node whose parents change loses its table, which said what to expect given other parents: set it anew.
    """

    _of: Callable[[Network], Self]

    def add_node(self, name: Name, states: Any = None, parents: Any = ()) -> Self:
        """Add a node after the others, without a table.

        Parameters
        ----------
        name : any hashable that is no node yet
        states : list of states; ``float`` or "continuous" for a continuous node; None: not known yet
        parents : names of nodes that are there
        """
        name = node_name(name)
        network = self._network
        if name in network.dag.position:
            raise SettingError(f"There is a node {name!r} already.")
        node = Node(variable_of(name, states), parent_names(name, parents, network.dag.position))
        self._become(replace(network, nodes=(*network.nodes, node)))
        return self

    def add_edge(self, parent: Name, child: Name) -> Self:
        """Add an arc; the parent becomes the last of the child's parents, and the child loses its table.

        An arc that would close a cycle is refused with the cycle named.
        """
        network = self._network
        node, name = network[child], network[parent].name
        if name in node.parents:
            raise SettingError(f"There is an arc from {parent!r} to {child!r} already.")
        self._become(network.with_node(replace(node, parents=(*node.parents, name), distribution=None)))
        return self

    def remove_edge(self, parent: Name, child: Name) -> Self:
        """Take an arc away; the child loses its table."""
        network = self._network
        node, name = network[child], network[parent].name
        if name not in node.parents:
            raise SettingError(f"There is no arc from {parent!r} to {child!r}.")
        self._become(network.with_node(_without(node, name)))
        return self

    def remove_node(self, name: Name) -> Self:
        """Take a node and its arcs away; its children lose their tables."""
        network = self._network
        gone = network[name].name
        kept = (node for node in network.nodes if node.name != gone)
        self._become(replace(network, nodes=tuple(_without(node, gone) for node in kept)))
        return self

    def rename(self, names: Mapping[Name, Name]) -> Self:
        """Give nodes other names, all at once: {"a": "b", "b": "a"} exchanges two."""
        network = self._network
        if not isinstance(names, Mapping):
            raise SettingError(f"{names!r} does not say what to rename. Give {{old: new}}.")
        new = {network[old].name: node_name(name) for old, name in names.items()}
        twice = first_twice(new.get(name, name) for name in network.dag.nodes)
        if twice is not None:
            raise SettingError(f"Two nodes would be named {twice!r}.")
        nodes = (
            replace(
                node,
                variable=replace(node.variable, name=new.get(node.name, node.name)),
                parents=tuple(new.get(parent, parent) for parent in node.parents),
            )
            for node in network.nodes
        )
        self._become(replace(network, nodes=tuple(nodes)))
        return self

    def set_states(self, name: Name, states: Any) -> Self:
        """Rename the states of a node by their position, or declare them where they are not known yet.

        Parameters
        ----------
        states : list of as many states as there are, or mapping {old: new} of some of them
            ``float`` or "continuous" makes a node without states continuous.
        """
        node = self._network[name]
        if not node.is_discrete:
            raise SettingError(f"{name!r} is continuous and has no states.")
        variable = _renamed(node.variable, states) if node.variable.size else variable_of(node.name, states)
        self._become(self._network.with_node(replace(node, variable=variable)))
        return self

    def copy(self) -> Self:
        """Return a network that is equal now and changes on its own."""
        return self._of(self._network)

    def do(self, values: Mapping[Name, Any]) -> Self:
        """Return the network after an intervention: these nodes are set, whatever their parents say.

        The arcs into them are cut; a discrete node gets its state with probability one, a continuous one its number
        with variance zero.

        Examples
        --------
        >>> from bayeskit.networks.bayesian_network import BayesianNetwork
        >>> network = BayesianNetwork({"wet": ["rain"]}, states=["no", "yes"])
        >>> network.do({"wet": "yes"}).cpt("wet").values
        array([0., 1.])
        """
        if not isinstance(values, Mapping):
            raise SettingError(f"do({values!r}) does not say what is set. Give {{node: value}}.")
        network = self._network
        fixed = {network[name].name: _fixed(network[name], value) for name, value in values.items()}
        nodes = (
            replace(node, parents=(), distribution=fixed[node.name]) if node.name in fixed else node
            for node in network.nodes
        )
        return self._of(replace(network, nodes=tuple(nodes)))

    def __eq__(self, other: object) -> bool:
        """Tell whether two networks have the same nodes, arcs, states and numbers, in whatever order."""
        if not isinstance(other, Editing):
            return NotImplemented
        return same_network(self._network, other._network)

    __hash__ = None  # type: ignore[assignment]


def _without(node: Node, parent: Name) -> Node:
    if parent not in node.parents:
        return node
    return replace(node, parents=tuple(p for p in node.parents if p != parent), distribution=None)


def _renamed(variable: Variable, states: Any) -> Variable:
    old, name = variable.states, variable.name
    if isinstance(states, Mapping):
        new = dict(enumerate(old)) | {state_code(name, old, k): label for k, label in states.items()}
        return replace(variable, states=state_labels(name, new.values()))
    labels = state_labels(name, states)
    if len(labels) != len(old):
        raise SettingError(
            f"{name!r} has {len(old)} states ({variable.listing()}), and {len(labels)} were given. set_states renames "
            "them one by one; for other states, remove the node and add it anew."
        )
    if labels != old and set(labels) == set(old):
        # Most likely meant as another order, which would exchange what the tables say.
        raise SettingError(
            f"{name!r} has these states already, in the order {variable.listing()}. set_states renames them by "
            "position; to exchange their names pass a mapping {old: new}."
        )
    return replace(variable, states=labels)


def _fixed(node: Node, value: Any) -> Distribution:
    if node.is_discrete:
        if not node.variable.size:
            raise UsageError(f"The states of {node.name!r} are not known yet. Call set_states first.")
        code = state_code(node.name, node.variable.states, value)
        return Table(np.eye(node.variable.size)[code])
    number = numbers(value, node.name)
    if number.shape != () or not np.isfinite(number):
        raise SettingError(f"{node.name!r} is to be set to {value!r}, which is no finite number.")
    return LinearGaussian(number, np.zeros(0), np.zeros(()))
