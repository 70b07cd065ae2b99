"""Gaussian classes with full covariance: equal to the peers, whole under gaps, never singular."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import log_softmax
from scipy.stats import multivariate_normal, multivariate_t
from sklearn.covariance import ledoit_wolf as sklearn_ledoit_wolf
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

from bayeskit._conditionals.covariance import estimate_covariance
from bayeskit._conditionals.covariance_rule import CovarianceRule, ledoit_wolf, regular
from bayeskit._counting.count_scatter import count_scatter
from bayeskit.errors import DataError, InfiniteValue, SettingError
from bayeskit.extending import Chunk
from bayeskit.statistics import Schema, Variable
from refusals import refuses


def chunk_of(x, y=None, w=None):
    x = np.ascontiguousarray(x, dtype=np.float64)
    target = None if y is None else np.asarray(y, np.uint32)
    return Chunk(len(x), np.empty((len(x), 0), np.uint8), x, target=target, weights=w)


def scatter_of(x, y, k=3, w=None):
    names = tuple(range(x.shape[1]))
    schema = Schema(
        tuple(Variable(j, "numeric") for j in names), Variable("y", "categorical", tuple(range(k)))
    )
    return count_scatter(chunk_of(x, y, w), schema, names)


def fit(x, y, k=3, **settings):
    return estimate_covariance(scatter_of(x, y, k), np.arange(x.shape[1]), CovarianceRule(**settings))


def log_prob(model, x):
    out = np.zeros((len(x), len(model.mean)))
    model.add_log_prob(chunk_of(x), out)
    return out


def posterior(model, x, y):
    return np.exp(log_softmax(log_prob(model, x) + np.log(np.bincount(y) / len(y)), axis=1))


def three_classes(n=300, d=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    mixing = rng.normal(size=(3, d, d)) + 2 * np.eye(d)
    return np.einsum("ni,nij->nj", rng.normal(size=(n, d)), mixing[y]) + rng.normal(size=(3, d))[y], y


def test_posteriors_equal_quadratic_discriminant_analysis():
    x, y = three_classes()
    x[:, 1] = 1e4 * x[:, 1] + 3e5
    peer = QuadraticDiscriminantAnalysis(store_covariance=True).fit(x, y)
    # scikit-learn divided by n − 1 and since 1.8 divides by n: ask which one this is.
    unbiased = np.allclose(peer.covariance_[0], np.cov(x[y == 0].T), rtol=1e-6)
    model = fit(x, y, unbiased=bool(unbiased))
    np.testing.assert_allclose(posterior(model, x, y), peer.predict_proba(x), atol=1e-8)


@pytest.mark.parametrize("shrinkage", [None, 0.3])
def test_posteriors_equal_linear_discriminant_analysis(shrinkage):
    x, y = three_classes()
    peer = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(x, y)
    model = fit(x, y, shared=True, shrinkage=shrinkage)
    np.testing.assert_allclose(posterior(model, x, y), peer.predict_proba(x), atol=1e-8)


def test_unbiased_divides_by_one_less_for_every_mean():
    x, y = three_classes(30)
    centred = x - np.array([x[y == c].mean(axis=0) for c in range(3)])[y]
    np.testing.assert_allclose(
        fit(x, y, shared=True, unbiased=True).covariance[1], centred.T @ centred / 27, rtol=1e-11
    )
    np.testing.assert_allclose(fit(x, y, unbiased=True).covariance[1], np.cov(x[y == 1].T), rtol=1e-11)


def test_the_covariance_is_mle_by_default_and_a_weight_is_a_count():
    x, y = three_classes()
    model = fit(x, y)
    assert not model.shrinkage.any()
    for c in range(3):
        np.testing.assert_allclose(model.covariance[c], np.cov(x[y == c].T, bias=True), rtol=1e-11)
        wanted = multivariate_normal(x[y == c].mean(axis=0), np.cov(x[y == c].T, bias=True)).logpdf(x)
        np.testing.assert_allclose(log_prob(model, x)[:, c], wanted, rtol=1e-10)
    w = np.arange(len(x)) % 4.0
    again = estimate_covariance(scatter_of(x, y, w=w), range(4))
    twice = fit(np.repeat(x, w.astype(int), axis=0), np.repeat(y, w.astype(int)))
    np.testing.assert_allclose(again.covariance, twice.covariance, rtol=1e-11)


@pytest.mark.parametrize(("n", "d"), [(5, 8), (40, 8), (3, 2), (9, 8), (2, 2)])
def test_ledoit_wolf_equals_scikit_learn(n, d):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 50.0
    split = [scatter_of(part, np.zeros(len(part)), 1) for part in (x[:1], x[1:])]
    weight = ledoit_wolf(split[0].merge(split[1]), np.ones(d))
    assert weight == pytest.approx(ledoit_wolf_shrinkage(x), abs=1e-10)
    unit = rng.uniform(0.01, 100, d)
    assert ledoit_wolf(scatter_of(x, np.zeros(n), 1), unit) == pytest.approx(
        ledoit_wolf_shrinkage(x / unit), abs=1e-10
    )


@pytest.mark.parametrize("n", [4, 5, 6, 30])
def test_few_rows_are_shrunk_by_ledoit_wolf_in_pooled_units(n):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n + 50, 4)) * [1, 10, 1e3, 1e-5]
    y = np.repeat([0, 1], [n, 50])
    centred = x - np.array([x[y == 0].mean(axis=0), x[y == 1].mean(axis=0)])[y]
    unit = np.sqrt(np.mean(centred**2, axis=0))
    wanted = sklearn_ledoit_wolf(x[y == 0] / unit)[0] * np.outer(unit, unit)
    for shrinkage in (None, "ledoit-wolf"):
        model = fit(x, y, 2, shrinkage=shrinkage)
        if n > 5 and shrinkage is None:
            assert model.shrinkage[0] == 0
            np.testing.assert_allclose(model.covariance[0], np.cov(x[y == 0].T, bias=True), rtol=1e-11)
        else:
            np.testing.assert_allclose(model.covariance[0], wanted, rtol=1e-10, atol=1e-24)
    shared = fit(x, y, 2, shared=True, shrinkage="ledoit-wolf")
    wanted = sklearn_ledoit_wolf(centred / unit, assume_centered=True)[0] * np.outer(unit, unit)
    np.testing.assert_allclose(shared.covariance[1], wanted, rtol=1e-10, atol=1e-24)


def test_a_number_shrinks_towards_the_mean_variance():
    x, y = three_classes()
    x[:, 0] *= 100.0
    model = fit(x, y, shrinkage=0.25)
    s = np.cov(x[y == 2].T, bias=True)
    wanted = 0.75 * s + 0.25 * np.trace(s) / 4 * np.eye(4)
    np.testing.assert_allclose(model.covariance[2], wanted, rtol=1e-11)
    round_one = fit(x, y, shrinkage=1).covariance[0]
    np.testing.assert_allclose(round_one, round_one[0, 0] * np.eye(4), rtol=1e-12, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-40, 40), min_size=3, max_size=3), st.integers(2, 30), st.booleans())
def test_the_units_of_the_columns_do_not_matter(powers, n, shared):
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=(n + 20, 3)), np.repeat([0, 1], [n, 20])
    x[:, 2] += x[:, 0]
    scale = 10.0 ** np.array(powers) / 3
    plain = posterior(fit(x, y, 2, shared=shared), x, y)
    np.testing.assert_allclose(posterior(fit(x * scale, y, 2, shared=shared), x * scale, y), plain, atol=1e-9)


@pytest.mark.parametrize("shared", [False, True])
def test_gaps_are_integrated_out(shared):
    x, y = three_classes(d=5)
    model = fit(x * [1, 1e6, 1e-6, 1, 1], y, shared=shared)
    rng = np.random.default_rng(5)
    asked = x[:120] * [1, 1e6, 1e-6, 1, 1]
    asked[rng.random(asked.shape) < 0.4] = np.nan
    asked[7] = np.nan
    out = log_prob(model, asked)
    assert not out[7].any()
    for row, got in zip(asked, out, strict=True):
        there = np.flatnonzero(~np.isnan(row))
        for c in range(3 if len(there) else 0):
            sd = np.sqrt(np.diagonal(model.covariance[c]))[there]
            z = (row - model.mean[c])[there] / sd
            inner = model.covariance[c][np.ix_(there, there)] / np.outer(sd, sd)
            wanted = multivariate_normal(cov=inner).logpdf(z) - np.log(sd).sum()
            assert got[c] == pytest.approx(wanted, rel=1e-9)


def test_a_gap_hides_the_column_and_nothing_else():
    x, y = three_classes()
    asked = x[:50].copy()
    asked[:, 2] = np.nan
    kept = fit(x[:, [0, 1, 3]], y)
    np.testing.assert_allclose(log_prob(fit(x, y), asked), log_prob(kept, x[:50][:, [0, 1, 3]]), rtol=1e-10)


def duplicated(x, y):
    return np.column_stack([x, x[:, 0], x[:, 1] - 2 * x[:, 0]]), y


def one_row(x, y):
    return np.vstack([x[y < 2], x[y == 2][:1]]), np.append(np.sort(y[y < 2]), 2)


def wide(x, y):
    return np.random.default_rng(3).normal(size=(len(x), 60)), y


def constant_in_a_class(x, y):
    return np.where((y == 1)[:, None] & (np.arange(x.shape[1]) == 2), 5.0, x), y


def nested_scales(x, y):
    return np.column_stack([x, 1e12 * x[:, 0], 1e-12 * x[:, 1] + 1.0]), y


@pytest.mark.parametrize("shape", [duplicated, one_row, wide, constant_in_a_class, nested_scales])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("shrinkage", [None, 0.0, "ledoit-wolf"])
@pytest.mark.parametrize("unbiased", [False, True])
def test_never_singular(shape, shared, shrinkage, unbiased):
    x, y = shape(*three_classes(150))
    model = fit(x, y, shared=shared, shrinkage=shrinkage, unbiased=unbiased)
    gaps = np.where(np.random.default_rng(0).random(x.shape) < 0.2, np.nan, x)
    for asked in (x, gaps, 1e3 * x):
        assert np.isfinite(log_prob(model, asked)).all()
    np.linalg.cholesky(model.standard)
    for c in range(3):
        low = np.diagonal(np.cov(x[y == c].T, bias=True)) if np.sum(y == c) > 1 else np.zeros(x.shape[1])
        if not shared and shrinkage == 0.0:
            assert np.all(np.diagonal(model.covariance[c]) >= low * (1 - 1e-3))


def test_one_row_has_the_floor_or_when_unbiased_the_pooled_covariance():
    x, y = one_row(*three_classes())
    within = scatter_of(x, y).within().covariance()[0]
    np.testing.assert_allclose(fit(x, y).covariance[2], 1e-9 * np.diag(np.diagonal(within)), rtol=1e-9)
    np.testing.assert_allclose(fit(x, y, unbiased=True).covariance[2], np.cov(x.T), rtol=1e-10)


def test_an_attribute_constant_overall_is_left_out():
    x, y = three_classes()
    filled = np.insert(x, 1, 0.1, axis=1)
    model = fit(filled, y)
    asked = np.insert(x, 1, 7.0, axis=1)
    np.testing.assert_allclose(log_prob(model, asked), log_prob(fit(x, y), x), rtol=1e-12)
    assert (model.sample(y, np.random.default_rng(0))[:, 1] == 0.1).all()


def test_a_class_without_complete_rows_is_like_all_rows():
    x, y = three_classes()
    x[y == 1, 0] = np.nan
    model = fit(x, y)
    rest = x[y != 1]
    np.testing.assert_allclose(model.mean[1], rest.mean(axis=0), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(model.covariance[1], np.cov(rest.T, bias=True), rtol=1e-10)


def test_where_no_row_is_complete_nothing_is_added():
    x = np.array([[1.0, np.nan], [np.nan, 2.0]])
    model = fit(x, [0, 1], 2)
    assert not log_prob(model, np.array([[1.0, 2.0]])).any()
    assert np.isnan(model.sample(np.array([0, 1]), np.random.default_rng(0))).all()


@pytest.mark.parametrize("value", [1e8, 1e150, -1e150, 1e300, -1e300])
@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e60])
def test_far_values_stay_finite(value, scale):
    x, y = three_classes()
    model = fit(x * scale, y)
    asked = np.array([[value, 0, 0, 0], [value, np.nan, 0, -value], [np.nan, np.nan, value, np.nan]])
    assert np.isfinite(log_prob(model, asked)).all()


def test_infinity_is_named():
    x, y = three_classes()
    with refuses(InfiniteValue, 2, "-inf", 1):
        log_prob(fit(x, y), np.array([[0.0, 0, 0, 0], [0, 0, -np.inf, 0]]))


def test_classes_far_apart_keep_their_digits():
    x, y = three_classes()
    moved = x + 1e8 * y[:, None]
    x = moved - 1e8 * y[:, None]  # what is left of x after rounding at 1e8
    np.testing.assert_allclose(fit(moved, y).covariance, fit(x, y).covariance, rtol=1e-11)
    here, there = log_prob(fit(x, y), x), log_prob(fit(moved, y), moved)
    # The mean itself is a double near 1e8, so rows are known to 1e-8 from it.
    np.testing.assert_allclose(there[np.arange(300), y], here[np.arange(300), y], rtol=1e-6)


def test_columns_are_looked_up_and_out_is_added_to():
    x, y = three_classes()
    model = estimate_covariance(scatter_of(x, y), [3, 0, 2, 1])
    out = np.ones((300, 3))
    model.add_log_prob(chunk_of(x[:, [1, 3, 2, 0]]), out)
    np.testing.assert_allclose(out - 1, log_prob(fit(x, y), x), rtol=1e-10)


@pytest.mark.parametrize("shared", [False, True])
def test_samples_have_the_moments_of_their_class(shared):
    x, y = three_classes()
    model = fit(x * [1, 1e3, 1, 1], y, shared=shared)
    classes = np.repeat([2, 0, 1], 20_000)
    drawn = model.sample(classes, np.random.default_rng(1))
    for c in range(3):
        sd = np.sqrt(np.diagonal(model.covariance[c]))
        off = (np.cov(drawn[classes == c].T) - model.covariance[c]) / np.outer(sd, sd)
        assert np.abs(off).max() < 0.05
        assert np.abs((drawn[classes == c].mean(axis=0) - model.mean[c]) / sd).max() < 0.03


@pytest.mark.parametrize("shrinkage", [-0.1, 1.5, "auto", np.nan])
def test_a_shrinkage_that_means_nothing_is_refused(shrinkage):
    x, y = three_classes(30)
    with refuses(SettingError, f"shrinkage={shrinkage!r}"):
        fit(x, y, shrinkage=shrinkage)


@pytest.mark.parametrize("cell", [np.nan, np.inf, -np.inf, 1e308])
@pytest.mark.timeout(20)
def test_a_covariance_that_is_no_number_is_refused_and_not_lifted_for_ever(cell):
    for place in ((0, 0), (0, 1)):
        covariance = np.eye(2)
        covariance[place] = covariance[place[::-1]] = cell
        with refuses(DataError, f"{cell:g}"):
            regular(covariance)


@settings(max_examples=100)
@given(arrays(np.float64, (3, 3), elements=st.floats(-1e150, 1e150)))
def test_any_finite_covariance_is_lifted_until_it_is_regular(square):
    lifted, factor = regular(square + square.T)
    assert (np.diagonal(factor) > 0).all()
    assert np.isfinite(lifted).all()


def textbook(x, y, *, ridge=(0.0, 0.0), kappa=0.0, nu=0.0):
    """The means and covariances of regularised discriminant analysis, as its formulas say."""
    n, d = len(x), x.shape[1]
    counts, g = np.bincount(y), x.mean(axis=0)
    means = np.array([x[y == c].mean(axis=0) for c in range(len(counts))])
    scatters = np.array([(x[y == c] - means[c]).T @ (x[y == c] - means[c]) for c in range(len(counts))])
    shared = scatters.sum(axis=0) / n
    shared += (ridge[0] * np.trace(shared) / d + ridge[1]) * np.eye(d)
    centres = (counts[:, None] * means + kappa * g) / (counts + kappa)[:, None]
    own = (scatters + nu * shared) / (counts + nu)[:, None, None]
    return centres, shared, own


def test_a_ridge_and_imaginary_rows_are_those_of_the_formula():
    x, y = three_classes(60)
    x[:, 0] *= 30.0
    centres, shared, own = textbook(x, y, ridge=(0.05, 0.001), kappa=1.0, nu=6.0)
    model = fit(x, y, shared=True, ridge=(0.05, 0.001), mean_rows=1.0)
    np.testing.assert_allclose(model.mean, centres, rtol=1e-11)
    np.testing.assert_allclose(model.covariance[0], shared, rtol=1e-11)
    for rows in (6.0, "auto"):  # d + 2
        model = fit(x, y, ridge=(0.05, 0.001), mean_rows=1.0, covariance_rows=rows)
        np.testing.assert_allclose(model.covariance, own, rtol=1e-11)
    plain = fit(x, y, ridge=(0.05, 0.001)).covariance[1]
    s = np.cov(x[y == 1].T, bias=True)
    np.testing.assert_allclose(plain, s + (0.05 * np.trace(s) / 4 + 0.001) * np.eye(4), rtol=1e-11)


def test_few_rows_with_a_ridge_are_not_shrunk_besides():
    x, y = one_row(*three_classes(30))
    model = fit(x, y, ridge=(0.0, 0.5))
    assert not model.shrinkage.any()
    np.testing.assert_allclose(model.covariance[2], 0.5 * np.eye(4), rtol=1e-12)


@pytest.mark.parametrize("shared", [False, True])
def test_the_student_density_is_scipys(shared):
    x, y = three_classes(90)
    model = fit(x * [1, 1e3, 1, 1], y, shared=shared, student=True)
    asked = (x * [1, 1e3, 1, 1])[:40]
    found = log_prob(model, asked)
    gaps = asked.copy()
    gaps[:, 2] = np.nan
    rest = [0, 1, 3]
    for c in range(3):
        freedom = 92 if shared else 32
        wanted = multivariate_t(model.mean[c], model.covariance[c], freedom).logpdf(asked)
        np.testing.assert_allclose(found[:, c], wanted, rtol=1e-8)
        part = multivariate_t(model.mean[c][rest], model.covariance[c][np.ix_(rest, rest)], freedom)
        np.testing.assert_allclose(log_prob(model, gaps)[:, c], part.logpdf(asked[:, rest]), rtol=1e-8)


def test_student_samples_are_as_wide_as_their_freedom_says():
    x, y = three_classes(12)
    model = fit(x, y, student=True, ridge=(0.1, 0.0))
    drawn = model.sample(np.zeros(60_000, np.intp), np.random.default_rng(0))
    sd = np.sqrt(np.diagonal(model.covariance[0]))
    off = np.cov(drawn.T) - 6 / 4 * model.covariance[0]  # ν = 4 + 2, the covariance is ν/(ν − 2) Σ
    assert np.abs(off / np.outer(sd, sd)).max() < 0.1


def test_a_class_of_as_many_rows_as_means_is_divided_by_its_rows():
    rows = np.array([1.0, 2.0, 3.0, 5.0])
    assert CovarianceRule(unbiased=True).divisor(rows, 2).tolist() == [1.0, 2.0, 1.0, 3.0]
    assert CovarianceRule().divisor(rows, 2).tolist() == rows.tolist()
