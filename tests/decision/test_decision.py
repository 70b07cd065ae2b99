"""Bayes' rule, conditional risk, decisions and the Bayes risk."""

from __future__ import annotations

import contextlib
import doctest
import math
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bayeskit._decision.loss import distinct
from bayeskit.decision import bayes_risk, bayes_rule, conditional_risk, decide
from bayeskit.errors import BayeskitError, ColumnError, DataError, DataTypeError, SettingError, UnseenClass
from refusals import refuses

PRIOR = {"spam": 0.7, "ham": 0.3}
MAIL = {"delete": {"spam": 0, "ham": 20}, "keep": {"spam": 1, "ham": 0}}
DOCS = Path(__file__).parents[2] / "docs"

costs = st.floats(-100, 100).map(lambda x: round(x, 6))


@st.composite
def posteriors(draw, most_rows=6):
    n, k = draw(st.integers(1, most_rows)), draw(st.integers(1, 5))
    weights = draw(arrays(np.float64, (n, k), elements=st.floats(0.001, 1)))
    return weights / weights.sum(axis=1, keepdims=True)


@st.composite
def problems(draw):
    posterior = draw(posteriors())
    loss = draw(arrays(np.float64, (draw(st.integers(1, 5)), posterior.shape[1]), elements=costs))
    return posterior, loss


def slow_risks(posterior, loss):
    """The definition, in exact arithmetic."""
    return [
        [
            sum(Fraction(cost) * Fraction(p) for cost, p in zip(action, row, strict=True))
            for action in loss.tolist()
        ]
        for row in posterior.tolist()
    ]


def clear(posterior, loss):
    """Leave out problems whose two best actions are nearly equal: there rounding may choose."""
    for row in slow_risks(posterior, loss):
        first, *rest = sorted(row)
        assume(not rest or rest[0] - first > 1e-7)


# Worked: the letter that says "free".


def test_spam_by_hand():
    mail = bayes_rule(PRIOR, {"ham": 0.01, "spam": 0.9})
    assert mail.evidence == pytest.approx(0.633, abs=1e-15)
    assert mail["spam"] == pytest.approx(210 / 211, abs=1e-15)
    assert mail.names == ("spam", "ham")
    np.testing.assert_allclose(np.asarray(mail), [210 / 211, 1 / 211], atol=1e-15)


def test_spam_without_the_word():
    mail = bayes_rule([0.7, 0.3], [0.1, 0.99])
    assert mail.evidence == pytest.approx(0.367, abs=1e-15)
    assert mail[0] == pytest.approx(0.07 / 0.367, abs=1e-15)
    assert mail.names is None


@pytest.mark.parametrize(
    "likelihood",
    [
        {"ham": [0.01, 0.99], "spam": [0.9, 0.1]},
        pd.DataFrame({"ham": [0.01, 0.99], "spam": [0.9, 0.1]}),
        pl.DataFrame({"ham": [0.01, 0.99], "spam": [0.9, 0.1]}),
        pa.table({"ham": [0.01, 0.99], "spam": [0.9, 0.1]}),
        np.array([[0.9, 0.01], [0.1, 0.99]]),
        pd.DataFrame([[0.9, 0.01], [0.1, 0.99]]),
    ],
    ids=["mapping", "pandas", "polars", "arrow", "array", "pandas without names"],
)
@pytest.mark.parametrize("prior", [PRIOR, pd.Series(PRIOR)], ids=["mapping", "series"])
def test_many_rows_in_any_container(prior, likelihood):
    mail = bayes_rule(prior, likelihood)
    assert mail.shape == (2, 2)
    assert mail.names == ("spam", "ham")
    np.testing.assert_allclose(mail.evidence, [0.633, 0.367], atol=1e-15)
    np.testing.assert_allclose(mail["spam"], [210 / 211, 0.07 / 0.367], atol=1e-15)
    np.testing.assert_allclose(list(mail), [mail[0], mail[1]])


