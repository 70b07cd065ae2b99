"""Leave-one-out equals as many refits: every row counted anew without each row."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import (
    Batches,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianBayes,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
)
from bayeskit._counting.backend import count
from bayeskit._data.source import Source
from bayeskit._fitting.leave_one_out import LeaveOneOut, by_refit, encode_learned, left_out_joint
from bayeskit._fitting.model import estimate
from bayeskit.errors import DataError, NotCounted, SettingError
from refusals import refuses


def learned(model, X, y, w=None):
    """The encoded rows of a fitted model, what it counted, and how it estimates with everything held."""
    model.fit(X, y, w)
    fitted = model._fitted
    (rows,) = Source(X, y, w)
    encoded = encode_learned(fitted, fitted.schema, rows)
    left_out = LeaveOneOut(fitted.statistics, fitted.spec)
    return encoded, fitted.statistics, left_out


def brute(encoded, statistics, spec, own=None):
    """Count all rows, each at its weight but one at what is left of it, estimate, score that one."""
    whole = encoded.chunk(0, encoded.n_rows)
    weights = whole.row_weights
    own = weights if own is None else own
    joint, prior = [], []
    for i in range(encoded.n_rows):
        others = weights.copy()
        others[i] -= own[i]
        present = np.flatnonzero(others > 0)
        rest = replace(whole, weights=others).take(present)
        with np.errstate(invalid="ignore"):
            model = estimate(count(rest, statistics.schema, statistics.plan), spec)
        joint.append(model.joint_chunk(whole.take(np.array([i])))[0])
        prior.append(model.log_prior)
    return np.array(joint), np.array(prior)


def check(model, X, y, w=None, rtol=1e-12, own=None, least=-np.inf):
    encoded, statistics, left_out = learned(model, X, y, w)
    joint, prior = left_out_joint(statistics, model._fitted.spec, encoded, own=own)
    expected, expected_prior = brute(encoded, statistics, left_out.spec, own)
    assert not np.isnan(joint).any()
    # Log-probabilities of hundreds are held to their size; so are those that floors make of billions.
    np.testing.assert_allclose(
        np.maximum(joint, least), np.maximum(expected, least), rtol=rtol, atol=rtol * 10
    )
    np.testing.assert_allclose(prior, expected_prior, rtol=1e-12, atol=1e-13)
    chunk = encoded.chunk(0, encoded.n_rows)
    nothing, _ = left_out.scores(chunk, np.zeros(encoded.n_rows))
    np.testing.assert_allclose(nothing, left_out.model.joint_chunk(chunk), rtol=1e-12, atol=1e-11)
    return left_out.fast


def mixed(n=24, gaps=0.0, seed=0, k=3):
    rng = np.random.default_rng(seed)
    frame = {
        "colour": rng.choice(list("abc"), n).astype(object),
        "shape": rng.choice(["x", "y"], n).astype(object),
        "size": rng.normal(size=n) * 3 + 1e4,
        "calls": rng.poisson(3, n).astype(float),
    }
    for name, column in frame.items():
        column[rng.random(n) < gaps] = None if name in ("colour", "shape") else np.nan
    y = rng.choice(k, n)
    y[0] = k  # a class of one row
    return pd.DataFrame(frame), y


WEIGHTS = {
    "plain": None,
    "dyadic": np.tile([0.5, 1.0, 2.0, 1.25, 0.0, 1.0], 4),
    "any": np.random.default_rng(5).random(24) + 0.01,
}
SETTINGS = [
    {},
    {"smoothing": 0.0},
    {"smoothing": 0.0, "missing": "state"},
    {"missing": "state"},
    {"unseen": "smooth"},
    {"missing": "state", "unseen": "smooth", "smoothing": "m-estimate"},
    {"variance": "unbiased"},
    {"numeric": "student"},
    {"families": {"calls": "poisson"}, "smoothing": 0.5},
    {"families": {"calls": "poisson", "size": "student"}, "smoothing": 0.0},
    {"class_prior": "uniform"},
    {"class_weight": {0: 3.0, 3: 0.25}},
    {"class_weight": "balanced"},
    {"class_weight": "balanced", "smoothing": 0.0, "missing": "state"},
]


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("how", SETTINGS, ids=str)
def test_naive_bayes(how, gaps, weights):
    X, y = mixed(gaps=gaps)
    assert check(NaiveBayes(**how), X, y, WEIGHTS[weights], rtol=1e-11)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize(
    "model",
    [GaussianNB(), GaussianNB(var_smoothing=0.1, class_weight="balanced"), GaussianBayes("diagonal")],
    ids=str,
)
def test_gaussian_presets(model, gaps, weights):
    X, y = mixed(gaps=gaps)
    assert check(model, X[["size", "calls"]], y, WEIGHTS[weights], rtol=1e-11)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(("weights", "alpha"), [("plain", 0.0), ("dyadic", 0.0), ("any", 1.0), ("any", None)])
@pytest.mark.parametrize("kind", [MultinomialNB, BernoulliNB])
def test_blocks(kind, weights, alpha, form):
    rng = np.random.default_rng(2)
    X, y = form(rng.poisson(0.8, (24, 5)).astype(float)), mixed()[1]
    alpha = np.linspace(0.1, 1, 5) if alpha is None else alpha
    assert check(kind(alpha=alpha), X, y, WEIGHTS[weights])


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize(("weights", "alpha"), [("plain", 0.0), ("dyadic", 0.0), ("any", 1.0), ("any", None)])
def test_complements(weights, alpha, norm):
    rng = np.random.default_rng(2)
    X, y = rng.poisson(0.8, (24, 6)).astype(float), mixed()[1]
    X[1:, 5] = 0.0  # with alpha=0 a word of one row is certain for its class, and of none without it
    alpha = np.linspace(0.1, 1, 6) if alpha is None else alpha
    for form in (np.asarray, sp.csr_array):
        assert check(ComplementNB(alpha=alpha, norm=norm), form(X), y, WEIGHTS[weights])
    assert check(ComplementNB(alpha=alpha, norm=norm, class_weight={0: 3.0, 3: 0.25}), X, y, WEIGHTS[weights])
    assert check(ComplementNB(alpha=alpha, norm=norm), X, np.zeros(24), WEIGHTS[weights])  # one class


@pytest.mark.parametrize("binarize", [-1.0, 1.0])
def test_a_threshold(binarize):
    X = np.random.default_rng(2).poisson(0.8, (24, 5)) - 1.0
    assert check(BernoulliNB(binarize=binarize, alpha=0.5), X, mixed()[1])


def test_coded_columns():
    X = np.random.default_rng(3).integers(0, 4, (24, 3))
    assert check(CategoricalNB(), X, mixed()[1])


def test_what_has_no_fast_way():
    X, y = mixed(k=2)
    assert not check(NaiveBayes(numeric="kernel"), X[["colour", "size"]], y, rtol=1e-9)


COVARIANCES = [
    {},
    {"variance": "unbiased"},
    {"shrinkage": 0.2},
    {"shrinkage": "ledoit-wolf"},
    {"ridge": (0.05, 0.001)},
    {"ridge": 0.1, "shrinkage": "ledoit-wolf"},
    {"imaginary_rows": (1.0, 0.0), "predictive": "student"},
    {"class_prior": "uniform", "imaginary_rows": (0.5, 0.0)},
    {"class_weight": {0: 3.0, 3: 0.25}},
    {"class_weight": "balanced", "ridge": 0.05},
]
OF_CLASSES = [
    {"imaginary_rows": (0.0, 3.0)},
    {"imaginary_rows": (1.0, "auto"), "ridge": (0.05, 0.001), "predictive": "student"},
    {"imaginary_rows": (1.0, "auto"), "shrinkage": "ledoit-wolf", "variance": "unbiased"},
]


def numbers(n=24, d=3, gaps=0.0, seed=0):
    """Correlated columns in units far apart; a class of one row and one of two."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) * 10.0 ** rng.integers(-3, 4, d) + 50.0
    y = np.arange(n) % 3
    y[0], y[1:3] = 3, 4
    X[rng.random(X.shape) < gaps] = np.nan
    return X, y


