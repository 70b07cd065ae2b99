"""Counts under two super-parents: the algebra, the counting, what can be read from the table, its size."""

from __future__ import annotations

import itertools
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._counting import count_tables as counting
from bayeskit._counting.backend import count as count_plan
from bayeskit._counting.count_tables import count_pairs, count_tables, count_triples
from bayeskit._data.encoded import CodeColumn
from bayeskit._io.plain_values import to_plain
from bayeskit._io.statistics import pack_statistics, unpack_statistics
from bayeskit._statistics import triples
from bayeskit._statistics.triples import Triples, class_width, within_budget
from bayeskit.errors import DataError, ModelFormatError, NotCounted
from bayeskit.extending import Chunk
from bayeskit.statistics import (
    Embedding,
    Pattern,
    Plan,
    Schema,
    Variable,
    class_information,
    load_statistics,
    save_statistics,
)
from refusals import refuses


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


def names_of(parents):
    return tuple(f"x{j}" for j in parents)


def count(codes, target, sizes, parents, n_classes=2, weights=None, dtype=np.uint8, block=4096):
    with mock.patch.object(counting, "_TRIPLE_ROWS", block):
        chunk = chunk_of(codes, target, weights, dtype)
        return count_triples(chunk, schema_of(sizes, n_classes), names_of(parents))


def slow_triples(codes, target, weights, sizes, parents, n_classes):
    """n(v_i, v_j, v_k, c) by the definition, one row and one triple of cells at a time."""
    starts = [sum(sizes[:j]) + j for j in range(len(sizes) + 1)]
    pieces = [np.zeros((0, starts[-1], n_classes))]
    for i, j in itertools.combinations(parents, 2):
        counts = np.zeros((sizes[i] + 1, sizes[j] + 1, starts[-1], n_classes))
        for at, (row, c) in enumerate(zip(codes, target, strict=True)):
            for start, code in zip(starts[:-1], row, strict=True):
                counts[row[i], row[j], start + code, c] += 1.0 if weights is None else weights[at]
        pieces.append(counts.reshape(-1, starts[-1], n_classes))
    return np.concatenate(pieces)


def same(a, b, exactly=True):
    compare = np.testing.assert_array_equal if exactly else np.testing.assert_allclose
    how = {} if exactly else {"rtol": 1e-13, "atol": 1e-13}
    for name, array in a.arrays().items():
        compare(array, b.arrays()[name], **how)


@st.composite
def coded(draw, weights):
    """Sizes, super-parents, classes, and rows of codes where the size itself says missing."""
    sizes = draw(st.lists(st.integers(0, 3), min_size=0, max_size=5))
    parents = [j for j in range(len(sizes)) if draw(st.integers(0, 3))]
    n_classes = draw(st.integers(1, 4))
    n = draw(st.integers(1, 14))
    rows = [[draw(st.integers(0, r)) for r in sizes] for _ in range(n)]
    target = [draw(st.integers(0, n_classes - 1)) for _ in range(n)]
    chosen = draw(weights)
    weights = None if chosen is None else [draw(chosen) for _ in range(n)]
    return sizes, parents, n_classes, rows, target, weights


WHOLE = st.just(st.sampled_from([1.0, 0.0, 2.0, 3.0]))
FRACTIONS = st.just(st.sampled_from([0.1, 0.2, 1 / 3, 0.0, 2.5]))
ANY = st.none() | WHOLE | FRACTIONS


@settings(max_examples=80, deadline=None)
@given(coded(ANY), st.sampled_from([np.uint8, np.uint32]), st.sampled_from([1, 5, 4096]))
def test_counting_equals_the_slow_twin(case, dtype, block):
    sizes, parents, n_classes, rows, target, weights = case
    counted = count(rows, target, sizes, parents, n_classes, weights, dtype, block)
    expected = slow_triples(rows, target, weights, sizes, parents, n_classes)
    np.testing.assert_array_equal(counted.counts, expected)
    np.testing.assert_array_equal(counted.margin, np.bincount(target, weights, n_classes))


