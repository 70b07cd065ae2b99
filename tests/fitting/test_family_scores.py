"""Scores of discrete families: equal to their formulas whichever way they are counted; laws of scores."""

from __future__ import annotations

import itertools
import math
from contextlib import ExitStack
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._counting.count_extensions import pack_states
from bayeskit._fitting.search import family_scores
from bayeskit._fitting.search.family_scores import FamilyScores
from bayeskit._structure.search_protocol import Family, Score, bits
from graph_twin import all_dags
from learning_twin import SCORES, class_of, discrete_rows, family_score

# Settings under which every family is counted in one way.
WAYS = {
    "bits": {"FEW_CELLS": 10**6, "MOST_PLANES": 1000},
    "rows": {"FEW_CELLS": 0},
    "numbered": {"FEW_CELLS": 0, "SMALL_TABLE": 0},
    "sorted": {"FEW_CELLS": 0, "MOST_CELLS": 0, "CELLS_A_ROW": 0},
    "no planes": {"FEW_CELLS": 10**6, "MOST_PLANES": 2},
}


def counted_by(way, columns, sizes, score):
    """Return a FamilyScores that counts in one way only, while the context lasts."""
    stack = ExitStack()
    for name, value in WAYS[way].items():
        home = family_scores
        stack.enter_context(mock.patch.object(home, name, value))
    return stack, FamilyScores(columns, sizes, score)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SCORES)
@given(rows=discrete_rows(most_variables=4), ess=st.sampled_from([0.1, 1.0, 10.0]))
@settings(max_examples=4)
def test_equal_to_the_formula(way, name, rows, ess):
    columns, sizes = rows
    stack, scores = counted_by(way, columns, sizes, Score(name, ess))
    with stack:
        for child in range(len(sizes)):
            others = [v for v in range(len(sizes)) if v != child]
            for size in range(len(others)):
                for some in itertools.combinations(others, size):
                    more = tuple(v for v in others if v not in some)
                    found = scores([Family(child, bits(some), more), Family(child, bits(some))])
                    wanted = [family_score(columns, sizes, child, bits([*some, v]), name, ess) for v in more]
                    assert found[0] == pytest.approx(wanted, rel=1e-11, abs=1e-9)
                    alone = family_score(columns, sizes, child, bits(some), name, ess)
                    assert found[1] == pytest.approx([alone], rel=1e-11, abs=1e-9)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("way", WAYS)
def test_more_states_than_a_byte_holds(way, name):
    rng = np.random.default_rng(3)
    sizes = np.array([300, 3, 270, 2])
    columns = np.array([rng.integers(0, size, 500) for size in sizes], np.uint32)
    stack, scores = counted_by(way, columns, sizes, Score(name))
    with stack:
        for child, parents in ((0, 0b1010), (1, 0b0101), (2, 0b0010), (3, 0b0111)):
            wanted = family_score(columns, sizes, child, parents, name)
            assert scores([Family(child, parents)])[0][0] == pytest.approx(wanted, rel=1e-11)


def test_more_configurations_than_any_type_holds():
    """70 parents of 40 states: 40^70 configurations, most of which do not fit 64 bits, and 200 rows."""
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 2, (71, 200)).astype(np.uint8)
    sizes = np.full(71, 40)
    parents = (1 << 71) - 2
    _, above = np.unique(columns[1:], axis=1, return_inverse=True)
    rows_of = np.bincount(above.ravel())
    child = np.bincount(above.ravel() * 2 + columns[0])
    fit = sum(n * math.log(n) for n in child if n) - sum(n * math.log(n) for n in rows_of)
    assert FamilyScores(columns, sizes, Score("loglik"))([Family(0, parents)])[0][0] == pytest.approx(
        fit, abs=1e-9
    )
    bic = FamilyScores(columns, sizes, Score("bic"))([Family(0, parents)])[0][0]
    assert bic == pytest.approx(-0.5 * math.log(200) * 39 * 40.0**70, rel=1e-12)
    assert math.isfinite(FamilyScores(columns, sizes, Score("bdeu"))([Family(0, parents)])[0][0])


def test_beyond_the_range_of_a_double():
    """300 parents of 40 states: 40^300 is no double; the score is low, and a number."""
    columns = np.zeros((301, 4), np.uint8)
    scores = FamilyScores(columns, np.full(301, 40), Score("bdeu"))
    assert math.isfinite(scores([Family(0, (1 << 301) - 2)])[0][0])
    scores = FamilyScores(columns, np.full(301, 40), Score("bic"))
    assert scores([Family(0, (1 << 301) - 2)])[0][0] < -1e290


def test_columns_that_name_every_row():
    """Neither the planes nor the tables grow with rows × rows."""
    n = 30_000
    rng = np.random.default_rng(1)
    columns = np.array([np.arange(n), rng.permutation(n), rng.integers(0, 2, n)], np.uint32)
    scores = FamilyScores(columns, np.array([n, n, 2]), Score("loglik"))
    assert scores._rows.planes.nbytes < 20 * n
    alone, told, by_coin = scores([Family(0, 0), Family(0, 0b010), Family(0, 0b100)])
    assert alone[0] == pytest.approx(-n * math.log(n))
    assert told[0] == 0.0
    heads = int(columns[2].sum())
    wanted = -heads * math.log(heads) - (n - heads) * math.log(n - heads)
    assert by_coin[0] == pytest.approx(wanted)
    assert scores([Family(2, 0b011)])[0][0] == 0.0


