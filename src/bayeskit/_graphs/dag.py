"""A directed acyclic graph and its equivalence class (CPDAG) as values.

Nodes, arcs, ancestors, descendants, Markov blankets; v-structures and the structural Hamming distance.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Container, Hashable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from bayeskit._messages import Joined, Message, as_message, listed
from bayeskit._schema import Name, can_be_saved, first_twice, sorted_labels
from bayeskit._visible import visible
from bayeskit.errors import CyclicGraph, Incompatible, SettingError


def node_name(name: object) -> Name:
    """Check the name of a node. Like a column name, it must survive being written to a file and read again.

    >>> node_name(np.int64(3))
    3
    """
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, str):
        return str.__str__(name)
    if name is None or not is_label(name) or not can_be_saved(name):
        raise SettingError(
            "{name!r} cannot be the name of a node. Use a string, a number or a tuple of them.", name=name
        )
    return name


def parent_names(node: object, given: object, known: Container[Any]) -> tuple[Name, ...]:
    """Read the parents of one node: names in a list or array, one name, or None.

    >>> parent_names("wet", ["rain"], {"rain"}), parent_names("wet", "rain", {"rain"}), parent_names("wet", None, {})
    (('rain',), ('rain',), ())
    """
    if given is None:
        return ()
    if isinstance(given, str) or (isinstance(given, Hashable) and is_label(given) and given in known):
        return (node_name(given),)
    if isinstance(given, (bytes, Mapping)) or not isinstance(given, Iterable):
        raise SettingError("{given!r} is not a list of parents of {node!r}.", given=given, node=node)
    # A set has no order, but the axes of a table need one.
    ordered = sorted_labels(given) if isinstance(given, (set, frozenset)) else given
    return tuple(map(node_name, ordered))


def is_label(value: object) -> bool:
    """Return whether a value can be looked up: it is hashable and equals itself."""
    try:
        hash(value)
        return bool(value == value)
    except (TypeError, ValueError):
        return False


def unknown_node(name: object, nodes: Iterable[Name], where: str | Message = "") -> SettingError:
    """Return the error to raise; ``where`` says where the name was used.

    Examples
    --------
    >>> str(unknown_node("rian", ["rain", "wet"], "evidence names it"))
    "There is no node 'rian' (evidence names it). Did you mean 'rain'?"
    """
    known = tuple(nodes)
    written = {str(node): node for node in known}
    close = [written[text] for text in get_close_matches(str(name), list(written), n=3, cutoff=0.6)]
    if close:
        hint = Message("Did you mean {names}?", names=Joined(map(repr, close), " or "))
    elif known:
        hint = Message("There are {names}.", names=listed(map(repr, known), 12))
    else:
        hint = Message("There are no nodes.")
    if not where:
        return SettingError("There is no node {name!r}. {hint}", name=name, hint=hint)
    return SettingError(
        "There is no node {name!r} ({where}). {hint}", name=name, where=as_message(where), hint=hint
    )


@dataclass(frozen=True)
class Dag:
    """Nodes and their parents, without cycles.

    Parameters
    ----------
    nodes : tuple of names
    parents : tuple of tuples of names, one for each node
        The order of parents matters: models that back off leave out the last one first.

    Examples
    --------
    >>> Dag.of({"wet": ["rain"]}, ["rain", "wet"]).parents_of("wet")
    ('rain',)
    >>> Dag.of({"a": ["b"], "b": ["a"]}, ["a", "b"])
    Traceback (most recent call last):
    ...
    bayeskit.errors.CyclicGraph: The graph has a cycle: 'a' → 'b' → 'a'. Remove one of these arcs.
    """

    nodes: tuple[Name, ...]
    parents: tuple[tuple[Name, ...], ...]

    def __post_init__(self) -> None:
        known = set(self.nodes)
        if len(self.parents) != len(self.nodes) or len(known) != len(self.nodes):
            raise SettingError(
                "A graph of the nodes {listing} has {n} lists of parents; it needs one for each node, and no "
                "node twice.",
                listing=_listing(self.nodes),
                n=len(self.parents),
            )
        for node, parents in zip(self.nodes, self.parents, strict=True):
            for parent in parents:
                if parent not in known:
                    raise SettingError(
                        "{node!r} has the parent {parent!r}, which is not a node. There are {listing}.",
                        parent=parent,
                        node=node,
                        listing=_listing(self.nodes),
                    )
            if len(set(parents)) < len(parents):
                raise SettingError(
                    "{node!r} has the parent {name!r} twice.", node=node, name=first_twice(parents)
                )
        cycle = self._cycle()
        if cycle:
            raise CyclicGraph(cycle)

    @classmethod
    def of(cls, parents: Mapping[Name, Any], nodes: Iterable[Name]) -> Dag:
        """Read a mapping from node to parents; a node that is not named has none."""
        nodes = tuple(nodes)
        known = set(nodes)
        if not isinstance(parents, Mapping):
            raise SettingError(
                "structure is {parents!r}; give a mapping from attribute to its parents.", parents=parents
            )
        for node in parents:
            if node not in known:
                raise SettingError(
                    "structure names {node!r}, which is not a node. There are {listing}.",
                    node=node,
                    listing=_listing(nodes),
                )
        return cls(nodes, tuple(parent_names(node, parents.get(node, ()), known) for node in nodes))

    def parents_of(self, node: Name) -> tuple[Name, ...]:
        return self.parents[self.position[node]]

    @cached_property
    def position(self) -> dict[Name, int]:
        return {node: place for place, node in enumerate(self.nodes)}

    @cached_property
    def arcs(self) -> tuple[tuple[Name, Name], ...]:
        """(parent, child) of every arc."""
        return tuple(
            (p, node) for node, parents in zip(self.nodes, self.parents, strict=True) for p in parents
        )

    def as_mapping(self) -> dict[Name, tuple[Name, ...]]:
        return dict(zip(self.nodes, self.parents, strict=True))

    @cached_property
    def children(self) -> dict[Name, tuple[Name, ...]]:
        """The children of every node, in the order of the nodes."""
        found: dict[Name, list[Name]] = {node: [] for node in self.nodes}
        for parent, child in self.arcs:
            found[parent].append(child)
        return {node: tuple(children) for node, children in found.items()}

    def _cycle(self) -> list[Name]:
        """Return the nodes of some cycle, in the direction of its arcs and closed; empty if there is none."""
        state = dict.fromkeys(self.nodes, 0)  # 0 not seen, 1 on the path, 2 done
        for start in self.nodes:
            path = [start] if state[start] == 0 else []
            tried = [0]
            state[start] = 1 if path else state[start]
            while path:
                parents = self.parents_of(path[-1])
                if tried[-1] == len(parents):
                    state[path.pop()] = 2
                    tried.pop()
                    continue
                parent = parents[tried[-1]]
                tried[-1] += 1
                if state[parent] == 1:
                    found = path[path.index(parent) :]
                    return [found[0], *reversed(found)]
                if state[parent] == 0:
                    state[parent] = 1
                    path.append(parent)
                    tried.append(0)
        return []


def _listing(nodes: tuple[Name, ...]) -> Joined:
    return listed(map(repr, nodes), 12)


def topological_order(dag: Dag) -> tuple[Name, ...]:
    """Return the nodes with parents before their children, otherwise in the order of the graph.

    Examples
    --------
    >>> topological_order(Dag.of({"wet": ["rain"]}, ["wet", "rain", "wind"]))
    ('rain', 'wet', 'wind')
    """
    waiting = {node: len(parents) for node, parents in zip(dag.nodes, dag.parents, strict=True)}
    free = [place for place, parents in enumerate(dag.parents) if not parents]
    order = []
    while free:
        node = dag.nodes[heapq.heappop(free)]
        order.append(node)
        for child in dag.children[node]:
            waiting[child] -= 1
            if not waiting[child]:
                heapq.heappush(free, dag.position[child])
    return tuple(order)


def ancestors(dag: Dag, *nodes: Name) -> tuple[Name, ...]:
    """Return the ancestors of these nodes.

    Examples
    --------
    >>> ancestors(Dag.of({"b": ["a"], "c": ["b"]}, "abc"), "c")
    ('a', 'b')
    """
    return _in_order(dag, _beyond(dag.parents_of, nodes))


def descendants(dag: Dag, *nodes: Name) -> tuple[Name, ...]:
    """Return the descendants of these nodes.

    Examples
    --------
    >>> descendants(Dag.of({"b": ["a"], "c": ["b"]}, "abc"), "a")
    ('b', 'c')
    """
    return _in_order(dag, _beyond(dag.children.__getitem__, nodes))


def neighbourhood(dag: Dag, nodes: Iterable[Name], radius: int) -> set[Name]:
    """Return these nodes and all that are at most so many arcs away, in any direction.

    Examples
    --------
    >>> sorted(neighbourhood(Dag.of({"b": ["a"], "c": ["b"], "d": ["c"]}, "abcd"), ["c"], 1))
    ['b', 'c', 'd']
    """
    found = set(nodes)
    rim = found
    for _ in range(min(radius, len(dag.nodes))):
        rim = {other for name in rim for other in (*dag.parents_of(name), *dag.children[name])} - found
        found = found | rim
    return found


def markov_blanket(dag: Dag, node: Name) -> tuple[Name, ...]:
    """Return the parents, the children and the other parents of the children.

    Given these, the node is independent of all others.

    Examples
    --------
    >>> markov_blanket(Dag.of({"c": ["a", "b"], "d": ["c"]}, "abcd"), "a")
    ('b', 'c')
    """
    children = dag.children[node]
    found = {*dag.parents_of(node), *children, *(p for child in children for p in dag.parents_of(child))}
    return _in_order(dag, found - {node})


def moral_neighbours(dag: Dag) -> dict[Name, tuple[Name, ...]]:
    """Return the neighbours of every node in the moral graph: co-parents are joined and directions are dropped.

    Examples
    --------
    >>> moral_neighbours(Dag.of({"c": ["a", "b"]}, "abc"))
    {'a': ('b', 'c'), 'b': ('a', 'c'), 'c': ('a', 'b')}
    """
    found: dict[Name, set[Name]] = {node: set() for node in dag.nodes}
    for node, parents in zip(dag.nodes, dag.parents, strict=True):
        family = (node, *parents)
        for member in family:
            found[member].update(family)
    return {node: _in_order(dag, met - {node}) for node, met in found.items()}


def _beyond(step: Callable[[Name], Iterable[Name]], starts: Iterable[Name]) -> set[Name]:
    """Return everything reachable in at least one step."""
    found: set[Name] = set()
    todo = list(starts)
    while todo:
        for node in step(todo.pop()):
            if node not in found:
                found.add(node)
                todo.append(node)
    return found


def _in_order(dag: Dag, nodes: set[Name]) -> tuple[Name, ...]:
    return tuple(sorted(nodes, key=dag.position.__getitem__))


Arc = tuple[Name, Name]


@dataclass(frozen=True, eq=False)
class Cpdag:
    """An equivalence class of graphs (CPDAG): all graphs with the same independences.

    An edge is directed if all graphs of the class agree on its direction, otherwise undirected. Two classes
    are equal if they have the same nodes and edges, in any order.

    Parameters
    ----------
    nodes : tuple of names
    directed : tuple of (from, to)
    undirected : tuple of (first, second), in the order of the nodes
    """

    nodes: tuple[Name, ...]
    directed: tuple[Arc, ...]
    undirected: tuple[Arc, ...]

    @cached_property
    def _relations(self) -> dict[frozenset[Name], Arc | None]:
        """How each pair of neighbours is related: by an arc, or (None) by an undirected edge."""
        return {**{frozenset(a): a for a in self.directed}, **{frozenset(a): None for a in self.undirected}}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cpdag):
            return NotImplemented
        return set(self.nodes) == set(other.nodes) and self._relations == other._relations

    def __hash__(self) -> int:
        return hash((frozenset(self.nodes), frozenset(self._relations.items())))

    def __str__(self) -> str:
        arcs = [f"{a} → {b}" for a, b in self.directed] + [f"{a} — {b}" for a, b in self.undirected]
        return visible(", ".join(arcs) or "no arcs")


def v_structures(dag: Dag) -> list[tuple[Name, Name, Name]]:
    """Return every (x, z, y) with x → z ← y and no arc between x and y; x comes before y among the nodes.

    Examples
    --------
    >>> v_structures(Dag.of({"c": ["b", "a"]}, "abc"))
    [('a', 'c', 'b')]
    """
    parents = {node: set(above) for node, above in dag.as_mapping().items()}
    return [
        (x, z, y)
        for z in dag.nodes
        for x, y in combinations(sorted(parents[z], key=dag.position.__getitem__), 2)
        if x not in parents[y] and y not in parents[x]
    ]


def cpdag(dag: Dag) -> Cpdag:
    """Return the CPDAG: the class of graphs with the same skeleton and v-structures.

    Examples
    --------
    >>> print(cpdag(Dag.of({"b": ["a"], "c": ["b"]}, "abc")))
    a — b, b — c
    >>> print(cpdag(Dag.of({"c": ["a", "b"], "d": ["c"]}, "abcd")))
    a → c, b → c, c → d

    References
    ----------
    D. M. Chickering, "A transformational characterization of equivalent Bayesian network structures", UAI 1995.
    """
    compelled = _compelled(dag)
    return Cpdag(
        dag.nodes,
        tuple(arc for arc in dag.arcs if compelled[arc]),
        tuple(_sorted_arc(dag, arc) for arc in dag.arcs if not compelled[arc]),
    )


def shd(a: Dag | Cpdag, b: Dag | Cpdag, dag: bool = False) -> int:
    """Return the structural Hamming distance: the number of node pairs with different edges.

    Parameters
    ----------
    a, b : Dag or Cpdag over the same nodes
    dag : bool
        Compare the arcs of two Dags instead of their equivalence classes.

    Examples
    --------
    >>> chain, back = Dag.of({"b": ["a"]}, "ab"), Dag.of({"a": ["b"]}, "ab")
    >>> shd(chain, back), shd(chain, back, dag=True)
    (0, 1)

    References
    ----------
    I. Tsamardinos, L. E. Brown, C. F. Aliferis, "The max-min hill-climbing Bayesian network structure learning
    algorithm", Machine Learning 65 (2006).
    """
    strange = set(a.nodes) ^ set(b.nodes)
    if strange:
        name = next(node for node in (*a.nodes, *b.nodes) if node in strange)
        raise Incompatible(
            "{name!r} is a node of one graph only. Compare graphs over the same nodes.", name=name
        )
    one, other = (_as_class(graph, dag)._relations for graph in (a, b))
    return sum(
        pair not in one or pair not in other or one[pair] != other[pair] for pair in one.keys() | other.keys()
    )


def _as_class(graph: Dag | Cpdag, as_it_is: bool) -> Cpdag:
    if isinstance(graph, Cpdag):
        return graph
    return Cpdag(graph.nodes, graph.arcs, ()) if as_it_is else cpdag(graph)


def _compelled(dag: Dag) -> dict[Arc, bool]:
    """Label every arc: True if all graphs of the class have it in this direction (Chickering's order and label)."""
    order = {node: place for place, node in enumerate(topological_order(dag))}
    parents = {node: set(above) for node, above in dag.as_mapping().items()}
    label: dict[Arc, bool] = {}

    def mark(nodes: Iterable[Name], y: Name, value: bool) -> None:
        for node in nodes:
            label.setdefault((node, y), value)

    for y in order:
        if not parents[y]:
            continue
        x = max(parents[y], key=order.__getitem__)
        above = [w for w in parents[x] if label[w, x]]
        if all(w in parents[y] for w in above):
            mark(above, y, True)
            mark(parents[y], y, any(z != x and z not in parents[x] for z in parents[y]))
        else:
            mark(parents[y], y, True)
    return label


def _sorted_arc(dag: Dag, arc: Arc) -> Arc:
    a, b = arc
    return arc if dag.position[a] < dag.position[b] else (b, a)
