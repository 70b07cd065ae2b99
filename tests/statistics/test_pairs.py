"""Counts of all pairs: the algebra, both ways of counting, and what can be read from the table."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._counting import count_tables as counting
from bayeskit._counting.count_tables import count_pairs, count_tables
from bayeskit._data.encoded import CodeColumn
from bayeskit._statistics import tables as home_of_pairs
from bayeskit._statistics.tables import Pairs
from bayeskit.errors import DataError, NotCounted
from bayeskit.extending import Chunk
from bayeskit.statistics import Embedding, Schema, Variable
from refusals import refuses

# Ways to count: as bits where there are no weights, row by row, and whichever is cheaper.
WAYS = {
    "bits": {"_WORD_COST": 0.0, "_LOOP_COST": 0.0, "_CACHED_WORDS": 0},
    "rows": {"_MOST_PLANES": 0, "_BLOCK_ROWS": 5},
    "either": {"_BLOCK_ROWS": 7},
}


def schema_of(sizes, n_classes=2):
    attributes = (Variable(f"x{j}", "categorical", tuple(range(r))) for j, r in enumerate(sizes))
    return Schema(tuple(attributes), Variable("y", "categorical", tuple(range(n_classes))))


def chunk_of(codes, target, weights=None, dtype=np.uint8):
    codes = np.ascontiguousarray(codes, dtype=dtype)
    codes = codes if codes.size else codes.reshape(len(target), 0)
    weights = None if weights is None else np.asarray(weights, float)
    return Chunk(
        len(codes), codes, np.empty((len(codes), 0)), target=np.asarray(target, np.uint32), weights=weights
    )


def count(codes, target, sizes, n_classes=2, weights=None, dtype=np.uint8, way="either"):
    with mock.patch.multiple(counting, **WAYS[way]):
        return count_pairs(chunk_of(codes, target, weights, dtype), schema_of(sizes, n_classes), ())


def slow_pairs(codes, target, weights, sizes, n_classes):
    """n(v_i, v_j, c) by the definition, one row and one pair of cells at a time."""
    starts = [sum(sizes[:j]) + j for j in range(len(sizes) + 1)]
    counts = np.zeros((starts[-1], starts[-1], n_classes))
    for i, (row, c) in enumerate(zip(codes, target, strict=True)):
        cells = [start + code for start, code in zip(starts[:-1], row, strict=True)]
        for g in cells:
            for h in cells:
                counts[g, h, c] += 1.0 if weights is None else weights[i]
    return counts


def same(a, b, exactly=True):
    compare = np.testing.assert_array_equal if exactly else np.testing.assert_allclose
    how = {} if exactly else {"rtol": 1e-13, "atol": 1e-13}
    for name, array in a.arrays().items():
        compare(array, b.arrays()[name], **how)


@st.composite
def coded(draw, weights):
    """Sizes, a number of classes, and rows of codes where the size itself says missing."""
    sizes = draw(st.lists(st.integers(0, 4), min_size=0, max_size=4))
    n_classes = draw(st.integers(1, 4))
    n = draw(st.integers(1, 14))
    rows = [[draw(st.integers(0, r)) for r in sizes] for _ in range(n)]
    target = [draw(st.integers(0, n_classes - 1)) for _ in range(n)]
    chosen = draw(weights)
    return sizes, n_classes, rows, target, None if chosen is None else [draw(chosen) for _ in range(n)]


WHOLE = st.just(st.sampled_from([1.0, 0.0, 2.0, 3.0]))
FRACTIONS = st.just(st.sampled_from([0.1, 0.2, 1 / 3, 0.0, 2.5]))
ANY = st.none() | WHOLE | FRACTIONS


@settings(max_examples=80, deadline=None)
@given(coded(ANY), st.sampled_from([np.uint8, np.uint32]), st.sampled_from(sorted(WAYS)))
def test_counting_equals_the_slow_twin(case, dtype, way):
    sizes, n_classes, rows, target, weights = case
    counted = count(rows, target, sizes, n_classes, weights, dtype, way)
    np.testing.assert_array_equal(counted.counts, slow_pairs(rows, target, weights, sizes, n_classes))
    np.testing.assert_array_equal(counted.margin, np.bincount(target, weights, n_classes))


def many(n, sizes, n_classes, seed=0, missing=True, skewed=True):
    """Many rows; the last class never comes, and the second state of each attribute not in class 0."""
    rng = np.random.default_rng(seed)
    target = rng.integers(0, n_classes - 1, n) if skewed else rng.integers(0, n_classes, n)
    codes = np.column_stack([rng.integers(0, r + missing, n) for r in sizes])
    if skewed:
        codes[(codes == 1) & (target == 0)[:, None]] = 0
    return codes, target


@pytest.mark.parametrize("n", [63, 64, 65, 20_001])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    ("sizes", "dtype"),
    [
        ((2, 3, 1, 5), np.uint8),
        ((2, 3, 1, 5), np.uint32),
        ((2, 70, 3, 40, 1), np.uint8),
        ((300, 2, 2), np.uint32),
    ],
)
def test_the_ways_of_counting_agree_on_many_rows(n, missing, sizes, dtype):
    codes, target = many(n, sizes, 4, missing=missing)
    by_rows = count(codes, target, sizes, 4, dtype=dtype, way="rows")
    for way in ("bits", "either"):
        same(count(codes, target, sizes, 4, dtype=dtype, way=way), by_rows)
    one_hot = np.zeros((n, by_rows.counts.shape[0]))
    one_hot[np.arange(n)[:, None], codes + by_rows.offsets[:-1]] = 1.0
    for c in range(4):
        mine = one_hot[target == c]
        np.testing.assert_array_equal(by_rows.counts[:, :, c], mine.T @ mine)


def test_small_and_large_attributes_are_counted_each_in_its_way():
    sizes = (2, 3, 40, 30, 200)
    codes, target = many(5000, sizes, 3)
    with (
        mock.patch.object(counting, "_count_bits", wraps=counting._count_bits) as bits,
        mock.patch.object(counting, "_count_rows", wraps=counting._count_rows) as rows,
    ):
        mixed = count(codes, target, sizes, 3)
    as_bits, by_row = bits.call_args.args[4], rows.call_args.args[3]
    assert as_bits[0, 1] and as_bits[0, 2] and by_row[2, 3] and by_row[0, 4] and by_row[4, 4]
    assert not (as_bits & by_row).any()
    same(mixed, count(codes, target, sizes, 3, way="rows"))


def test_columns_in_their_own_codes():
    own = np.array([0, 1, -1, 1, 0], dtype=np.int8)
    first = CodeColumn(
        own, np.array([1, 0, 2], dtype=np.uint8)
    )  # two states in the other order, then missing
    second = CodeColumn(own[::-1].copy(), np.array([0, 2, 3], dtype=np.uint8))
    target = np.array([0, 1, 1, 0, 0], dtype=np.uint32)
    chunk = Chunk(5, (first, second), np.empty((5, 0)), target=target)
    codes = [[1, 0], [0, 2], [2, 3], [0, 2], [1, 0]]
    same(count_pairs(chunk, schema_of((2, 3)), ()), count(codes, target, (2, 3)))


@settings(max_examples=40, deadline=None)
@given(coded(ANY), st.integers(0, 14), st.integers(0, 14), st.sampled_from([0.5, 3.0]), st.data())
def test_the_algebra(case, one_cut, other_cut, factor, data):
    sizes, n_classes, rows, target, weights = case
    one, two = sorted((one_cut, other_cut))
    whole = count(rows, target, sizes, n_classes, weights)
    a, b, c = (
        count(
            rows[part],
            target[part],
            sizes,
            n_classes,
            None if weights is None else weights[part],
            way=data.draw(st.sampled_from(sorted(WAYS))),
        )
        for part in (slice(None, one), slice(one, two), slice(two, None))
    )
    zero = Pairs.zero(schema_of(sizes, n_classes), ())
    same(a.merge(b).merge(c), whole, exactly=False)
    same(a.merge(b.merge(c)), whole, exactly=False)
    same(a.merge(b), b.merge(a))
    same(whole.merge(zero), whole)
    same(whole.subtract(zero), whole)
    same(whole.subtract(whole), zero)
    same(whole.subtract(a), b.merge(c), exactly=False)
    same(a.scale(factor).merge(b.scale(factor)), a.merge(b).scale(factor), exactly=False)
    by_class = np.arange(1.0, n_classes + 1)
    np.testing.assert_array_equal(whole.scale(by_class).counts, whole.counts * by_class)
    np.testing.assert_array_equal(whole.scale(by_class).margin, whole.margin * by_class)


@settings(max_examples=40, deadline=None)
@given(coded(WHOLE), st.sampled_from(["bits", "rows"]))
def test_whole_weights_are_rows_that_come_again(case, way):
    sizes, n_classes, rows, target, weights = case
    times = np.array(weights, dtype=int)
    again = [row for row, w in zip(rows, times, strict=True) for _ in range(w)]
    same(
        count(rows, target, sizes, n_classes, weights),
        count(again, np.repeat(target, times), sizes, n_classes, way=way),
    )


@settings(max_examples=40, deadline=None)
@given(coded(ANY))
def test_the_table_is_symmetric_and_holds_the_tables_of_single_attributes(case):
    sizes, n_classes, rows, target, weights = case
    counted = count(rows, target, sizes, n_classes, weights)
    np.testing.assert_array_equal(counted.counts, counted.counts.swapaxes(0, 1))
    schema = schema_of(sizes, n_classes)
    tables = count_tables(chunk_of(rows, target, weights), schema, tuple(v.name for v in schema.categorical))
    np.testing.assert_allclose(counted.tables.counts, tables.counts, rtol=1e-14)
    np.testing.assert_array_equal(counted.tables.margin, tables.margin)


def test_what_can_be_read_where_values_are_missing():
    # Rows (a, b); a has states 0, 1 and b states 0, 1, 2; 2 and 3 mean missing. All of class 0 but the last.
    rows = [(0, 0), (0, 3), (0, 1), (1, 2), (2, 2), (2, 3), (1, 2)]
    counted = count(rows, [0] * 6 + [1], (2, 3))
    assert counted.table(0, 1)[:, :, 0].tolist() == [[1, 1, 0], [0, 0, 1]]
    assert counted.table(0, 1)[:, :, 1].tolist() == [[0, 0, 0], [0, 0, 1]]
    np.testing.assert_array_equal(counted.table(1, 0), counted.table(0, 1).swapaxes(0, 1))
    assert counted.table(0, 1).sum(axis=1)[:, 0].tolist() == [2, 1]  # n(a, c) where b is present
    spare = counted.offsets[2] - 1
    for v in (0, 1):
        present = counted.counts[v, v] - counted.counts[v, spare]
        np.testing.assert_array_equal(counted.table(0, 1).sum(axis=1)[v], present)
    assert counted.table(0, 1).sum(axis=(0, 1)).tolist() == [3, 1]  # n(c) where both are
    assert counted.table(0, 0)[:, :, 0].tolist() == [[3, 0], [0, 1]]
    assert counted.margin.tolist() == [6, 1]


@settings(max_examples=40, deadline=None)
@given(coded(st.none()), st.randoms(use_true_random=False))
def test_embedding_is_counting_in_the_other_codes(case, random):
    sizes, n_classes, rows, target, _ = case
    old = schema_of(sizes, n_classes)

    def shuffled(variable):
        states = [*variable.states, "new"]
        random.shuffle(states)
        return Variable(variable.name, "categorical", tuple(states))

    new = Schema(tuple(map(shuffled, old.attributes)), shuffled(old.target))
    recoded = [
        [
            after.size if code == before.size else after.code_of(code)
            for before, after, code in zip(*both, row, strict=True)
        ]
        for row in rows
        for both in [(old.categorical, new.categorical)]
    ]
    labels = [new.target.code_of(c) for c in target]
    moved = count(rows, target, sizes, n_classes).embed(Embedding(old, new))
    same(moved, count_pairs(chunk_of(recoded, labels), new, ()))
    same(moved.embed(Embedding(new, old)), count(rows, target, sizes, n_classes))


@pytest.mark.parametrize("weight", [1.0, 3.0, 1e-6])
def test_what_was_never_counted_is_refused(weight):
    one, two = count([[0, 1]], [0], (2, 2)), count([[0, 0]], [0], (2, 2))
    with refuses(NotCounted):
        one.subtract(two.scale(weight))
    # The single counts agree here; only the pairs tell that these are not the rows.
    crossed = count([[0, 0], [1, 1]], [0, 0], (2, 2))
    with pytest.raises(NotCounted):
        crossed.subtract(count([[0, 1]], [0], (2, 2)))
    assert one.deficit() == 0.0


def test_rounding_is_cleared():
    total = count([[0, 1]] * 3, [0] * 3, (2, 2), weights=[0.1, 0.2, 0.3])
    for weight in (0.3, 0.1, 0.2):
        total = total.subtract(count([[0, 1]], [0], (2, 2), weights=[weight]))
    assert not total.counts.any() and not total.margin.any()


def test_saving_keeps_every_bit():
    counted = count([[0, 1], [1, 2]], [0, 1], (2, 2), weights=[0.1, 1 / 3])
    same(Pairs.from_arrays(counted.arrays()), counted)


def test_pairs_that_do_not_fit_their_tables_are_told():
    schema, held = schema_of((2, 2), 2), count([[0, 1], [1, 0]] * 4, [0, 1] * 4, (2, 2))
    arrays, beside = held.arrays(), {"tables/counts": held.tables.counts}
    assert Pairs.flaw(arrays, schema, beside) is None
    for change in (0.5, 1e-3):
        counts = arrays["counts"].copy()
        counts[0, 0, 0] += change
        assert "tables/counts" in str(Pairs.flaw({**arrays, "counts": counts}, schema, beside))


def test_too_large_a_table_is_refused_before_it_is_made():
    schema = schema_of((999,) * 20, 2)
    assert Pairs.memory(schema) == 8 * 2 * (20_000**2 + 1)
    for ask in (
        lambda: Pairs.zero(schema, ()),
        lambda: count_pairs(chunk_of(np.zeros((1, 20)), [0], dtype=np.uint32), schema, ()),
    ):
        with refuses(DataError, 20, 20_000, "5.96 GiB", "0.5 GiB"):
            ask()
    small = schema_of((2, 2), 2)
    with mock.patch.object(home_of_pairs, "LARGEST", Pairs.memory(small) - 1), pytest.raises(DataError):
        Pairs.zero(small, ())
    with mock.patch.object(home_of_pairs, "LARGEST", Pairs.memory(small)):
        assert Pairs.zero(small, ()).counts.nbytes + 16 == Pairs.memory(small)


def test_no_attributes_and_no_rows():
    assert count(np.empty((3, 0)), [0, 1, 1], ()).margin.tolist() == [1, 2]
    nothing = count(np.empty((0, 2)), np.empty(0), (2, 3))
    same(nothing, Pairs.zero(schema_of((2, 3)), ()))
