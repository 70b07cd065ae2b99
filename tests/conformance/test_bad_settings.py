"""Parameters that mean nothing are refused by name, before or when they are needed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from estimators import BY_LETTER, EVERY, small_labels, small_rows

from bayeskit import BernoulliNB, CategoricalNB, GaussianBayes, GaussianNB, MultinomialNB, NaiveBayes
from bayeskit.errors import BayeskitError, SettingError
from bayeskit.priors import MAP, Dirichlet, Lidstone, NormalInverseGamma
from refusals import refuses, warns_of

NAN, INF = np.nan, np.inf

# What every estimator with the parameter must refuse: (parameter, value, what the message names).
SHARED: list[tuple[str, Any, list[Any]]] = [
    ("alpha", -1, ["alpha", -1]),
    ("alpha", -1e-300, ["alpha", -1e-300]),
    ("alpha", NAN, ["alpha", NAN]),
    ("alpha", INF, ["alpha", INF]),
    ("alpha", "x", ["alpha", "x"]),
    ("alpha", None, ["alpha", None]),
    ("alpha", [1.0, -1.0, 1.0], ["alpha"]),
    ("alpha", [1.0, 1.0], ["alpha"]),
    ("alpha", 1j, ["alpha", 1j]),
    ("smoothing", -1, ["smoothing", -1]),
    ("smoothing", -1e-300, ["smoothing", -1e-300]),
    ("smoothing", NAN, ["smoothing", NAN]),
    ("smoothing", INF, ["smoothing", INF]),
    ("smoothing", "x", ["prior", "x"]),
    ("smoothing", [1.0, -1.0, 1.0], ["prior", "[1.0, -1.0, 1.0]"]),
    ("smoothing", 1j, ["prior", 1j]),
    ("smoothing", True, ["prior", True]),
    ("class_prior", [1.0], ["priors", 1, 2]),
    ("class_prior", [0.5, 0.3, 0.2], ["priors", 3, 2]),
    ("class_prior", [0.5, 0.6], ["priors", 1, 1.1]),
    ("class_prior", [1.5, -0.5], ["Priors", "[1.5, -0.5]"]),
    ("class_prior", [NAN, 1.0], ["Priors", "[nan, 1.0]"]),
    ("class_prior", [[0.5, 0.5]], ["priors", 1, 2]),
    ("class_prior", ["a", "b"], ["Priors", "['a', 'b']"]),
    ("class_prior", 0.5, ["priors", 1, 2]),
    ("class_prior", {0: 0.5, 2: 0.5}, ["class_prior", "[0, 2]"]),
    ("class_prior", {0: 1.0}, ["class_prior", "[0]"]),
    ("priors", [1.0], ["priors", 1, 2]),
    ("priors", [0.5, 0.6], ["priors", 1, 1.1]),
    ("priors", [1.5, -0.5], ["Priors", "[1.5, -0.5]"]),
    ("class_weight", "unbalanced", ["class_weight", "unbalanced"]),
    ("class_weight", {0: -1.0}, ["weights", "{0: -1.0}"]),
    ("class_weight", {0: NAN}, ["weights", "{0: nan}"]),
    ("class_weight", {0: INF}, ["weights", "{0: inf}"]),
    ("class_weight", {0: "x"}, ["weights", "{0: 'x'}"]),
    ("class_weight", {0: 0.0, 1: 0.0}, ["weights", "{0: 0.0, 1: 0.0}"]),
    ("class_weight", {"nobody": 1.0}, ["class_weight", "nobody"]),
    ("class_weight", [1.0, 2.0], ["class_weight", "[1.0, 2.0]"]),
    ("class_weight", 2.0, ["class_weight", 2.0]),
    ("n_jobs", 0, ["n_jobs", 0]),
    ("n_jobs", 1.5, ["n_jobs", 1.5]),
    ("n_jobs", "all", ["n_jobs", "all"]),
]

# Those of one estimator: (estimator, what the message names).
OWN: list[tuple[Any, list[Any]]] = [
    (NaiveBayes(smoothing="laplas"), ["prior", "laplas"]),
    (NaiveBayes(smoothing={"x0": "laplas"}), ["prior", "laplas"]),
    (NaiveBayes(smoothing=object()), ["prior", "bayeskit.priors"]),
    (NaiveBayes(smoothing={"numeric": 1.0}), ["NormalInverseGamma", "Lidstone"]),
    (NaiveBayes(smoothing={"nowhere": 1.0}), ["smoothing", "nowhere"]),
    (NaiveBayes(smoothing=Dirichlet([1.0, 1.0]), categorical_features="all"), ["x0", 2, 3]),
    (NaiveBayes(smoothing=Dirichlet({"x0": {9: 1.0}}), categorical_features="all"), ["x0", 9]),
    (NaiveBayes(smoothing=MAP(Dirichlet(0.5)), categorical_features="all"), ["y", 0.5]),
    (NaiveBayes(variance="foo"), ["variance", "foo"]),
    (NaiveBayes(numeric="normal"), ["numeric", "normal"]),
    (NaiveBayes(missing="drop"), ["missing", "drop"]),
    (NaiveBayes(unseen="raise"), ["unseen", "raise"]),
    (NaiveBayes(variance=["mle"]), ["variance", "['mle']"]),
    (NaiveBayes(families={"x9": "kernel"}), ["x9", "x0"]),
    (NaiveBayes(families={"x0": "beta"}), ["families['x0']", "beta"]),
    (NaiveBayes(families="kernel"), ["families", "kernel"]),
    (NaiveBayes(families={"x0": "bernoulli"}), ["x0", 2]),
    (NaiveBayes(states={"x0": [0, 1, 1, 2]}), ["states['x0']", "(0, 1, 1, 2)"]),
    (NaiveBayes(states={"x0": []}), ["states['x0']", "[]"]),
    (NaiveBayes(states={"x0": "012"}), ["states['x0']", "012"]),
    (NaiveBayes(states={"x0": 3}), ["states['x0']", 3]),
    (NaiveBayes(states={"x0": [[0], [1]]}), ["states['x0']", "[0]"]),
    (NaiveBayes(states={"x9": [0, 1]}), ["x9", "x0"]),
    (NaiveBayes(states={"x0": [0, 1]}), ["x0", 2]),
    (NaiveBayes(states=["x0"]), ["states", "['x0']"]),
    (NaiveBayes(categorical_features=[3]), ["categorical_features", 3]),
    (NaiveBayes(categorical_features=[-4]), ["categorical_features", -4]),
    (NaiveBayes(categorical_features=["nowhere"]), ["categorical_features", "nowhere"]),
    (NaiveBayes(categorical_features="nowhere"), ["categorical_features", "nowhere"]),
    (NaiveBayes(categorical_features=[True, False]), ["categorical_features", 2, 3]),
    (NaiveBayes(categorical_features=[0.5]), ["categorical_features", 0.5]),
    (NaiveBayes(categorical_features=3.5), ["categorical_features", 3.5]),
    (GaussianBayes("round"), ["covariance", "round"]),
    (GaussianBayes(variance="foo"), ["variance", "foo"]),
    (GaussianBayes(shrinkage=-0.1), ["shrinkage=-0.1"]),
    (GaussianBayes(shrinkage=1.5), ["shrinkage=1.5"]),
    (GaussianBayes(shrinkage=NAN), ["shrinkage=nan"]),
    (GaussianBayes(shrinkage="oas"), ["shrinkage='oas'"]),
    (GaussianBayes("diagonal", shrinkage=0.5), ["shrinkage", 'covariance="diagonal"']),
    (GaussianBayes(ridge=-0.1), ["ridge", -0.1]),
    (GaussianBayes(ridge=(0.1, NAN)), ["ridge", NAN]),
    (GaussianBayes(ridge=(0.1, 0.1, 0.1)), ["ridge", "(0.1, 0.1, 0.1)"]),
    (GaussianBayes(ridge="auto"), ["ridge", "auto"]),
    (GaussianBayes(imaginary_rows=1.0), ["imaginary_rows", 1.0]),
    (GaussianBayes(imaginary_rows=("auto", 1.0)), ["imaginary_rows", "auto"]),
    (GaussianBayes(imaginary_rows=(-1.0, 0.0)), ["imaginary_rows", -1.0]),
    (GaussianBayes(imaginary_rows=(0.0, INF)), ["imaginary_rows", INF]),
    (GaussianBayes("shared", imaginary_rows=(1.0, "auto")), ["imaginary_rows", "auto", "shared"]),
    (GaussianBayes(predictive="cauchy"), ["predictive", "cauchy"]),
    (GaussianBayes("diagonal", predictive="student"), ["predictive", "student", "full", "shared"]),
    (GaussianBayes("diagonal", ridge=0.5), ["ridge", 0.5, "full", "shared"]),
    (GaussianBayes(missing="state"), ["missing", "state"]),
    (GaussianBayes(clip=0.0), ["clip", 0.0]),
    (GaussianBayes(clip=INF), ["clip", INF]),
    (GaussianBayes(coding=()), ["coding", "x0"]),
    (GaussianBayes(coding=(True, (("number", "nowhere", 0.0, 1.0, 5.0),))), ["coding", "x0"]),
    (GaussianBayes("diagonal", missing="mean"), ["missing", "mean", "full"]),
    (GaussianNB(var_smoothing=-1.0), ["var_smoothing", -1.0]),
    (GaussianNB(var_smoothing=NAN), ["var_smoothing", NAN]),
    (GaussianNB(var_smoothing=INF), ["var_smoothing", INF]),
    (GaussianNB(var_smoothing="x"), ["var_smoothing", "x"]),
    (GaussianNB(var_smoothing=None), ["var_smoothing", None]),
    (GaussianNB(var_smoothing=[1e-9]), ["var_smoothing", "[1e-09]"]),
    (CategoricalNB(min_categories=-1), ["min_categories", -1]),
    (CategoricalNB(min_categories=2.5), ["min_categories", 2.5]),
    (CategoricalNB(min_categories="x"), ["min_categories", "x"]),
    (CategoricalNB(min_categories=2**40), ["min_categories", 2**40]),
    (CategoricalNB(min_categories=[3, 3]), ["min_categories", "(2,)", 3]),
    (CategoricalNB(min_categories=[[3, 3, 3]]), ["min_categories", "(1, 3)", 3]),
    (BernoulliNB(binarize="x"), ["binarize", "x"]),
    (BernoulliNB(binarize=NAN), ["binarize", NAN]),
    (BernoulliNB(binarize=None), [0, 6, "binarize=0"]),
]


# Documented: complement naive Bayes takes no heed of the prior, as in scikit-learn.
EXEMPT = {("c", "class_prior")}


def has(letter: str, parameter: str) -> bool:
    return parameter in BY_LETTER[letter]._get_param_names() and (letter, parameter) not in EXEMPT


def refused(model: Any, says: list[Any], X: Any = None, y: Any = None) -> None:
    """The model fits or answers nothing, and says why."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with refuses(BayeskitError, *says):
            model.fit(small_rows() if X is None else X, small_labels() if y is None else y).predict_proba(
                small_rows()
            )


