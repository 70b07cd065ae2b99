"""Gaussians with a state for a parent, and the same without a row, against exact rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._conditionals.cell_gaussian import ChildGaussians, estimate_cell_gaussian
from bayeskit._conditionals.gaussian import estimate_gaussian
from bayeskit._counting.count_moments import count_cell_moments, count_moments
from bayeskit.errors import InfiniteValue, NotCounted, SettingError
from bayeskit.extending import Chunk
from bayeskit.statistics import Schema, Variable
from refusals import refuses

NAN = float("nan")


def schema_of(sizes, width, n_classes=2):
    coded = (Variable(f"a{j}", "categorical", tuple(range(r))) for j, r in enumerate(sizes))
    numeric = (Variable(f"x{j}", "numeric") for j in range(width))
    return Schema((*coded, *numeric), Variable("y", "categorical", tuple(range(n_classes))))


def chunk_of(codes, values, target=None, weights=None, dtype=np.uint8):
    codes, values = np.array(codes, dtype=dtype), np.array(values, dtype=float)
    return Chunk(
        len(values),
        codes if codes.ndim == 2 else codes[:, None],
        values if values.ndim == 2 else values[:, None],
        target=None if target is None else np.asarray(target, np.uint32),
        weights=None if weights is None else np.asarray(weights, float),
    )


def fitted(chunk, sizes, n_classes=2, **how):
    schema = schema_of(sizes, chunk.values.shape[1], n_classes)
    names = tuple(variable.name for variable in schema.numeric)
    cells, classes = (f(chunk, schema, names) for f in (count_cell_moments, count_moments))
    return estimate_cell_gaussian(cells, classes, schema, **how)


def scored(gaussian, chunk, own=None):
    """Scores for every parent, the class alone last: (n, d + 1, K)."""
    n, d, k = chunk.n_rows, len(gaussian.offsets), gaussian.mean.shape[1]
    every, alone = np.zeros((n, d, k)), np.zeros((n, k))
    columns = np.arange(chunk.values.shape[1])
    if own is None:
        gaussian.scores(chunk, every)
        gaussian.add_given(chunk, -1, columns, alone)
    else:
        gaussian.scores_left_out(chunk, own, every)
        gaussian.add_given_left_out(chunk, own, -1, columns, alone)
    return np.concatenate([every, alone[:, None]], axis=1)


# -- the slow twin: everything as fractions, one number at a time ----------------------------------


def exact(rows):
    """n, mean and Σw(x − mean)² of pairs (x, w)."""
    rows = [(Fraction(x), w) for x, w in rows if x == x and w]
    n = sum((w for _, w in rows), Fraction(0))
    mean = sum((w * x for x, w in rows), Fraction(0)) / n if n else Fraction(0)
    return n, mean, sum((w * (x - mean) ** 2 for x, w in rows), Fraction(0))


def slow_log_density(x, given, of_class, pooled, alpha, unbiased):
    """log N(x) of a cell, from the exact moments of the cell (None: no parent), its class and all classes."""
    n, mean, spread = pooled
    if x != x or not spread:
        return 0.0
    floor = Fraction(1e-9) * spread / n
    of_all = (spread / (n - 1) if n > 1 else Fraction(0)) if unbiased else spread / n
    n_c, mean_c, spread_c = of_class
    few = n_c <= 1 if unbiased else n_c == 0
    mean_c = mean_c if n_c else mean
    variance = max(of_all if few else spread_c / (n_c - 1 if unbiased else n_c), floor)
    mean = mean_c
    if given is not None and given[0]:
        n_g, mean_g, spread_g = given
        total = n_g + alpha
        mean = (n_g * mean_g + alpha * mean_c) / total
        between = n_g * alpha / total * (mean_g - mean_c) ** 2
        variance = max((spread_g + between + alpha * variance) / total, floor)
    z = float((Fraction(x) - mean) ** 2 / (2 * variance))
    return -0.5 * math.log(2 * math.pi) - 0.5 * math.log(variance) - z


def slow_scores(counted, row, sizes, n_classes, alpha, unbiased, missing):
    """What ``scored`` gives for one row (codes, values); ``counted`` are (codes, values, class, weight)."""
    codes, values = row
    alpha = Fraction(alpha)
    out = np.zeros((len(sizes) + 1, n_classes))
    for m, x in enumerate(values):
        pooled = exact([(r[1][m], r[3]) for r in counted])
        for c in range(n_classes):
            mine = [r for r in counted if r[2] == c]
            of_class = exact([(r[1][m], r[3]) for r in mine])
            for p in range(len(sizes) + 1):
                present = p < len(sizes) and codes[p] < sizes[p] + (missing == "state")
                same = [(r[1][m], r[3]) for r in mine if present and r[0][p] == codes[p]]
                given = exact(same) if present else None
                out[p, c] += slow_log_density(x, given, of_class, pooled, alpha, unbiased)
    return out


def check(codes, values, target, sizes, n_classes=2, weights=None, removed=1.0, unseen=(), **how):
    """Scores are those of the twin, and without a row those of the twin that never counted it."""
    chunk = chunk_of(codes, values, target, weights)
    settings = {"alpha": 1.0, "unbiased": False, "missing": "ignore", **how}
    gaussian = fitted(chunk, sizes, n_classes, **settings)
    kept = [Fraction(w) for w in chunk.row_weights]
    rows = list(zip(chunk.codes.tolist(), chunk.values.tolist(), target, kept, strict=True))
    asked = [row[:2] for row in rows] + list(unseen)
    wanted = np.array([slow_scores(rows, row, sizes, n_classes, **settings) for row in asked])
    got = scored(gaussian, chunk_of(*zip(*asked, strict=True)))
    np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-11)
    nothing = scored(gaussian, chunk, np.zeros(len(rows)))
    np.testing.assert_allclose(nothing, got[: len(rows)], rtol=1e-12, atol=1e-12)

    own = np.minimum(chunk.row_weights, removed)
    got = scored(gaussian, chunk, own)
    for i, row in enumerate(rows):
        without = [(*r[:3], r[3] - Fraction(own[i]) if j == i else r[3]) for j, r in enumerate(rows)]
        wanted = slow_scores(without, row[:2], sizes, n_classes, **settings)
        np.testing.assert_allclose(got[i], wanted, rtol=1e-11, atol=1e-11)
    return gaussian


# -- laws over random rows -------------------------------------------------------------------------

NEAR = st.integers(-6, 6).map(lambda k: 0.37 * k) | st.just(NAN)
FAR = NEAR | st.sampled_from([1e8, -3e7 + 0.1, 1e8 + 0.5])


@st.composite
def cases(draw):
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=2))
    n, n_classes, width = draw(st.integers(1, 9)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    cell, offset = draw(st.sampled_from([NEAR, FAR])), draw(st.sampled_from([0.0, 1e8, -1e3]))
    codes = [[draw(st.integers(0, r)) for r in sizes] for _ in range(n)]
    values = [[draw(cell) + offset for _ in range(width)] for _ in range(n)]
    target = [draw(st.integers(0, n_classes - 1)) for _ in range(n)]
    how = {
        "alpha": draw(st.sampled_from([1.0, 0.0, 0.3, 1e-6, 50.0])),
        "unbiased": draw(st.booleans()),
        "missing": draw(st.sampled_from(["ignore", "state"])),
    }
    # A class whose weights are 1 but for rounding has a variance that is all rounding: whole and half there.
    pool = [1.0, 2.0, 0.5, 3.0] if how["unbiased"] else [0.1, 1 / 3, 2.5, 1.0]
    weights = draw(st.none() | st.just(pool))
    weights = weights and [draw(st.sampled_from(weights)) for _ in range(n)]
    unseen = [([r + draw(st.integers(0, 1)) for r in sizes], values[0])]
    how["removed"] = draw(st.sampled_from([1.0, 0.25, 100.0]))
    return codes, values, target, sizes, n_classes, weights, unseen, how


@settings(max_examples=150)
@given(cases())
def test_equals_the_slow_twin_also_without_each_row(case):
    codes, values, target, sizes, n_classes, weights, unseen, how = case
    check(codes, values, target, sizes, n_classes, weights, unseen=unseen, **how)


@pytest.mark.parametrize(
    ("values", "how"),
    [
        pytest.param([1.0, 1.0, 1.0, 5.0], {}, id="constant without one row"),
        pytest.param([7.0, NAN, NAN, NAN], {}, id="one value"),
        pytest.param([2.5, 2.5, 2.5, 2.5], {}, id="constant"),
        pytest.param([1.0, 2.0, 4.0, 8.0], {"alpha": 0.0}, id="cells of one and two rows, no prior"),
        pytest.param([1.0, 1.0, 4.0, 4.0], {"alpha": 0.0, "unbiased": True}, id="variances of zero"),
        pytest.param([1e8, 0.1, 0.3, 0.2], {"alpha": 0.0}, id="an outlier is left out"),
        pytest.param([1e8 + 0.25, 1e8, 1e8 + 1.0, 1e8 + 0.5], {"alpha": 0.5}, id="far from zero"),
        pytest.param([-1e8, 1e8, -1e8 + 1.0, 1e8 + 0.5], {"alpha": 0.0}, id="cells far apart"),
    ],
)
def test_hard_columns(values, how):
    check([[0], [0], [0], [1]], [[v] for v in values], [0, 0, 0, 0], (2,), 2, **how)
    check([[0], [0], [1], [0]], [[v] for v in values], [0, 1, 0, 1], (2,), 2, **how)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_row_that_outweighs_all_others(alpha):
    # What is left of its cell, 0.4 of 1e8, has its digits in the low part of the weight.
    codes, values = [[0], [0], [0], [1]], [[1.0], [2.0], [4.0], [3.0]]
    check(codes, values, [0] * 4, (2,), 1, [1e8, 0.1, 0.3, 0.7], removed=1e9, alpha=alpha)


# -- worked ----------------------------------------------------------------------------------------


def test_a_page_of_arithmetic():
    # Class 0: state 0 holds 1, 3 and state 1 holds 8. The class has mean 4 and variance 26/3.
    chunk = chunk_of([0, 0, 1], [1.0, 3.0, 8.0], [0, 0, 0])
    gaussian = fitted(chunk, (2,), 1)
    mean = (gaussian.mean + gaussian.mean_low)[:, 0, 0]
    np.testing.assert_allclose(mean, [8 / 3, 6, 4, 4], rtol=1e-14)
    # (2 + 2/3·4 + 26/3)/3, (0 + 1/2·16 + 26/3)/2, and the class where there is no row or no parent.
    np.testing.assert_allclose(gaussian.variance[:, 0, 0], [40 / 9, 25 / 3, 26 / 3, 26 / 3], rtol=1e-14)
    # Without the 8 the class has mean 2 and variance 1, and the cell of state 1 nothing else to say.
    out = np.zeros((3, 1))
    gaussian.add_given_left_out(chunk, np.ones(3), 0, [0], out)
    assert out[2, 0] == pytest.approx(-0.5 * math.log(2 * math.pi) - 36 / 2, rel=1e-13)
    # Without the 3: the class has mean 9/2 and variance 49/4, the cell 1; together mean 11/4 and
    # variance (1/2·49/4 + 49/4)/2 = 147/16.
    wanted = -0.5 * math.log(2 * math.pi * 147 / 16) - (1 / 4) ** 2 / (2 * 147 / 16)
    assert out[1, 0] == pytest.approx(wanted, rel=1e-13)


def test_no_imaginary_rows_leave_the_cell_as_it_is():
    gaussian = fitted(chunk_of([0, 0, 1, 1], [1.0, 3.0, 8.0, 8.0], [0] * 4), (2,), 1, alpha=0.0)
    np.testing.assert_array_equal(gaussian.mean[:, 0, 0], [2, 8, 5, 5])
    np.testing.assert_allclose(gaussian.variance[:, 0, 0], [1, 0, 9.5, 9.5])
    np.testing.assert_allclose(gaussian.deviation[1, 0, 0] ** 2, 9.5e-9)


# -- many rows -------------------------------------------------------------------------------------


def random_chunk(n, sizes, width, n_classes, offset=0.0, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, r + 1, n) for r in sizes])
    target = rng.integers(0, n_classes, n)
    values = rng.normal(size=(n, width)) + codes[:, :1] + target[:, None] + offset
    values[rng.random(values.shape) < 0.1] = NAN
    return chunk_of(codes, values, target, rng.uniform(0.2, 2.0, n))


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("how", [{}, {"alpha": 0.0, "missing": "state"}, {"unbiased": True, "alpha": 0.1}])
def test_left_out_is_counting_the_others(offset, how):
    sizes, chunk = (3, 40), random_chunk(300, (3, 40), 3, 3, offset)
    gaussian = fitted(chunk, sizes, 3, **how)
    left_out = scored(gaussian, chunk, chunk.weights)
    assert np.isfinite(left_out).all()
    for i in range(0, 300, 12):
        others = np.arange(300) != i
        rest = chunk_of(
            chunk.codes[others], chunk.values[others], chunk.target[others], chunk.weights[others]
        )
        row = chunk_of(chunk.codes[i : i + 1], chunk.values[i : i + 1])
        np.testing.assert_allclose(left_out[i], scored(fitted(rest, sizes, 3, **how), row)[0], rtol=1e-11)


def test_without_a_parent_it_is_the_gaussian_of_the_class():
    chunk = random_chunk(200, (3,), 2, 3)
    schema = schema_of((3,), 2, 3)
    for unbiased in (False, True):
        moments = count_moments(chunk, schema, ("x0", "x1"))
        wanted = np.zeros((200, 3))
        estimate_gaussian(moments, np.arange(2), unbiased=unbiased).add_log_prob(chunk, wanted)
        got = scored(fitted(chunk, (3,), 3, unbiased=unbiased), chunk)
        np.testing.assert_allclose(got[:, -1], wanted, rtol=1e-12)
        absent = chunk.codes[:, 0] == 3
        np.testing.assert_array_equal(got[absent, 0], got[absent, 1])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32])
def test_columns_parents_and_children(dtype):
    plain = random_chunk(150, (3, 2), 4, 2)
    chunk = chunk_of(plain.codes, plain.values, plain.target, plain.weights, dtype)
    gaussian = fitted(chunk, (3, 2))
    before = np.random.default_rng(1).normal(size=(150, 2))
    apart, left_out = before.copy(), before.copy()
    parents = np.array([1, -1, 0, 1])
    for m, parent in enumerate(parents):
        gaussian.add_given(chunk, int(parent), [m], apart)
        gaussian.add_given_left_out(chunk, plain.weights, int(parent), [m], left_out)
    children = ChildGaussians(gaussian, parents)
    together, together_left_out = before.copy(), before.copy()
    children.add_log_prob(chunk, together)
    children.add_left_out(chunk, plain.weights, together_left_out)
    np.testing.assert_allclose(together, apart, rtol=1e-13)
    np.testing.assert_allclose(together_left_out, left_out, rtol=1e-13)
    assert np.abs(together - together_left_out).max() > 1e-3
    every = np.zeros((150, 2, 2))
    gaussian.scores(chunk, every)
    one = np.zeros((150, 2))
    gaussian.add_given(chunk, 1, np.arange(4), one)
    np.testing.assert_array_equal(every[:, 1], one)


def test_no_categorical_attribute_leaves_the_class():
    plain = random_chunk(50, (2,), 2, 2)
    bare = chunk_of(np.empty((50, 0)), plain.values, plain.target, plain.weights)
    got, wanted = scored(fitted(bare, ()), bare), scored(fitted(plain, (2,)), plain)
    np.testing.assert_array_equal(got[:, 0], wanted[:, 1])


# -- the edges of the range ------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1e300, 1e-300, 1e200, 1e-200])
def test_any_magnitude(unit):
    plain = random_chunk(40, (2,), 1, 2)
    scaled = chunk_of(plain.codes, plain.values * unit, plain.target, plain.weights)
    present = np.isfinite(plain.values[:, 0])
    for own in (None, plain.weights):
        first, second = (scored(fitted(chunk, (2,)), chunk, own)[present] for chunk in (plain, scaled))
        np.testing.assert_allclose(second + np.log(unit), first, rtol=1e-9, atol=1e-9)
    far = chunk_of([[0], [2]], [[1.0], [-1.7e308]])
    assert np.isfinite(scored(fitted(scaled, (2,)), far)).all()


def test_far_values_stay_finite_and_an_infinity_is_named():
    chunk = random_chunk(60, (2,), 2, 2)
    gaussian = fitted(chunk, (2,))
    values = chunk.values.copy()
    values[7, 1] = 1e308
    far = chunk_of(chunk.codes, values, chunk.target)
    assert np.isfinite(scored(gaussian, far)).all()
    assert (scored(gaussian, far)[7] < -1e299).all()
    values[9, 1] = -np.inf
    far = chunk_of(chunk.codes, values, chunk.target)
    for own in (None, np.zeros(60)):
        with pytest.raises(InfiniteValue) as caught:
            scored(gaussian, far, own)
        assert (caught.value.column, caught.value.row) == (1, 9)
    # An attribute that is left out is not looked at.
    constant = chunk.values.copy()
    constant[:, 1] = 3.0
    assert np.isfinite(scored(fitted(chunk_of(chunk.codes, constant, chunk.target), (2,)), far)).all()


def test_rows_that_were_never_counted():
    chunk = chunk_of([0, 0, 1, 1, 1], [1.0, 3.0, 8.0, 9.0, 4.0], [0, 0, 0, 1, 1])
    gaussian = fitted(chunk, (2,), 3)
    strange = {
        "a class that has no row": chunk_of([0], [1.0], [2]),
        "a state that has no row in the class": chunk_of([0], [9.0], [1]),
        "a value beyond the spread of the cell": chunk_of([0], [5.0], [0]),
        "a value beyond the spread of all": chunk_of([2], [1e30], [0]),
    }
    for row in strange.values():
        assert np.isfinite(scored(gaussian, row, np.zeros(1))).all()
        with refuses(NotCounted, -1):
            scored(gaussian, row, np.ones(1))
    with pytest.raises(NotCounted):
        scored(gaussian, chunk, np.full(5, 2.5))


@pytest.mark.parametrize("alpha", [-1.0, np.inf, NAN])
def test_alpha_is_checked(alpha):
    with refuses(SettingError, "alpha"):
        fitted(chunk_of([0], [1.0], [0]), (2,), alpha=alpha)
