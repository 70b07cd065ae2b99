"""Kernel densities against the direct sum over the rows, by quadrature, and at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import cauchy, kstest, norm

from bayeskit._conditionals.kernel_density import BROAD_SHARE, estimate_kernel
from bayeskit._counting.count_grids import count_grids
from bayeskit._statistics.grids import Grid, Grids
from bayeskit.errors import SettingError
from bayeskit.extending import Chunk
from bayeskit.statistics import Schema, Variable
from refusals import refuses


def chunk_of(values, target=None, weights=None):
    values = np.asarray(values, float)
    values = values[:, None] if values.ndim == 1 else np.ascontiguousarray(values)
    target = None if target is None else np.asarray(target, np.uint32)
    return Chunk(len(values), np.empty((len(values), 0), np.uint8), values, target=target, weights=weights)


def grids_of(values, target, n_classes, weights=None):
    chunk = chunk_of(values, target, weights)
    names = tuple(f"x{j}" for j in range(chunk.values.shape[1]))
    states = tuple(range(n_classes))
    schema = Schema(tuple(Variable(n, "numeric") for n in names), Variable("y", "categorical", states))
    return count_grids(chunk, schema, names)


def fit(values, target, n_classes, **settings):
    grids = grids_of(values, target, n_classes)
    return estimate_kernel(grids, range(len(grids)), **settings)


def score(model, values):
    chunk = chunk_of(values)
    out = np.zeros((chunk.n_rows, model.shares.shape[1]))
    model.add_log_prob(chunk, out)
    return out


def slow_density(values, rows, queries, width=0.0, factor=1.0):
    """The formula over the rows of one class themselves; ``values`` are those of all classes."""
    mean, sd = values.mean(), values.std()
    n = len(rows)
    iqr = np.subtract(*np.quantile(rows, [0.75, 0.25], method="inverted_cdf"))
    spread = min(rows.std(), iqr / 1.34) if iqr > 0 else rows.std()
    h = max(factor * 0.9 * spread * n**-0.2, width, 1e-3 * sd)
    kernels = norm.pdf(queries[:, None], rows[None, :], math.sqrt(h**2 + width**2 / 12)).mean(axis=1)
    return np.log((1 - BROAD_SHARE) * kernels + BROAD_SHARE * cauchy.pdf(queries, mean, sd))


def samples(kind, rng, n):
    if kind == "normal":
        return rng.normal(10.0, 2.0, n)
    if kind == "two far peaks":
        return np.where(rng.random(n) < 0.7, rng.normal(-50, 0.5, n), rng.normal(80, 2, n))
    if kind == "heavy tail":
        return np.exp(2.0 * rng.normal(size=n))
    if kind == "integers":
        return rng.integers(0, 12, n).astype(float)
    if kind == "mostly zero":
        return np.where(rng.random(n) < 0.8, 0.0, rng.exponential(5.0, n))
    return 1e8 + rng.normal(size=n)


KINDS = ["normal", "two far peaks", "heavy tail", "integers", "mostly zero", "far from zero"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [4, 40, 1_500])
def test_equals_the_direct_sum_over_the_cells(kind, n):
    rng = np.random.default_rng(n)
    values = samples(kind, rng, n)
    target = np.arange(n) % 2
    grids = grids_of(values, target, 2)
    width = 2.0 ** grids.exponents[0]
    values = (np.floor(values / width) + 0.5) * width
    low, high = values.min(), values.max()
    pad = high - low
    queries = np.concatenate([np.linspace(low - pad, high + pad, 2_001), low + pad * rng.random(300)])
    queries = np.concatenate([queries, rng.choice(values, 300)])
    logs = score(estimate_kernel(grids, [0]), queries)
    for c in (0, 1):
        expected = slow_density(values, values[target == c], queries, width)
        np.testing.assert_allclose(logs[:, c], expected, rtol=0, atol=1e-3)
        ordinary = expected > expected.max() - 4.0
        np.testing.assert_allclose(logs[ordinary, c], expected[ordinary], rtol=0, atol=1e-4)


def test_wide_cells_stand_for_the_values_in_them():
    rng = np.random.default_rng(1)
    values = rng.normal(size=10_000)
    grids = grids_of(values, np.zeros(10_000, int), 1)
    width = 2.0 ** grids.exponents[0]
    assert width > 1e-4
    queries = np.linspace(-2.5, 2.5, 401)
    logs = score(estimate_kernel(grids, [0]), queries)[:, 0]
    np.testing.assert_allclose(logs, slow_density(values, values, queries), rtol=0, atol=2e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_integrates_to_one(kind):
    rng = np.random.default_rng(5)
    values = samples(kind, rng, 500)
    model = fit(values, np.arange(500) % 2, 2)
    # By x = mean + sd·tan(θ) the Cauchy tails become a constant: the mid-point rule sees all of the line.
    theta = (np.arange(2_000_000) + 0.5) * (math.pi / 2_000_000) - math.pi / 2
    z = np.tan(theta)
    mass = np.exp(score(model, model.mean[0] + model.sd[0] * z)) * (model.sd[0] * (1 + z * z))[:, None]
    np.testing.assert_allclose(mass.sum(axis=0) * (math.pi / 2_000_000), 1.0, atol=1e-4)


def test_worked_bandwidth():
    # Rows 0, 1, 2, 3: sd = √1.25, quartiles 0 and 2, so IQR/1.34 = 1.4925 > sd; n^(−1/5) = 4^(−0.2).
    model = fit([0.0, 1.0, 2.0, 3.0], [0] * 4, 1)
    assert model.deviations[0, 0] * model.sd[0] == pytest.approx(0.9 * math.sqrt(1.25) * 4**-0.2, rel=1e-9)
    # Rows 0, 4, 5, 5, 6, 10: quartiles 4 and 6; 2/1.34 = 1.4925 < sd = √(52/6).
    model = fit([0.0, 4.0, 5.0, 5.0, 6.0, 10.0], [0] * 6, 1)
    assert model.deviations[0, 0] * model.sd[0] == pytest.approx(0.9 * 2 / 1.34 * 6**-0.2, rel=1e-9)
    # The quartiles of 0, 0, 0, 0, 5 are both 0: sd = 2.
    model = fit([0.0, 0.0, 0.0, 0.0, 5.0], [0] * 5, 1)
    assert model.deviations[0, 0] * model.sd[0] == pytest.approx(0.9 * 2 * 5**-0.2, rel=1e-9)


def test_a_cell_counts_with_the_variance_of_its_width():
    # Cells a quarter wide and a bandwidth below that: h = w, and h² + w²/12 = 13/12 w².
    grid = Grid(3, -2, np.array([4, 8, 20]), np.array([[3.0], [2.0], [1.0]]))
    model = estimate_kernel(Grids.of([grid], n_classes=1), [0], bandwidth=0.01)
    assert model.deviations[0, 0] * model.sd[0] == pytest.approx(0.25 * math.sqrt(13 / 12), rel=1e-12)
    queries = np.linspace(-1, 8, 501)
    rows = np.repeat([1.125, 2.125, 5.125], [3, 2, 1])
    expected = slow_density(rows, rows, queries, width=0.25, factor=0.01)
    np.testing.assert_allclose(score(model, queries)[:, 0], expected, rtol=0, atol=1e-3)


def test_floors_and_a_class_of_one_row():
    values = [3.0, 3.0, 7.0, 9.0, 1.0]
    model = fit(values, [0, 0, 1, 2, 2], 3)
    assert model.deviations[0, 0] == pytest.approx(1e-3)
    pooled = min(np.std(values), 4.0 / 1.34)
    assert model.deviations[0, 1] * model.sd[0] == pytest.approx(0.9 * pooled, rel=1e-9)


@pytest.mark.parametrize("factor", [0.05, 1, 3.0, 100.0])
def test_a_number_multiplies_the_bandwidth(factor):
    rng = np.random.default_rng(2)
    values = rng.normal(size=200)
    queries = np.linspace(-6, 6, 501)
    logs = score(fit(values, np.zeros(200, int), 1, bandwidth=factor), queries)[:, 0]
    expected = slow_density(values, values, queries, factor=factor)
    np.testing.assert_allclose(logs, expected, rtol=0, atol=1e-3)


def test_a_few_rows_farther_out_than_all_the_others():
    rng = np.random.default_rng(6)
    values = np.append(rng.normal(size=3_000), [-500.0, 500.0])
    target = np.append(np.zeros(3_000, int), [1, 1])
    model = fit(values, target, 2)
    assert model.deviations[0, 1] > 10.0
    queries = np.concatenate([np.linspace(-9_000, 9_000, 3_001), np.linspace(-50, 50, 501)])
    for c in (0, 1):
        expected = slow_density(values, values[target == c], queries)
        np.testing.assert_allclose(score(model, queries)[:, c], expected, rtol=0, atol=1e-3)


def test_rows_of_next_to_no_weight_do_not_blow_up_the_tables():
    rng = np.random.default_rng(7)
    values = np.append(rng.normal(size=500), 1e10 * rng.random(3_000))
    target, weights = np.repeat([0, 1], [500, 3_000]), np.repeat([1.0, 1e-25], [500, 3_000])
    model = estimate_kernel(grids_of(values, target, 2, weights), [0])
    assert len(model.knots) < 2**21
    assert np.isfinite(score(model, values)).all()


def test_bandwidths_are_bounded():
    for factor, bound in ((1e-300, 1e-3), (1e300, 1e3)):
        model = fit([0.0, 1.0, 5.0], [0, 0, 0], 1, bandwidth=factor)
        assert model.deviations[0, 0] == pytest.approx(bound)


@pytest.mark.parametrize("bandwidth", ["scott", 0.0, -1.0, math.nan, math.inf, None])
def test_bandwidths_that_mean_nothing(bandwidth):
    with refuses(SettingError, f"bandwidth={bandwidth!r}"):
        fit([1.0, 2.0], [0, 0], 1, bandwidth=bandwidth)


def test_a_class_without_values_has_the_pooled_density():
    values = np.array([1.0, 2.0, 4.0, 8.0, np.nan])
    queries = np.linspace(-5, 15, 101)
    logs = score(fit(values, [0, 1, 0, 1, 2], 4), queries)
    pooled = score(fit(values[:4], [0] * 4, 1), queries)[:, 0]
    np.testing.assert_allclose(logs[:, 2], pooled, rtol=1e-12)
    np.testing.assert_allclose(logs[:, 3], pooled, rtol=1e-12)
    assert np.abs(logs[:, 0] - pooled).max() > 0.1


def test_missing_constant_and_empty_attributes_add_nothing():
    values = np.array([[1.0, 5.0, np.nan], [2.0, 5.0, np.nan], [4.0, 5.0, np.nan]])
    model = fit(values, [0, 1, 1], 2)
    queries = np.array([[1.5, 5.0, 0.0], [1.5, 77.0, 3.0], [1.5, np.nan, np.nan], [np.nan, 5.0, 1.0]])
    logs = score(model, queries)
    alone = score(fit(values[:, :1], [0, 1, 1], 2), queries[:1, :1])
    assert np.array_equal(logs[:3], np.repeat(alone, 3, axis=0))
    assert np.array_equal(logs[3], [0.0, 0.0])
    drawn = model.sample(np.array([0, 1]), np.random.default_rng(0))
    np.testing.assert_allclose(drawn[:, 1], 5.0, rtol=1e-12)
    assert np.isnan(drawn[:, 2]).all()


def test_columns_say_where_the_values_stand_and_rows_add_up():
    rng = np.random.default_rng(3)
    values, target = rng.normal(size=(1_500, 2)), rng.integers(0, 2, 1_500)
    grids = grids_of(values, target, 2)
    wide = np.column_stack([values[:, 1], np.full(1_500, -3.0), values[:, 0]])
    both = score(estimate_kernel(grids, [2, 0]), wide)
    parts = [score(fit(values[:, [j]], target, 2), values[:, [j]]) for j in (0, 1)]
    np.testing.assert_allclose(both, parts[0] + parts[1], rtol=1e-12)


def test_far_queries_are_finite_and_favour_no_class():
    model = fit([1.0, 2.0, 3.0, 10.0, 11.0, 12.0], [0, 0, 0, 1, 1, 1], 2)
    queries = np.array([1e5, -1e5, 1e200, -1e308, math.inf, -math.inf])
    logs = score(model, queries)
    assert np.isfinite(logs).all()
    assert np.array_equal(logs[:, 0], logs[:, 1])
    expected = np.log(BROAD_SHARE) + cauchy.logpdf(queries[:2], model.mean[0], model.sd[0])
    np.testing.assert_allclose(logs[:2, 0], expected, rtol=1e-12)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(allow_nan=True, allow_infinity=False), st.integers(0, 1)), min_size=1, max_size=12
    ),
    st.lists(st.floats(), min_size=1, max_size=5),
)
def test_never_infinite_and_never_nan(rows, queries):
    values, target = zip(*rows, strict=True)
    model = fit(values, target, 2)
    assert np.isfinite(score(model, [*queries, *values])).all()


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_units_do_not_matter(scale):
    values = np.array([1.0, 2.0, 2.5, 4.0, 5.0, 7.0])
    target = [0, 1, 0, 1, 1, 0]
    queries = np.linspace(-3, 12, 61)
    shifted = score(fit(values * scale, target, 2), queries * scale) + math.log(scale)
    np.testing.assert_allclose(shifted, score(fit(values, target, 2), queries), rtol=1e-8, atol=1e-8)


def test_what_rounding_leaves_of_forgotten_rows_does_no_harm():
    grids = grids_of([1.0, 2.0, 4.0], [0, 0, 1], 2)
    damaged = type(grids)(
        grids.largest, grids.exponents, grids.offsets, grids.ids, grids.counts - np.array([[0, 1e-16]])
    )
    queries = np.linspace(0, 5, 21)
    logs = score(estimate_kernel(damaged, [0]), queries)
    np.testing.assert_allclose(logs, score(estimate_kernel(grids, [0]), queries), rtol=1e-9)


def test_samples_follow_the_kernels():
    rng = np.random.default_rng(4)
    values = np.concatenate([rng.normal(0, 1, 300), rng.normal(20, 3, 300)])
    model = fit(values, np.repeat([0, 1], 300), 2)
    classes = np.tile([0, 1], 20_000)
    drawn = model.sample(classes, np.random.default_rng(0))
    assert drawn.shape == (40_000, 1)
    for c in (0, 1):
        rows, h = values[300 * c : 300 * (c + 1)], model.deviations[0, c] * model.sd[0]

        def distribution(x, rows=rows, h=h):
            return norm.cdf(np.asarray(x)[:, None], rows[None, :], h).mean(axis=1)

        assert kstest(drawn[classes == c, 0], distribution).pvalue > 1e-3
    assert np.array_equal(drawn, model.sample(classes, np.random.default_rng(0)))