@pytest.mark.parametrize(("gaps", "weights"), [(0.0, "plain"), (0.1, "dyadic"), (0.0, "any")])
@pytest.mark.parametrize(
    "model",
    [GaussianBayes(kind, **how) for kind in ("full", "shared") for how in COVARIANCES]
    + [GaussianBayes(**how) for how in OF_CLASSES],
    ids=str,
)
def test_covariances(model, gaps, weights):
    assert check(model, *numbers(gaps=gaps), WEIGHTS[weights], rtol=3e-6)


@pytest.mark.parametrize("kind", ["full", "shared"])
@pytest.mark.parametrize("how", COVARIANCES, ids=str)
def test_covariances_of_columns_that_follow_from_each_other(kind, how):
    """Without a ridge the matrix is singular and lifted by 1e-9, which magnifies the last bit of a row."""
    X, y = numbers(40)
    states = np.eye(3)[np.random.default_rng(1).integers(0, 3, len(X))]
    for more in (X[:, :1] + X[:, 1:2], states, np.full((len(X), 1), 7.0)):
        assert check(GaussianBayes(kind, **how), np.hstack([X, more]), y, rtol=3e-6)


@pytest.mark.parametrize("kind", ["full", "shared"])
@pytest.mark.parametrize(
    "how", [{}, {"shrinkage": "ledoit-wolf"}, {"ridge": 0.05}, {"shrinkage": 0.1}], ids=str
)
def test_covariances_of_more_columns_than_rows(kind, how):
    X, y = numbers(20, d=25)
    assert check(GaussianBayes(kind, **how), X, y, rtol=1e-6)


