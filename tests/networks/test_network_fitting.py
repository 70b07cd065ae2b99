"""Fitting a network: priors by their formulas; batches, forgetting and merging equal one fit; what is never seen."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import BayesianNetwork, learn_network
from bayeskit.errors import (
    ColumnError,
    DataError,
    DataTypeError,
    Incompatible,
    NotCounted,
    SettingError,
    TooLarge,
    UnseenState,
    UsageError,
    WeightError,
)
from bayeskit.networks import set_max_memory
from bayeskit.priors import MAP, BDeu, Dirichlet, Lidstone, MEstimate
from edits import after
from refusals import refuses

PARENTS = {"a": [], "b": ["a"], "c": ["b", "a"], "x": ["a"], "y": ["x", "b"]}
STATES = {"a": ["u", "v"], "b": ["p", "q", "r"], "c": ["s", "t"], "x": float, "y": float}
DISCRETE = ("a", "b", "c")


def made(parents=PARENTS, states=STATES):
    return BayesianNetwork(parents, states)


def rows(seed, n=60, missing=0.1, mean=0.0):
    rng = np.random.default_rng(seed)
    data = {name: np.array(STATES[name], object)[rng.integers(0, len(STATES[name]), n)] for name in DISCRETE}
    data["x"] = mean + rng.normal(size=n) + (data["a"] == "u")
    data["y"] = mean + 0.5 * (data["x"] - mean) + rng.normal(size=n)
    for column in data.values():
        column[rng.random(n) < missing] = None if column.dtype == object else np.nan
    return data


def part(data, rows):
    return {name: column[rows] for name, column in data.items()}


def same(one, other, rel=1e-9):
    """Compare every table and regression."""
    for node in one.nodes:
        mine, theirs = one.distribution(node), other.distribution(node)
        if node in DISCRETE:
            assert mine.table() == pytest.approx(theirs.table(), rel=rel, abs=1e-12)
        else:
            scale = 1.0 + np.abs(theirs.intercept).max()
            assert mine.coefficients == pytest.approx(theirs.coefficients, rel=rel, abs=rel)
            assert mine.intercept == pytest.approx(theirs.intercept, abs=rel * scale)
            assert mine.variance == pytest.approx(theirs.variance, rel=rel)
    assert one.n_rows_ == pytest.approx(other.n_rows_)


@pytest.mark.parametrize("mean", [0.0, 1e8])
@given(seed=st.integers(0, 10**6), cut=st.integers(1, 59))
@settings(max_examples=12)
def test_batches_forgetting_and_merging_equal_one_fit(mean, seed, cut):
    data = rows(seed, mean=mean)
    a, b = part(data, slice(cut)), part(data, slice(cut, None))
    whole, only = made().fit(data, smoothing="laplace"), made().fit(a, smoothing="laplace")
    rel = 1e-9 if not mean else 1e-6
    same(made().fit(a, smoothing="laplace").partial_fit(b), whole, rel)
    same(made().fit(b, smoothing="laplace").partial_fit(a), whole, rel)
    same(copy.deepcopy(whole).forget(b), only, rel)
    first, second = made().fit(a, smoothing="laplace"), made().fit(b, smoothing="laplace")
    same(copy.deepcopy(first).merge(second), copy.deepcopy(second).merge(first), rel)
    same(first.merge(second), whole, rel)
    assert second.n_rows_ == 60 - cut  # what was merged in is as it was


def test_199_of_200_batches_forgotten():
    batches = [rows(seed, n=12) for seed in range(200)]
    network = made().fit(batches[0], smoothing="mle")
    for batch in batches[1:]:
        network.partial_fit(batch)
    for batch in batches[1:]:
        network.forget(batch)
    same(network, made().fit(batches[0], smoothing="mle"), rel=1e-7)


@pytest.mark.parametrize("together", [True, False])
def test_an_outlier_that_comes_first_and_is_forgotten(together):
    data = rows(3, missing=0.0)
    far = {"a": ["u"], "b": ["p"], "c": ["s"], "x": [1e8], "y": [-1e8]}
    if together:
        network = made().fit({name: [*far[name], *data[name]] for name in data})
    else:
        network = made().fit(far).partial_fit(data)
    same(network.forget(far), made().fit(data), rel=1e-7)


def table_of(data, family, cells):
    """Return (n + cells) / total by hand, uniform where there is nothing."""
    shape = [len(STATES[name]) for name in family]
    counts = np.zeros(shape)
    for labels in zip(*(data[name] for name in family), strict=True):
        if None not in labels:
            counts[tuple(STATES[name].index(label) for name, label in zip(family, labels, strict=True))] += 1
    smoothed = counts + cells
    total = smoothed.sum(axis=-1, keepdims=True)
    return np.where(total > 0, smoothed / np.where(total > 0, total, 1), 1 / shape[-1])


@pytest.mark.parametrize(
    ("prior", "cells"),
    [
        ("mle", lambda q, r: 0),
        ("laplace", lambda q, r: 1),
        ("bdeu", lambda q, r: 1 / (q * r)),
        (BDeu(10), lambda q, r: 10 / (q * r)),
        (0.5, lambda q, r: 0.5),
        (Lidstone(0.25), lambda q, r: 0.25),
        (MEstimate(2), lambda q, r: 2 / r),
        (Dirichlet(3), lambda q, r: 3),
        (Dirichlet({"c": {"s": 5.0}}), lambda q, r: np.array([5.0, 1.0]) if q == 6 else 1),
        (MAP(Dirichlet(2)), lambda q, r: 1),
    ],
)
def test_priors(prior, cells):
    data = rows(1, n=8)
    network = made().fit(data, smoothing=prior)
    for name in DISCRETE:
        family = [*PARENTS[name], name]
        q = int(np.prod([len(STATES[p]) for p in PARENTS[name]], dtype=int))
        wanted = table_of(data, family, cells(q, len(STATES[name])))
        assert network.distribution(name).table() == pytest.approx(wanted, abs=1e-14)


def test_what_was_never_seen():
    """A configuration of parents without rows: a uniform line; a continuous child is as it is anywhere."""
    data = {
        "a": ["u", "u", "u"],
        "b": ["p", "q", "p"],
        "c": ["s", "t", "s"],
        "x": [5.0, 6.0, 7.0],
        "y": [1.0, 2.0, 4.0],
    }
    network = made().fit(data, smoothing="mle")
    assert network.distribution("b").table()[1] == pytest.approx([1 / 3] * 3)
    assert network.distribution("c").table()[:, 1] == pytest.approx(np.full((3, 2), 0.5))
    x = network.distribution("x")
    assert x.intercept == pytest.approx([6.0, 6.0]) and x.variance == pytest.approx([2 / 3, 2 / 3])
    y = network.distribution("y")
    assert y.intercept[2] == pytest.approx(7 / 3) and not y.coefficients[2].any()


def test_a_network_as_imaginary_rows():
    """ess × P(parents, child) of the prior network, whose arcs may be others (BDe)."""
    expert = BayesianNetwork({"b": [], "a": ["b"]}, {"a": ["v", "u"], "b": ["r", "q", "p"]})
    expert.set_cpt("b", [0.2, 0.3, 0.5])
    expert.set_cpt("a", [[0.9, 0.1], [0.4, 0.6], [0.5, 0.5]])
    data = {"a": ["u", "u", "v"], "b": ["p", "q", "p"]}
    network = BayesianNetwork({"a": [], "b": ["a"]}, {"a": ["u", "v"], "b": ["p", "q", "r"]})
    network.fit(data, smoothing=expert, ess=20)
    # P(a, b) with b in the order p, q, r.
    joint = np.array([[0.5 * 0.5, 0.3 * 0.6, 0.2 * 0.1], [0.5 * 0.5, 0.3 * 0.4, 0.2 * 0.9]])
    cells = 20 * joint + [[1, 1, 0], [1, 0, 0]]
    assert network.distribution("b").table() == pytest.approx(cells / cells.sum(axis=1, keepdims=True))
    a = 20 * joint.sum(axis=1) + [2, 1]
    assert network.distribution("a").table() == pytest.approx(a / 23)
    # Without rows but of no weight to speak of, it is the expert's.
    network.forget(data)
    assert network.distribution("a").table() == pytest.approx(joint.sum(axis=1))


def test_a_prior_network_is_taken_as_it_is_then():
    """It may be the network itself, or change before the next batch."""
    first, second = {"a": ["u", "v", "v"]}, {"a": ["u"]}
    network = BayesianNetwork({"a": []}, {"a": ["u", "v"]})
    network.set_cpt("a", [0.25, 0.75])
    network.fit(first, smoothing=network, ess=4).partial_fit(second)
    assert network.distribution("a").table() == pytest.approx([3 / 8, 5 / 8])
    expert = BayesianNetwork({"a": []}, {"a": ["u", "v"]})
    expert.set_cpt("a", [0.25, 0.75])
    network = BayesianNetwork({"a": []}, {"a": ["u", "v"]}).fit(first, smoothing=expert, ess=4)
    expert.set_cpt("a", [1, 0])
    assert network.partial_fit(second).distribution("a").table() == pytest.approx([3 / 8, 5 / 8])


def test_continuous_nodes():
    rng = np.random.default_rng(0)
    x = rng.normal(size=30)
    y = 3.0 + 2.0 * x + rng.normal(size=30)
    for variance, divisor in (("mle", 30), ("unbiased", 28)):
        network = BayesianNetwork({"y": ["x"], "x": []}, {"x": float, "y": float}).fit(
            {"x": x, "y": y}, variance=variance
        )
        slope, intercept = np.polyfit(x, y, 1)
        rss = ((y - intercept - slope * x) ** 2).sum()
        found = network.distribution("y")
        assert found.coefficients == pytest.approx([slope]) and found.intercept == pytest.approx(intercept)
        assert found.variance == pytest.approx(rss / divisor)
        assert network.distribution("x").variance == pytest.approx(x.var(ddof=variance == "unbiased"))
        assert network.n_rows_ == 30


@pytest.mark.parametrize("variance", ["mle", "unbiased"])
@pytest.mark.parametrize("value", [0.1, 1e8, 0.0])
def test_constant_columns_copies_and_one_row(variance, value):
    network = BayesianNetwork({"x": [], "y": ["x"], "z": ["x", "y"]}, dict.fromkeys("xyz", float))
    x = np.random.default_rng(0).normal(size=9)
    for data in (
        {"x": [value] * 9, "y": x, "z": [value] * 9},
        {"x": x, "y": x, "z": x},
        {"x": x, "y": 2 * x, "z": 3 * x + value},
        {"x": [1.5], "y": [value], "z": [2.5]},
    ):
        network.fit(data, variance=variance)
        for name in "xyz":
            found = network.distribution(name)
            assert np.isfinite(found.coefficients).all() and np.isfinite(found.intercept)
            assert 0 < found.variance < np.inf
        predicted = network.distribution("z")
        mean = predicted.intercept + predicted.coefficients @ [
            np.asarray(data["x"])[0],
            np.asarray(data["y"])[0],
        ]
        assert mean == pytest.approx(np.asarray(data["z"])[0], rel=1e-9, abs=1e-9)


def test_available_cases():
    """Each table counts the rows where its own columns are there."""
    data = {"a": ["u", None, "v", "u"], "b": ["p", "q", None, "q"]}
    network = BayesianNetwork({"a": [], "b": ["a"]}).fit(data, smoothing="mle")
    assert network.distribution("a").table() == pytest.approx([2 / 3, 1 / 3])
    assert network.distribution("b").table() == pytest.approx(np.array([[0.5, 0.5], [0.5, 0.5]]))
    assert network.n_rows_ == 4


def test_weights():
    data = {"a": ["u", "v"], "x": [1.0, 4.0]}
    network = BayesianNetwork({"a": [], "x": []}, {"x": float})
    network.fit(data, smoothing="mle", sample_weight=[3, 1])
    assert network.distribution("a").table() == pytest.approx([0.75, 0.25])
    assert network.distribution("x").intercept == pytest.approx(1.75)
    three = {"a": ["u", "u", "u", "v"], "x": [1.0, 1.0, 1.0, 4.0]}
    same_as = BayesianNetwork({"a": [], "x": []}, {"x": float}).fit(three, smoothing="mle")
    assert network.distribution("x").variance == pytest.approx(same_as.distribution("x").variance)
    network.fit(data, smoothing="mle", sample_weight=[1, 0])
    assert network.distribution("a").table() == pytest.approx([1, 0])


def test_a_fitted_network_is_copied_and_pickled_whole():
    data = rows(4)
    network = made().fit(data, smoothing="laplace", variance="unbiased")
    for twin in (copy.deepcopy(network), pickle.loads(pickle.dumps(network))):
        same(twin.partial_fit(rows(5)), copy.deepcopy(network).partial_fit(rows(5)))
    # A change of the graph or of a table ends what was counted.
    assert after(network, "set_cpt", "a", [0.5, 0.5])
    with refuses(UsageError, "forget", "fit"):
        network.forget(data)


AB = {"a": ["u", "v"], "b": ["p", "q"]}
HUGE = {f"p{k}": [] for k in range(40)} | {"child": [f"p{k}" for k in range(40)]}


def ab():
    return BayesianNetwork({"a": [], "b": ["a"]})


@pytest.mark.parametrize(
    ("try_it", "error", "says"),
    [
        (lambda: ab().fit({"a": ["u"]}), ColumnError, ["b", "a"]),
        (lambda: ab().fit(None), DataTypeError, ["NoneType"]),
        (lambda: ab().fit({"a": [], "b": []}), DataError, [0, "(0, 2)", 1]),
        (
            lambda: ab().fit({"a": [0.5, 0.7], "b": ["p", "q"]}),
            ColumnError,
            ["a", "states={'a': float}"],
        ),
        (lambda: ab().fit(AB).partial_fit({"a": ["w"], "b": ["p"]}), UnseenState, ["a", "w"]),
        (lambda: ab().fit(AB, sample_weight=[0, 0]), WeightError, ["weights", "zero"]),
        (lambda: ab().fit(AB, sample_weight=[1, -1]), WeightError, [1, -1.0]),
        (lambda: ab().fit(AB, sample_weight=[1, np.nan]), WeightError, [1, "nan"]),
        (lambda: ab().fit(AB, sample_weight=[1]), WeightError, [1, 2, "sample_weight.shape"]),
        (lambda: ab().fit(AB, smoothing="none"), SettingError, ["prior", "none"]),
        (lambda: ab().fit(AB, smoothing="back-off"), SettingError, ["back-off", "prior"]),
        (lambda: ab().fit(AB, smoothing="student"), SettingError, ["student", "prior"]),
        (lambda: ab().fit(AB, smoothing=None), SettingError, [None, "prior"]),
        (lambda: ab().fit(AB, smoothing=-1.0), SettingError, ["smoothing", -1.0]),
        (lambda: ab().fit(AB, variance="sample"), SettingError, ["variance", "sample"]),
        (lambda: ab().fit(AB, ess=2), SettingError, ["ess", "prior"]),
        (lambda: ab().fit(AB, smoothing=ab().fit(AB)), SettingError, ["prior", "ess=", 0]),
        (lambda: ab().fit(AB, smoothing=ab().fit(AB), ess=0), SettingError, ["prior", "ess=", 0]),
        (
            lambda: ab().fit(AB, smoothing=BayesianNetwork({"a": []}).fit(AB), ess=1),
            Incompatible,
            ["prior", "b"],
        ),
        (
            lambda: ab().fit(AB, smoothing=ab().fit({"a": ["u"], "b": ["p"]}), ess=1),
            Incompatible,
            ["prior", "a"],
        ),
        (lambda: ab().forget(AB), UsageError, ["forget"]),
        (lambda: ab().n_rows_, UsageError, ["n_rows_"]),
        (lambda: ab().fit(AB).forget({"a": ["u"] * 2, "b": ["p"] * 2}), NotCounted, [-1]),
        (lambda: ab().fit(AB).merge(ab()), UsageError, ["counts"]),
        (lambda: ab().fit(AB).merge(3), UsageError, ["counts"]),
        (
            lambda: ab().fit(AB).merge(BayesianNetwork({"b": [], "a": ["b"]}).fit(AB)),
            Incompatible,
            ["nodes", "arcs"],
        ),
        (lambda: BayesianNetwork().fit(AB), UsageError, ["nodes"]),
        (
            lambda: BayesianNetwork(HUGE).fit({name: ["u", "v"] for name in HUGE}),
            TooLarge,
            ["max_parents=", "set_max_memory"],
        ),
    ],
)
def test_what_cannot_be(try_it, error, says):
    with refuses(error, *says):
        try_it()


def test_a_network_without_nodes_has_nothing_to_learn():
    empty = BayesianNetwork({})
    with refuses(UsageError):
        empty.fit({"a": ["x"]})
    with refuses(SettingError, "a") as caught:
        empty.query("a")
    assert "There are ." not in str(caught.value)


def test_a_refused_batch_changes_nothing():
    network = ab().fit(AB, smoothing="laplace")
    before = network.distribution("b").table().copy()
    for bad in ({"a": ["w"], "b": ["p"]}, {"a": ["u"]}):
        with pytest.raises(DataError):
            network.partial_fit(bad)
    with pytest.raises(NotCounted):
        network.forget({"a": ["u"] * 3, "b": ["q"] * 3})
    assert (network.distribution("b").table() == before).all() and network.n_rows_ == 2


def test_the_memory_of_tables_is_a_setting():
    before = set_max_memory(100)
    try:
        with refuses(TooLarge, "set_max_memory"):
            ab().fit(AB)
    finally:
        set_max_memory(before)
    assert ab().fit(AB).n_rows_ == 2


@pytest.mark.parametrize("method", ["counts", "em"])
def test_rows_mean_states_as_they_are_written(method):
    """What predict takes for a state, fit, partial_fit, forget and EM take for it too."""
    network = BayesianNetwork({"n": [], "b": ["n"]}, {"n": ["0", "1"], "b": ["false", "true"]})
    told = {"n": ["0", "1", "1", None], "b": ["false", "true", "false", "true"]}
    meant = {"n": [0, 1.0, 1, None], "b": [False, True, False, True]}
    wanted = copy.copy(network).fit(told, method=method)
    found = network.fit(meant, method=method)
    assert found.states("n") == ("0", "1")
    for name in ("n", "b"):
        assert found.cpt(name).values == pytest.approx(wanted.cpt(name).values)
    np.testing.assert_array_equal(found.log_prob(meant), wanted.log_prob(told))
    if method == "counts":
        found.partial_fit(meant).forget(meant)
        np.testing.assert_array_equal(found.cpt("b").values, wanted.cpt("b").values)
    with refuses(UnseenState, "n", 2):
        network.fit({"n": [0, 2], "b": [True, True]}, method=method)


def test_nodes_of_intervals_are_fitted_by_numbers_or_by_names():
    rng = np.random.default_rng(0)
    data = {"x": rng.normal(size=60), "s": rng.choice(["p", "q"], 60)}
    network = learn_network(data, discretize={"x": [-0.5, 0.5]}, required=[("s", "x")])
    names = np.array(network.states("x"))[np.searchsorted([-0.5, 0.5], data["x"])]
    by_numbers = copy.copy(network).fit(data).cpt("x").values
    by_names = copy.copy(network).fit({**data, "x": names}).cpt("x").values
    np.testing.assert_array_equal(by_numbers, network.cpt("x").values)
    np.testing.assert_array_equal(by_names, by_numbers)
    np.testing.assert_array_equal(network.log_prob(data), network.log_prob({**data, "x": names}))


@pytest.mark.parametrize("method", ["counts", "em"])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_nodes_named_by_numbers_are_found_where_columns_are_text(make, method):
    """As predict_proba finds them: frames of some libraries know no other names."""
    network = BayesianNetwork({0: [], 1: [0]})
    told = {0: ["u", "v", "v"], 1: ["p", "p", "q"]}
    wanted = copy.copy(network).fit(told, method="counts")
    network = BayesianNetwork({0: [], 1: [0]}, {0: ["u", "v"], 1: ["p", "q"]})
    frame = make({str(name): column for name, column in told.items()})
    found = network.fit(frame, method=method)
    assert found.cpt(1).values == pytest.approx(wanted.cpt(1).values)
    np.testing.assert_array_equal(found.log_prob(frame), found.log_prob(told))


def test_a_file_is_no_table_to_fit():
    for method in ("counts", "em"):
        with pytest.raises(DataTypeError, match="'rows"):
            made().fit("rows.csv", method=method)
