"""P(class | row) of other software on 18 tables, reproduced under each one's convention (see README.md)."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayeskit import CategoricalNB, GaussianNB, NaiveBayes
from bayeskit.priors import BDeu

FILES = sorted((Path(__file__).parent / "posteriors").glob("*.json.gz"))
CATEGORICAL, GAUSSIAN = 1e-12, 1e-11

# Of e1071, scikit-learn and scikit-bayes: P(c) = n_c/N, whatever the smoothing of the attributes.
PLAIN = {"y": "mle"}
SETTINGS: dict[str, dict[str, Any]] = {
    "e1071_nb_l0": {"smoothing": {**PLAIN, "categorical": "mle"}, "variance": "unbiased"},
    "e1071_nb_l1": {"smoothing": {**PLAIN, "categorical": "laplace"}, "variance": "unbiased"},
    "bnclassify_nb_s1": {"smoothing": 1.0},
    "weka39_nb": {"smoothing": 1.0},
    "bnlearn_nb_iss1": {"smoothing": BDeu(1)},
    "bnlearn_nb_iss10": {"smoothing": BDeu(10)},
    "sklearn_cnb_a1": {"smoothing": {**PLAIN, "categorical": "laplace"}},
}


class Case:
    """One table, its first rows to be asked for, and what the peers answered."""

    def __init__(self, path: Path) -> None:
        found = json.loads(gzip.decompress(path.read_bytes()).decode("utf-8"))
        table = found["table"]
        self.y = np.array(table.pop(found["target"]), dtype=object)
        self.numeric = {name: np.array(table[name], dtype=np.float64) for name in found["numeric"]}
        self.categorical = {
            name: np.array(column, dtype=object) for name, column in table.items() if name not in self.numeric
        }
        self.X = {name: self.numeric.get(name, self.categorical.get(name)) for name in table}
        self.classes = found["classes"]
        self.models = found["models"]

    @property
    def tolerance(self) -> float:
        return GAUSSIAN if self.numeric else CATEGORICAL


@cache
def case(name: str) -> Case:
    return Case(next(path for path in FILES if path.name == f"{name}.json.gz"))


def first(columns: dict[str, Any], n: int) -> dict[str, Any]:
    return {name: column[:n] for name, column in columns.items()}


def answer(name: str, model: str) -> tuple[Case, np.ndarray, np.ndarray]:
    """Return the case, the peer's posteriors, and which of its rows obey its own formula."""
    golden = case(name).models[model]
    posterior = np.array(golden["proba"])
    usable = np.ones(len(posterior), dtype=bool)
    usable[golden["rows_off_plain_formula"]] = False
    return case(name), posterior, usable


def pairs(*models: str) -> list[tuple[str, str]]:
    names = [path.name.removesuffix(".json.gz") for path in FILES]
    return [(name, model) for name in names for model in case(name).models if model in models]


def softmax(joint: np.ndarray) -> np.ndarray:
    share = np.exp(joint - joint.max(axis=1, keepdims=True))
    return share / share.sum(axis=1, keepdims=True)


def test_everything_is_here():
    assert len(FILES) == 18
    assert len(pairs(*SETTINGS, "sklearn_gnb", "sklearn_gnb_vs0", "skbn_mixednb")) == sum(
        len(case(path.name.removesuffix(".json.gz")).models) for path in FILES
    )
    assert len(pairs("e1071_nb_l0")) == len(pairs("e1071_nb_l1")) == 18
    assert (
        len(pairs("bnclassify_nb_s1")) == len(pairs("bnlearn_nb_iss10")) == len(pairs("sklearn_cnb_a1")) == 9
    )
    assert len(pairs("weka39_nb")) == 11


@pytest.mark.parametrize(
    ("name", "model"), [p for p in pairs(*SETTINGS) if p[1] != "e1071_nb_l0" and p[0] != "glass"]
)
def test_smoothed(name, model):
    data, expected, usable = answer(name, model)
    fitted = NaiveBayes(**SETTINGS[model]).fit(data.X, data.y)
    assert fitted.classes_.tolist() == data.classes
    found = fitted.predict_proba(first(data.X, len(expected)))
    assert usable.sum() >= 0.98 * len(expected)
    np.testing.assert_allclose(found[usable], expected[usable], rtol=0, atol=data.tolerance)


