"""Eight melons: two categorical attributes and a density, by hand.

An exercise with the attributes of Zhou's watermelon tables; the estimates are Zhou 2016, sec. 7.3, eqs. 7.16-7.20.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from by_hand import class_share, density, joint, share

from bayeskit import NaiveBayes, datasets

COLUMNS = {
    "色泽": ["青绿", "浅白", "青绿", "青绿", "浅白", "浅白", "青绿", "浅白"],
    "纹理": ["清晰", "清晰", "模糊", "清晰", "模糊", "清晰", "模糊", "清晰"],
    "密度": [0.5, 0.3, 0.6, 0.4, 0.4, 0.5, 0.6, 0.3],
}
LABELS = ["是", "是", "否", "否", "是", "是", "否", "否"]
CLEAR = {"色泽": "青绿", "纹理": "清晰", "密度": 0.6}
BLURRED = {"色泽": "青绿", "纹理": "稍糊", "密度": 0.6}


def one(query):
    return {name: [value] for name, value in query.items()}


def fit(**settings):
    return NaiveBayes(**settings).fit(COLUMNS, LABELS)


def test_the_table_is_the_bundled_one():
    data = datasets.load_dataset("melon8")
    assert data.y.tolist() == LABELS
    assert {name: data.columns[name].tolist() for name in data.attributes} == COLUMNS


def test_the_fractions():
    model = fit(smoothing=0)
    # P(清晰 | 是) is 3/4; the 1/4 of a widely copied note gives 0.0245 for 是 instead of 0.0735.
    want = {("色泽", "青绿", "是"): (1, 4), ("色泽", "青绿", "否"): (3, 4)}
    want |= {("纹理", "清晰", "是"): (3, 4), ("纹理", "清晰", "否"): (2, 4)}
    for (name, value, label), fraction in want.items():
        assert share(COLUMNS, LABELS, name, value, label) == Fraction(*fraction)
        assert model.table(name)[label, value] == pytest.approx(float(Fraction(*fraction)), rel=1e-15)


@pytest.mark.parametrize(
    ("variance", "no", "yes", "posterior"),
    [("unbiased", 0.35239, 0.07350, 0.82741), ("mle", 0.36243, 0.04864, 0.88169)],
)
def test_a_clear_green_melon(variance, no, yes, posterior):
    model = fit(smoothing=0, variance=variance)
    assert model.classes_.tolist() == ["否", "是"]
    exact = [joint(COLUMNS, LABELS, CLEAR, label, unbiased=variance == "unbiased") for label in ("否", "是")]
    found = np.exp(model.predict_joint_log_proba(one(CLEAR)))[0]
    np.testing.assert_allclose(found, exact, rtol=1e-13)
    assert [round(v, 5) for v in found.tolist()] == [no, yes]
    proba = model.predict_proba(one(CLEAR))[0]
    np.testing.assert_allclose(proba, np.array(exact) / sum(exact), rtol=1e-13)
    assert round(proba[0].item(), 5) == posterior
    assert model.predict(one(CLEAR)).tolist() == ["否"]


def test_a_state_that_no_row_has():
    """稍糊 is declared, so it counts in N_i = 3: Laplace gives it 1/7 in 是 and in 否."""
    model = fit(states={"纹理": ["清晰", "稍糊", "模糊"]}, variance="unbiased")
    assert model.table("y")["是", "P"] == pytest.approx(5 / 10, rel=1e-15)
    assert class_share(LABELS, "是", 1) == Fraction(5, 10)
    assert model.table("纹理")["是", "稍糊"] == pytest.approx(1 / 7, rel=1e-15)
    assert share(COLUMNS, LABELS, "纹理", "稍糊", "是", 1, 3) == Fraction(1, 7)
    exact = [
        joint(COLUMNS, LABELS, BLURRED, label, alpha=1, unbiased=True, sizes={"纹理": 3})
        for label in ("否", "是")
    ]
    found = np.exp(model.predict_joint_log_proba(one(BLURRED)))[0]
    np.testing.assert_allclose(found, exact, rtol=1e-13)
    assert [round(v, 6) for v in found.tolist()] == [0.089496, 0.018667]


def test_the_same_state_undeclared():
    """Not declared, it is an unseen value: left out by default, or one more state by name."""
    seen = {"色泽": ["青绿"], "密度": [0.6], "纹理": [None]}
    ignored, missing = fit().predict_joint_log_proba(one(BLURRED)), fit().predict_joint_log_proba(seen)
    np.testing.assert_array_equal(ignored, missing)
    # α/(n_c + α(N_i + 1)) with N_i = 2: the same 1/7, the third state being the new one. Every table keeps
    # such a cell, so 青绿 has a share in 4 + 3 instead of 4 + 2.
    smoothed = fit(unseen="smooth").predict_joint_log_proba(one(BLURRED))
    np.testing.assert_allclose(np.exp(smoothed - ignored), [[1 / 7 * 6 / 7] * 2], rtol=1e-13)


def test_the_densities():
    yes = [v for v, c in zip(COLUMNS["密度"], LABELS, strict=True) if c == "是"]
    assert round(density(yes, 0.6, unbiased=True), 4) == 0.7840
    assert round(density(yes, 0.6, unbiased=False), 4) == 0.5188
