"""Pools: the weights, the members' votes, rows read once more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from bayeskit._data.encoded import Chunk
from bayeskit._fitting.pool import pool_weights
from bayeskit._fitting.rows_again import spread


def objective(found, p, weights):
    """The log-likelihood that EM climbs, one imaginary row for each member included."""
    return weights @ np.log(p @ found) + np.log(np.maximum(found, 1e-300)).sum()


@given(st.integers(1, 30), st.integers(1, 4), st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_no_weights_are_better(n, members, seed):
    rng = np.random.default_rng(seed)
    p, weights = rng.uniform(0.01, 1.0, (n, members)), rng.choice([0.5, 1.0, 3.0], n)
    found = pool_weights(p, weights, 20_000)
    assert found.sum() == pytest.approx(1.0)

    def loss(free):
        share = np.exp(free - free.max())
        return -objective(share / share.sum(), p, weights)

    best = minimize(loss, np.zeros(members), method="BFGS")
    assert -objective(found, p, weights) <= best.fun + 1e-4


def test_weights_by_hand():
    # One member is always sure and right, the other never: of 8 rows and 2 imaginary ones it has 9.
    p = np.column_stack([np.ones(8), np.zeros(8)])
    np.testing.assert_allclose(pool_weights(p, np.ones(8)), [0.9, 0.1], atol=1e-6)


def test_a_weight_is_a_repetition():
    rng = np.random.default_rng(0)
    p, weights = rng.uniform(0.01, 1.0, (20, 3)), rng.integers(1, 4, 20)
    often = np.repeat(p, weights, axis=0)
    np.testing.assert_allclose(
        pool_weights(p, weights.astype(float)), pool_weights(often, np.ones(len(often))), atol=1e-12
    )


def test_no_rows_and_impossible_rows():
    np.testing.assert_allclose(pool_weights(np.empty((0, 4)), np.empty(0)), np.full(4, 0.25))
    found = pool_weights(np.zeros((3, 2)), np.ones(3))
    assert np.isfinite(found).all()
    assert found.sum() == pytest.approx(1.0)


def chunk(first, n):
    codes = np.arange(first, first + n)[:, None].astype(np.uint32)
    return Chunk(n, codes, np.empty((n, 0)))


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(1, 50))
@settings(max_examples=60, deadline=None)
def test_rows_are_spread_evenly(sizes, most):
    starts = np.concatenate([[0], np.cumsum(sizes)])
    chunks = [chunk(a, n) for a, n in zip(starts[:-1], sizes, strict=True)]
    (found,) = spread(chunks, lambda part: (part.codes[:, 0].copy(),), most)
    step = int(found[1] - found[0]) if len(found) > 1 else max(int(starts[-1]), 1)
    assert len(found) <= most
    assert found[0] == 0
    assert set(np.diff(found).tolist()) <= {step}
    if len(found) > 1:
        assert step & (step - 1) == 0
        assert int(starts[-1]) - int(found[-1]) <= step
