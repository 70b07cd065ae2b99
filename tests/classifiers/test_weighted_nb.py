"""Weighted naive Bayes: its loss by the definition, its optimum by another search, its counts by taking rows away."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from bayeskit import Batches, Discretizer, NaiveBayes, WeightedNB, load
from bayeskit._conditionals.weighted import powered
from bayeskit._data.source import Source
from bayeskit._fitting.leave_one_out import LeaveOneOut, by_refit, encode_learned
from bayeskit._fitting.naive import Naive
from bayeskit._fitting.weighting import Loss, choose_weights
from bayeskit.errors import Incompatible, InfiniteValue, NotCounted, NotSupported, SettingError, UsageError
from bayeskit.extending import Chunk
from reference import class_share, is_gap, normal_density, ordered, table_share
from refusals import refuses

CLASSES = ["no", "perhaps", "yes"]


def some_rows(n: int = 60, seed: int = 0, holes: float = 0.15) -> tuple[pd.DataFrame, Any]:
    """Three words and two numbers that depend on the class and on each other, with holes."""
    rng = np.random.default_rng(seed)
    y = rng.choice(CLASSES, n, p=[0.5, 0.2, 0.3])
    k = np.array([CLASSES.index(label) for label in y])
    a = (k + rng.integers(0, 2, n)) % 3
    b = np.where(rng.random(n) < 0.8, a, rng.integers(0, 3, n))  # mostly a once more
    frame = pd.DataFrame(
        {
            "a": np.array(list("pqr"), dtype=object)[a],
            "x": rng.normal(k, 1.0),
            "b": np.array(list("stu"), dtype=object)[b],
            "c": np.array(list("vw"), dtype=object)[rng.integers(0, 2, n)],
            "z": rng.normal(0.3 * k, 2.0) + 100.0,
        }
    )
    for column in frame:
        frame.loc[rng.random(n) < holes, column] = None
    return frame, y


def loss_of(model: WeightedNB, X: Any, y: Any, weights: Any = None) -> Loss:
    """The loss that a classifier makes small, over rows in memory."""
    source = Source(X, y, weights)
    model._held = {}
    model._choose_more = lambda source: {}  # type: ignore[method-assign]
    model._held = model._choose(source)
    trial = model._trial(source, lambda schema: Naive())
    assert trial.spec is not None
    chunks = [c for rows in source for c in encode_learned(trial, trial.schema, rows).chunks()]
    return Loss(trial.statistics, trial.spec, lambda: chunks)


# -- the slow twin ---------------------------------------------------------------------------------


def slow_terms(X: Any, y: Any, rows: Any, names: list[str], alpha: float = 1.0) -> tuple[Any, Any, Any]:
    """log P(c) and log P(x_j | c) of every row, one at a time; and the place of each row's class."""
    classes = ordered(y)
    columns = [list(X[name]) for name in names]
    prior = np.array([math.log(class_share(y, rows, c, alpha)) for c in classes])
    terms = np.zeros((len(y), len(names), len(classes)))
    for j, column in enumerate(columns):
        for k, c in enumerate(classes):
            mine = [i for i, label in enumerate(y) if label == c]
            for i, value in enumerate(column):
                if is_gap(value):
                    continue
                if isinstance(value, float):
                    p = normal_density(value, [column[r] for r in mine], [rows[r] for r in mine])
                else:
                    p = table_share(column, y, rows, value, c, prior=alpha)
                terms[i, j, k] = math.log(p)
    return prior, terms, [classes.index(label) for label in y]


def slow_loss(weights: Any, prior: Any, terms: Any, target: Any, rows: Any) -> float:
    """The mean of −log P(y | x), by the definition."""
    total = 0.0
    for i, label in enumerate(target):
        scores = [
            p + math.fsum(w * t for w, t in zip(weights, terms[i, :, k], strict=True))
            for k, p in enumerate(prior)
        ]
        top = max(scores)
        total += rows[i] * (top + math.log(math.fsum(math.exp(s - top) for s in scores)) - scores[label])
    return total / sum(rows)


