"""The posterior as a network: it is the posterior, cell by cell."""

from __future__ import annotations

import numpy as np
import pytest

from bayeskit._graphs.network import FactorGraph, Network, discrete
from bayeskit._inference.potentials import Contradiction, Evidence, Potentials
from bayeskit._inference.sampling.forward import Forward, posterior_network
from bayeskit.errors import TooLarge
from bayeskit.networks import Factor
from network_twin import joint_table, random_network, with_evidence
from refusals import refuses
from sampling_networks import asia, binary, evidence, product, wet_grass


@pytest.mark.parametrize("seed", range(60))
def test_it_is_the_posterior(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n_nodes=6, max_states=3, zeros=0.25 * (seed % 3 > 0))
    joint = joint_table(network)
    codes = {
        int(v): int(rng.integers(joint.shape[v]))
        for v in rng.choice(6, int(rng.integers(0, 4)), replace=False)
    }
    soft = {v: rng.random(joint.shape[v]) for v in range(6) if v not in codes and rng.random() < 0.3}
    for likelihood in soft.values():
        likelihood[1:][rng.random(len(likelihood) - 1) < 0.4] = 0.0
    wanted = with_evidence(joint, codes, soft)
    array = np.full(6, -1, np.int64)
    array[list(codes)] = list(codes.values())
    given = Evidence(array, soft)
    if wanted.sum() == 0:
        with pytest.raises(Contradiction):
            posterior_network(Potentials.of(network), given, 2**30)
        return
    made = posterior_network(Potentials.of(network), given, 2**30)
    assert (made.child >= 0).all() and len(Forward.of(made).order) == 6
    np.testing.assert_allclose(product(made), wanted / wanted.sum(), atol=1e-13)


@pytest.mark.parametrize("seed", range(20))
def test_markov_networks(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, 5)
    variables = tuple(discrete(f"v{k}", range(s)) for k, s in enumerate(sizes))
    factors = []
    for _ in range(5):
        chosen = rng.choice(5, int(rng.integers(1, 4)), replace=False)
        values = rng.random([sizes[v] for v in chosen]) + 0.01
        factors.append(Factor([f"v{v}" for v in chosen], [range(sizes[v]) for v in chosen], values))
    potentials = Potentials.of(FactorGraph(variables, tuple(factors)))
    joint = product(potentials)
    made = posterior_network(potentials, Evidence.nothing(5), 2**30)
    np.testing.assert_allclose(product(made), joint / joint.sum(), atol=1e-13)


def test_thousands_of_observations_do_not_underflow():
    # 1500 children speak ten to one for "yes", then 1500 ten to one against: nothing is known.
    tables = [[[0.1, 0.01], [0.01, 0.1]], [[0.01, 0.1], [0.1, 0.01]]]
    rest = [[1 - 0.11] * 2] * 2  # a third state makes each finding improbable
    nodes = [binary("c", [0.3, 0.7])]
    for k in range(3000):
        table = np.column_stack([np.array(tables[k < 1500]), np.array(rest)[:, :1]])
        node = binary(f"x{k}", table, "c")
        nodes.append(type(node)(discrete(f"x{k}", "abc"), ("c",), node.distribution))
    network = Network(tuple(nodes))
    made = posterior_network(
        Potentials.of(network), evidence(network, {f"x{k}": 0 for k in range(3000)}), 2**30
    )
    table = made.table_of(0)
    np.testing.assert_allclose(table / table.sum(), [0.3, 0.7], rtol=1e-9)


def test_refused_before_it_is_made():
    # A child of 40 coins, observed, marries them all.
    coins = [binary(f"c{k}", [0.5, 0.5]) for k in range(60)]
    pairs = [
        binary(f"p{i}_{j}", np.full((2, 2, 2), 0.5), f"c{i}", f"c{j}") for i in range(60) for j in range(i)
    ]
    network = Network((*coins, *pairs))
    given = evidence(network, {node.name: 1 for node in pairs})
    with refuses(TooLarge, "c0", "max_memory="):
        posterior_network(Potentials.of(network), given, 2**30)


def test_evidence_that_cannot_be():
    with pytest.raises(Contradiction):
        posterior_network(Potentials.of(wet_grass()), evidence(wet_grass(), {"R": 1, "J": 0}), 2**30)
    with pytest.raises(Contradiction):
        posterior_network(Potentials.of(asia()), evidence(asia(), {"tub": 1, "either": 0}), 2**30)


def test_a_chain_of_ten_thousand_seen_at_its_end():
    nodes = [binary("x0", [0.5, 0.5])]
    nodes += [binary(f"x{k}", [[0.99, 0.01], [0.01, 0.99]], f"x{k - 1}") for k in range(1, 10_000)]
    network = Network(tuple(nodes))
    made = posterior_network(Potentials.of(network), evidence(network, {"x9999": 1}), 2**30)
    codes = Forward.of(made).codes(500, np.random.default_rng(0))
    assert codes[:, -1].all()
    exact = 0.5 * (1 + 0.98**10)  # ten steps before the end
    assert abs(codes[:, -11].mean() - exact) < 5 * np.sqrt(exact * (1 - exact) / 500)