def test_densities_too_small_to_multiply():
    tiny = bayes_rule([0.5, 0.5], [1.5e-323, 5e-324])  # 3 and 1 times the smallest double
    np.testing.assert_allclose(tiny, [0.75, 0.25], rtol=1e-15)


@given(posteriors(most_rows=1), st.data())
def test_the_rule_is_joint_over_total(prior, data):
    likelihood = data.draw(arrays(np.float64, (3, prior.shape[1]), elements=st.floats(1e-3, 1e3)))
    found = bayes_rule(prior[0], likelihood)
    for row, posterior, evidence in zip(likelihood, found, found.evidence, strict=True):
        joint = [Fraction(p) * Fraction(f) for p, f in zip(prior[0].tolist(), row.tolist(), strict=True)]
        assert evidence == pytest.approx(float(sum(joint)), rel=1e-12)
        np.testing.assert_allclose(posterior, [float(j / sum(joint)) for j in joint], rtol=1e-12)


@pytest.mark.parametrize(
    ("prior", "likelihood", "error", "says"),
    [
        ([0.7, 0.5], [1, 1], DataError, ["prior", 1.2, 1]),
        ([0.7, 0.3 + 1e-8], [1, 1], DataError, ["prior", 1]),
        ([1.2, -0.2], [1, 1], DataError, ["prior", 1, -0.2]),
        ([0.5, math.nan], [1, 1], DataError, ["prior", 1, "nan"]),
        ([0.5, 0.5], [[1, 1], [1, -1]], DataError, ["likelihood", 1, -1.0]),
        ([0.5, 0.5], [math.nan, 1], DataError, ["likelihood", 0, "nan"]),
        ([0.5, 0.5], [[1, 1], [0, 0]], DataError, [1, "evidence", 0]),
        ([1, 0], [[1, 1], [1, 1], [0, 9]], DataError, [2, "evidence", 0]),
        ([0.5, 0.5], [1, 1, 1], DataError, ["(2,)", "likelihood", "(3,)"]),
        (PRIOR, {"spam": 1, "hamm": 1}, ColumnError, ["['ham']", "['hamm']"]),
        (PRIOR, {"spam": [1, 1], "ham": [1]}, DataError, ["likelihood", "(1,)", "(2,)"]),
        (["a", "b"], [1, 1], DataTypeError, ["prior", "<U1"]),
        (PRIOR, pl.LazyFrame({"spam": [1.0], "ham": [1.0]}), DataTypeError, ["likelihood", "LazyFrame"]),
        (pd.Series([0.5, 0.5], index=["a", "a"]), [1, 1], ColumnError, ["prior", "a"]),
    ],
)
def test_bayes_rule_refuses(prior, likelihood, error, says):
    with refuses(error, *says):
        bayes_rule(prior, likelihood)


def test_unknown_name():
    with refuses(UnseenClass, "posterior", "eggs"):
        bayes_rule(PRIOR, [1, 1])["eggs"]
    with refuses(UnseenClass, "posterior", "eggs", *PRIOR):
        bayes_rule(PRIOR, dict.fromkeys(PRIOR, 1))["eggs"]
    with refuses(UnseenClass, "posterior", "eggs"):
        bayes_rule([0.5, 0.5], [1, 1])["eggs"]


def test_the_name_that_comes_twice_is_told():
    with refuses(ColumnError, "prior", "spam"):
        distinct(["ham", "spam", "eggs", "spam"], "prior")


# Conditional risk.


@given(problems())
def test_conditional_risk_equals_the_definition(problem):
    posterior, loss = problem
    slow = np.array(slow_risks(posterior, loss), dtype=np.float64)
    np.testing.assert_allclose(conditional_risk(posterior, loss), slow, atol=1e-12, rtol=1e-12)
    np.testing.assert_allclose(conditional_risk(posterior[0], loss), slow[0], atol=1e-12, rtol=1e-12)


@given(posteriors())
def test_zero_one_risk_equals_its_matrix(posterior):
    matrix = 1.0 - np.eye(posterior.shape[1])
    np.testing.assert_allclose(conditional_risk(posterior), posterior @ matrix, atol=1e-15)


