"""Rows kept once with a weight: a row of weight w is as many rows as that, for scores, tests, searches and tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import learn_network
from bayeskit._fitting.search import search_network as joining
from bayeskit._fitting.search.family_scores import FamilyScores
from bayeskit._fitting.search.independence_tests import IndependenceTests
from bayeskit._fitting.search.node_columns import read_nodes
from bayeskit._fitting.search.regression_scores import MixedScores
from bayeskit._fitting.search.search_network import distinct_rows, joined_where_it_pays
from bayeskit._structure.search_protocol import NAMES, Family, Score, bits
from bayeskit._structure.search_protocol import Test as Question
from bayeskit.errors import ColumnError, WeightError
from bayeskit.networks import asia, wet_grass
from refusals import refuses

EVERY = ("auto", "hill-climbing", "tabu", "ges", "order", "exact", "chow-liu", "pc", "mmhc")


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(0, 4), st.integers(1, 60), st.integers(1, 3), st.booleans())
def test_each_row_once_with_all_its_weight(seed, d, n, most, weighted):
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, most + 1, (d, n)).astype(rng.choice([np.uint8, np.uint32]))
    weights = rng.integers(1, 9, n).astype(float) if weighted else None
    wanted: dict[tuple, float] = {}
    for i, row in enumerate(columns.T.tolist()):
        wanted[tuple(row)] = wanted.get(tuple(row), 0.0) + (1.0 if weights is None else weights[i])
    found = distinct_rows(columns, weights, n)
    assert found is not None
    # In the order in which they are met.
    assert [tuple(row) for row in found.columns.T.tolist()] == [*wanted]
    assert found.weights.tolist() == [*wanted.values()]
    assert distinct_rows(columns, weights, len(wanted)) is not None
    assert len(wanted) == 1 or distinct_rows(columns, weights, len(wanted) - 1) is None


def repeated(seed, n=60):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, 5)
    shared = rng.random(n)
    columns = np.array([np.floor((0.5 * shared + 0.5 * rng.random(n)) * s) for s in sizes], np.uint8)
    times = rng.integers(1, 6, n)
    return columns, np.repeat(columns, times, axis=1), times.astype(float), sizes


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("most_cells", [2**16, 0], ids=["tables", "sorted"])
def test_scores_of_weighted_rows_are_those_of_repeated_ones(name, most_cells, monkeypatch):
    monkeypatch.setattr("bayeskit._fitting.search.family_scores.MOST_CELLS", most_cells)
    monkeypatch.setattr("bayeskit._fitting.search.family_scores.CELLS_A_ROW", 8 if most_cells else 0)
    columns, all_rows, weights, sizes = repeated(1)
    question = [Family(0, 0), Family(3, 0b00110), Family(2, 0b00001, (1, 3, 4)), Family(4, 0b01111)]
    plain = FamilyScores(all_rows, sizes, Score(name, 3.0))(question)
    for a, b in zip(plain, FamilyScores(columns, sizes, Score(name, 3.0), weights)(question), strict=True):
        assert a == pytest.approx(b, rel=1e-11, abs=1e-9)


@pytest.mark.parametrize("name", ["g2", "x2", "g2-adf", "x2-adf", "mi-sh"])
def test_tests_of_weighted_rows_are_those_of_repeated_ones(name):
    for seed in range(3):
        columns, all_rows, weights, sizes = repeated(seed)
        asked = [
            Question(a, b, bits(z))
            for a, b in itertools.combinations(range(5), 2)
            for k in (0, 2)
            for z in itertools.combinations(set(range(5)) - {a, b}, k)
        ]
        plain = IndependenceTests(all_rows, sizes, name)(asked)
        joined = IndependenceTests(columns, sizes, name, weights=weights)(asked)
        np.testing.assert_allclose(np.array(joined), np.array(plain), rtol=1e-9, atol=1e-9)


def test_scores_of_mixed_columns_with_weights():
    rng = np.random.default_rng(0)
    data = {"a": rng.choice(["u", "v"], 50), "x": rng.normal(size=50), "y": rng.normal(size=50)}
    times = rng.integers(1, 5, 50)
    more = {name: np.repeat(column, times) for name, column in data.items()}
    question = [Family(0, 0), Family(1, 0b101), Family(2, 0b010), Family(2, 0b001, (1,))]
    weighted = MixedScores(read_nodes(data), Score("bic"), times.astype(float))(question)
    for a, b in zip(MixedScores(read_nodes(more), Score("bic"))(question), weighted, strict=True):
        assert a == pytest.approx(b, rel=1e-11)


def test_rows_are_joined_only_where_it_pays():
    rng = np.random.default_rng(0)
    few = rng.integers(0, 2, (8, 40_000)).astype(np.uint8)
    found = joined_where_it_pays(few, None)
    assert found is not None and found.columns.shape == (8, 256) and found.weights.sum() == 40_000
    assert joined_where_it_pays(few[:, :1000], None) is None
    # Most rows differ, which a sample tells; two of five differ, which all rows tell.
    varied = rng.integers(0, 4, (12, 40_000)).astype(np.uint8)
    assert joined_where_it_pays(varied, None) is None
    varied[:, rng.random(40_000) < 0.6] = 0
    assert distinct_rows(np.ascontiguousarray(varied[:, ::16]), None, 1250) is not None
    assert joined_where_it_pays(varied, None) is None


@pytest.mark.parametrize("method", EVERY)
def test_a_search_finds_the_same_with_rows_joined_or_not(method, monkeypatch):
    rows = asia().sample(20_000, random_state=4)
    joined = learn_network(rows, method)
    monkeypatch.setattr(joining, "FEWEST_ROWS", 10**9)
    plain = learn_network(rows, method)
    assert sorted(joined.arcs) == sorted(plain.arcs) and plain == joined


ROWS = wet_grass().sample(400, random_state=3)
TIMES = np.random.default_rng(0).integers(0, 4, 400)


@pytest.mark.parametrize("method", EVERY)
def test_a_row_of_weight_w_is_w_rows(method):
    """Zero is none. The column of weights may be named."""
    wanted = learn_network(ROWS.loc[ROWS.index.repeat(TIMES)], method)
    found = learn_network(ROWS, method, sample_weight=TIMES)
    assert sorted(found.arcs) == sorted(wanted.arcs) and found.n_rows_ == TIMES.sum()
    for node in wanted.nodes:
        assert found.distribution(node).table() == pytest.approx(wanted.distribution(node).table(), rel=1e-12)
    assert learn_network(ROWS.assign(times=TIMES), method, sample_weight="times") == found


def test_weights_of_numbers():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    data = {"x": x, "y": x + rng.normal(size=300), "z": rng.normal(size=300)}
    times = rng.integers(1, 4, 300)
    more = {name: np.repeat(column, times) for name, column in data.items()}
    xy, tree = {frozenset("xy")}, {frozenset("xy"), frozenset("yz")}
    joined = {"auto": xy, "pc": xy, "mmhc": xy, "chow-liu": tree}
    for method in joined:
        # Directions that rows cannot tell are told by a digest of the cells.
        found = learn_network(data, method, sample_weight=times), learn_network(more, method)
        assert [{frozenset(arc) for arc in network.arcs} for network in found] == [joined[method]] * 2


@pytest.mark.parametrize(
    ("weights", "error", "says"),
    [
        ([1.0], WeightError, [1, "weights", 400]),
        (-np.ones(400), WeightError, [0, -1.0, "negative"]),
        (np.zeros(400), WeightError, ["zero"]),
        (np.full(400, np.nan), WeightError, [0, "nan"]),
        ("heavy", ColumnError, ["sample_weight", "heavy"]),
        ("rain", WeightError, ["sample_weight", "rain"]),
    ],
)
def test_weights_that_are_none(weights, error, says):
    with refuses(error, *says):
        learn_network(ROWS, sample_weight=weights)
