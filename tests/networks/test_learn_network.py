"""learn_network: rows of a table → a network; what is odd about tables has an answer or a plain error."""

from __future__ import annotations

import os
import signal
import warnings

import numpy as np
import pandas as pd
import pytest

from bayeskit import learn_network
from bayeskit._fitting.search import search_network as searching
from bayeskit.errors import BayeskitError, ColumnError, DataError, SettingError, SuspectResult, TooLarge
from bayeskit.networks import score, wet_grass
from refusals import refuses, warns_of

ROWS = wet_grass().sample(1000, random_state=3)
EVERY = ("auto", "hill-climbing", "tabu", "ges", "order", "exact", "chow-liu", "pc", "mmhc")


@pytest.fixture(autouse=True)
def no_warning():
    """A warning that no test expects is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("method", EVERY)
def test_structure_and_tables(method):
    network = learn_network(ROWS, method, smoothing="mle")
    assert set(network.nodes) == set(ROWS.columns) and network.n_rows_ == 1000
    again = learn_network(ROWS, method, smoothing="laplace")
    assert again.arcs == network.arcs
    again.fit(ROWS, smoothing="mle")
    for node in network.nodes:
        assert (network.distribution(node).table() == again.distribution(node).table()).all()
        assert network.states(node) == ("no", "yes")


def test_shuffled_and_renamed_columns_give_the_same_network():
    rng = np.random.default_rng(0)
    network = learn_network(ROWS)
    for _ in range(10):
        order = [str(name) for name in rng.permutation(ROWS.columns)]
        names = dict(zip(order, (f"z{k}" for k in rng.permutation(4)), strict=True))
        other = learn_network(ROWS[order].rename(columns=names))
        assert {(names[a], names[b]) for a, b in network.arcs} == set(other.arcs)
        for node in network.nodes:
            mine = network.query(node)
            assert other.query(names[node]).values == pytest.approx(mine.values, abs=1e-12)


def test_the_same_twice():
    assert learn_network(ROWS, random_state=1).arcs == learn_network(ROWS, random_state=1).arcs


def test_missing_cells():
    """The arcs from the rows that are complete, each table from the rows where its columns are there."""
    holes = ROWS.astype(object).copy()
    holes.loc[:99, "wet"] = None
    network = learn_network(holes, smoothing="mle")
    assert network.arcs == learn_network(ROWS[100:]).arcs
    rain = (ROWS["rain"] == "yes").mean()
    assert network.query("rain")["yes"] == pytest.approx(rain)


@pytest.mark.parametrize("method", EVERY)
def test_no_time_gives_a_network_and_says_so(method):
    settings = {} if method in ("chow-liu", "pc") else {"max_parents": 1}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        network = learn_network(ROWS, method, time_limit=0, **settings)
    assert set(network.nodes) == set(ROWS.columns)
    if method != "chow-liu":
        assert [warning.category for warning in said] == [SuspectResult]
        assert "time limit" in str(said[0].message) and said[0].filename == __file__


def test_ctrl_c_gives_a_network_and_says_so(monkeypatch):
    answer = searching.SearchAnswers.__call__

    def interrupted(self, question):
        if not os.environ.get("TOLD"):
            monkeypatch.setenv("TOLD", "1")
            os.kill(os.getpid(), signal.SIGINT)
        return answer(self, question)

    monkeypatch.setattr(searching.SearchAnswers, "__call__", interrupted)
    with warns_of(SuspectResult, "interrupted"):
        network = learn_network(ROWS)
    assert set(network.nodes) == set(ROWS.columns)


def test_progress(capsys):
    assert learn_network(ROWS, progress=True).arcs == learn_network(ROWS).arcs


RNG = np.random.default_rng(0)
X = RNG.normal(size=50)
AB = {"a": list("xyxy"), "b": list("xxyy"), "c": list("xyyx")}

ODD = {
    "a constant column": {"a": ["x"] * 9, "b": list("ababababa")},
    "a constant number": {"a": [0.1] * 9, "b": X[:9]},
    "constants only": {"a": ["x"] * 9, "b": [0.1] * 9},
    "one row": {"a": ["x"], "b": ["y"], "n": [1.5]},
    "one column": {"a": list("xyxy")},
    "one number": {"a": X},
    "copies": {"a": X, "b": X, "c": 2 * X},
    "copied states": {"a": list("xyxxy"), "b": list("xyxxy"), "c": list("xyxxy")},
    "more states than rows": {"a": [f"s{k}" for k in range(40)], "b": [f"t{k}" for k in range(40)], "c": [0, 1] * 20},
    "true, false, none": pd.DataFrame({"a": [True, False, None, True] * 3, "b": list("xyxy") * 3}),
    "labels of several types": pd.DataFrame({"a": [1, "x", None, 2.5] * 3, "b": list("xyxy") * 3}),
    "levels that do not occur": pd.DataFrame({"a": pd.Categorical(list("xyxy"), list("wxyz")), "b": list("xyxy")}),
    "huge and tiny": {"a": X * 1e90, "b": X[::-1] * 1e-90, "c": X + 1e8},
    "an array": np.array([["x", "u"], ["y", "v"]] * 5, object),
    "whole numbers as names": {0: list("xyxy"), 1: list("xxyy")},
}  # fmt: skip


@pytest.mark.parametrize("data", ODD.values(), ids=ODD)
@pytest.mark.parametrize("method", ["auto", "hill-climbing", "exact"])
def test_odd_tables_have_an_answer(data, method):
    network = learn_network(data, method)
    for node in network.nodes:
        found = network.distribution(node)
        values = found.table() if hasattr(found, "table") else found.variance
        assert np.isfinite(values).all() and (values >= 0).all()


def test_nothing_is_learned_from_nothing():
    """Constants, names of rows and noise get no arcs."""
    for odd in (
        "a constant column",
        "a constant number",
        "constants only",
        "one row",
        "more states than rows",
    ):
        assert not learn_network(ODD[odd]).arcs, odd


def test_levels_and_declared_states_are_kept():
    network = learn_network(ODD["levels that do not occur"])
    assert network.states("a") == ("w", "x", "y", "z")
    network = learn_network(AB, states={"a": ["q", "y", "x"]})
    assert network.states("a") == ("q", "y", "x")
    assert network.query("a")["q"] == pytest.approx((1 / 3) / 5)


def test_many_columns_and_few_rows():
    data = {f"c{k}": column for k, column in enumerate(RNG.integers(0, 3, (300, 20)))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SuspectResult)
        network = learn_network(data, "hill-climbing", max_parents=1, time_limit=5)
    assert len(network.nodes) == 300
    with refuses(TooLarge, 'method="auto"'):
        learn_network(data, "exact")


def test_tables_that_would_not_fit():
    """The likelihood alone never has enough parents; the network it asks for is refused, not laid out."""
    parents = [(f"p{k}", "child") for k in range(40)]
    data = {f"p{k}": ["u", "v"] for k in range(40)} | {"child": ["u", "v"]}
    with refuses(TooLarge, "max_parents="):
        learn_network(data, "hill-climbing", "bic", required=parents)


def test_max_parents():
    assert not learn_network(ROWS, max_parents=0).arcs
    one = learn_network(ROWS, max_parents=1)
    assert one.arcs and all(len(one.parents(node)) <= 1 for node in one.nodes)


def test_cut_columns():
    network = learn_network({"x": X, "y": X + RNG.normal(size=50) / 10}, discretize=3)
    assert len(network.arcs) == 1 and len(network.states("x")) == 3


def test_no_graph_is_better_by_the_score_that_was_asked_for():
    data = ROWS[:60]
    for name in ("bic", "aic", "bdeu", "k2", "loglik"):
        best = learn_network(data, "exact", name)
        for method in EVERY:
            settings = {} if method in ("chow-liu", "pc") else {"criterion": name}
            other = learn_network(data, method, **settings)
            assert score(best, data, name) >= score(other, data, name) - 1e-9


@pytest.mark.parametrize(
    ("data", "settings", "error", "says"),
    [
        (AB, {"method": "magic"}, SettingError, ["method", "magic"]),
        (AB, {"criterion": "magic"}, SettingError, ["criterion", "magic"]),
        (AB, {"smoothing": "magic"}, SettingError, ["prior", "magic"]),
        (AB, {"criterion": "bdeu", "ess": -1}, SettingError, ["ess", -1]),
        (AB, {"significance": 2}, SettingError, ["significance", 2]),
        (AB, {"restarts": -1}, SettingError, ["restarts", -1]),
        (AB, {"time_limit": -1}, SettingError, ["time_limit", -1]),
        (AB, {"time_limit": "1 h"}, SettingError, ["time_limit", "1 h"]),
        (AB, {"random_state": "x"}, SettingError, ["random_state", "x"]),
        (AB, {"max_memory": 0}, SettingError, ["max_memory", 0]),
        (AB, {"max_parents": -1}, SettingError, ["max_parents", -1]),
        (AB, {"method": "k2"}, SettingError, ['method="k2"', "order="]),
        (AB, {"method": "k2", "order": ["a", "b"]}, SettingError, ["order", "column"]),
        (AB, {"method": "k2", "order": 3}, SettingError, ["order", 3]),
        (AB, {"required": [("a", "b")], "forbidden": [("a", "b")]}, SettingError, ["'a' → 'b'", "required"]),
        (AB, {"required": [("a", "b"), ("b", "a")]}, SettingError, ["cycle", "'a' → 'b' → 'a'"]),
        (AB, {"tiers": [["a"], ["q"]]}, SettingError, ["tiers", "q"]),
        (AB | {"n": [0.5, 1.5, 2.5, 3.5]}, {"required": [("n", "a")]}, SettingError, ["n", "continuous"]),
        (AB | {"n": [0.5, 1.5, 2.5, 3.5]}, {"method": "mmhc", "test": "g2"}, SettingError, ["g2", "mi-cg"]),
        ({"n": [0.5, 1.5, 2.5, 3.5]}, {"method": "pc", "test": "mi-cg"}, SettingError, ["mi-cg", "mi-g"]),
        (AB | {"n": range(4)}, {"states": {"n": [0]}}, DataError, ["n", 1, 0]),
        ({"a": np.arange(40)}, {}, ColumnError, ["a", "discretize="]),
        ({"a": [None] * 4, "b": list("xyxy")}, {}, DataError, ["missing", "a"]),
        ({"a": ["x", None], "b": [None, "y"]}, {}, DataError, ["missing"]),
        ({"a": [1.0, np.inf]}, {}, DataError, ["inf", 1]),
        ({"a": []}, {}, DataError, [0, "(0, 1)", 1]),
        ({}, {}, DataError, [0, "(0, 0)", 1]),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), {}, ColumnError, ["a"]),
        ({"a": [1, 2], "b": [1]}, {}, DataError, ["lengths", "[1, 2]"]),
        (None, {}, BayeskitError, ["NoneType"]),
        (3, {}, BayeskitError, ["int"]),
    ],
)  # fmt: skip
def test_what_cannot_be(data, settings, error, says):
    with refuses(error, *says):
        learn_network(data, **settings)


@pytest.mark.parametrize("method", ["pc", "mmhc"])
def test_tests_do_not_lose_the_arcs_of_columns_that_repeat_each_other(method):
    """Given a, its copy tells nothing, and neither does any other column: a lost every arc, and nothing was said."""
    rng = np.random.default_rng(0)
    a = rng.choice(["x", "y"], 400)
    d = np.where(rng.random(400) < 0.8, a, "x")
    rows = {"a": a, "d": d, "e": np.where(rng.random(400) < 0.8, d, "y"), "constant": ["k"] * 400}
    alone = learn_network(rows, method)
    more = {**rows, "b": a, "c": np.where(a == "x", "p", "q"), "also constant": ["k"] * 400}
    with warns_of(SuspectResult, "'b' = 'a'", "'c' = 'a'") as caught:
        found = learn_network(more, method)
    assert "constant" not in str(caught[0].message)
    joined, expected = ({frozenset(arc) for arc in net.arcs} for net in (found, alone))
    same = {"a": "a", "b": "a", "c": "a"}  # whichever of the three stands for them
    assert {frozenset(same.get(v, v) for v in pair) for pair in joined} - {frozenset("a")} == expected
    assert len(joined) == len(expected) + 2 and frozenset("ad") in expected
    with warns_of(SuspectResult, "b", "a"):
        learn_network(more, method, forbidden=[("e", "d")])
