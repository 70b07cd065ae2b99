"""Gaussian classes of mixed tables: equal to columns made by hand, exact in every verb, honest about refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayeskit import Batches, GaussianBayes, load
from bayeskit._conditionals.covariance import GaussianClasses
from bayeskit._data.source import Source
from bayeskit._fitting.leave_one_out import LeaveOneOut, by_refit, encode_learned
from bayeskit.errors import Incompatible, InfiniteValue, NotSupported, SettingError, UsageError
from refusals import refuses

MIXED = {"categorical_features": "from_dtype", "missing": "indicator", "clip": 2.0, "ridge": (0.05, 0.001)}


def mixed(n=60, seed=0):
    """Two numbers, one of them with an outlier, two columns of states, a constant one; holes in both kinds."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, "no", "yes")
    shape = np.where(rng.random(n) < 0.6, np.where(y == "no", "x", "z"), "y").astype(object)
    X = pd.DataFrame(
        {
            "length": rng.normal(size=n) + (y == "yes"),
            "shape": shape,
            "width": 100 * rng.normal(size=n) + 5,
            "colour": rng.choice(["red", "blue"], n).astype(object),
            "one": 3.0,
        }
    )
    X.loc[3, "length"] = 1e4
    X.loc[::7, "width"], X.loc[::9, "shape"] = np.nan, None
    return X, y


def by_hand(X, *, indicator=True, most=2.0):
    """The columns of the guide, made with pandas."""
    made = {}
    for name in X:
        column, hole = X[name], X[name].isna()
        if pd.api.types.is_numeric_dtype(column):
            if column.nunique() > 1:
                z = (column - column.mean()) / column.std(ddof=0)
                made[name] = z.clip(-most, most).fillna(0.0)
        else:
            for state in sorted(column.dropna().unique()):
                is_state = (column == state).astype(float)
                made[name, state] = is_state.where(~hole, is_state[~hole].mean())
        if indicator and hole.any():
            made[name, "missing"] = hole.astype(float)
    return np.column_stack(list(made.values()))


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("shared", {"imaginary_rows": (1.0, 0.0)}),
        ("full", {"imaginary_rows": (1.0, "auto"), "predictive": "student"}),
    ],
)
@pytest.mark.parametrize("missing", ["mean", "indicator"])
def test_columns_are_those_made_by_hand(kind, how, missing):
    X, y = mixed()
    model = GaussianBayes(kind, **{**MIXED, "missing": missing, **how}).fit(X, y)
    Z = by_hand(X, indicator=missing == "indicator")
    plain = GaussianBayes(kind, ridge=(0.05, 0.001), **how).fit(Z, y)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(Z), rtol=1e-9)
    np.testing.assert_allclose(model.leave_one_out(X, y), plain.leave_one_out(Z, y), rtol=1e-9)
    assert np.abs(model.statistics_.parts["coded_scatter"].mean()).max() <= 2.0


def test_a_value_that_is_ignored_is_integrated_out():
    X, y = mixed()
    model = GaussianBayes("shared", categorical_features="from_dtype", ridge=0.05).fit(X, y)
    whole = X.notna().all(axis=1).to_numpy()
    # The columns are measured by all values that are there; the covariance is that of complete rows.
    assert model.statistics_.parts["coded_scatter"].weight.sum() == whole.sum()
    assert np.isfinite(model.predict_proba(X)).all()
    nothing = pd.DataFrame({name: [None] for name in X})
    np.testing.assert_allclose(
        model.predict_proba(nothing), [np.mean(y == c) for c in ("no", "yes")] * np.ones((1, 2))
    )