def test_columns_in_their_own_codes():
    own = np.array([0, 1, -1, 1, 0], dtype=np.int8)
    first = CodeColumn(
        own, np.array([1, 0, 2], dtype=np.uint8)
    )  # the states in the other order, then missing
    second = CodeColumn(own[::-1].copy(), np.array([0, 2, 3], dtype=np.uint8))
    target = np.array([0, 1, 1, 0, 0], dtype=np.uint32)
    chunk = Chunk(5, (first, second), np.empty((5, 0)), target=target)
    codes = [[1, 0], [0, 2], [2, 3], [0, 2], [1, 0]]
    same(count_triples(chunk, schema_of((2, 3)), ("x0", "x1")), count(codes, target, (2, 3), (0, 1)))


@settings(max_examples=40, deadline=None)
@given(
    coded(ANY),
    st.integers(0, 14),
    st.integers(0, 14),
    st.sampled_from([0.5, 3.0]),
    st.sampled_from([7, 2**20]),
)
def test_the_algebra(case, one_cut, other_cut, factor, cells):
    sizes, parents, n_classes, rows, target, weights = case
    one, two = sorted((one_cut, other_cut))
    whole = count(rows, target, sizes, parents, n_classes, weights)
    a, b, c = (
        count(
            rows[part],
            target[part],
            sizes,
            parents,
            n_classes,
            None if weights is None else weights[part],
        )
        for part in (slice(None, one), slice(one, two), slice(two, None))
    )
    zero = Triples.zero(schema_of(sizes, n_classes), names_of(parents))
    same(a.merge(b).merge(c), whole, exactly=False)
    same(a.merge(b.merge(c)), whole, exactly=False)
    same(a.merge(b), b.merge(a))
    same(whole.merge(zero), whole)
    with mock.patch.object(triples, "_CELLS", cells):
        same(whole.subtract(zero), whole)
        same(whole.subtract(whole), zero)
        same(whole.subtract(a), b.merge(c), exactly=False)
    same(a.scale(factor).merge(b.scale(factor)), a.merge(b).scale(factor), exactly=False)
    by_class = np.arange(1.0, n_classes + 1)
    np.testing.assert_array_equal(whole.scale(by_class).counts, whole.counts * by_class)
    np.testing.assert_array_equal(whole.scale(by_class).margin, whole.margin * by_class)


@settings(max_examples=30, deadline=None)
@given(coded(WHOLE))
def test_whole_weights_are_rows_that_come_again(case):
    sizes, parents, n_classes, rows, target, weights = case
    times = np.array(weights, dtype=int)
    again = [row for row, w in zip(rows, times, strict=True) for _ in range(w)]
    weighted = count(rows, target, sizes, parents, n_classes, weights)
    same(weighted, count(again, np.repeat(target, times), sizes, parents, n_classes))


@settings(max_examples=40, deadline=None)
@given(coded(ANY))
def test_pairs_and_single_tables_can_be_read_from_it(case):
    sizes, parents, n_classes, rows, target, weights = case
    counted, schema = count(rows, target, sizes, parents, n_classes, weights), schema_of(sizes, n_classes)
    chunk = chunk_of(rows, target, weights)
    pairs = count_pairs(chunk, schema, ()).counts
    for p, (i, j) in enumerate(counted.pairs):
        ends = counted.offsets
        np.testing.assert_array_equal(counted.joint(p), pairs[ends[i] : ends[i + 1], ends[j] : ends[j + 1]])
    if len(parents) > 1:
        tables = count_tables(chunk, schema, tuple(v.name for v in schema.categorical))
        np.testing.assert_allclose(counted.tables.counts, tables.counts, rtol=1e-14)
        np.testing.assert_array_equal(counted.tables.margin, tables.margin)


