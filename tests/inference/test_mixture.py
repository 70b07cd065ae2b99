"""Mixtures of normals against scipy."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import multivariate_normal, norm

from bayeskit.errors import SettingError, UsageError
from bayeskit.networks import GaussianMixturePosterior
from refusals import refuses

TWO = GaussianMixturePosterior([0.3, 0.7], [-1.0, 2.0], [1.0, 0.25])


def test_moments_density_and_quantiles():
    pdf = lambda x: 0.3 * norm.pdf(x, -1, 1) + 0.7 * norm.pdf(x, 2, 0.5)  # noqa: E731
    mean = quad(lambda x: x * pdf(x), -12, 12, points=[2])[0]
    variance = quad(lambda x: (x - mean) ** 2 * pdf(x), -12, 12, points=[2])[0]
    assert TWO.mean == pytest.approx(mean, abs=1e-10) and TWO.variance == pytest.approx(variance, abs=1e-9)
    assert TWO.sd == pytest.approx(np.sqrt(variance), abs=1e-9)
    x = np.linspace(-5, 5, 11).reshape(1, 11)
    np.testing.assert_allclose(TWO.pdf(x), pdf(x), rtol=1e-13)
    cdf = 0.3 * norm.cdf(x, -1, 1) + 0.7 * norm.cdf(x, 2, 0.5)
    np.testing.assert_allclose(TWO.cdf(x), cdf, rtol=1e-13)
    for q in (1e-9, 0.025, 0.3, 0.5, 0.999):
        root = brentq(
            lambda x, q=q: 0.3 * norm.cdf(x, -1, 1) + 0.7 * norm.cdf(x, 2, 0.5) - q, -30, 30, xtol=1e-14
        )
        assert TWO.quantile(q) == pytest.approx(root, abs=1e-9)
    low, high = TWO.interval(0.9)
    assert TWO.cdf(high) - TWO.cdf(low) == pytest.approx(0.9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_the_quantile_undoes_the_distribution(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 6))
    mixture = GaussianMixturePosterior(
        rng.dirichlet(np.ones(k)),
        rng.normal(0, 10.0 ** rng.integers(-3, 6), k),
        10.0 ** rng.uniform(-8, 4, k),
    )
    q = rng.uniform(0.001, 0.999, 5)
    np.testing.assert_allclose(mixture.cdf(mixture.quantile(q)), q, atol=1e-7)


def test_one_normal_is_scipys():
    one = GaussianMixturePosterior([1.0], [1e8], [1e-4])
    np.testing.assert_allclose(one.quantile([0.025, 0.975]), norm.ppf([0.025, 0.975], 1e8, 1e-2), rtol=1e-15)


def test_points():
    point = GaussianMixturePosterior.at(3.0)
    assert (point.mean, point.variance, point.interval()) == (3.0, 0.0, (3.0, 3.0))
    assert point.cdf(2.999) == 0.0 and point.cdf(3.0) == 1.0
    assert point.pdf(3.0) == np.inf and point.pdf(3.1) == 0.0
    half = GaussianMixturePosterior([0.5, 0.5], [0.0, 0.0], [0.0, 1.0])
    assert half.cdf(0.0) == 0.75 and half.cdf(-1e-12) == pytest.approx(0.25)
    assert half.quantile(0.5) == pytest.approx(0.0, abs=1e-12)
    steps = GaussianMixturePosterior([0.25, 0.75], [1.0, 2.0], [0.0, 0.0])
    np.testing.assert_allclose(steps.quantile([0.2, 0.25, 0.3]), [1.0, 1.0, 2.0], rtol=1e-12)


def test_several_variables():
    means, covariance = [[0.0, 1.0], [3.0, -1.0]], [[2.0, 0.5], [0.5, 1.0]]
    joint = GaussianMixturePosterior([0.4, 0.6], means, [covariance, covariance])
    x = np.array([[0.0, 0.0], [1.0, -2.0]])
    expected = sum(
        w * multivariate_normal(m, covariance).pdf(x) for w, m in zip([0.4, 0.6], means, strict=True)
    )
    np.testing.assert_allclose(joint.pdf(x), expected, rtol=1e-12)
    np.testing.assert_allclose(joint.mean, [1.8, -0.2])
    np.testing.assert_allclose(joint.variance, np.array(covariance) + 0.24 * np.outer([3, -2], [3, -2]))
    np.testing.assert_allclose(joint.sd, np.sqrt(np.diagonal(joint.variance)))
    assert joint.marginal(1).means.tolist() == [1.0, -1.0]
    assert joint.marginal(1, 0).means.tolist() == [[1.0, 0.0], [-1.0, 3.0]]
    for wrong in (joint.cdf, joint.quantile):
        with refuses(UsageError, "marginal"):
            wrong(0.5)
    with refuses(SettingError, 2, "()"):
        joint.pdf(1.0)
    certain = GaussianMixturePosterior([1.0], [[0.0, 0.0]], [[[1.0, 1.0], [1.0, 1.0]]])
    with refuses(UsageError, "marginal", "density"):
        certain.pdf([0.0, 0.0])


def test_what_is_refused():
    for wrong in (([0.5], [0.0], [1.0]), ([1.0], [0.0, 1.0], [1.0]), ([1.5, -0.5], [0.0, 1.0], [1.0, 1.0])):
        with pytest.raises(SettingError):
            GaussianMixturePosterior(*wrong)
    for call in (lambda: TWO.quantile(1.0), lambda: TWO.interval(95), lambda: TWO.marginal(0)):
        with pytest.raises(SettingError):
            call()


def test_it_is_a_value():
    assert pickle.loads(pickle.dumps(TWO)) == TWO and GaussianMixturePosterior.at(0.0) != TWO
    assert repr(GaussianMixturePosterior.at(3.0)) == "GaussianMixturePosterior(N(3, 0²))"
    many = GaussianMixturePosterior(np.full(10, 0.1), np.arange(10.0), np.ones(10))
    assert "+ 4 more" in repr(many)
    with pytest.raises(ValueError):
        TWO.means[0] = 5.0


@pytest.mark.parametrize("ask", ["pdf", "cdf", "quantile", "interval"])
@pytest.mark.parametrize("wrong", ["a", [1, [2]], {}])
def test_what_is_no_number_is_refused(ask, wrong):
    with refuses(SettingError, repr(wrong)):
        getattr(GaussianMixturePosterior([1.0], [0.0], [1.0]), ask)(wrong)
