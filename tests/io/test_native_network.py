"""Native JSON: every kind of node and label comes back exactly."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._data.file_reading import FileReading
from bayeskit._graphs.network import FactorGraph, Network, Node, continuous, discrete
from bayeskit._io.networks.native_json import native_text, read_native
from bayeskit._io.networks.normal_nodes import read_gaussian_json
from bayeskit.errors import ModelFormatError, SettingError
from bayeskit.networks import Factor, LinearGaussian, Table
from format_networks import DATA, GOLDEN, asymmetric, check_valid, mixed, networks, sample_files
from refusals import refuses

GOOD = (GOLDEN / "asymmetric.json").read_text()
GAUSSIAN = (GOLDEN / "gaussian.json").read_text()


def test_the_golden_file_is_read_and_written_as_it_is():
    assert read_native(GOOD) == asymmetric()
    assert native_text(read_native(GOOD)) == GOOD


def test_every_kind_comes_back():
    network = mixed()
    text = native_text(network)
    again = read_native(text)
    assert again == network
    assert again.notes == network.notes and again.name == "mixed"
    assert [type(s) for s in again[7].variable.states] == [bool, float, str, int]
    assert native_text(again) == text


@given(networks())
@settings(max_examples=150, deadline=None)
def test_written_read_written_is_the_same(network):
    text = native_text(network)
    back = read_native(text.encode())
    assert back == network
    assert [dict(n.notes) for n in back.nodes] == [dict(n.notes) for n in network.nodes]
    assert native_text(back) == text


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(0, 1e300))
def test_numbers_come_back_bit_for_bit(number, variance):
    network = Network((Node(continuous("x"), (), LinearGaussian(number, [], variance)),))
    back = read_native(native_text(network))["x"].distribution
    assert back.intercept.tobytes() == np.float64(number).tobytes()
    assert back.variance.tobytes() == np.float64(variance).tobytes()


def test_fields_come_back():
    a, b = discrete("a", [0, "x"]), discrete(("b", 1), [dt.date(2020, 1, 2), 1.0, True + 1])
    field = FactorGraph(
        (a, b),
        (Factor([b.name, "a"], [b.states, a.states], [[0, 1e-300], [1 / 3, 2], [3, 4]]), Factor([], [], 2.0)),
        "f",
        {"k": "v"},
    )
    again = read_native(native_text(field))
    assert again == field and again.notes == {"k": "v"}
    assert [type(s) for s in again.variables[1].states] == [dt.date, float, int]


READING = FileReading(
    separator=";",
    missing_in={"a": ("gone",)},
    marks={"a": ("NA",)},
    kinds={"a": "float64", "b": "str"},
    spellings={"a": "comma"},
    left_out={"id": "identifier"},
    telling={"a": 0.99},
    telling_of={"b": {"a": 0.98}},
)


def test_how_a_file_was_read_comes_back():
    network = replace(asymmetric(), reading=READING)
    text = native_text(network)
    again = read_native(text)
    assert again.reading == READING and native_text(again) == text
    assert read_native(GOOD).reading is None
    older = json.loads(text)
    del older["reading"]["telling_of"]
    assert read_native(json.dumps(older)).reading == replace(READING, telling_of={})


@pytest.mark.parametrize(
    "change",
    [
        {"kinds": {"a": "complex"}}, {"kinds": ["a"]}, {"marks": {"a": "NA"}}, {"marks": {"a": [1]}},
        {"missing": "gone"}, {"missing_in": 3}, {"spellings": {"a": "roman"}}, {"left_out": {"id": "boring"}},
        {"telling": {"a": "most"}}, {"telling": {"a": 2}}, {"telling": {"a": True}}, {"separator": 1}, {"more": 1},
        {"telling_of": {"b": 0.98}}, {"telling_of": {"b": {"a": 2}}},
    ],
)  # fmt: skip
def test_a_reading_that_is_none_is_refused(change):
    plain = json.loads(native_text(replace(asymmetric(), reading=READING)))
    plain["reading"] |= change
    with refuses(ModelFormatError, "read"):
        read_native(json.dumps(plain))


def test_an_empty_network_comes_back():
    assert read_native(native_text(Network())) == Network()


@pytest.mark.parametrize("label", [None, float("nan")])
def test_missing_is_no_label(label):
    with refuses(SettingError, "x", "missing"):
        native_text(Network((Node(discrete("x", ["a", label]), (), Table([0.5, 0.5])),)))


def changed(**changes):
    plain = json.loads(GOOD)
    for path, value in changes.items():
        *way, last = [int(p) if p.isdigit() else p for p in path.split("__")]
        at = plain
        for step in way:
            at = at[step]
        at[last] = value
    return json.dumps(plain)


BAD = {
    "format": (changed(format="other"), ["format", "bayeskit network"]),
    "list": ("[]", ["format", "bayeskit network"]),
    "newer": (changed(version=2), ["version", 2, 1]),
    "boolean version": (changed(version=True), ["version", True]),
    "kind": (changed(kind="decision"), ["kind", "decision"]),
    "name": (changed(name=3), ["name", "str"]),
    "nodes": (changed(nodes={}), ["nodes", "list"]),
    "notes": (changed(notes={"a": 1}), ["notes", "network"]),
    "node": (changed(nodes__0=7), ["variable", "name"]),
    "null name": (changed(nodes__0__name=None), [None, "missing"]),
    "list name": (changed(nodes__0__name=["a"]), ["['a']", "name"]),
    "strange type": (changed(nodes__0__name={"pickle": "x"}), ["pickle"]),
    "name twice": (changed(nodes__0__name="b"), ["nodes", "b"]),
    "null state": (changed(nodes__0__states__0=None), [None, "a", "missing"]),
    "state twice": (changed(nodes__0__states=[1, True]), ["a", True, "twice"]),
    "states": (changed(nodes__0__states="ab"), ["states", "a"]),
    "parent": (changed(nodes__2__parents=["a", "z"]), ["z", "c"]),
    "parent twice": (changed(nodes__2__parents=["a", "a"]), ["c", 24, "2 × 2 × 4", 16]),
    "self": (changed(nodes__0__parents=["a"], nodes__0__distribution__rows=[[0.5, 0.5]] * 2), ["cycle", "'a' → 'a'"]),
    "row": (changed(nodes__0__distribution__rows=[[0.5]]), ["a", 2]),
    "rows": (changed(nodes__0__distribution__rows=[[0.5, 0.5]] * 2), ["a", 4, 2]),
    "text": (changed(nodes__0__distribution__rows=[["0.5", 0.5]]), ["a", "number"]),
    "boolean": (changed(nodes__0__distribution__rows=[[True, 0.0]]), ["a", "number"]),
    "sum": (changed(nodes__0__distribution__rows=[[0.5, 0.6]]), ["a", 1.1]),
    "negative": (changed(nodes__0__distribution__rows=[[-0.5, 1.5]]), ["a", -0.5]),
    "huge": (changed(nodes__0__distribution__rows=[[10**400, 0]]), ["a", "number"]),
    "infinite": (GOOD.replace("0.7]]", "1e999]]"), ["a", "finite"]),
    "NaN": (GOOD.replace("0.7]]", "NaN]]"), ["NaN", "JSON"]),
    "Infinity": (GOOD.replace("0.7]]", "Infinity]]"), ["Infinity", "JSON"]),
    "distribution kind": (changed(nodes__0__distribution__kind="magic"), ["a", "magic"]),
    "distribution": (changed(nodes__0__distribution=7), ["kind", "str"]),
    "gaussian states": (changed(nodes__0__distribution__kind="linear-gaussian"), ["a", "linear-gaussian"]),
    "outcomes": (changed(nodes__0__distribution={"kind": "deterministic", "outcomes": [2]}), ["a", 0, 1]),
    "outcome": (changed(nodes__0__distribution={"kind": "deterministic", "outcomes": []}), ["a", 0, "outcomes", 1]),
    "causes": (changed(nodes__0__distribution={"kind": "noisy-max", "causes": [[]], "leak": [1, 0]}), ["a", "parents"]),
    "leak": (changed(nodes__0__distribution={"kind": "noisy-max", "causes": [], "leak": [1]}), ["a", 2]),
    "rising": (
        changed(nodes__0__distribution={"kind": "noisy-max", "causes": [], "leak": [1, 0], "rising": 1}),
        ["a", "rising", "bool"],
    ),
    "key twice": (GOOD.replace('"name": "asymmetric"', '"name": "x", "name": "y"'), ["key", "name", "twice"]),
    "deep": ("[" * 100_000, ["n.json", "deeply"]),
    "digits": ('{"a": ' + "1" * 5000 + "}", ["n.json", "read"]),
    "cut": (GOOD[:-3], [10, "JSON"]),
    "more": (GOOD + "{}", [12, 1, "JSON"]),
    "nothing": ("", [1, "JSON"]),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_refused_and_named(case):
    text, message = BAD[case]
    with refuses(ModelFormatError, *message) as error:
        read_native(text, "n.json")
    assert error.value.path == "n.json"


def test_a_continuous_parent_of_a_discrete_child_is_refused():
    text = native_text(mixed()).replace(
        '"name": "湿", "states": [0, 1], "parents": ["d"]', '"name": "湿", "states": [0, 1], "parents": ["g"]'
    )
    with refuses(ModelFormatError, "湿", "g", "continuous"):
        read_native(text)


def test_linear_gaussian_json():
    network = read_gaussian_json(GAUSSIAN)
    assert network["y"].parents == ("x",)
    assert network["y"].distribution == LinearGaussian(-2.0, [0.5], 4.0)
    assert read_native(native_text(network)) == network


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"x": [0.5]', '"z": [0.5]', ["y", "coefficients"]),
        ('"x": [0.5]', '"x": [0.5, 1]', ["y", "coefficient"]),
        ('"variance": [4]', '"variance": [-4]', ["variance", "y"]),
        ('"variance": [4]', '"variance": [true]', ["variance", "y"]),
        ('"variance": [4]', '"variance": [1e999]', ["variance", "y"]),
        ('[["x", "y"]]', "[]", ["arcs", "cpds"]),
        ('[["x", "y"]]', '[["y", "x"]]', ["arcs", "cpds"]),
        ('"nodes": ["x", "y"]', '"nodes": ["x"]', ["cpds", "node"]),
        ('"nodes": ["x", "y"]', '"nodes": ["x", "y", "y"]', ["nodes", "y"]),
        ('"nodes"', '"knots"', ["nodes", "arcs", "cpds"]),
    ],
)
def test_odd_linear_gaussian_json_is_refused(old, new, message):
    assert old in GAUSSIAN
    with refuses(ModelFormatError, *message):
        read_gaussian_json(GAUSSIAN.replace(old, new))


@pytest.mark.parametrize("path", sample_files("gaussian_json", "*.json"))
def test_linear_gaussian_samples_load(path):
    network = read_gaussian_json(path.read_bytes(), path)
    check_valid(network)
    plain = json.loads(path.read_text())
    assert len(network.nodes) == len(plain["nodes"]) and len(network.dag.arcs) == len(plain["arcs"])
    for node in network.nodes:
        given = plain["cpds"][node.name]["coefficients"]
        assert [given[p][0] for p in node.parents] == node.distribution.coefficients.tolist()


def test_samples_are_looked_for_where_the_variable_says():
    assert DATA.is_absolute()
