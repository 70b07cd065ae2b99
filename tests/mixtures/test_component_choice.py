"""How many components: the table, the best of it, the picture."""

from __future__ import annotations

import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture as Peer

from bayeskit import GaussianMixture, LatentClass
from bayeskit._mixtures import component_choice
from bayeskit._mixtures.component_choice import candidate, choose
from bayeskit._report.mixture_report import component_chart
from bayeskit.errors import DataError, SettingError, SuspectResult
from bayeskit.mixtures import Candidate, ComponentChoice
from refusals import refuses, warns_of

TYPES = ["full", "tied", "diag", "spherical"]


def quiet(function, *arguments, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **more)


def three_clouds():
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal(c, 0.5, (60, 2)) for c in ((0, 0), (6, 0), (0, 6))])


def test_clouds_are_counted_and_the_table_is_scikit_learns():
    rows = three_clouds()
    made = GaussianMixture(
        range(1, 6), covariance_type=TYPES, n_init=3, tol=1e-6, max_iter=500, random_state=0
    )
    quiet(made.fit, rows)
    choice = made.choice_
    assert len(choice.candidates) == 20 and choice.criterion == "bic"
    assert (made.n_components_, made.covariance_type_) == (3, "spherical")
    assert choice.best.bic == min(c.bic for c in choice.candidates)
    assert made.bic(rows) == pytest.approx(choice.best.bic, rel=1e-9)
    assert made.history_[-1] == pytest.approx(choice.best.log_likelihood, rel=1e-9)
    for c in choice.candidates:
        if c.n_components in (1, 3):  # elsewhere the two may end in different optima
            peer = Peer(
                c.n_components,
                covariance_type=c.covariance_type,
                n_init=2,
                tol=1e-6,
                max_iter=500,
                random_state=1,
            )
            quiet(peer.fit, rows)
            assert c.n_parameters == peer._n_parameters()
            assert c.bic == pytest.approx(peer.bic(rows), rel=1e-4)
            assert c.aic == pytest.approx(peer.aic(rows), rel=1e-4)


def test_the_chosen_model_is_the_one_fitted_alone():
    rows = load_iris().data
    chosen = quiet(GaussianMixture([2, 3], covariance_type=["full", "diag"], random_state=3).fit, rows)
    alone = GaussianMixture(chosen.n_components_, covariance_type=chosen.covariance_type_, random_state=3)
    quiet(alone.fit, rows)
    assert (alone.means_ == chosen.means_).all()
    assert not hasattr(alone, "choice_")


@pytest.mark.parametrize(("word", "most"), [("bic", 9), ("aic", 9)])
def test_words_choose_from_one_to_nine(word, most):
    made = quiet(GaussianMixture(word, covariance_type="diag", random_state=0).fit, three_clouds())
    assert [c.n_components for c in made.choice_.candidates] == list(range(1, most + 1))
    assert made.choice_.criterion == word
    sound = [c for c in made.choice_.candidates if not c.collapsed]
    assert getattr(made.choice_.best, word) == min(getattr(c, word) for c in sound)
    if word == "bic":
        assert made.n_components_ == 3
    few = quiet(GaussianMixture(word, random_state=0).fit, three_clouds()[::45])
    assert [c.n_components for c in few.choice_.candidates] == [1, 2, 3, 4]


def test_hard_steps_are_judged_by_the_likelihood_of_the_rows():
    rows = three_clouds()
    made = quiet(GaussianMixture([2, 3], hard=True, random_state=0).fit, rows)
    assert made.choice_.best.log_likelihood == pytest.approx(made.score_samples(rows).sum(), rel=1e-10)
    assert made.choice_.best.log_likelihood > made.history_[-1]


def test_weights_count_as_rows():
    rows = three_clouds()
    made = quiet(GaussianMixture([1, 2], random_state=0).fit, rows, sample_weight=np.full(len(rows), 2.0))
    one = made.choice_.candidates[0]
    twice = Peer(1).fit(np.repeat(rows, 2, axis=0))
    assert one.bic == pytest.approx(twice.bic(np.repeat(rows, 2, axis=0)), rel=1e-9)


def test_a_candidate_that_fails_is_kept_in_the_table():
    def fit(k, kind, left):
        if k == 2:
            raise DataError("no luck <b>")
        return k, candidate(k, kind, -10.0 * k, k, 50.0, k != 3)

    best, choice = choose(fit, [1, 2, 3], ["full"], "bic")
    assert best == 1 and choice.best.n_components == 1
    assert choice.candidates[1].bic == np.inf and "no luck" in choice.candidates[1].failure
    assert "not converged" in str(choice) and "no luck" in str(choice)
    assert "<b>" not in choice._repr_html_() and "&lt;b&gt;" in choice._repr_html_()
    frame = choice.frame()
    assert frame.columns[0] == "n_components" and frame.shape == (3, 7)

    def never(k, kind, left):
        raise DataError("no luck")

    with refuses(DataError, "no luck"):
        choose(never, [1, 2], ["full"], "bic")


