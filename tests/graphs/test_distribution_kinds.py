"""What every kind of distribution of a node says of itself: the log-probability of rows, points, a constant."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bayeskit._graphs.distributions import Deterministic, LinearGaussian, NoisyMax, Softmax, Table

TABLE = Table([[0.8, 0.2], [0.25, 0.75]])
RULE = Deterministic([0, 1], 2)
NOISY = NoisyMax(([[1.0, 0.0], [0.25, 0.75]],), [0.5, 0.5])
ROWS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
NOTHING = np.empty((4, 0))


@pytest.mark.parametrize("given", [TABLE, RULE, NOISY], ids=lambda given: type(given).__name__)
def test_a_discrete_kind_says_what_its_table_says(given):
    with np.errstate(divide="ignore"):
        expected = np.log(given.table()[tuple(ROWS.T)])
    assert np.allclose(given.log_prob(ROWS, NOTHING), expected, rtol=1e-12)
    assert np.allclose(given.log_prob(ROWS), expected, rtol=1e-12)
    assert given.is_smooth and math.isnan(given.constant)


def test_a_regression_says_the_density_of_the_child():
    given = LinearGaussian([1.0, 2.0], [[0.5], [-1.0]], [4.0, 0.25])
    codes, numbers = np.array([[0], [1]]), np.array([[2.0, 5.0], [2.0, 0.5]])
    # Means 1 + 0.5·2 = 2 and 2 − 2 = 0; residuals 3 and 0.5.
    expected = [-0.5 * (math.log(2 * math.pi * 4) + 9 / 4), -0.5 * (math.log(2 * math.pi / 4) + 1)]
    assert np.allclose(given.log_prob(codes, numbers), expected, rtol=1e-12)
    mean, variance = given.moments(codes, numbers[:, :-1])
    assert mean.tolist() == [2.0, 0.0] and variance.tolist() == [4.0, 0.25]
    assert given.is_smooth and math.isnan(given.constant)


def test_without_variance_a_row_is_certain_or_impossible():
    point = LinearGaussian(3.0, np.zeros(0), 0.0)
    assert point.log_prob(np.empty((2, 0), int), np.array([[3.0], [4.0]])).tolist() == [0.0, -math.inf]
    assert not point.is_smooth and point.constant == 3.0
    copy = LinearGaussian(0.0, [1.0], 0.0)  # follows its parent, which may be anything
    assert copy.log_prob(np.empty((2, 0), int), np.array([[7.0, 7.0], [7.0, 8.0]])).tolist() == [
        0.0,
        -math.inf,
    ]
    assert not copy.is_smooth and math.isnan(copy.constant)
    assert math.isnan(LinearGaussian([1.0, 1.0], np.zeros((2, 0)), [0.0, 1.0]).constant)


def test_a_softmax_says_the_share_of_the_state():
    given = Softmax([[0.0, -3.0], [0.0, 1.0]], [[[0.0], [0.5]], [[0.0], [0.0]]])
    codes, numbers = np.array([[0, 1], [0, 0], [1, 1]]), np.array([[6.0], [10.0], [10.0]])
    shares = [0.5, 1 / (1 + math.exp(2.0)), 1 / (1 + math.exp(-1.0))]
    assert np.allclose(given.log_prob(codes, numbers), np.log(shares), rtol=1e-12)
    assert given.is_smooth and math.isnan(given.constant)
