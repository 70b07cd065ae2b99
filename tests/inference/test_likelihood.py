"""The log probability of complete rows against the joint table, the dense normal and evidence on every node."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from bayeskit._graphs.network import Network, Node, continuous, discrete
from bayeskit._inference.gaussian.hybrid import Hybrid, HybridEvidence
from bayeskit._inference.lookup import log_prob
from bayeskit.errors import DataError
from bayeskit.networks import LinearGaussian, Table
from hybrid_twin import dense, random_hybrid
from network_twin import joint_table, random_network
from refusals import refuses


@pytest.mark.parametrize("seed", range(20))
def test_discrete_rows_are_cells_of_the_joint_table(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, 5, zeros=0.2)
    joint = joint_table(network)
    rows = np.array(list(np.ndindex(joint.shape)))
    np.testing.assert_allclose(np.exp(log_prob(network, rows)), joint.ravel(), atol=1e-14)


@pytest.mark.parametrize("seed", range(40))
def test_mixed_rows_agree_with_the_dense_normal(seed):
    rng = np.random.default_rng(seed)
    network = random_hybrid(rng, 3, 4)
    n = len(network.nodes)
    sizes = [node.variable.size or 1 for node in network.nodes]
    codes, values = rng.integers(0, sizes, (5, n)), rng.normal(0, 3, (5, n))
    found = log_prob(network, codes, values)
    for row in range(5):
        log, mean, covariance, places = dense(network, codes[row])
        expected = log + multivariate_normal(mean, covariance).logpdf(values[row, places])
        assert found[row] == pytest.approx(expected, rel=1e-9)
        # Evidence on every node is the same question.
        known = HybridEvidence(
            np.array(
                [c if node.is_discrete else -1 for c, node in zip(codes[row], network.nodes, strict=True)]
            ),
            np.array(
                [
                    math.nan if node.is_discrete else v
                    for v, node in zip(values[row], network.nodes, strict=True)
                ]
            ),
        )
        assert Hybrid(network).log_probability(known) == pytest.approx(found[row], rel=1e-10)


def test_by_hand_with_a_node_that_is_certain():
    network = Network(
        (
            Node(continuous("y"), ("c", "x"), LinearGaussian([1.0, 0.0], [[2.0], [0.1]], [0.25, 0.0])),
            Node(discrete("c", ("a", "b")), (), Table([0.4, 0.6])),
            Node(continuous("x"), (), LinearGaussian(0.0, [], 1.0)),
        )
    )
    codes = np.array([[-1, 0, -1], [-1, 1, -1], [-1, 1, -1]])
    values = np.array([[3.5, math.nan, 1.0], [0.1 * 3, math.nan, 3.0], [0.31, math.nan, 3.0]])
    expected = [
        math.log(0.4) + norm.logpdf(1.0) + norm.logpdf(3.5, 3.0, 0.5),
        math.log(0.6) + norm.logpdf(3.0),
        -math.inf,
    ]
    np.testing.assert_allclose(log_prob(network, codes, values), expected, rtol=1e-14)
    assert log_prob(network, codes[:0], values[:0]).shape == (0,)


def test_incomplete_rows_are_refused_by_node_and_row():
    network = Network(
        (
            Node(discrete("c", ("a", "b")), (), Table([0.4, 0.6])),
            Node(continuous("x"), (), LinearGaussian(0.0, [], 1.0)),
        )
    )
    whole = np.array([[0, 0], [1, 0]]), np.array([[0.0, 1.0], [0.0, math.nan]])
    with refuses(DataError, "x", "nan", 1):
        log_prob(network, *whole)
    with refuses(DataError, "c", 2, 0):
        log_prob(network, np.array([[2, 0]]), np.zeros((1, 2)))
    with refuses(DataError, "x", "continuous"):
        log_prob(network, np.array([[1, 0]]))