def test_a_small_risk_keeps_its_digits():
    assert conditional_risk([1.0, 1e-20])[0] == 1e-20


@pytest.mark.parametrize(
    "loss",
    [
        MAIL,
        {"delete": {"ham": 20, "spam": 0}, "keep": {"spam": 1, "ham": 0}},
        pd.DataFrame({"ham": [20, 0], "spam": [0, 1]}, index=["delete", "keep"]),
        pd.DataFrame({"do": ["delete", "keep"], "ham": [20, 0], "spam": [0, 1]}),
        pl.DataFrame({"do": ["delete", "keep"], "ham": [20, 0], "spam": [0, 1]}),
        pa.table({"do": ["delete", "keep"], "spam": [0, 1], "ham": [20, 0]}),
    ],
    ids=["mapping", "mapping, another order", "pandas index", "pandas column", "polars", "arrow"],
)
def test_losses_by_name(loss):
    posterior = bayes_rule(PRIOR, {"spam": [0.9, 0.1], "ham": [0.01, 0.99]})
    decision = decide(posterior, loss)
    assert decision.names == ("delete", "keep")
    p = posterior["spam"]
    np.testing.assert_allclose(decision.risks, np.column_stack([20 * (1 - p), p]), rtol=1e-12)
    assert list(decision) == ["delete", "keep"]


def test_rows_of_a_square_loss_move_with_its_columns():
    loss = pd.DataFrame([[0, 5], [1, 0]], columns=["ham", "spam"])  # saying ham of spam costs 5
    decision = decide({"spam": 0.4, "ham": 0.6}, loss)
    assert decision.names == ("spam", "ham")
    np.testing.assert_allclose(decision.risks, [0.6, 2.0])
    assert decision.actions == "spam"
    assert decide([0.6, 0.4], loss).actions == "spam"  # a posterior without names takes the loss's


def test_integer_classes_named_by_text():
    loss = pl.DataFrame({"1": [5.0, 0.0], "0": [0.0, 1.0]})
    posterior = pd.DataFrame([[0.3, 0.7]], columns=pd.Index([0, 1]))
    np.testing.assert_allclose(conditional_risk(posterior, loss), [[0.3, 3.5]])


@pytest.mark.parametrize(
    ("loss", "error", "says"),
    [
        ([[0, 1, 1], [1, 0, 1]], DataError, ["(2, 3)", 2, "posterior"]),
        ([0, 1], DataError, ["shape", "(2,)"]),
        ([[0, math.inf], [1, 0]], DataError, ["loss[0, 1]", "inf"]),
        ([[0, 1], [math.nan, 0]], DataError, ["loss[1, 0]", "nan"]),
        ({"delete": {"spam": 0}}, DataError, ["shape", "(1, 1)"]),
        ({"delete": {"spam": 0, "eggs": 1}}, ColumnError, ["['ham']", "['eggs']"]),
        ({"a": {"spam": 0, "ham": 1}, "b": {"spam": 1}}, ColumnError, ["loss['b']", "['ham']"]),
        ({"delete": 1, "keep": 2}, DataTypeError, ["loss", "keep", '{"spam": 1, "ham": 0}']),
        (pd.DataFrame({"do": ["a", "b"]}), ColumnError, ["loss", "column"]),
        (pd.DataFrame([[0, 1], [1, 0]], columns=["spam", "spam"]), ColumnError, ["loss", "spam"]),
    ],
)
def test_losses_refused(loss, error, says):
    with refuses(error, *says):
        decide({"spam": 0.5, "ham": 0.5}, loss)


@pytest.mark.parametrize(
    ("posterior", "says"),
    [
        ([[0.5, 0.5], [0.5, 0.5 + 3e-6]], ["posterior", 1, 1.000003]),
        ([[0.5, math.nan]], [0, 1, "nan"]),
        ([[1.5, -0.5]], [0, 1, -0.5]),
        ([math.inf, 0], [0, "inf"]),
        (np.ones((2, 2, 2)) / 2, ["posterior", "(2, 2, 2)"]),
        (0.5, ["posterior", "()"]),
        ([], ["posterior", "(0,)"]),
    ],
)
@pytest.mark.parametrize("use", [decide, conditional_risk, bayes_risk])
def test_posteriors_refused(use, posterior, says):
    with refuses(DataError, *says):
        use(posterior)


