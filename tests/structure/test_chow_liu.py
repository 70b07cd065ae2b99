"""The tree of Chow and Liu: the best of all trees; its arcs without directions equal to bnlearn's."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit._fitting.search.family_scores import FamilyScores
from bayeskit._structure.search.optimal import chow_liu
from bayeskit._structure.search_protocol import Score, answer_all
from hill_climbing_twin import (
    Counted,
    golden_arcs,
    golden_rows,
    is_acyclic,
    named_arcs,
    skeleton,
    stopped,
)


def all_trees(n):
    """Yield the edges of every tree of n nodes."""
    for edges in itertools.combinations(itertools.combinations(range(n), 2), n - 1):
        group = list(range(n))
        for u, v in edges:
            group = [group[u] if g == group[v] else g for g in group]
        if len(set(group)) == 1:
            yield edges


def shared(weights):
    """Answer as if each pair shared this much, and each variable alone were worth −10 times its number."""

    def answer(question):
        return [
            np.array([weights[f.child, v] - 10.0 * f.child for v in (f.more or [f.child])]) for f in question
        ]

    return answer


@given(st.integers(2, 5), st.data())
def test_no_tree_weighs_more(n, data):
    weights = np.zeros((n, n))
    for u, v in itertools.combinations(range(n), 2):
        weights[u, v] = weights[v, u] = data.draw(st.integers(0, 6))  # so that there are ties
    skeletons = set()
    for root in range(n):
        parents = answer_all(chow_liu(n, root), shared(weights)).parents
        arcs = named_arcs(parents, range(n))
        assert parents[root] == 0
        assert all(some.bit_count() == 1 for v, some in enumerate(parents) if v != root)
        assert is_acyclic(parents)
        heaviest = max(sum(weights[u, v] for u, v in edges) for edges in all_trees(n))
        assert sum(weights[u, v] for u, v in arcs) == heaviest
        skeletons.add(skeleton(arcs))
    assert len(skeletons) == 1


def test_all_trees_are_tried():
    assert [sum(1 for _ in all_trees(n)) for n in (2, 3, 4, 5)] == [1, 3, 16, 125]  # Cayley: n^(n−2)


def test_of_equal_pairs_the_lowest():
    assert answer_all(chow_liu(4), shared(np.ones((4, 4)))).parents == (0, 1, 1, 1)


@pytest.mark.parametrize("n", [0, 1])
def test_there_may_be_no_pair(n):
    assert answer_all(chow_liu(n), shared(np.zeros((n, n)))).parents == (0,) * n


def test_stopped_it_has_no_arcs():
    assert stopped(chow_liu(3), shared(np.ones((3, 3))), 0).parents == (0, 0, 0)


def test_the_tree_of_rows_has_the_largest_likelihood_of_all_trees():
    rng = np.random.default_rng(1)
    columns = np.zeros((5, 300), np.uint8)
    for v in range(5):
        copied = columns[rng.integers(v)] if v else columns[0]
        columns[v] = np.where(rng.random(300) < 0.6, copied, rng.integers(0, 2 + v % 2, 300)) % (2 + v % 2)
    sizes = np.array([2 + v % 2 for v in range(5)])
    slow = Counted(columns, sizes, "loglik")
    found = answer_all(chow_liu(5), FamilyScores(columns, sizes, Score("loglik"))).parents

    def directed(edges):
        parents, reached = [0] * 5, {0}
        while len(reached) < 5:
            for u, v in [*edges, *((v, u) for u, v in edges)]:
                if u in reached and v not in reached:
                    parents[v] = 1 << u
                    reached.add(v)
        return parents

    best = max(slow.total(directed(edges)) for edges in all_trees(5))
    assert slow.total(found) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("data", ["asia", "learning.test", "alarm"])
def test_it_joins_those_that_bnlearn_joins(data, back):
    n = 10_000 if data == "alarm" else 5_000
    names, sizes, columns = golden_rows(data, n)
    if back:
        names, sizes, columns = names[::-1], sizes[::-1].copy(), np.ascontiguousarray(columns[::-1])
    found = answer_all(chow_liu(len(names)), FamilyScores(columns, sizes, Score("loglik"))).parents
    theirs = golden_arcs(data, "reversed" if back else "original", "chow_liu")
    assert len(theirs) == len(names) - 1
    assert skeleton(named_arcs(found, names)) == skeleton(theirs)