@pytest.mark.parametrize("missing", ["ignore", "mean", "indicator"])
def test_leave_one_out_equals_refits_under_the_same_coding(missing):
    X, y = mixed(40)
    w = np.random.default_rng(1).choice([0.5, 1.0, 2.0], 40)
    model = GaussianBayes("shared", **{**MIXED, "missing": missing}).fit(X, y, w)
    fitted = model._fitted
    (rows,) = Source(X, y, w)
    chunk = encode_learned(fitted, fitted.schema, rows).chunk(0, 40)
    left_out = LeaveOneOut(fitted.statistics, fitted.spec)
    assert left_out.fast
    for found, wanted in zip(
        left_out.scores(chunk, w), by_refit(fitted.statistics, left_out.spec, chunk, w), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("how", [{}, {"ridge": (0.05, 0.001)}, {"shrinkage": "ledoit-wolf"}])
def test_a_row_without_which_a_column_is_constant_or_a_class_empty_is_left_out_exactly(how):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 4)), np.arange(30) % 3
    x[:, 1], x[7, 1] = 5.0, 5.5  # one row has another value
    x[:, 2], x[9, 2] = 1e6, -3.0
    y[11] = 3  # a class of one row
    w = rng.choice([0.5, 1.0, 2.0], 30)
    model = GaussianBayes("shared", **how).fit(x, y, w)
    fitted = model._fitted
    (rows,) = Source(x, y, w)
    chunk = encode_learned(fitted, fitted.schema, rows).chunk(0, 30)
    left_out = LeaveOneOut(fitted.statistics, fitted.spec)
    (classes,) = fitted.model().conditionals
    anew = classes._left_out.log_prob(x[:, classes.varying], y, w)[1]
    assert set(np.flatnonzero(anew)) >= ({7, 9, 11} if "shrinkage" in how else {11})
    for found, wanted in zip(
        left_out.scores(chunk, w), by_refit(fitted.statistics, left_out.spec, chunk, w), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("covariance", ["shared", "full"])
@pytest.mark.parametrize("how", [{}, {"predictive": "student"}, {"ridge": 0.0, "shrinkage": 0.2}])
def test_states_that_one_row_has_are_left_out_exactly_without_a_new_estimate(covariance, how, monkeypatch):
    rng = np.random.default_rng(3)
    n = 60
    X = pd.DataFrame(
        {"a": rng.choice(["p", "q", "r"], n), "b": rng.choice(["u", "v"], n), "x": rng.normal(size=n)}
    )
    X.loc[[3, 8, 21], "a"] = ["only", "single", "alone"]
    X.loc[[8, 30], "b"] = ["once", "rare"]  # row 8 takes two columns with it
    X["z"] = np.where(np.arange(n) == 40, 2.5, 1.5)
    y, w = np.arange(n) % 2, rng.choice([0.5, 1.0, 2.0], n)
    settings = {"categorical_features": "from_dtype", "ridge": (0.05, 0.001), **how}
    model = GaussianBayes(covariance, **settings).fit(X, y, w)
    fitted = model._fitted
    (rows,) = Source(X, y, w)
    chunk = encode_learned(fitted, fitted.schema, rows).chunk(0, n)
    left_out = LeaveOneOut(fitted.statistics, fitted.spec)
    wanted = by_refit(fitted.statistics, left_out.spec, chunk, w)
    monkeypatch.delattr(GaussianClasses, "_without")
    for one, other in zip(left_out.scores(chunk, w), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_batches_forgetting_and_merging_are_exact_under_the_same_coding(tmp_path):
    X, y = mixed()
    first = GaussianBayes("shared", **MIXED).fit(X[:40], y[:40])
    how = {**MIXED, "coding": first.held_["coding"]}
    whole = GaussianBayes("shared", **how).fit(X, y)
    wanted = whole.predict_proba(X)
    close = {"rtol": 1e-10}
    np.testing.assert_allclose(first.partial_fit(X[40:], y[40:]).predict_proba(X), wanted, **close)
    parts = [GaussianBayes("shared", **how).fit(X[s], y[s]) for s in (slice(0, 25), slice(25, 60))]
    np.testing.assert_allclose((parts[0] + parts[1]).predict_proba(X), wanted, **close)
    batches = Batches(lambda: ((X[i : i + 20], y[i : i + 20]) for i in range(0, 60, 20)))
    np.testing.assert_allclose(GaussianBayes("shared", **how).fit(batches).predict_proba(X), wanted, **close)
    np.testing.assert_allclose(
        GaussianBayes("shared", **how).lazy(X.assign(y=y), "y").predict_proba(X), wanted, **close
    )
    left = (parts[0] + parts[1]).forget(X[25:], y[25:])
    np.testing.assert_allclose(left.predict_proba(X), parts[0].predict_proba(X), **close)
    whole.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(X), wanted)
    other = GaussianBayes("shared", **MIXED).fit(X[20:], y[20:])
    with refuses(Incompatible, "coding"):
        GaussianBayes("shared", **MIXED).fit(X[:20], y[:20]).merge(other)


def test_a_state_that_came_later_is_treated_as_missing():
    X, y = mixed()
    model = GaussianBayes("shared", **MIXED).fit(X, y)
    later = X[:5].assign(shape="star")
    before = model.predict_proba(later)
    np.testing.assert_array_equal(before, model.predict_proba(later.assign(shape=None)))
    model.partial_fit(later, y[:5])
    np.testing.assert_array_equal(model.predict_proba(later), model.predict_proba(later.assign(shape=None)))
    model.forget(later, y[:5])
    np.testing.assert_allclose(model.predict_proba(later), before, rtol=1e-12)


def test_contributions_add_up_and_a_page_explains():
    X, y = mixed()
    model = GaussianBayes("shared", **MIXED).fit(X, y)
    found = model.contributions(X[:5])
    joint = model.predict_joint_log_proba(X[:5])
    log_odds = joint - joint[:, ::-1]
    np.testing.assert_allclose(np.asarray(found.values).sum(axis=1), log_odds, rtol=1e-9, atol=1e-9)
    page = str(model.explain(X.iloc[[1]]))
    assert "length" in page and "colour" in page


def test_what_it_cannot_do():
    X, y = mixed()
    model = GaussianBayes("shared", **MIXED).fit(X, y)
    for verb, error in ((model.log_evidence, UsageError), (model.novelty, UsageError)):
        with refuses(error, "GaussianBayes"):
            verb(X)
    with pytest.raises(NotSupported):
        model.sample(3)
    for verb in (lambda Z: model.predict(Z), lambda Z: GaussianBayes("shared", **MIXED).fit(Z, y)):
        with refuses(InfiniteValue, "length", 4):
            verb(X.assign(length=np.where(np.arange(60) == 4, np.inf, X["length"])))
    with refuses(SettingError, "coding", "'other'"):
        GaussianBayes(**MIXED, coding=model.held_["coding"]).fit(X.rename(columns={"shape": "other"}), y)


@pytest.mark.parametrize("kind", ["full", "shared"])
def test_tables_of_one_kind_and_columns_without_any_value(kind):
    X, y = mixed()
    for columns in (["shape", "colour"], ["length"], ["one"]):
        model = GaussianBayes(kind, **MIXED).fit(X[columns], y)
        assert np.isfinite(model.predict_proba(X[columns])).all()
        assert np.isfinite(model.leave_one_out(X[columns], y)).all()
    empty = X.assign(width=np.nan)
    assert np.isfinite(GaussianBayes(kind, **MIXED).fit(empty, y).predict_proba(empty)).all()
