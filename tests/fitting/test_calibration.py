"""Calibration on leave-one-out posteriors: the best temperature, the best ascending curve, and what holds them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression

from bayeskit import (
    Batches,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianBayes,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    load,
)
from bayeskit._data.source import Source
from bayeskit._fitting import calibration
from bayeskit._fitting.calibration import Isotonic, Temperature, from_held, isotonic
from bayeskit.errors import Incompatible, ModelFormatError, OneShotSource, SettingError
from refusals import refuses

METHODS = ["temperature", "isotonic"]


def copies(n=300, seed=0, times=4):
    """One attribute, said several times over: naive Bayes is far too sure."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    x = np.where(rng.random(n) < 0.7, y, 1 - y).astype(str)
    return pd.DataFrame({f"x{j}": x for j in range(times)}), y


def posteriors(n, k, seed, sharp=3.0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, k)) * sharp
    target = rng.integers(0, k, n)
    scores[np.arange(n), target] += 1.0
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)), target


def loss(inverse, log_posterior, target, weights):
    scores = inverse * log_posterior
    norm = np.log(np.exp(scores - scores.max(axis=1, keepdims=True)).sum(axis=1)) + scores.max(axis=1)
    # One imaginary row in N + 2 has any class.
    share = 1.0 / (weights.sum() + 2.0)
    told = (1.0 - share) * scores[np.arange(len(target)), target] + share * scores.mean(axis=1)
    return weights @ (norm - told)


@given(st.integers(3, 40), st.integers(2, 4), st.integers(0, 10_000), st.sampled_from([0.2, 1.0, 5.0, 50.0]))
@settings(max_examples=60, deadline=None)
def test_no_temperature_is_better(n, k, seed, sharp):
    log_posterior, target = posteriors(n, k, seed, sharp)
    weights = np.random.default_rng(seed).choice([0.5, 1.0, 2.0], n)
    found = 1.0 / Temperature.fitted(log_posterior, target, weights).t
    best = minimize_scalar(
        lambda power: loss(10.0**power, log_posterior, target, weights), bounds=(-3, 3), method="bounded"
    )
    assert loss(found, log_posterior, target, weights) <= best.fun * (1 + 1e-9) + 1e-9
    assert 1e-3 <= found <= 1e3


def test_temperature_by_hand():
    # Three of four rows are right at log-odds 4, and a sixth of each has any class: 3/4 · 5/6 + 1/2 · 1/6 = 17/24.
    log_posterior = np.tile(-np.log1p(np.exp([[-4.0, 4.0]])), (4, 1))
    found = Temperature.fitted(log_posterior, np.array([0, 0, 0, 1]), np.ones(4))
    assert found.t == pytest.approx(4.0 / np.log(17.0 / 7.0), rel=1e-12)
    assert np.exp(found.log_posterior(log_posterior, ()))[0, 0] == pytest.approx(17.0 / 24.0, rel=1e-12)


def test_temperature_of_certainties():
    with np.errstate(divide="ignore"):
        sure = np.log(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    # Right or wrong, a posterior of 0 stays 0 under every temperature: these rows have no say.
    assert Temperature.fitted(sure, np.array([0, 1, 1]), np.ones(3)).t == 1.0
    assert Temperature.fitted(np.log(np.full((3, 2), 0.5)), np.array([0, 1, 1]), np.ones(3)).t == 1.0
    assert Temperature.fitted(np.zeros((2, 1)), np.array([0, 0]), np.ones(2)).t == 1.0
    np.testing.assert_array_equal(np.exp(Temperature(3.0).log_posterior(sure, ())), np.exp(sure))
    partly = np.vstack([sure, np.tile(np.log([[0.9, 0.1]]), (4, 1))])
    found = Temperature.fitted(partly, np.array([0, 1, 1, 0, 0, 0, 1]), np.ones(7))
    # Six rows have a say; an eighth of each has any class: 3/4 · 7/8 + 1/2 · 1/8 = 23/32.
    assert found.t == pytest.approx(np.log(9.0) / np.log(23.0 / 9.0), rel=1e-12)


def test_temperature_stays_within_its_bounds():
    log_posterior = np.log([[0.6, 0.4], [0.4, 0.6]])
    # All told right: no bound is reached, because a quarter of each row has any class.
    right = Temperature.fitted(log_posterior, np.array([0, 1]), np.ones(2))
    assert right.t == pytest.approx(np.log(1.5) / np.log(7.0), rel=1e-12)
    assert Temperature.fitted(log_posterior, np.array([1, 0]), np.ones(2)).t == pytest.approx(1e3)


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0.25, 1.0, 3.0])), min_size=1, max_size=30))
@settings(max_examples=100, deadline=None)
def test_pooling_equals_scikit_learn(pairs):
    share, weight = np.array(pairs, dtype=float).T
    places = np.arange(len(share))
    expected = IsotonicRegression().fit(places, share, weight).predict(places)
    np.testing.assert_allclose(isotonic(share, weight), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("k", [2, 3])
def test_curves_equal_scikit_learn(k):
    log_posterior, target = posteriors(200, k, 3)
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.0], 200)
    curve = Isotonic.fitted(log_posterior, target, weights, tuple("abc"[:k]))
    assert curve.least == 1.0 / (weights.sum() + 2.0)
    share = np.empty((200, k))
    for c in range(k):
        p = np.exp(log_posterior[:, c])
        share[:, c] = IsotonicRegression(out_of_bounds="clip").fit(p, target == c, weights).predict(p)
        assert len(curve.knots["abc"[c]][0]) < 120
    share = np.clip(share, curve.least, 1 - curve.least)
    found = np.exp(curve.log_posterior(log_posterior, tuple("abc"[:k])))
    np.testing.assert_allclose(found, share / share.sum(axis=1, keepdims=True), rtol=1e-9)


