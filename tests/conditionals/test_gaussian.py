"""The Gaussian family against scipy, scikit-learn's rule and worked numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from bayeskit._conditionals.gaussian import estimate_gaussian
from bayeskit._counting.count_moments import count_moments
from bayeskit.errors import InfiniteValue
from bayeskit.extending import Chunk
from bayeskit.statistics import Schema, Variable
from refusals import refuses


def chunk_of(values, target=None, weights=None):
    values = np.ascontiguousarray(values, dtype=float)
    return Chunk(len(values), np.empty((len(values), 0), np.uint8), values, target=target, weights=weights)


def fitted(values, target, classes=2, **settings):
    values = np.asarray(values, dtype=float).reshape(len(target), -1)
    names = tuple(f"x{j}" for j in range(values.shape[1]))
    variables = tuple(Variable(name, "numeric") for name in names)
    schema = Schema(variables, Variable("y", "categorical", tuple(range(classes))))
    moments = count_moments(chunk_of(values, np.asarray(target, np.uint32)), schema, names)
    return estimate_gaussian(moments, np.arange(len(names)), **settings)


def slow_log_density(gaussian, values):
    """The slow twin: one scipy call for each number."""
    out = np.zeros((len(values), len(gaussian.mean)))
    for i, row in enumerate(values):
        for k in range(len(gaussian.mean)):
            for j in np.flatnonzero(gaussian.used):
                if not np.isnan(row[j]):
                    out[i, k] += norm.logpdf(row[j], gaussian.mean[k, j], gaussian.deviation[k, j])
    return out


rng = np.random.default_rng(3)
TARGET = rng.integers(0, 3, 400)
VALUES = rng.normal(size=(400, 4)) * [1, 5, 0.1, 30] + TARGET[:, None]


@pytest.mark.parametrize("rows", [1, 2, 63, 64, 65, 200])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_equals_the_slow_twin(rows, missing):
    gaussian = fitted(VALUES, TARGET, 3)
    values = VALUES[:rows].copy()
    values[np.random.default_rng(rows).random(values.shape) < missing] = np.nan
    np.testing.assert_allclose(gaussian.log_density(values), slow_log_density(gaussian, values), rtol=1e-12)


def test_adds_to_what_is_there_from_the_columns_it_was_told():
    gaussian = fitted(VALUES[:, :2], TARGET, 3)
    placed = type(gaussian)(
        gaussian.mean,
        gaussian.mean_low,
        gaussian.variance,
        gaussian.deviation,
        gaussian.used,
        np.array([3, 1]),
    )
    wide = rng.normal(size=(90, 4))
    wide[5, 3] = np.nan
    wide[7, :] = np.nan
    wide[9, 1] = 1e200
    before = rng.normal(size=(90, 3))
    out = before.copy()
    placed.add_log_prob(chunk_of(wide), out)
    np.testing.assert_allclose(out, before + gaussian.log_density(wide[:, [3, 1]]), rtol=1e-12)
    np.testing.assert_array_equal(out[7], before[7])
    assert np.isfinite(out).all()


def test_variances_are_those_of_numpy():
    gaussian = fitted(VALUES, TARGET, 3)
    unbiased = fitted(VALUES, TARGET, 3, unbiased=True)
    for c in range(3):
        rows = VALUES[np.equal(TARGET, c)]
        np.testing.assert_allclose(gaussian.mean[c], rows.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(gaussian.variance[c], rows.var(axis=0), rtol=1e-12)
        np.testing.assert_allclose(unbiased.variance[c], rows.var(axis=0, ddof=1), rtol=1e-12)


def test_agrees_with_scikit_learn():
    sklearn = pytest.importorskip("sklearn.naive_bayes")
    peer = sklearn.GaussianNB().fit(VALUES, TARGET)
    gaussian = fitted(VALUES, TARGET, 3, absolute_floor=peer.epsilon_)
    np.testing.assert_allclose(gaussian.variance, peer.var_, rtol=1e-10)
    joint = gaussian.log_density(VALUES) + np.log(peer.class_prior_)
    np.testing.assert_allclose(joint, peer.predict_joint_log_proba(VALUES), rtol=1e-10)


# Class 0 holds 1, 1, 1; class 1 holds 3, 5. Over both the mean is 2.2 and the variance 64/25.
@pytest.mark.parametrize(
    ("settings", "variance", "used"),
    [
        ({}, [2.56e-9, 1.0], True),
        ({"floor": 0.5}, [1.28, 1.28], True),
        ({"unbiased": True}, [2.56e-9, 2.0], True),
        ({"absolute_floor": 0.25}, [0.25, 1.25], True),
        ({"absolute_floor": 0.0}, [0.0, 1.0], False),
    ],
)
def test_the_floor(settings, variance, used):
    gaussian = fitted([1, 1, 1, 3, 5], [0, 0, 0, 1, 1], **settings)
    np.testing.assert_allclose(gaussian.variance[:, 0], variance, rtol=1e-12)
    assert gaussian.used.tolist() == [used]
    assert np.isfinite(gaussian.log_density([[2.0], [1e9]])).all()


def test_a_constant_attribute_is_left_out():
    values = np.column_stack([VALUES[:, 0], np.full(400, 0.1)])
    both, one = fitted(values, TARGET, 3), fitted(values[:, :1], TARGET, 3)
    assert both.used.tolist() == [True, False]
    values[:, 1] = 77.0
    np.testing.assert_array_equal(both.log_density(values), one.log_density(values[:, :1]))
    assert fitted(values, TARGET, 3, absolute_floor=1e-9).used.all()


def test_a_class_that_lacks_an_attribute_takes_it_from_all_classes():
    values = np.array([[1.0], [2.0], [6.0], [np.nan]])
    gaussian = fitted(values, [0, 0, 0, 1])
    np.testing.assert_allclose(gaussian.mean[1], [3.0])
    np.testing.assert_allclose(gaussian.variance[1], [14 / 3])


def test_one_row_with_the_unbiased_divisor_takes_the_variance_of_all():
    gaussian = fitted([1.0, 2.0, 6.0], [0, 0, 1], unbiased=True)
    np.testing.assert_allclose(gaussian.variance[:, 0], [0.5, 7.0])


def test_an_attribute_without_any_value_says_nothing():
    gaussian = fitted(np.column_stack([[1.0, 2.0, 6.0], [np.nan] * 3]), [0, 0, 1])
    assert gaussian.used.tolist() == [True, False]
    assert np.isfinite(gaussian.log_density([[1.0, 5.0]])).all()


def test_digits_survive_a_far_mean():
    near = rng.normal(size=(300, 1)).round(6)
    far, target = near + 1e8, np.arange(300) % 2
    moved, plain = fitted(far, target), fitted(far - 1e8, target)
    np.testing.assert_allclose(moved.log_density(far), plain.log_density(far - 1e8), rtol=1e-12)


@pytest.mark.parametrize("unit", [1e300, 1e-300, 1e200, 1e-200])
@pytest.mark.parametrize("settings", [{}, {"unbiased": True}])
def test_any_magnitude(unit, settings):
    values, target = np.array([1.0, 2.0, 4.0, 9.0, 5.0, 6.5]), [0, 0, 0, 1, 1, 1]
    plain = fitted(values, target, **settings).log_density(values[:, None])
    scaled = fitted(values * unit, target, **settings).log_density(values[:, None] * unit)
    np.testing.assert_allclose(scaled + np.log(unit), plain, rtol=1e-9)


def test_classes_whose_distance_has_no_square():
    gaussian = fitted([1e200, 1e200, -1e200, -1e200], [0, 0, 1, 1])
    np.testing.assert_allclose(gaussian.deviation, np.sqrt(1e-9) * 1e200)
    assert (gaussian.variance == np.finfo(float).max).all()
    assert gaussian.log_density([[9e199], [-9e199]]).argmax(axis=1).tolist() == [0, 1]


def test_subnormal_values_give_finite_answers():
    # No deviation is below the smallest normal double, so these values are as good as equal.
    values = np.array([1.0, 2.0, 9.0, 5.0]) * 1e-315
    out = fitted(values, [0, 0, 1, 1]).log_density(np.append(values, 1.0)[:, None])
    assert np.isfinite(out).all()
    assert (out[:4] > out[4]).all()


def test_values_at_the_edge_of_the_range():
    gaussian = fitted(np.array([1.7e308, 1.6e308, -1.7e308, -1.6e308]), [0, 0, 1, 1])
    out = gaussian.log_density([[1.65e308], [-1.65e308]])
    assert np.isfinite(out).all()
    assert (out.argmax(axis=1) == [0, 1]).all()
    # The other class is 66 deviations of 5e306 away, which is seen although the distance overflows.
    assert out[0, 0] - out[0, 1] == pytest.approx(66**2 / 2, rel=1e-6)


def test_far_values_stay_finite_and_an_infinity_is_named():
    gaussian = fitted(VALUES, TARGET, 3)
    values = VALUES[:70].copy()
    values[66, 2] = 1e308
    out = gaussian.log_density(values)
    assert np.isfinite(out).all()
    assert (out[66] < -1e299).all()
    values[66, 2] = np.inf
    with refuses(InfiniteValue, 2, "inf", 66):
        gaussian.log_density(values)


def test_samples_have_the_moments():
    values = np.column_stack([VALUES, np.full(400, 2.5)])
    gaussian = fitted(values, TARGET, 3)
    classes = np.repeat(np.arange(3), 40_000)
    drawn = gaussian.sample(classes, np.random.default_rng(0))
    assert drawn.shape == (120_000, 5)
    assert (drawn[:, 4] == 2.5).all()
    for c in range(3):
        mine = drawn[classes == c, :4]
        np.testing.assert_allclose(mine.var(axis=0), gaussian.variance[c, :4], rtol=0.04)
        error = (mine.mean(axis=0) - gaussian.mean[c, :4]) / gaussian.deviation[c, :4]
        assert np.abs(error).max() < 5 / np.sqrt(40_000)