# -- the loss and its slope ------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_is_that_of_the_definition(weighted):
    X, y = some_rows()
    rows = np.random.default_rng(1).integers(1, 4, len(y)) / 2 if weighted else np.ones(len(y))
    loss = loss_of(WeightedNB(numeric="gaussian"), X, y, rows if weighted else None)
    twin = slow_terms(X, y, rows, loss.names)
    for weights in (np.ones(5), np.zeros(5), np.array([0.3, 1.0, 0.0, 0.7, 0.1])):
        assert loss(weights)[0] == pytest.approx(slow_loss(weights, *twin, rows), rel=1e-12)


@pytest.mark.parametrize("how", [{}, {"missing": "state"}, {"missing": "state", "numeric": "gaussian"}])
def test_the_loss_is_that_of_the_posteriors(how):
    """What is made small is the loss of the very model that answers."""
    X, y = some_rows(seed=1)
    loss = loss_of(WeightedNB(**how), X, y)
    weights = dict(zip(loss.names, (0.3, 1.0, 0.0, 0.7, 0.1), strict=True))
    answer = WeightedNB(weights=weights, **how).fit(X, y).predict_log_proba(X)
    own = answer[np.arange(len(y)), [CLASSES.index(label) for label in y]]
    assert loss(np.array(list(weights.values())))[0] == pytest.approx(-own.mean(), rel=1e-12)


@pytest.mark.parametrize("how", [{}, {"numeric": "gaussian"}, {"missing": "state", "numeric": "gaussian"}])
def test_the_derivatives_are_those_of_the_loss(how):
    X, y = some_rows(seed=2)
    loss = loss_of(WeightedNB(**how), X, y)
    at, step = np.array([0.9, 0.2, 0.6, 0.4, 0.5]), 1e-5
    slope, curvature = loss(at)[1], loss.curvature(at)
    for j, one in enumerate(np.eye(5)):
        (low, slope_low), (high, slope_high) = loss(at - step * one), loss(at + step * one)
        assert slope[j] == pytest.approx((high - low) / (2 * step), abs=1e-8)
        assert curvature[j] == pytest.approx((slope_high[j] - slope_low[j]) / (2 * step), abs=1e-8)


def test_the_optimum_is_that_of_another_search_on_the_slow_twin():
    X, y = some_rows(40, seed=7)
    rows = np.random.default_rng(3).integers(1, 4, len(y)).astype(float)
    model = WeightedNB(numeric="gaussian").fit(X, y, sample_weight=rows)
    names = list(X)
    twin = slow_terms(X, y, rows, names)
    found = minimize(
        slow_loss, np.full(5, 0.5), args=(*twin, rows), method="SLSQP", bounds=[(0, 1)] * 5,
        options={"ftol": 1e-13, "maxiter": 300},
    )  # fmt: skip
    weights = [model.weights_[name] for name in names]
    assert slow_loss(weights, *twin, rows) <= found.fun + 1e-10
    np.testing.assert_allclose(weights, found.x, atol=2e-4)
    assert 1.0 in weights and any(0.1 < w < 0.9 for w in weights)  # some at their bound, some inside


@settings(max_examples=25)
@given(st.data())
def test_no_feasible_step_is_downhill(data):
    """The weights lie between 0 and 1, and no better ones are near: also under zeros, holes and row weights."""
    n, d = data.draw(st.integers(2, 12)), data.draw(st.integers(1, 4))
    cells = st.lists(
        st.lists(st.sampled_from(["u", "v", None]), min_size=d, max_size=d), min_size=n, max_size=n
    )
    X = pd.DataFrame(data.draw(cells), columns=[f"x{j}" for j in range(d)], dtype=object)
    y = data.draw(st.lists(st.sampled_from(CLASSES), min_size=n, max_size=n))
    rows = np.array(data.draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=n, max_size=n)))
    loss = loss_of(WeightedNB(smoothing=data.draw(st.sampled_from([0.5, 1.0]))), X, y, rows)
    weights = np.array(list(choose_weights(loss).values()))
    value, slope = loss(weights)
    assert ((weights >= 0.0) & (weights <= 1.0)).all()
    assert value <= loss(np.ones(d))[0] + 1e-12
    assert np.abs(np.clip(weights - slope, 0.0, 1.0) - weights).max() < 1e-5


