"""A graph and its states as users write them."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from bayeskit import BayesianNetwork
from bayeskit._graphs.dag import Dag
from bayeskit._networks.building import network_of
from bayeskit.errors import CyclicGraph, SettingError
from refusals import refuses

WET = {"rain": (), "sprinkler": (), "wet": ("rain", "sprinkler")}


class DiGraph:
    """What of networkx.DiGraph is used, for machines without networkx."""

    nodes = ("rain", "wet", "sprinkler")
    adj = ()

    def predecessors(self, node):
        return iter(WET[node])


class Graph:
    """An undirected networkx.Graph has no predecessors."""

    nodes, adj = ("a",), ()

    def __iter__(self):
        return iter(self.nodes)


@pytest.mark.parametrize(
    "given",
    [
        WET,
        {"wet": ["rain", "sprinkler"]},
        {"wet": np.array(["rain", "sprinkler"])},
        {"wet": {"rain", "sprinkler"}, "rain": None},
        [("rain", "wet"), ("sprinkler", "wet")],
        np.array([["rain", "wet"], ["sprinkler", "wet"]]),
        (arc for arc in (["rain", "wet"], ["sprinkler", "wet"])),
        Dag.of({"wet": ["rain", "sprinkler"]}, ["wet", "rain", "sprinkler"]),
        DiGraph(),
        network_of(WET),
        BayesianNetwork(WET),
    ],
    ids=lambda given: type(given).__name__,
)
def test_every_way_of_giving_a_graph_gives_the_same(given):
    assert network_of(given).dag.as_mapping() == WET


def test_nodes_come_in_the_order_given_and_parents_alone_after_them():
    assert network_of({"c": ["b", "a"], "d": ["c"]}).dag.nodes == ("c", "d", "b", "a")
    assert network_of([("b", "c"), ("a", "c")]).dag.nodes == ("b", "c", "a")
    assert network_of({"c": ["b", "a"]})["c"].parents == ("b", "a")
    assert network_of([("b", "c"), ("a", "c")])["c"].parents == ("b", "a")


@pytest.mark.parametrize(
    "name", ["self", "evidence", "class", "湿", "", " ", 3, ("a", 1), frozenset("ab"), True]
)
def test_any_hashable_can_be_a_node(name):
    network = network_of({"child": [name], name: []}, {name: ["no", "yes"]})
    assert network.dag.nodes == ("child", name)
    assert network[name].variable.states == ("no", "yes")


def test_one_name_may_stand_for_a_list_and_a_tuple_that_is_a_node_is_that_node():
    assert network_of({"b": "a"})["b"].parents == ("a",)
    assert network_of({"c": ("a", "b"), ("a", "b"): []})["c"].parents == (("a", "b"),)
    assert network_of({"c": ("a", "b")})["c"].parents == ("a", "b")


@pytest.mark.parametrize(
    ("states", "found"),
    [
        (["no", "yes"], ("no", "yes")),
        (range(3), (0, 1, 2)),
        (np.array([1.5, 2.5]), (1.5, 2.5)),
        (np.array([True, False]), (True, False)),
        ((Fraction(1, 2), "half"), (Fraction(1, 2), "half")),
        (["only"], ("only",)),
        (["None", "NA", ""], ("None", "NA", "")),
        ((s for s in "ab"), ("a", "b")),
    ],
)
def test_states_are_kept_in_order_and_as_they_are(states, found):
    network = network_of({"a": [], "b": []}, states)
    assert network["a"].variable.states == network["b"].variable.states == found
    assert [type(s) for s in network["a"].variable.states] == [type(s) for s in found]


@pytest.mark.parametrize("said", [float, "continuous"])
def test_continuous_nodes(said):
    assert not network_of({"a": []}, {"a": said})["a"].is_discrete
    assert not network_of({"a": []}, said)["a"].is_discrete
    mixed = network_of({"b": ["a"]}, {"a": ["x", "y"], "b": said})
    assert mixed["a"].is_discrete and not mixed["b"].is_discrete


def test_states_may_come_later():
    network = network_of({"b": ["a"]}, {"a": ["x"]})
    assert network["b"].is_discrete and network["b"].variable.size == 0
    assert network_of({"a": []}, {"a": None})["a"].variable.size == 0


REFUSED = [
    ({"a": ["b"], "b": ["c"], "c": ["a"]}, None, ["cycle", "'a' → 'c' → 'b' → 'a'"]),
    ({"a": ["a"]}, None, ["cycle", "'a' → 'a'"]),
    ([("a", "b"), ("b", "a")], None, ["cycle"]),
    ([("a", "b"), ("a", "b")], None, ["b", "a", "twice"]),
    ({"a": ["b", "b"]}, None, ["a", "b", "twice"]),
    (["ab"], None, ["ab"]),
    ([("a", "b", "c")], None, ["('a', 'b', 'c')"]),
    ([3], None, [3]),
    ("ab", None, ["str", "DiGraph"]),
    (7, None, ["int", "DiGraph"]),
    (Graph(), None, ["Graph", "DiGraph"]),
    ({"a": 3}, None, [3, "a"]),
    ({"a": b"bc"}, None, ["b'bc'", "a"]),
    ({None: []}, None, [None]),
    ({"a": [None]}, None, [None]),
    ({"a": {"b": 1}}, None, ["{'b': 1}", "a"]),
    ({"a": [["b"]]}, None, ["['b']"]),
    ([(["x"], "b")], None, ["['x']"]),
    ({float("nan"): []}, None, ["nan"]),
    ({"a": []}, {"b": ["x"]}, ["states=", "b", "a"]),
    (None, {"b": ["x"]}, ["states=", "b"]),
    ({"a": []}, {"a": []}, ["a"]),
    ({"a": []}, {"a": ["x", "x"]}, ["a", "x", "twice"]),
    ({"a": []}, {"a": [1, True]}, ["a", True, "twice"]),
    ({"a": []}, {"a": "yes"}, ["a", "yes"]),
    ({"a": []}, {"a": {"x", "y"}}, ["a", "list"]),
    ({"a": []}, {"a": 2}, ["a", 2]),
    ({"a": []}, {"a": int}, ["a", "<class 'int'>"]),
    ({"a": []}, {"a": ["x", None]}, [None, "a"]),
    ({"a": []}, {"a": ["x", float("nan")]}, ["nan", "a"]),
    ({"a": []}, {"a": [["x"]]}, ["['x']", "a"]),
    (network_of(WET), ["no", "yes"], ["states=", "set_states"]),
]


@pytest.mark.parametrize(("graph", "states", "message"), REFUSED)
def test_refused_by_name(graph, states, message):
    with refuses(SettingError, *message):
        network_of(graph, states)


def test_a_discrete_node_may_have_a_continuous_parent():
    network = network_of({"b": ["a", "c"]}, {"a": float, "b": ["x"], "c": ["y"]})
    assert network.softmax_nodes == ("b",) and network.numeric_parents(network["b"]) == ("a",)
    bare = network.without_softmax()
    assert bare["b"].parents == ("c",) and bare.softmax_nodes == ()
    assert network_of({"b": ["a"]}, float).softmax_nodes == ()


def test_a_cycle_is_named_in_the_direction_of_its_arcs():
    with pytest.raises(CyclicGraph) as caught:
        network_of({"b": ["a"], "c": ["b"], "a": ["c"], "d": ["a"]})
    cycle = caught.value.cycle
    arcs = {("a", "b"), ("b", "c"), ("c", "a")}
    assert set(pairwise(cycle)) == arcs and cycle[0] == cycle[-1]


def test_the_name():
    assert network_of(WET, name="grass").name == "grass"
    assert network_of(network_of(WET, name="grass")).name == "grass"
    assert network_of(network_of(WET, name="grass"), name="lawn").name == "lawn"
    with refuses(SettingError, "name=3"):
        network_of(WET, name=3)


def test_nothing_is_a_network_too():
    assert network_of().dag.nodes == network_of({}).dag.nodes == network_of([]).dag.nodes == ()


def test_a_chain_of_ten_thousand():
    network = network_of({k + 1: [k] for k in range(10_000)}, ["no", "yes"])
    assert len(network.nodes) == 10_001 and network[10_000].parents == (9_999,)
