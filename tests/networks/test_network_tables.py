"""Conditional tables as users give them: every form says the same."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit import BayesianNetwork
from bayeskit.errors import BayeskitError, ColumnError, SettingError, TooLarge, UnseenState, UsageError
from bayeskit.networks import Factor, Table
from edits import after
from refusals import refuses

STATES = {"a": ["a0", "a1"], "b": ["b0", "b1", "b2"], "c": [10, 20, 30, 40]}


def family(states=STATES):
    """c given a, b: 2 × 3 × 4, so that no two axes can be mistaken for each other."""
    return BayesianNetwork({"c": ["a", "b"], "a": [], "b": []}, states=states)


@st.composite
def tables(draw):
    """Rows of numbers that sum to one or nearly, with zeros among them."""
    cells = st.integers(0, 5)
    row = st.lists(cells, min_size=4, max_size=4).filter(any)
    values = np.array(draw(st.lists(row, min_size=6, max_size=6)), float)
    return (values / values.sum(axis=1, keepdims=True)).reshape(2, 3, 4)


def nested(values):
    return {
        a: {b: {c: values[i, j, k] for k, c in enumerate(STATES["c"])} for j, b in enumerate(STATES["b"])}
        for i, a in enumerate(STATES["a"])
    }


def by_tuple(values, depth):
    """Return {(a, b): {c: p}} or {(a, b, c): p}, in an order of its own."""
    rows = {}
    for i, a in reversed(list(enumerate(STATES["a"]))):
        for j, b in enumerate(STATES["b"]):
            for k, c in reversed(list(enumerate(STATES["c"]))):
                if depth == 3:
                    rows[a, b, c] = values[i, j, k]
                else:
                    rows.setdefault((a, b), {})[c] = values[i, j, k]
    return rows


def long_rows(values, order):
    cells = by_tuple(values, 3)
    rows = [(*key, p) for key, p in cells.items()]
    rows = [rows[k] for k in order.permutation(len(rows))]
    return {name: [row[k] for row in rows] for k, name in enumerate(["a", "b", "c", "p"])}


def wide_rows(values):
    rows = by_tuple(values, 2)
    columns = {"b": [b for _, b in rows], "a": [a for a, _ in rows]}
    return columns | {str(c): [row[c] for row in rows.values()] for c in STATES["c"]}


@given(tables(), st.integers(0, 2**31))
def test_every_form_says_the_same(values, seed):
    order = np.random.default_rng(seed)
    turned = Factor(
        ["c", "a", "b"],
        [STATES["c"][::-1], STATES["a"], STATES["b"][::-1]],
        values.transpose(2, 0, 1)[::-1, :, ::-1],
    )
    long, wide = long_rows(values, order), wide_rows(values)
    forms = [
        values.tolist(),
        values.ravel(),
        values.ravel().tolist(),
        Table(values),
        nested(values),
        by_tuple(values, 2),
        by_tuple(values, 3),
        {a: values[i] for i, a in enumerate(STATES["a"])},
        {a: {b: values[i, j].tolist() for j, b in enumerate(STATES["b"])} for i, a in enumerate(STATES["a"])},
        {
            a: {(b, c): values[i, j, k] for j, b in enumerate(STATES["b"]) for k, c in enumerate(STATES["c"])}
            for i, a in enumerate(STATES["a"])
        },
        turned,
        pd.DataFrame(long),
        pl.DataFrame(long).rename({"p": "probability"}),
        pa.table(long).select(["p", "c", "b", "a"]),
        pd.DataFrame(long).astype({"a": "category", "b": "category"}).rename(columns={"p": "value"}),
        pd.DataFrame(wide),
        pd.DataFrame(wide).rename(columns=lambda c: int(c) if c.isdigit() else c),
        pl.DataFrame(wide),
        pa.table(wide),
    ]
    expected = family()
    expected.set_cpt("c", values)
    for form in forms:
        assert np.array_equal(
            after(family(), "set_cpt", "c", form).cpt("c").values, expected.cpt("c").values
        ), form


def test_the_factor_given_back_has_parents_then_the_child():
    values = np.random.default_rng(0).dirichlet(np.ones(4), (2, 3))
    factor = after(family(), "set_cpt", "c", values).cpt("c")
    assert factor.names == ("a", "b", "c")
    assert factor.states == (("a0", "a1"), ("b0", "b1", "b2"), (10, 20, 30, 40))
    assert factor["a1", "b2", 40] == pytest.approx(values[1, 2, 3], abs=0)
    assert after(family(), "set_cpt", "c", factor) == after(family(), "set_cpt", "c", values)


def test_roots_and_one_parent():
    network = BayesianNetwork({"b": ["a"]}, states=["no", "yes"])
    for form in ({"yes": 0.2, "no": 0.8}, [0.8, 0.2], {("no",): 0.8, "yes": 0.2}):
        assert after(network, "set_cpt", "a", form).cpt("a").values.tolist() == [0.8, 0.2]
    for form in (
        pd.DataFrame({"no": [0.8], "yes": [0.2]}),
        pd.DataFrame({"a": ["yes", "no"], "p": [0.2, 0.8]}),
    ):
        assert after(network, "set_cpt", "a", form).cpt("a").values.tolist() == [0.8, 0.2]
    for form in (
        {"no": {"yes": 0.2, "no": 0.8}, "yes": {"no": 0, "yes": 1}},
        {("no",): [0.8, 0.2], ("yes",): [0, 1]},
    ):
        assert after(network, "set_cpt", "b", form).cpt("b").values.tolist() == [[0.8, 0.2], [0.0, 1.0]]


def test_exact_fractions_and_decimals_are_numbers():
    network = BayesianNetwork({"a": []}, states=["x", "y", "z"])
    third = Fraction(1, 3)
    assert after(network, "set_cpt", "a", [third] * 3).cpt("a").values.tolist() == [1 / 3] * 3
    assert (
        after(network, "set_cpt", "a", {"x": Decimal("0.5"), "y": Fraction(1, 2), "z": 0}).cpt("a")["x"]
        == 0.5
    )


def test_states_that_are_tuples_or_of_other_types():
    states = {"a": [("x", 1), ("y", 2)], "b": [True, False]}
    network = BayesianNetwork({"b": ["a"]}, states=states)
    network.set_cpt("b", {("x", 1): {True: 0.25, False: 0.75}, (("y", 2), True): 1, (("y", 2), False): 0})
    assert network.cpt("b").values.tolist() == [[0.25, 0.75], [1.0, 0.0]]


def test_a_wide_frame_whose_child_is_named_like_one_of_its_states():
    network = BayesianNetwork({"yes": ["a"]}, states=["no", "yes"])
    network.set_cpt("yes", pd.DataFrame({"a": ["no", "yes"], "no": [0.9, 0.2], "yes": [0.1, 0.8]}))
    assert network.cpt("yes").values.tolist() == [[0.9, 0.1], [0.2, 0.8]]


def test_a_node_named_p_or_value():
    network = BayesianNetwork({"p": ["value"]}, states=["no", "yes"])
    rows = {"value": ["no", "no", "yes", "yes"], "p": ["no", "yes"] * 2, "probability": [0.9, 0.1, 0.2, 0.8]}
    assert after(network, "set_cpt", "p", pd.DataFrame(rows)).cpt("p").values.tolist() == [
        [0.9, 0.1],
        [0.2, 0.8],
    ]


# --- states that the table names -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    [
        {"no": {"dry": 0.9, "wet": 0.1}, "yes": {"wet": 0.75, "dry": 0.25}},
        {("no", "dry"): 0.9, ("no", "wet"): 0.1, ("yes", "dry"): 0.25, ("yes", "wet"): 0.75},
        Factor(["rain", "grass"], [["no", "yes"], ["dry", "wet"]], [[0.9, 0.1], [0.25, 0.75]]),
        pd.DataFrame(
            {"rain": ["no", "no", "yes", "yes"], "grass": ["dry", "wet"] * 2, "p": [0.9, 0.1, 0.25, 0.75]}
        ),
        pl.DataFrame({"rain": ["no", "yes"], "dry": [0.9, 0.25], "wet": [0.1, 0.75]}),
    ],
    ids=lambda form: type(form).__name__,
)
def test_a_node_without_states_takes_them_from_the_table(form):
    network = BayesianNetwork({"grass": ["rain"]}, states={"rain": ["no", "yes"]})
    network.set_cpt("grass", form)
    assert network.states("grass") == ("dry", "wet")
    assert network.cpt("grass").values.tolist() == [[0.9, 0.1], [0.25, 0.75]]


@pytest.mark.parametrize(
    "form", [[0.5, 0.5], {}, {"no": [0.5, 0.5], "yes": [0.5, 0.5]}, Table([[1.0], [1.0]])]
)
def test_an_array_names_no_states(form):
    network = BayesianNetwork({"grass": ["rain"]}, states={"rain": ["no", "yes"]})
    with refuses(UsageError, "grass", "set_states"):
        network.set_cpt("grass", form)


def test_missing_is_no_state():
    for missing in (None, float("nan"), pd.NA):
        with refuses(SettingError, "a", repr(missing)):
            BayesianNetwork({"a": []}).set_cpt("a", {"x": 0.5, missing: 0.5})


def test_the_parents_states_must_be_known():
    network = BayesianNetwork({"grass": ["rain"]}, states={"grass": ["dry", "wet"]})
    with refuses(UsageError, "rain", "set_states"):
        network.set_cpt("grass", {"no": {"dry": 0.9, "wet": 0.1}})


# --- sums -------------------------------------------------------------------------------------------------------


def test_rows_near_one_are_kept_bit_for_bit_and_rounding_is_divided_once():
    network = BayesianNetwork({"b": ["a"]}, states=["no", "yes"])
    exact = [[0.1, 0.9 + 5e-13], [0.3, 0.7]]
    assert after(network, "set_cpt", "b", exact).cpt("b").values.tolist() == exact
    row = np.array([0.1, 0.9 + 5e-10])
    found = after(network, "set_cpt", "b", [row, [0.3, 0.7]]).cpt("b").values
    assert found[0].tolist() == (row / row.sum()).tolist() and found[1].tolist() == [0.3, 0.7]


def test_rows_farther_off_are_refused_by_name_or_mended_when_asked():
    network = family()
    values = np.full((2, 3, 4), 0.25)
    values[1, 2, 0] = 0.5
    with refuses(SettingError, "c", "a", "a1", "b", "b2", 1.25, "normalize=True"):
        network.set_cpt("c", values)
    mended = after(network, "set_cpt", "c", values, normalize=True).cpt("c").values
    assert mended[1, 2].tolist() == [0.4, 0.2, 0.2, 0.2] and mended[0, 0].tolist() == [0.25] * 4


def test_counts_are_normalised_and_rows_of_zeros_never():
    network = BayesianNetwork({"b": ["a"]}, states=["no", "yes"])
    assert after(network, "set_cpt", "b", [[3, 1], [0, 7]], normalize=True).cpt("b").values.tolist() == [
        [0.75, 0.25],
        [0, 1],
    ]
    for normalize in (False, True):
        with refuses(SettingError, "b", "a", "no", 0.0) as caught:
            network.set_cpt("b", [[0, 0], [0, 1]], normalize=normalize)
        assert "normalize" not in str(caught.value)  # dividing would not help
    with refuses(SettingError, "a", "inf"):
        network.set_cpt("a", [1e308, 1e308], normalize=True)


def test_minus_zero_is_zero():
    values = after(BayesianNetwork({"a": []}, states=[0, 1]), "set_cpt", "a", [-0.0, 1.0]).cpt("a").values
    assert not np.signbit(values).any()


# --- what is refused --------------------------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
ROW = {10: 0.25, 20: 0.25, 30: 0.25, 40: 0.25}
REFUSED = [
    ("b", [0.5, NAN, 0.5], SettingError, ["b", "nan", "b1"]),
    ("b", [0.5, None, 0.5], SettingError, ["b", "nan", "b1"]),
    ("b", [1.5, -0.5, 0], SettingError, ["b", -0.5, "b1"]),
    ("b", [INF, 0, 0], SettingError, ["b", "inf", "b0"]),
    ("b", ["0.2", "0.3", "0.5"], SettingError, ["b", "['0.2', '0.3', '0.5']"]),
    ("b", [0.2, "0.3", 0.5], SettingError, ["b", "[0.2, '0.3', 0.5]"]),
    ("b", [[0.2], [0.3, 0.5]], SettingError, ["b", "[0.2]", "[0.3, 0.5]"]),
    ("b", [1j, 0, 1], SettingError, ["b", "[1j, 0, 1]"]),
    ("b", np.ma.array([0.2, 0.3, 0.5], mask=[0, 1, 0]), SettingError, ["b", "masked_array"]),
    ("b", [[0.2, 0.3, 0.5]], SettingError, ["b", "(1, 3)", "(3,)"]),
    ("b", 1.0, SettingError, ["b", "()", "(3,)"]),
    ("b", [0.5, 0.5], SettingError, ["b", "(2,)", "(3,)"]),
    ("b", "abc", SettingError, ["b", "abc"]),
    ("b", {0.2, 0.3, 0.5}, SettingError, ["b", "numbers"]),
    ("c", np.full((3, 2, 4), 0.25), SettingError, ["c", "(3, 2, 4)", "(2, 3, 4)", "a", "b"]),
    ("c", np.full((6, 4), 0.25), SettingError, ["(6, 4)", "(2, 3, 4)"]),
    ("b", {"b0": 0.2, "b1": 0.8}, SettingError, ["b", "b2"]),
    (
        "b",
        {"b0": 0.2, "b1": 0.3, "b3": 0.5},
        UnseenState,
        ["b", "b3", "b0", "b1", "b2"],
    ),
    ("b", {"b0": 0.2, "b1": 0.3, "b2": {"x": 0.5}}, SettingError, ["b", "b2"]),
    ("b", {("b0", "b1"): 1}, SettingError, ["b", "('b0', 'b1')"]),
    ("b", {(): 1}, SettingError, ["b", "()"]),
    (
        "b",
        {("b0",): 0.2, "b0": 0.2, "b1": 0.3, "b2": 0.5},
        SettingError,
        ["b", "twice", "b0"],
    ),
    ("b", {}, SettingError, ["b", "b0", "b1", "b2"]),
    ("c", {("a0", "b0"): ROW}, SettingError, ["c", "a", "a0", "b", "b1", 10, 12]),
    (
        "c",
        {("a0", "b0"): [1, 0]},
        SettingError,
        ["[1, 0]", "a", "a0", "b", "b0", "(4,)"],
    ),
    ("c", {("a0", "b9"): ROW}, UnseenState, ["b", "b9"]),
    ("b", Factor(["c"], [[1]], [1]), SettingError, ["c", "b"]),
    ("b", Factor(["b"], [["b0", "b1"]], [0.5, 0.5]), SettingError, ["b", "b2"]),
    (
        "b",
        Factor(["b"], [["b0", "b1", "b0", "b2"]], [0.5, 0.2, 0.1, 0.2]),
        SettingError,
        ["b", "twice"],
    ),
    ("c", pd.DataFrame({"a": ["a0"], "c": [10], "p": [1.0]}), ColumnError, ["c", "b", "a"]),
    ("b", pd.DataFrame({"x": [1.0]}), ColumnError, ["b0", "b1", "b2"]),
    ("b", pd.DataFrame({"b0": [0.2], "b1": [0.8]}), SettingError, ["b", "b2"]),
    (
        "b",
        pd.DataFrame({"b0": [0.2], "b1": [0.3], "b2": [0.5], "n": [9]}),
        UnseenState,
        ["b", "n"],
    ),
    (
        "b",
        pd.DataFrame({"b": STATES["b"], "p": [0.2, 0.3, 0.5], "n": [1, 2, 3]}),
        ColumnError,
        ["p", "n"],
    ),
    (
        "b",
        pd.DataFrame({"b": ["b0", None, "b2"], "p": [0.2, 0.3, 0.5]}),
        ColumnError,
        ["b", 1],
    ),
    ("b", pd.DataFrame({"b": ["b0", "b0", "b2"], "p": [0.2, 0.3, 0.5]}), SettingError, ["b", "twice", "b0"]),
    (
        "b",
        pd.DataFrame({"b": STATES["b"], "p": ["0.2", "0.3", "0.5"]}),
        ColumnError,
        ["p", "b"],
    ),
    ("b", pl.DataFrame({"b": STATES["b"], "p": [0.2, 0.8, None]}), SettingError, ["b", "nan", "b2"]),
    ("b", {pd.NA: 1}, UnseenState, ["b", "<NA>"]),
    ("x", [1], SettingError, ["x", "c", "a"]),
    (["x"], [1], SettingError, ["['x']", "c", "a"]),
]


@pytest.mark.parametrize(("name", "table", "kind", "message"), REFUSED)
def test_refused_by_name_and_nothing_changes(name, table, kind, message):
    network = family()
    before = network._network
    with refuses(kind, *message) as caught:
        network.set_cpt(name, table)
    assert isinstance(caught.value, BayeskitError)
    assert network._network is before


def test_a_table_too_large_is_refused_before_it_is_made():
    parents = [f"x{k}" for k in range(40)]
    network = BayesianNetwork({"y": parents}, states=["no", "yes"])
    with refuses(TooLarge, "x0", "y"):
        network.set_cpt("y", {("no",) * 40: [1, 0]})


def test_a_table_is_not_shared_with_who_gave_it():
    values = np.array([0.2, 0.3, 0.5])
    network = family()
    network.set_cpt("b", values)
    values[0] = 9.0
    assert network.cpt("b")["b0"] == 0.2
    with pytest.raises(ValueError, match="read-only"):
        network.cpt("b").values[0] = 1.0


def test_reading_what_is_not_there():
    network = BayesianNetwork({"a": [], "g": []}, states={"a": ["x"], "g": float})
    with refuses(UsageError, "a", "set_cpt"):
        network.cpt("a")
    with refuses(UsageError, "a", "set_cpt"):
        network.distribution("a")
    with refuses(UsageError, "g", "set_gaussian"):
        network.distribution("g")
    with refuses(SettingError, "g", "continuous", "distribution"):
        network.cpt("g")
    with refuses(SettingError, "g", "continuous", "set_gaussian"):
        network.set_cpt("g", [1.0])
    with refuses(SettingError, "z", "a", "g"):
        network.states("z")
    assert network.states("g") == () and network.is_continuous("g") and not network.is_continuous("a")


def test_the_way_out_of_a_wrong_sum_is_one():
    network = BayesianNetwork({"a": []}, states=["x", "y"])
    with refuses(SettingError, "a", 1.1, "normalize=True"):
        network.set_cpt("a", [0.5, 0.6])
    with refuses(SettingError, "a", "inf") as caught:
        network.set_cpt("a", [1e308, 1e308])
    assert "normalize" not in str(caught.value)  # dividing would not help
    with refuses(SettingError, "normalize", "no", True, False):
        network.set_cpt("a", [1, 1], normalize="no")


def test_a_name_that_is_nearly_a_node():
    network = BayesianNetwork({"rain": []}, states=["x", "y"])
    for ask in (network.states, network.cpt, lambda name: network.set_cpt(name, [1, 0])):
        with refuses(SettingError, "rian", "rain"):
            ask("rian")


def test_one_regression_is_no_mapping():
    network = BayesianNetwork({"g": []}, states=float)
    for wrong in ({}, {"x": 1}, {(): (0, 1)}):
        with refuses(SettingError, "g", "discrete", "intercept"):
            network.set_gaussian("g", wrong)
