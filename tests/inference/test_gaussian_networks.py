"""Gaussian networks against the dense joint normal distribution, and long chains against recursions."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._graphs.network import Network, Node, continuous
from bayeskit._inference.gaussian.elimination import plan
from bayeskit._inference.gaussian.hybrid import Hybrid, HybridEvidence
from bayeskit.networks import LinearGaussian
from hybrid_twin import conditioned, dense
from outside import DATA
from work import check_growth


def random_gaussian(rng, n, max_parents=3, certain=0.0):
    order = rng.permutation(n)
    nodes = [None] * n
    for place, v in enumerate(order):
        chosen = rng.permutation(order[:place])[: rng.integers(0, min(place, max_parents) + 1)]
        variance = rng.uniform(0.3, 2.0) * (rng.random() >= certain)
        given = LinearGaussian(rng.normal(0, 3), rng.normal(0, 0.8, len(chosen)), variance)
        nodes[v] = Node(continuous(f"x{v}"), tuple(f"x{p}" for p in chosen), given)
    return Network(tuple(nodes))


def check(network, seen, values, tolerance=1e-9):
    n = len(network.nodes)
    _, mean, covariance, _ = dense(network, [-1] * n)
    # The oracle subtracts from the covariance before the evidence, and is good to that size only.
    width = covariance.max(initial=1.0)
    mean, covariance, log = conditioned(mean, covariance, seen, values)
    known = HybridEvidence.nothing(n)
    known.values[seen] = values
    engine = Hybrid(network)
    answers = engine.posteriors(known)
    scale = np.abs(mean).max() + 1.0
    assert answers.log_density == pytest.approx(log, rel=1e-9, abs=1e-8)
    assert engine.log_probability(known) == pytest.approx(log, rel=1e-9, abs=1e-8)
    found = np.array([[answers.continuous[v].mean, answers.continuous[v].variance] for v in range(n)])
    np.testing.assert_allclose(found[:, 0], mean, atol=tolerance * scale)
    np.testing.assert_allclose(found[:, 1], np.diagonal(covariance), atol=tolerance * width)
    targets = tuple(range(0, n, max(1, n // 4)))
    joint, _ = engine.joint(targets, known)
    np.testing.assert_allclose(np.ravel(joint.mean), mean[list(targets)], atol=tolerance * scale)
    expected = covariance[np.ix_(targets, targets)]
    np.testing.assert_allclose(np.reshape(joint.variance, expected.shape), expected, atol=tolerance * width)
    if len(targets) > 1:
        assert np.array_equal(joint.variances, joint.variances.transpose(0, 2, 1))
    mode = engine.mpe(known)
    np.testing.assert_allclose(mode.values, mean, atol=tolerance * scale)


@pytest.mark.parametrize("seed", range(120))
def test_random_networks_agree_with_the_dense_normal(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 13))
    seen = np.flatnonzero(rng.random(n) < rng.choice([0.0, 0.3, 0.7, 1.0]))
    check(random_gaussian(rng, n), seen, rng.normal(0, 3, len(seen)))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_nodes_without_noise_agree_with_the_dense_normal(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    network = random_gaussian(rng, n, certain=0.5)
    noisy = np.array([float(node.distribution.variance) > 0 for node in network.nodes])
    seen = np.flatnonzero(noisy & (rng.random(n) < 0.4))
    check(network, seen, rng.normal(0, 3, len(seen)), 1e-8)


@pytest.mark.parametrize("name", ["arth150", "ecoli70", "magic-irri", "magic-niab"])
def test_published_networks(name):
    path = DATA / "networks" / "gaussian_json" / f"{name}.json"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    told = json.loads(path.read_text())
    nodes = []
    for node in told["nodes"]:
        cpd = told["cpds"][node]
        slopes = [cpd["coefficients"][p][0] for p in cpd["parents"]]
        given = LinearGaussian(cpd["coefficients"]["(Intercept)"][0], slopes, cpd["variance"][0])
        nodes.append(Node(continuous(node), tuple(cpd["parents"]), given))
    network = Network(tuple(nodes))
    rng = np.random.default_rng(0)
    for share in (0.0, 0.1, 0.5):
        seen = np.flatnonzero(rng.random(len(nodes)) < share)
        _, mean, covariance, _ = dense(network, [-1] * len(nodes))
        check(network, seen, mean[seen] + np.sqrt(np.diagonal(covariance))[seen] * rng.normal(size=len(seen)))


def chain(n, noise=1.0):
    def node(i):
        return Node(
            continuous(f"x{i}"), (f"x{i - 1}",) if i else (), LinearGaussian(0.5, [0.9] if i else [], noise)
        )

    return Network(tuple(node(i) for i in range(n)))


def test_a_chain_of_ten_thousand():
    """Against the recursion mean ← 0.5 + 0.9 mean; and, with the last seen, against smoothing it backwards."""
    n = 10_000
    mean, variance = np.empty(n), np.empty(n)
    mean[0], variance[0] = 0.5, 1.0
    for i in range(1, n):
        mean[i], variance[i] = 0.5 + 0.9 * mean[i - 1], 1.0 + 0.81 * variance[i - 1]
    engine = Hybrid(chain(n))
    answers = engine.posteriors(HybridEvidence.nothing(n))
    np.testing.assert_allclose([answers.continuous[v].mean for v in range(n)], mean, rtol=1e-12)
    np.testing.assert_allclose([answers.continuous[v].variance for v in range(n)], variance, rtol=1e-12)

    known = HybridEvidence.nothing(n)
    known.values[-1] = 9.0
    answers = engine.posteriors(known)
    log = -0.5 * (math.log(2 * math.pi * variance[-1]) + (9.0 - mean[-1]) ** 2 / variance[-1])
    assert answers.log_density == pytest.approx(log, abs=1e-9)
    smooth, spread = 9.0, 0.0
    for i in range(n - 2, n - 200, -1):
        gain = 0.9 * variance[i] / variance[i + 1]
        smooth = mean[i] + gain * (smooth - mean[i + 1])
        spread = variance[i] + gain**2 * (spread - variance[i + 1])
        found = answers.continuous[i]
        assert (found.mean, found.variance) == pytest.approx((smooth, spread), rel=1e-10)


def test_a_long_chain_with_an_observation_beside_every_node():
    """A Kalman filter: the log density is the sum of the innovations' log densities."""
    n = 1500
    rng = np.random.default_rng(4)
    y = rng.normal(5, 2, n)
    seen = [Node(continuous(f"y{i}"), (f"x{i}",), LinearGaussian(0.0, [1.0], 0.25)) for i in range(n)]
    network = Network((*chain(n).nodes, *seen))
    known = HybridEvidence.nothing(2 * n)
    known.values[n:] = y
    answers = Hybrid(network).posteriors(known)
    mean, variance, log = 0.5, 1.0, 0.0
    for i in range(n):
        if i:
            mean, variance = 0.5 + 0.9 * mean, 1.0 + 0.81 * variance
        total = variance + 0.25
        log -= 0.5 * (math.log(2 * math.pi * total) + (y[i] - mean) ** 2 / total)
        mean, variance = mean + variance / total * (y[i] - mean), variance * 0.25 / total
    assert answers.log_density == pytest.approx(log, rel=1e-12)
    assert answers.continuous[n - 1].mean == pytest.approx(mean, rel=1e-12)
    assert answers.continuous[n - 1].variance == pytest.approx(variance, rel=1e-12)