@settings(max_examples=40, deadline=None)
@given(coded(st.none()), st.randoms(use_true_random=False))
def test_embedding_is_counting_in_the_other_codes(case, random):
    sizes, parents, n_classes, rows, target, _ = case
    old = schema_of(sizes, n_classes)

    def shuffled(variable):
        states = [*variable.states, "new"]
        random.shuffle(states)
        return Variable(variable.name, "categorical", tuple(states))

    new = Schema(tuple(map(shuffled, old.attributes)), shuffled(old.target))
    recoded = [
        [
            after.size if code == before.size else after.code_of(code)
            for before, after, code in zip(old.categorical, new.categorical, row, strict=True)
        ]
        for row in rows
    ]
    labels = [new.target.code_of(c) for c in target]
    counted = count(rows, target, sizes, parents, n_classes)
    moved = counted.embed(Embedding(old, new))
    same(moved, count_triples(chunk_of(recoded, labels), new, names_of(parents)))
    same(moved.embed(Embedding(new, old)), counted)


@pytest.mark.parametrize("weight", [1.0, 3.0, 1e-6])
def test_what_was_never_counted_is_refused(weight):
    sizes, parents = (2, 2, 2), (0, 1, 2)
    # Every two attributes agree with these rows; only the three together tell that the last is not among them.
    even = count([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], [0] * 4, sizes, parents)
    odd = count([[1, 1, 1]], [0], sizes, parents)
    with refuses(NotCounted):
        even.subtract(odd.scale(weight))
    assert even.deficit() == 0.0


def test_rounding_is_cleared():
    total = count([[0, 1]] * 3, [0] * 3, (2, 2), (0, 1), weights=[0.1, 0.2, 0.3])
    for weight in (0.3, 0.1, 0.2):
        total = total.subtract(count([[0, 1]], [0], (2, 2), (0, 1), weights=[weight]))
    assert not total.counts.any() and not total.margin.any()


# -- the plan and the file -----------------------------------------------------------------------------------

SCHEMA = schema_of((2, 3, 1), 2)
PLAN = Plan((*Plan.naive(SCHEMA).patterns, Pattern("triples", ("x0", "x2"))))


def counted_by_plan():
    chunk = chunk_of([[0, 1, 0], [1, 3, 0], [2, 2, 1]], [0, 1, 1], [0.1, 1 / 3, 2.0])
    return count_plan(chunk, SCHEMA, PLAN)


def test_a_plan_may_ask_for_it():
    statistics = counted_by_plan()
    same(
        statistics.parts["triples"],
        count([[0, 1, 0], [1, 3, 0], [2, 2, 1]], [0, 1, 1], (2, 3, 1), (0, 2), weights=[0.1, 1 / 3, 2.0]),
    )
    terms = [term.cells for term in PLAN.patterns[-1].terms(SCHEMA)]
    assert terms == [("y",), ("y", "x0", "x2"), ("y", "x0", "x2", "x1")]
    assert statistics.subtract(statistics).total == 0.0


def test_saving_keeps_every_bit(tmp_path):
    statistics = counted_by_plan()
    save_statistics(statistics, tmp_path / "triples.counts")
    loaded = load_statistics(tmp_path / "triples.counts")
    assert loaded.plan == statistics.plan and loaded.schema == statistics.schema
    same(loaded.parts["triples"], statistics.parts["triples"])


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("parents", lambda a: a[::-1], ["triples/parents"]),
        ("parents", lambda a: a[:1], ["triples/parents", "shape", "(1,)"]),
        ("parents", lambda a: np.array([0, 99]), ["triples/parents"]),
        ("offsets", lambda a: a + 1, ["triples/offsets"]),
        ("counts", lambda a: -a, ["triples/counts", "negative"]),
        ("margin", lambda a: -a, ["triples/margin", "negative"]),
        ("counts", lambda a: a[:-1], ["triples/counts", "shape"]),
        ("counts", lambda a: a * np.nan, ["triples/counts", "NaN"]),
    ],
)
def test_a_damaged_file_is_refused(name, change, message):
    content, arrays = pack_statistics(counted_by_plan())
    same(unpack_statistics(content, arrays).parts["triples"], counted_by_plan().parts["triples"])
    arrays = {**arrays, f"triples/{name}": change(arrays[f"triples/{name}"])}
    with refuses(ModelFormatError, *message):
        unpack_statistics(content, arrays)


