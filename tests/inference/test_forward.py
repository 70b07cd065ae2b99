"""Forward sampling: frequencies are probabilities, seeds repeat, short samples begin long ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bayeskit._graphs.network import Network
from bayeskit._inference.potentials import Potentials
from bayeskit._inference.relevant import ancestral, topological
from bayeskit._inference.sampling import forward as forward_module
from bayeskit._inference.sampling.forward import Forward, draw
from network_twin import joint_table, random_network
from sampling_networks import asia, binary, chi_square, wet_grass


def slow_rows(network, order, uniforms):
    """The same by the definition: the first state whose cumulative probability exceeds the uniform number."""
    position = network.dag.position
    codes = np.zeros((len(uniforms), len(network.nodes)), np.int64)
    for row, numbers in zip(codes, uniforms, strict=True):
        for v, u in zip(order, numbers, strict=True):
            node = network.nodes[v]
            p = node.distribution.table()[tuple(row[position[q]] for q in node.parents)]
            row[v] = np.searchsorted(np.cumsum(p), u * p.sum(), side="right")
    return codes


@pytest.mark.parametrize("seed", range(12))
def test_equals_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n_nodes=7, zeros=0.3)
    forward = Forward.of(Potentials.of(network))
    uniforms = rng.random((300, 7))
    codes = np.zeros((300, 7), np.int64)
    forward.fill(uniforms, codes)
    np.testing.assert_array_equal(codes, slow_rows(network, forward.order, uniforms))


@pytest.mark.parametrize(
    "network", [wet_grass(), asia(), random_network(np.random.default_rng(3), zeros=0.2)]
)
def test_frequencies(network):
    codes = Forward.of(Potentials.of(network)).codes(50_000, np.random.default_rng(1))
    assert chi_square(codes, joint_table(network)) > 1e-3


def test_chi_square_can_fail():
    codes = Forward.of(Potentials.of(wet_grass())).codes(50_000, np.random.default_rng(1))
    other = Network((binary("R", [0.78, 0.22]), *wet_grass().nodes[1:]))
    assert chi_square(codes, joint_table(other)) < 1e-9


def test_short_samples_begin_long_ones(monkeypatch):
    forward = Forward.of(Potentials.of(asia()))
    long = forward.codes(1000, np.random.default_rng(5))
    np.testing.assert_array_equal(forward.codes(17, np.random.default_rng(5)), long[:17])
    monkeypatch.setattr(forward_module, "_AT_ONCE", 100)  # many pieces
    np.testing.assert_array_equal(forward.codes(1000, np.random.default_rng(5)), long)


def test_states_of_weight_zero_are_never_drawn():
    last = math.nextafter(1.0, 0.0)
    weights = np.array([9.0, 0.0, 0.1, 0.2, 0.0])  # the first is another table's
    assert draw(weights, 1, 4, 0.0) == 1
    assert draw(weights, 1, 4, last) == 2
    assert draw(weights, 1, 4, 0.34) == 2
    assert draw(weights, 1, 4, 0.33) == 1


def test_order_and_ancestors():
    rng = np.random.default_rng(0)
    network = random_network(rng, n_nodes=30, max_states=2)
    potentials = Potentials.of(network)
    place = {int(v): k for k, v in enumerate(topological(potentials))}
    assert len(place) == 30
    position = network.dag.position
    assert all(place[position[p]] < place[position[c]] for p, c in network.dag.arcs)
    network = asia()
    found = ancestral(Potentials.of(network), [5])
    assert [n.name for n, there in zip(network.nodes, found, strict=True) if there] == [
        "asia",
        "tub",
        "smoke",
        "lung",
        "either",
    ]


def test_a_chain_of_ten_thousand():
    nodes = [binary("x0", [0.5, 0.5])]
    nodes += [binary(f"x{k}", [[0.9, 0.1], [0.1, 0.9]], f"x{k - 1}") for k in range(1, 10_000)]
    codes = Forward.of(Potentials.of(Network(tuple(reversed(nodes))))).codes(20, np.random.default_rng(0))
    assert abs((np.diff(codes, axis=1) != 0).mean() - 0.1) < 0.005


def test_no_nodes_and_no_rows():
    assert Forward.of(Potentials.of(Network(()))).codes(3, np.random.default_rng(0)).shape == (3, 0)
    assert Forward.of(Potentials.of(asia())).codes(0, np.random.default_rng(0)).shape == (0, 8)
