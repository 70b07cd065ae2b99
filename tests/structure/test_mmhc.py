"""Max-min parents and children, and hill climbing among them: an oracle, a slow twin, bnlearn."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from bayeskit._fitting.search.family_scores import FamilyScores
from bayeskit._graphs.dag import Dag
from bayeskit._graphs.separation import d_separated
from bayeskit._structure import search_protocol
from bayeskit._structure.search.neighbourhoods import mmhc, mmpc
from bayeskit._structure.search_protocol import Arcs, Score, answer_all, bits, members
from bayeskit.networks import shd
from graph_twin import dags
from hill_climbing_twin import (
    MadeUp,
    golden_arcs,
    golden_rows,
    keeps,
    limits,
    named_arcs,
    skeleton,
    stopped,
)

seeds = st.integers(0, 10**6)


class MadeUpTests:
    """Tests whose results mean nothing, some of them equal; each may be asked once."""

    def __init__(self, seed):
        self.seed, self.asked = seed, []

    def result(self, a, b, given):
        drawn = random.Random(f"{self.seed} {min(a, b)} {max(a, b)} {given}")
        p = drawn.choice([0.0, 0.0, 0.0, 0.01, 0.02, 0.04, 0.3])
        return float(drawn.randrange(5)), 1, p

    def __call__(self, tests):
        self.asked += tests
        return [self.result(*test) for test in tests]


def max_min(arcs, result, alpha, max_given):
    """The neighbours as the paper finds them: one variable after the other, every subset."""
    n = arcs.n

    def weakest(v, u, among):
        sets = [s for k in range(max_given + 1) for s in itertools.combinations(among, k)]
        results = [result(v, u, bits(s)) for s in sets]
        return max((p, -statistic) for statistic, _, p in results)

    def of(v):
        found = []
        left = [u for u in range(n) if arcs.allowed[v] >> u & 1 or arcs.allowed[u] >> v & 1]
        while left := [u for u in left if weakest(v, u, found)[0] <= alpha]:
            best = min(left, key=lambda u: (weakest(v, u, found), u))
            left.remove(best)
            found.append(best)
        for u in [*found]:
            if weakest(v, u, [w for w in found if w != u])[0] > alpha:
                found.remove(u)
        return found

    sets = [of(v) for v in range(n)]
    return tuple(bits([u for u in sets[v] if v in sets[u]]) for v in range(n))


@given(limits(), seeds, st.integers(0, 5))
def test_neighbours_are_those_of_the_slow_one(arcs, seed, max_given):
    tests = MadeUpTests(seed)
    found = answer_all(mmpc(arcs, 0.05, max_given), tests)
    assert found == max_min(arcs, tests.result, 0.05, max_given)
    assert len(tests.asked) == len(set(tests.asked))
    assert all(test.given.bit_count() <= max_given and test.a < test.b for test in tests.asked)


@given(dags(least=2, most=6))
@settings(max_examples=60)
def test_an_oracle_finds_every_neighbour(dag):
    """Neighbours are never independent; another pair is found only where no subset of either set separates it."""
    n = len(dag.nodes)

    def oracle(tests):
        return [
            (0.0, 1, 1.0) if d_separated(dag, [t.a], [t.b], members(t.given)) else (1.0, 1, 0.0)
            for t in tests
        ]

    found = answer_all(mmpc(Arcs.all(n), 0.05, n), oracle)
    true = [bits([u for u in dag.nodes if (u, v) in dag.arcs or (v, u) in dag.arcs]) for v in range(n)]
    assert all(mine & ~some == 0 for mine, some in zip(true, found, strict=True))
    for v in range(n):
        for u in members(found[v] & ~true[v]):
            others = [w for w in members(found[v]) if w != u]
            subsets = (s for k in range(len(others) + 1) for s in itertools.combinations(others, k))
            assert not any(d_separated(dag, [u], [v], s) for s in subsets)


class Both:
    """Answers tests and scores that mean nothing."""

    def __init__(self, seed):
        self.tests, self.scores = MadeUpTests(seed), MadeUp(seed)

    def __call__(self, question):
        return (self.tests if isinstance(question[0], search_protocol.Test) else self.scores)(question)


@given(limits(least=2), seeds)
@settings(max_examples=60)
def test_arcs_join_neighbours_or_are_required(arcs, seed):
    answer = Both(seed)
    joined = answer_all(mmpc(arcs, 0.05, 3), answer)
    found = answer_all(mmhc(arcs, 0.05), answer).parents
    assert keeps(arcs, found)
    assert all(some & ~(joined[v] | arcs.required[v]) == 0 for v, some in enumerate(found))


@given(limits(least=2), seeds)
@settings(max_examples=15)
def test_it_may_be_stopped_at_any_question(arcs, seed):
    answer = Both(seed)
    for after in itertools.count():
        found = stopped(mmhc(arcs, 0.05, tabu=3), answer, after)
        if found is None:
            break
        assert keeps(arcs, found.parents)
    assert after >= 1


def likelihood_ratio(columns, sizes):
    """Answer tests from rows: G² with the degrees of freedom of the whole table."""

    def one(a, b, given):
        shape = [*(sizes[v] for v in members(given)), sizes[a], sizes[b]]
        rows = [*(columns[v] for v in members(given)), columns[a], columns[b]]
        table = np.bincount(np.ravel_multi_index(rows, shape), minlength=np.prod(shape))
        table = table.reshape(-1, sizes[a], sizes[b]).astype(float)
        expected = table.sum(1, keepdims=True) * table.sum(2, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = table * table.sum((1, 2), keepdims=True) / expected
            statistic = 2 * np.where(table > 0, table * np.log(ratio), 0.0).sum()
        df = (sizes[a] - 1) * (sizes[b] - 1) * len(table)
        return statistic, df, chi2.sf(statistic, df)

    return lambda tests: [one(*test) for test in tests]


class Rows:
    def __init__(self, columns, sizes):
        self.tests, self.scores = likelihood_ratio(columns, sizes), FamilyScores(columns, sizes, Score("bic"))

    def __call__(self, question):
        return (self.tests if isinstance(question[0], search_protocol.Test) else self.scores)(question)


@pytest.mark.parametrize("data", ["learning.test", "asia"])
def test_it_joins_those_that_bnlearn_joins(data):
    """Sets on which bnlearn finds the same neighbours in both orders of the columns."""
    names, sizes, columns = golden_rows(data, 5000)
    answer = Rows(columns, sizes)
    found = answer_all(mmpc(Arcs.all(len(names)), 0.05), answer)
    theirs = golden_arcs(data, "original", "mmpc")
    assert len(theirs) == 5
    assert skeleton(named_arcs(found, names)) == skeleton(theirs)


def test_its_graph_is_equivalent_to_that_of_bnlearn():
    names, sizes, columns = golden_rows("learning.test", 5000)
    parents = answer_all(mmhc(Arcs.all(6), 0.05), Rows(columns, sizes)).parents
    mine, theirs = named_arcs(parents, names), golden_arcs("learning.test", "original", "mmhc")

    def as_dag(arcs):
        return Dag.of({name: [u for u, v in sorted(arcs) if v == name] for name in names}, names)

    assert len(mine) == 5
    assert shd(as_dag(mine), as_dag(theirs)) == 0
