"""Noisy-OR, noisy-MAX, rules and regressions as users give them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit import BayesianNetwork
from bayeskit.errors import SettingError, TooLarge, UnseenState, UsageError
from bayeskit.networks import Deterministic, LinearGaussian, NoisyMax, Table
from edits import after
from refusals import refuses

chances = st.floats(0, 1)


def fever(states=("no", "yes")):
    return BayesianNetwork({"fever": ["cold", "flu"]}, states=list(states))


# --- noisy-OR ---------------------------------------------------------------------------------------------------


@given(chances, chances, chances)
def test_noisy_or_is_the_product_of_what_fails(cold, flu, leak):
    found = after(fever(), "set_noisy_or", "fever", {"flu": flu, "cold": cold}, leak).cpt("fever")
    for i, j in product(range(2), repeat=2):
        absent = (1 - leak) * (1 - cold) ** i * (1 - flu) ** j
        states = (("no", "yes")[i], ("no", "yes")[j])
        assert found[(*states, "no")] == pytest.approx(absent, abs=1e-15)
        assert found[(*states, "yes")] == pytest.approx(1 - absent, abs=1e-15)


def test_noisy_or_keeps_its_parameters():
    made = after(fever(), "set_noisy_or", "fever", {"flu": 0.75, "cold": 0.5}, 0.125).distribution("fever")
    assert isinstance(made, NoisyMax)
    assert [cause.tolist() for cause in made.causes] == [[[1, 0], [0.5, 0.5]], [[1, 0], [0.25, 0.75]]]
    assert made.leak.tolist() == [0.875, 0.125]


def test_noisy_or_where_present_comes_first():
    usual = fever()
    usual.set_noisy_or("fever", {"cold": 0.5, "flu": 0.75}, 0.125)
    turned = fever(["yes", "no"])
    causes = {"cold": {"yes": 0.5}, "flu": {"yes": 0.75, "no": 0.0}}
    turned.set_noisy_or("fever", causes, 0.125, present="yes")
    for cell in product(["no", "yes"], repeat=3):
        assert turned.cpt("fever")[cell] == usual.cpt("fever")[cell]
    made = turned.distribution("fever")
    assert isinstance(made, NoisyMax) and not made.rising
    assert made.causes[0].tolist() == [[0.5, 0.5], [0, 1]] and made.leak.tolist() == [0.125, 0.875]
    assert turned == usual
    assert after(usual, "set_noisy_or", "fever", {"cold": 0.5, "flu": 0.75}, 0.125, present="yes") == usual


def test_noisy_or_of_a_parent_of_many_states():
    states = {"dose": ["none", "low", "high"], "effect": ["absent", "present"]}
    network = BayesianNetwork({"effect": ["dose"]}, states=states)
    network.set_noisy_or("effect", {"dose": {"low": 0.25, "high": 0.75}})
    assert network.cpt("effect").values.tolist() == [[1, 0], [0.75, 0.25], [0.25, 0.75]]


def test_noisy_or_without_parents_is_its_leak():
    network = BayesianNetwork({"a": []}, states=["no", "yes"])
    network.set_noisy_or("a", {}, leak=0.25)
    assert network.cpt("a").values.tolist() == [0.75, 0.25]


def test_many_causes_are_kept_though_their_table_is_not():
    causes = {f"x{k}": 0.5 for k in range(50)}
    network = BayesianNetwork({"y": list(causes)}, states=["no", "yes"])
    network.set_noisy_or("y", causes)
    assert len(network.distribution("y").causes) == 50
    with refuses(TooLarge, "x0", "distribution('y')"):
        network.cpt("y")
    assert network == network.copy()
    network.set_noisy_or("y", {cause: {"no": 0.5} for cause in causes}, present="no")
    assert len(network.distribution("y").causes) == 50 and not network.distribution("y").rising


REFUSED_OR = [
    ({"cold": 0.5}, {}, ["fever", "flu", "cold"]),
    ({"cold": 0.5, "flu": 0.5, "age": 1}, {}, ["age", "cold", "flu"]),
    ({"cold": 1.5, "flu": 0.5}, {}, ["fever", 1.5, "cold", "yes"]),
    ({"cold": float("nan"), "flu": 0.5}, {}, ["fever", "nan"]),
    ({"cold": "0.5", "flu": 0.5}, {}, ["fever", "0.5", "cold"]),
    ({"cold": [0.1, 0.2], "flu": 0.5}, {}, ["fever", "[0.1, 0.2]", "cold"]),
    ({"cold": 0.5, "flu": 0.5}, {"leak": -0.1}, ["fever", -0.1, "leak"]),
    ({"cold": 0.5, "flu": 0.5}, {"present": "maybe"}, ["fever", "maybe"]),
    ({"cold": 0.5, "flu": 0.5}, {"present": "no"}, ["cold", "fever"]),
    ({"cold": {}, "flu": 0.5}, {}, ["no", "yes", "cold"]),
    ({"cold": {"on": 1}, "flu": 0.5}, {}, ["cold", "on"]),
    ([0.5, 0.5], {}, ["[0.5, 0.5]", "fever", "{parent: ...}"]),
]


@pytest.mark.parametrize(("causes", "more", "message"), REFUSED_OR)
def test_noisy_or_refused_by_name(causes, more, message):
    network = fever()
    before = network._network
    with refuses((SettingError, UnseenState), *message):
        network.set_noisy_or("fever", causes, **more)
    assert network._network is before


def test_noisy_or_needs_two_states_of_a_discrete_node_and_known_ones():
    with refuses(SettingError, "fever", 3, "set_noisy_max"):
        fever("abc").set_noisy_or("fever", {"cold": 0.5, "flu": 0.5})
    with refuses(SettingError, "g", "continuous", "set_gaussian"):
        BayesianNetwork({"g": []}, states=float).set_noisy_or("g", {})
    with refuses(UsageError, "a", "set_states"):
        BayesianNetwork({"a": []}).set_noisy_or("a", {})
    with refuses(UsageError, "a", "b", "set_states"):
        BayesianNetwork({"a": ["b"]}, states={"a": [0, 1]}).set_noisy_or("a", {"b": 0.5})


# --- noisy-MAX --------------------------------------------------------------------------------------------------

LEVELS = ["none", "mild", "high"]


def brute_force_max(causes, leak):
    """Sum over what every cause alone brings about; the child is the largest of it."""
    sizes = [len(cause) for cause in causes]
    table = np.zeros((*sizes, len(leak)))
    for place in np.ndindex(*sizes):
        rows = [leak, *(cause[s] for cause, s in zip(causes, place, strict=True))]
        for effects in product(range(len(leak)), repeat=len(rows)):
            table[(*place, max(effects))] += np.prod([row[e] for row, e in zip(rows, effects, strict=True)])
    return table


@given(st.integers(0, 2**31))
def test_noisy_max_is_the_largest_effect(seed):
    rng = np.random.default_rng(seed)
    cold, flu, leak = rng.dirichlet(np.ones(3), 2), rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(3))
    states = {"cold": ["no", "yes"], "flu": ["a", "b", "c"], "fever": LEVELS}
    network = BayesianNetwork({"fever": ["cold", "flu"]}, states=states)
    named = {"c": flu[2], "a": dict(zip(LEVELS, flu[0], strict=True)), "b": flu[1].tolist()}
    network.set_noisy_max("fever", {"flu": named, "cold": dict(zip(["no", "yes"], cold, strict=True))}, leak)
    assert network.cpt("fever").values == pytest.approx(brute_force_max([cold, flu], leak), abs=1e-14)


@given(st.integers(0, 2**31))
def test_the_first_state_may_be_the_strongest(seed):
    rng = np.random.default_rng(seed)
    cold, flu, leak = rng.dirichlet(np.ones(3), 2), rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(3))
    found = NoisyMax((cold, flu), leak, rising=False)
    turned = [part[..., ::-1] for part in (cold, flu, leak)]
    wanted = brute_force_max(turned[:2], turned[2])[..., ::-1]
    assert found.table() == pytest.approx(wanted, abs=1e-14)
    assert found.turned().turned() == found != NoisyMax((cold, flu), leak)


def test_the_same_causes_are_equal_in_either_order_of_the_states():
    causes, leak = ([[1, 0, 0], [0.2, 0.3, 0.5]],), [0.9, 0.1, 0]
    usual = BayesianNetwork({"y": ["x"]}, states={"x": ["no", "yes"], "y": LEVELS})
    usual.set_cpt("y", NoisyMax(causes, leak))
    turned = BayesianNetwork({"y": ["x"]}, states={"x": ["yes", "no"], "y": LEVELS[::-1]})
    turned.set_cpt("y", NoisyMax(([[0.5, 0.3, 0.2], [0, 0, 1]],), leak[::-1], rising=False))
    assert usual == turned
    # The same numbers with the other end for the strongest are other causes.
    assert usual != after(usual.copy(), "set_cpt", "y", NoisyMax(causes, leak, rising=False))


def test_noisy_max_with_one_state_left_out_and_no_leak():
    states = {"flu": ["no", "yes"], "fever": LEVELS}
    network = BayesianNetwork({"fever": ["flu"]}, states=states)
    network.set_noisy_max("fever", {"flu": {"yes": {"mild": 0.5, "high": 0.25, "none": 0.25}}})
    assert network.cpt("fever").values.tolist() == [[1, 0, 0], [0.25, 0.5, 0.25]]


@pytest.mark.parametrize(
    ("causes", "leak", "message"),
    [
        ({"flu": {"yes": [0.5, 0.5]}}, None, ["fever", "[0.5, 0.5]", "(3,)"]),
        ({"flu": {"yes": [0.5, 0.5, 0.5]}}, None, ["fever", 1.5]),
        (
            {"flu": {"yes": {"none": 1}}},
            None,
            ["fever", "mild", "high"],
        ),
        ({"flu": {"yes": {"hot": 1}}}, None, ["fever", "hot"]),
        ({"flu": [1, 0, 0]}, None, ["flu", "fever", "{state: ...}"]),
        ({"flu": {"yes": [1, 0, 0], ("yes",): 1}}, None, ["flu", "yes", "no"]),
        ({"flu": {"yes": [1, 0, 0]}}, [1, 0], ["fever", "[1, 0]", "(3,)"]),
        ({"flu": {"yes": [1, 0, 0]}}, 0.1, ["fever", 0.1, "(3,)"]),
    ],
)
def test_noisy_max_refused_by_name(causes, leak, message):
    network = BayesianNetwork({"fever": ["flu"]}, states={"flu": ["no", "yes"], "fever": LEVELS})
    with refuses((SettingError, UnseenState), *message):
        network.set_noisy_max("fever", causes, leak)


# --- rules ------------------------------------------------------------------------------------------------------

STATES = {"a": [0, 1, 2], "b": [0, 1], "sum": [0, 1, 2, 3]}


def test_a_rule_is_called_with_the_states_of_the_parents_in_order():
    network = BayesianNetwork({"sum": ["a", "b"]}, states=STATES)
    called = []
    network.set_deterministic("sum", lambda a, b: called.append((a, b)) or a + b)
    assert called == list(product(range(3), range(2)))
    table = network.cpt("sum")
    assert all(table[a, b, s] == float(s == a + b) for a in range(3) for b in range(2) for s in range(4))
    assert isinstance(network.distribution("sum"), Deterministic)


def test_a_rule_as_a_mapping():
    by_call = BayesianNetwork({"sum": ["a", "b"]}, states=STATES)
    by_call.set_deterministic("sum", lambda a, b: a + b)
    flat = {(a, b): a + b for a in range(3) for b in range(2)}
    nested = {a: {b: a + b for b in range(2)} for a in range(3)}
    for rule in (flat, nested):
        assert (
            after(BayesianNetwork({"sum": ["a", "b"]}, states=STATES), "set_deterministic", "sum", rule)
            == by_call
        )
    one = BayesianNetwork({"b": ["a"]}, states=["no", "yes"])
    one.set_deterministic("b", {"no": "yes", "yes": "no"})
    assert one.cpt("b").values.tolist() == [[0, 1], [1, 0]]


def test_a_rule_without_parents():
    assert after(BayesianNetwork({"a": []}, states=[0, 1]), "set_deterministic", "a", lambda: 1).cpt(
        "a"
    ).values.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda a, b: 9, ["sum", 9, 0, "a", "b"]),
        ({(0, 0): 0}, ["a", 0, "b", 1]),
        ({0: 0}, ["sum", 0, "a"]),
        ({(0, 0): 0, 0: {0: 1}}, ["sum", 1, "twice", "a", 0, "b"]),
        ({(0, 7): 0}, ["b", 7]),
        ("max", ["max", "rule", "sum"]),
    ],
)
def test_rules_refused_by_name(rule, message):
    network = BayesianNetwork({"sum": ["a", "b"]}, states=STATES)
    before = network._network
    with refuses((SettingError, UnseenState), *message):
        network.set_deterministic("sum", rule)
    assert network._network is before


def test_a_rule_that_fails_fails_as_it_does_by_itself():
    network = BayesianNetwork({"sum": ["a", "b"]}, states=STATES)
    with pytest.raises(ZeroDivisionError):
        network.set_deterministic("sum", lambda a, b: a // b)


# --- regressions ------------------------------------------------------------------------------------------------


def mixed():
    states = {"d": ["x", "y"], "e": [0, 1, 2], "u": float, "v": float, "w": float}
    return BayesianNetwork({"w": ["u", "d", "v", "e"]}, states=states)


def test_a_regression_on_continuous_parents():
    network = BayesianNetwork({"w": ["u", "v"]}, states=float)
    network.set_gaussian("w", 1, {"v": 3, "u": 2}, 0.5)
    found = network.distribution("w")
    assert (found.intercept.tolist(), found.coefficients.tolist(), found.variance.tolist()) == (
        1,
        [2, 3],
        0.5,
    )
    root = after(network, "set_gaussian", "u", 4.0, variance=0).distribution("u")
    assert (float(root.intercept), root.coefficients.shape, float(root.variance)) == (4.0, (0,), 0.0)


def test_one_regression_for_each_configuration_of_the_discrete_parents():
    said = {(d, e): (10 * i + e, {"u": i, "v": e}, 1 + i + e) for i, d in enumerate("xy") for e in range(3)}
    found = after(mixed(), "set_gaussian", "w", said).distribution("w")
    assert found.intercept.tolist() == [[0, 1, 2], [10, 11, 12]]
    assert found.coefficients[1, 2].tolist() == [1, 2]
    assert found.variance.tolist() == [[1, 2, 3], [2, 3, 4]]
    nested = {d: {e: said[d, e] for e in range(3)} for d in "yx"}
    assert after(mixed(), "set_gaussian", "w", nested) == after(mixed(), "set_gaussian", "w", said)


def test_a_mixture_of_means_and_variances():
    network = BayesianNetwork({"g": ["d"]}, states={"d": ["x", "y"], "g": float})
    found = after(network, "set_gaussian", "g", {"x": (0.0, 1.0), "y": (5.0, None, 2.0)}).distribution("g")
    assert (found.intercept.tolist(), found.variance.tolist()) == ([0, 5], [1, 2])
    assert found.coefficients.shape == (2, 0)


REFUSED_GAUSSIAN = [
    ("g", (1.0,), ["variance", "g"]),
    ("g", (1.0, {"u": 1}, -1.0), ["variance", "g", -1.0]),
    ("g", (float("inf"), {"u": 1}, 1.0), ["intercept", "g", "inf"]),
    ("g", (1.0, {"u": float("nan")}, 1.0), ["coefficients", "g", "nan"]),
    ("g", (1.0, None, 1.0), ["coefficients", "g", "u"]),
    ("g", (1.0, {"u": 1, "d": 2}, 1.0), ["coefficients", "g", "u", "d"]),
    ("g", (1.0, [1.0], 1.0), ["coefficients", "g", "[1.0]", "{parent: number}"]),
    ("g", ("1", {"u": 1}, 1.0), ["g", "1"]),
    ("g", ([1.0], {"u": 1}, 1.0), ["g", "[1.0]"]),
    ("m", (1.0, None, 1.0), ["m", "discrete", "d"]),
    ("m", ({"x": (0, {}, 1)},), ["m", "d", "y"]),
    ("m", ({"x": (0, {}, 1), "z": (0, {}, 1)},), ["d", "z"]),
    ("m", ({"x": 3.0, "y": (0, {}, 1)},), ["m", 3.0, "d", "x"]),
    ("m", ({"x": (0, {}, 1), "y": (0, {}, 1)}, {}, 1.0), ["m", "coefficients=", "variance="]),
    ("m", ({"x": (0, {}, 1), ("x",): (0, {}, 1), "y": (0, {}, 1)},), ["m", "d", "once"]),
    ("d", (1.0, {}, 1.0), ["d", "discrete", "continuous"]),
]


@pytest.mark.parametrize(("name", "arguments", "message"), REFUSED_GAUSSIAN)
def test_regressions_refused_by_name(name, arguments, message):
    states = {"d": ["x", "y"], "u": float, "g": float, "m": float}
    network = BayesianNetwork({"g": ["u"], "m": ["d"], "d": []}, states=states)
    before = network._network
    with refuses((SettingError, UnseenState), *message):
        network.set_gaussian(name, *arguments)
    assert network._network is before


# --- distributions as values ------------------------------------------------------------------------------------


def test_what_distribution_gives_set_cpt_takes():
    network = fever()
    network.set_noisy_or("fever", {"cold": 0.5, "flu": 0.75}, 0.125)
    assert after(fever(), "set_cpt", "fever", network.distribution("fever")) == network
    causes = {"cold": {"yes": 0.5}, "flu": {"yes": 0.75}}
    falling = fever()
    falling.set_noisy_or("fever", causes, 0.125, present="no")
    assert after(fever(), "set_cpt", "fever", falling.distribution("fever")) == falling != network
    rule = fever()
    rule.set_deterministic("fever", lambda cold, flu: max(cold, flu))
    assert after(fever(), "set_cpt", "fever", rule.distribution("fever")) == rule
    said = {(d, e): (1, {"u": 2, "v": 3}, 4) for d in "xy" for e in range(3)}
    gaussian = mixed()
    gaussian.set_gaussian("w", said)
    assert after(mixed(), "set_cpt", "w", gaussian.distribution("w")) == gaussian


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("fever", NoisyMax((np.eye(2),), np.array([1.0, 0.0]))),
        ("fever", NoisyMax((np.eye(2), np.eye(3)), np.array([1.0, 0.0]))),
        ("fever", NoisyMax((np.eye(2), np.eye(2)), np.array([1.0, 0.0, 0.0]))),
        ("fever", NoisyMax((np.eye(2), np.eye(2)), np.array([0.5, 0.0]))),
        ("fever", NoisyMax((np.eye(2), 2 * np.eye(2)), np.array([1.0, 0.0]))),
        ("fever", Deterministic(np.zeros((2, 3), int), 2)),
        ("fever", Deterministic(np.zeros((2, 2), int), 3)),
        ("fever", Deterministic(np.full((2, 2), 2), 2)),
        ("fever", Deterministic(np.full((2, 2), -1), 2)),
        ("fever", Table(np.full((2, 2), 0.5))),
        ("fever", LinearGaussian(np.zeros((2, 2)), np.zeros((2, 2, 0)), np.ones((2, 2)))),
        ("heat", LinearGaussian(np.zeros(()), np.zeros(0), np.ones(()))),
        ("heat", LinearGaussian(np.zeros(2), np.zeros((2, 1)), np.ones(2))),
        ("heat", LinearGaussian(np.zeros(2), np.zeros((2, 0)), -np.ones(2))),
        ("heat", LinearGaussian(np.zeros(2), np.zeros((2, 0)), np.full(2, np.nan))),
        ("heat", Deterministic(np.zeros(2, int), 2)),
    ],
)
def test_values_that_do_not_fit_are_refused(name, given):
    states = {"cold": [0, 1], "flu": [0, 1], "fever": [0, 1], "heat": float}
    network = BayesianNetwork({"fever": ["cold", "flu"], "heat": ["cold"]}, states=states)
    with refuses(SettingError, name):
        network.set_cpt(name, given)


def test_a_rule_takes_an_argument_for_each_parent():
    network = BayesianNetwork({"c": ["a", "b"]}, states=["no", "yes"])
    for rule in (lambda a: a, lambda a, b, c: a, lambda: "no", lambda *, a, b: a):
        with refuses(SettingError, "rule", "c", "('a', 'b')"):
            network.set_deterministic("c", rule)
    assert (
        after(network, "set_deterministic", "c", max).cpt("c")["no", "yes", "yes"] == 1
    )  # max does not say what it takes


def test_codes_of_a_rule_lie_among_the_states():
    network = BayesianNetwork({"c": ["a"]}, states=["no", "yes"])
    for codes in ([0, 5], [-1, 0]):
        with refuses(SettingError, "c", min(codes), max(codes), 2, 0, 1):
            network.set_cpt("c", Deterministic(codes, 2))


def test_no_switch_is_offered_that_is_not_there():
    network = BayesianNetwork({"c": ["a"]}, states=["no", "yes"])
    with refuses(SettingError, "c", 1.1) as caught:
        network.set_noisy_max("c", {"a": {"yes": [0.5, 0.6]}})
    assert "normalize" not in str(caught.value)
