"""Totals of a block: the algebra, and counting against an obvious slow twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from bayeskit._counting.count_totals import count_totals, refuse_unusable
from bayeskit._statistics.totals import Totals
from bayeskit.errors import BlockValue, ColumnError, DataError, Incompatible, UsageError
from bayeskit.extending import Chunk
from bayeskit.statistics import Embedding, Schema, Variable
from refusals import refuses


def schema_of(width, n_classes=3):
    return Schema(
        (Variable("text", "block", width=width),), Variable("y", "categorical", tuple(range(n_classes)))
    )


def chunk_of(block, target=None, weights=None, above=None):
    n = block.shape[0]
    target = None if target is None else np.asarray(target, np.uint32)
    return Chunk(n, np.empty((n, 0), np.uint8), np.empty((n, 0)), block, target, weights, block_above=above)


def count(block, target, weights=None, binarize=None, n_classes=3):
    chunk = chunk_of(block, target, weights, binarize)
    return count_totals(chunk, schema_of(block.shape[1], n_classes), ("text",))


def slow_totals(dense, target, weights=None, binarize=None, n_classes=3):
    """Add one cell at a time."""
    n, width = dense.shape
    sums, rows = np.zeros((n_classes, width)), np.zeros(n_classes)
    for i in range(n):
        w = 1.0 if weights is None else weights[i]
        rows[target[i]] += w
        for v in range(width):
            x = dense[i, v] if binarize is None else float(dense[i, v] > binarize)
            sums[target[i], v] += w * x
    return Totals(sums, rows)


def equal(a, b):
    return np.array_equal(a.sums, b.sums) and np.array_equal(a.rows, b.rows)


@st.composite
def tables(draw, whole=True):
    n, width = draw(st.integers(0, 12)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dense = rng.poisson(0.7, (n, width)).astype(float)
    weights = rng.integers(0, 4, n).astype(float)
    if not whole:
        dense, weights = dense * rng.random((n, width)), weights * rng.random(n)
    return dense, rng.integers(0, 3, n), weights


def forms(dense):
    """The same matrix in every form a block can have."""
    plain = sparse.csr_array(dense)
    wide = sparse.csr_array(dense)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    yield "dense", dense
    yield "csr array", plain
    yield "csr matrix", sparse.csr_matrix(dense)
    yield "int64 indices", wide
    yield "messy", messy(dense)


def messy(dense):
    """Unsorted indices, every cell stored three times, explicit zeros."""
    n, width = dense.shape
    data = np.column_stack([dense[:, ::-1] + 1, dense * 0, dense[:, ::-1] * 0 - 1]).reshape(-1)
    columns = np.tile([*range(width)[::-1], *range(width), *range(width)[::-1]], n)
    block = sparse.csr_array((data, columns, np.arange(n + 1) * 3 * width), (n, width))
    assert n == 0 or not block.has_canonical_format
    return block


@settings(deadline=None, max_examples=60)
@given(tables(), st.sampled_from([None, 0.0, 1.0]))
def test_counting_equals_slow_twin(table, binarize):
    dense, target, weights = table
    expected = slow_totals(dense, target, weights, binarize)
    for form, block in forms(dense):
        assert equal(count(block, target, weights, binarize), expected), form
    plain = slow_totals(dense, target, None, binarize)
    assert equal(count(sparse.csr_array(dense), target, None, binarize), plain)


def test_counting_leaves_the_block_alone():
    dense = np.random.default_rng(0).poisson(1.0, (5, 4)).astype(float)
    for _, block in forms(dense):
        before = block.copy()
        count(block, [0, 1, 2, 0, 1], binarize=0.0)
        if sparse.issparse(block):
            assert np.array_equal(block.data, before.data)
            assert np.array_equal(block.indices, before.indices)
        else:
            assert np.array_equal(block, before)


def test_many_cells_are_counted_class_by_class_to_the_same_bit():
    rng = np.random.default_rng(3)
    places = np.sort(rng.choice(300 * 60_000, 36_000, replace=False))
    block = sparse.csr_array((rng.random(36_000), np.divmod(places, 60_000)), shape=(300, 60_000))
    target, weights = rng.integers(0, 3, 300), rng.random(300)
    found = count(block, target, weights)
    expected = np.zeros((3, 60_000))
    for i in range(300):
        row = slice(block.indptr[i], block.indptr[i + 1])
        expected[target[i], block.indices[row]] += weights[i] * block.data[row]
    assert np.array_equal(found.sums, expected)


def test_readonly_arrays_and_strided_dense_blocks_are_counted():
    dense = np.arange(12.0).reshape(3, 4)
    block = sparse.csr_array(dense)
    for part in (block.data, block.indices, block.indptr):
        part.flags.writeable = False
    expected = slow_totals(dense, [0, 1, 2])
    assert equal(count(block, [0, 1, 2]), expected)
    assert equal(count(np.asfortranarray(dense), [0, 1, 2]), expected)


@settings(deadline=None, max_examples=60)
@given(tables(), st.integers(0, 12))
def test_any_split_equals_the_whole(table, cut):
    dense, target, weights = table
    whole = count(dense, target, weights)
    first = count(dense[:cut], target[:cut], weights[:cut])
    second = count(sparse.csr_array(dense[cut:]), target[cut:], weights[cut:])
    assert equal(first.merge(second), whole)
    assert equal(second.merge(first), whole)
    assert equal(whole.subtract(second), first)
    assert equal(whole.subtract(whole), Totals.zero(schema_of(dense.shape[1]), ("text",)))


@settings(deadline=None, max_examples=40)
@given(tables(), tables(), tables())
def test_laws(one, two, three):
    width = min(t[0].shape[1] for t in (one, two, three))
    a, b, c = (count(t[0][:, :width].copy(), t[1], t[2]) for t in (one, two, three))
    zero = Totals.zero(schema_of(width), ("text",))
    assert equal(a.merge(b).merge(c), a.merge(b.merge(c)))
    assert equal(a.merge(zero), a)
    assert equal(a.merge(b).scale(2.0), a.scale(2.0).merge(b.scale(2.0)))
    by_class = np.array([0.0, 1.0, 4.0])
    assert equal(a.merge(b).scale(by_class), a.scale(by_class).merge(b.scale(by_class)))
    assert np.array_equal(a.scale(by_class).sums[2], 4 * a.sums[2])
    assert a.merge(b).subtract(b).deficit() == 0.0
    assert equal(Totals.from_arrays(a.arrays()), a)


@settings(deadline=None, max_examples=40)
@given(tables(whole=False), tables(whole=False))
def test_forgetting_fractional_totals_leaves_no_dust(one, two):
    width = min(one[0].shape[1], two[0].shape[1])
    a, b = (count(t[0][:, :width].copy(), t[1], t[2]) for t in (one, two))
    left = a.merge(b).subtract(b)
    assert left.deficit() == 0.0
    assert left.sums == pytest.approx(a.sums, rel=1e-9, abs=1e-12)
    nothing = a.merge(b).subtract(b).subtract(a)
    assert nothing.deficit() == 0.0
    assert (left.sums[a.sums == 0] == 0).all()


def test_dust_goes_but_whole_counts_stay():
    thirds = Totals(np.array([[0.1 + 0.2, 0.3, 1e13 + 1, 5.0]]), np.array([0.3]))
    less = thirds.subtract(Totals(np.array([[0.3, 0.1 + 0.2, 1e13, 5.0]]), np.array([0.1 + 0.2])))
    assert less.sums.tolist() == [[0.0, 0.0, 1.0, 0.0]]
    assert less.rows.tolist() == [0.0]


def test_deficit_sees_what_was_never_counted():
    assert Totals(np.array([[1e12, -1.0]]), np.ones(1)).deficit() == 1.0
    assert Totals(np.array([[3.0, 1.0]]), np.array([-2.0])).deficit() == 2.0
    assert Totals(np.array([[1.0, -1e-10]]), np.ones(1)).deficit() == 0.0
    assert Totals(np.array([[1.0, -1e-6]]), np.ones(1)).deficit() == 1e-6
    # The size that rounding is measured by is that of the same class.
    assert Totals(np.array([[1e9, 1.0], [1.0, -0.5]]), np.ones(2)).deficit() == 0.5


def test_embedding_moves_classes():
    def target(*labels):
        return Schema((Variable("text", "block", width=2),), Variable("y", "categorical", labels))

    totals = Totals(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 2.0]))
    moved = totals.embed(Embedding(target("b", "c"), target("a", "b", "c")))
    assert moved.sums.tolist() == [[0, 0], [1, 2], [3, 4]]
    assert moved.rows.tolist() == [0, 1, 2]
    assert moved.embed(Embedding(target("a", "b", "c"), target("b", "c"))).sums.tolist() == [[1, 2], [3, 4]]
    assert totals.embed(Embedding(target("b", "c"), target("b", "c"))) is totals


def test_totals_of_other_widths_are_not_added():
    one, two = Totals(np.zeros((2, 3)), np.zeros(2)), Totals(np.zeros((2, 4)), np.zeros(2))
    with refuses(Incompatible, 3, 2, 4):
        one.merge(two)
    with pytest.raises(Incompatible):
        one.subtract(two)


@pytest.mark.parametrize("as_block", [np.array, sparse.csr_array])
@pytest.mark.parametrize(
    ("value", "says"),
    [
        (-2.0, ["text", -2.0, 2, 1]),
        (np.nan, ["text", "NaN", 2, 1]),
        (np.inf, ["text", "inf", 2, 1]),
        (-np.inf, ["text", "inf", 2, 1]),
    ],
)
def test_unusable_values_are_refused_by_place(as_block, value, says):
    dense = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, value], [0.0, 3.0, 1.0]])
    with refuses(BlockValue, *says):
        count(as_block(dense), [2, 2, 0])
    if value != -2.0:
        with refuses(BlockValue, *says):
            count(as_block(dense), [2, 2, 0], binarize=0.5)
    # A row without weight is not there.
    weights = np.array([1.0, 0.0, 1.0])
    expected = slow_totals(dense[[0, 2]], [2, 0])
    assert equal(count(as_block(dense), [2, 2, 0], weights), expected)


def test_the_first_bad_row_is_named_whatever_its_class():
    dense = np.array([[1.0], [-5.0], [-7.0]])
    with refuses(BlockValue, -5.0, 0, 1):
        count(sparse.csr_array(dense), [2, 1, 0])
    with refuses(BlockValue, -7.0, 0, 2):
        count(sparse.csr_array(dense), [2, 1, 0], np.array([1.0, 0.0, 1.0]))
    refuse_unusable(dense, signed=True)


def test_minus_zero_is_zero_and_negatives_may_be_cut():
    dense = np.array([[-0.0, 1.0], [2.0, -0.0]])
    expected = slow_totals(dense, [0, 1])
    block = sparse.csr_array(
        (np.array([-0.0, 1.0, 2.0, -0.0]), np.array([0, 1, 0, 1]), np.array([0, 2, 4])), (2, 2)
    )
    assert equal(count(dense, [0, 1]), expected)
    assert equal(count(block, [0, 1]), expected)
    signed = np.array([[-3.0, 1.0], [2.0, -1.0]])
    for form, form_block in (("dense", signed), ("sparse", sparse.csr_array(signed))):
        assert equal(count(form_block, [0, 1], binarize=0.0), slow_totals(signed, [0, 1], None, 0.0)), form
    assert equal(count(signed, [0, 1], binarize=-2.0), slow_totals(signed, [0, 1], None, -2.0))
    with refuses(DataError, "sparse", -2.0):
        count(sparse.csr_array(signed), [0, 1], binarize=-2.0)


def test_columns_that_never_occur_and_empty_rows():
    block = sparse.csr_array((4, 5))
    assert equal(count(block, [0, 0, 1, 2]), Totals(np.zeros((3, 5)), np.array([2.0, 1.0, 1.0])))


def test_a_block_must_be_there_with_its_width_and_a_class():
    block = np.ones((2, 3))
    with refuses(UsageError, "text", "class"):
        count_totals(chunk_of(block), schema_of(3), ("text",))
    with refuses(ColumnError, "text", 4, 3):
        count_totals(chunk_of(block, [0, 1]), schema_of(4), ("text",))
