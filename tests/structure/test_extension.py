"""Directing the edges of a class: a member of it where there is one, else a lawful graph."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._graphs.dag import Dag
from bayeskit._structure.search.equivalence import extended
from bayeskit._structure.search_protocol import Arcs, Graph, bits, members
from bayeskit.networks import cpdag
from graph_twin import dags
from learning_twin import class_of, is_acyclic


def as_graph(dag):
    """Return the class of a graph over 0 … n−1."""
    found = cpdag(dag)
    parents = [bits([a for a, b in found.directed if b == v]) for v in range(len(dag.nodes))]
    return Graph(tuple(parents), frozenset((min(edge), max(edge)) for edge in map(tuple, found.undirected)))


def as_dag(parents):
    return Dag.of({v: [*members(mine)] for v, mine in enumerate(parents)}, range(len(parents)))


def skeleton(parents, undirected=()):
    return {frozenset((u, v)) for v, mine in enumerate(parents) for u in members(mine)} | {
        frozenset(edge) for edge in undirected
    }


@given(dags(most=7))
def test_a_member_of_the_class(dag):
    graph = as_graph(dag)
    found = extended(graph, Arcs.all(len(dag.nodes)))
    assert class_of(as_dag(found)) == class_of(dag)


@st.composite
def anything(draw):
    """Draw a graph of arcs without a cycle and edges, no more: tests may contradict each other."""
    n = draw(st.integers(1, 6))
    parents, undirected = [0] * n, set()
    order = draw(st.permutations(range(n)))
    allowed = [0] * n
    for a, b in itertools.combinations(order, 2):
        kind = draw(st.sampled_from("narue"))
        if kind in "ar":
            parents[b] |= 1 << a
            allowed[b] |= 1 << a
        elif kind in "ue":
            undirected.add((min(a, b), max(a, b)))
        if draw(st.booleans()):
            allowed[b] |= 1 << a
        if draw(st.booleans()):
            allowed[a] |= 1 << b
    most = max((mine.bit_count() for mine in parents), default=0)
    arcs = Arcs(tuple(allowed), tuple(parents), draw(st.integers(most, n)))
    return Graph(tuple(parents), frozenset(undirected)), arcs


@given(anything())
@settings(max_examples=300)
def test_always_lawful(drawn):
    graph, arcs = drawn
    found = extended(graph, arcs)
    assert is_acyclic(found) and arcs.permits(found)
    assert skeleton(found) <= skeleton(graph.parents, graph.undirected)
    assert all(mine & ~found[v] == 0 for v, mine in enumerate(graph.parents))
    if arcs.max_parents >= arcs.n - 1:
        # An edge is left out only where neither direction is allowed, or where the one that is makes a cycle.
        for a, b in graph.undirected:
            if arcs.allowed[b] >> a & 1 and arcs.allowed[a] >> b & 1:
                assert frozenset((a, b)) in skeleton(found)


@pytest.mark.parametrize("n", [4, 5, 6])
def test_a_ring_has_no_member(n):
    """A ring without a chord would need a collider: directed all the same."""
    ring = frozenset((min(a, b), max(a, b)) for a, b in zip(range(n), [*range(1, n), 0], strict=True))
    found = extended(Graph((0,) * n, ring), Arcs.all(n))
    assert is_acyclic(found) and skeleton(found) == set(map(frozenset, ring))
