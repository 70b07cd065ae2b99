"""Sparse counts of families: the algebra, both ways of counting, the levels, and what a file may hold."""

from __future__ import annotations

from collections import defaultdict
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._counting import count_families as counting
from bayeskit._counting.backend import count as count_plan
from bayeskit._counting.count_families import count_families
from bayeskit._data.encoded import CodeColumn
from bayeskit._io.statistics import pack_statistics, unpack_statistics
from bayeskit._statistics.families import Families
from bayeskit.errors import ColumnError, DataError, ModelFormatError, NotCounted
from bayeskit.extending import Chunk
from bayeskit.statistics import Embedding, Pattern, Plan, Schema, Variable, load_statistics, save_statistics
from refusals import refuses

# By address wherever that is possible, by hash only, and whichever is cheaper.
WAYS = {
    "address": {"_SMALL_TABLE": 2**40},
    "hash": {"_SMALL_TABLE": 0, "_CELLS_A_ROW": 0},
    "either": {"_SMALL_TABLE": 30, "_CELLS_A_ROW": 1},
}


def schema_of(sizes, n_classes=2):
    attributes = (Variable(f"x{j}", "categorical", tuple(range(r))) for j, r in enumerate(sizes))
    return Schema(tuple(attributes), Variable("y", "categorical", tuple(range(n_classes))))


def chunk_of(codes, target, weights=None, dtype=np.uint8, d=0):
    codes = np.asarray(codes, dtype=dtype).reshape(len(target), -1 if len(target) else d)
    weights = None if weights is None else np.asarray(weights, float)
    return Chunk(
        len(codes), codes, np.empty((len(codes), 0)), target=np.asarray(target, np.uint32), weights=weights
    )


def named(families):
    return tuple(tuple(f"x{j}" for j in family) for family in families)


def count(case, rows=slice(None), way="either", dtype=np.uint8):
    sizes, n_classes, families, codes, target, weights = case
    weights = None if weights is None else weights[rows]
    chunk = chunk_of(codes[rows], target[rows], weights, dtype, len(sizes))
    with mock.patch.multiple(counting, **WAYS[way]):
        return count_families(chunk, schema_of(sizes, n_classes), named(families))


def slow(case):
    """For each family a dictionary (parents…, child, class) → weight."""
    _, _, families, codes, target, weights = case
    found = []
    for child, *parents in families:
        cells = defaultdict(float)
        for i, (row, c) in enumerate(zip(codes, target, strict=True)):
            cells[(*(row[j] for j in parents), row[child], c)] += 1.0 if weights is None else weights[i]
        found.append({cell: w for cell, w in cells.items() if w})
    return found


def decoded(counted, f):
    """The same dictionary from the sparse arrays."""
    names, radices = counted.names_of(f), counted.radices[counted.bounds[f] : counted.bounds[f + 1]]
    radices = [*radices[1:], radices[0], len(counted.margin)]
    cells = {}
    for key, n in zip(*counted.cells(f), strict=True):
        digits = []
        for radix in radices[::-1]:
            digits.append(int(key % radix))
            key //= radix
        cells[tuple(digits[::-1])] = n
    assert len(names) + 1 == len(radices)
    return cells


def same(a, b, exactly=True):
    compare = np.testing.assert_array_equal if exactly else np.testing.assert_allclose
    how = {} if exactly else {"rtol": 1e-12, "atol": 1e-12}
    for name, array in a.arrays().items():
        compare(array, b.arrays()[name], **how)


WEIGHTS = st.sampled_from([None, [1.0, 0.0, 2.0], [0.1, 1 / 3, 0.0, 2.5]])


@st.composite
def cases(draw):
    """Sizes, classes, families, rows of codes (the size itself says missing), classes, weights."""
    sizes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=5))
    n_classes = draw(st.integers(1, 3))
    attributes = st.permutations(range(len(sizes)))
    families = draw(
        st.lists(attributes.flatmap(lambda p: st.integers(1, len(p)).map(lambda k: p[:k])), max_size=4)
    )
    n = draw(st.integers(0, 14))
    codes = [[draw(st.integers(0, r)) for r in sizes] for _ in range(n)]
    target = [draw(st.integers(0, n_classes - 1)) for _ in range(n)]
    chosen = draw(WEIGHTS)
    return (
        sizes,
        n_classes,
        families,
        codes,
        target,
        None if chosen is None else [draw(st.sampled_from(chosen)) for _ in range(n)],
    )


@settings(max_examples=60, deadline=None)
@given(cases(), st.sampled_from(sorted(WAYS)), st.sampled_from([np.uint8, np.uint32]))
def test_counting_equals_the_slow_twin(case, way, dtype):
    counted = count(case, way=way, dtype=dtype)
    assert [decoded(counted, f) for f in range(len(counted))] == slow(case)
    np.testing.assert_array_equal(counted.margin, np.bincount(case[4], case[5], case[1]))
    for f in range(len(counted)):
        assert (np.diff(counted.cells(f)[0]) > 0).all()


