"""Classes of equivalent graphs, and the distance between them."""

from __future__ import annotations

import itertools
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit._graphs.dag import Dag, v_structures
from bayeskit.errors import Incompatible
from bayeskit.networks import Cpdag, cpdag, shd
from graph_twin import all_dags, colliders, dags, meek, skeleton
from refusals import refuses
from test_relations import SEVEN

# The numbers of classes of graphs with n labelled nodes (OEIS A007984).
N_CLASSES = {1: 1, 2: 2, 3: 11, 4: 185}


@pytest.mark.parametrize("n", N_CLASSES)
def test_equal_exactly_where_skeleton_and_v_structures_are(n):
    by_class, by_look = defaultdict(set), defaultdict(set)
    for dag in all_dags(n):
        by_class[cpdag(dag)].add(dag)
        by_look[skeleton(dag), colliders(dag)].add(dag)
    assert sorted(map(sorted_arcs, by_class.values())) == sorted(map(sorted_arcs, by_look.values()))
    assert len(by_class) == N_CLASSES[n]
    for found, members in by_class.items():
        # A direction is kept exactly where all members have it.
        assert set(found.directed) == set.intersection(*(set(dag.arcs) for dag in members))


def sorted_arcs(members):
    return sorted(sorted(dag.arcs) for dag in members)


@given(dags(most=8))
def test_meek_rules_give_the_same(dag):
    found = cpdag(dag)
    directed, undirected = meek(dag)
    assert set(found.directed) == directed
    assert set(map(frozenset, found.undirected)) == undirected
    assert len(found.directed) + len(found.undirected) == len(dag.arcs)
    assert all(dag.position[x] < dag.position[y] for x, y in found.undirected)


@given(dags(most=8))
def test_v_structures(dag):
    found = v_structures(dag)
    assert {(frozenset((x, y)), z) for x, z, y in found} == colliders(dag)
    assert len(found) == len(colliders(dag))
    assert all(dag.position[x] < dag.position[y] for x, _, y in found)


@given(dags(most=7), st.randoms())
def test_the_order_of_nodes_and_parents_does_not_matter(dag, random):
    nodes = random.sample(dag.nodes, len(dag.nodes))
    turned = Dag.of({n: random.sample(p, len(p)) for n, p in dag.as_mapping().items()}, nodes)
    assert cpdag(turned) == cpdag(dag)
    assert hash(cpdag(turned)) == hash(cpdag(dag))
    assert shd(turned, dag) == shd(turned, dag, dag=True) == 0


def test_distance_is_one():
    graphs = list(all_dags(3))
    for a, b in itertools.product(graphs, repeat=2):
        assert shd(a, b) == shd(b, a) == shd(cpdag(a), b)
        assert (shd(a, b) == 0) is (cpdag(a) == cpdag(b))
        assert (shd(a, b, dag=True) == 0) is (set(a.arcs) == set(b.arcs))
    far = {(a, b): shd(a, b) for a, b in itertools.product(graphs, repeat=2)}
    for a, b, c in itertools.product(graphs, repeat=3):
        assert far[a, c] <= far[a, b] + far[b, c]


def test_worked():
    chain, back = Dag.of({"b": ["a"], "c": ["b"]}, "abc"), Dag.of({"b": ["c"], "a": ["b"]}, "abc")
    fork = Dag.of({"c": ["a", "b"]}, "abc")
    assert cpdag(chain) == cpdag(back) == Cpdag(("a", "b", "c"), (), (("a", "b"), ("b", "c")))
    assert cpdag(fork) != cpdag(chain) != Cpdag(("a", "b"), (), ())
    assert shd(chain, back) == 0 and shd(chain, back, dag=True) == 2
    # a—b is gone, a→c is new, b—c has got a direction.
    assert shd(chain, fork) == 3 and shd(chain, fork, dag=True) == 2
    assert str(cpdag(Dag.of({}, "ab"))) == "no arcs"
    # Every arc of the seven-node graph is forced: x1, x2, x3 collide at x4 and x5.
    assert cpdag(SEVEN).undirected == () and len(cpdag(SEVEN).directed) == 9
    assert len(v_structures(SEVEN)) == 7


def test_other_nodes_are_refused():
    with refuses(Incompatible, "c", "graph"):
        shd(Dag.of({}, "ab"), Dag.of({}, "abc"))


def test_a_long_chain():
    n = 10_000
    assert len(cpdag(Dag.of({k: [k - 1] for k in range(1, n)}, range(n))).undirected) == n - 1
