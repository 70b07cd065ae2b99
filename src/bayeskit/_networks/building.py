"""Reads a graph and its states as users write them, and returns a Network value and the axes of tables."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from reprlib import repr as shortly
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.columns import is_missing
from bayeskit._graphs.dag import Dag, is_label, node_name, parent_names
from bayeskit._graphs.network import Network, Node, discrete
from bayeskit._messages import Joined, Message, listed
from bayeskit._networks.arguments import real_numbers
from bayeskit._schema import Kind, Label, Name, Variable, first_twice, state_code
from bayeskit.errors import SettingError, TooLarge, UsageError
from bayeskit.typing import NamesLike, StatesLike

if TYPE_CHECKING:
    from bayeskit._networks.bayesian_network import BayesianNetwork


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
        Nodes that appear only as parents come after the others. A network keeps its tables.
    states : mapping node → its states, or one list for all nodes
        ``float`` or ``"continuous"`` instead of a list declares a continuous node. A node that is not named
        gets its states later.
    name : the name of the network

    Examples
    --------
    >>> network = network_of({"wet": ["rain"]}, states={"rain": ["no", "yes"], "wet": ["dry", "wet"]})
    >>> network.dag.nodes, network["wet"].variable.states
    (('wet', 'rain'), ('dry', 'wet'))
    """
    if not isinstance(name, str):
        raise SettingError("name={name!r}: the name of a network must be a string.", name=name)
    known = getattr(parents, "_network", parents)
    if isinstance(known, Network):
        if states is not None:
            raise SettingError("The network has its own states: leave states= out, and call set_states.")
        return replace(known, name=name or known.name)
    graph = _graph_of(known)
    variables = _variables(states, graph.nodes)
    return Network(tuple([Node(v, p) for v, p in zip(variables, graph.parents, strict=True)]), name)


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
            "A {kind} is not a graph with directed arcs. Give a mapping from node to its parents, a list of "
            "(parent, child), or a networkx.DiGraph.",
            kind=type(given).__name__,
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
                "{arc!r} is not an arc. A list of arcs contains pairs (parent, child); nodes without arcs need "
                "a mapping from node to its parents.",
                arc=arc,
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
        listing = listed(map(repr, nodes), 12)
        raise SettingError(
            "states= names {strange!r}, which is not a node. There are {listing}.",
            strange=strange,
            listing=listing or Message("none"),
        )
    read = [(node, *_read_states(node, states.get(node))) for node in nodes]
    return [Variable(*each) for each in read]


def variable_of(name: Name, states: object) -> Variable:
    """Return the variable of a node: a list of states, ``float`` for a continuous one, None for not known yet.

    >>> variable_of("rain", ["no", "yes"]).states, variable_of("height", float).kind
    (('no', 'yes'), 'numeric')
    """
    return Variable(name, *_read_states(name, states))


def _read_states(name: Name, states: object) -> tuple[Kind, tuple[Label, ...], int, bool]:
    """Return the kind of a node, its states, how many were declared, and whether the list is complete."""
    if states is float or (isinstance(states, str) and states == "continuous"):
        return "numeric", (), 0, False
    labels = () if states is None else state_labels(name, states)
    return "categorical", labels, len(labels), True


def state_labels(name: Name, states: object) -> tuple[Label, ...]:
    """Check a list of states: at least one, none twice, none missing, each hashable."""
    if isinstance(states, (str, bytes, set, frozenset, Mapping, type)) or not isinstance(states, Iterable):
        raise SettingError(
            "The states of {name!r} are {states!r}. Give a list in their order, or float for a continuous node.",
            name=name,
            states=states,
        )
    labels = tuple(s.item() if isinstance(s, np.generic) else s for s in states)
    if not labels:
        raise SettingError("{name!r} has an empty list of states. It needs at least one.", name=name)
    for label in labels:
        if type(label) is not str and (not is_label(label) or is_missing(label)):
            raise SettingError(
                "{label!r} cannot be a state of {name!r}: None and NaN mean missing, and a state must be "
                "hashable.",
                label=label,
                name=name,
            )
    if len(set(labels)) < len(labels):
        raise SettingError("{name!r} has the state {name2!r} twice.", name=name, name2=first_twice(labels))
    return labels


Place = tuple[int, ...]

# A table given cell by cell may not exceed this size, in bytes.
LARGEST_TABLE = 2**30


