"""Queries of networks with continuous nodes, by the same methods."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from bayeskit.errors import ColumnError, ImpossibleEvidence, InfiniteValue, SettingError, SuspectResult
from bayeskit.networks import GaussianMixturePosterior, LinearGaussian, Not
from query_networks import built, node
from refusals import refuses, warns_of

P = np.array([0.3, 0.7])
LICENCE = np.array([[0.0, 1.0], [0.6, 0.4]])
MEAN, VARIANCE = np.array([165.0, 178.0]), np.array([36.0, 49.0])


def people(weight_variance=25.0):
    """sex → height → weight, sex → licence (women always have one); city stands apart."""
    return built(
        node("weight", ["height"], LinearGaussian(-100.0, [1.0], weight_variance), float),
        node("sex", [], P, ("f", "m")),
        node("height", ["sex"], LinearGaussian(MEAN, np.zeros((2, 0)), VARIANCE), float),
        node("licence", ["sex"], LICENCE),
        node("city", [], [0.5, 0.5]),
    )


def by_hand(height=None, licence=None, weight=None):
    """P(sex, what is seen), written out."""
    joint = P.copy()
    if height is not None:
        joint = joint * norm.pdf(height, MEAN, np.sqrt(VARIANCE))
    if licence is not None:
        joint = joint * LICENCE[:, licence]
    if weight is not None:
        seen = height is not None
        joint = joint * (
            norm.pdf(weight, height - 100.0, 5.0)
            if seen
            else norm.pdf(weight, MEAN - 100.0, np.sqrt(VARIANCE + 25.0))
        )
    return joint


@pytest.mark.parametrize(
    "seen",
    [{}, {"height": 170.0}, {"weight": 80, "licence": 1}, {"height": 175.5, "weight": 71.0, "licence": 0}],
)
def test_discrete_answers_equal_bayes_rule(seen):
    asked, joint = people(), by_hand(**seen)
    evidence = {**seen, "licence": ("no", "yes")[seen["licence"]]} if "licence" in seen else seen
    assert np.allclose(asked.query("sex", evidence=evidence).values, joint / joint.sum(), rtol=1e-10)
    assert np.allclose(asked.posteriors(evidence)["sex"], joint / joint.sum(), rtol=1e-10)
    assert math.isclose(asked.log_probability(evidence), math.log(joint.sum()), rel_tol=1e-10, abs_tol=1e-12)
    best = asked.map("sex", evidence)
    assert best["sex"] == "fm"[int(joint.argmax())]
    assert math.isclose(best.log_probability, math.log(joint.max()), rel_tol=1e-10)
    assert {name: best[name] for name in evidence} == evidence


def test_continuous_answers_are_mixtures():
    found = people().posteriors({"licence": "no"}, soft={"city": [1, 3]})
    assert list(found) == ["weight", "sex", "height", "licence", "city"]
    assert np.allclose(found["city"], [0.25, 0.75]) and found["licence"].tolist() == [1, 0]
    height = found["height"]
    assert isinstance(height, GaussianMixturePosterior) and math.isclose(float(height.mean), 178.0)
    mixture = people().query("weight")
    assert math.isclose(float(mixture.mean), float(P @ MEAN) - 100.0, rel_tol=1e-12)
    assert people().query(["height", "weight"]).means.shape[1] == 2
    assert float(people().posteriors({"height": 3})["height"].variance) == 0.0


def test_soft_negative_and_impossible_evidence():
    asked = people()
    assert asked.query("sex", evidence={"sex": Not("f")}).values.tolist() == [0, 1]
    assert math.isclose(
        asked.log_probability(soft={"sex": [2, 4]}), math.log(2 * 0.3 + 4 * 0.7), rel_tol=1e-12
    )
    clash = {"height": 170.0, "sex": "f", "licence": "no"}
    assert asked.log_probability(clash) == -math.inf
    for ask in (
        asked.posteriors,
        asked.mpe,
        lambda e: asked.query("city", evidence=e),
        lambda e: asked.map("city", e),
    ):
        with pytest.raises(ImpossibleEvidence) as caught:
            ask(clash)
        assert caught.value.evidence == {"sex": "f", "licence": "no"}
    # A copy of the height that differs from it.
    with pytest.raises(ImpossibleEvidence) as caught:
        people(weight_variance=0.0).query("sex", evidence={"city": "no", "height": 170.0, "weight": 71.0})
    assert caught.value.evidence == {"height": 170.0, "weight": 71.0}


def test_most_probable_states_and_values():
    best = people().mpe({"licence": "no"})
    assert best == {"weight": 78.0, "sex": "m", "height": 178.0, "licence": "no", "city": "no"}
    peak = 0.7 * 0.6 * 0.5 * norm.pdf(0, 0, 7) * norm.pdf(0, 0, 5)
    assert math.isclose(best.log_probability, math.log(peak), rel_tol=1e-10)
    with refuses(SettingError, "height", "continuous"):
        people().map(["sex", "height"])
    with refuses(SettingError, "sex", "height", "discrete", "continuous"):
        people().query(["sex", "height"])


def test_rows_complete_in_the_blanket_or_not():
    asked = people()
    data = {
        "height": [170.0, None, 181.0, math.nan, 160.0],
        "weight": [None, 80.0, 71.0, None, 90.0],
        "licence": ["yes", "yes", None, None, "no"],
        "sex": ["m"] * 5,
    }
    expected = [
        by_hand(height=170.0, licence=1),
        by_hand(weight=80.0, licence=1),
        by_hand(height=181.0, weight=71.0),
        by_hand(),
        by_hand(height=160.0, licence=0),
    ]
    rows = [joint / joint.sum() for joint in expected]
    for table in (data, pd.DataFrame(data)):
        assert np.allclose(asked.predict_proba(table, "sex"), rows, rtol=1e-10)
    assert asked.predict(data, "sex").tolist() == ["fm"[int(r.argmax())] for r in rows]
    without = {name: column for name, column in data.items() if name != "sex"}
    joint = [e.copy() for e in expected]
    joint[4] = joint[4] * norm.pdf(90.0, 60.0, 5.0)
    logs = [math.log(e.sum()) for e in joint]
    assert np.allclose(asked.log_prob(without), logs, rtol=1e-10)
    complete = {"height": [170.0], "weight": [71.0], "licence": ["yes"], "sex": ["f"], "city": ["no"]}
    assert math.isclose(
        asked.log_prob(complete)[0], math.log(by_hand(170.0, 1, 71.0)[0] * 0.5), rel_tol=1e-12
    )


def test_hundreds_of_standard_deviations_away():
    found = people().predict_proba({"height": [165.0 + 6000.0], "licence": ["yes"]}, "sex")
    assert np.isfinite(found).all() and math.isclose(found.sum(), 1.0)
    assert np.allclose(found, [people().query("sex", evidence={"height": 6165.0, "licence": "yes"}).values])


def test_impossible_and_strange_rows():
    exact = built(
        node("sex", [], [0.5, 0.5], ("f", "m")),
        node("x", ["sex"], LinearGaussian([1.0, 2.0], np.zeros((2, 0)), [0.0, 0.0]), float),
    )
    with warns_of(SuspectResult, 1, 3, 2, 'impossible="error"'):
        found = exact.predict_proba({"x": [1.0, 2.0, 3.0]}, "sex")
    assert np.allclose(found, [[1, 0], [0, 1], [0.5, 0.5]])
    with refuses(InfiniteValue, "height", "inf", 0):
        people().predict_proba({"height": [math.inf]}, "sex")
    with refuses(SettingError, "height", "continuous"):
        people().predict_proba({"weight": [1.0]}, "height")
    with refuses(ColumnError, "columns", "names"):
        people().log_prob(np.zeros((2, 5), int))


def test_a_blanket_that_mixes_points_and_densities_is_left_to_elimination():
    asked = built(
        node("sex", [], [0.5, 0.5], ("f", "m")),
        node("x", ["sex"], LinearGaussian([1.0, 1.0], np.zeros((2, 0)), [0.0, 4.0]), float),
    )
    found = asked.predict_proba({"x": [1.0, 2.0]}, "sex")
    assert np.allclose(found, [asked.query("sex", evidence={"x": x}).values for x in (1.0, 2.0)])
