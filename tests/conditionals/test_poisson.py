"""The Poisson family against SciPy and against arithmetic by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import poisson

from bayeskit._conditionals.poisson import estimate_poisson
from bayeskit.errors import DataError, SettingError
from bayeskit.extending import Chunk
from refusals import refuses


def score(model, values, out=None):
    values = np.asarray(values, float)
    out = np.zeros((len(values), len(model.rates))) if out is None else out
    model.add_log_prob(Chunk(len(values), np.empty((len(values), 0), np.uint8), values), out)
    return out


def one(rates, column=0, name="calls"):
    """A model of one attribute with these rates."""
    rates = np.asarray(rates, float)[:, None]
    return estimate_poisson(np.ones_like(rates), rates, [column], (name,), alpha=0.0)


def test_worked_rates():
    # Class a: 3 rows, 6 calls; class b: 1 row, 6 calls. Pooled 12/4 = 3. One row at 3: (6 + 3)/4, (6 + 3)/2.
    weight, total = np.array([[3.0], [1.0]]), np.array([[6.0], [6.0]])
    assert estimate_poisson(weight, total, [0], ("calls",)).rates.ravel().tolist() == [2.25, 4.5]
    assert estimate_poisson(weight, total, [0], ("calls",), alpha=0.0).rates.ravel().tolist() == [2.0, 6.0]
    # λ = 2.25, x = 2: 2 ln 2.25 − 2.25 − ln 2.
    model = estimate_poisson(weight, total, [0], ("calls",))
    assert score(model, [[2.0]])[0, 0] == pytest.approx(2 * math.log(2.25) - 2.25 - math.log(2), abs=1e-14)


def test_a_class_without_values_has_the_pooled_rate():
    weight, total = np.array([[4.0], [0.0]]), np.array([[10.0], [0.0]])
    for alpha in (0.0, 1.0):
        assert estimate_poisson(weight, total, [0], ("calls",), alpha=alpha).rates[1] == 2.5


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_equals_scipy(n_classes, d, seed):
    rng = np.random.default_rng(seed)
    rates = np.exp(rng.uniform(-6, 6, (n_classes, d)))
    columns = rng.permutation(d + 2)[:d]
    model = estimate_poisson(np.full(rates.shape, 2.0), 2.0 * rates, columns, tuple("abcde"[:d]), alpha=0.0)
    values = np.full((50, d + 2), -5.0)
    values[:, columns] = rng.poisson(np.exp(rng.uniform(-6, 6, (50, d))))
    values[:, columns] = np.where(rng.random((50, d)) < 0.2, np.nan, values[:, columns])
    expected = np.zeros((50, n_classes))
    for c in range(n_classes):
        logs = poisson.logpmf(values[:, columns], rates[c])
        expected[:, c] = np.where(np.isnan(values[:, columns]), 0.0, logs).sum(axis=1)
    before = rng.normal(size=expected.shape)
    np.testing.assert_allclose(score(model, values, before.copy()) - before, expected, rtol=1e-10, atol=1e-9)


def test_rows_beyond_one_block():
    values = np.arange(5_000.0)[:, None] % 17
    np.testing.assert_allclose(score(one([4.0]), values), poisson.logpmf(values, 4.0), rtol=1e-12)


def test_probabilities_sum_to_one():
    logs = score(one([0.01, 3.0, 40.0]), np.arange(400.0)[:, None])
    np.testing.assert_allclose(np.exp(logs).sum(axis=0), 1.0, rtol=1e-12)


def test_between_the_integers_it_is_the_gamma_function():
    logs = score(one([2.0]), [[1.5]])
    assert logs[0, 0] == pytest.approx(1.5 * math.log(2) - 2 - math.lgamma(2.5), abs=1e-14)


def test_a_rate_of_zero_allows_nothing_but_zero():
    logs = score(one([0.0, 2.0]), [[0.0], [3.0], [math.nan]])
    assert logs[:, 0].tolist() == [0.0, -math.inf, 0.0]
    np.testing.assert_allclose(logs[:, 1], [-2.0, poisson.logpmf(3, 2.0), 0.0])


def test_an_attribute_never_above_zero_is_left_out():
    model = estimate_poisson(
        np.full((2, 2), 3.0), np.array([[0.0, 3.0], [0.0, 6.0]]), [0, 1], ("none", "some")
    )
    assert np.array_equal(score(model, [[7.0, 2.0]]), score(model, [[0.0, 2.0]]))
    empty = estimate_poisson(np.zeros((2, 1)), np.zeros((2, 1)), [0], ("none",))
    assert score(empty, [[4.0]]).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("value", [-1.0, -0.5, math.inf, -math.inf, 1e300])
def test_what_is_no_count_is_refused_by_name(value):
    with refuses(DataError, "calls", f"{value:g}", 1):
        score(one([1.0, 2.0], column=1), [[-9.0, 0.0], [0.0, value]])


def test_refused_beyond_the_first_block_too():
    values = np.zeros((5_000, 1))
    values[4_321] = -1.0
    with refuses(DataError, "calls", -1, 4321):
        score(one([1.0]), values)


def test_sums_that_are_no_counts_are_refused_by_name():
    with refuses(DataError, "debt", "2**53"):
        estimate_poisson(np.ones((2, 2)), np.array([[1.0, 1.0], [1.0, -2.0]]), [0, 1], ("calls", "debt"))
    with refuses(DataError, "distance", "2**53"):
        estimate_poisson(np.ones((2, 1)), np.full((2, 1), 1e20), [0], ("distance",))


def test_what_rounding_leaves_of_forgotten_rows_does_no_harm():
    model = estimate_poisson(
        np.array([[2.0], [0.0]]), np.array([[4.0], [-1e-13]]), [0], ("calls",), alpha=0.0
    )
    assert model.rates.ravel().tolist() == [2.0, 2.0]


@pytest.mark.parametrize("alpha", [-1.0, math.nan, math.inf])
def test_alpha_is_a_number_of_rows(alpha):
    with refuses(SettingError, f"alpha={alpha}"):
        estimate_poisson(np.ones((1, 1)), np.ones((1, 1)), [0], ("calls",), alpha=alpha)


def test_samples_have_the_rates():
    weight, total = np.ones((2, 2)), np.array([[1.0, 50.0], [9.0, 0.0]])
    model = estimate_poisson(weight, total, [0, 1], ("a", "b"), alpha=0.0)
    classes = np.repeat([0, 1], 20_000)
    drawn = model.sample(classes, np.random.default_rng(0))
    assert drawn.shape == (40_000, 2)
    for c in (0, 1):
        rows = drawn[classes == c]
        np.testing.assert_allclose(rows.mean(axis=0), total[c], atol=5 * np.sqrt(total[c].max() / 20_000))
        np.testing.assert_allclose(rows.var(axis=0), total[c], rtol=0.08)
