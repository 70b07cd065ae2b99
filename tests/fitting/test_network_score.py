"""The score of a graph over a table: the sum over its families, however the graph is given."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import BayesianNetwork
from bayeskit._graphs.dag import Dag
from bayeskit.errors import ColumnError, CyclicGraph, DataError, SettingError
from bayeskit.networks import score
from graph_twin import dags
from learning_twin import SCORES, family_score
from refusals import refuses

ROWS = {"a": ["x", "x", "y", "y"], "b": ["x", "x", "y", "y"], "c": ["u", "v", "u", "w"]}


@pytest.mark.parametrize("name", SCORES)
@given(dag=dags(least=2, most=5), seed=st.integers(0, 10**6), ess=st.sampled_from([1.0, 5.0]))
@settings(max_examples=8)
def test_the_sum_over_families(name, dag, seed, ess):
    n = len(dag.nodes)
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (n, 30))
    data = {v: [f"s{k}" for k in codes[v]] for v in range(n)}
    states = {v: ["s0", "s1", "s2", "never"] for v in range(n)}
    wanted = sum(
        family_score(codes, [4] * n, v, sum(1 << p for p in dag.parents[v]), name, ess) for v in range(n)
    )
    assert score(dag, data, name, states, ess=ess) == pytest.approx(wanted, rel=1e-11)


def test_however_the_graph_is_given():
    wanted = score([("a", "b"), ("c", "b")], ROWS)
    network = BayesianNetwork({"b": ["a", "c"], "a": [], "c": []})
    fitted = BayesianNetwork({"b": ["a", "c"], "a": [], "c": []}).fit(ROWS)
    dag = Dag.of({"b": ["c", "a"]}, ["c", "a", "b"])
    for graph in (
        network,
        fitted,
        dag,
        {"b": ["a", "c"]},
        {"b": ("c", "a"), "a": None},
        {("a", "b"), ("c", "b")},
    ):
        assert score(graph, ROWS) == wanted
    assert score({"b": "a"}, ROWS) == score([("a", "b")], ROWS)
    # A graph over some of the columns: the others stand alone.
    assert score(BayesianNetwork({"b": ["a"]}), ROWS) == score([("a", "b")], ROWS)
    numbered = dict(enumerate(ROWS.values()))
    assert score({1: [0]}, numbered) == score({1: 0}, numbered) == score([("a", "b")], ROWS)


def test_worked():
    """a and b equal, two and two: n log ½ each alone, nothing for b given a; one parameter costs ½ log 4."""
    assert score([], {"a": ROWS["a"], "b": ROWS["b"]}, "loglik") == pytest.approx(8 * math.log(0.5))
    found = score([("a", "b")], {"a": ROWS["a"], "b": ROWS["b"]}, "bic")
    assert found == pytest.approx(4 * math.log(0.5) - 3 * 0.5 * math.log(4))
    assert score([("a", "b")], {"a": ROWS["a"], "b": ROWS["b"]}, "mdl") == found
    # A declared state that no row has costs parameters all the same.
    states = {"a": ["x", "y", "z"]}
    dearer = score([("a", "b")], {"a": ROWS["a"], "b": ROWS["b"]}, "bic", states)
    assert dearer == pytest.approx(4 * math.log(0.5) - (2 + 3) * 0.5 * math.log(4))


def test_rows_with_a_missing_cell_are_left_out():
    holes = {name: [*column, None if name == "c" else "x"] for name, column in ROWS.items()}
    assert score([("a", "c")], holes) == pytest.approx(score([("a", "c")], ROWS))
    with refuses(DataError, "missing"):
        score([], {"a": ["x", None], "b": [None, "y"]})


@pytest.mark.parametrize(
    ("graph", "data", "settings", "error", "says"),
    [
        ([("a", "q")], ROWS, {}, SettingError, ["q"]),
        ([("q", "a")], ROWS, {}, SettingError, ["q"]),
        ({"q": []}, ROWS, {}, SettingError, ["q"]),
        (BayesianNetwork({"q": []}), ROWS, {}, SettingError, ["q"]),
        ([("a", "b"), ("b", "a")], ROWS, {}, CyclicGraph, ["a"]),
        ([("a", "b"), ("a", "b")], ROWS, {}, SettingError, ["b", "a", "twice"]),
        ([("a", "a")], ROWS, {}, CyclicGraph, ["a"]),
        (["ab"], ROWS, {}, SettingError, ["['ab']"]),
        ([{"a", "b"}], ROWS, {}, SettingError, ["graph", "(parent, child)"]),
        ([("a", "b", "c")], ROWS, {}, SettingError, ["('a', 'b', 'c')"]),
        (3, ROWS, {}, SettingError, [3, "graph"]),
        ([], ROWS, {"criterion": "BIC"}, SettingError, ["criterion", "BIC"]),
        ([], ROWS, {"criterion": "bdeu", "ess": 0}, SettingError, ["ess", 0]),
        ([], ROWS, {"states": {"q": ["x"]}}, ColumnError, ["q"]),
        ([], {"x": [1.5, 2.5]}, {"criterion": "k2"}, SettingError, ["criterion='k2'", "discrete"]),
        ([("x", "a")], {"x": [1.5, 2.5], "a": ["u", "v"]}, {}, SettingError, ["a", "discrete", "x"]),
    ],
)
def test_what_cannot_be(graph, data, settings, error, says):
    with refuses(error, *says):
        score(graph, data, **settings)