def many(n=30_000, sizes=(9, 7, 30, 2, 12), n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.binomial(r, rng.random(), n) for r in sizes])
    return (
        list(sizes),
        n_classes,
        [(0, 1, 2, 3), (4, 2, 0, 1, 3), (3,)],
        codes,
        rng.integers(0, n_classes, n),
        None,
    )


def test_the_ways_of_counting_agree_on_many_rows():
    case = many()
    by_hash = count(case, way="hash")
    same(count(case, way="address"), by_hash)
    _, _, families, codes, target, _ = case
    for f, (child, *parents) in enumerate(families):
        cells, n = np.unique(
            np.column_stack([codes[:, [*parents, child]], target]), axis=0, return_counts=True
        )
        np.testing.assert_array_equal(by_hash.cells(f)[1], n)
        assert decoded(by_hash, f).keys() == {tuple(map(int, cell)) for cell in cells}


def test_columns_in_their_own_codes():
    own = np.array([0, 1, -1, 1, 0], dtype=np.int8)
    first = CodeColumn(own, np.array([1, 0, 2], dtype=np.uint8))
    second = CodeColumn(own[::-1].copy(), np.array([0, 2, 3], dtype=np.uint8))
    target = np.array([0, 1, 1, 0, 0], dtype=np.uint32)
    chunk = Chunk(5, (first, second), np.empty((5, 0)), target=target)
    codes = [[1, 0], [0, 2], [2, 3], [0, 2], [1, 0]]
    case = ([2, 3], 2, [(0, 1), (1, 0)], codes, list(target), None)
    same(count_families(chunk, schema_of((2, 3)), (("x0", "x1"), ("x1", "x0"))), count(case))


@settings(max_examples=60, deadline=None)
@given(
    cases(),
    st.integers(0, 14),
    st.integers(0, 14),
    st.sampled_from([0.5, 3.0]),
    st.sampled_from(sorted(WAYS)),
)
def test_the_algebra(case, one_cut, other_cut, factor, way):
    one, two = sorted((one_cut, other_cut))
    whole = count(case)
    a, b, c = (count(case, rows, way) for rows in (slice(None, one), slice(one, two), slice(two, None)))
    zero = Families.zero(schema_of(case[0], case[1]), named(case[2]))
    same(a.merge(b).merge(c), whole, exactly=False)
    same(a.merge(b.merge(c)), whole, exactly=False)
    same(a.merge(b), b.merge(a))
    same(whole.merge(zero), whole)
    same(zero.merge(whole), whole)
    same(whole.subtract(zero), whole)
    same(whole.subtract(whole), zero)
    same(whole.subtract(a), b.merge(c), exactly=False)
    same(a.scale(factor).merge(b.scale(factor)), a.merge(b).scale(factor), exactly=False)
    same(whole.scale(0.0), zero)
    assert whole.deficit() == 0.0
    by_class = np.arange(case[1], dtype=float)
    for f in range(len(whole)):
        wanted = {cell: n * by_class[cell[-1]] for cell, n in decoded(whole, f).items() if cell[-1]}
        assert decoded(whole.scale(by_class), f) == wanted
    same(Families.from_arrays(whole.arrays()), whole)


def test_rows_that_were_never_counted_are_refused():
    case = ([2, 2], 2, [(0, 1)], [[0, 0], [1, 1]], [0, 1], None)
    strange = ([2, 2], 2, [(0, 1)], [[0, 1]], [0], None)
    with refuses(NotCounted, -1):
        count(case).subtract(count(strange))
    with refuses(NotCounted, -1):
        count(case).subtract(count(case).scale(2.0))


@settings(max_examples=60, deadline=None)
@given(cases(), st.data())
def test_states_and_classes_move(case, data):
    sizes, n_classes, families, codes, target, weights = case
    old = schema_of(sizes, n_classes)
    # New states before and between the old ones, and those gone that no row has.
    grown = []
    for j, v in enumerate(old.categorical):
        kept = [s for s in v.states if any(row[j] == s for row in codes) or data.draw(st.booleans())]
        more = [s - 0.5 for s in v.states if data.draw(st.booleans())]
        grown.append(Variable(v.name, "categorical", tuple(sorted(kept + more))))
    classes = tuple(sorted([c for c in range(n_classes) if c in target or data.draw(st.booleans())] + [-1]))
    new = Schema(tuple(grown), Variable("y", "categorical", classes))
    moved_codes = [
        [v.codes[c] if c < r else v.size for v, c, r in zip(grown, row, sizes, strict=True)] for row in codes
    ]
    moved_target = [classes.index(c) for c in target]
    embedded = count(case).embed(Embedding(old, new))
    chunk = chunk_of(moved_codes, moved_target, weights, d=len(sizes))
    same(embedded, count_families(chunk, new, named(families)), exactly=False)


def test_states_that_leave_take_only_dust_with_them():
    case = ([2], 2, [(0,)], [[0], [1]], [0, 1], None)
    small = Schema((Variable("x0", "categorical", (1,)),), Variable("y", "categorical", (1,)))
    embedded = count(case).embed(Embedding(schema_of([2]), small))
    assert decoded(embedded, 0) == {(0, 0): 1.0}