def test_rounded_posteriors_are_taken():
    decide([0.5, 0.5 + 9e-7])
    raw = np.random.default_rng(0).random((200, 3000), dtype=np.float32)
    short = raw / np.cumsum(raw, axis=1)[:, -1:]  # summed one by one, as many a softmax is
    assert np.abs(short.astype(np.float64).sum(axis=1) - 1).max() > 1e-6
    decide(short)
    with refuses(DataError, "posterior", 0, 1):
        decide(short.astype(np.float64))


# Decisions.


@pytest.mark.parametrize(
    ("p", "first", "action"),
    [
        (20 / 21, "delete", "delete"),
        (20 / 21, "keep", "keep"),
        (20 / 21 + 1e-9, "keep", "delete"),
        (20 / 21 - 1e-9, "delete", "keep"),
    ],
)
def test_the_letter_is_deleted_from_20_in_21_on(p, first, action):
    order = ["delete", "keep"] if first == "delete" else ["keep", "delete"]
    posterior = {"spam": p, "ham": 1 - p}
    assert decide(posterior, {name: MAIL[name] for name in order}).actions == action
    assert decide(posterior, MAIL, actions=order).actions == action


@pytest.mark.parametrize(("p", "action"), [(20 / 21 + 1e-9, "delete"), (20 / 21 - 1e-9, "keep")])
def test_a_large_common_cost_does_not_drown_the_difference(p, action):
    common = np.array([[1e9, 1e9 + 20], [1e9 + 1, 1e9]])
    for order in ([0, 1], [1, 0]):
        names = np.array(["delete", "keep"])[order]
        assert decide([p, 1 - p], common[order], actions=names).actions == action


@pytest.mark.parametrize("common", [1e12, -1e12])
def test_a_large_cost_of_a_class_makes_no_tie(common):
    """What every action costs in the first class says nothing about how close the actions are."""
    assert decide([[1 - 1e-3, 1e-3]], [[common, 1.0], [common, 0.0]]).actions.tolist() == [1]


def test_one_posterior_gives_scalars():
    decision = decide(bayes_rule(PRIOR, {"spam": 0.9, "ham": 0.01}), MAIL)
    assert (decision.actions, decision.rejected, decision.indices) == ("delete", False, 0)
    assert decision.risk == pytest.approx(20 / 211)
    assert np.asarray(decision).shape == ()


def test_chow():
    posterior = [[0.9, 0.1], [0.8, 0.2], [0.79, 0.21], [0.3, 0.7]]
    decision = decide(posterior, reject=0.2)
    assert decision.rejected.tolist() == [False, False, True, True]  # equal is decided
    assert decision.actions.tolist() == [0, 0, "reject", "reject"]
    assert decision.indices.tolist() == [0, 0, -1, -1]
    np.testing.assert_allclose(decision.risk, [0.1, 0.2, 0.2, 0.2])
    np.testing.assert_allclose(decision.risks[2], [0.21, 0.79])
    assert 0.1 + 0.2 > 0.3
    assert not decide([0.7, 0.1, 0.2], reject=0.3).rejected  # equal on paper, though not in floats
    assert decide(posterior, reject=0.2, actions=["a", "b", "ask"])[2] == "ask"
    assert np.asarray(decide(posterior, reject=0.2, actions=["a", "b"])).tolist() == [
        "a",
        "a",
        "reject",
        "reject",
    ]


def test_the_type_of_the_actions_does_not_depend_on_the_rows():
    sure, unsure = [[1.0, 0.0]], [[0.5, 0.5]]
    for names in (None, ["a", "b"]):
        kinds = {np.asarray(decide(p, reject=0.1, actions=names)).dtype for p in (sure, unsure)}
        assert len(kinds) == 1
    assert np.asarray(decide(sure)).dtype.kind == "i"
    assert len(decide(np.empty((0, 2)))) == 0