@pytest.mark.parametrize("kind", ["full", "shared"])
def test_the_only_row_off_a_plane(kind):
    """Without it the other columns follow from each other, or one of them is constant."""
    X, y = numbers(30)
    flat = np.column_stack([X, X[:, 0] + X[:, 1], np.zeros(len(X))])
    flat[7, 3] += 5.0
    flat[8, 4] = 1.0
    check(GaussianBayes(kind), flat, y, rtol=3e-6)


@given(data=st.data(), kind=st.sampled_from(["full", "shared"]), seed=st.integers(0, 2**20))
@settings(max_examples=60, deadline=None)
def test_covariances_of_any_table(data, kind, seed):
    n, d = data.draw(st.integers(3, 14)), data.draw(st.integers(1, 4))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + rng.normal(size=d) * 10.0 ** rng.integers(0, 4)
    y = rng.integers(0, data.draw(st.integers(1, 4)), n)
    w = rng.choice([0.25, 1.0, 2.0, rng.random() + 0.1], n) if data.draw(st.booleans()) else None
    how = data.draw(st.sampled_from(COVARIANCES[:8] + (OF_CLASSES if kind == "full" else [])))
    # Of two rows that are left, rounding decides how far out in billions a third one is.
    check(GaussianBayes(kind, **how), X, y, w, rtol=1e-6, least=-1e6)


@pytest.mark.parametrize("kind", ["full", "shared"])
def test_covariances_equal_fresh_fits(kind):
    """What a user would do: fit to all other rows, and ask for the one."""
    X, y = numbers(30)
    keep = y < 3  # a class that leaves with its row changes the shape of the answer
    X, y = X[keep], y[keep]
    for how in COVARIANCES[:8]:
        model = GaussianBayes(kind, **how).fit(X, y)
        found = model.leave_one_out(X, y)
        for i in range(len(y)):
            rest = np.arange(len(y)) != i
            fresh = GaussianBayes(kind, **how).fit(X[rest], y[rest]).predict_proba(X[[i]])[0]
            np.testing.assert_allclose(found[i], fresh, atol=1e-9)


def test_a_class_that_was_announced_and_has_no_rows():
    X, y = numbers(30)
    model = GaussianBayes(class_prior="uniform").partial_fit(X, y, classes=[0, 1, 2, 3, 4, 5])
    fitted = model._fitted
    (rows,) = Source(X, y)
    encoded = encode_learned(fitted, fitted.schema, rows)
    joint, _ = left_out_joint(fitted.statistics, fitted.spec, encoded)
    expected, _ = brute(encoded, fitted.statistics, fitted.spec)
    np.testing.assert_allclose(joint, expected, rtol=3e-6)


def test_numbers_that_no_covariance_can_have_counted():
    X, y = numbers()
    model = GaussianBayes("shared").fit(X, y)
    with pytest.raises(NotCounted):
        model.leave_one_out([[1e80, 0.0, 0.0]], [0])
    with pytest.raises(DataError):
        model.leave_one_out([[np.inf, 0.0, 0.0]], [0])