@pytest.mark.parametrize("names", [("x0", "x0"), ("x0", "z")])
def test_a_plan_of_strange_attributes_is_refused(names):
    content, arrays = pack_statistics(counted_by_plan())
    content["plan"][-1][1] = [to_plain(name, "a column name") for name in names]
    with refuses(ModelFormatError, str([*names]), "['x0', 'x1', 'x2']"):
        unpack_statistics(content, arrays)


# -- size ----------------------------------------------------------------------------------------------------


def test_the_memory_is_that_of_the_counts_and_the_look_up_table():
    schema = schema_of(
        (2, 3, 4), 3
    )  # 3·4 + 3·5 + 4·5 contexts, 12 states and 3 more for unseen, 3 classes of 4
    assert Triples.memory(schema, names_of((0, 1, 2))) == 8 * (3 + 47 * (12 * 3 + 15 * 4))
    assert Triples.memory(schema, ("x1",)) == Triples.memory(schema, ()) == 8 * 3
    assert Triples.zero(schema, names_of((0, 1, 2))).counts.nbytes == 8 * 47 * 12 * 3
    assert [class_width(k) for k in (1, 2, 3, 4, 5)] == [2, 2, 4, 4, 8]


def test_too_large_a_table_is_refused_before_it_is_made():
    schema = schema_of((9,) * 60, 2)
    for ask in (
        lambda: Triples.zero(schema, names_of(range(60))),
        lambda: count_triples(chunk_of(np.zeros((1, 60)), [0]), schema, names_of(range(60))),
    ):
        with refuses(DataError, 60, 600, "3.32 GiB", "1 GiB"):
            ask()
    small, both = schema_of((2, 2), 2), ("x0", "x1")
    with mock.patch.object(triples, "LARGEST", Triples.memory(small, both) - 1), pytest.raises(DataError):
        Triples.zero(small, both)
    with mock.patch.object(triples, "LARGEST", Triples.memory(small, both)):
        Triples.zero(small, both)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0.0, 0.1, 0.2, 0.5])), max_size=8), st.data())
def test_the_budget_takes_the_best_that_fit(attributes, data):
    schema, information = schema_of([r for r, _ in attributes]), [gain for _, gain in attributes]
    ranked = sorted(range(len(attributes)), key=lambda j: (-information[j], j))
    prefixes = [tuple(f"x{j}" for j in sorted(ranked[:m])) for m in range(len(ranked) + 1)]
    sizes = [Triples.memory(schema, prefix) for prefix in prefixes]
    budget = data.draw(st.sampled_from(sizes)) + data.draw(st.sampled_from([-1, 0, 1]))
    fitting = [prefix for prefix, size in zip(prefixes, sizes, strict=True) if size <= budget]
    best = max([*fitting, prefixes[min(2, len(ranked))]], key=len)
    assert within_budget(schema, information, budget) == best


def test_the_budget_ranks_by_the_information_of_the_counts():
    target = [0, 0, 1, 1]
    rows = [[0, 0, 0], [1, 0, 0], [0, 1, 1], [1, 1, 0]]  # none, all, and half of the class
    tables = count_tables(chunk_of(rows, target), schema_of((2, 2, 2)), names_of(range(3)))
    schema = schema_of((2, 2, 2))
    information = class_information(tables.counts, schema.offsets)
    assert within_budget(schema, information, 0) == ("x1", "x2")
    assert within_budget(schema, information, 2**30) == ("x0", "x1", "x2")


def test_no_attributes_and_no_rows():
    assert count(np.empty((3, 0)), [0, 1, 1], (), ()).margin.tolist() == [1, 2]
    nothing = count(np.empty((0, 2)), np.empty(0), (2, 3), (0, 1))
    same(nothing, Triples.zero(schema_of((2, 3)), ("x0", "x1")))
