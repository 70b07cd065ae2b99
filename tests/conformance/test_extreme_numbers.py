"""Numbers at the ends of what a double holds: no answer is ever NaN, and every row of answers sums to one."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np
import pytest
from estimators import BY_LETTER, MORE, name_of
from scipy import sparse

from bayeskit import (
    BayesNetClassifier,
    BernoulliNB,
    ComplementNB,
    GaussianBayes,
    GaussianMixture,
    LatentClass,
    MultinomialNB,
    NaiveBayes,
)
from bayeskit.errors import BayeskitError

LARGEST = 1.7e308
LEAST = 5e-324
N = 24
ROWS = np.column_stack([np.arange(N) % 3, (np.arange(N) // 2) % 3]).astype(np.float64)
LABELS = np.array(["no", "yes"])[(np.arange(N) + np.arange(N) // 5) % 2]

ESTIMATORS: list[Any] = [
    *(cls() for cls in BY_LETTER.values()),
    NaiveBayes(numeric="student"),
    NaiveBayes(numeric="kernel"),
    NaiveBayes(numeric="poisson"),
    NaiveBayes(missing="state"),
    NaiveBayes(calibration="temperature"),
    GaussianBayes("shared"),
    GaussianBayes(ridge=(0.05, 0.001), imaginary_rows=(1.0, "auto"), predictive="student"),
    GaussianBayes("diagonal"),
    MultinomialNB(alpha=0.0),
    ComplementNB(norm=True),
    ComplementNB(alpha=0.0),
    BayesNetClassifier(),
    GaussianMixture(2, random_state=0),
    GaussianMixture(2, covariance_type="diag", random_state=0),
    LatentClass(2, random_state=0),
    *(pytest.param(estimator, marks=pytest.mark.slow) for estimator in MORE),
]


def title(estimator: Any) -> str:
    return name_of(estimator) if hasattr(estimator, "get_params") else str(estimator)


# Rows to be asked about: numbers of one row each, whole ones in the types that have them.
ASKED: dict[str, Any] = {
    "largest": [[LARGEST, LARGEST]],
    "least below zero": [[-LARGEST, -LARGEST]],
    "of both signs": [[-LARGEST, LARGEST], [LARGEST, -LARGEST]],
    "one of them": [[LARGEST, 1.0], [1.0, -LARGEST]],
    "large enough to be squared": [[1e154, -1e154], [1e150, 1e150]],
    "least above zero": [[LEAST, LEAST], [-LEAST, LEAST]],
    "zero below zero": [[-0.0, -0.0]],
    "infinite": [[np.inf, 1.0]],
    "of both infinities": [[np.inf, -np.inf]],
    "all kinds": [[LARGEST, LEAST], [-0.0, 1e300], [2.0, -1e300]],
    "whole numbers": np.array([[2**63 - 1, -(2**63)]]),
    "whole numbers without a sign": np.array([[2**64 - 1, 2**64 - 1]], dtype=np.uint64),
    "whole numbers beyond them": [[2**70, -(2**70)]],
    "floats of two bytes": np.array([[65504.0, -65504.0]], dtype=np.float16),
    "floats of four bytes": np.array([[3.4e38, -3.4e38]], dtype=np.float32),
}


def first(column: Any) -> np.ndarray:
    """Return the rows with another first column; in a mapping, with some cells of it changed."""
    rows = ROWS.copy()
    if isinstance(column, dict):
        rows[list(column), 0] = list(column.values())
    else:
        rows[:, 0] = column
    return rows


LEARNED: dict[str, Any] = {
    "one largest": first({3: LARGEST}),
    "one least below zero": first({3: -LARGEST}),
    "both ends": first({3: LARGEST, 4: -LARGEST}),
    "a column of largest": first(LARGEST),
    "a column between the ends": first([LARGEST, -LARGEST] * (N // 2)),
    "a column up to the largest": first(np.linspace(0.0, LARGEST, N)),
    "a column of least": first(LEAST),
    "a column up from the least": first(np.arange(N) * LEAST),
    "all largest": np.full((N, 2), LARGEST),
    "all of squares beyond doubles": ROWS * 1e200,
    "all of squares below doubles": ROWS * 1e-200,
    "least beside largest": np.column_stack([ROWS[:, 0] * LEAST, ROWS[:, 1] * 8e307]),
    "zeros below zero": np.where(ROWS == 0.0, -0.0, ROWS),
    "one infinite": first({3: np.inf}),
    "whole numbers": np.where(ROWS == 2.0, 2.0**62, ROWS).astype(np.int64),
    "whole numbers without a sign": np.where(ROWS == 2.0, 2**64 - 1, ROWS.astype(np.uint64)).astype(
        np.uint64
    ),
    "whole numbers beyond them": [[int(a) * 2**70, int(b)] for a, b in ROWS.tolist()],
}


def check(model: Any, X: Any) -> None:
    """Answers that are numbers and sum to one, or a refusal."""
    try:
        share = model.predict_proba(X)
        labels = model.predict(X)
    except BayeskitError:
        return
    for name in ("predict_log_proba", "log_evidence", "score_samples"):
        with contextlib.suppress(BayeskitError):  # not all have a distribution of rows
            assert not np.isnan(getattr(model, name)(X)).any() if hasattr(model, name) else True
    assert np.isfinite(share).all(), share
    assert (share >= 0.0).all()
    np.testing.assert_allclose(share.sum(axis=1), 1.0, rtol=0, atol=1e-9)
    assert len(labels) == len(share)


@pytest.mark.parametrize("kind", list(ASKED))
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=title)
def test_extreme_rows_are_answered(estimator: Any, kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        check(_fitted(estimator), ASKED[kind])


_MODELS: dict[str, Any] = {}


def _fitted(estimator: Any) -> Any:
    name = name_of(estimator)
    if name not in _MODELS:
        _MODELS[name] = type(estimator)(**estimator.get_params(deep=False)).fit(ROWS, LABELS)
    return _MODELS[name]


@pytest.mark.parametrize(
    "model", [MultinomialNB(), MultinomialNB(alpha=0.0), ComplementNB(), BernoulliNB()], ids=title
)
@pytest.mark.parametrize(
    "fitted_to", [[[1, 2], [2, 1]] * 10, [[1, 0], [0, 1]] * 10, [[3, 1], [1, 3], [2, 2]] * 8]
)
def test_counts_beyond_doubles_tell_classes_apart_as_smaller_ones_do(model: Any, fitted_to: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(fitted_to, np.arange(len(fitted_to)) % 2)
        for row in ([1.7, 1.6], [0.1, 1.0], [1.0, 0.0], [-1.0, 1.5], [-1.2, -1.7]):
            large = np.array([row]) * 1e308
            near = model.predict_proba(np.array([row]) * 1e290)
            np.testing.assert_allclose(model.predict_proba(large), near, atol=1e-9)
            np.testing.assert_array_equal(
                model.predict_proba(sparse.csr_array(large)), model.predict_proba(large)
            )


@pytest.mark.parametrize("kind", list(LEARNED))
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=title)
def test_extreme_rows_are_learned(estimator: Any, kind: str) -> None:
    X = LEARNED[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        model = type(estimator)(**estimator.get_params(deep=False))
        try:
            model.fit(X, LABELS)
        except BayeskitError:
            return
        for rows in (X, ROWS, [[LARGEST, -LARGEST]], [[LEAST, 0.0]]):
            check(model, rows)
        if not hasattr(model, "partial_fit"):
            return
        try:
            model.partial_fit(X, LABELS)
        except BayeskitError:
            return
        check(model, ROWS)
        check(model, X)