@pytest.mark.parametrize(
    ("letter", "parameter", "value", "says"),
    [(letter, *each) for each in SHARED for letter in EVERY if has(letter, each[0])],
    ids=lambda v: BY_LETTER[v].__name__ if isinstance(v, str) and v in BY_LETTER else str(v)[:30],
)
def test_shared_parameters(letter: str, parameter: str, value: Any, says: list[Any]) -> None:
    if parameter == "alpha" and letter in "bmc" and value == [1.0, 1.0]:
        says = ["alpha", 2, 3]
    if (
        parameter == "smoothing" and letter == "F"
    ):  # one number, which a tree's leaf leans on the node above by
        says = ["smoothing", value]
    refused(BY_LETTER[letter](**{parameter: value}), says)


@pytest.mark.parametrize(("model", "says"), OWN, ids=lambda v: str(v).split(" at 0x")[0][:60])
def test_own_parameters(model: Any, says: list[Any]) -> None:
    refused(model, says)


@pytest.mark.parametrize(
    ("make", "named"),
    [(lambda: Lidstone(-1.0), ["alpha", -1.0]), (lambda: NormalInverseGamma(kappa=0.0), ["kappa", 0.0])],
)
def test_priors_refuse_when_made(make: Any, named: list[object]) -> None:
    with refuses(SettingError, *named):
        make()


def test_parameters_are_refused_before_a_fitted_model_is_lost() -> None:
    model = NaiveBayes().fit(small_rows(), small_labels())
    before = model.predict_proba(small_rows())
    refused(model.set_params(smoothing=-1.0), ["smoothing", -1.0])
    np.testing.assert_array_equal(model.set_params(smoothing=1.0).predict_proba(small_rows()), before)


def test_force_alpha_false_lifts_tiny_alpha_and_says_so() -> None:
    with warns_of(UserWarning, "alpha", 1e-10, "force_alpha=True"):
        MultinomialNB(alpha=0.0, force_alpha=False).fit(small_rows(), small_labels())
