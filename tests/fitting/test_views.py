"""Views: random cut points of numeric attributes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from bayeskit import AODE, AnDE, CountForest, LogLinearBayes, load
from bayeskit._fitting.choose_cuts import ViewKind, coarse_kinds, draw_cuts, draw_views, kinds_of
from bayeskit.errors import Incompatible, InfiniteValue, SettingError
from refusals import refuses

VALUES = st.lists(st.floats(allow_nan=False, width=32), min_size=1, max_size=60)


def drawn(values: list[float], kind: ViewKind, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    states, weight = np.unique(np.array(values) + 0.0, return_counts=True)
    return states, draw_cuts(states, weight, kind, np.random.default_rng(seed))


@given(VALUES, st.integers(2, 8), st.integers(0, 8), st.booleans(), st.integers(0, 9))
def test_cuts_ascend_lie_between_values_and_are_not_too_many(
    values: list[float], least: int, more: int, atoms: bool, seed: int
) -> None:
    states, cuts = drawn(values, ViewKind(least, least + more, atoms), seed)
    assert np.isfinite(cuts).all() and (np.diff(cuts) > 0).all()
    places = np.searchsorted(states, cuts, side="left")
    # Each cut parts two values: some lie at or below it, others above.
    assert ((states[0] <= cuts) & (cuts < states[-1])).all()
    intervals = np.searchsorted(cuts, states, side="left")
    assert len(np.unique(intervals)) == len(cuts) + 1, "an interval is empty"
    assert len(places) <= 2 * (least + more)


def test_a_frequent_value_has_an_interval_to_itself() -> None:
    values = [0.0] * 500 + list(np.linspace(-1, 1, 500))
    states, cuts = drawn(values, ViewKind(8, 12, True))
    alone = np.searchsorted(cuts, 0.0, side="left")
    inside = states[np.searchsorted(cuts, states, side="left") == alone]
    assert inside.tolist() == [0.0]


def test_few_values_have_an_interval_each() -> None:
    _, cuts = drawn([1.0, 2.0, 2.0, 5.0], ViewKind(4, 4, True))
    assert cuts.tolist() == [1.5, 3.5]


def test_cuts_are_near_quantiles() -> None:
    rng = np.random.default_rng(1)
    states, weight = np.unique(rng.random(20_000), return_counts=True)
    places = np.mean([draw_cuts(states, weight, ViewKind(4, 4, False), rng) for _ in range(400)], axis=0)
    np.testing.assert_allclose(places, [0.25, 0.5, 0.75], atol=0.02)


@pytest.mark.parametrize("n", [10, 2_000, 100_000])
def test_views_depend_on_values_alone(n: int) -> None:
    values = np.random.default_rng(0).normal(size=200)
    values[:20] = np.nan
    weights = np.ones(200)
    one = draw_views({"a": values, "b": values**3}, weights, kinds_of(n, 4), (3,))
    order = np.random.default_rng(1).permutation(200)
    other = draw_views({"q": (values**3)[order], "a": values[order]}, weights, kinds_of(n, 4), (3,))
    assert [view["a"] for view in one.cuts] == [view["a"] for view in other.cuts]
    assert [view["b"] for view in one.cuts] == [view["q"] for view in other.cuts]
    assert len(one) == 4 and len({view["a"] for view in one.cuts}) == 4
    assert draw_views({"a": values}, weights, kinds_of(n, 4), (4,)).cuts[0] != one.cuts[0]


def test_a_weight_of_two_is_the_row_twice() -> None:
    values = np.random.default_rng(0).normal(size=50)
    weights = np.arange(50) % 3 + 1.0
    kinds = coarse_kinds(100, 3)
    twice = draw_views(
        {"a": np.repeat(values, weights.astype(int))}, np.ones(int(weights.sum())), kinds, (0,)
    )
    assert draw_views({"a": values}, weights, kinds, (0,)) == twice


def test_infinite_values_have_finite_cuts() -> None:
    states, cuts = drawn([-np.inf, 0.0, np.inf, np.inf], ViewKind(3, 3, True))
    assert np.isfinite(cuts).all()
    assert np.searchsorted(cuts, states, side="left").tolist() == [0, 1, 2]


# -- models averaged over views --------------------------------------------------------------------


def table(n: int = 90, seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.choice(["u", "v", "w"], n)
    place = np.searchsorted(["u", "v", "w"], y)
    a, b = rng.normal(place, 1.0), rng.normal(-place, 2.0)
    a[rng.random(n) < 0.1] = np.nan
    word = np.where(rng.random(n) < 0.5, y, "other").astype(object)
    word[rng.random(n) < 0.1] = None
    return {"a": a, "word": word, "b": b}, y


MODELS = {
    "AODE": (AODE, {}),
    "AODE-state": (AODE, {"missing": "state"}),
    "AODE-smooth": (AODE, {"unseen": "smooth", "weights": "mutual-information"}),
    "AODE-weighed": (AODE, {"class_weight": {"u": 2.0, "v": 1.0, "w": 0.5}}),
    "A0DE": (AnDE, {"n": 0}),
    "A1DE": (AnDE, {"n": 1, "smoothing": "back-off"}),
    "A2DE": (AnDE, {"n": 2}),
}


@pytest.mark.parametrize("name", MODELS)
def test_one_view_is_the_model_of_its_cut_points(name: str) -> None:
    cls, settings = MODELS[name]
    X, y = table()
    one = cls(views=1, **settings).fit(X, y)
    cut = cls(cut_points=one.views_[0], **settings).fit(X, y)
    fresh, _ = table(20, seed=1)
    fresh["word"][0] = "never seen"
    np.testing.assert_allclose(one.predict_proba(fresh), cut.predict_proba(fresh), atol=1e-12)
    np.testing.assert_allclose(one.leave_one_out(X, y), cut.leave_one_out(X, y), atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_several_views_are_the_mean_of_their_logarithms(name: str) -> None:
    cls, settings = MODELS[name]
    X, y = table()
    model = cls(views=4, **settings).fit(X, y)
    if name == "A2DE":
        settings = {**settings, "max_memory": 2**29}
    logs = [cls(cut_points=cuts, **settings).fit(X, y).predict_log_proba(X) for cuts in model.views_]
    mean = np.mean(logs, axis=0)
    mean -= np.log(np.exp(mean).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_log_proba(X), mean, atol=1e-10)


def test_views_follow_batches_and_files(tmp_path: Path) -> None:
    X, y = table()
    model = AODE(views=3).fit(X, y)
    before = model.predict_proba(X)
    more, labels = table(30, seed=2)
    model.partial_fit(more, labels)
    assert np.abs(model.predict_proba(X) - before).max() > 1e-4
    model.save(tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").predict_proba(X), model.predict_proba(X))
    model.forget(more, labels)
    np.testing.assert_allclose(model.predict_proba(X), before, atol=1e-12)
    assert np.array_equal(AODE(views=3).lazy({**X, "y": y}, "y").predict_proba(X), before)
    assert model.explain({name: column[0] for name, column in X.items()}).form == "evidence"
    with pytest.raises(Incompatible):
        model.merge(AODE(views=3).fit(more, labels))


@pytest.mark.parametrize(
    "settings",
    [{"views": 0}, {"views": 2.5}, {"views": 2, "numeric": "gaussian"}, {"views": 2, "random_state": -1}],
)
def test_views_that_mean_nothing_are_refused(settings: dict[str, Any]) -> None:
    X, y = table(20)
    with pytest.raises(SettingError):
        AODE(**settings).fit(X, y)


@pytest.mark.parametrize("model", [AODE(views=2), AnDE(2, views=2), LogLinearBayes(views=2)], ids=repr)
def test_infinity_is_refused_when_predicting(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    model.fit(X, (X[:, 0] > 0).astype(int))
    X[3, 1] = np.inf
    with refuses(InfiniteValue, "x1", "inf", 3):
        model.predict_proba(X)


@pytest.mark.parametrize("model", [AODE(views=2), LogLinearBayes(views=2), CountForest(n_trees=2)], ids=repr)
def test_any_whole_number_is_a_seed(model):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    one, other = (clone(model).set_params(random_state=seed).fit(X, y) for seed in (2**70 + 1, 2**70 + 1))
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    if isinstance(model, LogLinearBayes):
        assert np.isfinite(one.out_of_fold(X, y)).all()
