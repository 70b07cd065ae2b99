"""Parameters that mean nothing are refused by name, before or when they are needed."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from estimators import BY_LETTER, EVERY, SEMI_NAIVE, small_labels, small_rows

from bayeskit import BernoulliNB, CategoricalNB, GaussianBayes, GaussianNB, MultinomialNB, NaiveBayes
from bayeskit.errors import BayeskitError, SettingError
from bayeskit.priors import MAP, Dirichlet, Lidstone, NormalInverseGamma
from refusals import refuses, warns_of

NAN, INF = np.nan, np.inf

# What every estimator with the parameter must refuse: (parameter, value, what the message says).
SHARED: list[tuple[str, Any, str]] = [
    ("alpha", -1, "alpha is -1"),
    ("alpha", -1e-300, "alpha is -1e-300"),
    ("alpha", NAN, "alpha is nan"),
    ("alpha", INF, "alpha is inf"),
    ("alpha", "x", "alpha is 'x'"),
    ("alpha", None, "alpha is None"),
    ("alpha", [1.0, -1.0, 1.0], "alpha"),
    ("alpha", [1.0, 1.0], "alpha"),
    ("alpha", 1j, "alpha"),
    ("class_prior", [1.0], "[Pp]rior"),
    ("class_prior", [0.5, 0.3, 0.2], "[Pp]rior"),
    ("class_prior", [0.5, 0.6], "sum"),
    ("class_prior", [1.5, -0.5], "non-negative"),
    ("class_prior", [NAN, 1.0], "[Pp]rior"),
    ("class_prior", [[0.5, 0.5]], "[Pp]rior"),
    ("class_prior", ["a", "b"], "[Pp]rior"),
    ("class_prior", 0.5, "[Pp]rior"),
    ("class_prior", {0: 0.5, 2: 0.5}, "class_prior names"),
    ("class_prior", {0: 1.0}, "class_prior names"),
    ("priors", [1.0], "[Pp]rior"),
    ("priors", [0.5, 0.6], "sum"),
    ("priors", [1.5, -0.5], "non-negative"),
    ("class_weight", "unbalanced", "class_weight is 'unbalanced'"),
    ("class_weight", {0: -1.0}, "negative"),
    ("class_weight", {0: NAN}, "[Cc]lass weight"),
    ("class_weight", {0: INF}, "[Cc]lass weight"),
    ("class_weight", {0: "x"}, "[Cc]lass.weight"),
    ("class_weight", {0: 0.0, 1: 0.0}, "zero"),
    ("class_weight", {"nobody": 1.0}, "nobody"),
    ("class_weight", [1.0, 2.0], "class_weight is"),
    ("class_weight", 2.0, "class_weight is 2.0"),
    ("n_jobs", 0, "n_jobs is 0"),
    ("n_jobs", 1.5, "n_jobs is 1.5"),
    ("n_jobs", "all", "n_jobs is 'all'"),
]

# Those of one estimator: (estimator, what the message says).
OWN: list[tuple[Any, str]] = [
    (NaiveBayes(alpha=0.5, smoothing="laplace"), "smoothing= or alpha="),
    (NaiveBayes(smoothing="laplas"), "no prior named 'laplas'"),
    (NaiveBayes(smoothing={"x0": "laplas"}), "no prior named 'laplas'"),
    (NaiveBayes(smoothing=object()), "not a prior"),
    (NaiveBayes(smoothing={"numeric": 1.0}), "NormalInverseGamma"),
    (NaiveBayes(smoothing={"nowhere": 1.0}), "nowhere"),
    (NaiveBayes(smoothing=Dirichlet([1.0, 1.0]), categorical_features="all"), "2 numbers for 3 states"),
    (NaiveBayes(smoothing=Dirichlet({"x0": {9: 1.0}}), categorical_features="all"), "state 9"),
    (NaiveBayes(smoothing=MAP(Dirichlet(0.5)), categorical_features="all"), "a = 0.5"),
    (NaiveBayes(variance="foo"), "variance is 'foo'"),
    (NaiveBayes(numeric="normal"), "numeric is 'normal'"),
    (NaiveBayes(missing="drop"), "missing is 'drop'"),
    (NaiveBayes(unseen="raise"), "unseen is 'raise'"),
    (NaiveBayes(variance=["mle"]), "variance is"),
    (NaiveBayes(families={"x9": "kernel"}), "'x9'"),
    (NaiveBayes(families={"x0": "beta"}), "beta"),
    (NaiveBayes(families="kernel"), "families"),
    (NaiveBayes(families={"x0": "bernoulli"}), "no state 2"),
    (NaiveBayes(states={"x0": [0, 1, 1, 2]}), "twice"),
    (NaiveBayes(states={"x0": []}), "states"),
    (NaiveBayes(states={"x0": "012"}), "states"),
    (NaiveBayes(states={"x0": 3}), "states"),
    (NaiveBayes(states={"x0": [[0], [1]]}), "states"),
    (NaiveBayes(states={"x9": [0, 1]}), "'x9'"),
    (NaiveBayes(states={"x0": [0, 1]}), "no state 2"),
    (NaiveBayes(states=["x0"]), "states"),
    (NaiveBayes(categorical_features=[3]), "names 3"),
    (NaiveBayes(categorical_features=[-4]), "names -4"),
    (NaiveBayes(categorical_features=["nowhere"]), "nowhere"),
    (NaiveBayes(categorical_features="nowhere"), "nowhere"),
    (NaiveBayes(categorical_features=[True, False]), "mask"),
    (NaiveBayes(categorical_features=[0.5]), "0.5"),
    (NaiveBayes(categorical_features=3.5), "categorical_features"),
    (GaussianBayes("round"), "covariance is 'round'"),
    (GaussianBayes(variance="foo"), "variance is 'foo'"),
    (GaussianBayes(shrinkage=-0.1), "shrinkage"),
    (GaussianBayes(shrinkage=1.5), "shrinkage"),
    (GaussianBayes(shrinkage=NAN), "shrinkage"),
    (GaussianBayes(shrinkage="oas"), "shrinkage"),
    (GaussianBayes("diagonal", shrinkage=0.5), "shrinkage"),
    (GaussianNB(var_smoothing=-1.0), "var_smoothing"),
    (GaussianNB(var_smoothing=NAN), "var_smoothing"),
    (GaussianNB(var_smoothing=INF), "var_smoothing"),
    (GaussianNB(var_smoothing="x"), "var_smoothing"),
    (GaussianNB(var_smoothing=None), "var_smoothing"),
    (GaussianNB(var_smoothing=[1e-9]), "var_smoothing"),
    (CategoricalNB(min_categories=-1), "min_categories"),
    (CategoricalNB(min_categories=2.5), "min_categories"),
    (CategoricalNB(min_categories="x"), "min_categories"),
    (CategoricalNB(min_categories=2**40), "min_categories"),
    (CategoricalNB(min_categories=[3, 3]), "min_categories"),
    (CategoricalNB(min_categories=[[3, 3, 3]]), "min_categories"),
    (BernoulliNB(binarize="x"), "binarize"),
    (BernoulliNB(binarize=NAN), "binarize"),
    (BernoulliNB(binarize=None), "0 and 1|0 or 1|neither|binar"),
]


# Documented: complement naive Bayes takes no heed of the prior, as in scikit-learn; None is the default of
# NaiveBayes and its relatives.
EXEMPT = {("c", "class_prior"), *((letter, "alpha", "None") for letter in "N" + SEMI_NAIVE)}


def has(letter: str, parameter: str, value: Any) -> bool:
    exempt = (letter, parameter) in EXEMPT or (letter, parameter, str(value)) in EXEMPT
    return parameter in BY_LETTER[letter]._get_param_names() and not exempt


def refused(model: Any, says: str, X: Any = None, y: Any = None) -> None:
    """The model fits or answers nothing, and says why."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(BayeskitError) as refusal:
            model.fit(small_rows() if X is None else X, small_labels() if y is None else y).predict_proba(
                small_rows()
            )
    assert re.search(says, str(refusal.value)), str(refusal.value)


@pytest.mark.parametrize(
    ("letter", "parameter", "value", "says"),
    [(letter, *each) for each in SHARED for letter in EVERY if has(letter, *each[:2])],
    ids=lambda v: BY_LETTER[v].__name__ if isinstance(v, str) and v in BY_LETTER else str(v)[:30],
)
def test_shared_parameters(letter: str, parameter: str, value: Any, says: str) -> None:
    if parameter == "alpha" and letter in "bmc" and value == [1.0, 1.0]:
        says = "2 numbers for 3 columns"
    refused(BY_LETTER[letter](**{parameter: value}), says)


@pytest.mark.parametrize(("model", "says"), OWN, ids=lambda v: str(v).split(" at 0x")[0][:60])
def test_own_parameters(model: Any, says: str) -> None:
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
    refused(model.set_params(alpha=-1.0), "alpha is -1")
    np.testing.assert_array_equal(model.set_params(alpha=1.0).predict_proba(small_rows()), before)


def test_force_alpha_false_lifts_tiny_alpha_and_says_so() -> None:
    with warns_of(UserWarning, "alpha", 1e-10, "force_alpha=True"):
        MultinomialNB(alpha=0.0, force_alpha=False).fit(small_rows(), small_labels())