@given(data=st.data(), alpha=st.sampled_from([0.0, 0.5, 1.0]), missing=st.sampled_from(["ignore", "state"]))
@settings(max_examples=60, deadline=None)
def test_any_small_table(data, alpha, missing):
    n = data.draw(st.integers(2, 7))
    cell = st.sampled_from(["a", "b", None])
    number = st.sampled_from([0.0, 1.0, 1.5, 7.0, 1e8, math.nan])
    X = pd.DataFrame(
        {
            "v": pd.Series(data.draw(st.lists(cell, min_size=n, max_size=n)), dtype=object),
            "x": data.draw(st.lists(number, min_size=n, max_size=n)),
        }
    )
    y = data.draw(st.lists(st.sampled_from([0, 1]), min_size=n, max_size=n))
    w = data.draw(st.lists(st.sampled_from([0.25, 1.0, 2.0]), min_size=n, max_size=n))
    assert check(NaiveBayes(smoothing=alpha, missing=missing), X, y, np.array(w), rtol=1e-11)


def test_part_of_a_row():
    X, y = mixed(gaps=0.2)
    w = WEIGHTS["dyadic"]
    assert check(NaiveBayes(missing="state"), X, y, w, own=np.minimum(w, 0.25))


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("numeric", ["gaussian", "student"])
def test_far_values(numeric, scale):
    """One row far beyond all others: what is left without it keeps its digits."""
    X = np.array([[1.0], [1.5], [2.5], [1e8], [3.0], [4.5], [4.0]]) * scale
    y = [0, 0, 0, 0, 1, 1, 1]
    assert check(NaiveBayes(numeric=numeric), X, y, rtol=1e-10)
    assert check(NaiveBayes(numeric=numeric), X, [0, 0, 0, 2, 1, 1, 1], rtol=1e-10)


def test_the_only_row_that_differs():
    """Without it the attribute is constant, and left out."""
    X = np.array([[5.0, 1.0], [5.0, 2.0], [5.0, 3.0], [7.0, 5.0]])
    for model in (NaiveBayes(), GaussianNB(), NaiveBayes(numeric="student"), GaussianNB(var_smoothing=0.0)):
        assert check(model, X, [0, 0, 1, 1], rtol=1e-11)


def test_by_hand():
    # Without the first row: n = 2, n(good) = 1, n(bad) = 1, no "a" is good and no "a" is bad.
    # P(good) = (1 + 1)/(2 + 2), P(a | good) = (0 + 1)/(1 + 2), and the same for bad: one half.
    # Without the second: P(good) = 2/4, P(b | good) = 1/3, P(b | bad) = 2/3.
    # Without the third: P(good) = (2 + 1)/(2 + 2), P(b | good) = (1 + 1)/(2 + 2); P(bad) = 1/4, P(b | bad) = 1/2.
    X, y = [["a"], ["b"], ["b"]], ["good", "good", "bad"]
    model = NaiveBayes().fit(X, y)
    found = model.leave_one_out(X, y)
    np.testing.assert_allclose(found[:, 1], [1 / 2, 1 / 3, 3 / 4], rtol=1e-14)
    assert model.classes_.tolist() == ["bad", "good"]
    losses = -np.log([1 / 2, 1 / 3, 1 / 4])
    assert model.loo_score(X, y) == pytest.approx(losses.mean(), rel=1e-14)
    assert model.loo_score(X, y, criterion="rmse") == pytest.approx(
        math.sqrt((1 / 4 + 4 / 9 + 9 / 16) / 3), rel=1e-14
    )
    assert model.loo_score(X, y, criterion="brier") == pytest.approx(
        2 * (1 / 4 + 4 / 9 + 9 / 16) / 3, rel=1e-14
    )
    assert model.loo_score(X, y, criterion="error") == 1.0  # the first of equals is "bad"
    with refuses(SettingError, "auc"):
        model.loo_score(X, y, criterion="auc")


def test_the_mean_is_weighted():
    X, y, w = [["a"], ["b"], ["b"], ["c"]], [1, 1, 0, 0], [1.0, 3.0, 2.0, 0.0]
    model = NaiveBayes().fit(X, y, w)
    posterior = model.leave_one_out(X, y, w)
    losses = -np.log(posterior[np.arange(4), y])
    assert model.loo_score(X, y, w) == pytest.approx((losses[:3] @ w[:3]) / 6.0, rel=1e-14)
    # The last row weighs nothing: its state was never learned, and it is predicted.
    np.testing.assert_allclose(posterior[3], model.predict_proba([["c"]])[0])


def test_where_no_class_is_possible_the_prior_of_the_others_answers():
    X, y = [["a"], ["b"], ["b"], ["b"]], [0, 0, 1, 1]
    model = NaiveBayes(smoothing=0.0).fit(X, y)
    # Without its only row "a" is impossible: P(0) = 1/3, P(1) = 2/3.
    np.testing.assert_allclose(model.leave_one_out(X, y)[0], [1 / 3, 2 / 3], rtol=1e-14)


