"""The graph that a model holds: that of learn_network, for any method; weights are rows; limits are kept."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest

from bayeskit import TAN, BayesNetClassifier, learn_network
from bayeskit._data.encode import encode
from bayeskit._data.table import open_table
from bayeskit._fitting.graph_search import GraphSearch, searched_graph
from bayeskit._graphs.dag import Dag, markov_blanket
from bayeskit._structure.search_protocol import Score
from bayeskit.errors import DataError, SettingError, TooLarge
from bayeskit.statistics import Schema, Variable
from refusals import refuses


def rows(seed=0, n=200, numeric=True):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    a = np.where(rng.random(n) < 0.8, y, rng.integers(0, 3, n))
    b = np.where(rng.random(n) < 0.7, a, rng.integers(0, 3, n))
    c = rng.integers(0, 2, n)
    X = {"a": a.astype(str), "b": b.astype(str), "c": c.astype(str)}
    if numeric:
        X |= {"u": rng.normal(size=n) + y, "v": rng.normal(size=n)}
        X["v"] = X["v"] + X["u"]
    return X, y.astype(str)


def encoded(X, y, weights=None):
    attributes = tuple(
        Variable(name, "numeric" if np.asarray(column).dtype.kind == "f" else "categorical")
        for name, column in X.items()
    )
    schema = Schema(attributes, Variable("y", "categorical"))
    return encode(open_table(X), schema, "grow", y=y, weights=weights, with_target=True)


METHODS = [
    "naive",
    "tan",
    "auto",
    "hill-climbing",
    "tabu",
    "ges",
    "order",
    "exact",
    "k2",
    "chow-liu",
    "pc",
    "mmhc",
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("numeric", [False, True])
def test_the_graph_is_that_of_learn_network_and_its_blanket(method, numeric):
    X, y = rows(1, numeric=numeric)
    if numeric and method in ("ges", "chow-liu"):
        with refuses(SettingError, method):
            searched_graph(encoded(X, y), GraphSearch(method))
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = searched_graph(encoded(X, y), GraphSearch(method, markov_blanket=False))
        near = searched_graph(encoded(X, y), GraphSearch(method))
        if method not in ("naive", "tan"):
            more = {"order": ["y", *X]} if method == "k2" else {}
            wanted = learn_network({"y": y, **X}, method=method, **more)._network.dag.as_mapping()
            assert {n: set(p) for n, p in whole.items()} == {n: set(p) for n, p in wanted.items()}
    dag = Dag(tuple(whole), tuple(whole.values()))
    kept = {"y", *markov_blanket(dag, "y")}
    assert near == {n: tuple(p for p in ps if p in kept) for n, ps in whole.items() if n in kept}
    if method == "naive":
        assert whole == {"y": (), **dict.fromkeys(X, ("y",))}
    if method == "tan":
        discrete = {name: column for name, column in X.items() if name in "abc"}
        tree = TAN().fit(discrete, y).structure_
        assert {n: whole[n][1:] for n in discrete} == tree
        assert not numeric or {whole["u"], whole["v"]} == {("y",), ("y", "v" if whole["u"][1:] else "u")}
    assert json.loads(json.dumps(whole)) == {name: list(parents) for name, parents in whole.items()}


@pytest.mark.parametrize("numeric", [False, True])
def test_going_on_by_the_class_tells_it_at_least_as_well(numeric):
    X, y = rows(1, numeric=numeric)
    model = BayesNetClassifier("naive", conditional=True, criterion="loglik").fit(X, y)
    search = GraphSearch("naive", Score("loglik"), conditional=True)
    assert model.held_["structure"] == searched_graph(encoded(X, y), search)
    right = [
        np.log(m.predict_proba(X)[np.arange(len(y)), y.astype(int)]).sum()
        for m in (BayesNetClassifier("naive").fit(X, y), model)
    ]
    assert right[1] >= right[0]


def test_a_column_of_numbers_without_a_number_has_no_place():
    X, y = rows(2)
    X["u"] = np.full(len(y), np.nan)
    found = searched_graph(encoded(X, y), GraphSearch("hill-climbing", markov_blanket=False))
    assert set(found) == {"y", "a", "b", "c", "v"}


@pytest.mark.parametrize("method", ["tan", "hill-climbing", "chow-liu"])
@pytest.mark.parametrize("conditional", [False, True])
def test_a_whole_weight_is_repetition_and_none_is_absence(method, conditional):
    X, y = rows(3, n=120, numeric=method == "tan")  # of equal scores a digest of the numbers decides
    times = np.random.default_rng(0).integers(0, 4, len(y))
    search = GraphSearch(method, conditional=conditional)
    again = {name: np.repeat(column, times) for name, column in X.items()}
    weighted = searched_graph(encoded(X, y, times.astype(float)), search)
    assert weighted == searched_graph(encoded(again, np.repeat(y, times)), search)


def test_what_is_known_before_is_kept_and_the_graph_of_a_method_cannot_keep_it():
    X, y = rows()
    search = GraphSearch(markov_blanket=False, required=[("c", "a")], forbidden=[("y", "b")], max_parents=2)
    found = searched_graph(encoded(X, y), search)
    assert "c" in found["a"] and "y" not in found["b"] and max(map(len, found.values())) <= 2
    assert not {"u", "v"}.intersection(found["y"])
    with pytest.raises(SettingError, match="required, max_parents"):
        searched_graph(encoded(X, y), replace(search, method="tan", forbidden=()))
    with pytest.raises(SettingError, match="'best'"):
        searched_graph(encoded(X, y), GraphSearch("best"))


def test_missing_may_be_a_state():
    X, y = rows(5, numeric=False)
    hole = (y == "1") & (np.random.default_rng(2).random(len(y)) < 0.9)
    X["d"] = np.where(hole, None, "here").astype(object)
    X["e"] = np.full(len(y), None)
    found = searched_graph(encoded(X, y), GraphSearch(missing="state"))
    assert "d" in found and "e" not in found
    assert "y" in found["d"] or "d" in found["y"]


def test_rows_that_all_lack_something_and_tables_beyond_memory_are_refused():
    X, y = rows(numeric=False)
    X["a"] = np.full(len(y), None)
    X["b"] = np.where(np.arange(len(y)) % 2, None, X["b"].astype(object))
    X["c"] = np.where(np.arange(len(y)) % 2, X["c"].astype(object), None)
    with pytest.raises(DataError, match=r"'b'|'c'"):
        searched_graph(encoded(X, y), GraphSearch("hill-climbing"))
    X, y = rows(numeric=False)
    with pytest.raises(TooLarge, match=r"'a'|'b'"):
        searched_graph(encoded(X, y), GraphSearch("tan", max_memory=100.0))


def test_scores_say_what_a_parameter_costs():
    X, y = rows(7, n=400, numeric=False)
    sizes = [
        sum(
            map(
                len,
                searched_graph(encoded(X, y), GraphSearch(score=Score(name), markov_blanket=False)).values(),
            )
        )
        for name in ("loglik", "bic")
    ]
    assert sizes[0] >= sizes[1]
