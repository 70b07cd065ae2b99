"""Reads an influence diagram as users write it: a network, decisions, what they observe, utilities and losses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bayeskit._graphs.dag import node_name, parent_names, unknown_node
from bayeskit._graphs.factor import Factor
from bayeskit._graphs.network import Diagram, Network, Node, Utility
from bayeskit._messages import Joined, Message
from bayeskit._networks.building import Axes, variable_of
from bayeskit._networks.node_tables import table_values
from bayeskit._schema import Name
from bayeskit.errors import SettingError
from bayeskit.typing import NamesLike

# A utility as users write it: its parents and a table over them, or a factor, which has both.
UtilityLike: TypeAlias = Factor | tuple[NamesLike, ArrayLike | Mapping[Any, Any] | Factor]
Utilities: TypeAlias = Mapping[Any, UtilityLike]


def diagram_of(
    network: object,
    decisions: object,
    utilities: Utilities | None,
    observed: Mapping[Any, NamesLike] | None,
    losses: Utilities | None,
) -> Diagram:
    """Return the diagram of these parts, all of whose chance nodes have tables.

    Examples
    --------
    >>> from bayeskit import BayesianNetwork
    >>> rain = BayesianNetwork({"rain": []}, states=["no", "yes"])
    >>> rain.set_cpt("rain", [0.8, 0.2])
    >>> made = diagram_of(rain, {"coat": ["leave", "take"]}, None, None, {"cost": ("coat", [0, 1])})
    >>> made.order, made.utilities[0].values
    (('coat',), array([ 0., -1.]))
    """
    known = getattr(network, "_network", None)
    if not isinstance(known, Network):
        raise SettingError(
            "An influence diagram is built from a BayesianNetwork, not from a {kind}.",
            kind=type(network).__name__,
        )
    names = _named_utilities(known, utilities, losses)
    with_decisions, made = _with_decisions(known, decisions, observed, names)
    tables = [_utility(with_decisions, name, given, names) for name, given in (utilities or {}).items()]
    costs = [_utility(with_decisions, name, given, names) for name, given in (losses or {}).items()]
    # A loss is a utility with the opposite sign; 0 − 0 is 0, and not −0.
    tables += [replace(cost, values=0.0 - cost.values) for cost in costs]
    diagram = Diagram(with_decisions, made, tuple(tables))
    diagram.require_tables()
    return diagram


def _named_utilities(network: Network, utilities: object, losses: object) -> tuple[Name, ...]:
    """Return the names of all utilities; raise an error if one is a node."""
    found: list[Name] = []
    for what, given in (("utilities", utilities), ("losses", losses)):
        if given is None:
            continue
        if not isinstance(given, Mapping):
            raise SettingError(
                "{what} is {given!r}; give {{name: (parents, table)}}.", what=what, given=given
            )
        found += [node_name(name) for name in given]
    for name in found:
        if name not in network.dag.position:
            continue
        child = next(iter(network.dag.children[name]), None)
        if child is not None:
            raise SettingError(
                "{name!r} is a utility, and {child!r} depends on it in the network. Utilities have no children: rename "
                "the utility, or take the node out of the network.",
                name=name,
                child=child,
            )
        raise SettingError(
            "{name!r} is a utility and also a node of the network, with states. Rename the utility, or take the node "
            "out of the network.",
            name=name,
        )
    return tuple(found)


def _with_decisions(
    network: Network, decisions: object, observed: object, utilities: tuple[Name, ...]
) -> tuple[Network, tuple[Name, ...]]:
    """Return the network with the decisions as nodes without a table, whose parents are what they observe."""
    if isinstance(decisions, str) or not isinstance(decisions, Iterable):
        raise SettingError(
            "decisions is {decisions!r}; give {{decision: states}}, or a list of nodes of the network.",
            decisions=decisions,
        )
    given: dict[Name, Any] = (
        {node_name(name): states for name, states in decisions.items()}
        if isinstance(decisions, Mapping)
        else {node_name(name): None for name in decisions}
    )
    if observed is not None and not isinstance(observed, Mapping):
        raise SettingError(
            "observed is {observed!r}; give {{decision: nodes observed before it}}.", observed=observed
        )
    stray = next((name for name in observed or () if name not in given), None)
    if stray is not None:
        raise SettingError(
            "observed names {name!r}, which is no decision. The decisions are {names}.",
            name=stray,
            names=Joined(map(repr, given)) or Message("none"),
        )
    place = network.dag.position
    known = {*place, *given}
    nodes = dict(zip(network.dag.nodes, network.nodes, strict=True))
    for name, states in given.items():
        seen = parent_names(name, (observed or {}).get(name), known)
        for parent in seen:
            if parent in utilities:
                raise SettingError(
                    "{decision!r} observes {name!r}, which is a utility, and utilities have no children. Let it "
                    "observe a node.",
                    decision=name,
                    name=parent,
                )
            if parent not in known:
                raise unknown_node(parent, known, "observed names it")
        nodes[name] = _decision_node(nodes.get(name), name, states, seen)
    return replace(network, nodes=tuple(nodes.values())), tuple(given)


def _decision_node(node: Node | None, name: Name, states: object, seen: tuple[Name, ...]) -> Node:
    if node is None and states is None:
        raise SettingError(
            "{name!r} is no node of the network, so its choices are not known. Give decisions={{{name!r}: [...]}}.",
            name=name,
        )
    variable = variable_of(name, states) if states is not None else None
    if node is not None:
        own = node.variable
        if variable is not None and own.states and own.states != variable.states:
            raise SettingError(
                "{name!r} has the states {own} in the network, and decisions= gives it {states}. Leave its states out "
                "there: {{{name!r}: None}}.",
                name=name,
                own=own.listing(),
                states=variable.listing(),
            )
        variable = own if own.states or variable is None else variable
    assert variable is not None
    if variable.kind == "categorical" and not variable.size:
        raise SettingError(
            "The choices of {name!r} are not known. Give decisions={{{name!r}: [...]}}.", name=name
        )
    parents = dict.fromkeys((*(node.parents if node else ()), *seen))
    return Node(variable, tuple(parents), None, node.notes if node else {})


def _utility(network: Network, name: object, given: Any, utilities: tuple[Name, ...]) -> Utility:
    own = node_name(name)
    if isinstance(given, Factor):
        given = (given.names, given)
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise SettingError(
            "The utility {name!r} is {given!r}; give (parents, table), or a Factor.", name=own, given=given
        )
    parents = parent_names(own, given[0], network.dag.position)
    for parent in parents:
        if parent in utilities:
            raise SettingError(
                "{parent!r}, a parent of {name!r}, is a utility, and utilities have no children. They add by "
                "themselves: take it out of the parents.",
                parent=parent,
                name=own,
            )
        if parent not in network.dag.position:
            raise unknown_node(parent, network.dag.nodes, "it is a parent of a utility")
    axes = Axes(own, [network[parent].variable for parent in parents])
    axes.check_size()
    values = table_values(axes, given[1])
    if not np.isfinite(values).all():
        place = np.argwhere(~np.isfinite(values))[0]
        raise SettingError(
            "The utility {name!r} is {value}{where}. Utilities are finite numbers; a large negative one forbids as "
            "well.",
            name=own,
            value=values[tuple(place)],
            where=Message(" at {where}", where=axes.where(place)) if len(place) else "",
        )
    return Utility(own, parents, values)
