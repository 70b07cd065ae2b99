"""Sums of products in sparse cells: the algebra, counting, the long table, and what a file may hold."""

from __future__ import annotations

from collections import defaultdict
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
from bayeskit._counting import count_families as counting
from bayeskit._counting.backend import count as count_plan
from bayeskit._counting.count_families import count_regressions
from bayeskit._data.encoded import CodeColumn
from bayeskit._io.statistics import pack_statistics, unpack_statistics
from bayeskit._statistics.regression_families import RegressionFamilies
from bayeskit.errors import ColumnError, DataError, ModelFormatError, NotCounted
from bayeskit.extending import Chunk
from bayeskit.statistics import (
    Embedding,
    Pattern,
    Plan,
    Schema,
    Statistics,
    Term,
    Variable,
    load_statistics,
    save_statistics,
)
from refusals import refuses

FAMILIES = (("u",), ("v", "u"), ("w", "x0", "v", "x1", "u"), ("u", "x1"))
NUMERIC = ("u", "v", "w")
# By a table of all keys, and by sorting.
WAYS = {"table": {"_SMALL_TABLE": 2**40}, "sorted": {"_SMALL_TABLE": 0, "_CELLS_A_ROW": 0}}


def schema_of(sizes=(2, 3), n_classes=2):
    attributes = [Variable(f"x{j}", "categorical", tuple(range(r))) for j, r in enumerate(sizes)]
    attributes[1:1] = [Variable("u", "numeric"), Variable("v", "numeric")]
    target = Variable("y", "categorical", tuple(range(n_classes)))
    return Schema((*attributes, Variable("w", "numeric")), target)


def chunk_of(codes, values, target, weights=None):
    n = len(target)
    return Chunk(
        n,
        np.asarray(codes, np.uint8).reshape(n, 2),
        np.asarray(values, float).reshape(n, 3),
        target=np.asarray(target, np.uint32),
        weights=None if weights is None else np.asarray(weights, float),
    )


@st.composite
def cases(draw, whole=False, offsets=(0.0, 1e8)):
    """Rows with holes: codes (the size itself says missing), numbers far from zero or equal, classes, weights."""
    n = draw(st.integers(0, 14))
    cell = st.tuples(st.integers(0, 2), st.integers(0, 3))
    far = draw(st.sampled_from(offsets))
    number = st.one_of(st.integers(-9, 9).map(lambda k: far + 0.37 * k), st.just(np.nan))
    each = st.sampled_from([1.0, 2.0] if whole else [1.0, 0.0, 0.1, 1 / 3, 2.5])
    return (
        [draw(cell) for _ in range(n)],
        [[draw(number) for _ in NUMERIC] for _ in range(n)],
        [draw(st.integers(0, 1)) for _ in range(n)],
        [draw(each) for _ in range(n)],
    )


def count(case, rows=slice(None), way="table", families=FAMILIES):
    with mock.patch.multiple(counting, **WAYS[way]):
        return count_regressions(chunk_of(*(column[rows] for column in case)), schema_of(), families)


def slow(case, families=FAMILIES):
    """For each family a dictionary (codes…, class) → (n, mean, Σ(z − mean)(z − mean)ᵀ)."""
    place = {"x0": 0, "x1": 1}
    found = []
    for child, *parents in families:
        z = [*(NUMERIC.index(p) for p in parents if p in NUMERIC), NUMERIC.index(child)]
        cells = defaultdict(list)
        for codes, values, c, w in zip(*case, strict=True):
            if w and not any(np.isnan(values[j]) for j in z):
                key = (*(codes[place[p]] for p in parents if p in place), c)
                cells[key].append((w, [values[j] for j in z]))
        found.append({})
        for key, rows in cells.items():
            w, x = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
            mean = x[0] + w @ (x - x[0]) / w.sum()
            found[-1][key] = w.sum(), mean, (x - mean).T @ ((x - mean) * w[:, None])
    return found


def told(part):
    """The same dictionaries from the sparse cells."""
    found = []
    for f, (keys, sums) in enumerate(part.cells):
        mean, scatter = sums._centred
        digits = zip(*(d.tolist() for d in part.digits(f)), strict=True)
        found.append({key: (sums.n[i], mean[i], scatter[i]) for i, key in enumerate(digits)})
        assert (np.diff(keys) > 0).all()
    return found