def test_one_wide_column_does_not_slow_down_the_others():
    rng = np.random.default_rng(1)
    sizes = np.array([2, 2, 2, 200])
    columns = np.array([rng.integers(0, size, 1000) for size in sizes], np.uint8)
    scores = FamilyScores(columns, sizes, Score("bic"))
    with mock.patch.object(scores, "_count_by_bits", wraps=scores._count_by_bits) as by_bits:
        found = scores([Family(0, 0, (1, 3, 2))])[0]
    assert by_bits.call_args.args[2].tolist() == [1, 2]
    wanted = [family_score(columns, sizes, 0, 1 << v, "bic") for v in (1, 3, 2)]
    assert found == pytest.approx(wanted, rel=1e-12)


def test_worked():
    """Child 0 0 1 1 1 with parent 0 0 0 1 1: the parent's 0 has (2, 1), its 1 has (0, 2)."""
    columns = np.array([[0, 0, 1, 1, 1], [0, 0, 0, 1, 1]], np.uint8)
    sizes = np.array([2, 2])
    fit = 2 * math.log(2 / 3) + math.log(1 / 3)
    # K2: Γ(2)/Γ(5) · 2!·1!  ×  Γ(2)/Γ(4) · 0!·2!
    k2 = math.log(2 / 24) + math.log(2 / 6)
    # BDeu, 4 imaginary rows: one a cell, so the same as K2.
    for score, wanted in (
        (Score("loglik"), fit),
        (Score("aic"), fit - 2),
        (Score("bic"), fit - math.log(5)),
        (Score("k2"), k2),
        (Score("bdeu", 4.0), k2),
        (Score("bds", 4.0), k2),
    ):
        assert FamilyScores(columns, sizes, score)([Family(0, 0b10)])[0][0] == pytest.approx(
            wanted, abs=1e-13
        )


@pytest.mark.parametrize("name", ["loglik", "aic", "bic", "bdeu"])
@given(rows=discrete_rows(most_variables=4), ess=st.sampled_from([0.5, 1.0, 8.0]))
@settings(max_examples=4)
def test_equivalent_graphs_have_equal_scores(name, rows, ess):
    columns, sizes = rows
    scores = FamilyScores(columns, sizes, Score(name, ess))
    by_class = {}
    for dag in all_dags(min(len(sizes), 3)):
        graph = [bits([dag.position[p] for p in mine]) for mine in dag.parents]
        total = sum(scores([Family(v, mine)])[0][0] for v, mine in enumerate(graph))
        by_class.setdefault(class_of(dag), []).append(total)
    assert len(by_class) == {2: 2, 3: 11}[min(len(sizes), 3)]
    for totals in by_class.values():
        assert totals == pytest.approx([totals[0]] * len(totals), rel=1e-11, abs=1e-9)


def test_k2_tells_equivalent_graphs_apart():
    """So the law above is a law of BDeu, not of any Dirichlet score."""
    columns = np.array([[0, 0, 1, 1, 1], [0, 0, 0, 1, 2]], np.uint8)
    scores = FamilyScores(columns, np.array([2, 3]), Score("k2"))
    one, other = scores([Family(0, 0), Family(1, 0b1)]), scores([Family(1, 0), Family(0, 0b10)])
    assert abs(sum(x[0] for x in one) - sum(x[0] for x in other)) > 0.05


def test_each_family_is_counted_once():
    columns = np.random.default_rng(0).integers(0, 2, (4, 50)).astype(np.uint8)
    scores = FamilyScores(columns, np.full(4, 2), Score("bic"))
    first = scores([Family(0, 0, (1, 2, 3)), Family(1, 0b1)])
    assert scores.n_scored == 4
    with mock.patch.object(scores, "_count", side_effect=AssertionError):
        again = scores([Family(0, 0, (3, 1)), Family(0, 0b100), Family(1, 0, (0,))])
    assert again[0].tolist() == [first[0][2], first[0][0]]
    assert again[1][0] == first[0][1]
    assert again[2][0] == first[1][0]
    # New ones among known ones: only they are counted.
    with mock.patch.object(scores, "_count", wraps=scores._count) as count:
        scores([Family(2, 0, (0,)), Family(2, 0, (0, 1, 3))])
    assert [call.args[2].tolist() for call in count.call_args_list] == [[0], [1, 3]]


@given(rows=discrete_rows(most_rows=200))
@settings(max_examples=20)
def test_planes_hold_the_rows_of_each_state(rows):
    columns, sizes = rows
    n = columns.shape[1]
    given_sizes = np.where(np.arange(len(sizes)) == 1, 0, sizes)  # the second has no planes
    first = np.concatenate([[0], np.cumsum(given_sizes)])
    planes = np.full((int(first[-1]), (n + 63) // 64), 7, np.uint64)
    pack_states(columns, given_sizes, first, planes)
    seen = np.unpackbits(planes.view(np.uint8), axis=1, bitorder="little")[:, :n]
    wanted = [columns[v] == s for v in range(len(sizes)) for s in range(int(given_sizes[v]))]
    assert (seen == np.array(wanted)).all()
