"""Networks and tables: columns to codes, rows to posteriors."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._graphs.network import discrete
from bayeskit._networks.arguments import Rows
from bayeskit.errors import (
    BayeskitError,
    ColumnError,
    DataError,
    DataTypeError,
    ImpossibleEvidence,
    SettingError,
    SuspectResult,
    UnseenState,
)
from network_twin import joint_table, margin, random_network, spare, with_evidence
from query_networks import asia, built, node, public, wet_grass
from refusals import refuses, warns_of

FORMS = {
    "lists": lambda columns: columns,
    "arrays": lambda columns: {n: np.array(c, dtype=object) for n, c in columns.items()},
    "pandas": pd.DataFrame,
    "pandas categories": lambda columns: pd.DataFrame(columns).astype("category"),
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "polars categories": lambda columns: pl.DataFrame(
        {n: pl.Series(n, c, dtype=pl.Categorical) for n, c in columns.items()}
    ),
    "pyarrow": pa.table,
}


def random_rows(rng, network, n_rows, missing):
    """Return columns of states with None here and there, and the codes with −1 there."""
    codes = np.column_stack([rng.integers(0, v.variable.size, n_rows) for v in network.nodes])
    codes[rng.random(codes.shape) < missing] = -1
    columns = {
        v.name: [None if c < 0 else v.variable.states[c] for c in codes[:, k].tolist()]
        for k, v in enumerate(network.nodes)
    }
    return columns, codes


def expected_rows(network, codes, target):
    """Answer row by row from the joint table; None where the row is impossible."""
    joint = joint_table(network)
    answers = []
    for row in codes.tolist():
        seen = {v: c for v, c in enumerate(row) if c >= 0 and v != target}
        table = margin(with_evidence(joint, seen), target)
        answers.append(table / table.sum() if table.sum() > 0 else None)
    return answers


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.1, 0.6]), st.sampled_from(sorted(FORMS)))
def test_rows_in_any_form_equal_enumeration(seed, missing, form):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n_nodes=int(rng.integers(2, 6)), max_states=3)
    columns, codes = random_rows(rng, network, 12, missing)
    asked = public(network)
    data = FORMS[form](columns)
    target = int(rng.integers(len(network.nodes)))
    name = network.nodes[target].name
    found = asked.predict_proba(data, name)
    assert np.allclose(found, expected_rows(network, codes, target), rtol=1e-11, atol=1e-13)
    assert np.allclose(asked.predict_proba(codes, name), found, rtol=1e-13, atol=0)
    joint = joint_table(network)
    logs = [
        math.log(with_evidence(joint, {v: c for v, c in enumerate(r) if c >= 0}).sum())
        for r in codes.tolist()
    ]
    assert np.allclose(asked.log_prob(data), logs, rtol=1e-11, atol=1e-12)
    assert np.allclose(asked.log_prob(codes), logs, rtol=1e-11, atol=1e-12)


def test_a_row_is_answered_alike_alone_and_among_others():
    rng = np.random.default_rng(5)
    network = random_network(rng, n_nodes=6, max_states=3, zeros=0.3)
    asked = public(network)
    columns, _ = random_rows(rng, network, 40, 0.15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SuspectResult)
        whole = asked.predict_proba(columns, "x2")
        for i in range(40):
            alone = asked.predict_proba({n: c[i : i + 1] for n, c in columns.items()}, "x2")
            assert np.allclose(alone[0], whole[i], rtol=1e-12, atol=1e-14)


def test_columns_absent_extra_and_of_the_target():
    grass = wet_grass()
    expected = grass.query("R", evidence={"B": "yes"}).values
    for data in (
        {"B": ["yes"]},
        {"B": ["yes"], "R": ["no"], "weekday": ["Monday"]},
        {"B": ["yes"], "R": ["nonsense"], "S": [None]},
        {"B": ["yes"], "when": [np.datetime64("2020-01-01")]},
        pd.DataFrame({"B": ["yes"], "when": [pd.Timestamp("2020-01-01")], "l": [[1, 2]]}),
    ):
        assert np.allclose(grass.predict_proba(data, "R"), [expected], atol=1e-15)
    assert np.allclose(
        grass.predict_proba({"weekday": ["Monday", "Tuesday"]}, "R"), [[0.8, 0.2]] * 2, atol=1e-15
    )
    assert grass.predict({"B": ["yes", "no"]}, "R").tolist() == ["yes", "no"]


@pytest.mark.parametrize(
    ("states", "column", "codes"),
    [
        (("None", "NA"), ["None", "NA", None], [0, 1, -1]),
        (("True", "False"), [True, False, True], [0, 1, 0]),
        (("true", "false"), np.array([True, False]), [0, 1]),
        (("0", "1"), [1.0, 0.0, math.nan], [1, 0, -1]),
        (("0.0", "1.0"), np.array([1.0, 0.0, np.nan]), [1, 0, -1]),
        (("0", "1"), np.array([1, 0], np.uint8), [1, 0]),
        ((1, 2), ["1", "2"], [0, 1]),
        ((1, 2), np.array([2.0, 1.0]), [1, 0]),
        (("a", "b"), np.array(["b", "a", "b"]), [1, 0, 1]),
        (("a", 1), np.array(["1", "a"]), [1, 0]),
        (("干", "湿"), ["湿", None], [1, -1]),
        (("nan", "inf"), ["nan", "inf"], [0, 1]),
        (("a", "b"), np.array(["b", "z"]), [1, -1]),
        (tuple(f"s{k}" for k in range(300)), ["s299", "s0", None], [299, 0, -1]),
        (tuple(f"s{k}" for k in range(300)), np.array(["s299", "s0"]), [299, 0]),
        (((1, 2), (3, 4)), [(3, 4), (1, 2)], [1, 0]),
    ],
)
def test_labels_match_states_as_evidence_does(states, column, codes):
    if isinstance(column, list) and isinstance(column[0], tuple):
        column = np.array([*column, None], dtype=object)[:-1]
    assert (
        Rows({"x": column}, [discrete("x", states)], "ignore").codes(0).tolist()
        == spare(codes, len(states)).tolist()
    )


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_numbers_and_truth_in_frames(make):
    frame = make({"f": [1.0, None, 0.0], "g": [1.0, None, 0.0], "b": [True, None, False], "i": [1, 0, 1]})
    variables = [
        discrete("f", ("0", "1")),
        discrete("g", ("0.0", "1.0")),
        discrete("b", ("false", "true")),
        discrete("i", ("0", "1")),
    ]
    rows = Rows(frame, variables, "error")
    assert [rows.codes(k).tolist() for k in range(4)] == [[1, 2, 0], [1, 2, 0], [1, 2, 0], [1, 0, 1]]


def test_categories_that_stand_in_no_row_are_no_error():
    frame = pd.DataFrame({"x": pd.Categorical(["b", None, "a"], categories=["z", "b", "a"])})
    assert Rows(frame, [discrete("x", ("a", "b"))], "error").codes(0).tolist() == [1, 2, 0]


def test_unknown_values_are_missing_or_refused():
    grass = wet_grass()
    data = {"B": ["yes", "soaked"], "J": ["yes", "yes"], "S": ["no", "maybe"]}
    found = grass.predict_proba(data, "R")
    assert np.allclose(found[1], grass.query("R", evidence={"J": "yes"}).values, atol=1e-15)
    with refuses(UnseenState, 1, "S", "maybe", 'unseen="ignore"'):
        grass.predict_proba(data, "R", unseen="error")
    # S lies outside the blanket of J, but whoever wants to hear of unknown values hears of all.
    with refuses(UnseenState, "S", "maybe"):
        grass.predict_proba({"R": ["yes", "no"], "S": ["no", "maybe"]}, "J", unseen="error")
    with refuses(UnseenState, 1, "S", "maybe"):
        grass.log_prob(data, unseen="error")
    assert np.allclose(grass.log_prob(data)[1], math.log(0.36), rtol=1e-13)


@pytest.mark.parametrize("complete", [True, False])
def test_impossible_rows_get_the_prior_and_one_warning(complete):
    grass = wet_grass()
    rain, joe = ["yes"] * 12 + ["no"], ["no"] * 12 + ["no"]
    data = {"R": rain, "J": joe, "B": ["yes"] * 13} if complete else {"R": rain, "J": joe}
    target = "S"
    if complete:  # the blanket of S is R and B; make the tables of that forbid the rows
        data["B"] = ["no"] * 12 + ["yes"]
    with warns_of(SuspectResult, 12, 13, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …", "S") as caught:
        found = grass.predict_proba(data, target)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert np.allclose(found[:12], [[0.9, 0.1]] * 12, atol=1e-15)
    assert not np.allclose(found[12], found[0]) or not complete
    with refuses(DataError, 0, 'impossible="prior"'):
        grass.predict_proba(data, target, impossible="error")
    with pytest.warns(SuspectResult) as caught:
        grass.predict(data, target)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert (grass.log_prob(data)[:12] == -math.inf).all() and np.isfinite(grass.log_prob(data)[12])


def test_strange_tables_are_refused_in_words():
    grass = wet_grass()
    for data, error, said in [
        (np.zeros((2, 3), int), ColumnError, [4, 3]),
        (np.zeros((2, 4)), ColumnError, ["columns", "names"]),
        (np.full((2, 4), 2), UnseenState, ["S", 2, 0, 1]),
        (np.full((2, 4), -2), UnseenState, ["S", -2, 0, 1]),
        ({"B": "yes"}, DataTypeError, ["B", "yes"]),
        ({"B": ["yes"], "J": ["yes", "no"]}, DataError, ["lengths", "[1, 2]"]),
        ({}, DataError, [0, "(0, 0)"]),
        ({"B": []}, DataError, [0, "(0, 1)"]),
        ("rows.csv", DataTypeError, ["str"]),
        (None, DataTypeError, ["NoneType"]),
    ]:
        with refuses(error, *said):
            grass.predict_proba(data, "R")
    for settings_ in ({"unseen": "smooth"}, {"impossible": None}):
        with refuses(SettingError, *settings_, "error"):
            grass.predict_proba({"B": ["yes"]}, "R", **settings_)
    with refuses(SettingError, "Q", "target"):
        grass.predict_proba({"B": ["yes"]}, "Q")
    assert issubclass(ImpossibleEvidence, BayeskitError)


def test_nodes_with_numbers_for_names():
    network = built(node(0, [], [0.3, 0.7], (0, 1)), node(1, [0], [[0.9, 0.1], [0.2, 0.8]], (0, 1)))
    expected = network.query(0, evidence={1: 1}).values
    for data in ({1: [1]}, {"1": ["1"]}, pd.DataFrame({1: [1]}), pl.DataFrame({"1": [1.0]})):
        assert np.allclose(network.predict_proba(data, 0), [expected], atol=1e-15)
    assert network.predict({1: [1, 0]}, 0).dtype.kind == "i"


def test_predicted_states_keep_their_types():
    network = built(node("x", [], [0.3, 0.2, 0.5], ("a", 1, (2, 3))))
    assert network.predict({"y": [1, 2]}, "x").tolist() == [(2, 3), (2, 3)]


def test_every_row_of_the_clinic():
    clinic = asia()
    names = clinic._network.dag.nodes
    rows = np.array(list(itertools.product((0, 1), repeat=8)))
    states = np.array(["no", "yes"])
    data = {name: states[rows[:, k]] for k, name in enumerate(names)}
    joint = joint_table(clinic._network)
    with np.errstate(divide="ignore"):
        assert np.allclose(clinic.log_prob(data), np.log(joint.ravel()), rtol=1e-12)
    assert math.isclose(np.exp(clinic.log_prob(data)).sum(), 1.0, rel_tol=1e-12)


def test_many_patterns_of_missing_cells_in_log_prob():
    network = random_network(np.random.default_rng(8), n_nodes=5, max_states=3)
    rng = np.random.default_rng(9)
    _, codes = random_rows(rng, network, 60, 0.4)
    joint = joint_table(network)
    logs = [
        math.log(with_evidence(joint, {v: c for v, c in enumerate(r) if c >= 0}).sum())
        for r in codes.tolist()
    ]
    assert np.allclose(public(network).log_prob(codes), logs, rtol=1e-11, atol=1e-12)
