"""Graphs the slow way: paths by trying all, separation by its definition, classes by Meek's rules; random graphs."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

from bayeskit._graphs.dag import Dag
from bayeskit.errors import CyclicGraph


@st.composite
def dags(draw, least=1, most=6):
    """Draw a graph whose nodes stand in any order."""
    n = draw(st.integers(least, most))
    order = draw(st.permutations(range(n)))
    parents = {}
    for place, node in enumerate(order):
        parents[node] = [p for p in order[:place] if draw(st.booleans())]
    return Dag.of(parents, range(n))


def all_dags(n):
    """Yield every graph of n nodes, named by letters."""
    nodes = "abcdef"[:n]
    pairs = list(itertools.combinations(nodes, 2))
    for choice in itertools.product((None, False, True), repeat=len(pairs)):
        parents = {node: [] for node in nodes}
        for (x, y), back in zip(pairs, choice, strict=True):
            if back is not None:
                parents[x if back else y].append(y if back else x)
        try:
            yield Dag.of(parents, nodes)
        except CyclicGraph:
            continue


def below(dag, node):
    """Return a node and its descendants."""
    found = {node}
    while more := {c for p, c in dag.arcs if p in found} - found:
        found |= more
    return found


def all_paths(dag, a, b):
    """Yield the simple paths between two nodes, directions aside."""
    near = {n: [y for x, y in dag.arcs if x == n] + [x for x, y in dag.arcs if y == n] for n in dag.nodes}

    def extend(path):
        if path[-1] == b:
            yield tuple(path)
            return
        for other in near[path[-1]]:
            if other not in path:
                yield from extend([*path, other])

    yield from extend([a])


def is_blocked(dag, path, given):
    arcs = set(dag.arcs)
    for x, v, y in zip(path[:-2], path[1:-1], path[2:], strict=True):
        if (x, v) in arcs and (y, v) in arcs:
            if not below(dag, v) & set(given):
                return True
        elif v in given:
            return True
    return False


def separated(dag, a, b, given):
    """d-separation as it is defined: every path is blocked."""
    return all(is_blocked(dag, path, given) for x in a for y in b for path in all_paths(dag, x, y))


def skeleton(dag):
    return frozenset(map(frozenset, dag.arcs))


def colliders(dag):
    edges = skeleton(dag)
    return frozenset(
        (frozenset((x, y)), z)
        for x, z in dag.arcs
        for y, w in dag.arcs
        if z == w and x != y and frozenset((x, y)) not in edges
    )


def meek(dag):
    """Return (directed, undirected) of the class: v-structures, then Meek's rules 1 to 3 until nothing changes."""
    edges = skeleton(dag)
    directed = {(x, z) for pair, z in colliders(dag) for x in pair}

    def joined(x, y):
        return frozenset((x, y)) in edges

    def loose(x, y):
        return joined(x, y) and (x, y) not in directed and (y, x) not in directed

    def forced(x, y):
        ins = [w for w in dag.nodes if (w, y) in directed and loose(x, w)]
        return (
            any((w, x) in directed and w != y and not joined(w, y) for w in dag.nodes)
            or any((x, w) in directed and (w, y) in directed for w in dag.nodes)
            or any(not joined(v, w) for v, w in itertools.combinations(ins, 2))
        )

    while (
        more := {(x, y) for x in dag.nodes for y in dag.nodes if x != y and loose(x, y) and forced(x, y)}
        - directed
    ):
        directed |= more
    return directed, {edge for edge in edges if not {tuple(edge), tuple(edge)[::-1]} & directed}