@pytest.mark.parametrize("class_prior", [None, [0.5, 0.5, 0.0]])
def test_impossible_classes_give_numbers(class_prior):
    """Maximum likelihood has zeros: a class they rule out has no share, and no weight is NaN."""
    X = [["a", "s"], ["a", "t"], ["b", "s"], ["b", "t"], ["c", "t"], ["c", "t"]]
    model = WeightedNB(smoothing=0, class_prior=class_prior).fit(X, [0, 0, 1, 0, 2, 2])
    assert all(0.0 <= w <= 1.0 for w in model.weights_.values())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert np.isfinite(model.predict_proba(X)).all()
    loss = loss_of(WeightedNB(smoothing=0, class_prior=class_prior), X, [0, 0, 1, 0, 2, 2])
    for weights in (np.zeros(2), np.array([0.0, 1.0]), np.ones(2)):
        assert np.isfinite(loss(weights)[0]) and np.isfinite(loss(weights)[1]).all()
    assert powered(np.array([-np.inf, -np.inf]), np.array([0.0, 0.5])).tolist() == [0.0, -np.inf]


# -- the classifier --------------------------------------------------------------------------------


def test_with_weights_of_one_it_is_naive_bayes():
    X, y = some_rows(holes=0.0)
    plain, ones = NaiveBayes().fit(X, y), WeightedNB(numeric="gaussian", weights={}).fit(X, y)
    np.testing.assert_array_equal(ones.predict_joint_log_proba(X), plain.predict_joint_log_proba(X))
    bins = Discretizer().fit(X[["x", "z"]], y).transform(X[["x", "z"]])
    coded = X.assign(x=bins["x"].astype(str), z=bins["z"].astype(str))
    on_bins = NaiveBayes().fit(coded, y).predict_joint_log_proba(coded)
    np.testing.assert_array_equal(WeightedNB(weights={}).fit(X, y).predict_joint_log_proba(X), on_bins)


def test_a_column_twice_shares_the_weight_of_one():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 400)
    once = np.where(rng.random(400) < 0.75, y, 1 - y).astype(str)
    twice = np.column_stack([once, once])
    model, single = WeightedNB(smoothing=0).fit(twice, y), WeightedNB(smoothing=0).fit(once[:, None], y)
    (w,) = single.weights_.values()
    a, b = model.weights_.values()
    assert a == pytest.approx(b, abs=1e-9)
    assert a + b == pytest.approx(w, abs=1e-4) == 1.0
    np.testing.assert_allclose(model.predict_proba(twice), single.predict_proba(once[:, None]), atol=1e-4)


@pytest.mark.parametrize("numeric", ["mdl", "gaussian"])
def test_a_weight_is_a_repetition_and_nothing_is_absent(numeric):
    X, y = some_rows(seed=5)
    rows = np.random.default_rng(5).integers(0, 3, len(y))
    X.loc[len(X)] = ["never", 1e9, "seen", "before", -1e9]
    y, rows = np.append(y, "a class of no weight"), np.append(rows, 0)
    weighted = WeightedNB(numeric=numeric).fit(X, y, sample_weight=rows)
    repeated = WeightedNB(numeric=numeric).fit(X.loc[np.repeat(np.arange(len(y)), rows)], np.repeat(y, rows))
    assert weighted.cut_points_ == repeated.cut_points_
    assert weighted.weights_ == pytest.approx(repeated.weights_, abs=1e-5)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-5)


def test_the_weight_of_a_class_is_that_of_its_rows():
    X, y = some_rows(seed=6)
    by_class = WeightedNB(numeric="gaussian", class_weight={"yes": 2.0}).fit(X, y)
    by_row = WeightedNB(numeric="gaussian").fit(X, y, sample_weight=np.where(y == "yes", 2.0, 1.0))
    assert by_class.weights_ == pytest.approx(by_row.weights_, abs=1e-5)
    plain = WeightedNB(numeric="gaussian").fit(X, y)
    assert by_class.weights_ != pytest.approx(plain.weights_, abs=1e-3)