def same(a, b, tolerance=1e-9):
    first, second = (told(x) if isinstance(x, RegressionFamilies) else x for x in (a, b))
    for mine, others in zip(first, second, strict=True):
        assert mine.keys() == others.keys()
        for key, numbers in mine.items():
            for x, y in zip(numbers, others[key], strict=True):
                np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def same_bits(a, b):
    for name, array in a.arrays().items():
        np.testing.assert_array_equal(array, b.arrays()[name], err_msg=name)


@settings(max_examples=60, deadline=None)
@given(cases(), st.sampled_from(sorted(WAYS)))
def test_counting_equals_the_slow_twin(case, way):
    same(count(case, way=way), slow(case), 1e-6)
    same_bits(count(case, way=way), count(case))


def test_columns_in_their_own_codes_are_counted():
    target, values = [0, 1, 1], np.arange(9.0).reshape(3, 3)
    own = [CodeColumn(np.array([1, 0, 1], np.uint8), np.array([1, 0], np.uint8)) for _ in range(2)]
    chunk = Chunk(3, tuple(own), values, target=np.array(target, np.uint32))
    codes = [[int(c)] * 2 for c in own[0][:]]
    same_bits(count_regressions(chunk, schema_of(), FAMILIES), count((codes, values, target, [1.0] * 3)))


@settings(max_examples=60, deadline=None)
@given(cases(), st.integers(0, 14), st.integers(0, 14), st.sampled_from([0.5, 3.0]))
def test_the_algebra(case, one_cut, other_cut, factor):
    one, two = sorted((one_cut, other_cut))
    whole = count(case)
    a, b, c = (count(case, rows) for rows in (slice(None, one), slice(one, two), slice(two, None)))
    zero = RegressionFamilies.zero(schema_of(), FAMILIES)
    same(a.merge(b).merge(c), whole)
    same(a.merge(b.merge(c)), whole)
    same(a.merge(b), b.merge(a))
    same_bits(whole.merge(zero), whole)
    same(zero.merge(whole), whole)
    same_bits(whole.subtract(zero), whole)
    same_bits(whole.subtract(whole), zero)
    same(whole.subtract(a), b.merge(c))
    same(a.scale(factor).merge(b.scale(factor)), a.merge(b).scale(factor))
    same_bits(whole.scale(0.0), zero)
    assert whole.deficit() == 0.0
    by_class = np.array([0.0, 3.0])
    only = [i for i, c in enumerate(case[2]) if c == 1]
    some = tuple([column[i] for i in only] for column in case)
    same(whole.scale(by_class), count((*some[:3], [3.0 * w for w in some[3]])))
    same_bits(RegressionFamilies.from_arrays(whole.arrays()), whole)


@settings(max_examples=30, deadline=None)
@given(
    cases(offsets=[0.0]),
    cases(offsets=[0.0]),
    st.lists(st.sampled_from([0.7, 0.3, 0.9]), min_size=1, max_size=3),
)
def test_rows_that_faded_leave_nothing_behind(kept, gone, factors):
    schema = schema_of()
    plan = Plan((*Plan.naive(schema).patterns, Pattern("regressions", FAMILIES)))

    def counted(case):
        return count_plan(chunk_of(*case), schema, plan)

    total = counted(kept) + counted(gone)
    for factor in factors:
        total = total * factor
        kept, gone = ((*case[:3], [w * factor for w in case[3]]) for case in (kept, gone))
    for i in range(len(gone[2])):
        total = total - counted(tuple(column[i : i + 1] for column in gone))
    same(total.parts["regressions"], counted(kept).parts["regressions"], 1e-6)


class Design(laws.Design):
    """Random rows, of which every number is a child of all other columns."""

    @property
    def plan(self):
        numeric = [f"x{j}" for j, kind in enumerate(self.kinds) if kind == "numeric"]
        others = [f"x{j}" for j, kind in enumerate(self.kinds) if kind != "numeric"]
        families = tuple((name, *numeric[:j], *others) for j, name in enumerate(numeric))
        return Plan((*Plan.naive(self.schema).patterns, Pattern("regressions", families)))


def design_of(design):
    return Design(design.kinds, design.declared, design.classes)


