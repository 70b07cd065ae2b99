"""Loopy belief propagation: exact on trees, close on loops, told when it does not settle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._graphs.network import FactorGraph, Network, Node, discrete
from bayeskit._inference.loopy import loopy
from bayeskit._inference.potentials import Contradiction, Evidence, Potentials
from bayeskit.networks import Factor, Table
from network_twin import joint_table, margin, with_evidence
from sampling_networks import asia, binary, evidence, exact, product, ring, wet_grass


def random_tree(rng, n, zeros):
    """Nodes with at most one parent: the factor graph has no loop. Several trees may stand side by side."""
    sizes = rng.integers(1, 4, n)
    nodes = []
    for k in range(n):
        parents = (int(rng.integers(k)),) if k and rng.random() < 0.85 else ()
        table = rng.dirichlet(np.ones(sizes[k]), [sizes[p] for p in parents])
        if sizes[k] > 1 and zeros:
            gone = rng.random(table.shape) < 0.3
            gone[..., 0] &= ~gone.all(axis=-1)
            table = np.where(gone, 0, table)
            table /= table.sum(axis=-1, keepdims=True)
        nodes.append(Node(discrete(k, range(sizes[k])), parents, Table(table)))
    return Network(tuple(nodes[k] for k in rng.permutation(n)))


@given(st.integers(0, 2**32), st.integers(1, 8), st.booleans(), st.sampled_from([0.0, 0.3]))
@settings(max_examples=150)
def test_exact_on_trees(seed, n, zeros, damping):
    rng = np.random.default_rng(seed)
    network = random_tree(rng, n, zeros)
    joint = joint_table(network)
    codes = {v: int(rng.integers(joint.shape[v])) for v in range(n) if rng.random() < 0.3}
    soft = {v: rng.random(joint.shape[v]) + 0.01 for v in range(n) if v not in codes and rng.random() < 0.3}
    wanted = with_evidence(joint, codes, soft)
    array = np.full(n, -1, np.int64)
    array[list(codes)] = list(codes.values())
    told = Evidence(array, soft)
    if not wanted.sum() > 0:
        with pytest.raises(Contradiction):
            loopy(Potentials.of(network), told, 500, 1e-12, damping)
        return
    found = loopy(Potentials.of(network), told, 500, 1e-12, damping)
    assert found.converged and (damping or found.n_iterations <= 2)
    close = {"atol": 1e-10 if damping else 1e-13}
    for v in range(n):
        np.testing.assert_allclose(found.of(v), margin(wanted, v) / wanted.sum(), **close)
    for parent, child in network.dag.arcs:
        pair = network.dag.position[child], network.dag.position[parent]
        np.testing.assert_allclose(found.joint(pair), margin(wanted, *pair) / wanted.sum(), **close)


@pytest.mark.parametrize(
    ("codes", "tol"), [({}, 0.01), ({"xray": 1}, 0.02), ({"asia": 1, "xray": 1}, 0.02), ({"smoke": 1}, 1e-9)]
)
def test_near_on_loops(codes, tol):
    """Once it is known who smokes, asia has no loop that information goes round."""
    network = asia()
    found = loopy(Potentials.of(network), evidence(network, codes), 1000, 1e-12)
    assert found.converged
    for v, name in enumerate(network.dag.nodes):
        np.testing.assert_allclose(found.of(v), exact(network, [name], codes), atol=tol)


def test_wet_grass_is_a_tree():
    found = loopy(Potentials.of(wet_grass()), evidence(wet_grass(), {"B": 1, "J": 1}), 10, 1e-12)
    np.testing.assert_allclose(found.of(1)[1], 43 / 268, rtol=1e-13)
    np.testing.assert_allclose(found.of(0)[1], 125 / 134, rtol=1e-13)


def test_markov_networks_with_loops():
    potentials = Potentials.of(ring(0.3))
    joint = product(potentials)
    found = loopy(potentials, Evidence.nothing(4), 1000, 1e-12)
    assert found.converged
    for v in range(4):
        np.testing.assert_allclose(found.of(v), margin(joint, v) / joint.sum(), atol=0.02)
    # One variable seen cuts the ring open.
    codes = np.array([-1, -1, 1, -1])
    seen = with_evidence(joint, {2: 1})
    found = loopy(potentials, Evidence(codes), 10, 1e-12)
    for v in range(4):
        np.testing.assert_allclose(found.of(v), margin(seen, v) / seen.sum(), atol=1e-13)


def test_what_does_not_settle_is_told():
    potentials = Potentials.of(ring(3.0, frustrated=True))
    assert not loopy(potentials, Evidence.nothing(4), 5, 1e-12).converged


def test_many_findings_do_not_underflow():
    # 400 findings speak ten to one for, 400 against: the logarithms of the products cancel.
    nodes = [binary("c", [0.3, 0.7])]
    nodes += [binary(f"x{k}", [[10 / 11, 1 / 11], [1 / 11, 10 / 11]], "c") for k in range(800)]
    network = Network(tuple(nodes))
    found = loopy(
        Potentials.of(network), evidence(network, {f"x{k}": k % 800 // 400 for k in range(800)}), 9, 1e-9
    )
    np.testing.assert_allclose(found.of(0), [0.3, 0.7], rtol=1e-9)


def test_impossible_evidence():
    for codes in ({"R": 1, "J": 0}, {"R": 0, "S": 0, "B": 1}):
        with pytest.raises(Contradiction):
            loopy(Potentials.of(wet_grass()), evidence(wet_grass(), codes), 100, 1e-9)


def test_a_factor_without_a_variable_that_is_zero():
    a = discrete("a", "xy")
    field = FactorGraph((a,), (Factor(("a",), ("xy",), [1.0, 2.0]), Factor((), (), np.array(0.0))))
    with pytest.raises(Contradiction):
        loopy(Potentials.of(field), Evidence.nothing(1), 100, 1e-9)


def test_a_chain_of_ten_thousand():
    nodes = [binary("x0", [0.5, 0.5])]
    nodes += [binary(f"x{k}", [[0.99, 0.01], [0.01, 0.99]], f"x{k - 1}") for k in range(1, 10_000)]
    network = Network(tuple(nodes))
    found = loopy(Potentials.of(network), evidence(network, {"x9999": 1}), 10, 1e-12)
    assert found.converged and found.n_iterations == 2
    np.testing.assert_allclose(found.of(9989)[1], 0.5 * (1 + 0.98**10), rtol=1e-12)


def test_no_common_table():
    found = loopy(Potentials.of(asia()), evidence(asia()), 100, 1e-9)
    assert found.joint((0, 4)) is None
    assert found.joint((5, 3)).shape == (2, 2)