def test_a_missing_value_says_nothing():
    X, y = some_rows(seed=7)
    X["gone"] = None
    model = WeightedNB().fit(X, y)
    assert model.weights_["gone"] == 1.0  # no row has a say in it
    nothing = X.iloc[:1].astype(object)
    nothing.iloc[0] = None
    prior = np.array([(y == c).sum() + 1 for c in CLASSES]) / (len(y) + 3)
    np.testing.assert_allclose(model.predict_proba(nothing)[0], prior, rtol=1e-12)
    as_state = WeightedNB(missing="state").fit(X, y)
    assert np.abs(as_state.predict_proba(nothing)[0] - prior).max() > 1e-3


@pytest.mark.parametrize("numeric", ["mdl", "gaussian"])
def test_any_source_and_any_number_of_threads(numeric, monkeypatch):
    X, y = some_rows(seed=8)
    model = WeightedNB(numeric=numeric).fit(X, y)
    parts = [slice(0, 30), slice(30, 31), slice(31, 60)]
    batches = Batches(lambda: ((X.iloc[part], y[part]) for part in parts))
    streamed = WeightedNB(numeric=numeric).fit(batches)
    assert streamed.weights_ == pytest.approx(model.weights_, abs=1e-5)
    lazy = WeightedNB(numeric=numeric).lazy(X, y)
    np.testing.assert_allclose(lazy.predict_proba(X[:5]), model.predict_proba(X[:5]), rtol=1e-9)
    monkeypatch.setattr("bayeskit._data.encoded.CHUNK_ROWS", 7)
    one, two = (WeightedNB(numeric=numeric, n_jobs=n).fit(X, y) for n in (None, 2))
    assert one.weights_ == two.weights_
    assert one.weights_ == pytest.approx(model.weights_, abs=1e-5)


def test_weights_are_held_while_counts_change(tmp_path):
    X, y = some_rows(seed=9)
    model = WeightedNB().fit(X[:40], y[:40])
    held = model.held_
    assert set(held) == {"cut_points", "weights"} and held["weights"] == model.weights_
    before = model.predict_proba(X)
    model.partial_fit(X[40:], y[40:])
    assert model.held_ == held and np.abs(model.predict_proba(X) - before).max() > 1e-3
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.held_ == held
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    again.forget(X[40:], y[40:])
    np.testing.assert_allclose(again.predict_proba(X), before, rtol=1e-12)