@pytest.fixture(autouse=True)
def cells_are_compared_by_their_moments():
    with mock.patch.dict(laws._SAME, regressions=same):
        yield


@settings(max_examples=30, deadline=None)
@given(laws.batches(3), st.sampled_from([0.25, 3.0]), st.lists(st.integers(0, 8), max_size=3))
def test_statistics_with_regressions_obey_the_laws(drawn, factor, cuts):
    design, *rows = drawn
    design = design_of(design)
    a, b, c = (design.count(some) for some in rows)
    laws.check_merge(a, b, c)
    laws.check_zero(a, Statistics.zero(design.schema, design.plan))
    laws.check_subtract(a, b)
    laws.check_scale(a, b, factor)
    laws.check_split(design.count, rows[0], cuts)
    laws.check_embed(a, b.schema)


def test_an_outlier_that_is_forgotten_does_no_harm():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(20, 3))
    case = [[0, 0]] * 20, values.tolist(), [0] * 20, [1.0] * 20
    wild = [[0, 0]], [[1e8, -1e8, 3e8]], [0], [1.0]
    same(count(wild).merge(count(case)).subtract(count(wild)), count(case), 1e-12)


def test_rows_that_were_never_counted_are_refused():
    case = [[0, 0], [1, 1]], [[1.0, 2.0, 3.0]] * 2, [0, 1], [1.0, 1.0]
    with pytest.raises(NotCounted, match="-1"):
        count(case).subtract(count(([[0, 1]], [[1.0, 2.0, 3.0]], [0], [1.0])))
    with pytest.raises(NotCounted):
        count(case).subtract(count(case).scale(2.0))


@settings(max_examples=60, deadline=None)
@given(cases(), st.data())
def test_states_and_classes_move(case, data):
    codes, values, target, weights = case
    sizes, old = (2, 3), schema_of()
    grown = []
    for j, v in enumerate(old.categorical):
        kept = [s for s in v.states if any(row[j] == s for row in codes) or data.draw(st.booleans())]
        more = [s - 0.5 for s in v.states if data.draw(st.booleans())]
        grown.append(Variable(v.name, "categorical", tuple(sorted(kept + more))))
    classes = (-1, *(c for c in range(2) if c in target or data.draw(st.booleans())))
    attributes = tuple(next((g for g in grown if g.name == v.name), v) for v in old.attributes)
    new = Schema(attributes, Variable("y", "categorical", classes))
    codes = [
        [v.codes[c] if c < r else v.size for v, c, r in zip(grown, row, sizes, strict=True)] for row in codes
    ]
    chunk = chunk_of(codes, values, [classes.index(c) for c in target], weights)
    moved = count(case).embed(Embedding(old, new))
    same_bits(moved, count_regressions(chunk, new, tuple(map(embedded, FAMILIES))))


def embedded(family):
    """What moved to another schema has its numeric parents first: their order among the discrete ones is free."""
    child, *parents = family
    return (child, *sorted(parents, key=lambda p: p not in NUMERIC))


@pytest.mark.parametrize(
    ("family", "error", "name"),
    [
        (("x0",), ColumnError, "x0"),
        (("u", "z"), ColumnError, "z"),
        (("u", "v", "v"), ColumnError, "twice"),
    ],
)
def test_families_that_are_none_are_refused(family, error, name):
    with refuses(error, name):
        RegressionFamilies.zero(schema_of(), (family,))


def test_too_many_cells_and_too_large_numbers_are_refused_with_the_numbers():
    wide = tuple(Variable(f"x{j}", "categorical", tuple(range(999))) for j in range(7))
    schema = Schema((*wide, Variable("u", "numeric")), Variable("y", "categorical", (0, 1)))
    with pytest.raises(DataError, match=r"'u' .* 2e\+21"):
        RegressionFamilies.zero(schema, (("u", *(v.name for v in wide)),))
    case = [[0, 0]] * 2, [[1.0, 2.0, 3.0], [1.0, -1e101, 3.0]], [0, 1], [1.0, 1.0]
    with pytest.raises(DataError, match=r"'v' is -1e\+101 in row 1"):
        count(case)
    count((*case[:3], [1.0, 0.0]))


