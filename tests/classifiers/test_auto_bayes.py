"""AutoBayes: the mixture is that of its members, and nothing is lost on the way through files and batches."""

from __future__ import annotations

import numpy as np
import pytest

from bayeskit import AODE, KDB, TAN, AutoBayes, SelectiveKDB, load
from bayeskit._data.columns import factorize_array
from bayeskit._data.frames import factorize_series
from bayeskit.datasets import load_dataset as table
from bayeskit.errors import Incompatible, SettingError, UsageError
from bayeskit.priors import MEstimate
from refusals import refuses


@pytest.fixture(scope="module")
def melons():
    data = table("melon3")
    return data.X, data.y


def members(X, y, weight=None):
    cuts = TAN().fit(X, y, sample_weight=weight).cut_points_
    root = next(iter(KDB(k=0, cut_points=cuts).fit(X, y, sample_weight=weight).structure_))
    alone = {
        "nb": KDB(k=0, smoothing=MEstimate(1), cut_points=cuts),
        "tan": TAN(cut_points=cuts, root=root),
        "aode": AODE(smoothing=MEstimate(1), cut_points=cuts),
        "kdb": KDB(cut_points=cuts),
        "skdb": SelectiveKDB(cut_points=cuts),
    }
    return {name: model.fit(X, y, sample_weight=weight) for name, model in alone.items()}


@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_weighted_mean_of_its_members(melons, weighted):
    X, y = melons
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    model = AutoBayes(calibration=None).fit(X, y, sample_weight=weight)
    alone = members(X, y, weight)
    assert sum(model.weights_.values()) == pytest.approx(1.0)
    for ask in ("predict_proba", "leave_one_out"):
        arguments = (X,) if ask == "predict_proba" else (X, y, weight)
        mean = sum(model.weights_[name] * getattr(m, ask)(*arguments) for name, m in alone.items())
        np.testing.assert_allclose(getattr(model, ask)(*arguments), mean, rtol=0, atol=1e-12)


@pytest.mark.parametrize("framed", [False, True])
def test_text_is_coded_once_however_often_a_fit_goes_over_it(framed, monkeypatch):
    code, coded = (factorize_series if framed else factorize_array), []

    def factorize(column, name):
        coded.append(name)
        return code(column, name)

    monkeypatch.setattr(f"bayeskit._data.table.{code.__name__}", factorize)
    data = table("melon3")
    words = {name: column for name, column in data.columns.items() if column.dtype.kind == "O"}
    rows = {**words, "good": data.y}
    AutoBayes().fit(pytest.importorskip("pandas").DataFrame(rows) if framed else rows, target="good")
    assert sorted(coded) == sorted(words)


def test_the_leaderboard_tells_what_each_member_does(melons):
    X, y = melons
    model = AutoBayes().fit(X, y)
    alone = members(X, y)
    assert [s.log_loss for s in model.leaderboard_] == sorted(s.log_loss for s in model.leaderboard_)
    for standing in model.leaderboard_:
        own = alone[standing.name]
        assert standing.weight == model.weights_[standing.name]
        assert standing.log_loss == pytest.approx(own.loo_score(X, y), rel=1e-9)
        assert standing.error == pytest.approx(own.loo_score(X, y, criterion="error"), rel=1e-9)
        assert standing.rmse == pytest.approx(own.loo_score(X, y, criterion="rmse"), rel=1e-9)


def test_weights_do_better_than_any_member_on_rows_left_out(melons):
    X, y = melons
    model = AutoBayes(calibration=None).fit(X, y)
    # One imaginary row a member costs a little; a single member is at best as good.
    assert model.loo_score(X, y) <= min(s.log_loss for s in model.leaderboard_) + 0.05


def test_a_temperature_is_held(melons):
    X, y = melons
    plain, warm = AutoBayes(calibration=None).fit(X, y), AutoBayes().fit(X, y)
    t = warm.held_["calibration"]["t"]
    raised = plain.predict_proba(X) ** (1.0 / t)
    np.testing.assert_allclose(warm.predict_proba(X), raised / raised.sum(axis=1, keepdims=True), atol=1e-12)


def test_batches_change_counts_and_keep_choices(melons, tmp_path):
    X, y = melons
    model = AutoBayes().fit(X, y)
    before, held = model.predict_proba(X), model.held_
    model.partial_fit(X.iloc[:4], y[:4])
    assert model.held_ == held
    assert np.abs(model.predict_proba(X) - before).max() > 1e-6
    model.forget(X.iloc[:4], y[:4])
    np.testing.assert_allclose(model.predict_proba(X), before, atol=1e-12)
    model.save(tmp_path / "pool.bayes")
    np.testing.assert_array_equal(load(tmp_path / "pool.bayes").predict_proba(X), model.predict_proba(X))
    other = AutoBayes().fit(X.iloc[2:], y[2:])
    with refuses(Incompatible, "structures", "kdb", "skdb"):
        model.merge(other)


def test_members_may_be_chosen(melons):
    X, y = melons
    only = AutoBayes(members=["aode"], calibration=None).fit(X, y)
    aode = AODE(smoothing=MEstimate(1)).fit(X, y)
    np.testing.assert_allclose(only.predict_proba(X), aode.predict_proba(X), atol=1e-12)
    assert only.weights_ == {"aode": 1.0}


@pytest.mark.parametrize("bad", [(), "nb", ["nb", "nb"], ["forest"], None])
def test_members_that_mean_nothing(bad, melons):
    with refuses(SettingError, "members"):
        AutoBayes(members=bad).fit(*melons)


def test_no_distribution_of_rows(melons):
    X, y = melons
    model = AutoBayes().fit(X, y)
    for ask in (lambda: model.log_evidence(X), lambda: model.sample(3)):
        with pytest.raises(UsageError):
            ask()


def test_numbers_as_gaussians(melons):
    X, y = melons
    model = AutoBayes(numeric="gaussian").fit(X, y)
    posterior = model.predict_proba(X)
    assert np.isfinite(posterior).all()
    assert model.score(X, y) > 0.8


def test_selective_kdb_tells_its_choice(melons):
    X, y = melons
    model = SelectiveKDB(max_k=2).fit(X, y)
    losses = model.losses_
    assert losses.shape == (3, len(X.columns) + 1)
    assert model.loo_score_ == losses.min() == losses[model.k_, len(model.attributes_)]
    assert set(model.structure_) == set(model.attributes_)
    assert all(len(parents) <= model.k_ for parents in model.structure_.values())
    assert {(e.parent, e.child) for e in model.arcs_} == {
        (p, child) for child, parents in model.structure_.items() for p in parents
    }


def test_selective_kdb_may_choose_nothing():
    X = [["a"], ["b"]] * 50
    y = ["no", "no", "yes", "yes"] * 25
    model = SelectiveKDB().fit(X, y)
    assert model.attributes_ == ()
    np.testing.assert_allclose(model.predict_proba([["a"], ["z"]]), 0.5, atol=1e-12)
