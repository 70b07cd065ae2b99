"""Stacks: the weights, against another optimiser; the mixture with every class; rows read once more."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from bayeskit._data.encoded import Chunk
from bayeskit._fitting.leave_one_out import spread
from bayeskit._fitting.stack import (
    FLOOR,
    PENALTY,
    cross_fitted,
    log_mix,
    stack_weights,
    temperature_of,
    tempered,
)


def answers(rng, members, n, k):
    """Log-posteriors of members that know something of the class, each in its own way."""
    target = rng.integers(0, k, n)
    found = []
    for _ in range(members):
        logs = rng.normal(size=(n, k))
        logs[np.arange(n), target] += rng.uniform(-1.0, 3.0)
        found.append(tempered(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)), 1.0))
    return found, target


def loss(w, logs, target, weights):
    joint = sum(a * b for a, b in zip(w, logs, strict=True))
    norm = np.log(np.exp(joint).sum(axis=1))
    return weights @ (norm - joint[np.arange(len(target)), target]) + PENALTY * ((w - 1 / len(w)) ** 2).sum()


@given(st.integers(1, 60), st.integers(1, 5), st.integers(1, 4), st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_no_weights_are_better(n, members, k, seed):
    rng = np.random.default_rng(seed)
    logs, target = answers(rng, members, n, k)
    weights = rng.choice([0.5, 1.0, 30.0], n)
    found = stack_weights(logs, target, weights)
    assert (found.weights >= 0.0).all()
    best = minimize(
        loss,
        np.full(members, 1 / members),
        (logs, target, weights),
        "L-BFGS-B",
        bounds=[(0.0, None)] * members,
    )
    assert loss(found.weights, logs, target, weights) <= best.fun + 1e-6 * (1.0 + abs(best.fun))


def test_a_member_that_is_wrong_has_no_weight():
    right = np.log([[0.9, 0.1], [0.2, 0.8]])
    found = stack_weights([right, right[:, ::-1]], np.array([0, 1]), np.full(2, 5_000.0)).weights
    assert found[1] == 0.0 and found[0] > 1.0


def test_without_rows_all_are_alike():
    empty = np.empty((0, 3))
    found = stack_weights([empty, empty], np.empty(0, dtype=np.intp), np.empty(0))
    np.testing.assert_array_equal(found.weights, [0.5, 0.5])


def test_a_weight_is_a_repetition():
    rng = np.random.default_rng(0)
    logs, target = answers(rng, 3, 20, 3)
    often = rng.integers(1, 4, 20)
    twice = stack_weights(
        [np.repeat(a, often, axis=0) for a in logs], np.repeat(target, often), np.ones(often.sum())
    )
    np.testing.assert_allclose(
        stack_weights(logs, target, often.astype(float)).weights, twice.weights, atol=1e-9
    )


def test_log_posteriors_have_a_floor_before_their_temperature():
    found = np.exp(tempered(np.array([[0.0, -np.inf], [np.log(0.8), np.log(0.2)]]), 2.0))
    np.testing.assert_allclose(found[0, 1] / found[0, 0], np.exp(FLOOR / 2))
    np.testing.assert_allclose(found[1], np.array([2.0, 1.0]) / 3.0)


def scored(joint, target):
    log_mix(joint, np.full(len(joint), 1e12))
    return -joint[np.arange(len(target)), target].mean()


def test_a_fold_is_scored_by_weights_and_temperatures_of_the_others():
    rng = np.random.default_rng(0)
    logs, target = answers(rng, 3, 60, 3)
    fold, w = rng.integers(0, 4, 60), rng.choice([0.5, 1.0, 3.0], 60)
    found = cross_fitted(logs, [True, False, True], target, w, fold)
    for f in range(4):
        out = fold != f
        t = [temperature_of(logs[0][out], target[out], w[out]), 1.0]
        t.append(temperature_of(logs[2][out], target[out], w[out]))
        own = [tempered(a, b) for a, b in zip(logs, t, strict=True)]
        weights = stack_weights([a[out] for a in own], target[out], w[out]).weights
        wanted = sum(a * b for a, b in zip(weights, own, strict=True))
        np.testing.assert_allclose(found[~out], wanted[~out], atol=1e-12)


def test_weights_that_see_the_rows_are_hopeful_and_those_of_other_folds_are_not():
    """Members who know nothing: whatever the weights gain on their own rows is chance, and lost on others."""
    own, crossed = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        logs = [tempered(rng.normal(size=(40, 2)) * 0.5, 1.0) for _ in range(4)]
        target = rng.integers(0, 2, 40)
        own.append(scored(stack_weights(logs, target, np.ones(40)).log_shares, target))
        fold = np.arange(40) % 10
        crossed.append(scored(cross_fitted(logs, [False] * 4, target, np.ones(40), fold), target))
    # log 2 = 0.693 is all that can be known.
    assert np.mean(own) < np.mean(crossed) - 0.01
    assert np.mean(crossed) > np.log(2.0)


def test_every_class_has_its_share_of_one_row_in_n_and_two():
    joint = np.array([[0.0, -np.inf, -np.inf], [1.0, 1.0, 1.0]])
    log_mix(joint, np.array([8.0, 8.0]))
    np.testing.assert_allclose(np.exp(joint), [[0.9 + 0.1 / 3, 0.1 / 3, 0.1 / 3], [1 / 3] * 3])


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
