"""A graph and its states as users write them → a Network value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from bayeskit.data.columns import is_missing
from bayeskit.errors import SettingError
from bayeskit.graphs.dag import Dag
from bayeskit.graphs.network import Network, Node, discrete
from bayeskit.graphs.node_names import is_label, node_name, parent_names
from bayeskit.schema import Kind, Label, Name, Variable, first_twice
from bayeskit.typing import NamesLike, StatesLike

if TYPE_CHECKING:
    from bayeskit.networks.bayesian_network import BayesianNetwork


class DirectedGraph(Protocol):
    """A directed graph of networkx, which is not imported."""

    @property
    def nodes(self) -> Iterable[Name]: ...

    def predecessors(self, node: Name, /) -> Iterable[Name]: ...


# A graph as users write it: node → parents, arcs, a graph, or a network, which brings its tables along.
Parents: TypeAlias = Mapping[Any, NamesLike | None] | Iterable[tuple[Name, Name]]
GraphLike: TypeAlias = "Parents | Dag | DirectedGraph | Network | BayesianNetwork"


def network_of(
    parents: GraphLike | None = None, states: StatesLike | Mapping[Any, StatesLike] = None, name: str = ""
) -> Network:
    """Read a graph and the states of its nodes.

    Parameters
    ----------
    parents : mapping node → parents, list of (parent, child), Dag, networkx.DiGraph, or a network
        Nodes that are named only as parents come after the others. A network brings its tables along.
    states : mapping node → its states, or one list for all nodes
        ``float`` or ``"continuous"`` in the place of a list makes a continuous node. A node that is left out
        gets its states later.
    name : what the network is called

    Examples
    --------
    >>> network = network_of({"wet": ["rain"]}, states={"rain": ["no", "yes"], "wet": ["dry", "wet"]})
    >>> network.dag.nodes, network["wet"].variable.states
    (('wet', 'rain'), ('dry', 'wet'))
    """
    if not isinstance(name, str):
        raise SettingError(f"name={name!r}: a network is called by a string.")
    known = getattr(parents, "_network", parents)
    if isinstance(known, Network):
        if states is not None:
            raise SettingError("The network brings its own states: leave states= out, and call set_states.")
        return replace(known, name=name or known.name)
    graph = _graph_of(known)
    variables = _variables(states, graph.nodes)
    return Network(tuple([Node(v, p) for v, p in zip(variables, graph.parents)]), name)


def _graph_of(given: object) -> Dag:
    if given is None:
        return Dag((), ())
    if isinstance(given, Dag):
        return given
    if isinstance(given, Mapping):
        return _from_mapping(given)
    if hasattr(given, "predecessors") and hasattr(given, "nodes"):  # networkx, without importing it
        return _from_mapping({node: list(given.predecessors(node)) for node in given.nodes})
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) or hasattr(given, "adj"):
        raise SettingError(
            f"A {type(given).__name__} is no graph with directed arcs. Give a mapping from node to its parents, a "
            "list of (parent, child), or a networkx.DiGraph."
        )
    return _from_arcs(given)


def _from_mapping(given: Mapping[Any, Any]) -> Dag:
    parents = {node_name(node): parent_names(node, names, given) for node, names in given.items()}
    for name in [name for names in parents.values() for name in names]:
        parents.setdefault(name, ())
    return Dag(tuple(parents), tuple(parents.values()))


def _from_arcs(given: Iterable[Any]) -> Dag:
    parents: dict[Name, list[Name]] = {}
    for arc in given:
        pair = () if isinstance(arc, (str, bytes)) or not isinstance(arc, Iterable) else tuple(arc)
        if len(pair) != 2:
            raise SettingError(
                f"{arc!r} is no arc. A list of arcs holds pairs (parent, child); nodes without arcs need a mapping "
                "from node to its parents."
            )
        parent, child = map(node_name, pair)
        parents.setdefault(parent, [])
        parents.setdefault(child, []).append(parent)
    return Dag(tuple(parents), tuple(map(tuple, parents.values())))


def _variables(states: object, nodes: tuple[Name, ...]) -> list[Variable]:
    if states is None:
        return [discrete(node, ()) for node in nodes]
    if not isinstance(states, Mapping):
        if isinstance(states, Iterable) and not isinstance(states, (str, bytes)):
            states = list(states) if not isinstance(states, (set, frozenset)) else states
        states = dict.fromkeys(nodes, states)
    known = set(nodes)
    strange = next((node for node in states if node not in known), None)
    if strange is not None:
        listing = ", ".join(map(repr, nodes[:12])) + (", …" if len(nodes) > 12 else "")
        raise SettingError(f"states= names {strange!r}, which is no node. There are {listing or 'none'}.")
    read = [(node, *_read_states(node, states.get(node))) for node in nodes]
    return [Variable(*each) for each in read]


def variable_of(name: Name, states: object) -> Variable:
    """Return the variable of a node: a list of states, ``float`` for a continuous one, None for not known yet.

    >>> variable_of("rain", ["no", "yes"]).states, variable_of("height", float).kind
    (('no', 'yes'), 'numeric')
    """
    return Variable(name, *_read_states(name, states))


def _read_states(name: Name, states: object) -> tuple[Kind, tuple[Label, ...], int, bool]:
    """Return the kind of a node, its states, how many were declared, and whether they are all."""
    if states is float or (isinstance(states, str) and states == "continuous"):
        return "numeric", (), 0, False
    labels = () if states is None else state_labels(name, states)
    return "categorical", labels, len(labels), True


def state_labels(name: Name, states: object) -> tuple[Label, ...]:
    """Check a list of states: at least one, none twice, none missing, each hashable."""
    if isinstance(states, (str, bytes, set, frozenset, Mapping, type)) or not isinstance(states, Iterable):
        raise SettingError(
            f"The states of {name!r} are {states!r}. Give a list in their order, or float for a continuous node."
        )
    labels = tuple(s.item() if isinstance(s, np.generic) else s for s in states)
    if not labels:
        raise SettingError(f"{name!r} has an empty list of states. It needs one at least.")
    for label in labels:
        if type(label) is not str and (not is_label(label) or is_missing(label)):
            raise SettingError(
                f"{label!r} cannot be a state of {name!r}: None and NaN mean missing, and a state is hashable."
            )
    if len(set(labels)) < len(labels):
        raise SettingError(f"{name!r} has the state {first_twice(labels)!r} twice.")
    return labels