def test_an_order_of_the_classes_is_no_new_name():
    posterior = {"spam": 0.9, "ham": 0.1}
    assert decide(posterior, actions=["ham", "spam"]).actions == "spam"
    assert decide(posterior, actions=["keep", "delete"]).actions == "keep"  # new names, by position


def test_actions_need_not_match_classes_in_number():
    decision = decide([[0.5, 0.5]], [[0, 9], [9, 0], [1, 1]], actions=["left", "right", "wait"])
    assert decision.actions.tolist() == ["wait"]
    assert decide([[0.5, 0.5]], [[0, 9], [9, 0], [1, 1]]).actions.tolist() == [2]


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"actions": ["a"]}, ["actions", "['a']", 2]),
        ({"actions": ["a", "b", "ask"]}, ["actions", "['a', 'b', 'ask']", 2]),
        ({"actions": "ab"}, ["actions", "['ab']", 2]),
        ({"loss": MAIL, "actions": ["a", "b"]}, ["actions", "['a', 'b']", 2]),
        ({"reject": math.nan}, ["reject", "nan"]),
        ({"reject": -math.inf}, ["reject", "-inf"]),
        ({"reject": "0.1"}, ["reject", "0.1"]),
        ({"reject": True}, ["reject", True]),
        ({"reject": 0.1, "actions": ["reject", "b"]}, ["'reject'", "actions"]),
    ],
)
def test_settings_refused(setting, says):
    with refuses(SettingError, *says):
        decide([0.5, 0.5], **setting)


def test_arrays_without_a_copy():
    decision = decide([[0.9, 0.1]])
    assert np.asarray(decision) is decision.actions
    assert np.array(decision) is not decision.actions
    assert np.asarray(decision, dtype=np.float64).tolist() == [0.0]


@given(posteriors())
def test_zero_one_loss_takes_the_largest_posterior(posterior):
    decision = decide(posterior)
    chosen = np.take_along_axis(posterior, decision.indices[:, None], axis=1)[:, 0]
    np.testing.assert_allclose(chosen, posterior.max(axis=1), atol=1e-11)
    np.testing.assert_allclose(decision.risk, 1 - posterior.max(axis=1), atol=1e-11)


@given(problems())
def test_decision_equals_the_exact_one(problem):
    posterior, loss = problem
    clear(posterior, loss)
    exact = [min(range(len(row)), key=row.__getitem__) for row in slow_risks(posterior, loss)]
    assert decide(posterior, loss).indices.tolist() == exact


@given(problems(), st.data())
def test_a_cost_common_to_all_actions_changes_nothing(problem, data):
    posterior, loss = problem
    clear(posterior, loss)
    shift = data.draw(arrays(np.float64, posterior.shape[1], elements=st.floats(-1e6, 1e6)))
    assert decide(posterior, loss + shift).indices.tolist() == decide(posterior, loss).indices.tolist()


@given(problems(), st.floats(1e-6, 1e6), st.floats(-50, 50))
def test_the_unit_of_the_loss_changes_nothing(problem, scale, reject):
    posterior, loss = problem
    clear(posterior, loss)
    least = decide(posterior, loss).risk
    assume(np.all(np.abs(least - reject) > 1e-7))
    one, other = decide(posterior, loss, reject), decide(posterior, loss * scale, reject * scale)
    assert one.indices.tolist() == other.indices.tolist()


@given(problems())
def test_reject_that_costs_everything_is_never_taken(problem):
    free, bound = decide(*problem, reject=math.inf), decide(*problem)
    assert not free.rejected.any()
    assert free.indices.tolist() == bound.indices.tolist()


@given(problems(), st.floats(-100, 100))
def test_rejecting_never_costs_more_than_its_price(problem, reject):
    decision = decide(*problem, reject=reject)
    assert np.all(decision.risk <= reject + 1e-9)
    assert np.all(decision.risks.min(axis=1)[decision.rejected] > reject)