def test_time_and_interrupts_end_a_choice_with_the_best_so_far(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(component_choice.time, "monotonic", lambda: clock[0])

    def slow(k, kind, left):
        clock[0] += 3.0
        assert left == 5.0 - 3.0 * (k - 1)
        return k, candidate(k, kind, -10.0 / k, k, 50.0, True)

    with warns_of(SuspectResult, "time_limit", 5.0, 2, 9):
        best, choice = choose(slow, range(1, 10), ["full"], "aic", 5.0)
    assert best == choice.best.n_components and len(choice.candidates) == 2

    def interrupted(k, kind, left):
        return k, candidate(k, kind, -10.0, k, 50.0, False, "interrupt" if k == 2 else None)

    assert len(choose(interrupted, range(1, 10), ["full"], "bic")[1].candidates) == 2


def test_of_equals_the_smaller_model_is_the_best():
    same = [Candidate(k, "", -1.0, 9 - k, 5.0, 5.0, True) for k in (1, 2)]
    assert ComponentChoice(tuple(same), "bic").best.n_components == 2


def heaps():
    """Return a few values that many rows have: a component that sits on one of them has no bound."""
    return (
        np.repeat([0.1, 0.2, 0.3, 1.0, 1.3, 1.5], [9, 30, 12, 9, 14, 12])[:, None]
        + np.r_[np.zeros(80), 0.01 * np.arange(6)][:, None]
    )


def test_a_model_with_a_collapsed_component_is_not_the_best():
    made = quiet(GaussianMixture(range(1, 7), n_init=3, random_state=0).fit, heaps())
    fallen = [c for c in made.choice_.candidates if c.collapsed]
    # Left to the criterion alone, one of them would win.
    assert fallen and min(c.bic for c in fallen) < made.choice_.best.bic
    assert made.collapsed_ == () and not made.choice_.best.collapsed
    assert "collapsed" in str(made.choice_)
    assert f"lowest for {made.n_components_} component" in made.choice_.chart().scene.title
    mixed = LatentClass(range(1, 7), variance_floor=1e-9)
    quiet(mixed.fit, heaps())
    assert any(c.collapsed for c in mixed.choice_.candidates) and not mixed.choice_.best.collapsed
    # Where all have, one of them must do.
    flat = np.repeat([[0.0], [1.0]], 5, axis=0)
    assert quiet(GaussianMixture([2, 3], random_state=0).fit, flat).choice_.best.collapsed


def test_the_chart_is_a_sound_picture_that_stands_alone(tmp_path):
    made = quiet(GaussianMixture(range(1, 4), covariance_type=TYPES, random_state=0).fit, three_clouds())
    picture = made.choice_.chart()
    root = ElementTree.fromstring(str(picture))
    assert root.tag.endswith("svg") and f"lowest for {made.n_components_} components" in picture.scene.title
    text = str(picture)
    assert "href" not in text and "url(" not in text and "<script" not in text
    dots = [e for e in root.iter() if e.get("class", "").startswith("dot-")]
    assert len(dots) == 12
    assert all(0 <= float(e.get("x")) <= 440 and 0 <= float(e.get("y")) <= picture.scene.height for e in dots)
    # Lower on the picture is lower in the criterion: the best has the largest y.
    best = next(e for e in root.iter() if e.get("class") == "chart-ring")
    assert float(best.get("y")) + 8 == pytest.approx(max(float(e.get("y")) + 3.5 for e in dots), abs=0.11)
    assert picture.save(tmp_path / "a.svg").read_text(encoding="utf-8") == text
    pytest.importorskip("matplotlib")
    assert picture.save(tmp_path / "a.png").stat().st_size > 5000


def test_charts_of_odd_values():
    ElementTree.fromstring(
        str(component_chart([("<&>", 1, -1e9), ("<&>", 1000, 1e9), ("b", 3, np.inf)], "BIC"))
    )
    ElementTree.fromstring(str(component_chart([("", 1, 0.0)], "AIC")))
    ElementTree.fromstring(str(component_chart([(str(i), 1, 1e-8 * i) for i in range(12)], "AIC")))
    with refuses(SettingError, "BIC", "draw"):
        component_chart([("a", 1, np.inf)], "BIC")
