"""d-separation against its definition, against numbers, and the facts every textbook states."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit._graphs.dag import Dag
from bayeskit._graphs.separation import d_separated, open_path, reachable
from graph_twin import all_dags, below, dags, is_blocked, separated
from network_twin import joint_table, random_network
from test_relations import SEVEN

COMMON_PARENT = Dag.of({"x3": ["x1"], "x4": ["x1"]}, ["x1", "x3", "x4"])
V_STRUCTURE = Dag.of({"x4": ["x1", "x2"]}, ["x1", "x2", "x4"])
CHAIN = Dag.of({"x": ["z"], "y": ["x"]}, ["z", "x", "y"])
CANCER = Dag.of({"b": ["a"], "c": ["b", "d"], "e": ["c"]}, "abcde")


@pytest.mark.parametrize(
    ("dag", "a", "b", "given", "wanted"),
    [
        (COMMON_PARENT, "x3", "x4", ["x1"], True),
        (COMMON_PARENT, "x3", "x4", [], False),
        (V_STRUCTURE, "x1", "x2", [], True),
        (V_STRUCTURE, "x1", "x2", ["x4"], False),
        (CHAIN, "z", "y", ["x"], True),
        (CHAIN, "z", "y", [], False),
        (CANCER, "a", "d", [], True),
        (CANCER, "a", "d", ["e"], False),  # below a head-to-head node
        (CANCER, "a", "d", ["e", "b"], True),
        (SEVEN, "x1", "x2", [], True),
        (SEVEN, "x1", "x3", [], True),
        (SEVEN, "x2", "x3", [], True),
        (SEVEN, "x1", "x2", ["x6"], False),
        (SEVEN, "x6", "x7", ["x4"], True),
        (SEVEN, "x6", "x7", [], False),
        (SEVEN, "x4", "x5", [], False),
        (SEVEN, "x4", "x5", ["x1", "x2", "x3"], True),
        (SEVEN, "x4", "x5", ["x1", "x2", "x3", "x7"], False),
    ],
)
def test_textbook(dag, a, b, given, wanted):
    assert d_separated(dag, [a], [b], given) is wanted
    assert d_separated(dag, [b], [a], given) is wanted


@given(dags(most=8))
def test_local_markov(dag):
    for node, parents in zip(dag.nodes, dag.parents, strict=True):
        others = set(dag.nodes) - below(dag, node) - set(parents)
        assert d_separated(dag, [node], others, parents)
        for parent in parents:
            assert not d_separated(dag, [node], [parent], set(parents) - {parent})


def test_every_question_to_every_graph_of_four():
    asked = 0
    for dag in all_dags(4):
        for a, b in itertools.combinations(dag.nodes, 2):
            rest = [n for n in dag.nodes if n not in (a, b)]
            for size in range(3):
                for observed in itertools.combinations(rest, size):
                    assert d_separated(dag, [a], [b], observed) is separated(dag, [a], [b], observed)
                    asked += 1
    assert asked == 543 * 6 * 4


@given(dags(least=2, most=7), st.data())
def test_sets_of_nodes(dag, data):
    side = data.draw(st.lists(st.sampled_from("ab.z"), min_size=len(dag.nodes), max_size=len(dag.nodes)))
    a, b, z = ([n for n, s in zip(dag.nodes, side, strict=True) if s == which] for which in "abz")
    wanted = separated(dag, a, b, z)
    assert d_separated(dag, a, b, z) is wanted
    path = open_path(dag, a, b, z)
    assert (path is None) is wanted
    if path is not None:
        assert path[0] in a and path[-1] in b and len(set(path)) == len(path)
        assert all((x, y) in dag.arcs or (y, x) in dag.arcs for x, y in itertools.pairwise(path))
        assert not is_blocked(dag, path, z)
    found = reachable(dag, a, z)
    assert found == {n for n in dag.nodes if n not in z and (n in a or not separated(dag, a, [n], z))}


@pytest.mark.parametrize("seed", range(25))
def test_separated_means_independent_in_numbers(seed):
    """And what is not separated depends in nearly all tables: in these, always."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, n_nodes=5, max_states=3)
    joint, dag = joint_table(network), network.dag
    for x, y in itertools.combinations(range(5), 2):
        for observed in itertools.chain.from_iterable(
            itertools.combinations([v for v in range(5) if v not in (x, y)], size) for size in range(4)
        ):
            others = tuple(v for v in range(5) if v not in (x, y, *observed))
            p = joint.sum(axis=others, keepdims=True)
            apart = p.sum(axis=x, keepdims=True) * p.sum(axis=y, keepdims=True)
            gap = np.abs(p * p.sum(axis=(x, y), keepdims=True) - apart).max()
            name = dag.nodes
            if d_separated(dag, [name[x]], [name[y]], [name[v] for v in observed]):
                assert gap < 1e-15
            elif min(joint.shape[v] for v in range(5)) > 1:
                assert gap > 1e-12


def test_explaining_away():
    """Rain and the sprinkler are independent until the grass is seen to be wet; Joe's lawn tells of rain alone."""
    dag = Dag.of({"joe": ["rain"], "grass": ["rain", "sprinkler"]}, ["rain", "sprinkler", "joe", "grass"])
    assert d_separated(dag, ["rain", "joe"], ["sprinkler"])
    assert not d_separated(dag, ["joe"], ["sprinkler"], ["grass"])
    assert d_separated(dag, ["joe"], ["sprinkler"], ["grass", "rain"])
    assert open_path(dag, ["joe"], ["sprinkler"], ["grass"]) == ("joe", "rain", "grass", "sprinkler")


def test_a_long_chain():
    n = 10_000
    chain = Dag.of({k: [k - 1] for k in range(1, n)}, range(n))
    assert not d_separated(chain, [0], [n - 1])
    assert d_separated(chain, [0], [n - 1], [n // 2])
    assert open_path(chain, [0], [n - 1]) == tuple(range(n))