def test_posteriors_told_apart_by_rounding_are_one():
    p = np.array([0.3, 0.3 + 5e-17, 0.3 + 1.2e-16, 0.8])
    log_posterior = np.log(np.column_stack([p, 1 - p]))
    curve = Isotonic.fitted(log_posterior, np.array([1, 0, 0, 0]), np.ones(4), ("a", "b"))
    assert curve.knots["a"][1] == pytest.approx((2 / 3, 1.0))


@pytest.mark.parametrize("method", METHODS)
def test_copied_attributes_are_taken_back(method):
    X, y = copies()
    plain = NaiveBayes().fit(X, y)
    model = NaiveBayes(calibration=method).fit(X, y)
    assert model.loo_score(X, y) < 0.8 * plain.loo_score(X, y)
    # Said once, naive Bayes is right: P(y | x) comes back from four copies.
    once = NaiveBayes().fit(X[["x0"]], y)
    np.testing.assert_allclose(model.predict_proba(X), once.predict_proba(X[["x0"]]), atol=0.05)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    # The model itself stays as it is.
    np.testing.assert_array_equal(model.predict_joint_log_proba(X), plain.predict_joint_log_proba(X))
    np.testing.assert_array_equal(model.log_evidence(X), plain.log_evidence(X))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X), rtol=1e-12)


def test_what_is_fitted_is_the_leave_one_out_posterior():
    X, y = copies(times=2)
    plain = NaiveBayes().fit(X, y)
    found = Temperature.fitted(np.log(plain.leave_one_out(X, y)), y, np.ones(len(y)))
    model = NaiveBayes(calibration="temperature").fit(X, y)
    assert model.held_["calibration"]["method"] == "temperature"
    assert model.held_["calibration"]["t"] == pytest.approx(found.t, rel=1e-9)
    expected = found.log_posterior(np.log(plain.leave_one_out(X, y)), (0, 1))
    np.testing.assert_allclose(model.leave_one_out(X, y), np.exp(expected), rtol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_a_weight_is_a_repetition(method):
    rng = np.random.default_rng(4)
    X, y = rng.integers(0, 3, (60, 3)).astype(str), rng.integers(0, 3, 60)
    w = rng.integers(0, 4, 60)
    weighted = NaiveBayes(calibration=method).fit(X, y, w)
    repeated = NaiveBayes(calibration=method).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-8)


@pytest.mark.parametrize("how", [{"class_weight": {0: 1.0, 1: 4.0}}, {"class_prior": [0.2, 0.8]}], ids=str)
def test_class_weights_are_not_undone(how):
    X, y = copies(400, times=3)
    model = NaiveBayes(**how, calibration="isotonic").fit(X, y)
    factors = np.array([1.0, 4.0]) if "class_weight" in how else np.array([0.2, 0.8]) / np.bincount(y)
    # Over rows mixed as the model was told, the mean posterior of a class is its share.
    mean = np.average(model.predict_proba(X)[:, 1], weights=factors[y])
    assert mean == pytest.approx(np.average(y, weights=factors[y]), abs=0.01)
    once = NaiveBayes(**how).fit(X[["x0"]], y)
    np.testing.assert_allclose(model.predict_proba(X), once.predict_proba(X[["x0"]]), atol=0.02)


