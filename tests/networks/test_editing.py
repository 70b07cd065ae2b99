"""Nodes and arcs added, taken away, renamed; copies, comparison, intervention."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit import BayesianNetwork
from bayeskit._graphs.network import Network, Node, discrete
from bayeskit.errors import CyclicGraph, SettingError, UnseenState, UsageError
from bayeskit.networks import LinearGaussian, Table
from edits import after
from network_twin import joint_table, margin, random_network
from refusals import refuses

seeds = st.integers(0, 2**31)


def wet():
    network = BayesianNetwork({"rain": [], "wet": ["rain"]}, states=["no", "yes"], name="grass")
    network.set_cpt("rain", [0.8, 0.2])
    network.set_cpt("wet", [[0.9, 0.1], [0.25, 0.75]])
    return network


def random(seed, n_nodes=5):
    return BayesianNetwork(random_network(np.random.default_rng(seed), n_nodes))


def shuffled(network, rng):
    """Return the same network with its nodes, parents and states in another order."""
    turned = {v.name: rng.permutation(v.size) for v in (node.variable for node in network.nodes)}
    nodes = []
    for node in network.nodes:
        order = rng.permutation(len(node.parents))
        parents = [node.parents[k] for k in order]
        table = node.distribution.table().transpose([*order, len(order)])
        table = table[np.ix_(*(turned[name] for name in (*parents, node.name)))]
        states = [node.variable.states[k] for k in turned[node.name]]
        nodes.append(Node(discrete(node.name, states), tuple(parents), Table(table)))
    return Network(tuple(nodes[k] for k in rng.permutation(len(nodes))))


# --- edits ------------------------------------------------------------------------------------------------------


def test_add_node():
    network = wet()
    assert network.add_node("湿", ["a", "b", "c"], parents=["wet", "rain"]) is None
    assert network.nodes == ("rain", "wet", "湿") and network.parents("湿") == ("wet", "rain")
    assert network.states("湿") == ("a", "b", "c")
    assert after(network, "add_node", "h", float, "rain").is_continuous("h") and network.parents("h") == (
        "rain",
    )
    assert after(network, "add_node", "later").states("later") == ()
    with refuses(UsageError, "湿", "set_cpt"):
        network.cpt("湿")
    assert network.cpt("wet") == wet().cpt("wet")


def test_arcs_come_and_go_and_take_the_childs_table_with_them():
    network = wet()
    network.add_node("sprinkler", ["off", "on"])
    network.set_cpt("sprinkler", [0.5, 0.5])
    assert network.add_arc("sprinkler", "wet") is None
    assert network.parents("wet") == ("rain", "sprinkler")
    with refuses(UsageError, "wet", "set_cpt"):
        network.cpt("wet")
    assert network.cpt("rain")["yes"] == 0.2 and network.cpt("sprinkler")["on"] == 0.5
    network.set_cpt("wet", np.full((2, 2, 2), 0.5))
    network.remove_arc("rain", "wet")
    assert network.parents("wet") == ("sprinkler",) and network._network["wet"].distribution is None


def test_remove_node():
    network = wet()
    assert network.remove_node("rain") is None
    assert network.nodes == ("wet",) and network.parents("wet") == ()
    assert network._network["wet"].distribution is None
    leaf = wet()
    leaf.remove_node("wet")
    assert leaf.cpt("rain")["yes"] == 0.2


def test_rename_and_exchange():
    network = wet()
    network.rename({"rain": "wet", "wet": "rain"})
    assert network.nodes == ("wet", "rain") and network.parents("rain") == ("wet",)
    assert network.cpt("rain")["yes", "no"] == 0.25
    assert network._network.name == "grass"


@given(seeds)
def test_rename_there_and_back_is_equality(seed):
    network = random(seed)
    names = dict(zip(network.nodes, ["self", "evidence", "class", "湿", 7], strict=True))
    renamed = network.copy()
    renamed.rename(names)
    assert renamed != network and set(renamed.nodes) == set(names.values())
    assert after(renamed, "rename", {new: old for old, new in names.items()}) == network


def test_set_states_renames_by_position_and_keeps_the_numbers():
    network = wet()
    network.set_states("wet", ["dry", "soaked"])
    assert network.cpt("wet")["yes", "soaked"] == 0.75
    assert after(network, "set_states", "rain", {"yes": "rainy"}).states("rain") == ("no", "rainy")
    assert network.cpt("wet")["rainy", "dry"] == 0.25
    assert after(network, "set_states", "rain", {"no": "rainy", "rainy": "no"}).cpt("rain")["no"] == 0.2
    assert after(wet(), "set_states", "wet", ["no", "yes"]) == wet()


def test_set_states_declares_those_that_are_not_known():
    network = BayesianNetwork({"a": [], "g": []})
    assert after(network, "set_states", "a", ["x", "y"]).states("a") == ("x", "y")
    assert after(network, "set_states", "g", float).is_continuous("g")


FAILING = [
    (lambda n: n.add_node("rain", ["x"]), SettingError, ["node", "rain", "already"]),
    (lambda n: n.add_node(["x"]), SettingError, ["['x']"]),
    (lambda n: n.add_node("x", ["a", "a"]), SettingError, ["x", "a", "twice"]),
    (lambda n: n.add_node("x", ["a"], ["nowhere"]), SettingError, ["nowhere", "x"]),
    (lambda n: n.add_node("x", ["a"], ["x"]), SettingError, ["cycle", "'x' → 'x'"]),
    (lambda n: n.add_node("x", ["a"], 3), SettingError, [3, "x"]),
    (lambda n: n.add_arc("rain", "wet"), SettingError, ["arc", "rain", "wet", "already"]),
    (lambda n: n.add_arc("wet", "rain"), CyclicGraph, ["cycle", "'rain' → 'wet' → 'rain'"]),
    (lambda n: n.add_arc("rain", "rain"), CyclicGraph, ["cycle", "'rain' → 'rain'"]),
    (lambda n: n.add_arc("rain", "x"), SettingError, ["x", "rain", "wet"]),
    (lambda n: n.add_arc("x", "rain"), SettingError, ["x", "rain", "wet"]),
    (lambda n: n.add_arc(["x"], "rain"), SettingError, ["['x']", "rain", "wet"]),
    (lambda n: n.remove_arc("wet", "rain"), SettingError, ["arc", "wet", "rain"]),
    (lambda n: n.remove_arc("x", "rain"), SettingError, ["x", "rain", "wet"]),
    (lambda n: n.remove_node("x"), SettingError, ["x", "rain", "wet"]),
    (lambda n: n.rename({"x": "y"}), SettingError, ["x", "rain", "wet"]),
    (lambda n: n.rename({"rain": "wet"}), SettingError, ["nodes", "wet"]),
    (lambda n: n.rename({"rain": ["x"]}), SettingError, ["['x']"]),
    (lambda n: n.rename("rain"), SettingError, ["rain", "{old: new}"]),
    (
        lambda n: n.set_states("rain", ["a", "b", "c"]),
        SettingError,
        ["rain", 2, "no, yes", 3],
    ),
    (
        lambda n: n.set_states("rain", ["yes", "no"]),
        SettingError,
        ["rain", "no, yes", "set_states"],
    ),
    (lambda n: n.set_states("rain", ["a", "a"]), SettingError, ["rain", "a", "twice"]),
    (lambda n: n.set_states("rain", {"no": "yes"}), SettingError, ["rain", "yes", "twice"]),
    (lambda n: n.set_states("rain", {"maybe": "x"}), UnseenState, ["rain", "maybe"]),
    (lambda n: n.set_states("rain", float), SettingError, ["rain", "<class 'float'>"]),
    (lambda n: n.set_states("heat", ["a"]), SettingError, ["heat", "continuous"]),
    (lambda n: n.set_states("x", ["a"]), SettingError, ["x", "rain", "wet"]),
    (lambda n: n.do({"x": 1}), SettingError, ["x", "rain", "wet"]),
    (lambda n: n.do({"rain": "maybe"}), UnseenState, ["rain", "maybe"]),
    (lambda n: n.do({"heat": "hot"}), SettingError, ["heat", "hot"]),
    (lambda n: n.do({"heat": float("nan")}), SettingError, ["heat", "nan"]),
    (lambda n: n.do("rain"), SettingError, ["do", "rain", "{node: value}"]),
]


@pytest.mark.parametrize(("edit", "kind", "message"), FAILING)
def test_a_failing_edit_says_why_and_changes_nothing(edit, kind, message):
    network = wet()
    network.add_node("heat", float)
    network.set_gaussian("heat", 20, variance=4)
    before, copied = network._network, network.copy()
    with refuses(kind, *message):
        edit(network)
    assert network._network is before and network == copied


# --- copies and comparison --------------------------------------------------------------------------------------


@given(seeds, st.integers(0, 4))
def test_a_copy_is_equal_and_independent(seed, k):
    network = random(seed)
    copied = network.copy()
    assert copied == network and type(copied) is type(network)
    copied.remove_node(network.nodes[k])
    assert len(network.nodes) == 5 and copied != network and network == random(seed)


@given(seeds)
def test_order_does_not_matter_to_equality(seed):
    network = random(seed)
    other = BayesianNetwork(shuffled(network._network, np.random.default_rng(seed + 1)))
    assert network == other and other == network


@given(seeds, st.integers(0, 4))
def test_any_number_changed_is_seen(seed, k):
    network = random(seed)
    name = network.nodes[k]
    values = np.array(network.cpt(name).values)
    if values.shape[-1] == 1:
        return
    row = values.reshape(-1, values.shape[-1])[-1]
    row[:] = np.nextafter(row, 1.0)
    other = network.copy()
    other.set_cpt(name, values)
    assert other != network and network != other


def test_what_is_not_equal():
    assert wet() != after(wet(), "rename", {"rain": "snow"})
    assert wet() != after(wet(), "set_states", "rain", ["nein", "ja"])
    assert wet() != after(wet(), "remove_node", "wet")
    assert wet() != after(wet(), "remove_arc", "rain", "wet")
    assert wet() != BayesianNetwork({"wet": [], "rain": ["wet"]}, states=["no", "yes"])
    assert wet() != BayesianNetwork({"rain": [], "wet": ["rain"]}, states=["no", "yes"])
    assert wet() != "wet" and not wet() == None  # noqa: E711, SIM201
    assert BayesianNetwork({"a": []}, states=float) != BayesianNetwork({"a": []})
    with pytest.raises(TypeError, match="unhashable"):
        hash(wet())


def test_the_name_and_the_kind_of_a_table_do_not_matter_but_its_numbers():
    either = BayesianNetwork({"c": ["a", "b"]}, states=[0, 1])
    rule = either.copy()
    rule.set_deterministic("c", lambda a, b: a | b)
    noisy = either.copy()
    noisy.set_noisy_or("c", {"a": 1.0, "b": 1.0})
    table = either.copy()
    table.set_cpt("c", [[[1, 0], [0, 1]], [[0, 1], [0, 1]]])
    assert rule == noisy == table == rule
    assert noisy != after(either.copy(), "set_noisy_or", "c", {"a": 1.0, "b": 0.5})
    turned = BayesianNetwork({"c": ["b", "a"]}, states=[0, 1])
    assert after(turned.copy(), "set_noisy_or", "c", {"a": 0.25, "b": 0.5}) == after(
        either.copy(), "set_noisy_or", "c", {"a": 0.25, "b": 0.5}
    )
    assert after(turned, "set_noisy_or", "c", {"a": 0.5, "b": 0.25}) != after(
        either, "set_noisy_or", "c", {"a": 0.25, "b": 0.5}
    )


def test_equality_of_regressions():
    states = {"d": ["x", "y"], "e": ["p", "q", "r"], "u": float, "v": float, "w": float}
    said = {(d, e): (i, {"u": i + j, "v": j}, 1 + i) for i, d in enumerate("xy") for j, e in enumerate("pqr")}
    one = BayesianNetwork({"w": ["d", "u", "e", "v"]}, states=states)
    one.set_gaussian("w", said)
    turned = {**states, "d": ["y", "x"], "e": ["r", "p", "q"]}
    other = BayesianNetwork({"w": ["v", "e", "u", "d"]}, states=turned)
    other.set_gaussian("w", {(e, d): value for (d, e), value in said.items()})
    assert one == other and other == one
    said["y", "q"] = (1, {"u": 2, "v": 1.5}, 2)
    assert one != after(
        BayesianNetwork({"w": ["d", "u", "e", "v"]}, states=states), "set_gaussian", "w", said
    )


# --- intervention -----------------------------------------------------------------------------------------------


def test_do_cuts_the_arcs_and_leaves_the_network_as_it_was():
    network = wet()
    done = network.do({"wet": "yes"})
    assert network == wet() and type(done) is BayesianNetwork
    assert done.parents("wet") == () and done.cpt("wet").values.tolist() == [0, 1]
    assert done.cpt("rain") == network.cpt("rain")
    assert network.do({}) == network and network.do({}) is not network


@given(seeds, st.integers(0, 4))
def test_do_is_the_truncated_product(seed, k):
    """P(x | do(x_k)) is the joint distribution with the factor of x_k left out (Pearl's truncation)."""
    network = random(seed)
    node = network._network.nodes[k]
    done = network.do({node.name: node.variable.states[-1]})
    joint = joint_table(done._network)
    free = network._network.with_node(
        Node(discrete(node.name, node.variable.states), (), Table(np.ones(node.variable.size)))
    )
    expected = np.zeros_like(joint)
    last = [slice(None)] * joint.ndim
    last[k] = node.variable.size - 1
    expected[tuple(last)] = joint_table(free)[tuple(last)]
    assert joint == pytest.approx(expected, abs=1e-15)
    assert margin(joint, k)[-1] == pytest.approx(1.0)


@given(seeds, st.integers(0, 4))
def test_do_at_random_is_the_mixture_of_doing_each_state(seed, k):
    network = random(seed)
    node = network._network.nodes[k]
    shares = np.random.default_rng(seed).dirichlet(np.ones(node.variable.size))
    joint = joint_table(network.do({node.name: shares})._network)
    states = node.variable.states
    each = (joint_table(network.do({node.name: state})._network) for state in states)
    assert joint == pytest.approx(sum(p * one for p, one in zip(shares, each, strict=True)), abs=1e-15)
    by_state = dict(zip(states[::-1], shares[::-1].tolist(), strict=True))
    assert network.do({node.name: by_state}) == network.do({node.name: shares.tolist()})


def test_a_tuple_that_is_a_state_is_a_state():
    network = BayesianNetwork({"pair": []}, {"pair": [(0, 1), (1, 0)]})
    assert network.do({"pair": (0, 1)}).cpt("pair").values.tolist() == [1.0, 0.0]
    assert network.do({"pair": (0.5, 0.5)}).cpt("pair").values.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("given_", "error", "names"),
    [
        ([0.5, 0.25, 0.25], SettingError, ["rain", (3,), (2,)]),
        ([-0.5, 1.5], SettingError, ["rain", -0.5]),
        ([0.0, 0.0], SettingError, ["rain", 0.0]),
        ([0.5, 0.4], SettingError, ["rain", 0.9]),
        ({"no": 1.0}, SettingError, ["rain", "yes"]),
        ({"no": 0.5, "maybe": 0.5}, UnseenState, ["rain", "maybe"]),
        (["no", "yes"], SettingError, ["rain"]),
        ([np.nan, 1.0], SettingError, ["rain", "nan"]),
        ([], SettingError, ["rain", (0,)]),
    ],
    ids=str,
)
def test_what_is_no_distribution_cannot_be_done(given_, error, names):
    with refuses(error, *names):
        wet().do({"rain": given_})


def test_do_needs_states():
    with refuses(UsageError, "a", "set_states"):
        BayesianNetwork({"a": []}).do({"a": 1})


def test_do_a_continuous_node():
    network = BayesianNetwork({"b": ["a"]}, states=float)
    network.set_gaussian("a", 0, variance=1)
    network.set_gaussian("b", 1, {"a": 2}, 1)
    done = network.do({"b": np.float32(3)})
    assert done.distribution("b") == LinearGaussian(np.array(3.0), np.zeros(0), np.array(0.0))
    assert done.parents("b") == () and done.distribution("a") == network.distribution("a")


# --- size -------------------------------------------------------------------------------------------------------


def test_a_chain_of_ten_thousand_is_set_and_compared():
    network = BayesianNetwork({k + 1: [k] for k in range(10_000)}, states=["no", "yes"])
    for name in network.nodes:
        network.set_cpt(name, [[0.5, 0.5], [0.25, 0.75]] if network.parents(name) else [0.5, 0.5])
    assert network == after(after(network.copy(), "rename", {0: "first"}), "rename", {"first": 0})
    with pytest.raises(CyclicGraph) as caught:
        network.add_arc(10_000, 0)
    assert len(caught.value.cycle) == 10_002
