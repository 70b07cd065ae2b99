"""Watermelon data set 3.0: Zhou 2016, sec. 7.3, pp. 151-153 (the rows are table 4.3; 编号 is no attribute)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from by_hand import class_share, joint, share

from bayeskit import NaiveBayes, datasets

DATA = datasets.load_dataset("melon3")
COLUMNS = {name: DATA.columns[name].tolist() for name in DATA.attributes}
LABELS = DATA.y.tolist()
ONE = dict(zip(COLUMNS, ["青绿", "蜷缩", "浊响", "清晰", "凹陷", "硬滑", 0.697, 0.460], strict=True))
CRISP = {**ONE, "敲声": "清脆"}
DISCRETE = list(COLUMNS)[:6]
CLASSES = ("否", "是")


def one(query):
    return {name: [value] for name, value in query.items()}


def fit(alpha, variance):
    return NaiveBayes(smoothing=alpha, variance=variance).fit(COLUMNS, LABELS)


def exact(query, alpha, variance):
    return [joint(COLUMNS, LABELS, query, c, alpha=alpha, unbiased=variance == "unbiased") for c in CLASSES]


def test_the_rows():
    assert len(LABELS) == 17
    assert DISCRETE == ["色泽", "根蒂", "敲声", "纹理", "脐部", "触感"]
    assert list(COLUMNS)[6:] == ["密度", "含糖率"]


def test_the_discrete_factors():
    """Prior and six fractions. The product for 是 needs 5/8 for 蜷缩 and 5/8 for 凹陷."""
    printed = {
        "是": [(8, 17), (3, 8), (5, 8), (6, 8), (7, 8), (5, 8), (6, 8)],
        "否": [(9, 17), (3, 9), (3, 9), (4, 9), (2, 9), (2, 9), (6, 9)],
    }
    model = NaiveBayes(smoothing=0).fit({name: COLUMNS[name] for name in DISCRETE}, LABELS)
    query = {name: ONE[name] for name in DISCRETE}
    found = np.exp(model.predict_joint_log_proba(one(query)))[0]
    for label, product in (("是", Fraction(4725, 139264)), ("否", Fraction(32, 37179))):
        factors = [class_share(LABELS, label), *(share(COLUMNS, LABELS, n, ONE[n], label) for n in DISCRETE)]
        assert factors == [Fraction(*pair) for pair in printed[label]]
        assert np.prod(factors) == product
        np.testing.assert_allclose(found[CLASSES.index(label)], float(product), rtol=1e-14)


@pytest.mark.parametrize(
    ("alpha", "variance", "yes", "no", "posterior"),
    [
        (0, "unbiased", "0.052379", "6.8584e-05", 0.998692),
        (0, "mle", "0.044552", "4.3659e-05", 0.999021),
        (1, "unbiased", "0.025631", "7.7224e-05", 0.996996),
        (1, "mle", "0.021801", "4.9158e-05", 0.997750),
    ],
)
def test_the_answer(alpha, variance, yes, no, posterior):
    model, want = fit(alpha, variance), exact(ONE, alpha, variance)
    assert model.classes_.tolist() == list(CLASSES)
    found = np.exp(model.predict_joint_log_proba(one(ONE)))[0]
    np.testing.assert_allclose(found, want, rtol=1e-12)
    assert [f"{v:.5g}" for v in found] == [no, yes]
    proba = model.predict_proba(one(ONE))[0]
    np.testing.assert_allclose(proba, np.array(want) / sum(want), rtol=1e-12)
    assert round(proba[1].item(), 6) == posterior


def test_the_printed_answer_is_the_product_of_rounded_factors():
    """The book multiplies factors of three decimals: 0.052 and 6.80e-5, where the exact one is 6.86e-5."""
    assert round(0.471 * 0.375 * 0.625 * 0.750 * 0.875 * 0.625 * 0.750 * 1.959 * 0.788, 3) == 0.052
    assert f"{0.529 * 0.333 * 0.333 * 0.444 * 0.222 * 0.222 * 0.667 * 1.203 * 0.066:.2e}" == "6.80e-05"
    assert f"{exact(ONE, 0, 'unbiased')[0]:.2e}" == "6.86e-05"


def test_where_two_other_answers_come_from():
    """6/8 for 凹陷 gives the 0.063 of some copies, 3/8 for 蜷缩 besides it the 0.038 of others."""
    rest = 0.471 * 0.375 * 0.750 * 0.875 * 0.750 * 1.959 * 0.788
    assert round(rest * 0.625 * 0.750, 3) == 0.063
    assert round(rest * 0.375 * 0.750, 3) == 0.038


@pytest.mark.parametrize("variance", ["mle", "unbiased"])
def test_one_zero_rules_out_a_class(variance):
    """No 好瓜 sounds 清脆, so 0/8 makes the whole product 0 however good the melon looks."""
    model = fit(0, variance)
    assert share(COLUMNS, LABELS, "敲声", "清脆", "是") == 0
    assert model.table("敲声")["是", "清脆"] == 0
    joint_found = model.predict_joint_log_proba(one(CRISP))[0]
    assert joint_found[1] == -np.inf
    assert np.isfinite(joint_found[0])
    assert model.predict_proba(one(CRISP)).tolist() == [[1.0, 0.0]]
    assert model.predict(one(CRISP)).tolist() == ["否"]


@pytest.mark.parametrize(("variance", "posterior"), [("mle", 0.990619), ("unbiased", 0.987504)])
def test_laplace_lets_it_win(variance, posterior):
    model, want = fit(1, variance), exact(CRISP, 1, variance)
    for label, fraction in (("是", Fraction(1, 11)), ("否", Fraction(3, 12))):
        assert share(COLUMNS, LABELS, "敲声", "清脆", label, 1) == fraction
        assert model.table("敲声")[label, "清脆"] == pytest.approx(float(fraction), rel=1e-15)
    proba = model.predict_proba(one(CRISP))[0]
    np.testing.assert_allclose(proba, np.array(want) / sum(want), rtol=1e-12)
    assert round(proba[1].item(), 6) == posterior
    assert model.predict(one(CRISP)).tolist() == ["是"]


def test_the_smoothed_fractions_of_the_book():
    """eqs. 7.19-7.20: P(是) = 9/19, P(青绿 | 是) = 4/11, P(青绿 | 否) = 4/12."""
    model = fit(1, "mle")
    assert class_share(LABELS, "是", 1) == Fraction(9, 19)
    assert model.table("y")["是", "P"] == pytest.approx(9 / 19, rel=1e-15)
    assert model.table("色泽")["是", "青绿"] == pytest.approx(4 / 11, rel=1e-15)
    assert model.table("色泽")["否", "青绿"] == pytest.approx(4 / 12, rel=1e-15)
