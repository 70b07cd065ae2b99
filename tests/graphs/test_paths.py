"""Paths: all of them, the shortest first, each judged, and never too much work."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit._graphs.dag import Dag
from bayeskit._graphs.separation import PathBudget, PathJudge, d_separated, paths_between, simple_paths
from graph_twin import all_paths, below, dags, is_blocked
from test_relations import SEVEN
from work import check_growth


@given(dags(least=2, most=7), st.data())
def test_all_paths_and_what_blocks_them(dag, data):
    a, b = data.draw(st.permutations(dag.nodes))[:2]
    observed = data.draw(st.sets(st.sampled_from(dag.nodes))) - {a, b}
    paths, complete = paths_between(dag, [a], [b], observed, max_paths=10**6)
    found = [path.nodes for path in paths]
    assert complete
    assert Counter(found) == Counter(all_paths(dag, a, b))
    assert [len(nodes) for nodes in found] == sorted(len(nodes) for nodes in found)
    for path in paths:
        assert path.blocked is is_blocked(dag, path.nodes, observed)
        for turn in path.turns:
            seen = below(dag, turn.node) & observed
            assert turn.is_observed is (turn.node in observed)
            if turn.kind == "head-to-head":
                assert turn.blocks is (not seen)
                assert (
                    (turn.observed_below in seen)
                    if seen - {turn.node} and not turn.is_observed
                    else (turn.observed_below is None)
                )
            else:
                assert turn.blocks is turn.is_observed


@given(dags(least=3, most=7), st.data())
def test_a_short_list_says_so_and_has_an_open_path(dag, data):
    a, b = data.draw(st.permutations(dag.nodes))[:2]
    observed = data.draw(st.sets(st.sampled_from(dag.nodes))) - {a, b}
    most = data.draw(st.integers(1, 3))
    n_paths = sum(1 for _ in all_paths(dag, a, b))
    paths, complete = paths_between(dag, [a], [b], observed, max_paths=most)
    assert len(paths) == min(most, n_paths) == len(set(paths))
    assert complete is (n_paths <= most)
    if not d_separated(dag, [a], [b], observed):
        assert not all(path.blocked for path in paths)


def test_sets_of_ends():
    paths, complete = paths_between(SEVEN, ["x1", "x2"], ["x6", "x7"], ["x4"], max_paths=1000)
    wanted = [p for a in ("x1", "x2") for b in ("x6", "x7") for p in all_paths(SEVEN, a, b)]
    assert complete and Counter(p.nodes for p in paths) == Counter(wanted)
    assert len(paths[0].nodes) == 3


@pytest.mark.parametrize(
    ("nodes", "observed", "kind", "blocks", "reason"),
    [
        (("x4", "x1", "x5"), [], "tail-to-tail", False, "is not observed"),
        (("x4", "x1", "x5"), ["x1"], "tail-to-tail", True, "is observed"),
        (("x1", "x4", "x6"), [], "head-to-tail", False, "is not observed"),
        (("x6", "x4", "x1"), ["x4"], "head-to-tail", True, "is observed"),
        (("x1", "x4", "x2"), [], "head-to-head", True, "is not observed, nor is any descendant of it"),
        (("x1", "x4", "x2"), ["x4"], "head-to-head", False, "is observed"),
        (("x1", "x4", "x2"), ["x7"], "head-to-head", False, "is not observed, but its descendant x7 is"),
        (("x1", "x4", "x2"), ["x5"], "head-to-head", True, "is not observed, nor is any descendant of it"),
    ],
)
def test_turns(nodes, observed, kind, blocks, reason):
    path = PathJudge(SEVEN, observed).path(nodes)
    (turn,) = path.turns
    assert (turn.kind, turn.blocks, turn.reason) == (kind, blocks, reason)
    assert path.blocked is blocks


def test_as_text():
    judge = PathJudge(SEVEN)
    assert str(judge.path(("x6", "x4", "x1", "x5", "x7"))) == "x6 ← x4 ← x1 → x5 → x7"
    assert str(judge.path(("x4", "x6"))) == "x4 → x6"
    assert judge.path(("x4", "x6")).turns == ()


def test_no_path():
    dag = Dag.of({"b": ["a"]}, "abc")
    assert paths_between(dag, "a", "c") == ((), True)


def chain(n):
    return Dag.of({k: [k - 1] for k in range(1, n)}, range(n)), 0, n - 1


def hairy_chain(n):
    """A chain on whose every node hangs a small clique, from which nothing leads on."""
    parents = {}
    for k in range(n):
        parents[k, 0] = [(k - 1, 0)] if k else []
        for j in range(1, 6):
            parents[k, j] = [(k, i) for i in range(j)]
    return Dag.of(parents, list(parents)), (0, 0), (n - 1, 0)


def grid(n):
    parents = {
        (i, j): [p for p in ((i - 1, j), (i, j - 1)) if min(p) >= 0] for i in range(n) for j in range(n)
    }
    return Dag.of(parents, list(parents)), (0, 0), (n - 1, n - 1)


def clique_with_a_tail(n, tail):
    parents = {k: list(range(k)) for k in range(n)} | {k: [k - 1] for k in range(n, n + tail)}
    return Dag.of(parents, range(n + tail)), 0, n + tail - 1


@pytest.mark.parametrize(
    ("graph", "small", "large", "shortest", "all_there"),
    [
        (chain, (250,), (10_000,), 10_000, True),
        (hairy_chain, (25,), (1_000,), 1_000, True),
        (grid, (16,), (60,), 119, False),
        (clique_with_a_tail, (20, 100), (40, 1_000), 1_002, False),
    ],
    ids=["chain", "hairy chain", "grid", "clique"],
)
def test_large_graphs_take_little_work(graph, small, large, shortest, all_there):
    def finding(times):
        dag, a, b = graph(*(times * size for size in small))
        return lambda: paths_between(dag, [a], [b], max_paths=20)

    # Twice the size: a grid has four times the nodes, and a clique four times the arcs.
    check_growth(finding, 1, most=2.2 if all_there else 4.4)
    dag, a, b = graph(*large)
    paths, complete = paths_between(dag, [a], [b], max_paths=20)
    assert complete is all_there
    assert len(paths) == (1 if all_there else 20)
    assert len(paths[0].nodes) == shortest
    assert all(len(set(path.nodes)) == len(path.nodes) for path in paths)


def test_the_effort_bounds_the_work_and_is_told():
    dag, a, b = grid(30)
    near = {n: [*dag.parents_of(n), *dag.children[n]] for n in dag.nodes}
    effort = PathBudget(5_000)
    found = list(simple_paths(near, a, b, effort))
    assert effort.is_spent and 0 < len(found) < 5_000
    assert not list(simple_paths(near, a, b, PathBudget(100)))
