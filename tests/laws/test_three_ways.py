"""Table look-up, batches and lazy use, forgetting and merging: one object, the same answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from estimators import same_labels
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import (
    AODE,
    KDB,
    SPODE,
    TAN,
    AnDE,
    Batches,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianBayes,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
)
from bayeskit.errors import BayeskitError

STATES = np.array(["青绿", "乌黑", "浅白", None], dtype=object)
CODES = np.array([0.0, 1.0, 2.0, np.nan])


def mixed(rng: np.random.Generator, n: int) -> Any:
    """Two columns of labels and two of numbers, with holes."""
    X = np.empty((n, 4), dtype=object)
    X[:, 0], X[:, 1] = STATES[rng.integers(0, 4, n)], STATES[rng.integers(0, 3, n)]
    X[:, 2], X[:, 3] = rng.normal(5.0, 2.0, n), rng.integers(0, 4, n)
    X[rng.random(n) < 0.2, 2] = None
    return X


def numbers(rng: np.random.Generator, n: int) -> Any:
    X = rng.normal(3.0, 1.0, (n, 3)) + 1e3
    X[rng.random((n, 3)) < 0.2] = np.nan
    return X


def complete(rng: np.random.Generator, n: int) -> Any:
    return rng.normal(3.0, 1.0, (n, 3))


def nearly_singular(rng: np.random.Generator, n: int) -> Any:
    """Two columns that follow from each other but for a little: the covariance is ill-conditioned."""
    x = np.round(rng.normal(3.0, 1.0, (n, 3)), 2)
    x[:, 1] = 2.0 * x[:, 0] + 10.0 ** -rng.integers(3, 10) * x[:, 1]
    return x


def singular(rng: np.random.Generator, n: int) -> Any:
    x = np.round(rng.normal(3.0, 1.0, (n, 3)), 2)
    x[:, 1] = x[:, 0] + 1.0
    x[:, 2] = np.where(x[:, 2] > 3.0, 0.1, 0.3)
    return x


def codes(rng: np.random.Generator, n: int) -> Any:
    return CODES[rng.integers(0, 4, (n, 3))]


def words(rng: np.random.Generator, n: int) -> Any:
    return rng.poisson(0.8, (n, 4)).astype(float)


WAYS: dict[str, tuple[Callable[[], Any], Callable[..., Any]]] = {
    "NaiveBayes": (lambda: NaiveBayes(categorical_features=[0, 1]), mixed),
    "NaiveBayes-state": (
        lambda: NaiveBayes(missing="state", class_weight="balanced", categorical_features=[0, 1]),
        mixed,
    ),
    "NaiveBayes-student": (
        lambda: NaiveBayes(numeric="student", unseen="smooth", categorical_features=[0, 1]),
        mixed,
    ),
    "NaiveBayes-kernel": (lambda: NaiveBayes(numeric="kernel", categorical_features=[0, 1]), mixed),
    "NaiveBayes-poisson": (
        lambda: NaiveBayes(families={"x3": "poisson"}, categorical_features=[0, 1]),
        mixed,
    ),
    "GaussianNB": (GaussianNB, numbers),
    "GaussianBayes": (lambda: GaussianBayes("shared"), complete),
    "GaussianBayes-nearly-singular": (GaussianBayes, nearly_singular),
    "GaussianBayes-singular": (GaussianBayes, singular),
    "GaussianBayes-shared-singular": (lambda: GaussianBayes("shared", variance="unbiased"), nearly_singular),
    "GaussianBayes-ledoit-wolf": (lambda: GaussianBayes(shrinkage="ledoit-wolf"), nearly_singular),
    "GaussianBayes-student": (
        lambda: GaussianBayes(ridge=0.05, imaginary_rows=(1.0, "auto"), predictive="student"),
        nearly_singular,
    ),
    "CategoricalNB": (CategoricalNB, codes),
    "BernoulliNB": (BernoulliNB, words),
    "MultinomialNB": (MultinomialNB, words),
    "ComplementNB": (ComplementNB, words),
}
# What rows choose is held and would differ from batch to batch: here it is given.
HELD: dict[str, Any] = {"categorical_features": [0, 1], "cut_points": {"x2": [4.0, 6.0], "x3": [1.5]}}
WAYS |= {
    "TAN": (lambda: TAN(**HELD), mixed),
    "TAN-state": (lambda: TAN(missing="state", criterion="aic", smoothing="laplace", **HELD), mixed),
    "TAN-gaussian": (lambda: TAN(numeric="gaussian", categorical_features=[0, 1]), mixed),
    "SPODE": (lambda: SPODE(super_parent="x1", class_weight="balanced", **HELD), mixed),
    "AODE": (lambda: AODE(weights="mutual-information", **HELD), mixed),
    "AODE-gaussian": (lambda: AODE(numeric="gaussian", categorical_features=[0, 1]), mixed),
    "A2DE": (lambda: AnDE(n=2, unseen="smooth", **HELD), mixed),
    "KDB": (lambda: KDB(structure={"x1": ["x0"], "x2": ["x1", "x0"], "x3": ["x2"]}, **HELD), mixed),
}
SEMI_NAIVE = (TAN, SPODE, AODE, AnDE, KDB)
ways = pytest.mark.parametrize("way", list(WAYS))
# A grid stays as wide as the largest value ever seen made it: 2^-40 of that, also after forgetting.
AFTER_FORGETTING = {"NaiveBayes-kernel": 1e-9}


def same(model: Any, fresh: Any, X: Any, within: float = 1e-12) -> None:
    assert model.classes_.tolist() == fresh.classes_.tolist()
    assert model.schema_ == fresh.schema_  # also the order of the states
    np.testing.assert_allclose(model.predict_proba(X), fresh.predict_proba(X), rtol=0, atol=within)
    same_labels(model, fresh, X)


@ways
@settings(max_examples=15)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1), n=st.integers(4, 40), weighted=st.booleans())
def test_every_way_gives_the_same_model(
    way: str, data: st.DataObject, seed: int, n: int, weighted: bool
) -> None:
    make, draw = WAYS[way]
    rng = np.random.default_rng(seed)
    X, y = draw(rng, n), rng.integers(0, 3, n)
    w = rng.integers(1, 8, n) / 4 if weighted else np.ones(n)
    fresh = make().fit(X, y, w)

    cuts = sorted(data.draw(st.sets(st.integers(1, n - 1), max_size=4), label="cuts"))
    pieces = [(X[a:b], y[a:b], w[a:b]) for a, b in zip([0, *cuts], [*cuts, n], strict=True)]
    batched = make()
    for rows, labels, weights in pieces:
        batched.partial_fit(rows, labels, sample_weight=weights)
    same(batched, fresh, X)
    # Those that choose from rows read a source twice.
    same(make().fit(Batches(lambda: pieces) if isinstance(fresh, SEMI_NAIVE) else iter(pieces)), fresh, X)
    same(make().lazy(Batches(lambda: pieces), None), fresh, X)

    more, labels, weights = draw(rng, 7), rng.integers(0, 5, 7), rng.integers(1, 8, 7) / 4
    larger = make().fit(
        np.concatenate([more[:3], X, more[3:]]),
        np.concatenate([labels[:3], y, labels[3:]]),
        np.concatenate([weights[:3], w, weights[3:]]),
    )
    same(larger.forget(more, labels, weights), fresh, X, AFTER_FORGETTING.get(way, 1e-12))

    cut = cuts[0] if cuts else n // 2
    halves = [make().fit(X[part], y[part], w[part]) for part in (slice(0, cut), slice(cut, n))]
    same(halves[0] + halves[1], fresh, X)
    same(halves[1].merge(halves[0]), fresh, X)


@ways
def test_one_row_at_a_time(way: str) -> None:
    make, draw = WAYS[way]
    rng = np.random.default_rng(5)
    X, y = draw(rng, 25), rng.integers(0, 3, 25)
    model = make()
    for i in range(25):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    same(model, make().fit(X, y), X)
    for i in range(15, 25):
        model.forget(X[i : i + 1], y[i : i + 1])
    same(model, make().fit(X[:15], y[:15]), X, AFTER_FORGETTING.get(way, 1e-12))


def test_states_and_classes_come_and_go() -> None:
    first, second = ([["b", 1.0], ["a", 2.0]], ["no", "no"]), ([["c", 3.0], ["a", 0.0]], ["yes", "also"])
    model = NaiveBayes().partial_fit(*first)
    assert model.classes_.tolist() == ["no"]
    model.partial_fit(*second)
    assert model.classes_.tolist() == ["also", "no", "yes"]
    assert model.schema_["x0"].states == ("a", "b", "c")
    model.forget([["c", 3.0]], ["yes"])
    assert model.classes_.tolist() == ["also", "no"]
    assert model.schema_["x0"].states == ("a", "b")
    same(model.forget([["a", 0.0]], ["also"]), NaiveBayes().fit(*first), first[0])


def test_announced_classes_and_declared_states_stay() -> None:
    model = NaiveBayes(states={"x0": ["z", "a"]}).partial_fit([["a"], ["z"]], [1, 2], classes=[1, 2, 3])
    model.forget([["z"]], [2])
    assert model.classes_.tolist() == [1, 2, 3]
    assert model.schema_["x0"].states == ("z", "a")


def test_a_column_without_a_value_at_first_is_not_mistaken() -> None:
    rows, labels = [[None], [None], [1.5], [2.5]], [0, 1, 0, 1]
    model = NaiveBayes().partial_fit(rows[:2], labels[:2])
    refusal = None
    try:
        model.partial_fit(rows[2:], labels[2:])
    except BayeskitError as error:
        refusal = str(error)
    if refusal is None:
        same(model, NaiveBayes().fit(rows, labels), rows)
    else:
        assert "categorical" in refusal


def test_columns_of_any_kind_may_come_first_without_a_value() -> None:
    rows = [[None, None], ["a", 1.0], ["b", 2.0]]
    model = NaiveBayes(categorical_features=[0])
    for i, label in enumerate("uvu"):
        model.partial_fit(rows[i : i + 1], [label])
    same(model, NaiveBayes(categorical_features=[0]).fit(rows, list("uvu")), rows)


@ways
def test_fading_is_weighing_the_rows_before(way: str) -> None:
    make, draw = WAYS[way]
    rng = np.random.default_rng(6)
    X, y = draw(rng, 30), rng.integers(0, 3, 30)
    faded = make().fit(X[:20], y[:20]).fade(0.25).partial_fit(X[20:], y[20:])
    same(faded, make().fit(X, y, np.repeat([0.25, 1.0], [20, 10])), X)