@pytest.mark.parametrize("seen", [False, True])
def test_the_work_for_a_chain_is_linear(seen):
    def asking(n):
        engine, known = Hybrid(chain(n)), HybridEvidence.nothing(n)
        if seen:
            known.values[-1] = 9.0
        return lambda: engine.posteriors(known)

    check_growth(asking, 50)


def test_a_tree_of_causes_keeps_its_cliques_small():
    """Two thousand roots flow together in pairs: eliminated from the sink up, one clique would hold half of them."""
    nodes, layer, count = [], [f"r{i}" for i in range(2048)], 0
    nodes += [Node(continuous(name), (), LinearGaussian(1.0, [], 1.0)) for name in layer]
    while len(layer) > 1:
        merged = []
        for a, b in zip(layer[::2], layer[1::2], strict=True):
            count += 1
            merged.append(f"m{count}")
            nodes.append(Node(continuous(merged[-1]), (a, b), LinearGaussian(0.0, [0.5, 0.5], 0.0)))
        layer = merged
    network = Network(tuple(nodes))
    engine = Hybrid(network)
    known = HybridEvidence.nothing(len(nodes))
    planned = plan(engine.layout, engine._rows(engine.layout.continuous, known))
    assert max(len(step.near) for step in planned.steps) <= 3
    sink = engine.posteriors(known).continuous[len(nodes) - 1]
    assert (sink.mean, sink.variance) == pytest.approx((1.0, 1 / 2048))


def test_no_nodes_at_all():
    assert Hybrid(Network()).posteriors(HybridEvidence.nothing(0)) == ({}, {}, 0.0)


def test_a_steep_slope_and_a_tiny_variance():
    """a² is beyond the largest number, a² v = 1e240 is not."""
    nodes = (
        Node(continuous("x"), (), LinearGaussian(0.0, [], 1e-160)),
        Node(continuous("y"), ("x",), LinearGaussian(1.0, [1e200], 1.0)),
    )
    nothing = HybridEvidence(np.full(2, -1), np.full(2, np.nan))
    found, _ = Hybrid(Network(nodes)).joint((1,), nothing, 2**30)
    assert float(found.mean) == 1.0 and float(found.variance) == pytest.approx(1e240)
