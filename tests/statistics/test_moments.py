"""Moments against exact rational arithmetic, and the laws of their algebra."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._counting.count_moments import count_moments
from bayeskit._statistics import double
from bayeskit._statistics.moments import Moments
from bayeskit.errors import Incompatible, InfiniteValue
from bayeskit.extending import Chunk
from bayeskit.statistics import Embedding, Schema, Variable
from refusals import refuses

TOLERANCE = Fraction(1, 10**12)


def schema_of(width, classes=2):
    labels = classes if isinstance(classes, tuple) else tuple(range(classes))
    return Schema(
        tuple(Variable(f"x{j}", "numeric") for j in range(width)), Variable("y", "categorical", labels)
    )


def names(schema):
    return tuple(variable.name for variable in schema.numeric)


def chunk_of(values, target=None, weights=None):
    values = np.asarray(values, dtype=float)
    values = np.ascontiguousarray(values[:, None] if values.ndim == 1 else values)
    target = np.zeros(len(values), np.uint32) if target is None else np.asarray(target, np.uint32)
    weights = None if weights is None else np.asarray(weights, dtype=float)
    return Chunk(len(values), np.empty((len(values), 0), np.uint8), values, target=target, weights=weights)


def count(values, target=None, weights=None, classes=2):
    chunk = chunk_of(values, target, weights)
    schema = schema_of(chunk.values.shape[1], classes)
    return count_moments(chunk, schema, names(schema))


def exact(values, weights=None):
    """The slow twin: n, mean and Σw(x − mean)² of one column as fractions, skipping what is missing."""
    weights = np.ones(len(values)) if weights is None else weights
    rows = [
        (Fraction(float(w)), Fraction(float(x))) for x, w in zip(values, weights, strict=True) if x == x and w
    ]
    n = sum((w for w, _ in rows), Fraction(0))
    mean = sum((w * x for w, x in rows), Fraction(0)) / n if n else Fraction(0)
    return n, mean, sum((w * (x - mean) ** 2 for w, x in rows), Fraction(0))


def held(moments, c=0, j=0):
    """What a cell says, as fractions."""
    w, w_low, p, f, f_low, s, s_low = (Fraction(float(v)) for v in moments.cells[:, c, j])
    n, first, second = w + w_low, f + f_low, s + s_low
    unit = Fraction(2) ** int(moments.exponent[j])
    return (n, (p + first / n) * unit, (second - first**2 / n) * unit**2) if n else (n, p * unit, second)


def agree(got, wanted):
    """Equal to 1e-12: the mean as a part of the deviation, not of itself."""
    (n, mean, spread), (n_2, mean_2, spread_2) = got, wanted
    assert abs(n - n_2) <= TOLERANCE * n_2
    assert abs(spread - spread_2) <= TOLERANCE * spread_2
    assert (mean - mean_2) ** 2 * n_2 <= TOLERANCE**2 * spread_2 or abs(mean - mean_2) <= abs(
        mean_2
    ) * Fraction(1, 2**100)


def same(a, b):
    for c in range(a.cells.shape[1]):
        for j in range(a.cells.shape[2]):
            agree(held(a, c, j), held(b, c, j))


numbers = st.one_of(
    st.integers(-50, 50).map(lambda k: 0.37 * k), st.sampled_from([1e7, -3e7 + 0.1, 1e7 + 0.5, float("nan")])
)
rows = st.lists(
    st.tuples(numbers, numbers, st.integers(0, 1), st.sampled_from([0.1, 0.5, 1.0, 2.5, 0.0])), max_size=12
)


def counted(rows, weighted=True):
    values = np.array([row[:2] for row in rows], dtype=float).reshape(len(rows), 2)
    return count(values, [row[2] for row in rows], [row[3] for row in rows] if weighted else None)


def exactly(rows, c, j, weighted=True):
    mine = [row for row in rows if row[2] == c]
    return exact([row[j] for row in mine], [row[3] for row in mine] if weighted else None)


@settings(max_examples=150, deadline=None)
@given(rows, st.booleans())
def test_counting_equals_the_slow_twin(rows, weighted):
    moments = counted(rows, weighted)
    for c in range(2):
        for j in range(2):
            agree(held(moments, c, j), exactly(rows, c, j, weighted))


@settings(max_examples=100, deadline=None)
@given(rows, rows, rows, st.booleans())
def test_merge_is_the_union_in_any_order(a, b, c, weighted):
    one, two, three = (counted(part, weighted) for part in (a, b, c))
    whole = counted([*a, *b, *c], weighted)
    same(one.merge(two).merge(three), whole)
    same(one.merge(two.merge(three)), whole)
    same(three.merge(two).merge(one), whole)


@settings(max_examples=100, deadline=None)
@given(rows, rows, st.booleans())
def test_subtract_undoes_merge(a, b, weighted):
    one, two = counted(a, weighted), counted(b, weighted)
    same(one.merge(two).subtract(two), one)
    same(counted([*a, *b], weighted).subtract(one), two)
    nothing = one.subtract(one)
    assert not nothing.cells.any()


@settings(max_examples=50, deadline=None)
@given(rows)
def test_zero_is_neutral(a):
    moments, zero = counted(a), Moments.zero(schema_of(2), ("x0", "x1"))
    for result in (moments.merge(zero), zero.merge(moments), moments.subtract(zero)):
        np.testing.assert_array_equal(result.cells, moments.cells)


@settings(max_examples=80, deadline=None)
@given(rows, rows, st.sampled_from([0.1, 3.0, 1 / 3]))
def test_scale_distributes(a, b, factor):
    one, two = counted(a), counted(b)
    same(one.merge(two).scale(factor), one.scale(factor).merge(two.scale(factor)))
    by_class = one.scale(np.array([factor, 1.0]))
    for j in range(2):
        n, mean, spread = exactly(a, 0, j)
        agree(held(by_class, 0, j), (n * Fraction(factor), mean, spread * Fraction(factor)))
        agree(held(by_class, 1, j), exactly(a, 1, j))
    assert not one.scale(0.0).cells.any()


@settings(max_examples=50, deadline=None)
@given(rows)
def test_a_weight_of_two_is_the_row_twice(a):
    doubled = [(*row[:3], 2.0) for row in a]
    same(counted(doubled), counted([*a, *a], weighted=False))


def check_batches(batches, forgotten=(), target=None):
    """Count batches one by one, forget some, and compare with the exact moments of the rest."""
    total = reduce(Moments.merge, (count(batch) for batch in batches))
    for place in forgotten:
        total = total.subtract(count(batches[place]))
    kept = np.concatenate([batch for place, batch in enumerate(batches) if place not in set(forgotten)])
    agree(held(total), exact(kept))
    fresh = count(kept)
    np.testing.assert_allclose(total.variance(), fresh.variance(), rtol=1e-12)
    np.testing.assert_array_equal(total.mean()[0], fresh.mean()[0])


normal = np.random.default_rng(7).normal


@pytest.mark.parametrize(
    ("batches", "forgotten"),
    [
        pytest.param([1e8 + normal(size=500)], (), id="a mean of 1e8 deviations"),
        pytest.param([1e8 + normal(size=50) for _ in range(20)], range(3, 19), id="the same in batches"),
        pytest.param([np.array([1e8]), normal(size=500)], (0,), id="an outlier first, forgotten"),
        pytest.param([normal(size=500), np.array([1e8]), normal(size=9)], (1,), id="an outlier between"),
        pytest.param(
            [np.array([1e8]), *(normal(size=9) for _ in range(60))], (0, 5, 9), id="an outlier stays long"
        ),
        pytest.param(
            [normal(size=40) * 10.0 ** (k % 4) for k in range(200)], range(199), id="199 of 200 forgotten"
        ),
        pytest.param([np.full(90, 0.1), np.array([7e7]), np.full(9, 0.1)], (1,), id="constant again"),
        pytest.param([np.array([0.1, 1e8, 0.3]), np.array([5.0])], (0,), id="one value left"),
    ],
)
def test_hard_batches(batches, forgotten):
    check_batches(batches, tuple(forgotten))


@pytest.mark.parametrize("weighted", [False, True])
def test_an_outlier_inside_its_batch_is_forgotten(weighted):
    # So many rows about so far a pivot lose digits unless they are counted again about their mean.
    ordinary = 0.1 + 1e-3 * normal(size=65_535)
    values = np.concatenate([[1e8], ordinary])
    whole = count(values, weights=np.ones(65_536) if weighted else None)
    agree(held(whole.subtract(count([1e8]))), held(count(ordinary)))


def test_a_constant_is_exactly_constant_when_an_outlier_of_its_batch_is_forgotten():
    left = count(np.concatenate([[1e8], np.full(65_535, 0.1)])).subtract(count([1e8]))
    assert left.variance()[0, 0] == 0.0
    assert left.mean()[0][0, 0] == 0.1


def test_classes_may_lie_far_apart():
    target = np.arange(600) % 5
    values = 1e8 * target + normal(size=600)
    moments = count(values, target, classes=5)
    for c in range(5):
        agree(held(moments, c), exact(values[target == c]))
    agree(held(moments.pooled()), exact(values))


def test_fractional_weights_survive_an_outlier():
    values, weights = normal(size=50), np.random.default_rng(0).uniform(0.1, 2, size=50)
    total = count([1e8], weights=[0.3]).merge(count(values, weights=weights))
    agree(held(total.subtract(count([1e8], weights=[0.3]))), exact(values, weights))


def test_decay_keeps_its_digits():
    total, kept = Moments.zero(schema_of(1), ("x0",)), []
    for _ in range(30):
        batch = 1e6 + normal(size=5)
        total = total.scale(0.9).merge(count(batch))
        kept.append(batch)
    weights = np.concatenate([[float(Fraction(0.9) ** (29 - step))] * 5 for step in range(30)])
    agree(held(total), exact(np.concatenate(kept), weights))


def test_missing_values_and_rows_of_no_weight():
    values = np.array([[np.nan, 1.0], [2.0, np.inf], [4.0, 3.0], [np.nan, 5.0]])
    moments = count(values, weights=[1.0, 0.0, 2.0, 1.0], target=[0, 0, 0, 1])
    np.testing.assert_array_equal(moments.weight, [[2.0, 3.0], [0.0, 1.0]])
    np.testing.assert_allclose(moments.mean()[0], [[4.0, 7 / 3], [0.0, 5.0]])
    assert not moments.cells[:, 1, 0].any()


def test_both_loops_agree():
    values, target = normal(size=(3000, 3)), np.arange(3000) % 2
    same(count(values, target), count(values, target, np.ones(3000)))


def test_a_subset_of_the_attributes():
    values = normal(size=(50, 3))
    schema = schema_of(3)
    some = count_moments(chunk_of(values), schema, ("x0", "x2"))
    np.testing.assert_array_equal(some.cells, count(values).cells[:, :, [0, 2]])


@pytest.mark.parametrize("weights", [None, [1.0, 1.0, 2.0]])
def test_an_infinity_is_named(weights):
    with refuses(InfiniteValue, "x1", "-inf", 2):
        count([[1.0, 2.0], [np.nan, 1.0], [3.0, -np.inf]], weights=weights)


@pytest.mark.parametrize("unit", [1e300, 1e-300, 2.0**-1060, 1e200, 1e-200, 1e160, 1e-150])
@pytest.mark.parametrize("weighted", [False, True])
def test_magnitudes_whose_squares_leave_the_range(unit, weighted):
    values = np.array([1.0, 2.0, 5.0, 7.5, -3.0, 4.0]) * unit
    weights = np.array([1.0, 2.0, 0.5, 1.0, 1.0, 3.0]) if weighted else None
    part = [
        count(values[k : k + 1], weights=None if weights is None else weights[k : k + 1]) for k in range(6)
    ]
    whole = count(values, weights=weights)
    wanted = exact(values, weights)
    agree(held(whole), wanted)
    agree(held(reduce(Moments.merge, part)), wanted)
    agree(held(whole.subtract(part[2]).merge(part[2])), wanted)
    deviation = float(np.sqrt(float(wanted[2] / wanted[0] / Fraction(unit) ** 2)))
    assert whole.deviation()[0, 0] / unit == pytest.approx(deviation, rel=1e-12, abs=5e-324 / unit)
    assert 0.0 < whole.variance()[0, 0] <= np.finfo(float).max
    assert whole.mean()[0][0, 0] == pytest.approx(float(wanted[1]), rel=1e-15)


def test_constants_far_apart_are_pooled():
    moments = count([1e200, 1e200, -1e200], [0, 0, 1])
    agree(held(moments.pooled()), exact([1e200, 1e200, -1e200]))
    assert moments.variance().tolist() == [[0.0], [0.0]]


def test_one_column_of_many_needs_an_exponent():
    values = np.column_stack([normal(size=9), normal(size=9) * 1e250])
    moments = count(values)
    assert moments.exponent[0] == 0
    assert moments.exponent[1] > 400
    for j in range(2):
        agree(held(moments, 0, j), exact(values[:, j]))


def test_variance_by_either_divisor():
    moments = count([1.0, 3.0, 8.0, 9.0], [0, 0, 0, 1])
    np.testing.assert_allclose(moments.variance(), [[26 / 3], [0.0]])
    np.testing.assert_allclose(moments.variance(unbiased=True), [[13.0], [0.0]])
    np.testing.assert_allclose(moments.centred(), [[26.0], [0.0]])


def test_mean_has_more_digits_than_a_double():
    values = 0.1 + np.arange(10) / 3
    high, low = count(values).mean()
    _, mean, _ = exact(values)
    assert abs(Fraction(float(high[0, 0])) + Fraction(float(low[0, 0])) - mean) < Fraction(1, 10**30)


def test_embedding_moves_the_classes():
    old, new = schema_of(2, ("b", "c")), schema_of(2, ("a", "c", "b"))
    moments = count(normal(size=(20, 2)), np.arange(20) % 2)
    moved = moments.embed(Embedding(old, new))
    np.testing.assert_array_equal(moved.cells[:, [2, 1]], moments.cells)
    assert not moved.cells[:, 0].any()


def test_what_was_never_counted_is_a_deficit():
    moments = count([1.0, 2.0]).subtract(count([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert moments.deficit() == 3.0
    assert count([1.0]).deficit() == 0.0
    with refuses(Incompatible, 2, 1, 3):
        count([1.0]).merge(count([1.0], classes=3))


def test_rounding_of_fractional_weights_leaves_an_empty_cell():
    part = count([3.0, 4.0], weights=[0.1, 0.2])
    left = part.subtract(count([3.0], weights=[0.1])).subtract(count([4.0], weights=[0.2 + 1e-15]))
    assert not left.cells.any()
    # Whole weights are exact, so one row of ten thousand million is a row.
    many = count([3.0], weights=[1e10])
    assert many.subtract(count([3.0], weights=[1e10 - 1])).weight[0, 0] == 1.0


def test_a_far_pivot_is_recentred():
    total = count(np.concatenate([[1e8], normal(size=300)]))
    assert abs(total.pivot[0, 0] - total.mean()[0][0, 0]) < 10 * total.deviation()[0, 0]
    left = total.subtract(count([1e8]))
    assert abs(left.pivot[0, 0] - left.mean()[0][0, 0]) <= 10 * left.deviation()[0, 0]


@pytest.mark.parametrize("unit", [1.0, 1e300])
def test_saving_keeps_every_bit(unit):
    moments = count(normal(size=(20, 3)) * unit, np.arange(20) % 2)
    again = Moments.from_arrays({name: np.array(array) for name, array in moments.arrays().items()})
    np.testing.assert_array_equal(again.cells, moments.cells)
    np.testing.assert_array_equal(again.exponent, moments.exponent)
    assert set(moments.arrays()) >= {"weight", "pivot", "first", "second", "exponent"}


def test_no_rows_and_no_attributes():
    schema = schema_of(2)
    assert not count_moments(chunk_of(np.empty((0, 2))), schema, names(schema)).cells.any()
    assert count_moments(chunk_of(np.empty((3, 2))), schema, ()).cells.shape == (double.PLANES, 2, 0)
