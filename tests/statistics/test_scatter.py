"""Scatter: the laws of its algebra, its exactness far from zero, and what is counted."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._counting import count_scatter as scatter_module
from bayeskit._counting.count_scatter import count_scatter
from bayeskit._statistics.double import Twofold
from bayeskit._statistics.scatter import FARTHEST, Scatter
from bayeskit.errors import DataError, Incompatible
from bayeskit.extending import Chunk
from bayeskit.statistics import Embedding, Schema, Variable
from refusals import refuses

K, NAMES = 3, ("height", "width")


def schema_of(classes=range(K), names=NAMES):
    return Schema(
        tuple(Variable(name, "numeric") for name in names), Variable("y", "categorical", tuple(classes))
    )


def count(x, y, w=None, names=NAMES):
    x = np.ascontiguousarray(x, dtype=np.float64).reshape(-1, len(names))
    w = None if w is None else np.asarray(w, dtype=np.float64)
    chunk = Chunk(len(x), np.empty((len(x), 0), np.uint8), x, target=np.asarray(y, np.uint32), weights=w)
    return count_scatter(chunk, schema_of(names=names), tuple(names))


def exact_moments(x, w):
    """Mean, covariance and centred Σw·z_i²z_j² in rational arithmetic: the slow twin."""
    rows = [[Fraction(float(v)) for v in row] for row in x]
    w = [Fraction(float(v)) for v in w]
    n, d = sum(w), len(rows[0])
    mean = [sum(a * r[i] for a, r in zip(w, rows, strict=True)) / n for i in range(d)]
    z = [[v - m for v, m in zip(r, mean, strict=True)] for r in rows]
    pairs = [[(i, j) for j in range(d)] for i in range(d)]
    covariance = [
        [sum(a * r[i] * r[j] for a, r in zip(w, z, strict=True)) / n for i, j in row] for row in pairs
    ]
    fourth = [
        [sum(a * r[i] ** 2 * r[j] ** 2 for a, r in zip(w, z, strict=True)) for i, j in row] for row in pairs
    ]
    return (np.array(m, dtype=float) for m in (mean, covariance, fourth))


def check_exact(scatter, x, y, w=None, fourth_to=1e-9, seen=None):
    x, y = np.asarray(x, dtype=float).reshape(-1, scatter.pivot.shape[1]), np.asarray(y)
    w = np.ones(len(x)) if w is None else np.asarray(w, dtype=float)
    for c in range(len(scatter.weight)):
        rows = (y == c) & (w > 0)
        if not rows.any():
            assert all(not array[c].any() for array in scatter.arrays().values())
            continue
        mean, covariance, fourth = exact_moments(x[rows], w[rows])
        sd = np.sqrt(np.diagonal(covariance))
        reach = np.ptp(x[rows] if seen is None else seen, axis=0)
        assert scatter.weight[c] == pytest.approx(w[rows].sum(), rel=1e-12)
        assert np.all(np.abs(scatter.mean()[c] - mean) <= 1e-12 * sd + 2 * np.spacing(np.abs(mean)))
        off = np.abs(scatter.covariance()[c] - covariance)
        # Where a variance is zero there is only the last bit of two doubles to compare with.
        assert np.all(off <= 1e-12 * np.outer(sd, sd) + 1e-26 * np.outer(reach, reach))
        off = np.abs(scatter.of_class(c).within().fourth[0] - fourth)
        assert np.all(off <= fourth_to * fourth + 1e-26 * np.outer(reach, reach) ** 2)


eighths = st.integers(-2000, 2000).map(lambda v: v / 8)
row = st.tuples(st.tuples(eighths, eighths), st.integers(0, K - 1), st.integers(1, 12).map(lambda v: v / 4))
rows = st.lists(row, min_size=0, max_size=10)


def split(batch, far=0.0):
    x = np.array([r[0] for r in batch], dtype=float).reshape(-1, 2)
    y = np.array([r[1] for r in batch], dtype=np.int64)
    w = np.array([r[2] for r in batch], dtype=float)
    return x + far * (1.0 + y)[:, None], y, w


@settings(max_examples=60, deadline=None)
@given(rows, rows, rows, st.sampled_from([0.0, 1e8]))
def test_merge_is_associative_and_commutative_and_equals_the_whole(a, b, c, far):
    one, two, three = (count(*split(part, far)) for part in (a, b, c))
    whole = split(a + b + c, far)
    for merged in (
        one.merge(two).merge(three),
        one.merge(two.merge(three)),
        three.merge(two).merge(one),
        count(*whole),
    ):
        check_exact(merged, *whole)


@settings(max_examples=60, deadline=None)
@given(rows, rows, st.sampled_from([0.0, 1e8]))
def test_subtract_undoes_merge_and_zero_is_neutral(a, b, far):
    one, two = count(*split(a, far)), count(*split(b, far))
    check_exact(one.merge(two).subtract(two), *split(a, far), seen=split(a + b)[0])
    zero = Scatter.zero(schema_of(), NAMES)
    for same in (one.merge(zero), zero.merge(one), one.subtract(zero)):
        for name, array in one.arrays().items():
            if name != "pivot":
                np.testing.assert_array_equal(same.arrays()[name], array)


@settings(max_examples=40, deadline=None)
@given(rows, st.sampled_from([0.0, 1e8]))
def test_an_integer_weight_is_repetition_and_scaling_multiplies_weights(a, far):
    x, y, w = split(a, far)
    times = (4 * w).astype(int)
    check_exact(count(x, y, times), np.repeat(x, times, axis=0), np.repeat(y, times))
    check_exact(count(x, y, w).scale(4.0), x, y, times)
    check_exact(count(x, y, w).scale(np.array([2.0, 0.0, 1.0])), x, y, w * np.array([2.0, 0.0, 1.0])[y])


@pytest.mark.parametrize(("middle", "apart"), [(0.0, 0.0), (1e8, 0.0), (0.0, 1e8)])
def test_exact_where_the_mean_is_far_from_zero(middle, apart):
    rng = np.random.default_rng(1)
    y = rng.integers(0, K, 300)
    x = rng.normal(size=(300, 2)) + middle + apart * y[:, None]
    w = rng.integers(1, 5, 300) / 4
    parts = [count(x[s], y[s], w[s]) for s in np.array_split(np.arange(300), 7)]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merge(part)
    check_exact(merged, x, y, w)


def test_an_outlier_that_came_first_is_forgotten_without_a_trace():
    rng = np.random.default_rng(2)
    x, outlier = rng.normal(size=(200, 2)), np.array([[1e8, -1e8]])
    y = np.zeros(200, int)
    kept = count(outlier, [0])
    for part in np.array_split(x, 5):
        kept = kept.merge(count(part, y[: len(part)]))
    # Fourth powers of 1e8 leave two doubles with no digit: they are promised for 1e5 sd.
    check_exact(kept.subtract(count(outlier, [0])), x, y, fourth_to=1.0)
    outlier /= 1e3
    kept = count(outlier, [0]).merge(count(x, y)).subtract(count(outlier, [0]))
    check_exact(kept, x, y, fourth_to=1e-9)


def test_200_batches_added_and_199_forgotten():
    rng = np.random.default_rng(3)
    batches = [
        (rng.normal(size=(20, 2)) * rng.uniform(0.1, 10) + 1e6 * rng.normal(), rng.integers(0, K, 20))
        for _ in range(200)
    ]
    kept = Scatter.zero(schema_of(), NAMES)
    for x, y in batches:
        kept = kept.merge(count(x, y))
    for at in rng.permutation(199):
        kept = kept.subtract(count(*batches[at]))
    check_exact(kept, *batches[199], fourth_to=1e-6)


@pytest.mark.parametrize("few", [scatter_module._FEW_PRODUCTS, 0], ids=["few rows", "many rows"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_nearly_singular_covariance_does_not_depend_on_the_order_of_rows(few, weighted, monkeypatch):
    """Solving with it magnifies the last bit of a sum by the condition, so that every bit must be right."""
    monkeypatch.setattr(scatter_module, "_FEW_PRODUCTS", few)
    rng = np.random.default_rng(11)
    x = rng.normal(size=(60, 2)) + 100.0
    x[:, 1] = 2.0 * x[:, 0] + 1e-5 * x[:, 1]
    y, w = rng.integers(0, K, 60), rng.choice([0.1, 1 / 3, 2.5], 60) if weighted else np.ones(60)
    whole = count(x, y, w)
    check_exact(whole, x, y, w)
    for _ in range(5):
        kept = Scatter.zero(schema_of(), NAMES)
        for some in np.array_split(rng.permutation(60), 7):
            kept = kept.merge(count(x[some], y[some], w[some]))
        np.testing.assert_array_equal(kept.covariance(), whole.covariance())
        np.testing.assert_array_equal(kept.mean(), whole.mean())


def test_many_rows_of_columns_apart_are_summed_by_one_product(monkeypatch):
    """Two doubles cost more than they are worth where nothing is magnified; constant columns do not count."""
    x, y = np.random.default_rng(12).normal(size=(50, 2)), np.zeros(50, int)
    assert count(x, y).sums[2].low.any()
    monkeypatch.setattr(scatter_module, "_FEW_PRODUCTS", 0)
    assert not count(x, y).sums[2].low.any()
    assert not count(np.column_stack([x[:, 0], np.full(50, 0.1)]), y).sums[2].low.any()
    assert count(np.column_stack([x[:, 0], 3.0 * x[:, 0] + 1.0]), y).sums[2].low.any()


def test_a_class_far_from_its_pivot_is_recentred():
    heavy = count(np.random.default_rng(4).normal(size=(9, 2)) + 1e5, [0] * 9)
    rest = count(np.random.default_rng(5).normal(size=(8, 2)), [0] * 8)
    left = heavy.merge(rest).subtract(heavy)
    sd = np.sqrt(np.diagonal(left.covariance()[0]))
    assert np.all(np.abs(left.mean()[0] - left.pivot[0]) <= FARTHEST * sd)


def test_nothing_is_left_when_the_weight_returns_to_zero():
    rng = np.random.default_rng(6)
    x, y, w = rng.normal(size=(30, 2)), rng.integers(0, K, 30), rng.random(30)
    parts = [count(x[s], y[s], w[s]) for s in np.array_split(np.arange(30), 4)]
    kept = count(x, y, w)
    for part in reversed(parts):
        kept = kept.subtract(part)
    assert all(not array.any() for array in kept.arrays().values())


def test_only_complete_rows_with_weight_count():
    x = np.array([[1.0, 2], [np.nan, 5], [3, 4], [np.inf, 1e99], [7, np.nan]])
    scatter = count(x, [0, 0, 0, 0, 1], [1.0, 1, 2, 0, 1])
    check_exact(scatter, x[[0, 2]], [0, 0], [1, 2])
    assert scatter.weight.tolist() == [3, 0, 0]


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300, -1e71])
def test_what_cannot_be_summed_is_named(value):
    with refuses(DataError, "width", value, 2):
        count([[1, 2], [np.nan, 4], [5, value]], [0, 0, 0])


def test_attributes_are_found_by_name():
    x = np.array([[1.0, 50, 2], [2, 60, 9], [4, 90, 1]])
    chunk = Chunk(3, np.empty((3, 0), np.uint8), x, target=np.zeros(3, np.uint32))
    check_exact(count_scatter(chunk, schema_of(names="abc"), ("c", "a")), x[:, [2, 0]], [0, 0, 0])


def test_a_constant_column_has_no_variance_at_all():
    x = np.column_stack([np.full(50, 0.1), np.arange(50.0)])
    y = np.arange(50) % 2
    merged = count(x[:17], y[:17]).merge(count(x[17:], y[17:]))
    assert not merged.covariance()[:2, 0].any()
    assert merged.pooled().covariance()[0, 0, 0] == 0
    thirds = count(x, np.arange(50) % 3).pooled()
    assert thirds.covariance()[0, 0, 0] == 0
    assert merged.within().covariance()[0, 0, 0] == 0


def test_a_column_is_constant_again_once_its_outlier_is_forgotten():
    x = np.column_stack([np.full(9, 0.1), np.arange(9.0)])
    outlier = count([[1e7 / 3, 4.0]], [0])
    left = outlier.merge(count(x, [0] * 9)).subtract(outlier)
    assert not left.covariance()[0, 0].any()
    assert left.mean()[0, 0] == 0.1
    assert left.pooled().covariance()[0, 1, 1] == pytest.approx(np.var(x[:, 1]), rel=1e-12)


def test_pooled_within_and_unbiased_are_what_numpy_says():
    rng = np.random.default_rng(7)
    y = np.repeat([0, 1], 20)
    x = rng.normal(size=(40, 2)) + 5.0 * y[:, None]
    scatter = count(x, y)
    np.testing.assert_allclose(scatter.pooled().covariance()[0], np.cov(x.T, bias=True), rtol=1e-13)
    np.testing.assert_allclose(scatter.pooled().mean()[0], x.mean(axis=0), rtol=1e-13)
    centred = x - np.array([x[y == 0].mean(axis=0), x[y == 1].mean(axis=0)])[y]
    np.testing.assert_allclose(scatter.within().second[0], centred.T @ centred, rtol=1e-13)
    np.testing.assert_allclose(
        scatter.within().fourth[0], (centred**2).T @ centred**2, rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(scatter.covariance(unbiased=True)[1], np.cov(x[y == 1].T), rtol=1e-13)
    assert np.isnan(scatter.covariance()[2]).all()
    assert np.isnan(scatter.mean()[2]).all()
    assert np.isnan(count(x[:1], y[:1]).covariance(unbiased=True)[0]).all()


def test_moving_the_pivot_equals_counting_about_it():
    x = np.random.default_rng(8).normal(size=(15, 2))
    at = np.tile([3.0, -2.0], (K, 1))
    moved, z = count(x, np.zeros(15, int)).moved(at), x - at[0]
    for sums, direct in zip(moved.sums, (15, z.sum(0), z.T @ z, (z**2).T @ z, (z**2).T @ z**2), strict=True):
        np.testing.assert_allclose(sums.high[0], direct, rtol=1e-12)


def test_embedding_moves_classes_and_arrays_come_back():
    rng = np.random.default_rng(9)
    scatter = count(rng.normal(size=(20, 2)), rng.integers(0, 2, 20))  # class 2 has no row
    wide = scatter.embed(Embedding(schema_of(), schema_of(("new", 1, 0))))
    assert wide.weight.tolist() == [0, scatter.weight[1], scatter.weight[0]]
    np.testing.assert_array_equal(wide.covariance()[1], scatter.covariance()[1])
    np.testing.assert_array_equal(wide.mean()[2], scatter.mean()[0])
    back = Scatter.from_arrays(scatter.arrays())
    for name, array in scatter.arrays().items():
        np.testing.assert_array_equal(back.arrays()[name], array)


def test_deficit_and_incompatible_widths():
    two, one = count([[1, 2], [3, 4]], [0, 0]), count([[1, 2]], [0])
    assert two.subtract(one).deficit() == 0
    assert one.subtract(two).deficit() == 1
    with refuses(Incompatible, 2, 3, 1):
        two.merge(count([[1.0]], [0], names=("height",)))


@given(st.lists(st.tuples(*[st.floats(-1e30, 1e30)] * 2), min_size=1, max_size=5))
def test_sums_and_products_of_two_doubles_lose_nothing(pairs):
    a, b = np.array(pairs).T
    a, b = np.where(np.abs(a) < 1e-60, 0, a), np.where(np.abs(b) < 1e-60, 0, b)  # no underflow
    for got, wanted in (
        (Twofold.product(a, b), [Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)]),
        (Twofold.difference(a, b), [Fraction(x) - Fraction(y) for x, y in zip(a, b, strict=True)]),
    ):
        assert [Fraction(h) + Fraction(low) for h, low in zip(got.high, got.low, strict=True)] == wanted
    third = Twofold.exact(np.where(b == 0, 1.0, b))
    ratio = Twofold.exact(a) / third
    for h, low, x, y in zip(ratio.high, ratio.low, a, third.high, strict=True):
        assert abs((Fraction(h) + Fraction(low)) * Fraction(y) - Fraction(x)) <= abs(Fraction(x)) / 2**100
