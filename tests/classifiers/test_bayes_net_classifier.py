"""BayesNetClassifier: the posteriors of its network, naive Bayes and TAN as special cases, odd rows."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from bayeskit import TAN, BayesianNetwork, BayesNetClassifier, NaiveBayes, datasets
from bayeskit.errors import (
    ColumnError,
    DataError,
    OneShotSource,
    SettingError,
    SuspectResult,
    TooLarge,
    UnseenState,
)
from bayeskit.networks import set_max_memory, wet_grass
from refusals import refuses, warns_of


def mixed_rows(n: int = 400, seed: int = 0, missing: float = 0.0) -> tuple[dict[str, Any], np.ndarray]:
    """Rows of two texts and two numbers, all of which tell something about the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    colour = np.where(rng.random(n) < 0.7, y, rng.integers(0, 3, n))
    shape = np.where(rng.random(n) < 0.6, (y + colour) % 3, rng.integers(0, 3, n))
    size = rng.normal(y, 1.0)
    weight = 2.0 * size + rng.normal(size=n)
    columns: dict[str, Any] = {
        "colour": np.array(["red", "green", "blue"], object)[colour],
        "shape": np.array(["o", "x", "z"], object)[shape],
        "size": size,
        "weight": weight,
    }
    for column in columns.values():
        column[rng.random(n) < missing] = None if column.dtype == object else np.nan
    return columns, y


def discrete_rows(n: int = 500, seed: int = 0, missing: float = 0.0) -> tuple[dict[str, Any], np.ndarray]:
    columns, y = mixed_rows(n, seed, missing)
    more = np.where(np.random.default_rng(seed + 1).random(n) < 0.8, columns["colour"], columns["shape"])
    return {"colour": columns["colour"], "shape": columns["shape"], "more": more}, y


SETTINGS: list[dict[str, Any]] = [
    {"method": "auto"},
    {"method": "naive"},
    {"method": "tan"},
    {"method": "hill-climbing", "conditional": True},
    {"method": "tabu", "markov_blanket": False},
    {"method": "k2", "numeric": 4},
    {
        "method": "auto",
        "numeric": {"size": 3},
        "cut_points": {"weight": [0.0, 2.0]},
        "criterion": "bdeu",
    },
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(map(str, s.values())))
def test_the_posteriors_are_those_of_the_network(settings: dict[str, Any]) -> None:
    X, y = mixed_rows(missing=0.05)
    model = BayesNetClassifier(**settings).fit(X, y)
    posterior = model.predict_proba(X)
    np.testing.assert_allclose(posterior, model.network_.predict_proba(X, "y"), rtol=0, atol=1e-12)
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), posterior.argmax(axis=1))
    assert model.markov_blanket_ == tuple(c for c in X if c in model.network_.markov_blanket("y"))
    assert model.score(X, y) > 0.6


