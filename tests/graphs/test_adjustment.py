"""Adjustment sets against their definitions, over all subsets of small graphs; and the work for large ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._graphs.adjustment import (
    back_door_sets,
    cut_arcs,
    front_door_sets,
    instruments,
    smallest_cut,
)
from bayeskit._graphs.dag import Dag
from bayeskit._graphs.separation import d_separated
from graph_twin import all_paths, below, dags, is_blocked, separated
from work import steps


@st.composite
def questions(draw, most=6, several=True):
    """Draw a graph, causes, an outcome and hidden nodes."""
    dag = draw(dags(least=3, most=most))
    nodes = draw(st.permutations(dag.nodes))
    n_causes = draw(st.integers(1, 2)) if several and len(nodes) > 3 else 1
    rest = nodes[n_causes + 1 :]
    hidden = [node for node in rest if draw(st.integers(0, 3)) == 0]
    return dag, list(nodes[:n_causes]), [nodes[n_causes]], hidden


def subsets(nodes):
    return [set(z) for k in range(len(nodes) + 1) for z in itertools.combinations(nodes, k)]


def minimal(sets):
    return {frozenset(z) for z in sets if not any(other < z for other in sets)}


def is_back_door(dag, x, y, z):
    """Pearl's definition, where a path from one cause does not count if it passes another one's arrows."""
    if any(below(dag, cause) & z for cause in x):
        return False
    cut = cut_arcs(dag, out_of=x)
    return all(is_blocked(cut, path, z) for a in x for b in y for path in all_paths(cut, a, b))


def is_front_door(dag, x, y, z):
    def escapes(node):
        return node in y or (node not in z and any(escapes(child) for child in dag.children[node]))

    if any(escapes(node) for node in x):
        return False
    return separated(cut_arcs(dag, out_of=x), x, z, []) and separated(cut_arcs(dag, out_of=z), z, y, x)


@pytest.mark.parametrize(
    ("search", "holds"), [(back_door_sets, is_back_door), (front_door_sets, is_front_door)]
)
@given(question=questions())
@settings(deadline=None, max_examples=400)
def test_sets_are_those_of_the_definition(search, holds, question):
    dag, x, y, hidden = question
    free = [node for node in dag.nodes if node not in (*x, *y, *hidden)]
    wanted = minimal([z for z in subsets(free) if holds(dag, x, y, z)])
    found = list(search(dag, x, y, hidden))
    assert set(found) == wanted and len(found) == len(wanted)
    assert [len(z) for z in found] == sorted(len(z) for z in found)


@given(question=questions(several=False))
@settings(deadline=None, max_examples=400)
def test_instruments_are_those_of_the_definition(question):
    dag, (x,), (y,), hidden = question
    free = [n for n in dag.nodes if n not in (y, *hidden) and n not in below(dag, x)]
    cut = cut_arcs(dag, into=[x])
    wanted = {}
    for z in free:
        above = {n for n in dag.nodes if {z, y} & below(cut, n)}
        sizes = [
            len(w)
            for w in subsets([n for n in free if n != z and n in above])
            if separated(cut, [z], [y], w) and not separated(dag, [z], [x], w)
        ]
        if sizes:
            wanted[z] = min(sizes)
    found = dict(instruments(dag, x, y, hidden))
    assert {z: len(w) for z, w in found.items()} == wanted


M_GRAPH = Dag.of({"x": ["a"], "z": ["a", "b"], "y": ["b", "x"]}, "abzxy")
# Pearl, Causality (2009), figure 3.4.
FIGURE = Dag.of(
    {"x3": ["x1"], "x4": ["x1", "x2"], "x5": ["x2"], "xi": ["x3", "x4"], "x6": ["xi"], "xj": ["x6", "x4", "x5"]},
    ["x1", "x2", "x3", "x4", "x5", "xi", "x6", "xj"],
)  # fmt: skip


def test_textbook():
    assert list(back_door_sets(M_GRAPH, "x", "y")) == [frozenset()]  # z would open a path
    found = {frozenset(z) for z in back_door_sets(FIGURE, ["xi"], ["xj"])}
    assert found == {
        frozenset({"x3", "x4"}),
        frozenset({"x4", "x5"}),
        frozenset({"x1", "x4"}),
        frozenset({"x2", "x4"}),
    }
    assert [sorted(z) for z in front_door_sets(FIGURE, ["xi"], ["xj"], hidden=["x1", "x2"])] == [["x6"]]


def test_no_set_stands_between_neighbours():
    dag = Dag.of({"c": ["a", "b"]}, "abc")
    assert list(back_door_sets(dag, "c", "a")) == []
    assert list(front_door_sets(dag, "c", "a")) == [frozenset()]


def test_two_causes_of_which_one_is_the_parent_of_the_other():
    dag = Dag.of({"b": ["a"], "y": ["a", "b"]}, "aby")
    assert list(back_door_sets(dag, "ab", "y")) == [frozenset()]
    assert list(back_door_sets(dag, "b", "y")) == [frozenset("a")]


def test_smallest_cut_reroutes():
    """A path that was found first has to give way to two others."""
    arcs = {"s": "ab", "a": "cd", "b": "c", "c": "t", "d": "t", "t": ""}
    assert smallest_cut(arcs, "s", "t", set("abcd")) == {"a", "b"}
    assert smallest_cut(arcs, "s", "t", set("cd")) == {"c", "d"}
    assert smallest_cut(arcs, "s", "t", set("cd"), gone={"b", "d"}) == {"c"}
    assert smallest_cut(arcs, "s", "t", {"a"}) is None


def large(n, seed=0):
    """Return a graph of n nodes, each with up to three of the twenty before it as parents."""
    rng = np.random.default_rng(seed)
    parents = {k: sorted({int(p) for p in rng.integers(max(0, k - 20), k, min(k, 3))}) for k in range(1, n)}
    return Dag.of(parents, range(n))


def test_a_hundred_nodes_take_little_work():
    dag = large(100)
    x, y = [60], [99]
    found = []
    assert steps(lambda: found.extend(itertools.islice(back_door_sets(dag, x, y), 5))) < 10_000_000
    assert len(set(found)) == 5
    for z in found:
        assert d_separated(cut_arcs(dag, out_of=x), x, y, z)
    assert steps(lambda: list(front_door_sets(dag, x, y))) < 1_000_000
    assert steps(lambda: list(instruments(dag, 20, 99))) < 10_000_000


def test_many_ladders_are_listed_one_after_the_other():
    """Twenty separate back-door paths of two inner nodes have 2^20 minimal sets."""
    parents = {"x": [f"a{k}" for k in range(20)], "y": ["x", *(f"b{k}" for k in range(20))]}
    parents |= {f"b{k}": [f"a{k}"] for k in range(20)} | {f"a{k}": [] for k in range(20)}
    found = list(itertools.islice(back_door_sets(Dag.of(parents, parents), ["x"], ["y"]), 100))
    assert len(set(found)) == 100 and {len(z) for z in found} == {20}


@pytest.mark.parametrize("seed", range(4))
def test_no_node_can_be_left_out(seed):
    dag = large(30, seed)
    x, y = [15], [29]
    cut = cut_arcs(dag, out_of=x)
    for z in itertools.islice(back_door_sets(dag, x, y), 60):
        assert d_separated(cut, x, y, z)
        assert not any(d_separated(cut, x, y, z - {node}) for node in z)


def test_a_front_door_set_with_one_node_too_many_is_left_out():
    dag = Dag.of({"a": ["x", "u"], "b": ["a", "u"], "y": ["b"]}, "uxaby")
    assert is_front_door(dag, "x", "y", {"a", "b"})
    assert list(front_door_sets(dag, "x", "y")) == [frozenset("b"), frozenset("au")]
