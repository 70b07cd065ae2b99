"""GeNIe XDSL: tables, noisy-MAX and deterministic nodes keep what they are."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from bayeskit._graphs.network import Network, Node, continuous, discrete
from bayeskit._io.networks.xdsl import read_xdsl, xdsl_text
from bayeskit._networks.analysis.compare_networks import same_network
from bayeskit.errors import ModelFormatError, SettingError, SourceNote
from bayeskit.networks import Deterministic, LinearGaussian, NoisyMax, Table
from format_networks import GOLDEN, as_text, asymmetric, check_valid, networks, sample_files
from refusals import refuses, warns_of

GOOD = (GOLDEN / "asymmetric.xdsl").read_bytes()
NOISY = (GOLDEN / "noisy.xdsl").read_bytes()


def test_axes_come_in_the_order_of_the_format():
    assert read_xdsl(GOOD) == asymmetric()


def test_labels_positions_and_properties_are_kept():
    network = read_xdsl(GOOD)
    assert network.name == "A by hand"
    assert network["a"].notes == {"source": "a page", "label": "A label", "xdsl_position": "30 157 114 205"}
    assert network["c"].notes == {"xdsl_position": "84 46 160 82"}  # from inside a submodel
    again = read_xdsl(xdsl_text(network).encode())
    assert again.name == network.name
    assert [dict(n.notes) for n in again.nodes][::2] == [dict(n.notes) for n in network.nodes][::2]


# The columns of noisy.xdsl by parent state, over high, low, none.
EXPOSED = {"yes": (0.3, 0.5, 0.2), "no": (0, 0, 1)}
DOSE = {"heavy": (0.6, 0.3, 0.1), "light": (0.1, 0.15, 0.75), "zero": (0, 0, 1)}
LEAK = (0.01, 0.04, 0.95)


def test_noisy_max_means_what_genie_means():
    network = read_xdsl(NOISY)
    node = network["harm"]
    assert isinstance(node.distribution, NoisyMax)
    assert node.variable.states == ("high", "low", "none")  # as the file declares them
    assert not node.distribution.rising
    table = node.distribution.table()
    for (i, exposed), (j, dose) in product(
        enumerate(network["exposed"].variable.states), enumerate(network["dose"].variable.states)
    ):
        # Each cause and the leak bring something about on their own; the strongest, first in the file, is seen.
        wanted = dict.fromkeys(("high", "low", "none"), 0.0)
        for effects in product(range(3), repeat=3):
            p = EXPOSED[exposed][effects[0]] * DOSE[dose][effects[1]] * LEAK[effects[2]]
            wanted[("high", "low", "none")[min(effects)]] += p
        np.testing.assert_allclose(table[i, j], [wanted[s] for s in node.variable.states], atol=1e-15)


def test_children_of_a_noisy_max_node_are_as_the_file_has_them():
    network = read_xdsl(NOISY)
    seen = network["seen"].distribution.table()
    np.testing.assert_array_equal(seen, [[0.9, 0.1], [0.4, 0.6], [0.05, 0.95]])  # high, low, none
    alarm = network["alarm"].distribution
    assert isinstance(alarm, Deterministic)
    # harm (high, low, none) × exposed (yes, no): on = 0 unless harm is none, or low while not exposed
    np.testing.assert_array_equal(alarm.outcome, [[0, 0], [0, 1], [1, 1]])


def test_parameters_survive():
    network = read_xdsl(NOISY)
    text = xdsl_text(network)
    again = read_xdsl(text.encode())
    assert again == network
    assert text.count("<noisymax") == 1 and text.count("<deterministic") == 1


@given(networks())
@settings(max_examples=150, deadline=None)
def test_written_read_written_is_the_same(network):
    text = xdsl_text(network)
    back = read_xdsl(text.encode())
    assert xdsl_text(back) == text
    plain = as_text(network)
    assert sorted(n.name for n in back.nodes) == sorted(n.name for n in plain.nodes)
    assert same_network(back, plain)  # the parameters, not only the tables
    for again in back.nodes:
        node = plain[again.name]
        rises = isinstance(node.distribution, NoisyMax) and node.distribution.rising
        assert again.variable.states == node.variable.states[:: -1 if rises else 1]
        assert again.parents == node.parents
        assert type(again.distribution) is type(node.distribution)
        if isinstance(again.distribution, NoisyMax):
            assert not again.distribution.rising
    place = {node.name: k for k, node in enumerate(back.nodes)}
    assert all(place[p] < place[node.name] for node in back.nodes for p in node.parents)


def cpt(kind):
    return GOOD.replace(b'<cpt id="b">', f'<{kind} id="b"/><cpt id="d">'.encode())


def noisy(old, new):
    assert old in NOISY
    return NOISY.replace(old, new)


BAD = {
    **{
        kind: (cpt(kind), ["b", f"<{kind}>"])
        for kind in ("decision", "utility", "mau", "equation", "noisyadder")
    },
    "dynamic": (GOOD.replace(b"<nodes>", b"<dynamic/><nodes>"), [4, 2, "dynamic"]),
    "unknown parent": (GOOD.replace(b"a b</parents>", b"a z</parents>"), ["z", "c"]),
    "parent twice": (GOOD.replace(b"a b</parents>", b"b b</parents>"), ["c", 24, "3 × 3 × 4", 36]),
    "id twice": (GOOD.replace(b'<cpt id="b">', b'<cpt id="a">'), ["id", "a"]),
    "state twice": (GOOD.replace(b'"b1"', b'"b0"'), ["b", "b0", "twice"]),
    "no state id": (GOOD.replace(b'<state id="b1" />', b"<state />"), ["<state>", "id="]),
    "row sum": (GOOD.replace(b"0.2 0.5 0.3", b"0.2 0.5 0.5"), ["b", 1.2]),
    "text in numbers": (GOOD.replace(b"0.2 0.5 0.3", b"0.2 0.5 inf"), ["inf", "b"]),
    "no probabilities": (GOOD.replace(b"<probabilities>0.2 0.5 0.3</probabilities>", b""), ["<probabilities>"]),
    "no nodes": (b"<smile><nodes/></smile>", ["g.xdsl", "node"]),
    "other root": (b"<BIF/>", ["<BIF>", "<smile>"]),
    "parameters": (noisy(b"0.01 0.04 0.95", b"0.01 0.99"), ["harm", 17, "(2 + 3 + 1) × 3", 18]),
    "strengths": (noisy(b"0 1 2 0 1", b"0 1 2 0 0"), ["strengths", "harm"]),
    "strengths left over": (noisy(b"0 1 2 0 1", b"0 1 2 0 1 0"), ["strengths", "harm"]),
    "weakest has an effect": (noisy(b"0 0 1  0.6", b"0 0.5 0.5  0.6"), ["exposed", "no", "harm"]),
    "outcomes": (noisy(b"on on on off off off", b"on on"), ["alarm", 2, 6]),
    "unknown outcome": (noisy(b"on on on", b"on on up"), ["up", "alarm"]),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_refused_and_named(case):
    data, message = BAD[case]
    with refuses(ModelFormatError, *message):
        read_xdsl(data, "g.xdsl")


def test_strengths_default_to_the_declared_order():
    network = read_xdsl(NOISY.replace(b"<strengths>0 1 2 0 1</strengths>", b""))
    causes = network["harm"].distribution.causes
    np.testing.assert_array_equal(causes[1], [[0.6, 0.3, 0.1], [0.1, 0.15, 0.75], [0, 0, 1]])


def test_what_xdsl_cannot_hold_is_not_written():
    with refuses(SettingError, "x", "continuous", "XDSL"):
        xdsl_text(Network((Node(continuous("x"), (), LinearGaussian(0.0, [], 1.0)),)))
    a = Node(discrete("a", "no"), (), Table([0.5, 0.5]))
    b = Node(discrete("b", "no"), ("a",), NoisyMax(([[0.5, 0.5], [0.4, 0.6]],), [1, 0]))
    with refuses(SettingError, "a", "b", "XDSL", "set_cpt"):
        xdsl_text(Network((a, b)))
    # A state that brings about the strongest effect for sure is not one that brings about none.
    b = Node(discrete("b", "no"), ("a",), NoisyMax(([[1, 0], [0.4, 0.6]],), [0, 1], rising=False))
    with refuses(SettingError, "a", "b", "XDSL", "set_cpt"):
        xdsl_text(Network((a, b)))


def test_rising_states_are_written_strongest_first():
    a = Node(discrete("a", ["no", "yes"]), (), Table([0.75, 0.25]))
    b = Node(
        discrete("b", ["none", "mild", "high"]), ("a",), NoisyMax(([[1, 0, 0], [0.2, 0.3, 0.5]],), [1, 0, 0])
    )
    c = Node(
        discrete("c", ["none", "some"]), ("b",), NoisyMax(([[1, 0], [0.5, 0.5], [0.25, 0.75]],), [0.9, 0.1])
    )
    d = Node(discrete("d", "xy"), ("b",), Table([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]]))
    e = Node(discrete("e", "xy"), ("a", "b"), Deterministic([[0, 0, 1], [0, 1, 1]], 2))
    network = Network((a, b, c, d, e))
    back = read_xdsl(xdsl_text(network).encode())
    assert back["b"].variable.states == ("high", "mild", "none")
    assert back["b"].distribution == NoisyMax(([[0, 0, 1], [0.5, 0.3, 0.2]],), [0, 0, 1], rising=False)
    assert back["c"].distribution == NoisyMax(([[0.75, 0.25], [0.5, 0.5], [0, 1]],), [0.1, 0.9], rising=False)
    assert back["d"].distribution.table().tolist() == [[0.3, 0.7], [0.2, 0.8], [0.1, 0.9]]
    assert back["e"].distribution.outcome.tolist() == [[1, 0, 0], [1, 1, 0]]
    assert same_network(back, network)


def test_forty_causes_need_no_table():
    causes = [Node(discrete(f"p{k}", ["no", "yes"]), (), Table([0.5, 0.5])) for k in range(40)]
    effect = NoisyMax(tuple([[1.0, 0.0], [0.5, 0.5]] for _ in causes), [0.9, 0.1])
    network = Network((*causes, Node(discrete("y", ["no", "yes"]), tuple(c.name for c in causes), effect)))
    assert same_network(read_xdsl(xdsl_text(network).encode()), network)


def test_only_the_header_of_pyagrum_turns_the_order_of_parents():
    theirs = (GOLDEN / "pyagrum.xdsl").read_bytes()
    with warns_of(SourceNote, "pyAgrum"):
        turned = read_xdsl(theirs)["c"]
    assert turned.parents == ("b", "a")
    header = theirs[theirs.index(b"<!--") : theirs.index(b"-->") + 3]
    genies = theirs.replace(header, b"<!-- by hand -->")
    after = theirs.replace(header, b"").replace(b"<nodes>", b"<nodes>" + header)
    alone = b'<cpt id="a"><state id="s"/><probabilities>1</probabilities></cpt>'
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in (genies, after):
            plain = read_xdsl(text)["c"]
            assert plain.parents == ("a", "b")
            assert plain.distribution.table().ravel().tolist() == turned.distribution.table().ravel().tolist()
        read_xdsl(header + b'<smile id="n"><nodes>' + alone + b"</nodes></smile>")


@pytest.mark.parametrize("path", sample_files("formats", "*.xdsl"))
def test_samples_load_or_say_why(path):
    if path.name == "agrum_Pinball.xdsl":
        with refuses(ModelFormatError, "BusinessDecision", "<decision>"):
            read_xdsl(path.read_bytes(), path)
        return
    network = read_xdsl(path.read_bytes(), path)
    check_valid(network)
    assert len(network.nodes) == 14
    assert network["Benefits"].distribution.table()[0, 1, 0, 0] == 0.542