def test_terms_name_the_cells_and_the_values():
    assert list(Pattern("regressions", FAMILIES).terms(schema_of())) == [
        Term(("y",), ("u",), 2),
        Term(("y",), ("u", "v"), 2),
        Term(("y", "x0", "x1"), ("v", "u", "w"), 2),
        Term(("y", "x1"), ("u",), 2),
    ]


@settings(max_examples=40, deadline=None)
@given(cases())
def test_building_undoes_listing(case):
    schema = schema_of()
    alone = Plan((Pattern("regressions", FAMILIES),))
    statistics = count_plan(chunk_of(*case), schema, alone)
    built = Statistics.from_cell_tables(schema, alone, statistics.cell_tables())
    same_bits(built.parts["regressions"], statistics.parts["regressions"])


@settings(max_examples=40, deadline=None)
@given(cases(whole=True))
def test_terms_that_moments_have_too_are_counted_once(case):
    schema = schema_of()
    plan = Plan(
        (*Plan.naive(schema).patterns, Pattern("cell_moments", NUMERIC), Pattern("regressions", FAMILIES))
    )
    statistics = count_plan(chunk_of(*case), schema, plan)
    tables = statistics.cell_tables()
    assert len(tables) == len({table.term for table in tables})
    built = Statistics.from_cell_tables(schema, plan, tables)
    same(built.parts["regressions"], statistics.parts["regressions"])
    reversed_plan = Plan(plan.patterns[::-1])
    built = Statistics.from_cell_tables(
        schema, reversed_plan, count_plan(chunk_of(*case), schema, reversed_plan).cell_tables()
    )
    laws._same_moments(built.moments, statistics.moments, 1e-9)


# -- files -----------------------------------------------------------------------------------------


def counted_plan():
    rng, schema = np.random.default_rng(1), schema_of()
    chunk = chunk_of(rng.integers(0, 3, (40, 2)), rng.normal(size=(40, 3)), rng.integers(0, 2, 40))
    return count_plan(chunk, schema, Plan((*Plan.naive(schema).patterns, Pattern("regressions", FAMILIES))))


def test_saving_and_loading_gives_the_same(tmp_path):
    statistics = counted_plan()
    save_statistics(statistics, tmp_path / "counts")
    loaded = load_statistics(tmp_path / "counts")
    assert loaded.plan == statistics.plan
    same_bits(loaded.parts["regressions"], statistics.parts["regressions"])


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("keys", lambda a: a[::-1].copy(), "ascending"),
        ("keys", lambda a: np.r_[a[:-1], 10**6], "regressions/keys"),
        ("keys", lambda a: a[:-1], "cells"),
        ("starts", lambda a: a + 1, "cells"),
        ("weight", lambda a: -a, "negative"),
        ("weight", lambda a: a * 0.0, "weight"),
        ("weight_low", lambda a: a[:-1], "remainder"),
        ("first", lambda a: a[:-1], "regressions/first"),
        ("pivot", lambda a: a[:-1], "regressions/pivot"),
        ("second", lambda a: a * np.nan, "NaN"),
        ("second", lambda a: a + np.arange(len(a)), "symmetric"),
        ("second", lambda a: a * 1e301, "covariance"),
        ("second", lambda a: -a, "squares"),
        ("members", lambda a: a[::-1].copy(), "plan"),
        ("columns", lambda a: a * 0, "plan"),
        ("column_bounds", lambda a: a * 0, "plan"),
        ("radices", lambda a: a + 1, "plan"),
        ("bounds", lambda a: a * 0, "plan"),
    ],
)
def test_damaged_files_are_refused(name, damage, message):
    content, arrays = pack_statistics(counted_plan())
    arrays[f"regressions/{name}"] = damage(arrays[f"regressions/{name}"])
    with refuses(ModelFormatError, message):
        unpack_statistics(content, arrays)


@pytest.mark.parametrize(
    "family", [["u"], {"tuple": []}, {"tuple": ["u", "u"]}, {"tuple": ["x0"]}, {"tuple": ["u", "z"]}]
)
def test_plans_of_no_regressions_are_refused(family):
    content, arrays = pack_statistics(counted_plan())
    content["plan"][-1][1][0] = family
    with pytest.raises(ModelFormatError):
        unpack_statistics(content, arrays)
