"""What a stack is fitted to: answers about training rows in which a row had no say, one way for each classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayeskit import CountForest, LogLinearBayes, NaiveBayes
from bayeskit._data.encoded import Chunk
from bayeskit._data.source import Source
from bayeskit._fitting.forest import joined
from bayeskit._fitting.leave_one_out import learned_chunks
from bayeskit._fitting.log_linear import FEW_TO_JUDGE, folds_of


def table(n: int = 90, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(2)
    return X, np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=n) > 0, "plus", "minus")


def honest(model: Any, X: Any, y: Any, w: Any = None, some: Any = None) -> tuple[Any, Chunk]:
    fitted = model._fitted
    rows = joined(learned_chunks(fitted, Source(X, y, w)))
    some = np.arange(rows.n_rows) if some is None else some
    return np.exp(model._honest_log_posteriors(fitted.statistics, fitted.spec, rows, some)), rows


@pytest.mark.parametrize("settings", [{}, {"class_weight": "balanced"}])
def test_by_default_a_row_is_left_out_of_the_counts(settings: Any) -> None:
    X, y = table()
    model = NaiveBayes(**settings).fit(X, y)
    np.testing.assert_allclose(honest(model, X, y)[0], model.leave_one_out(X, y), atol=1e-12)
    some = np.array([3, 50])
    np.testing.assert_allclose(honest(model, X, y, some=some)[0], model.leave_one_out(X, y)[some], atol=1e-12)


@pytest.mark.parametrize("settings", [{}, {"class_weight": "balanced"}])
def test_of_a_forest_those_trees_answer_that_had_not_seen_the_row(settings: Any) -> None:
    X, y = table()
    model = CountForest(n_trees=20, **settings).fit(X, y)
    np.testing.assert_allclose(honest(model, X, y)[0], model.out_of_bag(X, y), atol=1e-12)


def test_of_many_rows_a_log_linear_model_leaves_each_out_of_counts_and_weights() -> None:
    X, y = table(FEW_TO_JUDGE)
    model = LogLinearBayes(views=2).fit(X, y)
    np.testing.assert_allclose(honest(model, X, y)[0], model.approximate_leave_one_out(X, y), atol=1e-12)


def test_of_few_rows_the_other_folds_answer() -> None:
    """Cut points, pairs, counts and weights: all from the other folds."""
    X, y = table()
    model = LogLinearBayes(views=2).fit(X, y)
    found, rows = honest(model, X, y)
    fold = folds_of(rows, model.schema_, 5)
    for f in range(5):
        other = LogLinearBayes(views=2).fit(X[fold != f], y[fold != f])
        np.testing.assert_allclose(found[fold == f], other.predict_proba(X[fold == f]), atol=1e-9)


def test_folds_hang_on_neither_order_nor_names() -> None:
    X, y = table()
    order = np.random.default_rng(1).permutation(len(y))
    found = honest(LogLinearBayes(views=2).fit(X, y), X, y)[0]
    again = honest(LogLinearBayes(views=2).fit(X[order], y[order]), X[order], y[order])[0]
    np.testing.assert_allclose(again, found[order], atol=1e-9)
    named = {name: X[:, j] for name, j in (("b", 2), ("r", 0), ("a", 1))}
    again = honest(LogLinearBayes(views=2).fit(named, y), named, y)[0]
    np.testing.assert_allclose(again, found, atol=1e-9)
