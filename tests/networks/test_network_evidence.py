"""Evidence as users write it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit._graphs.network import continuous, discrete
from bayeskit._networks.evidence import Reader, read_evidence, scaled
from bayeskit.errors import DataError, DataTypeError, ImpossibleEvidence, SettingError, UnseenState
from bayeskit.networks import Not
from refusals import refuses

RAIN, LIGHT, HEIGHT = (
    discrete("rain", ["no", "yes"]),
    discrete("light", ["red", "amber", "green"]),
    continuous("h"),
)
BOTH = (RAIN, LIGHT)


def code(states, value):
    return int(read_evidence([discrete("x", states)], {"x": value}, None).codes[0])


@pytest.mark.parametrize(
    ("states", "value", "expected"),
    [
        (("0", "1"), 1, 1),
        (("0", "1"), 1.0, 1),
        (("0", "1"), np.float64(1.0), 1),
        (("0", "1"), np.int8(1), 1),
        (("0.0", "1.0"), 1.0, 1),
        ((0, 1), 1.0, 1),
        ((0, 1), "1", 1),
        (("False", "True"), True, 1),
        (("false", "true"), True, 1),
        (("false", "true"), np.bool_(False), 0),
        (("NA", "None"), "None", 1),
        (("NA", "None"), "NA", 0),
        (("nan", "x"), "nan", 0),
        ((None, "x"), None, 0),
        (((1, 2), (3, 4)), (3, 4), 1),
        (("干", "湿"), np.str_("湿"), 1),
    ],
)
def test_values_match_by_equality_then_as_written(states, value, expected):
    assert code(states, value) == expected


@pytest.mark.parametrize("value", [None, math.nan, np.float64("nan"), np.nan])
@pytest.mark.parametrize("states", [("no", "yes"), ("None", "nan"), ("no", "None")])
def test_missing_is_left_out_not_matched_with_text(states, value):
    with refuses(UnseenState, "x", "missing"):
        code(states, value)


@pytest.mark.parametrize(
    ("states", "value"),
    [(("no", "yes"), "maybe"), (("no", "yes"), 1), (("1", "1.0"), 1.0), (("a",), "A"), (("a",), b"a")],
)
def test_what_is_no_state_is_refused_with_the_states(states, value):
    with refuses(UnseenState, "x", repr(value), *map(repr, states)):
        code(states, value)


@pytest.mark.parametrize("value", [[0.2, 0.8], np.array([0.2, 0.8]), {"yes": 1}])
def test_likelihoods_in_the_wrong_argument_are_told_where_to_go(value):
    with refuses(UnseenState, "x", "soft="):
        code(("no", "yes"), value)


def test_negative_evidence():
    found = read_evidence(BOTH, {"light": Not("red", "green")}, None)
    assert found.codes.tolist() == [-1, -1]
    assert found.likelihoods[1].tolist() == [0, 1, 0]
    with refuses(SettingError, "('red', 'amber', 'green')", "light"):
        read_evidence(BOTH, {"light": Not("red", "amber", "green")}, None)
    with refuses(UnseenState, "light", "blue"):
        read_evidence(BOTH, {"light": Not("blue")}, None)
    with refuses(SettingError, 'Not("red")'):
        Not()
    assert Not(1) == Not(1.0) and hash(Not(1)) == hash(Not(True)) and Not("a") != Not("b") and Not("a") != "a"


@pytest.mark.parametrize(
    "likelihoods", [[0.25, 0.5, 1.0], {"green": 1.0, "red": 0.25, "amber": 0.5}, (0.25, 0.5, 1)]
)
def test_soft_evidence_by_order_or_by_state(likelihoods):
    assert read_evidence(BOTH, None, {"light": likelihoods}).likelihoods[1].tolist() == [0.25, 0.5, 1.0]


@pytest.mark.parametrize(
    ("likelihoods", "said"),
    [
        ([0, 0, 0], ["light", "zero"]),
        ([1, -1, 0], ["amber", "likelihood", -1.0]),
        ([1, math.nan, 0], ["amber", "likelihood", "nan"]),
        ([1, 1, math.inf], ["green", "likelihood", "inf"]),
        ([1, 1], ["light", "(2,)", 3]),
        ([[1, 1, 1]], ["light", "(1, 3)", 3]),
        (0.5, ["light", 3, "red"]),
        ("red", ["light", "red", "likelihood"]),
        (["x", 1, 1], ["light", "['x', 1, 1]", "likelihood"]),
        (None, ["light", 3]),
        ({"red": 1, "amber": 1}, ["light", "green"]),
        ({"red": 1, "amber": [1], "green": 1}, ["light", "{state: number}"]),
    ],
)
def test_strange_likelihoods_are_refused_by_name(likelihoods, said):
    with refuses(SettingError, *said) as caught:
        read_evidence(BOTH, None, {"light": likelihoods})
    assert "'light'" in str(caught.value)


def test_soft_evidence_names_states_as_evidence_does():
    one = [discrete("n", ("0", "1"))]
    assert read_evidence(one, None, {"n": {1: 0.5, 0.0: 1}}).likelihoods[0].tolist() == [1, 0.5]
    with refuses(SettingError, "n", "1", "twice"):
        read_evidence(one, None, {"n": {1: 0.5, "1": 0.5, 0: 1}})
    with pytest.raises(UnseenState):
        read_evidence(one, None, {"n": {2: 0.5, 1: 0.5}})


def test_unknown_nodes_are_refused_with_the_nearest():
    with refuses(SettingError, "rian", "rain"):
        read_evidence(BOTH, {"rian": "yes"}, None)
    with refuses(SettingError, "ligt", "soft", "light"):
        read_evidence(BOTH, None, {"ligt": [1, 1, 1]})
    with refuses(SettingError, 7, "rain", "light"):
        read_evidence(BOTH, {7: "yes"}, None)


@pytest.mark.parametrize("wrong", [["rain"], "rain", {"rain"}, 3])
def test_evidence_is_a_mapping(wrong):
    with refuses(SettingError, "evidence", "{node: state}"):
        read_evidence(BOTH, wrong, None)
    with refuses(SettingError, "soft", "{node: likelihoods}"):
        read_evidence(BOTH, None, wrong)


def test_the_arrays_given_are_neither_changed_nor_kept():
    given_ = np.array([2.0, 4.0, 8.0])
    found = read_evidence(BOTH, None, {"light": given_})
    given_[:] = 0.0
    assert found.likelihoods[1].tolist() == [0.25 / 2, 0.25, 0.5]


@given(st.lists(st.floats(1e-290, 1e300), min_size=1, max_size=5))
def test_scaling_loses_no_digit(values):
    values = np.array(values)
    small, log_divisor = scaled(values)
    # The largest comes to lie in [½, 1] unless that would round the least to nothing.
    assert 0.5 <= small.max() <= 1.0 or (small.max() > 1.0 and small.min() < 2.0**-1020)
    exponent = round(log_divisor / math.log(2))
    assert math.isclose(log_divisor, exponent * math.log(2), abs_tol=1e-300)
    assert (np.ldexp(small, exponent) == values).all()


def test_state_and_likelihoods_of_one_node():
    found, log_scale = Reader(BOTH).read({"light": "amber"}, {"light": [1, 6, 1]})
    assert found.codes[1] == 1 and not found.likelihoods and math.isclose(log_scale, math.log(6))
    assert Reader(BOTH).read({"light": "amber"}, {"light": [1, 0, 1]})[1] == -math.inf
    found, log_scale = Reader(BOTH).read({"light": Not("red")}, {"light": [1, 0.1, 0]})
    assert np.allclose(found.likelihoods[1] * math.exp(log_scale), [0, 0.1, 0], rtol=1e-15)
    assert Reader(BOTH).read({"light": Not("red")}, {"light": [1, 0, 0]})[1] == -math.inf
    with pytest.raises(ImpossibleEvidence) as caught:
        read_evidence(BOTH, {"rain": "no", "light": Not("red")}, {"rain": [1, 1], "light": [1, 0, 0]})
    assert list(caught.value.evidence) == ["light"]


def test_a_whole_number_beyond_any_float():
    with refuses(DataTypeError, "h", 10**400):
        Reader([continuous("h")]).read_mixed({"h": 10**400}, None)


def test_numbers_of_continuous_nodes():
    reader = Reader((RAIN, HEIGHT))
    found, values, log_scale = reader.read_mixed({"h": np.float32(1.5), "rain": "yes"}, {"rain": [1, 0.5]})
    assert found.codes.tolist() == [1, -1] and values[1] == 1.5 and np.isnan(values[0])
    assert math.isclose(log_scale, math.log(0.5))
    for wrong, error in [
        ("1.5", DataTypeError),
        ([1], DataTypeError),
        (None, UnseenState),
        (math.nan, UnseenState),
        (math.inf, DataError),
        (Not(1), SettingError),
    ]:
        with refuses(error, "h"):
            reader.read_mixed({"h": wrong}, None)
    with refuses(SettingError, "h", "continuous"):
        reader.read_mixed(None, {"h": [1, 1]})


def test_nothing_is_told_by_nothing():
    for nothing in (None, {}):
        assert read_evidence(BOTH, nothing, nothing).is_empty


@pytest.mark.parametrize(
    "likelihoods", [["1", "2"], np.ma.array([1, 2], mask=[0, 1]), [1j, 1], {"no": "1", "yes": 2}]
)
def test_likelihoods_are_numbers(likelihoods):
    with refuses(SettingError, "soft", "rain"):
        read_evidence([discrete("rain", ["no", "yes"])], None, {"rain": likelihoods})
