"""A graph with undirected edges → one without, free of cycles."""

from __future__ import annotations

from bayeskit.structure.arcs import Arcs
from bayeskit.structure.questions import Graph, members
from bayeskit.structure.search.partial import Partial, extension, topological


def extended(graph: Graph, arcs: Arcs) -> tuple[int, ...]:
    """Direct every edge: as a member of the class if there is one that keeps the limits, else in some order.

    Tests of independence may contradict each other, and then no graph has all the arcs and v-structures that
    they ask for. The edges that are left are directed from earlier to later variables of a topological order.

    Examples
    --------
    >>> extended(Graph((0, 0, 0), frozenset({(0, 1), (1, 2)})), Arcs.all(3))
    (0, 1, 2)
    """
    near = [0] * len(graph.parents)
    for a, b in graph.undirected:
        near[a] |= 1 << b
        near[b] |= 1 << a
    found = extension(Partial(graph.parents, tuple(near)))
    if found is not None and arcs.permits(found):
        return found
    parents = list(graph.parents)
    rank = {v: k for k, v in enumerate(topological(parents))}
    for a, b in sorted(graph.undirected):
        first, second = (a, b) if rank[a] < rank[b] else (b, a)
        if not arcs.allowed[second] >> first & 1:
            # The other way round, if no path leads back; otherwise the edge is left out.
            first, second = second, first
            if not arcs.allowed[second] >> first & 1 or _reaches(parents, second, first):
                continue
        if parents[second].bit_count() < arcs.max_parents:
            parents[second] |= 1 << first
            rank = {v: k for k, v in enumerate(topological(parents))}
    return tuple(parents)


def _reaches(parents: list[int], source: int, target: int) -> bool:
    """Tell whether a path of arcs leads from one variable to another."""
    seen = edge = 1 << target
    while edge:
        step = 0
        for v in members(edge):
            step |= parents[v]
        if step >> source & 1:
            return True
        edge = step & ~seen
        seen |= edge
    return False