# The Bayes risk.


@given(problems())
def test_no_fixed_action_beats_the_bayes_risk(problem):
    posterior, loss = problem
    risk = bayes_risk(posterior, loss)
    assert np.all(risk.value <= conditional_risk(posterior, loss).mean(axis=0) + 1e-9)
    lo, hi = risk.interval
    assert loss.min() - 1e-4 <= lo <= risk.value <= hi <= loss.max() + 1e-4
    joint = bayes_risk(joint=posterior / len(posterior), loss=loss)
    assert joint.value == pytest.approx(risk.value, abs=1e-9)
    assert joint.interval == (joint.value, joint.value)


def two_normals(x):
    """Densities of N(0, 1) and N(2, 1) at x, shape (n, 2)."""
    return np.exp(-0.5 * (x[:, None] - np.array([0.0, 2.0])) ** 2) / math.sqrt(2 * math.pi)


def test_two_normals_exactly():
    x = np.linspace(-10, 12, 22_001)
    joint = two_normals(x) * 0.5 * (x[1] - x[0])
    risk = bayes_risk(joint=joint / joint.sum())
    assert risk.value == pytest.approx(0.15865525393145707, abs=1e-7)  # Φ(−1)
    assert risk.ceiling == pytest.approx(0.8413447460685429, abs=1e-7)
    assert risk.n_rows is None
    assert float(risk) == risk.value


def test_two_normals_sampled():
    rng = np.random.default_rng(7)
    within, widths = 0, []
    for _ in range(400):
        x = rng.normal(2.0 * rng.integers(0, 2, 1000))
        lo, hi = bayes_risk(bayes_rule([0.5, 0.5], two_normals(x))).interval
        within += lo <= 0.15865525393145707 <= hi
        widths.append(hi - lo)
    assert 365 <= within <= 395  # 380 expected; 400 draws of 0.95 have a deviation of 4.4
    assert np.mean(widths) < 0.03


def test_interval_by_hand():
    risk = bayes_risk([[0.9, 0.1], [0.7, 0.3]])
    assert risk.value == pytest.approx(0.2)
    # The rows 0.1 and 0.3 have sd 0.1·√2, their mean 0.1; at 99.9 % the interval is cut off at both ends.
    assert risk.interval == pytest.approx((0.2 - 1.959963984540054 * 0.1, 0.2 + 1.959963984540054 * 0.1))
    assert bayes_risk([[0.9, 0.1], [0.7, 0.3]], level=0.999).interval == pytest.approx((0.0, 0.5))
    assert bayes_risk([[0.9, 0.1], [0.7, 0.3]]).ceiling == pytest.approx(0.8)


def test_one_row_knows_only_the_loss():
    assert bayes_risk([0.9, 0.1]).interval == (0.0, 0.5)
    assert bayes_risk([0.2, 0.7, 0.1]).interval == pytest.approx((0.0, 2 / 3))
    assert bayes_risk([0.9, 0.1], [[0, 20], [1, 0]]).interval == (0.0, 1.0)


def test_the_ceiling_is_for_zero_one_loss_only():
    assert bayes_risk([[0.9, 0.1]], MAIL).ceiling is None
    swapped = {"ham": {"ham": 0, "spam": 1}, "spam": {"ham": 1, "spam": 0}}
    assert bayes_risk({"spam": [0.9, 0.4], "ham": [0.1, 0.6]}, swapped).ceiling == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({}, SettingError, ["bayes_risk", "joint="]),
        ({"posterior": [1.0], "joint": [1.0]}, SettingError, ["bayes_risk", "joint="]),
        ({"posterior": [1.0], "level": 1.0}, SettingError, ["level", 1.0]),
        ({"posterior": np.empty((0, 2))}, DataError, ["posterior", "rows"]),
        ({"joint": [[0.5, 0.4]]}, DataError, ["joint", 0.9]),
        ({"joint": [[1.5, -0.5]]}, DataError, ["joint", 1, -0.5]),
        ({"joint": np.empty((0, 2))}, DataError, ["joint", "(0, 2)"]),
    ],
)
def test_bayes_risk_refuses(arguments, error, says):
    with refuses(error, *says):
        bayes_risk(**arguments)


