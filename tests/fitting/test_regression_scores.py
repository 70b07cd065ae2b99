"""Scores over columns of both kinds: equal to least squares; nothing is infinite; laws of scores."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._fitting.search.family_scores import FamilyScores
from bayeskit._fitting.search.node_columns import read_nodes
from bayeskit._fitting.search.regression_scores import (
    IMPOSSIBLE,
    WELL_CONDITIONED,
    MixedScores,
    Sums,
    residual_squares,
    sum_centred,
)
from bayeskit._statistics.regressions import regressed
from bayeskit._structure.search_protocol import Family, Score, bits
from bayeskit.errors import SettingError
from graph_twin import all_dags
from learning_twin import class_of, regression_score
from reference import slow_residuals
from refusals import refuses


def mixed(seed, n=60):
    """Two discrete columns (0, 2) and three continuous ones (1, 3, 4)."""
    rng = np.random.default_rng(seed)
    a, c = rng.integers(0, 2, n), rng.integers(0, 3, n)
    x = rng.normal(size=n) + a
    y = 0.7 * x - c + rng.normal(size=n)
    z = 1e3 + rng.normal(size=n)
    return {"a": a.astype(str), "x": x, "c": c.astype(str), "y": y, "z": z}


@pytest.mark.parametrize("name", ["loglik", "aic", "bic"])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=6)
def test_equal_to_least_squares(name, seed):
    data = mixed(seed)
    columns = read_nodes(data, states={"a": ["0", "1", "never"]})
    scores = MixedScores(columns, Score(name))
    numbers = dict(enumerate(columns.numbers))
    for child in (1, 3, 4):
        numeric = [v for v in (1, 3, 4) if v != child]
        for k in range(3):
            for above in itertools.combinations(numeric, k):
                for discrete in ((), (0,), (2,), (0, 2)):
                    cells = np.zeros(60, int)
                    for v in discrete:
                        cells = cells * 10 + columns.codes[v]
                    if np.bincount(cells)[np.unique(cells)].min() < k + 3:
                        continue
                    q = math.prod(3 for _ in discrete)  # three declared states each
                    wanted = regression_score(numbers, cells, child, above, name, q)
                    found = scores([Family(child, bits([*discrete, *above]))])[0][0]
                    assert found == pytest.approx(wanted, rel=1e-9)


def test_discrete_children_are_scored_by_their_tables():
    columns = read_nodes(mixed(1))
    scores = MixedScores(columns, Score("bic"))
    tables = FamilyScores(columns.code_matrix(), columns.sizes[[0, 2]], Score("bic"))
    assert scores([Family(0, 0b100)])[0] == tables([Family(0, 0b10)])[0]
    # A continuous parent of a discrete child cannot be; the others are scored all the same.
    found = scores([Family(0, 0, (1, 2, 3))])[0]
    assert found.tolist() == [IMPOSSIBLE, tables([Family(0, 0b10)])[0][0], IMPOSSIBLE]
    assert scores([Family(2, 0b10)])[0].tolist() == [IMPOSSIBLE]
    assert scores([Family(2, 0b10, (0,))])[0].tolist() == [IMPOSSIBLE]


@given(seed=st.integers(0, 10**6))
@settings(max_examples=10)
def test_equivalent_graphs_have_equal_scores(seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3))
    scores = MixedScores(read_nodes(z), Score("bic"))
    by_class = {}
    for dag in all_dags(3):
        graph = [bits([dag.position[p] for p in mine]) for mine in dag.parents]
        total = sum(scores([Family(v, mine)])[0][0] for v, mine in enumerate(graph))
        by_class.setdefault(class_of(dag), []).append(total)
    assert len(by_class) == 11
    for totals in by_class.values():
        assert totals == pytest.approx([totals[0]] * len(totals), rel=1e-9)


@pytest.mark.parametrize("value", [0.1, 1e8 + 0.1, 0.0])
def test_a_constant_column_gains_nothing(value):
    data = mixed(2) | {"z": np.full(60, value)}
    scores = MixedScores(read_nodes(data), Score("bic"))
    alone, by_state, by_number = scores([Family(4, 0), Family(4, 0b1), Family(4, 0b10)])
    assert math.isfinite(alone[0])
    assert by_state[0] < alone[0] and by_number[0] < alone[0]
    # Nor does it tell anything of others.
    assert scores([Family(1, 0)])[0][0] > scores([Family(1, 0b10000)])[0][0]


def test_a_copy_is_sure_and_not_infinite():
    data = mixed(2)
    data["z"] = data["x"]
    scores = MixedScores(read_nodes(data), Score("bic"))
    copied = scores([Family(4, 0b10)])[0][0]
    assert math.isfinite(copied) and copied > scores([Family(4, 0)])[0][0] + 100
    assert math.isfinite(scores([Family(3, 0b10010)])[0][0])


def test_a_column_that_names_every_row_explains_nothing():
    """A cell of one row has no variance; were it taken for none, every such cell would be sure."""
    data = mixed(3) | {"a": [f"row {i}" for i in range(60)]}
    scores = MixedScores(read_nodes(data), Score("bic"))
    assert scores([Family(1, 0b1)])[0][0] < scores([Family(1, 0)])[0][0]
    pairs = mixed(3) | {"a": [f"pair {i // 2}" for i in range(60)]}
    scores = MixedScores(read_nodes(pairs), Score("bic"))
    assert scores([Family(1, 0b1001)])[0][0] < scores([Family(1, 0b1000)])[0][0]


def test_one_row():
    scores = MixedScores(read_nodes({"x": [2.5], "y": [1.5], "a": ["u"]}), Score("bic"))
    assert all(np.isfinite(scores([Family(0, some)])[0][0]) for some in (0, 0b10, 0b100, 0b110))


def test_many_discrete_parents():
    """70 columns of 3 states: their product fits no whole number of a machine."""
    rng = np.random.default_rng(0)
    data = {f"d{v}": rng.integers(0, 3, 30).astype(str) for v in range(70)} | {"y": rng.normal(size=30)}
    scores = MixedScores(read_nodes(data), Score("loglik"))
    spread = float(np.var(data["y"]))
    # All rows differ, so each cell has one: the variance of the column.
    wanted = -15 * math.log(2 * math.pi * spread)
    assert scores([Family(70, (1 << 70) - 1)])[0][0] == pytest.approx(wanted)


def test_each_family_is_counted_once_and_dirichlet_scores_are_refused():
    columns = read_nodes(mixed(1))
    scores = MixedScores(columns, Score("aic"))
    scores([Family(1, 0, (0, 3)), Family(1, 0b1000), Family(0, 0, (2,)), Family(0, 0b100)])
    assert scores.n_scored == 3
    for name in ("bdeu", "bds", "k2"):
        with refuses(SettingError, f"criterion={name!r}", "discrete"):
            MixedScores(columns, Score(name))


def test_rows_with_a_missing_cell_are_left_out():
    data = mixed(1)
    data["x"][:5] = np.nan
    scores = MixedScores(read_nodes(data), Score("bic"))
    rest = MixedScores(read_nodes({name: column[5:] for name, column in data.items()}), Score("bic"))
    assert scores.n_rows == 55
    for family in (Family(0, 0b100), Family(1, 0b1), Family(4, 0b1010)):
        assert scores([family])[0] == pytest.approx(rest([family])[0], rel=1e-12)


def sums_of(z, cell, weights):
    cells, m = int(cell.max()) + 1, len(z)
    n, mean, scatter = np.empty(cells), np.empty((cells, m)), np.empty((cells, m, m))
    sum_centred(z, np.arange(m), cell, weights, n, mean, scatter)
    return Sums(n, scatter)


@given(seed=st.integers(0, 10**6), weighted=st.booleans(), near=st.sampled_from([1.0, 1e-2, 0.0]))
@settings(max_examples=30)
def test_residuals_are_those_of_least_squares(seed, weighted, near):
    """Five columns; the last is the third again, but for a share of noise: none at all makes them collinear."""
    rng = np.random.default_rng(seed)
    n = 80
    z = rng.normal(size=(5, n)) * 10.0 ** rng.integers(-1, 2, (5, 1)) + rng.normal(size=(5, 1))
    z[1] += z[0]
    z[4] = z[2] + near * z[2].std() * rng.normal(size=n)
    cell, weights = rng.integers(0, 3, n), rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
    sums = sums_of(z, cell, weights)
    np.testing.assert_allclose(sums.n, np.bincount(cell, weights), rtol=1e-12)
    for inside, more in (((), (-1,)), ((), (0, 2)), ((2,), (0, 4)), ((2, 4), (-1,)), ((0, 4), (2,))):
        found = sums.residuals(np.array(inside, np.int64), np.array(more, np.int64), 1)
        wanted = slow_residuals(z, cell, weights, inside, more, 1)
        np.testing.assert_allclose(found, wanted, rtol=1e-8)


@given(seed=st.integers(0, 10**6), m=st.integers(0, 5))
@settings(max_examples=40)
def test_the_factor_agrees_with_singular_values(seed, m):
    """Where the kernel trusts its factor, its residuals are those of the slow way to ten digits."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(m + 2, m + 2)) @ rng.normal(size=(m + 2, 50))
    sums = sums_of(z, np.zeros(50, np.int64), np.ones(50))
    out = np.empty((1, 1))
    inside, more = np.arange(m), np.array([m])
    unsure = residual_squares(
        sums.scatter, inside, more, m + 1, WELL_CONDITIONED, np.empty((m + 3, m + 1)), out
    )
    assert unsure == int(np.isnan(out[0, 0]))
    if not unsure:
        wanted = regressed(sums.scatter)[1][0]
        assert out[0, 0] == pytest.approx(wanted, rel=1e-10)


