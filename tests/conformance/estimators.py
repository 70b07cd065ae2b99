"""The estimators under test, and the smallest rows that all of them take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bayeskit import (
    AODE,
    KDB,
    SPODE,
    TAN,
    AnDE,
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

# One letter each, so that a case can say in a word who takes it: "NGgk" are those of dense columns.
BY_LETTER: dict[str, type[Any]] = {
    "N": NaiveBayes,
    "G": GaussianBayes,
    "g": GaussianNB,
    "b": BernoulliNB,
    "m": MultinomialNB,
    "c": ComplementNB,
    "k": CategoricalNB,
    "S": SPODE,
    "T": TAN,
    "A": AODE,
    "D": AnDE,
    "K": KDB,
    "L": SelectiveKDB,
    "W": WeightedNB,
    "U": AutoBayes,
    "B": BayesNetClassifier,
    "F": CountForest,
    "I": LogLinearBayes,
}
EVERY = "".join(BY_LETTER)
# These take what naive Bayes takes, but for sparse rows and for sources that can be read only once.
SEMI_NAIVE = "STADKLWUBFI"
DENSE = "NGgk" + SEMI_NAIVE
NUMBERS = "NGg"
BLOCK = "bmc"

CLASSES = list(BY_LETTER.values())
SEMI_NAIVE_CLASSES = tuple(BY_LETTER[letter] for letter in SEMI_NAIVE)

# More settings of the semi-naive family: another path through the code each.
MORE: list[Any] = [
    AnDE(n=2),
    AnDE(n=0),
    *(cls(numeric="gaussian") for cls in (SPODE, TAN, AODE, KDB)),
    *(cls(categorical_features="all") for cls in (SPODE, TAN, AODE, KDB)),
    AnDE(n=2, numeric="gaussian"),
    AnDE(n=2, missing="state", categorical_features="all"),
    TAN(criterion="bic", missing="state", categorical_features="all"),
    AODE(weights="mutual-information", min_count=2, missing="state", categorical_features="all"),
    AODE(subsumption=3, categorical_features="all"),
    AODE(views=3),
    AnDE(n=2, views=2, missing="state"),
    LogLinearBayes(missing="state", class_weight="balanced"),
    LogLinearBayes(categorical_features="all", calibration="temperature"),
    SPODE(select="cv", missing="state", categorical_features="all"),
    KDB(k=3, missing="state", smoothing="witten-bell", categorical_features="all"),
    *(cls(unseen="smooth") for cls in (SPODE, TAN, AODE, KDB)),
    AnDE(n=2, unseen="smooth"),
    TAN(calibration="temperature"),
    BayesNetClassifier(categorical_features="all"),
    BayesNetClassifier("naive"),
    BayesNetClassifier("naive", numeric=6),
    BayesNetClassifier("tan", markov_blanket=False),
    BayesNetClassifier("tan", categorical_features="all", missing="state", smoothing="back-off"),
    BayesNetClassifier("hill-climbing", conditional=True),
    BayesNetClassifier("hill-climbing", numeric="mdl", unseen="smooth", calibration="temperature"),
    CountForest(n_trees=10, categorical_features="all"),
    CountForest(n_trees=10, missing="ignore", min_rows=2, max_depth=3, smoothing=2.0),
]

# All estimators and the settings of NaiveBayes and GaussianBayes that change the path through the code.
VARIANTS: list[Any] = [
    *(cls() for cls in CLASSES),
    NaiveBayes(categorical_features="all"),
    NaiveBayes(missing="state"),
    NaiveBayes(numeric="kernel"),
    NaiveBayes(numeric="mdl"),
    NaiveBayes(numeric="student"),
    NaiveBayes(unseen="smooth"),
    GaussianBayes("shared"),
    GaussianBayes(
        "shared",
        ridge=(0.05, 0.001),
        imaginary_rows=(1.0, 0.0),
        categorical_features="from_dtype",
        missing="indicator",
        clip=5.0,
    ),
    GaussianBayes(ridge=(0.05, 0.001), imaginary_rows=(1.0, "auto"), predictive="student"),
    GaussianBayes("diagonal"),
    GaussianNB(n_jobs=2),
    *(pytest.param(estimator, marks=pytest.mark.slow) for estimator in MORE),
]


def name_of(estimator: Any) -> str:
    """Name a test: the class, and the parameters that were set."""
    params = {k: v for k, v in estimator.get_params(deep=False).items() if v is not None}
    defaults = type(estimator)().get_params(deep=False)
    changed = [f"{k}={v}" for k, v in params.items() if v != defaults.get(k)]
    return "-".join([type(estimator).__name__, *changed])


def small_rows(n: int = 12, d: int = 3, seed: int = 0) -> NDArray[np.float64]:
    """Return rows of 0, 1 and 2: measurements, codes and counts alike."""
    rows = np.random.default_rng(seed).integers(0, 3, (n, d)).astype(np.float64)
    rows[:3] = np.arange(3)[:, None]  # every code stands in every column
    return rows


def small_labels(n: int = 12, k: int = 2) -> NDArray[np.int64]:
    return np.arange(n) % k


def check_answers(model: Any, X: Any, n: int) -> None:
    """Finite posteriors that sum to one, labels among the classes, one for each row."""
    posterior = model.predict_proba(X)
    assert posterior.shape == (n, len(model.classes_))
    assert np.isfinite(posterior).all(), "a posterior is not finite"
    assert (posterior >= 0).all()
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0, rtol=0, atol=1e-9)
    labels = model.predict(X)
    assert len(labels) == n
    known = set(model.classes_.tolist())
    assert all(label in known for label in labels.tolist())
    log_posterior = model.predict_log_proba(X)
    assert not np.isnan(log_posterior).any()
    with np.errstate(under="ignore"):
        np.testing.assert_allclose(np.exp(log_posterior), posterior, rtol=0, atol=1e-9)


def same_labels(a: Any, b: Any, X: Any) -> None:
    """Two models give one label to each row, but where two classes are as good as equal."""
    best = np.sort(b.predict_proba(X), axis=1)
    clear = best[:, -1] - (best[:, -2] if best.shape[1] > 1 else 0.0) > 1e-9
    assert a.predict(X)[clear].tolist() == b.predict(X)[clear].tolist()


def bytes_held(model: Any) -> int:
    """The size of all tables that a model keeps."""
    parts = model.statistics_.parts.values()
    return sum(array.nbytes for part in parts for array in part.arrays().values())
