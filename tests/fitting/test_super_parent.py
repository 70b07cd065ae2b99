"""The choice of a super-parent: leave-one-out is as many refits, folds are folds, weight is repetition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayeskit import SPODE, Batches
from bayeskit._data.encoded import CHUNK_ROWS
from bayeskit._fitting.averaging import FOLDS
from bayeskit.priors import BackOff, MEstimate


def rows_of(n=30, seed=0, holes=0.1, numeric=False):
    rng = np.random.default_rng(seed)
    y = np.append([0, 1, 2], rng.integers(0, 3, n - 3))
    frame = pd.DataFrame({name: rng.choice(list("pqr"), n) for name in "abc"}, dtype=object)
    frame["c"] = np.where(rng.random(n) < 0.6, np.array(list("pqr"))[y], frame["c"]).astype(object)
    for name in "abc":
        frame.loc[rng.random(n) < holes, name] = None
    if numeric:
        frame["x"] = rng.normal(y, 1.0)
    return frame, y


def loss_of(posterior, y, classes, w=None):
    each = -np.log(posterior[np.arange(len(y)), np.searchsorted(classes, y)])
    return float(np.average(each, weights=w))


HOW = [
    {},
    {"smoothing": MEstimate(2)},
    {"smoothing": BackOff([1.0, 3.0])},
    {"smoothing": "witten-bell"},
    {"class_prior": "uniform"},
    {"missing": "state"},
    {"class_weight": {0: 3.0, 1: 0.5}},
    {"numeric": "gaussian"},
    {"numeric": "gaussian", "missing": "state"},
]


@pytest.mark.parametrize("how", HOW, ids=str)
def test_leave_one_out_is_as_many_refits(how):
    """Each candidate's loss is that of n models, each learned without one row and asked for it."""
    X, y = rows_of(numeric="numeric" in how)
    scores = SPODE(**how).fit(X, y).losses_
    assert list(scores) == ["a", "b", "c"]
    states = {name: ["p", "q", "r"] for name in "abc"}
    for name, found in scores.items():
        losses = []
        for i in range(len(y)):
            rest = np.arange(len(y)) != i
            # Declared states and classes stay when their only row is left out.
            model = SPODE(super_parent=name, states=states, **how)
            model.partial_fit(X[rest], y[rest], classes=[0, 1, 2])
            losses.append(loss_of(model.predict_proba(X[i : i + 1]), y[i : i + 1], model.classes_))
        assert found == pytest.approx(np.mean(losses), rel=1e-10), name


@pytest.mark.parametrize("how", HOW, ids=str)
def test_cross_validation_is_explicit_folds(how):
    """Row r is in fold r modulo 10."""
    X, y = rows_of(43, numeric="numeric" in how)
    scores = SPODE(select="cv", **how).fit(X, y).losses_
    states = {name: ["p", "q", "r"] for name in "abc"}
    fold = np.arange(43) % FOLDS
    for name, found in scores.items():
        total = 0.0
        for f in range(FOLDS):
            model = SPODE(super_parent=name, states=states, **how)
            model.partial_fit(X[fold != f], y[fold != f], classes=[0, 1, 2])
            mine = fold == f
            total += loss_of(model.predict_proba(X[mine]), y[mine], model.classes_) * mine.sum()
        assert found == pytest.approx(total / 43, rel=1e-10), name


@pytest.mark.parametrize("how", [{}, {"class_weight": {0: 3.0}}, {"smoothing": "witten-bell"}], ids=str)
def test_weight_is_repetition(how):
    X, y = rows_of()
    times = np.random.default_rng(4).integers(0, 4, len(y))
    times[:3] = 1
    weighted = SPODE(**how).fit(X, y, times).losses_
    again = np.repeat(np.arange(len(y)), times)
    repeated = SPODE(**how).fit(X.iloc[again], y[again]).losses_
    assert weighted == pytest.approx(repeated, rel=1e-12)


def test_a_row_of_little_weight_is_left_out_whole():
    """All weights 1/4: the model without a row, scored by it, as with weights of one and a quarter of the prior."""
    X, y = rows_of()
    quarter = SPODE(smoothing=MEstimate(0.5)).fit(X, y, np.full(len(y), 0.25)).losses_
    whole = SPODE(smoothing=MEstimate(2.0)).fit(X, y).losses_
    assert quarter == pytest.approx(whole, rel=1e-10)


def test_the_best_is_taken_and_of_equals_the_first_column():
    X, y = rows_of(200)
    model = SPODE().fit(X, y)
    assert model.super_parent_ == min(model.losses_, key=model.losses_.get)
    assert model.loo_score_ == min(model.losses_.values())
    twice = X.assign(d=X["c"])[["d", "a", "c", "b"]]
    copies = SPODE().fit(twice, y)
    assert copies.losses_["d"] == pytest.approx(copies.losses_["c"], rel=1e-12)
    assert copies.super_parent_ != "c"


def test_batches_and_blocks_are_the_rows_they_are_made_of():
    """Rows are scored in blocks, folds go on counting from batch to batch."""
    X, y = rows_of(9_000)
    parts = [(X[:17], y[:17]), (X[17:4_500], y[17:4_500]), (X[4_500:], y[4_500:])]
    for select in ("loo", "cv"):
        whole = SPODE(select=select).fit(X, y)
        batched = SPODE(select=select).fit(Batches(lambda: parts))
        assert batched.losses_ == pytest.approx(whole.losses_, rel=1e-12)
        assert batched.held_["super_parent"] == whole.held_["super_parent"]
    assert len(y) < CHUNK_ROWS


def test_an_impossible_class_costs_much_and_is_no_nan():
    """Relative frequencies: each row's own values were seen in no other row of its class."""
    X = pd.DataFrame({"a": list("pqrs") * 2, "b": list("ppqqrrss")})
    model = SPODE(smoothing="mle").fit(X, [0, 0, 0, 0, 1, 1, 1, 1])
    assert all(np.isfinite(loss) for loss in model.losses_.values())


def test_nothing_is_scored_where_the_choice_is_given():
    X, y = rows_of()
    model = SPODE(super_parent="b").fit(X, y)
    assert model.super_parent_ == "b"
    assert model.losses_ == {}
    assert model.structure_ == {"a": ("b",), "b": (), "c": ("b",)}