def test_what_is_constant_in_a_cell_explains_nothing_there():
    z = np.array([[0.1, 0.1, 0.1, 1.0, 2.0, 4.0], [1.0, 2.0, 4.0, 1.0, 3.0, 4.0]])
    sums = sums_of(z, np.array([0, 0, 0, 1, 1, 1]), np.ones(6))
    alone = sums.residuals(np.array([], np.int64), np.array([-1]), 1)
    given_first = sums.residuals(np.array([0]), np.array([-1]), 1)
    assert given_first[0] == alone[0] and given_first[1] < alone[1]
    # And a constant child has nothing left.
    assert sums.residuals(np.array([1]), np.array([-1]), 0)[0, 0] == 0.0


def test_a_question_of_many_families_is_that_of_each_alone():
    """Sums of all columns serve families that share discrete parents; alone, a family sums its own columns."""
    columns = read_nodes(mixed(5))
    question = [
        Family(child, bits([*above]), tuple(v for v in range(5) if v != child and v not in above))
        for child in (1, 3, 4)
        for above in ((), (0,), (2,), (0, 2))
    ]
    together = MixedScores(columns, Score("bic"))(question)
    for family, found in zip(question, together, strict=True):
        for v, score in zip(family.more, found, strict=True):
            alone = MixedScores(columns, Score("bic"))([Family(family.child, family.parents | 1 << v)])
            assert score == pytest.approx(alone[0][0], rel=1e-11)