CLASSIFIERS = [
    GaussianNB(),
    GaussianBayes(),
    BernoulliNB(),
    MultinomialNB(),
    ComplementNB(),
    CategoricalNB(),
    NaiveBayes(),
    NaiveBayes(class_weight="balanced", numeric="kernel"),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_every_classifier(model, method, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.poisson(2, (45, 3)).astype(float), rng.integers(0, 3, 45)
    model = clone(model).set_params(calibration=method).fit(X, y)
    assert clone(model).calibration == method
    share = model.predict_proba(X)
    assert np.isfinite(share).all()
    np.testing.assert_allclose(share.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), share.argmax(axis=1))
    model.save(tmp_path / "model.bayes")
    again = load(tmp_path / "model.bayes")
    np.testing.assert_array_equal(again.predict_proba(X), share)
    assert again.held_ == model.held_


def test_later_batches_keep_it():
    X, y = copies()
    model = NaiveBayes(calibration="isotonic").partial_fit(X[:200], y[:200])
    held = model.held_
    model.partial_fit(X[200:], y[200:])
    assert model.held_ == held != NaiveBayes(calibration="isotonic").fit(X, y).held_
    # A class that came later has no curve: it keeps its posterior, and the others theirs.
    model.partial_fit(X[:2], ["new", "new"])
    assert model.predict_proba(X).shape == (300, 3)
    model.forget(X[:2], ["new", "new"])
    assert model.held_ == held and model.predict_proba(X).shape == (300, 2)


def test_a_failed_fit_leaves_what_was_held():
    X, y = copies()
    model = NaiveBayes(calibration="temperature").fit(X, y)
    held = model.held_
    with refuses(ValueError, 300, 5):
        model.fit(X, y[:5])
    assert model.held_ == held


def test_models_of_different_corrections_do_not_merge():
    X, y = copies()
    a, b = (NaiveBayes(calibration="temperature").fit(X[i::2], y[i::2]) for i in (0, 1))
    with refuses(Incompatible, "calibration", "temperature"):
        a.merge(b)
    assert (a + NaiveBayes(calibration="temperature").fit(X[::2], y[::2])).held_ == a.held_


def test_refusals():
    X, y = copies(20)
    with refuses(SettingError, "platt"):
        NaiveBayes(calibration="platt").fit(X, y)
    with pytest.raises(SettingError):
        GaussianNB(calibration=["temperature"]).fit([[1.0], [2.0]], [0, 1])
    with refuses(OneShotSource, "calibration"):
        NaiveBayes(calibration="isotonic").fit(iter([(X, y)]))


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_a_lazy_model_is_judged_when_it_is_made(method):
    X, y = copies(20)
    lazy, fresh = NaiveBayes(calibration=method).lazy(X, y), NaiveBayes(calibration=method).fit(X, y)
    assert lazy.held_ == fresh.held_
    np.testing.assert_allclose(lazy.predict_proba(X), fresh.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(
    "plain",
    [
        {"method": "platt"},
        {"method": "temperature", "t": 0.0},
        {"method": "temperature"},
        {"method": "isotonic", "knots": {"a": ((0.5, 0.1), (0.0, 1.0))}, "least": 0.1},
        {"method": "isotonic", "knots": {"a": ((0.1,), ())}, "least": 0.1},
        {"method": "isotonic", "knots": {}, "least": 0.0},
        {"method": "temperature", "t": float("nan")},
        7,
    ],
    ids=str,
)
def test_what_is_no_calibration_is_refused(plain):
    with refuses(ModelFormatError, "calibration", repr(plain)):
        from_held({"calibration": plain})


@pytest.mark.parametrize("method", METHODS)
def test_plain_round_trip(method):
    log_posterior, target = posteriors(50, 2, 0)
    found = (
        Temperature.fitted(log_posterior, target, np.ones(50))
        if method == "temperature"
        else Isotonic.fitted(log_posterior, target, np.ones(50), ("a", "b"))
    )
    assert from_held({"calibration": found.plain()}) == found
    assert from_held({}) is None


def test_long_sources_are_thinned_evenly(monkeypatch):
    X, y = copies(500)
    source = Batches(lambda: ((X[i : i + 64], y[i : i + 64]) for i in range(0, 500, 64)))
    whole = NaiveBayes(calibration="temperature").fit(X, y).held_["calibration"]["t"]
    fitted = NaiveBayes().fit(X, y)._fitted
    streamed = NaiveBayes(calibration="temperature").fit(source)
    assert streamed.held_["calibration"]["t"] == pytest.approx(whole, rel=1e-9)
    monkeypatch.setattr(calibration, "MOST_ROWS", 100)
    posterior, target, weights = calibration.spread_posteriors(fitted, Source(source))
    every_eighth = NaiveBayes().fit(X, y).leave_one_out(X, y)[::8]
    np.testing.assert_allclose(np.exp(posterior), every_eighth, rtol=1e-12)
    np.testing.assert_array_equal(target, y[::8])
    assert len(weights) == 63


def test_few_rows_where_each_is_an_estimate(monkeypatch):
    monkeypatch.setattr(calibration, "MOST_REFITS", 10)
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    fitted = NaiveBayes(numeric="kernel").fit(X, y)._fitted
    assert len(calibration.spread_posteriors(fitted, Source(X, y))[1]) == 8


@pytest.mark.parametrize("kind", ["full", "shared"])
def test_all_rows_where_covariances_leave_each_out(monkeypatch, kind):
    monkeypatch.setattr(calibration, "MOST_REFITS", 10)
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    model = GaussianBayes(kind).fit(X, y)
    posterior, _, _ = calibration.spread_posteriors(model._fitted, Source(X, y))
    np.testing.assert_allclose(np.exp(posterior), model.leave_one_out(X, y), rtol=1e-12)