class Axes:
    """Discrete variables, one for each axis of a table of the node ``owner``.

    Parameters
    ----------
    owner : the node whose table it is, for messages
    variables : the variables of the axes
    open_last : bool
        The last variable has no states yet: they are collected in the order in which they occur.

    Examples
    --------
    >>> from bayeskit._graphs.network import discrete
    >>> axes = Axes("wet", [discrete("rain", ["no", "yes"]), discrete("wet", ["dry", "wet"])])
    >>> axes.cells({"no": {"dry": 0.9, "wet": 0.1}})
    [((0, 0), 0.9), ((0, 1), 0.1)]
    """

    def __init__(self, owner: Name, variables: Sequence[Variable], *, open_last: bool = False) -> None:
        self.owner = owner
        self.names = tuple(v.name for v in variables)
        self.states: list[list[Label]] = [list(v.states) for v in variables]
        self.open_last = open_last
        closed = self.names[:-1] if open_last else self.names
        for name, states in zip(closed, self.states[: len(closed)], strict=True):
            if not states:
                raise UsageError(
                    "The table of {owner!r} needs the states of {name!r}, which are not known yet. Call "
                    "set_states({name!r}, [...]), or pass states= when you create the network.",
                    owner=owner,
                    name=name,
                )

    @property
    def shape(self) -> Place:
        return tuple(len(states) for states in self.states)

    def code(self, axis: int, value: object) -> int:
        """Return the position of a state on an axis."""
        states = self.states[axis]
        if type(value) is str and value in states:
            return states.index(value)
        if self.open_last and axis == len(self.states) - 1 and not _among(value, states):
            states.extend(state_labels(self.names[axis], [value]))
        return state_code(self.names[axis], states, value)

    def where(self, place: Sequence[int]) -> str:
        """Return the position of a cell or a row in words; empty for a table without parents."""
        n = len(place)  # a row has no position on the child's axis
        pairs = zip(self.names[:n], self.states[:n], place, strict=True)
        return ", ".join(f"{name!r} = {states[int(k)]!r}" for name, states, k in pairs)

    def cells(self, given: Mapping[Any, Any]) -> list[tuple[Place, Any]]:
        """Yield the cells of nested mappings: the position given by the keys, and the value.

        A key is the state of the next axis, or a tuple of the states of the next few.
        """
        found: list[tuple[Place, Any]] = []
        waiting: deque[tuple[Place, Any]] = deque([((), given)])
        while waiting:
            place, here = waiting.popleft()
            if isinstance(here, Mapping) and len(place) < len(self.names):
                waiting.extend((place + self._places(len(place), key), value) for key, value in here.items())
            else:
                found.append((place, here))
        return found

    def _places(self, axis: int, key: object) -> Place:
        left = len(self.names) - axis
        one_state = _among(key, self.states[axis]) or (self.open_last and left == 1)
        if not isinstance(key, tuple) or one_state:
            return (self.code(axis, key),)
        if not 1 <= len(key) <= left:
            wanted = Joined(map(repr, self.names[axis:]))
            raise SettingError(
                "The table of {owner!r} has the key {key!r}, which should be states of {wanted}.",
                owner=self.owner,
                key=key,
                wanted=wanted,
            )
        return tuple(self.code(axis + k, state) for k, state in enumerate(key))

    def filled(self, cells: Iterable[tuple[Place, Any]]) -> NDArray[np.float64]:
        """Fill a table. Every cell must be given exactly once.

        A position without the last axes has an array over these axes as its value.
        """
        self.check_size()
        shape = self.shape
        if self.open_last and not shape[-1]:
            raise UsageError(
                "The table of {owner!r} names no states, and they are not known yet. Name them in it, or call "
                "set_states({owner!r}, [...]) first.",
                owner=self.owner,
            )
        values = np.zeros(shape)
        seen = np.zeros(shape, dtype=bool)
        for place, value in cells:
            part = numbers(value, self.owner, self.where(place))
            if part.shape != shape[len(place) :]:
                raise SettingError(
                    "The table of {owner!r} has {value}{at}, where {wanted} is needed.",
                    owner=self.owner,
                    value=shortly(value),
                    at=_at(self.where(place)),
                    wanted=_wanted(self.names[len(place) :], shape[len(place) :]),
                )
            if np.any(seen[place]):
                raise SettingError(
                    "The table of {owner!r} gives the value at {where} twice.",
                    owner=self.owner,
                    where=self.where(place),
                )
            values[place] = part
            seen[place] = True
        self.refuse_gaps(seen)
        return values

    def refuse_gaps(self, seen: NDArray[np.bool_]) -> None:
        """Raise an error that names missing cells, at most eight of them."""
        gaps = np.argwhere(~seen)
        if len(gaps):
            named = Joined((self.where(place) for place in gaps[:8]), "; ")
            more = Message("; … {n} more", n=len(gaps) - 8) if len(gaps) > 8 else ""
            raise SettingError(
                "The table of {owner!r} gives no value for {named}{more}. Every cell is needed, even if it is 0.",
                owner=self.owner,
                named=named,
                more=more,
            )

    def check_size(self, way_out: str | Message = "") -> None:
        cells = math.prod(self.shape)
        if 8 * cells > LARGEST_TABLE:
            way_out = way_out or Message(
                "Give {owner!r} fewer parents, or make them independent causes: set_noisy_or, set_noisy_max.",
                owner=self.owner,
            )
            raise TooLarge(8 * cells, LARGEST_TABLE, self.names, cells, way_out)


def numbers(value: object, owner: Name, where: str = "") -> NDArray[np.float64]:
    """Return real numbers as an array. Strings, complex numbers and ragged lists are an error.

    >>> numbers([1, 0.5], "rain")
    array([1. , 0.5])
    """
    array = real_numbers(value)
    if array is None:
        raise SettingError(
            "The table of {owner!r} has {value}{at}, where numbers are needed.",
            owner=owner,
            value=shortly(value),
            at=_at(where),
        )
    return array


def _among(value: object, states: Sequence[Label]) -> bool:
    try:
        return value in states
    except (TypeError, ValueError):  # pandas.NA and arrays cannot be compared
        return False


def _at(where: str) -> Message:
    return Message(" at {where}", where=where) if where else Message("")


def _wanted(names: Sequence[Name], shape: Place) -> Message:
    if not shape:
        return Message("one number")
    return Message(
        "an array of shape {shape} (the states of {names})", shape=shape, names=Joined(map(repr, names))
    )


def node_with_states(network: Network, name: Name) -> Node:
    """Return a discrete node whose states are known, or raise an error with the way out."""
    node = network[name]
    if not node.is_discrete:
        raise SettingError("{name!r} is continuous. Call set_gaussian({name!r}, ...).", name=name)
    if not node.variable.size:
        raise UsageError(
            "The states of {name!r} are not known yet. Call set_states({name!r}, [...]) first.", name=name
        )
    return node
