"""Columns of every type there is: an answer, or an error of bayeskit that names the column. At fit and at predict."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from column_types import TYPES, WHOLE, N
from estimators import check_answers

from bayeskit import (
    TAN,
    AutoBayes,
    BayesianNetwork,
    BayesNetClassifier,
    CategoricalNB,
    CountForest,
    Discretizer,
    GaussianMixture,
    GaussianNB,
    LatentClass,
    LogLinearBayes,
    MultinomialNB,
    NaiveBayes,
    learn_network,
)
from bayeskit.errors import BayeskitError

LABELS = np.array(["no", "yes"])[(np.arange(N) // 3) % 2]

LEARNERS: dict[str, Callable[[], Any]] = {
    "NaiveBayes": NaiveBayes,
    "NaiveBayes-all": lambda: NaiveBayes(categorical_features="all"),
    "CategoricalNB": CategoricalNB,
    "GaussianNB": GaussianNB,
    "MultinomialNB": MultinomialNB,
    "TAN": TAN,
    "AutoBayes": AutoBayes,
    "CountForest": lambda: CountForest(n_trees=5),
    "BayesNetClassifier": BayesNetClassifier,
    "LogLinearBayes": lambda: LogLinearBayes(views=2),
    "GaussianMixture": lambda: GaussianMixture(2, random_state=0),
    "LatentClass": lambda: LatentClass(2, random_state=0),
    "Discretizer": lambda: Discretizer("frequency", n_bins=2),
}

# These have a reader of their own each; the others read as naive Bayes does.
QUICK = ("NaiveBayes", "NaiveBayes-all", "CategoricalNB", "MultinomialNB", "GaussianMixture", "Discretizer")
OTHERS = tuple(name for name in LEARNERS if name not in QUICK)


def named(error: BayeskitError, X: Any) -> bool:
    return "'b'" in str(error) or (not hasattr(X, "columns") and "'x1'" in str(error)) or _is_whole(X, error)


def _is_whole(X: Any, error: BayeskitError) -> bool:
    """An array has one type, and the fault is that of all its columns."""
    return isinstance(X, np.ndarray) and "'x0'" in str(error)


def check(what: Callable[[], Any], X: Any) -> None:
    refusal = None
    try:
        what()
    except BayeskitError as error:
        refusal = error
    assert refusal is None or named(refusal, X), refusal


def answer(model: Any, X: Any) -> None:
    if isinstance(model, Discretizer):
        assert np.shape(model.transform(X)) == (N, 2)
    elif hasattr(model, "classes_"):
        check_answers(model, X, N)
    else:
        share = model.predict_proba(X)
        assert np.isfinite(share).all()
        np.testing.assert_allclose(share.sum(axis=1), 1.0, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "learner", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]
)
@pytest.mark.parametrize("kind", list(TYPES))
def test_columns_of_every_type_at_fit_and_predict(kind: str, learner: str) -> None:
    X = TYPES[kind]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(lambda: answer(LEARNERS[learner]().fit(X, LABELS), X), X)
        check(lambda: answer(learned(learner), X), X)


@cache
def learned(learner: str) -> Any:
    """A model of whole numbers, to be asked about columns of other types."""
    return LEARNERS[learner]().fit({"a": WHOLE, "b": (WHOLE + 1) % 3}, LABELS)


@pytest.mark.parametrize("kind", list(TYPES))
def test_columns_of_every_type_become_nodes_or_are_refused(kind: str) -> None:
    X = TYPES[kind]()
    network = BayesianNetwork([("a", "b")])
    for learn in (learn_network, network.fit):
        if isinstance(X, (np.ndarray, list)) and learn == network.fit:
            continue  # the nodes of the network have names, and these columns none
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check(lambda learn=learn: learn(X), X)


# What a column of these types holds are words or whole numbers, so every learner of words must take it.
READ = (
    "arrow run-end encoded words",
    "arrow run-end encoded numbers",
    "pandas arrow dictionary",
    "pandas arrow dictionary of numbers",
    "polars Int128",
    "polars UInt128",
    "polars Int128 with holes",
    "pandas >i4",
    "column >i4",
    "array >i4",
)


@pytest.mark.parametrize("kind", READ)
def test_unusual_types_are_read_as_what_they_hold(kind: str) -> None:
    X = TYPES[kind]()
    other = {"a": WHOLE, "b": _plain(X)}
    # The entries of a dictionary are categories, also where they are numbers.
    for learner in ("NaiveBayes-all",) if "dictionary" in kind else ("NaiveBayes-all", "NaiveBayes", "TAN"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = LEARNERS[learner]().fit(X, LABELS).predict_proba(X)
            wanted = LEARNERS[learner]().fit(other, LABELS).predict_proba(other)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


def _plain(X: Any) -> list[Any]:
    column = X[:, 1] if isinstance(X, np.ndarray) else X["b"]
    how = next(how for how in ("to_pylist", "to_list", "tolist") if hasattr(column, how))
    return [None if type(cell).__name__ == "NAType" else cell for cell in getattr(column, how)()]


@pytest.mark.parametrize("kind", list(TYPES))
def test_labels_of_every_type_are_learned_or_refused(kind: str) -> None:
    X = TYPES[kind]()
    y = X[:, 1] if isinstance(X, np.ndarray) else [row[1] for row in X] if isinstance(X, list) else X["b"]
    learners = (
        lambda: NaiveBayes().fit({"a": WHOLE}, y),
        lambda: NaiveBayes().fit(X, target="b"),
        lambda: BayesNetClassifier("naive").fit({"a": WHOLE}, y),
    )
    for learn in learners:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                check_answers(learn(), {"a": WHOLE}, N)
            except BayeskitError as error:
                refusal = error
                assert len(str(refusal)) > 20
