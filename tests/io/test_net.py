"""Hugin NET: axis order, attributes, normals, what is refused, and the same bytes after a round trip."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._graphs.network import Network, Node, continuous, discrete
from bayeskit._io.networks.bif import read_bif
from bayeskit._io.networks.net import net_text, read_net
from bayeskit._io.networks.raw import read_bytes
from bayeskit.errors import ModelFormatError
from bayeskit.networks import LinearGaussian, Table
from network_files import NETWORKS, check_asymmetric, check_valid, golden, in_words, networks
from refusals import refuses

HEAD = 'net { } node a { states = ("x" "y"); } node b { states = ("x" "y"); }'
DONE = HEAD + " potential (a) { data = (0.25 0.75); }\n"
MIXED = """net { } node d { states = ("x" "y"); } continuous node u { } continuous node v { label = "V"; }
potential (d) { data = (0.25 0.75); } potential (u) { data = normal (1, 4); }
"""


def test_the_axes_of_a_table():
    network = read_net(golden("asymmetric.net"))
    check_asymmetric(network)
    assert network.notes == {"node_size": "(80 40)", "HR_Desc": 'one "quoted" word'}
    assert network["a"].notes == {"label": "A?"} and network["c"].notes == {"position": "(10 20)"}


def test_the_same_network_in_net_and_in_bif():
    assert read_net(golden("asia.net")) == read_bif(golden("asia.bif"))


@pytest.mark.parametrize(
    "data",
    ["((0.1 0.9) (0.6 0.4))", "(0.1 0.9 0.6 0.4)", "((0.1, 0.9), (0.6, 0.4))", "((0.1 0.9) % x\n (0.6 0.4))"],
)
def test_ways_to_write_a_table(data):
    network = read_net(DONE + f"potential (b | a) {{ data = {data}; }}")
    assert np.array_equal(network["b"].distribution.table(), [[0.1, 0.9], [0.6, 0.4]])


def test_normals_are_linear_gaussian():
    network = read_net(MIXED + "potential (v | u d) { data = (normal (1 + 2 * u, 3) normal (u - 0.5, 0)); }")
    found = network["v"].distribution
    assert np.array_equal(found.intercept, [1, -0.5])
    assert np.array_equal(found.coefficients, [[2], [1]]) and np.array_equal(found.variance, [3, 0])
    assert network["v"].parents == ("u", "d")
    assert network["u"].distribution == LinearGaussian(1.0, [], 4.0)


@pytest.mark.parametrize(
    "data",
    [
        "normal (1, 1)",
        "(normal (1, 1) normal (2 * 3 4, 1))",
        "(normal (1, 1) normal (u * u, 1))",
        "(normal (1, -1) normal (1, 1))",
        "(normal (1, 1) normal (1 + d, 1))",
        "(normal (1, 1) normal (+ , 1))",
        "(normal (1, 1) normal (1e999, 1))",
        "(beta (1, 1) normal (1, 1))",
        "(normal (1, 1) normal (1 +, 1))",
        "(normal (1, 1) normal (exp(u), 1))",
        "((normal (1, 1)) (normal (1, 1)))",
        "(normal (1, x) normal (1, 1))",
    ],
)
def test_normals_that_are_refused(data):
    with refuses(ModelFormatError, 3, "v"):
        read_net(MIXED + f"potential (v | u d) {{ data = {data}; }}")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", ["n.net", 1]),
        ("class C { }", ["n.net", "object-oriented"]),
        ("net { }", ["n.net", "node"]),
        (DONE, [1, "b"]),
        (HEAD + "decision D { }", ["D", "decision"]),
        (DONE + "potential (b) { data = (1 0); } utility U { }", ["U", "utility"]),
        (HEAD + "utility U { }", ["U", "utility"]),
        (HEAD + "discrete utility U { }", ["U", "utility"]),
        (HEAD + "function node F { }", ["F", "function"]),
        (HEAD + "node", [1, 74]),
        (DONE + "potential (a) { data = (1 0); }", [2, "a"]),
        (DONE + "potential (b a) { data = (1 0); }", [2, 14, "b", "a"]),
        (DONE + "potential (b | c) { data = (1 0); }", ["c", "b"]),
        (DONE + "potential (b | b) { data = (1 0); }", ["b", "twice"]),
        (DONE + "potential (b) { data = (1 0); } potential (z) { data = (1 0); }", [2, "z"]),
        (DONE + "potential (b) { model_data = (1 0); }", [2, "b"]),
        (
            DONE + "potential (b | a) { data = ((1 0) (1 0 0)); }",
            [2, 4, 5],
        ),
        (DONE + "potential (b | a) { data = ((1 0 1) (0)); }", [2, 28]),
        (DONE + "potential (b | a) { data = ((1 0) (1 0); }", [2, 28]),
        (DONE + "potential (b) { data = (1 x); }", [2, "x"]),
        (DONE + "potential (b) { data = (2 6); }", [2, 25, "b", 8]),
        (DONE + "potential (b) { data = (1 0) }", [2, 31]),
        (DONE + "potential (b) { data = (1 0); data = (1 0); }", ["data", "twice"]),
        (HEAD + "node c { } potential (b) { data = (1 0); }", [1, "c"]),
        (DONE.replace('"x" "y"', '"x" "x"', 1), [1, 27, "a"]),
        (HEAD + "node a { }", [1, "a"]),
        (
            HEAD
            + "continuous node u { } potential (u) { data = normal (0, 1); } potential (a) { data = (1 0); } "
            "potential (b | u) { data = (1 0); }",
            [1, "b", "continuous"],
        ),
        (DONE + "potential (b) { data = (1 0); } node", [2, 33, "node"]),
    ],
)
def test_what_is_refused(text, says):
    with refuses(ModelFormatError, *says):
        read_net(text, "n.net")


@settings(max_examples=250, deadline=None)
@given(networks())
def test_written_read_and_written_again_is_the_same(network):
    text = net_text(network)
    again = read_net(text.encode())
    assert again == in_words(network) and again.name == network.name
    assert net_text(again) == text


numbers = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=100, deadline=None)
@given(st.lists(numbers, min_size=6, max_size=6), st.lists(st.floats(0, 1e300), min_size=2, max_size=2))
def test_normals_come_back_bit_for_bit(means, variances):
    numeric = LinearGaussian(np.reshape(means[:2], 2), np.reshape(means[2:], (2, 2)), variances)
    network = Network(
        (
            Node(discrete("d", ["x", "y"]), (), Table([0.5, 0.5])),
            Node(continuous("a b"), (), LinearGaussian(means[0], [], variances[0])),
            Node(continuous("b"), (), LinearGaussian(means[1], [], variances[1])),
            Node(continuous("湿"), ("a b", "d", "b"), numeric),
        )
    )
    text = net_text(network)
    again = read_net(text)
    assert again == network and net_text(again) == text


def test_attributes_of_the_potential_go_back_there():
    text = DONE + "potential (b | a) { data = ((1 0) (0 1)); experience = (10 20); }"
    network = read_net(text)
    assert network["b"].notes == {"experience": "(10 20)"}
    assert "    experience = (10 20);\n}" in net_text(network)


@pytest.mark.skipif(not NETWORKS.is_dir(), reason="the sample files are not here: set BAYESKIT_DATA")
class TestSamples:
    def test_rows_of_counts_need_normalize(self):
        data = read_bytes(NETWORKS / "formats" / "agrum_test1.net")
        with refuses(ModelFormatError, 86, 14, "C4", 100, "normalize=True"):
            read_net(data, "agrum_test1.net")
        assert np.array_equal(read_net(data, normalize=True)["C4"].distribution.table(), [0.1, 0.9])

    @pytest.mark.parametrize("name", ["agrum_alarm", "agrum_test2", "grain_chest_clinic", "grain_golf"])
    def test_the_others_load(self, name):
        check_valid(read_net(read_bytes(NETWORKS / "formats" / f"{name}.net")))

    def test_alarm_in_net_and_in_bif_is_one_network(self):
        net = read_net(read_bytes(NETWORKS / "formats" / "agrum_alarm.net"))
        bif = read_bif(read_bytes(NETWORKS / "formats" / "agrum_alarm.bif"))
        assert set(net.dag.nodes) == set(bif.dag.nodes)
        for node in net.nodes:
            other = bif[node.name]
            order = [*map(other.parents.index, node.parents), len(node.parents)]
            assert np.allclose(
                node.distribution.table(), other.distribution.table().transpose(order), atol=2e-6
            )