def test_only_models_of_the_same_weights_are_merged():
    X, y = some_rows(seed=10)
    halves = [WeightedNB(numeric="gaussian").fit(X[part], y[part]) for part in (slice(30), slice(30, 60))]
    with refuses(Incompatible, "weights", "a", "b", "c", "x", "z"):
        halves[0].merge(halves[1])
    given_weights = {"a": 0.5, "z": 0.0}
    parts = [
        WeightedNB(numeric="gaussian", weights=given_weights).fit(X[part], y[part])
        for part in (slice(30), slice(30, 60))
    ]
    whole = WeightedNB(numeric="gaussian", weights=given_weights).fit(X, y)
    assert whole.weights_ == {"a": 0.5, "x": 1.0, "b": 1.0, "c": 1.0, "z": 0.0} and whole.held_ == {}
    np.testing.assert_allclose((parts[0] + parts[1]).predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_a_weighted_product_is_no_distribution_of_rows():
    X, y = some_rows()
    model = WeightedNB().fit(X, y)
    with refuses(UsageError, "WeightedNB", "P(x)"):
        model.log_evidence(X)
    with refuses(UsageError, "WeightedNB", "NaiveBayes"):
        model.sample(3)


@pytest.mark.parametrize("how", [{}, {"numeric": "gaussian"}, {"numeric": "gaussian", "missing": "state"}])
def test_an_explanation_multiplies_to_the_answer(how):
    X, y = some_rows(seed=11)
    model = WeightedNB(**how).fit(X, y)
    for i in range(12):
        page = model.explain(X.iloc[[i]])
        np.testing.assert_allclose(page.posterior, model.predict_proba(X.iloc[[i]])[0], rtol=1e-9)
    assert "^" in str(page)


BAD = [
    ({"weights": 2.0}, ["weights", 2.0]),
    ({"weights": {"a": -0.1}}, ["a", -0.1]),
    ({"weights": {"a": float("nan")}}, ["a", "nan"]),
    ({"weights": {"a": "much"}}, ["a", "much"]),
    ({"weights": {"q": 1.0}}, ["weights", "q"]),
    ({"smoothing": "back-off"}, ["BackOff", "TAN"]),
    ({"numeric": "kernel"}, ["numeric", "kernel"]),
]


@pytest.mark.parametrize(("how", "message"), BAD, ids=[str(how) for how, _ in BAD])
def test_bad_settings_are_refused(how, message):
    with refuses(SettingError, *message):
        WeightedNB(**how).fit(*some_rows(20))


# -- leave one out ---------------------------------------------------------------------------------

HOW = [
    {},
    {"smoothing": 0.0},
    {"numeric": "gaussian"},
    {"numeric": "gaussian", "missing": "state", "smoothing": 0.3},
    {"numeric": "gaussian", "weights": {"a": 0.0, "x": 0.25, "z": 3.0}},
    {"unseen": "smooth", "smoothing": "m-estimate", "missing": "state"},
    {"class_weight": "balanced", "numeric": "gaussian"},
    {"class_weight": {"no": 0.5}, "class_prior": "uniform"},
]


def left_out(model: WeightedNB, X: Any, y: Any, rows: Any) -> tuple[LeaveOneOut, Chunk]:
    fitted = model._fitted
    assert fitted.spec is not None
    encoded = encode_learned(fitted, fitted.schema, next(iter(Source(X, y, rows))))
    return LeaveOneOut(fitted.statistics, fitted.spec), encoded.chunk(0, len(y))


@pytest.mark.parametrize("how", HOW, ids=str)
def test_leaving_a_row_out_is_counting_without_it(how):
    X, y = some_rows(24, seed=12, holes=0.2)
    rows = np.random.default_rng(12).choice([0.5, 1.0, 1.75], len(y))
    model = WeightedNB(**how).fit(X, y, sample_weight=rows)
    left, chunk = left_out(model, X, y, rows)
    assert left.fast
    for own in (rows, np.minimum(rows, 0.5)):
        with np.errstate(divide="ignore"):
            fast, slow = left.scores(chunk, own), by_refit(left.statistics, left.spec, chunk, own)
        for a, b in zip(fast, slow, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    nothing = left.scores(chunk, np.zeros(len(y)))[0]
    np.testing.assert_allclose(nothing, left.model.joint_chunk(chunk), rtol=1e-12, atol=1e-12)
    finite = np.isfinite(nothing)
    assert np.abs(fast[0][finite] - nothing[finite]).max() > 1e-3


@pytest.mark.parametrize("weights", [None, {"a": 0.0, "b": 0.0}])
def test_a_row_that_was_never_counted_is_refused(weights):
    X, y = some_rows(24, seed=13, holes=0.0)
    X, y = X[["a", "b"]], np.where(X["a"] == "p", "no", "yes")
    model = WeightedNB(weights=weights).fit(X, y)
    with pytest.raises(NotCounted):
        model.leave_one_out(X, np.where(y == "no", "yes", "no"))


def test_infinite_numbers_are_named():
    X, y = some_rows(24, seed=14)
    model = WeightedNB(numeric="gaussian", weights={"z": 0.5}).fit(X, y)
    with refuses(InfiniteValue, "z", "inf", 0):
        model.predict(X.assign(z=np.inf))
    left, chunk = left_out(model, X, y, None)
    values = chunk.values.copy()
    values[3, 1] = -np.inf
    with refuses(InfiniteValue, "z", "-inf", 3):
        left.scores(replace(chunk, values=values), np.zeros(len(y)))


def test_a_factor_that_takes_no_weights_says_so_by_name():
    X, y = some_rows(24, seed=15)
    model = NaiveBayes(numeric="kernel").fit(X[["z"]], y)
    with refuses(NotSupported, "KernelDensity", "weights"):
        model._model.conditionals[0].with_attribute_weights(np.ones(0), np.ones(1))
