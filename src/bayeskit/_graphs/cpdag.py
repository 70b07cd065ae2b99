"""Equivalence classes of graphs (CPDAGs): v-structures, and the structural Hamming distance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from bayeskit._graphs.dag import Dag, topological_order
from bayeskit._schema import Name
from bayeskit._visible import visible
from bayeskit.errors import Incompatible

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