@settings(max_examples=60, deadline=None)
@given(cases(), st.data())
def test_levels_are_available_case_counts(case, data):
    sizes, n_classes, families, codes, target, weights = case
    is_state = np.array([data.draw(st.booleans()) for _ in sizes])
    counted = count(case)
    for f, (child, *parents) in enumerate(families):
        levels = counted.levels(f, is_state)
        assert len(levels) == len(parents) + 1
        for level, (keys, counts) in enumerate(levels):
            shown = [child, *parents[:level]]
            there = [all(row[j] < sizes[j] or is_state[j] for j in shown) for row in codes]
            rows = [i for i, present in enumerate(there) if present]
            some = (
                sizes,
                n_classes,
                [shown],
                [codes[i] for i in rows],
                [target[i] for i in rows],
                None if weights is None else [weights[i] for i in rows],
            )
            alone = count(some)
            np.testing.assert_array_equal(keys, alone.keys)
            np.testing.assert_allclose(counts, alone.counts, rtol=1e-13)


def test_too_many_cells_are_refused_with_the_numbers():
    schema = schema_of([999] * 7, 9)
    names = tuple(f"x{j}" for j in range(7))
    with refuses(DataError, "x0", "['x1', 'x2', 'x3', 'x4', 'x5', 'x6']", 9e21):
        Families.zero(schema, (names,))
    assert len(Families.zero(schema, (names[:6],))) == 1
    for family, message in ((("x0", "x0"), ["('x0', 'x0')", "twice"]), (("x0", "z"), ["z"])):
        with refuses(ColumnError, *message):
            Families.zero(schema, (family,))


def test_the_largest_key_is_counted_exactly():
    sizes = [2**21 - 1, 2**21 - 1, 2**20 - 1]
    schema = schema_of(sizes, 1)
    schema = Schema(schema.attributes, Variable("y", "categorical", (0,)))
    chunk = chunk_of([sizes, sizes, [0, 0, 0]], [0, 0, 0], dtype=np.uint32)
    counted = count_families(chunk, schema, (("x2", "x0", "x1"),))
    assert counted.keys.tolist() == [0, 2**62 - 1] and counted.counts.tolist() == [1.0, 2.0]
    assert [len(keys) for keys, _ in counted.levels(0)] == [1, 1, 1]


# -- files -----------------------------------------------------------------------------------------


def counted_plan():
    rng = np.random.default_rng(1)
    schema = schema_of((2, 3, 2))
    chunk = chunk_of(rng.integers(0, 3, (40, 3)), rng.integers(0, 2, 40))
    families = Pattern("families", (("x0",), ("x1", "x0"), ("x2", "x1", "x0")))
    return count_plan(chunk, schema, Plan((*Plan.naive(schema).patterns, families)))


def test_terms_name_the_families():
    terms = [term.cells for term in counted_plan().plan.patterns[-1].terms(schema_of((2, 3, 2)))]
    assert terms == [("y",), ("y", "x0"), ("y", "x1", "x0"), ("y", "x2", "x1", "x0")]


def test_saving_and_loading_gives_the_same(tmp_path):
    statistics = counted_plan()
    save_statistics(statistics, tmp_path / "counts")
    loaded = load_statistics(tmp_path / "counts")
    assert loaded.plan == statistics.plan
    same(loaded.parts["families"], statistics.parts["families"])
    same((loaded + loaded).parts["families"], statistics.scale(2.0).parts["families"])


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("keys", lambda a: a[::-1].copy(), ["families/keys"]),
        ("keys", lambda a: np.r_[a[:-1], 10**6], ["families/keys"]),
        ("keys", lambda a: np.r_[-1, a[1:]], ["families/keys"]),
        ("keys", lambda a: a[:-1], ["families/starts"]),
        ("counts", lambda a: -a, ["families/counts", "negative"]),
        ("counts", lambda a: a * np.nan, ["families/counts", "NaN"]),
        ("starts", lambda a: a + 1, ["families/starts"]),
        ("starts", lambda a: a[[0, 2, 1, 3]], ["families/starts"]),
        ("members", lambda a: a[::-1].copy(), ["families/members"]),
        ("radices", lambda a: a + 1, ["families/radices"]),
        ("bounds", lambda a: a * 0, ["families/bounds"]),
        ("margin", lambda a: a[:1], ["families/margin", "(1,)", "(2,)"]),
    ],
)
def test_damaged_files_are_refused(name, damage, message):
    content, arrays = pack_statistics(counted_plan())
    arrays[f"families/{name}"] = damage(arrays[f"families/{name}"])
    with refuses(ModelFormatError, *message):
        unpack_statistics(content, arrays)


@pytest.mark.parametrize("family", [["x0"], {"tuple": []}, {"tuple": ["x0", "x0"]}, {"tuple": ["z"]}])
def test_plans_of_no_families_are_refused(family):
    content, arrays = pack_statistics(counted_plan())
    content["plan"][-1][1][0] = family
    with refuses(ModelFormatError, "plan"):
        unpack_statistics(content, arrays)