@pytest.mark.parametrize(
    ("X", "y", "w"),
    [
        ([["c", 1.0]], [0], None),
        ([["a", 1.0]], [7], None),
        ([["a", 1.0]], [0], [9.0]),
        ([["b", 1.0]], [0], None),
        ([[None, 1.0]], [0], None),
        ([["a", None]], [0], [2.5]),
    ],
    ids=["state", "class", "weight", "cell", "gap", "weight-of-state"],
)
def test_rows_never_counted(X, y, w):
    model = NaiveBayes(unseen="error").fit([["a", 1.0], ["a", 2.0], ["b", 3.0], ["b", 4.0]], [0, 0, 1, 1])
    with refuses(NotCounted):
        model.leave_one_out(X, y, w)
    closed = NaiveBayes().partial_fit([["a"], ["b"]], [0, 1], classes=[0, 1])
    with pytest.raises(NotCounted):
        closed.leave_one_out([["a"]], [2])


def test_words_never_counted():
    X = np.array([[2.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    for model in (MultinomialNB(), BernoulliNB()):
        model.fit(X, [0, 0, 1])
        with pytest.raises(NotCounted):
            model.leave_one_out([[0.0, 1.0]], [0])
    with pytest.raises(NotCounted):  # every text of class 0 has the first word
        BernoulliNB().fit(X, [0, 0, 1]).leave_one_out([[0.0, 0.0]], [0])


@pytest.mark.parametrize("numeric", ["gaussian", "student", "poisson"])
def test_numbers_never_counted(numeric):
    X = pd.DataFrame({"x": [1.0, 2.0, np.nan, 4.0], "z": [1.0, 2.0, 3.0, 4.0]})
    model = NaiveBayes(numeric=numeric).fit(X, [0, 0, 1, 2])
    with pytest.raises(NotCounted):
        model.leave_one_out(pd.DataFrame({"x": [3.0], "z": [3.0]}), [1])
    with pytest.raises(DataError):
        model.leave_one_out(pd.DataFrame({"x": [np.inf], "z": [3.0]}), [0])


def test_codes_of_another_schema_are_refused():
    encoded, statistics, left_out = learned(NaiveBayes(), [["a"], ["b"]], [0, 1])
    other = NaiveBayes().fit([["b"], ["c"]], [0, 1])._fitted
    with pytest.raises(NotCounted):
        left_out_joint(other.statistics, other.spec, encoded)
    assert by_refit(statistics, left_out.spec, encoded.chunk(0, 2), np.ones(2))[0].shape == (2, 2)


def test_every_way_of_giving_rows(tmp_path):
    X, y = mixed(60, gaps=0.2)
    model = NaiveBayes(missing="state").fit(X, y)
    expected = model.leave_one_out(X, y)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(expected.sum(axis=1), 1.0)
    with_class = X.assign(y=y)
    np.testing.assert_array_equal(model.leave_one_out(with_class, target="y"), expected)
    batches = Batches(lambda: ((X[i : i + 25], y[i : i + 25]) for i in range(0, 60, 25)))
    np.testing.assert_array_equal(model.leave_one_out(batches), expected)
    np.testing.assert_array_equal(model.leave_one_out(X[5:9], y[5:9]), expected[5:9])
    lazy = NaiveBayes(missing="state").lazy(with_class, "y")
    np.testing.assert_allclose(lazy.leave_one_out(X, y), expected, rtol=1e-12)
    assert lazy.loo_score(X, y) == pytest.approx(model.loo_score(X, y), rel=1e-12)


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr("bayeskit._data.encoded.CHUNK_ROWS", 16)
    X, y = mixed(90)
    one = NaiveBayes().fit(X, y).leave_one_out(X, y)
    np.testing.assert_array_equal(NaiveBayes(n_jobs=3).fit(X, y).leave_one_out(X, y), one)


def test_forgotten_rows_are_not_there():
    X, y = mixed()
    model = NaiveBayes().fit(X, y).forget(X[:4], y[:4])
    # Rows of a class that is gone, and classes that some attribute's states left with.
    with pytest.raises(NotCounted):
        model.leave_one_out(X[:1], y[:1])
    fresh = NaiveBayes().fit(X[4:], y[4:])
    np.testing.assert_allclose(
        model.leave_one_out(X[4:], y[4:]), fresh.leave_one_out(X[4:], y[4:]), atol=1e-12
    )
