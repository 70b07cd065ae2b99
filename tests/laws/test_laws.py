"""Laws that hold for every estimator, whatever the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from estimators import CLASSES, SEMI_NAIVE_CLASSES, VARIANTS, name_of
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from bayeskit import (
    KDB,
    SPODE,
    TAN,
    AutoBayes,
    BayesNetClassifier,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    CountForest,
    GaussianBayes,
    GaussianNB,
    LogLinearBayes,
    MultinomialNB,
    NaiveBayes,
    SelectiveKDB,
    WeightedNB,
)

every = pytest.mark.parametrize("estimator", VARIANTS, ids=name_of)
BLOCKS = (BernoulliNB, MultinomialNB, ComplementNB)
seeds = st.integers(0, 2**32 - 1)


def drawn(estimator: Any, seed: int, d: int = 3) -> tuple[Any, Any]:
    """Rows that suit the estimator: codes, counts, or measurements; with holes where it takes them."""
    rng = np.random.default_rng(seed)
    n = 90 if isinstance(estimator, GaussianBayes) else 24  # a matrix of few rows is nearly singular
    if isinstance(estimator, CategoricalNB) or getattr(estimator, "categorical_features", "") == "all":
        X = rng.integers(0, 4, (n, d)).astype(float)
    elif isinstance(estimator, BLOCKS):
        return rng.poisson(1.0, (n, d)).astype(float), rng.integers(0, 3, n)
    else:
        X = np.round(rng.normal(2.0, 3.0, (n, d)), 2)
    if not isinstance(estimator, GaussianBayes):
        X[rng.random((n, d)) < 0.1] = np.nan
    return X, rng.integers(0, 3, n)


def cuts_numbers(estimator: Any) -> bool:
    numeric = getattr(estimator, "numeric", "gaussian")
    if not isinstance(estimator, SEMI_NAIVE_CLASSES):
        return bool(numeric == "mdl")
    cuts = numeric != "gaussian" or isinstance(estimator, (LogLinearBayes, AutoBayes))
    return cuts and estimator.categorical_features != "all"


def folds_by_number(estimator: Any) -> bool:
    """Whether the number of a row says which fold it is in, so that order and repetition matter."""
    return getattr(estimator, "select", "") == "cv"


def tied(a: Any, b: Any) -> bool:
    """Whether two networks of numbers have other arcs: of equally good ones the bytes of the columns decide."""
    numbers = isinstance(a, BayesNetClassifier) and bool(a.schema_.numeric)
    return numbers and a.held_.get("structure") != b.held_.get("structure")


def fitted(estimator: Any, *rows: Any, **more: Any) -> Any:
    return clone(estimator).fit(*rows, **more)


def same(a: Any, b: Any, X: Any, within: float = 1e-12) -> None:
    assert a.classes_.tolist() == b.classes_.tolist()
    assert a.schema_ == b.schema_
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=0, atol=within)


@every
@settings(max_examples=6)
@given(seed=seeds)
def test_a_whole_weight_is_repetition(estimator: Any, seed: int) -> None:
    if folds_by_number(estimator):
        return
    X, y = drawn(estimator, seed)
    times = np.random.default_rng(seed + 1).integers(1, 4, len(y))
    weighted = fitted(estimator, X, y, times)
    repeated = fitted(estimator, np.repeat(X, times, axis=0), np.repeat(y, times))
    if not tied(weighted, repeated):
        same(weighted, repeated, X)


@every
@settings(max_examples=6)
@given(seed=seeds)
def test_weight_zero_is_absence(estimator: Any, seed: int) -> None:
    X, y = drawn(estimator, seed)
    strange = np.where(np.isnan(X[:2]), np.nan, 9.0)
    labels = np.append(y, [7, 8])
    weights = np.append(np.ones(len(y)), [0.0, 0.0])
    absent = fitted(estimator, np.vstack([X, strange]), labels, weights)
    same(absent, fitted(estimator, X, y), X)


@every
@settings(max_examples=6)
@given(seed=seeds)
def test_the_order_of_rows_does_not_matter(estimator: Any, seed: int) -> None:
    if folds_by_number(estimator):
        return
    X, y = drawn(estimator, seed)
    order = np.random.default_rng(seed + 1).permutation(len(y))
    turned, straight = fitted(estimator, X[order], y[order]), fitted(estimator, X, y)
    if not tied(turned, straight):
        same(turned, straight, X)


@every
@settings(max_examples=4)
@given(seed=seeds)
def test_the_order_of_columns_does_not_matter(estimator: Any, seed: int) -> None:
    pd = pytest.importorskip("pandas")
    tree = isinstance(estimator, (TAN, KDB)) or getattr(estimator, "method", None) == "tan"
    if tree or getattr(estimator, "subsumption", False):
        return  # the first column is the root, comes first of equals, and stays of two that follow from each other
    X, y = drawn(estimator, seed)
    frame = pd.DataFrame(X, columns=list("abc"))
    turned = fitted(estimator, frame[["c", "a", "b"]], y)
    straight = fitted(estimator, frame, y)
    if (
        isinstance(estimator, SPODE)
        and np.min(np.diff(sorted(straight.losses_.values())), initial=1.0) < 1e-11
    ):
        return  # of equal super-parents it takes the first column, and says so
    np.testing.assert_allclose(turned.predict_proba(frame), straight.predict_proba(frame), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(
        straight.predict_proba(frame[["b", "c", "a"]]), straight.predict_proba(frame)
    )


@every
@settings(max_examples=4)
@given(seed=seeds)
def test_other_names_of_the_classes_move_the_columns(estimator: Any, seed: int) -> None:
    X, y = drawn(estimator, seed)
    names = np.array(["m", "z", "a"], dtype=object)
    plain, renamed = fitted(estimator, X, y), fitted(estimator, X, names[y])
    places = [renamed.classes_.tolist().index(names[c]) for c in plain.classes_]
    moved = renamed.predict_proba(X)[:, places]
    np.testing.assert_allclose(moved, plain.predict_proba(X), rtol=0, atol=1e-12)


@every
@settings(max_examples=4)
@given(seed=seeds)
def test_class_weights_are_row_weights(estimator: Any, seed: int) -> None:
    if cuts_numbers(estimator) or isinstance(estimator, SPODE) or getattr(estimator, "calibration", None):
        return  # what rows choose goes by their own weights: cut points, a super-parent, a temperature
    X, y = drawn(estimator, seed)
    y[:3] = [0, 1, 2]
    weighted = clone(estimator).set_params(class_weight={0: 2.0, 1: 0.5}).fit(X, y)
    by_row = fitted(estimator, X, y, np.array([2.0, 0.5, 1.0])[y])
    np.testing.assert_allclose(weighted.predict_proba(X), by_row.predict_proba(X), rtol=0, atol=1e-12)
    counts = np.bincount(y)
    balanced = clone(estimator).set_params(class_weight="balanced").fit(X, y)
    by_row = fitted(estimator, X, y, len(y) / (3 * counts[y]))
    np.testing.assert_allclose(balanced.predict_proba(X), by_row.predict_proba(X), rtol=0, atol=1e-12)


@every
@settings(max_examples=4)
@given(seed=seeds)
def test_float32_is_its_float64(estimator: Any, seed: int) -> None:
    X, y = drawn(estimator, seed)
    short = X.astype(np.float32)
    a, b = fitted(estimator, short, y), fitted(estimator, short.astype(np.float64), y)
    np.testing.assert_array_equal(a.predict_proba(short), b.predict_proba(short.astype(np.float64)))


@every
@settings(max_examples=4)
@given(seed=seeds)
def test_a_missing_cell_leaves_its_factor_out(estimator: Any, seed: int) -> None:
    """A row predicted without a column is a row predicted by the model of the other columns."""
    X, y = drawn(estimator, seed)
    unhelpful = isinstance(estimator, BLOCKS) or getattr(estimator, "missing", "") == "state"
    if unhelpful or getattr(estimator, "covariance", "") in ("full", "shared"):
        return  # blocks take no holes; a state is a factor; a matrix takes the rows that are complete
    choosers = (TAN, SPODE, KDB, SelectiveKDB, WeightedNB, AutoBayes, CountForest, LogLinearBayes)
    searches = getattr(estimator, "method", "naive") != "naive" or getattr(estimator, "conditional", False)
    if isinstance(estimator, choosers) or searches or getattr(estimator, "subsumption", False):
        return  # another structure is learned without the column; a value may follow from one that is not there
    if isinstance(estimator, GaussianNB):
        # otherwise the smoothing depends on the variance of all columns
        estimator = clone(estimator).set_params(var_smoothing=0.0)
    without = X.copy()
    without[:, 1] = np.nan
    small = clone(estimator).fit(X[:, [0, 2]], y)
    answers = fitted(estimator, X, y).predict_proba(without)
    np.testing.assert_allclose(answers, small.predict_proba(X[:, [0, 2]]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("cls", [*CLASSES, "mixed"], ids=str)
def test_threads_do_not_change_a_bit(cls: Any) -> None:
    rng = np.random.default_rng(7)
    n = 200_000
    X: Any = rng.integers(0, 4, (n, 3)).astype(float)
    y = rng.integers(0, 3, n)
    if cls == "mixed":
        cls, X = (
            NaiveBayes,
            {"a": rng.integers(0, 9, n).astype("U1"), "b": rng.normal(size=n) * 1e6, "c": X[:, 0]},
        )
    elif cls in (NaiveBayes, GaussianNB, GaussianBayes):
        X = rng.normal(1e4, 3.0, (n, 3)) + y[:, None]
    models = [cls(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2)]
    parts = [model.statistics_.parts for model in models]
    for kind, part in parts[0].items():
        for name, array in part.arrays().items():
            np.testing.assert_array_equal(array, parts[1][kind].arrays()[name], err_msg=f"{kind}.{name}")
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))
