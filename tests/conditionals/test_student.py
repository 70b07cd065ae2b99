"""The Student family against scipy, by integration, and in the limit."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln
from scipy.stats import t as student_t

from bayeskit._conditionals.gaussian import estimate_gaussian
from bayeskit._conditionals.student import estimate_student, half_step
from bayeskit._counting.count_moments import count_moments
from bayeskit.errors import InfiniteValue
from bayeskit.extending import Chunk
from bayeskit.statistics import Schema, Variable
from refusals import refuses

OPEN = SimpleNamespace(mean=None, kappa=None, alpha=None, beta=None)
GIVEN = SimpleNamespace(mean=0.5, kappa=2.0, alpha=1.5, beta=0.7)


def chunk_of(values, target=None):
    values = np.ascontiguousarray(values, dtype=float)
    return Chunk(len(values), np.empty((len(values), 0), np.uint8), values, target=target)


def moments_of(values, target, classes=2):
    values = np.asarray(values, dtype=float).reshape(len(target), -1)
    names = tuple(f"x{j}" for j in range(values.shape[1]))
    variables = tuple(Variable(name, "numeric") for name in names)
    schema = Schema(variables, Variable("y", "categorical", tuple(range(classes))))
    return count_moments(chunk_of(values, np.asarray(target, np.uint32)), schema, names)


def fitted(values, target, prior=OPEN, classes=2):
    moments = moments_of(values, target, classes)
    return estimate_student(moments, np.arange(moments.weight.shape[1]), prior)


def slow_log_density(train, target, prior, values, classes):
    """The slow twin: the formula as it is printed, one number at a time."""
    out = np.zeros((len(values), classes))
    for j in range(train.shape[1]):
        seen = train[~np.isnan(train[:, j]), j]
        for k in range(classes):
            x = train[(target == k) & ~np.isnan(train[:, j]), j]
            n, mean = len(x), x.mean() if len(x) else 0.0
            mu0 = seen.mean() if prior.mean is None else prior.mean
            k0 = 1.0 if prior.kappa is None else prior.kappa
            a0 = 1.0 if prior.alpha is None else prior.alpha
            b0 = 0.5 * seen.var() if prior.beta is None else prior.beta
            kn, an = k0 + n, a0 + n / 2
            mun = (k0 * mu0 + n * mean) / kn
            bn = b0 + ((x - mean) ** 2).sum() / 2 + k0 * n * (mean - mu0) ** 2 / (2 * kn)
            scale = np.sqrt(bn * (kn + 1) / (an * kn))
            term = student_t.logpdf(values[:, j], 2 * an, mun, scale)
            out[:, k] += np.where(np.isnan(values[:, j]), 0.0, term)
    return out


rng = np.random.default_rng(5)
TARGET = rng.integers(0, 3, 120)
VALUES = rng.normal(size=(120, 4)) * [1, 5, 0.1, 30] + TARGET[:, None]
HOLES = np.where(rng.random(VALUES.shape) < 0.2, np.nan, VALUES)


@pytest.mark.parametrize("prior", [OPEN, GIVEN])
@pytest.mark.parametrize("train", [VALUES, HOLES], ids=["complete", "holes"])
@pytest.mark.parametrize("values", [VALUES, HOLES[:1], HOLES[:65]], ids=["complete", "one row", "holes"])
def test_equals_the_slow_twin(prior, train, values):
    # Class 3 has no rows: its predictive is that of the prior.
    student = fitted(train, TARGET, prior, 4)
    wanted = slow_log_density(train, TARGET, prior, values, 4)
    np.testing.assert_allclose(student.log_density(values), wanted, rtol=1e-11)


def test_many_attributes_share_logarithms():
    values = rng.normal(size=(30, 200))
    target = np.arange(30) % 2
    values[3, 150] = np.nan
    far = values.copy()
    far[0] = 1e6
    wanted = slow_log_density(values, target, OPEN, far, 2)
    np.testing.assert_allclose(fitted(values, target).log_density(far), wanted, rtol=1e-11)


def test_a_prior_for_each_attribute():
    prior = SimpleNamespace(mean=np.array([0.0, 9.0]), kappa=1.0, alpha=2.0, beta=np.array([1.0, 3.0]))
    both = fitted(VALUES[:, :2], TARGET, prior, 3).log_density(VALUES[:, :2])
    apart = 0
    for j in range(2):
        single = SimpleNamespace(mean=prior.mean[j], kappa=1.0, alpha=2.0, beta=prior.beta[j])
        apart = apart + fitted(VALUES[:, j], TARGET, single, 3).log_density(VALUES[:, j : j + 1])
    np.testing.assert_allclose(both, apart, rtol=1e-12)


@pytest.mark.parametrize("rows", [[2.0], [2.0, 2.5], [1.0, 4.0, 9.0, 9.5, 2.0]])
def test_integrates_to_one(rows):
    student = fitted([*rows, -1.0, 3.0], [0] * len(rows) + [1, 1])
    for k in range(2):
        area, _ = quad(lambda x, k=k: np.exp(student.log_density([[x]])[0, k]), -np.inf, np.inf, limit=200)
        assert area == pytest.approx(1.0, abs=1e-7)


def test_tends_to_the_gaussian():
    gaps = []
    at = np.linspace(-2, 2, 9)[:, None]
    for n in (100, 10_000, 1_000_000):
        moments = moments_of(np.random.default_rng(1).normal(size=n), np.zeros(n, int), 1)
        gaussian, student = (
            estimate_gaussian(moments, np.array([0])),
            estimate_student(moments, np.array([0]), OPEN),
        )
        gaps.append(np.abs(gaussian.log_density(at) - student.log_density(at)).max())
    # The gap falls as 1/n: six digits of it are there at a million rows.
    assert gaps[0] > 50 * gaps[1] > 2500 * gaps[2] > 0
    assert gaps[2] < 1e-5


def test_half_step_is_smooth_where_the_series_begins():
    a = np.array([0.5, 1.0, 30.0, 49.9, 50.0, 60.0, 1e3])
    np.testing.assert_allclose(half_step(a), gammaln(a + 0.5) - gammaln(a), rtol=1e-11)
    # Γ(a + ½)/Γ(a) = √a (1 − 1/(8a) + …)
    assert half_step(np.array([1e12]))[0] == pytest.approx(0.5 * np.log(1e12) - 1.25e-13, rel=1e-15)


def test_a_constant_attribute_is_left_out_unless_the_prior_has_a_spread():
    values = np.column_stack([VALUES[:, 0], np.full(120, 0.1)])
    both = fitted(values, TARGET, OPEN, 3)
    assert both.used.tolist() == [True, False]
    one = fitted(values[:, :1], TARGET, OPEN, 3)
    np.testing.assert_array_equal(both.log_density(values), one.log_density(values[:, :1]))
    assert (both.sample(np.array([0, 1]), np.random.default_rng(0))[:, 1] == 0.1).all()
    given = fitted(values, TARGET, GIVEN, 3)
    assert given.used.all()
    np.testing.assert_allclose(
        given.log_density(values), slow_log_density(values, TARGET, GIVEN, values, 3), rtol=1e-11
    )


def test_adds_to_what_is_there_from_the_columns_it_was_told():
    moments = moments_of(VALUES[:, :2], TARGET, 3)
    placed = estimate_student(moments, np.array([3, 1]), OPEN)
    wide = rng.normal(size=(70, 4))
    wide[7, :] = np.nan
    wide[66, 1] = 1e300
    before = rng.normal(size=(70, 3))
    out = before.copy()
    placed.add_log_prob(chunk_of(wide), out)
    np.testing.assert_allclose(out, before + placed.log_density(wide[:, [3, 1]]), rtol=1e-12)
    np.testing.assert_array_equal(out[7], before[7])
    # A power law: even there the answer is of the order of a thousand.
    assert (out[66] > -1e5).all()
    wide[66, 1] = -np.inf
    with refuses(InfiniteValue, 1, "-inf", 66):
        placed.add_log_prob(chunk_of(wide), out)


def test_digits_survive_a_far_mean():
    near = rng.normal(size=(300, 1)).round(6)
    far, target = near + 1e8, np.arange(300) % 2
    moved, plain = fitted(far, target), fitted(far - 1e8, target)
    np.testing.assert_allclose(moved.log_density(far), plain.log_density(far - 1e8), rtol=1e-11)


@pytest.mark.parametrize("unit", [1e300, 1e-300, 1e200, 1e-200])
def test_any_magnitude(unit):
    values, target = np.array([1.0, 2.0, 4.0, 9.0, 5.0, 6.5]), [0, 0, 0, 1, 1, 1]
    plain = fitted(values, target).log_density(values[:, None])
    scaled = fitted(values * unit, target).log_density(values[:, None] * unit)
    np.testing.assert_allclose(scaled + np.log(unit), plain, rtol=1e-9)


@pytest.mark.parametrize(
    ("unit", "beta"),
    # The square of 1e200 is beyond any float, and 0.7 nothing beside it.
    [(2.0**400, 0.7 * 2.0**800), (2.0**-400, 0.7 * 2.0**-800), (1e200, 0.7)],
)
def test_a_prior_in_units_of_any_magnitude(unit, beta):
    """μ0 is in the units of the column, and β0 in their square."""
    values, target = np.array([1.0, 2.0, 4.0, 9.0, 5.0, 6.5]), [0, 0, 0, 1, 1, 1]
    given = SimpleNamespace(**{**vars(GIVEN), "beta": beta / unit / unit})
    plain = fitted(values, target, given).log_density(values[:, None])
    prior = SimpleNamespace(**{**vars(GIVEN), "mean": GIVEN.mean * unit, "beta": beta})
    scaled = fitted(values * unit, target, prior).log_density(values[:, None] * unit)
    np.testing.assert_allclose(scaled + np.log(unit), plain, rtol=1e-9)


def test_classes_whose_distance_has_no_square():
    values, target = np.array([1.0, 1.0, -1.0]), [0, 0, 1]
    plain, scaled = fitted(values, target), fitted(values * 1e200, target)
    np.testing.assert_allclose(scaled.scale / 1e200, plain.scale)
    np.testing.assert_allclose(scaled.mean / 1e200, plain.mean)


def test_samples_follow_the_density():
    student = fitted(VALUES, TARGET, OPEN, 3)
    classes = np.full(20_000, 1)
    drawn = student.sample(classes, np.random.default_rng(0))
    assert drawn.shape == (20_000, 4)
    for j in range(4):
        quarter = student_t.ppf(
            [0.25, 0.5, 0.75], student.freedom[1, j], student.mean[1, j], student.scale[1, j]
        )
        below = (drawn[:, j, None] < quarter).mean(axis=0)
        np.testing.assert_allclose(below, [0.25, 0.5, 0.75], atol=0.02)


@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("classes", [1, 2, 5])
def test_an_infinity_in_any_column_is_named(column, classes):
    rng = np.random.default_rng(0)
    student = fitted(rng.normal(size=(40, 3)), np.arange(40) % classes, classes=classes)
    values = rng.normal(size=(70, 3))
    values[66, column] = np.inf
    with refuses(InfiniteValue, column, "inf", 66):
        student.add_log_prob(chunk_of(values), np.zeros((70, classes)))
