from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import graph_twin as twin
from bayeskit._graphs.dag import Dag, v_structures
from bayeskit._structure.search.pc import orient
from bayeskit._structure.search_protocol import Arcs, bits
from bayeskit.networks import cpdag
from oracle import edges_of, is_acyclic, random_dag


def neighbours(dag):
    return [bits([u for u in dag.nodes if (u, v) in dag.arcs or (v, u) in dag.arcs]) for v in dag.nodes]


def knowing(n, required=(), forbidden=()):
    everything = (1 << n) - 1
    return Arcs(
        tuple(everything & ~(1 << v) & ~bits([x for x, y in forbidden if y == v]) for v in range(n)),
        tuple(bits([x for x, y in required if y == v]) for v in range(n)),
        n,
    )


@given(twin.dags(most=7))
def test_the_class_of_a_graph(dag):
    found = orient(neighbours(dag), v_structures(dag), Arcs.all(len(dag.nodes)))
    wanted = cpdag(dag)
    assert edges_of(found) == (set(wanted.directed), set(map(frozenset, wanted.undirected)))
    assert found.conflicts == ()


def all_of_class(dag):
    """Yield every graph with the skeleton and the head-to-head nodes of this one."""
    edges = [tuple(sorted(edge)) for edge in twin.skeleton(dag)]
    for turned in itertools.product((False, True), repeat=len(edges)):
        parents = [[] for _ in dag.nodes]
        for (x, y), back in zip(edges, turned, strict=True):
            parents[x if back else y].append(y if back else x)
        if is_acyclic([bits(p) for p in parents]):
            other = Dag.of(dict(enumerate(parents)), dag.nodes)
            if twin.colliders(other) == twin.colliders(dag):
                yield other


@pytest.mark.parametrize("by", ["required", "forbidden"])
def test_with_knowledge_every_direction_that_follows_is_found(by):
    rng = random.Random(5)
    with_knowledge = 0
    for _ in range(150):
        dag = random_dag(rng, 5, 0.75)
        known = [arc for arc in dag.arcs if rng.random() < 0.2]
        graphs = [set(g.arcs) for g in all_of_class(dag) if set(known) <= set(g.arcs)]
        agreed = set.intersection(*graphs)
        arcs = knowing(5, known) if by == "required" else knowing(5, forbidden=[(y, x) for x, y in known])
        found = orient(neighbours(dag), v_structures(dag), arcs)
        assert edges_of(found)[0] == agreed
        assert found.conflicts == ()
        with_knowledge += bool(known)
    assert with_knowledge > 50


def test_rule_4():
    # x = 0, w = 1, v = 2, y = 3: w → v → y is known, x is joined to all, w and y are not: x → y.
    near = [0b1110, 0b0101, 0b1011, 0b0101]
    found = orient(near, [], knowing(4, [(1, 2), (2, 3)]))
    assert edges_of(found) == ({(1, 2), (2, 3), (0, 3)}, {frozenset((0, 1)), frozenset((0, 2))})


def test_head_to_head_nodes_that_contradict_each_other():
    # 0 — 1 — 2 — 3: 1 is head-to-head between 0 and 2, and 2 between 1 and 3.
    found = orient([0b0010, 0b0101, 0b1010, 0b0100], [(0, 1, 2), (1, 2, 3)], Arcs.all(4))
    assert edges_of(found) == ({(0, 1), (3, 2)}, {frozenset((1, 2))})
    assert found.conflicts == ((1, 2),)


def test_knowledge_stands_against_head_to_head_nodes():
    found = orient([0b010, 0b101, 0b010], [(0, 1, 2)], knowing(3, forbidden=[(0, 1)]))
    assert edges_of(found) == ({(1, 0), (2, 1)}, set())
    assert found.conflicts == ((0, 1),)


def test_a_cycle_stays_undirected_and_is_told():
    # A ring of four, each node head-to-head in its turn: 0 → 1 → 2 → 3 → 0 with arms from outside.
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    near = [0] * 8
    for x, y in [*ring, *((v + 4, v) for v in range(4))]:
        near[x] |= 1 << y
        near[y] |= 1 << x
    heads = [(x, y, y + 4) for x, y in ring]
    found = orient(near, heads, Arcs.all(8))
    assert is_acyclic(found.parents)
    assert found.conflicts == ((0, 1), (0, 3), (1, 2), (2, 3))
    assert edges_of(found) == ({(v + 4, v) for v in range(4)}, {frozenset(arc) for arc in ring})


def renamed(some, place):
    return bits([place[v] for v in range(len(place)) if some >> v & 1])


@given(st.data())
def test_any_input_gives_no_cycle_and_the_numbers_do_not_matter(data):
    n = data.draw(st.integers(3, 7))
    pairs = list(itertools.combinations(range(n), 2))
    joined = [pair for pair in pairs if data.draw(st.booleans())]
    near = [bits([u for u in range(n) if (min(u, v), max(u, v)) in joined]) for v in range(n)]
    triples = [
        (a, c, b)
        for c in range(n)
        for a, b in pairs
        if near[c] >> a & 1 and near[c] >> b & 1 and (a, b) not in joined
    ]
    heads = [triple for triple in triples if data.draw(st.booleans())]
    forbidden = [pair for pair in joined if data.draw(st.integers(0, 5)) == 0]
    found = orient(near, heads, knowing(n, forbidden=forbidden))
    directed, undirected = edges_of(found)
    assert is_acyclic(found.parents)
    assert {frozenset(a) for a in directed} | undirected == set(map(frozenset, joined))
    assert not directed & set(forbidden)
    place = data.draw(st.permutations(range(n)))
    again = orient(
        [renamed(near[place.index(v)], place) for v in range(n)],
        [(place[a], place[c], place[b]) for a, c, b in heads],
        knowing(n, forbidden=[(place[x], place[y]) for x, y in forbidden]),
    )
    assert edges_of(again) == (
        {(place[x], place[y]) for x, y in directed},
        {frozenset(place[v] for v in edge) for edge in undirected},
    )


@given(twin.dags(least=3, most=6), st.integers(0, 10**6))
def test_true_knowledge_never_contradicts(dag, seed):
    rng = random.Random(seed)
    required = [arc for arc in dag.arcs if rng.random() < 0.3]
    assume(required)
    found = orient(neighbours(dag), v_structures(dag), knowing(len(dag.nodes), required))
    assert found.conflicts == ()
    assert edges_of(found)[0] <= set(dag.arcs) and set(required) <= edges_of(found)[0]
