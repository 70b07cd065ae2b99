"""Tables of counts: the algebra, the counting kernels and the estimates, against slow twins."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._conditionals.categorical import TableConditional, estimate_tables, imaginary_counts
from bayeskit._counting.count_tables import count_tables
from bayeskit.errors import NotCounted
from bayeskit.extending import Chunk
from bayeskit.priors import MAP, MLE, BDeu, Dirichlet, Lidstone, MEstimate, Smoothing
from bayeskit.statistics import Embedding, Schema, Tables, Variable
from reference import slow_log_table, slow_tables
from refusals import refuses

LAPLACE = Smoothing(Lidstone(1.0), {})


def schema_of(sizes, n_classes=2):
    attributes = (Variable(f"x{j}", "categorical", tuple(range(r))) for j, r in enumerate(sizes))
    return Schema(tuple(attributes), Variable("y", "categorical", tuple(range(n_classes))))


def chunk_of(codes, target=None, weights=None, dtype=np.uint8):
    codes = np.ascontiguousarray(codes, dtype=dtype)
    target = None if target is None else np.asarray(target, np.uint32)
    weights = None if weights is None else np.asarray(weights, float)
    return Chunk(len(codes), codes, np.empty((len(codes), 0)), target=target, weights=weights)


def count(codes, target, sizes, n_classes=2, weights=None, dtype=np.uint8):
    schema = schema_of(sizes, n_classes)
    names = tuple(v.name for v in schema.categorical)
    return count_tables(
        chunk_of(np.reshape(codes, (len(target), len(sizes))), target, weights, dtype), schema, names
    )


@st.composite
def coded(draw, unseen=0):
    """Sizes, a number of classes, and rows of codes where the size itself says missing."""
    sizes = draw(st.lists(st.integers(0, 4), min_size=0, max_size=4))
    n_classes = draw(st.integers(1, 10))
    n = draw(st.integers(1, 12))
    rows = [[draw(st.integers(0, r + unseen)) for r in sizes] for _ in range(n)]
    target = [draw(st.integers(0, n_classes - 1)) for _ in range(n)]
    weights = draw(
        st.one_of(st.none(), st.lists(st.sampled_from([0.0, 0.1, 1.0, 2.5]), min_size=n, max_size=n))
    )
    return sizes, n_classes, rows, target, weights


@settings(max_examples=80)
@given(coded(), st.sampled_from([np.uint8, np.uint32]))
def test_counting_equals_the_slow_twin(case, dtype):
    sizes, n_classes, rows, target, weights = case
    counted = count(rows, target, sizes, n_classes, weights, dtype)
    margin, counts = slow_tables(rows, target, weights, sizes, n_classes)
    np.testing.assert_array_equal(counted.margin, margin)
    np.testing.assert_array_equal(counted.counts, counts)


def test_many_states_and_many_rows():
    rng = np.random.default_rng(0)
    sizes, n = (300, 2), 5000
    codes = np.column_stack([rng.integers(0, 301, n), rng.integers(0, 3, n)])
    target, weights = rng.integers(0, 3, n), rng.integers(0, 4, n).astype(float)
    counted = count(codes, target, sizes, 3, weights, np.uint32)
    margin, counts = slow_tables(codes.tolist(), target, weights, sizes, 3)
    np.testing.assert_array_equal(counted.counts, counts)
    np.testing.assert_array_equal(counted.margin, margin)


@settings(max_examples=40)
@given(coded(), st.integers(0, 12), st.sampled_from([0.0, 0.5, 3.0]))
def test_the_algebra(case, cut, factor):
    sizes, n_classes, rows, target, weights = case
    whole = count(rows, target, sizes, n_classes, weights)
    parts = []
    for rows_of in (slice(None, cut), slice(cut, None)):
        some = None if weights is None else weights[rows_of]
        parts.append(count(rows[rows_of], target[rows_of], sizes, n_classes, some))
    one, two = parts

    def same(a, b):
        np.testing.assert_allclose(a.margin, b.margin, rtol=1e-14, atol=1e-14)
        np.testing.assert_allclose(a.counts, b.counts, rtol=1e-14, atol=1e-14)

    same(one.merge(two), whole)
    same(two.merge(one), whole)
    same(whole.subtract(one), two)
    same(whole.merge(Tables.zero(schema_of(sizes, n_classes), ())), whole)
    same(one.scale(factor).merge(two.scale(factor)), whole.scale(factor))
    nothing = whole.subtract(whole)
    assert not nothing.counts.any()
    assert not nothing.margin.any()
    by_class = np.arange(float(n_classes))
    # In two doubles 3 × 1.1 is 3.3, where the plain product is one unit in the last place beside it: so in fractions.
    scaled, schema = whole.scale(by_class), schema_of(sizes, n_classes)
    margin = [Fraction(0)] * n_classes
    counts = [[Fraction(0)] * n_classes for _ in range(int(schema.offsets[-1]))]
    for r, label in enumerate(target):
        weight = Fraction(1 if weights is None else float(weights[r])) * int(label)
        margin[label] += weight
        for j, code in enumerate(rows[r]):
            counts[int(schema.offsets[j]) + int(code)][label] += weight
    np.testing.assert_allclose(scaled.margin, [float(m) for m in margin], rtol=2.0**-52)
    wanted = np.array([[float(n) for n in row] for row in counts]).reshape(scaled.counts.shape)
    np.testing.assert_allclose(scaled.counts, wanted, rtol=2.0**-52)


def test_parts_are_values():
    one = count([[0], [1]], [0, 1], (2,))
    before = one.counts.copy(), one.margin.copy()
    for result in (one.merge(one), one.subtract(one), one.scale(0.0)):
        assert result is not one
    np.testing.assert_array_equal(one.counts, before[0])
    np.testing.assert_array_equal(one.margin, before[1])


def test_rounding_is_cleared_and_a_real_rest_is_not():
    total = count([[0]] * 3, [0] * 3, (1,), weights=[0.1, 0.2, 0.3])
    for weight in (0.3, 0.1, 0.2):
        total = total.subtract(count([[0]], [0], (1,), weights=[weight]))
    assert not total.counts.any()
    assert not total.margin.any()
    many = count([[0]], [0], (1,), weights=[1e9]).subtract(count([[0]], [0], (1,), weights=[1e9 - 1]))
    assert many.counts[0, 0] == 1.0


@pytest.mark.parametrize(("weight", "rest"), [(1.0, -1), (3.0, -2), (0.5, -0.5), (1e-6, -1e-06)])
def test_what_was_never_counted_is_refused(weight, rest):
    one, two = count([[0]], [0], (2,)), count([[1]], [0], (2,))
    with refuses(NotCounted, f"{rest:g}"):
        one.subtract(two.scale(weight))
    with pytest.raises(NotCounted):
        Tables.zero(schema_of((2,)), ()).subtract(one)
    assert one.deficit() == 0.0


def test_embedding_moves_states_and_classes():
    old = Schema((Variable("x", "categorical", ("b", "d")),), Variable("y", "categorical", ("p", "q")))
    new = Schema(
        (Variable("x", "categorical", ("a", "b", "c", "d")),), Variable("y", "categorical", ("o", "q", "p"))
    )
    tables = Tables(np.array([5.0, 7.0]), np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 1.0]]))
    moved = tables.embed(Embedding(old, new))
    assert moved.margin.tolist() == [0.0, 7.0, 5.0]
    assert moved.counts.tolist() == [[0, 0, 0], [0, 2, 1], [0, 0, 0], [0, 4, 3], [0, 1, 1]]
    back = moved.embed(Embedding(new, old))
    np.testing.assert_array_equal(back.counts, tables.counts)
    np.testing.assert_array_equal(back.margin, tables.margin)


def test_saving_keeps_every_bit():
    tables = count([[0, 1], [1, 2]], [0, 1], (2, 2), weights=[0.1, 1 / 3])
    again = Tables.from_arrays(tables.arrays())
    np.testing.assert_array_equal(again.counts, tables.counts)
    np.testing.assert_array_equal(again.margin, tables.margin)


# -- estimates ---------------------------------------------------------------------------------


def estimated(rows, smoothing=LAPLACE, n_classes=2, **how):
    """Rows of counts n(v, c), the last for missing values → the exponential of the table."""
    counts = np.asarray(rows, float)
    schema = schema_of((len(rows) - 1,), n_classes)
    return np.exp(estimate_tables(counts, schema, smoothing, **how).log_table)


def check(rows, wanted, **how):
    got = estimated(rows, n_classes=len(rows[0]), **how)
    np.testing.assert_allclose(
        got, np.array([[float(Fraction(p)) for p in row] for row in wanted]), rtol=1e-14
    )


# Two states, then missing; counts (3, 0), (1, 4) and (2, 1). The rows of the answer: states, missing, unseen.
ROWS = [[3, 0], [1, 4], [2, 1]]


@pytest.mark.parametrize(
    ("wanted", "how"),
    [
        ([["4/6", "1/6"], ["2/6", "5/6"], ["1", "1"], ["1", "1"]], {}),
        ([["4/7", "1/7"], ["2/7", "5/7"], ["1", "1"], ["1/7", "1/7"]], {"unseen": "smooth"}),
        ([["4/9", "1/8"], ["2/9", "5/8"], ["3/9", "2/8"], ["1", "1"]], {"missing": "state"}),
        (
            [["4/10", "1/9"], ["2/10", "5/9"], ["3/10", "2/9"], ["1/10", "1/9"]],
            {"missing": "state", "unseen": "smooth"},
        ),
        ([["3/4", "0"], ["1/4", "1"], ["1", "1"], ["1", "1"]], {"smoothing": Smoothing(MLE(), {})}),
        (
            [["7/10", "1/10"], ["3/10", "9/10"], ["1", "1"], ["1", "1"]],
            {"smoothing": Smoothing(Lidstone(0.5), {})},
        ),
        (
            [["7/10", "1/10"], ["3/10", "9/10"], ["1", "1"], ["1", "1"]],
            {"smoothing": Smoothing(MEstimate(1), {})},
        ),
        ([["7/10", "1/10"], ["3/10", "9/10"], ["1", "1"], ["1", "1"]], {"smoothing": Smoothing(BDeu(2), {})}),
        (
            [["6/8", "3/8"], ["2/8", "5/8"], ["1", "1"], ["1", "1"]],
            {"smoothing": Smoothing(Dirichlet({"x0": {0: 3.0}}), {})},
        ),
        (
            [["4/6", "1/6"], ["2/6", "5/6"], ["1", "1"], ["1", "1"]],
            {"smoothing": Smoothing(MAP(Dirichlet(2.0)), {})},
        ),
        (
            [["6/10", "3/10"], ["2/10", "5/10"], ["1", "1"], ["2/10", "2/10"]],
            {"smoothing": Smoothing(Dirichlet([3.0, 1.0]), {}), "unseen": "smooth"},
        ),
        (
            [["7/10", "1/10"], ["3/10", "9/10"], ["1", "1"], ["1", "1"]],
            {"smoothing": Smoothing(MLE(), {"x0": Lidstone(0.5)})},
        ),
    ],
)
def test_estimates_are_exact_fractions(wanted, how):
    check(ROWS, wanted, **how)


def test_a_missing_state_counts_only_where_something_was_missing():
    check([[3, 0], [1, 4], [0, 0]], [["4/6", "1/6"], ["2/6", "5/6"], ["1", "1"], ["1", "1"]], missing="state")


def test_no_row_and_no_prior_is_every_state_alike():
    check([[2, 0], [2, 0], [0, 0]], [["1/2", "1/2"]] * 2 + [["1", "1"]] * 2, smoothing=Smoothing(MLE(), {}))


def test_an_attribute_without_states_says_nothing():
    for how in ({}, {"unseen": "smooth"}, {"smoothing": Smoothing(MLE(), {})}):
        got = estimated([[0, 0]], **how)
        assert np.isfinite(got).all()
        np.testing.assert_allclose(got[:, 0], got[:, 1])


@settings(max_examples=60)
@given(
    coded(),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from(["ignore", "state"]),
    st.sampled_from(["ignore", "smooth"]),
)
def test_states_with_the_spare_ones_sum_to_one(case, alpha, missing, unseen):
    sizes, n_classes, rows, target, weights = case
    counted = count(rows, target, sizes, n_classes, weights)
    schema = schema_of(sizes, n_classes)
    tables = estimate_tables(
        counted.counts, schema, Smoothing(Lidstone(alpha), {}), missing=missing, unseen=unseen
    )
    for j, size in enumerate(sizes):
        start = int(tables.offsets[j])
        cells = np.exp(tables.log_table[start : start + size + 2])
        np.testing.assert_array_equal(tables.probabilities(j), cells[:size])
        gaps = counted.counts[int(schema.offsets[j]) + size].sum() > 0
        wanted = cells[:size].sum(axis=0)
        if missing == "state" and gaps:
            wanted = wanted + np.where(_empty(counted, schema, j, alpha), 0.0, cells[size])
        else:
            np.testing.assert_array_equal(cells[size], 1.0)
        if unseen == "smooth" and alpha > 0:
            wanted = wanted + cells[size + 1]
        if size:
            np.testing.assert_allclose(wanted, 1.0, rtol=1e-12)


def _empty(counted, schema, j, alpha):
    """The classes without a row, where no prior speaks either: every state alike, the gap left out."""
    rows = slice(int(schema.offsets[j]), int(schema.offsets[j + 1]))
    return (counted.counts[rows].sum(axis=0) == 0) & (alpha == 0)


@settings(max_examples=80)
@given(coded(unseen=1))
def test_look_up_equals_the_slow_twin(case):
    sizes, n_classes, rows, _, _ = case
    rng = np.random.default_rng(len(rows))
    tables = [np.log(rng.uniform(0.01, 1, (size + 2, n_classes))) for size in sizes]
    offsets = np.cumsum([0, *(size + 2 for size in sizes)]).astype(np.uintp)
    conditional = TableConditional(np.concatenate([np.empty((0, n_classes)), *tables]), offsets)
    start = rng.normal(size=(len(rows), n_classes))
    for dtype in (np.uint8, np.uint32):
        out = start.copy()
        conditional.add_log_prob(chunk_of(np.reshape(rows, (len(rows), len(sizes))), dtype=dtype), out)
        np.testing.assert_allclose(
            out - start, slow_log_table(tables, rows, n_classes), rtol=1e-12, atol=1e-12
        )


def test_imaginary_counts_follow_the_attribute():
    schema = schema_of((2, 3), 4)
    mixed = Smoothing(Lidstone(2.0), {"x1": BDeu(6.0)})
    assert imaginary_counts(schema, mixed).tolist() == [2.0, 2.0, 0.5, 0.5, 0.5]
    assert imaginary_counts(schema, LAPLACE).tolist() == [1.0] * 5
    assert imaginary_counts(schema_of(()), mixed).tolist() == []


def test_samples_have_the_frequencies_of_the_table():
    counts = np.array([[6.0, 0.0], [3.0, 1.0], [1.0, 9.0], [0.0, 0.0]])
    conditional = estimate_tables(counts, schema_of((3,)), Smoothing(MLE(), {}))
    classes = np.repeat([0, 1], 20_000)
    codes = conditional.sample(classes, np.random.default_rng(5))
    for c in (0, 1):
        drawn = np.bincount(codes[classes == c, 0], minlength=3)
        expected = 20_000 * counts[:3, c] / 10
        assert (drawn[expected == 0] == 0).all()
        live = expected > 0
        # 99.99 % of a chi-square of 2 degrees of freedom lies below 18.4.
        assert ((drawn[live] - expected[live]) ** 2 / expected[live]).sum() < 18.4
