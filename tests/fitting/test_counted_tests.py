"""Tests of independence from statistics: equal to those of rows in memory, also when the rows come in pieces."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._counting.backend import count
from bayeskit._fitting.long_runs import run_search
from bayeskit._fitting.search.counted_columns import CountedScores, CountedTests
from bayeskit._fitting.search.family_scores import FamilyScores
from bayeskit._fitting.search.independence_tests import IndependenceTests
from bayeskit._graphs.network import discrete
from bayeskit._structure.search.neighbourhoods import mmhc
from bayeskit._structure.search.pc import pc
from bayeskit._structure.search_protocol import Arcs, Score, bits
from bayeskit._structure.search_protocol import Test as Question
from bayeskit.errors import DataError, SettingError
from bayeskit.extending import Chunk
from bayeskit.statistics import Plan
from refusals import refuses

NAMES = ("g2", "x2", "g2-adf", "x2-adf", "mi-sh")


def rows_of(seed, n=400, d=5):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, d)
    columns = np.empty((d, n), np.uint8)
    for v in range(d):
        copied = columns[v - 1] % sizes[v] if v else 0
        columns[v] = np.where(rng.random(n) < 0.6, copied, rng.integers(0, sizes[v], n))
    return columns, sizes


class Pieces:
    """Counts rows in pieces and adds them; keeps what it was asked for."""

    def __init__(self, columns, sizes, bounds):
        self.variables = [discrete(v, range(size)) for v, size in enumerate(sizes)]
        self.columns, self.bounds, self.plans = columns, bounds, []

    def __call__(self, plan: Plan):
        self.plans.append(plan)
        schema = CountedTests(self.variables, self).schema
        pieces = []
        for start, stop in itertools.pairwise(self.bounds):
            codes = np.ascontiguousarray(self.columns[:, start:stop].T)
            empty = np.empty((stop - start, 0))
            chunk = Chunk(stop - start, codes, empty, target=np.zeros(stop - start, np.uint32))
            pieces.append(count(chunk, schema, plan))
        return sum(pieces[1:], pieces[0])


def every_test(d=5):
    return [
        Question(a, b, bits(z))
        for a, b in itertools.permutations(range(d), 2)
        for k in range(d - 1)
        for z in itertools.combinations(set(range(d)) - {a, b}, k)
    ]


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), n=st.sampled_from([3, 60, 400]), min_rows=st.sampled_from([0.0, 5.0]))
def test_counts_in_pieces_are_tested_as_rows_in_memory(name, seed, n, min_rows):
    columns, sizes = rows_of(seed, n)
    source = Pieces(columns, sizes, [0, n // 3, n // 2, n])
    asked = every_test()
    here = IndependenceTests(columns, sizes, name, min_rows)(asked)
    tests = CountedTests(source.variables, source, name, min_rows)
    np.testing.assert_allclose(np.array(tests(asked)), np.array(here), rtol=1e-9, atol=1e-9)
    # One pass tells how many rows there are, one answers all tests; asking again costs none.
    assert len(source.plans) <= 2 and tests(asked[::-1]) == tests(asked)[::-1]
    assert len(source.plans) <= 2 and tests.n_tested == len(asked) // 2


def test_tests_over_the_same_variables_share_a_table():
    columns, _ = rows_of(1)
    source = Pieces(columns, np.full(5, 3), [0, 400])
    CountedTests(source.variables, source)(
        [Question(0, 1, 0b100), Question(0, 2, 0b010), Question(1, 2, 0b001)]
    )
    assert [
        len(pattern.attributes) for pattern in source.plans[-1].patterns if pattern.kind == "families"
    ] == [1]


@pytest.mark.parametrize("search", [pc, mmhc], ids=["pc", "mmhc"])
def test_a_search_finds_the_same_graph_wherever_the_rows_are(search):
    arcs = 0
    for seed in range(4):
        columns, sizes = rows_of(seed, 1500, 6)
        source = Pieces(columns, sizes, [0, 700, 1500])
        here = IndependenceTests(columns, sizes), FamilyScores(columns, sizes, Score("bic"))
        there = (
            CountedTests(source.variables, source),
            CountedScores(source.variables, source, Score("bic")),
        )

        def found(tests, scores):
            answer = lambda question: (tests if isinstance(question[0], Question) else scores)(question)  # noqa: E731
            return run_search(search(Arcs.all(6)), answer).graph

        assert found(*here) == found(*there)
        arcs += sum(map(bool, found(*here).parents)) + len(found(*here).undirected)
    assert arcs > 4


def test_what_cannot_be():
    columns, sizes = rows_of(3)[0].copy(), np.full(5, 3)
    columns[1, 7] = 3  # the code after the last state
    source = Pieces(columns, sizes, [0, 400])
    with refuses(DataError, 0, 1, "missing"):
        CountedTests(source.variables, source)([Question(1, 0, 0)])
    with refuses(SettingError, "test", "cor", "discrete"):
        CountedTests(source.variables, source, "cor")