@pytest.mark.parametrize(("name", "model"), [p for p in pairs("e1071_nb_l0") if p[0] != "glass"])
@pytest.mark.filterwarnings("ignore::bayeskit.errors.SuspectResult")
def test_without_smoothing(name, model):
    """e1071 puts 0.001 in place of a factor 0. Where there is none it must agree; where there is one, its
    rule over our tables must give its answer, and our own answer is that the class is impossible."""
    data, expected, usable = answer(name, model)
    n = len(expected)
    fitted = NaiveBayes(**SETTINGS[model]).fit(data.X, data.y)
    found = fitted.predict_proba(first(data.X, n))
    numbers = NaiveBayes(**SETTINGS[model]).fit(data.numeric, data.y) if data.numeric else None
    count = np.array([(data.y == c).sum() for c in data.classes])
    joint = (
        np.tile(np.log(count / count.sum()), (n, 1))
        if numbers is None
        else numbers.predict_joint_log_proba(first(data.numeric, n))
    )
    impossible = np.zeros((n, len(data.classes)), dtype=bool)
    for column, values in first(data.categorical, n).items():
        table = fitted.table(column)
        factors = np.array([[1.0 if v is None else table[c, v] for c in data.classes] for v in values])
        impossible |= factors == 0
        joint += np.log(np.where(factors == 0, 0.001, factors))
    zero = impossible.any(axis=1)
    plain, ruled = usable & ~zero, usable & zero
    np.testing.assert_allclose(found[plain], expected[plain], rtol=0, atol=data.tolerance)
    np.testing.assert_allclose(softmax(joint)[ruled], expected[ruled], rtol=0, atol=data.tolerance)
    some = impossible & ~impossible.all(axis=1, keepdims=True)
    assert (found[some] == 0).all()
    assert plain.sum() + ruled.sum() >= 0.98 * n


@pytest.mark.parametrize("model", ["e1071_nb_l0", "e1071_nb_l1"])
def test_glass_between_classes_that_vary(model):
    """e1071 has a standard deviation of 0.001 where an attribute is constant in a class; that is its own
    number, in its own units. The odds between classes without such an attribute do not depend on it."""
    data, expected, usable = answer("glass", model)
    constant = [[len(set(v[data.y == c])) == 1 for v in data.numeric.values()] for c in data.classes]
    vary = ~np.array(constant).any(axis=1)
    assert [c for c, v in zip(data.classes, vary, strict=True) if not v] == ["tableware"]
    found = NaiveBayes(**SETTINGS[model]).fit(data.X, data.y).predict_proba(first(data.X, len(expected)))
    found, expected = found[usable][:, vary], expected[usable][:, vary]
    assert len(expected) == 36
    found, expected = (p / p.sum(axis=1, keepdims=True) for p in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=0, atol=GAUSSIAN)


@pytest.mark.parametrize(("name", "model"), pairs("sklearn_cnb_a1"))
def test_categorical_nb(name, model):
    data, expected, _ = answer(name, model)
    codes = np.column_stack([np.unique(v, return_inverse=True)[1] for v in data.categorical.values()])
    found = CategoricalNB(alpha=1.0).fit(codes, data.y).predict_proba(codes[: len(expected)])
    np.testing.assert_allclose(found, expected, rtol=0, atol=CATEGORICAL)


@pytest.mark.parametrize(("name", "model"), pairs("sklearn_gnb", "sklearn_gnb_vs0"))
def test_gaussian_nb(name, model):
    data, expected, _ = answer(name, model)
    rows = np.column_stack(list(data.numeric.values()))
    share = 0.0 if model == "sklearn_gnb_vs0" else 1e-9
    found = GaussianNB(var_smoothing=share).fit(rows, data.y).predict_proba(rows[: len(expected)])
    np.testing.assert_allclose(found, expected, rtol=0, atol=GAUSSIAN)


@pytest.mark.parametrize(("name", "model"), pairs("skbn_mixednb"))
def test_mixed_nb(name, model):
    """scikit-bayes adds 1e-9 of the largest variance to every variance, as our GaussianNB does; the tables
    are NaiveBayes's. The attributes are independent given the class, so the two models multiply."""
    data, expected, _ = answer(name, model)
    n = len(expected)
    rows = np.column_stack(list(data.numeric.values()))
    joint = GaussianNB(var_smoothing=1e-9).fit(rows, data.y).predict_joint_log_proba(rows[:n])
    if data.categorical:
        settings = {"smoothing": {**PLAIN, "categorical": "laplace"}}
        tables = NaiveBayes(**settings).fit(data.categorical, data.y)
        prior = np.log([(data.y == c).mean() for c in data.classes])
        joint = joint + tables.predict_joint_log_proba(first(data.categorical, n)) - prior
    np.testing.assert_allclose(softmax(joint), expected, rtol=0, atol=GAUSSIAN)


def test_variance_by_name():
    """On iris 1/n and 1/(n - 1) differ by 7e-3: a test that could not tell them apart would be worth little."""
    data, expected, _ = answer("iris", "e1071_nb_l0")
    for variance, least, most in (("unbiased", 0.0, 1e-11), ("mle", 1e-3, 1e-2)):
        found = NaiveBayes(smoothing=PLAIN, variance=variance).fit(data.X, data.y).predict_proba(data.X)
        assert least <= np.abs(found - expected).max() <= most