def test_method_naive_is_naive_bayes() -> None:
    X, y = mixed_rows(missing=0.1)
    mine, theirs = BayesNetClassifier("naive", smoothing="laplace").fit(X, y), NaiveBayes().fit(X, y)
    np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_method_tan_is_tan(missing: float) -> None:
    X, y = discrete_rows(missing=missing)
    mine, theirs = BayesNetClassifier("tan", smoothing="laplace").fit(X, y), TAN(smoothing=1.0).fit(X, y)
    found = {name: parents[1:] for name, parents in mine.structure_.items() if name != "y"}
    assert found == theirs.structure_
    np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_the_tree_of_numbers_is_the_heaviest_by_partial_correlation() -> None:
    """Given the class, N·I = −½ Σ_c n_c log(1 − r_c²) of Gaussian columns: brute force over the three trees."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 600)
    a = rng.normal(y, 1.0)
    b = a + rng.normal(size=600)
    c = b + rng.normal(size=600) * 0.7
    X = {"a": a, "c": c, "b": b}
    told = {
        pair: -0.5
        * sum(
            (y == k).sum() * np.log(1 - np.corrcoef(X[pair[0]][y == k], X[pair[1]][y == k])[0, 1] ** 2)
            for k in (0, 1)
        )
        for pair in itertools.combinations("abc", 2)
    }
    best = max(itertools.combinations(told, 2), key=lambda pairs: sum(told[p] for p in pairs))
    structure = BayesNetClassifier("tan").fit(X, y).structure_
    arcs = {tuple(sorted((p, child))) for child, parents in structure.items() for p in parents if p != "y"}
    assert arcs == set(best) == {("a", "b"), ("b", "c")}


def brute_force(network: BayesianNetwork, row: dict[str, Any]) -> np.ndarray:
    """P(y | row): the product of all tables, summed over every state of what is missing."""
    names = list(network.nodes)
    total = np.zeros(len(network.states("y")))
    free = [[row[n]] if row.get(n) is not None else list(network.states(n)) for n in names]
    for values in itertools.product(*free):
        here = dict(zip(names, values, strict=True))
        p = 1.0
        for name in names:
            factor = network.cpt(name)
            place = tuple(network.states(n).index(here[n]) for n in (*network.parents(name), name))
            p *= factor.values[place]
        total[network.states("y").index(here["y"])] += p
    return total / total.sum()


@pytest.mark.parametrize("method", ["tan", "auto"])
def test_missing_cells_are_summed_out(method: str) -> None:
    X, y = discrete_rows(missing=0.2)
    model = BayesNetClassifier(method).fit(X, y)
    posterior = model.predict_proba(X)
    missing = [i for i in range(60) if any(X[c][i] is None for c in X)]
    assert len(missing) > 10
    for i in [*missing, 0, 1]:
        expected = brute_force(model.network_, {name: column[i] for name, column in X.items()})
        np.testing.assert_allclose(posterior[i], expected, rtol=1e-10)


@pytest.mark.parametrize("data", [mixed_rows, discrete_rows])
@pytest.mark.parametrize("settings", [{}, {"conditional": True}, {"method": "order", "max_parents": 2}])
def test_the_blanket_alone_says_the_same_of_whole_rows(data: Any, settings: dict[str, Any]) -> None:
    X, y = data()
    X = {**X, "noise": np.random.default_rng(9).choice(["u", "v"], len(y))}
    alone = BayesNetClassifier(**settings).fit(X, y)
    whole = BayesNetClassifier(**settings, markov_blanket=False).fit(X, y)
    assert alone.markov_blanket_ == whole.markov_blanket_
    assert set(alone.network_.nodes) == {"y", *alone.markov_blanket_}
    assert set(whole.network_.nodes) == {"y", *X}
    assert "noise" not in alone.markov_blanket_
    np.testing.assert_allclose(alone.predict_proba(X), whole.predict_proba(X), rtol=1e-9, atol=1e-14)
    without = {**X, "noise": np.full(len(y), "w")}
    np.testing.assert_array_equal(alone.predict_proba(without), alone.predict_proba(X))


@pytest.mark.parametrize(("name", "rows"), [("iris", 150), ("mushroom", 1500)])
def test_at_least_as_right_as_naive_bayes(name: str, rows: int) -> None:
    data = datasets.load_dataset(name)
    y = np.asarray(data.y)
    order = np.random.default_rng(0).permutation(len(y))[:rows]
    right = []
    for model in (BayesNetClassifier(), NaiveBayes()):
        hits = []
        for fold in range(3):
            test = order[fold::3]
            train = np.setdiff1d(order, test)
            hits.append(model.fit(data.X.iloc[train], y[train]).score(data.X.iloc[test], y[test]))
        right.append(np.mean(hits))
    assert right[0] >= right[1]


def test_a_class_that_nothing_tells_of_gets_its_prior() -> None:
    rng = np.random.default_rng(0)
    X, y = {"a": rng.choice(["u", "v"], 300), "b": rng.normal(size=300)}, rng.choice(["p", "q", "q"], 300)
    model = BayesNetClassifier(smoothing="mle").fit(X, y)
    assert model.markov_blanket_ == ()
    assert list(model.network_.nodes) == ["y"]
    prior = [(y == "p").mean(), (y == "q").mean()]
    np.testing.assert_allclose(model.predict_proba(X), np.tile(prior, (300, 1)), rtol=1e-12)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(map(str, s.values())))
def test_odd_rows(settings: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    cases = {
        "one class": (mixed_rows(30)[0], ["a"] * 30),
        "constant columns": (
            {**mixed_rows(30)[0], "k": ["k"] * 30, "c": np.full(30, 7.0)},
            np.arange(30) % 2,
        ),
        "more states than rows": (
            {"id": [f"row {i}" for i in range(12)], "z": rng.normal(size=12)},
            [0, 1] * 6,
        ),
        "one row": ({"a": ["u"], "b": [1.0]}, ["p"]),
        "two rows": ({"a": ["u", "v"], "b": [1.0, 2.0]}, ["p", "q"]),
    }
    for name, (X, y) in cases.items():
        given = dict(settings)
        if given.get("criterion") == "bdeu":  # which is of tables alone
            given |= {"numeric": 3, "cut_points": {k: v for k, v in given["cut_points"].items() if k in X}}
        model = BayesNetClassifier(**given).fit(X, y)
        posterior = model.predict_proba(X)
        assert np.isfinite(posterior).all(), name
        np.testing.assert_allclose(posterior.sum(axis=1), 1.0, atol=1e-12, err_msg=name)
        assert set(model.predict(X)) <= set(y), name


def test_shuffled_and_renamed_columns_are_the_same_model() -> None:
    X, y = mixed_rows()
    expected = BayesNetClassifier(conditional=True).fit(X, y).predict_proba(X)
    names = {"weight": "a", "shape": "zz", "colour": "b", "size": "q"}
    other = {new: X[old] for old, new in names.items()}
    np.testing.assert_allclose(
        BayesNetClassifier(conditional=True).fit(other, y).predict_proba(other), expected, rtol=1e-10
    )


def test_the_name_of_the_class() -> None:
    X, y = discrete_rows()
    assert BayesNetClassifier("naive").fit(X, y).target_ == "y"
    renamed = {"y": X["colour"], "class": X["shape"]}
    model = BayesNetClassifier("naive").fit(renamed, y)
    assert model.target_ == "class_"
    assert set(model.network_.nodes) == {"class_", "y", "class"}
    named = BayesNetClassifier("naive").fit({**X, "kind": y}, target="kind")
    assert named.target_ == "kind"
    np.testing.assert_array_equal(
        named.predict_proba(X), BayesNetClassifier("naive").fit(X, y).predict_proba(X)
    )
    assert named.classes_.dtype.kind == "i"


def test_required_and_forbidden_arcs_are_kept() -> None:
    X, y = mixed_rows()
    for settings in ({}, {"conditional": True}, {"method": "tabu"}):
        model = BayesNetClassifier(
            required=[("colour", "y")],
            forbidden=[("y", "size"), ("y", "weight"), ("shape", "y")],
            markov_blanket=False,
            **settings,
        ).fit(X, y)
        structure = model.structure_
        assert model.held_["structure"] == structure
        assert "colour" in structure["y"] and "shape" not in structure["y"]
        assert "y" not in structure["size"] and "y" not in structure["weight"]
    bounded = BayesNetClassifier(max_parents=1, conditional=True, markov_blanket=False).fit(X, y)
    assert max(len(parents) for parents in bounded.held_["structure"].values()) == 1


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"method": "best"}, ["method", "best"]),
    ({"criterion": "accuracy"}, ["criterion", "accuracy"]),
    ({"unseen": "perhaps"}, ["unseen", "perhaps"]),
    ({"numeric": "kernel"}, ["numeric", "kernel"]),
    ({"numeric": 1}, ["numeric", 1, 2]),
    ({"numeric": {"size": True}}, ["numeric['size']", True]),
    ({"numeric": {"nowhere": 3}}, ["numeric", "nowhere"]),
    ({"numeric": {"colour": 3}}, ["numeric", "colour"]),
    ({"cut_points": {"size": [2.0, 1.0]}}, ["size", "[2.0, 1.0]"]),
    ({"class_prior": [0.5, 0.3, 0.2], "required": [("colour", "y")]}, ["class_prior", "colour"]),
    ({"markov_blanket": "yes"}, ["markov_blanket", "yes"]),
    ({"smoothing": "flat"}, ["flat"]),
    ({"method": "tan", "max_parents": 2}, ["method='tan'", "max_parents", "auto"]),
    ({"required": [("size", "y")]}, ["size", "continuous"]),
    ({"required": [("nowhere", "y")]}, ["required", "nowhere"]),
    ({"max_parents": -1}, ["max_parents", -1]),
    ({"conditional": True, "criterion": "bdeu", "numeric": 3}, ["criterion='bdeu'", "bic", "aic"]),
    ({"method": "ges"}, ["method='ges'", "numeric=", 'method="auto"']),
]


@pytest.mark.parametrize(("settings", "says"), REFUSED, ids=lambda v: str(v)[:40])
def test_settings_that_mean_nothing(settings: dict[str, Any], says: list[object]) -> None:
    X, y = mixed_rows(60)
    with refuses(SettingError, *says):
        BayesNetClassifier(**settings).fit(X, y)


def test_rows_that_cannot_be_taken() -> None:
    X, y = mixed_rows(60)
    with refuses(OneShotSource, "BayesNetClassifier", "list_iterator"):
        BayesNetClassifier().fit(iter([(X, y)]))
    with refuses(DataError, "BayesNetClassifier", 'target="..."'):
        BayesNetClassifier().fit(X)
    model = BayesNetClassifier("naive").fit(X, y)
    with refuses(ColumnError, "size"):
        model.predict({name: column for name, column in X.items() if name != "size"})
    with refuses(ColumnError, 2, "BayesNetClassifier", 3):
        BayesNetClassifier("naive").fit(np.ones((4, 3)), [0, 1, 0, 1]).predict(np.ones((4, 2)))
    wide = {name: [f"{name}{i}" for i in range(300)] for name in "ab"}
    set_max_memory(2**20)
    try:
        with refuses(TooLarge, "max_parents="):
            BayesNetClassifier("k2", required=[("a", "b"), ("y", "b")]).fit(wide, np.arange(300) % 2)
        many = {name: np.arange(400_000) % 3 for name in "abc"}
        with refuses(TooLarge, "set_max_memory"):
            BayesNetClassifier(categorical_features="all").fit(many, np.arange(400_000) % 2)
    finally:
        set_max_memory(2**30)


def test_states_that_were_never_learned() -> None:
    X, y = discrete_rows()
    odd = {
        name: np.array([value], object)
        for name, value in (("colour", "mauve"), ("shape", "x"), ("more", "red"))
    }
    gone = {**odd, "colour": np.array([None], object)}
    model = BayesNetClassifier("naive").fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(odd), model.predict_proba(gone))
    with refuses(UnseenState, "mauve"):
        clone(model).set_params(unseen="error").fit(X, y).predict(odd)
    declared = BayesNetClassifier(
        "naive", smoothing="laplace", states={"colour": ["red", "green", "blue", "mauve"]}
    )
    table = declared.fit(X, y).network_.cpt("colour")
    np.testing.assert_allclose(table.values[:, 3], 1.0 / (np.bincount(y) + 4.0), rtol=1e-12)


def test_a_search_that_runs_out_of_time_says_so() -> None:
    X, y = discrete_rows()
    for settings in ({}, {"method": "naive", "conditional": True}):
        with warns_of(SuspectResult, "time limit"):
            model = BayesNetClassifier(time_limit=0.0, **settings).fit(X, y)
        assert np.isfinite(model.predict_proba(X)).all()


def test_the_conditional_search_tells_the_class_better_than_its_start() -> None:
    """Two columns that matter to the class only together, and one that copies the other: parity."""
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 2, 800), rng.integers(0, 2, 800)
    y = np.where(rng.random(800) < 0.9, a ^ b, 1 - (a ^ b))
    X = {"a": a, "b": b, "echo": np.where(rng.random(800) < 0.95, a, 1 - a), "noise": rng.integers(0, 2, 800)}
    start = BayesNetClassifier("naive", categorical_features="all").fit(X, y)
    told = BayesNetClassifier("naive", conditional=True, categorical_features="all").fit(X, y)
    assert start.score(X, y) < 0.65 < 0.88 < told.score(X, y)
    assert {"a", "b"} <= set(told.markov_blanket_) and "noise" not in told.markov_blanket_


def test_frames_arrays_and_pickles_are_the_same_model() -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = mixed_rows(missing=0.05)
    model = BayesNetClassifier("tan").fit(X, y)
    expected = model.predict_proba(X)
    for frame in (pd.DataFrame(X), pl.DataFrame({k: v.tolist() for k, v in X.items()}, nan_to_null=True)):
        np.testing.assert_allclose(
            BayesNetClassifier("tan").fit(frame, y).predict_proba(frame), expected, rtol=1e-10
        )
        np.testing.assert_allclose(model.predict_proba(frame), expected, rtol=1e-10)
        np.testing.assert_allclose(model.predict_proba(frame[[*reversed(X)]]), expected, rtol=1e-10)
    array = np.column_stack([column.astype(object) for column in X.values()])
    other = BayesNetClassifier("tan").fit(array, y)
    np.testing.assert_allclose(other.predict_proba(array), expected, rtol=1e-10)
    np.testing.assert_allclose(other.predict_proba(pd.DataFrame(X)), expected, rtol=1e-10)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), expected)


def test_the_network_is_one_to_ask() -> None:
    rows = wet_grass().sample(3_000, random_state=0)
    model = BayesNetClassifier().fit(rows, target="wet")
    assert set(model.markov_blanket_) == {"rain", "sprinkler"}
    asked = model.network_.query("wet", evidence={"rain": "yes"})
    row = {"rain": ["yes"], "sprinkler": [None], "joe": [None]}
    np.testing.assert_allclose(model.predict_proba(row)[0], asked.values, rtol=1e-10)
    assert model.statistics_.total == 3_000


def test_above_a_hundred_columns_noise_takes_no_part_in_the_search():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 160))
    X[:, :4] += 1.5 * y[:, None]
    X[:, 4] = X[:, 0] + 0.3 * rng.normal(size=300)
    rows = pd.DataFrame(X, columns=[f"c{j}" for j in range(160)])
    rows["word"] = np.where(rng.random(300) < 0.8, y, 1 - y).astype(str)
    model = BayesNetClassifier().fit(rows, y)
    assert {"c1", "c2", "c3"} <= set(model.markov_blanket_) and len(model.structure_) <= 30
    # The names and the order of the columns have no part in it.
    turned = BayesNetClassifier().fit(rows[rows.columns[::-1]], y)
    assert set(turned.markov_blanket_) == set(model.markov_blanket_)
    # The whole network, or given arcs, are over all columns.
    whole = BayesNetClassifier("hill-climbing", markov_blanket=False, max_parents=1).fit(rows, y)
    assert set(whole.structure_) == {*rows.columns, whole.target_}
    given = BayesNetClassifier("hill-climbing", required=[(model.target_, "c150")], max_parents=1)
    assert "c150" in given.fit(rows, y).markov_blanket_ and "c150" not in model.markov_blanket_