def test_joint_of_any_shape_and_names():
    joint = np.random.default_rng(1).dirichlet(np.ones(24)).reshape(3, 4, 2)
    loss = np.array([[0, 20], [1, 0]])
    slow = sum(min((loss @ cell).tolist()) for cell in joint.reshape(-1, 2))
    assert bayes_risk(joint=joint, loss=loss).value == pytest.approx(slow)
    named = {"ham": joint[..., 1], "spam": joint[..., 0]}
    assert bayes_risk(joint=named, loss=MAIL).value == pytest.approx(slow)


# The house rules.


def test_only_numpy_is_imported():
    code = (
        "import sys; from bayeskit.decision import bayes_rule, conditional_risk, decide, bayes_risk; "
        "print({'sklearn', 'numba', 'scipy', 'pandas', 'polars', 'narwhals'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


@pytest.mark.parametrize("page", ["decisions.md", "zh-CN/decisions.md"])
def test_the_guide_runs(page):
    outcome = doctest.testfile(str(DOCS / page), module_relative=False, encoding="utf-8")
    assert outcome.failed == 0
    assert outcome.attempted >= 15


@settings(max_examples=30)
@given(
    st.one_of(
        st.none(), st.text(), st.integers(), st.lists(st.floats()), st.dictionaries(st.text(), st.floats())
    )
)
def test_rubbish_gives_typed_errors(thing):
    for use in (lambda: decide(thing), lambda: decide([0.5, 0.5], thing), lambda: bayes_rule([1.0], thing)):
        with contextlib.suppress(BayeskitError):
            use()


def test_whole_numbers_beyond_any_float_are_no_costs():
    with refuses(SettingError, "reject"):
        decide([0.7, 0.3], reject=10**400)
    with refuses(DataTypeError, "loss"):
        decide([0.7, 0.3], [[0, 10**400], [1, 0]])


@pytest.mark.parametrize(("rows", "classes"), [(20, 20), (21, 20), (20, 21), (1, 1), (1_234, 25)])
def test_a_large_table_says_how_much_is_not_shown(rows, classes):
    posterior = bayes_rule(np.full(classes, 1 / classes), np.ones((rows, classes)))
    html = posterior._repr_html_()
    assert html.count("<tr>") - html.count("<thead>") == min(rows, 20)
    hidden = [max(rows - 20, 0), max(classes - 20, 0)]
    shown = re.findall(r"([\d,]+) more", html)
    assert shown == [f"{k:,}" for k in hidden if k]
    for k, name in zip(
        [*hidden, rows, classes], ["more object", "more class", "posterior", "class"], strict=True
    ):
        plural = name + ("es" if name.endswith("s") else "s")
        assert k == 0 or re.search(rf"\b{k:,} {name if k == 1 else plural}\b", html), (k, name)
    assert ("not shown" in html) == any(hidden)


def test_a_joint_of_any_shape_has_one_risk():
    joint = np.array([[0.1, 0.2], [0.3, 0.05], [0.15, 0.2]])
    for cells in (joint, joint[:, None], joint[None, :, :]):
        assert bayes_risk(joint=cells).value == pytest.approx(0.3)
    assert bayes_risk(joint=[0.25, 0.75]).value == pytest.approx(0.25)


def test_a_row_is_named_where_there_are_rows():
    for likelihood, row, j in [([1.0, -1.0], "", 1), ([[1.0, 1.0], [0.0, 1.0], [-1.0, 1.0]], ", row 2", 0)]:
        with pytest.raises(DataError) as caught:
            bayes_rule([0.5, 0.5], likelihood)
        values = caught.value.message.values
        assert (values["row"], str(values["j"])) == (row, str(j))
