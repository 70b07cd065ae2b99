"""The long table of cells: listing and building are inverse, and a table may come in pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._counting.backend import count
from bayeskit._statistics.term import PARTS
from bayeskit._statistics.tree_counts import LEAF, STAYS, forest_of
from bayeskit.errors import CannotCount, DataError
from bayeskit.extending import COUNTERS, Chunk
from bayeskit.statistics import CellTable, Pattern, Plan, Schema, Statistics, Term, Variable
from refusals import refuses

SIZES = (2, 3, 1)
SCHEMA = Schema(
    (
        *(Variable(f"x{j}", "categorical", tuple(range(size))) for j, size in enumerate(SIZES)),
        Variable("u", "numeric"),
        Variable("v", "numeric"),
    ),
    Variable("y", "categorical", ("no", "yes", "never")),
)
NAMES, NUMERIC = ("x0", "x1", "x2"), ("u", "v")
# x0 at the root, then u: a row stops at a leaf, or at the first value that it lacks.
NODES = np.array([1, 0, 0, 0, 0]), np.array([0, 0, 0, 0, 0]), np.array([STAYS, STAYS, LEAF, LEAF, LEAF])
FOREST = forest_of({"u": (0.5,)}, {"x0": (0, 1)}, ("no", "yes"), 0, np.array([[1, 0]], np.uint8), [NODES])
EVERYTHING = Plan(
    (
        *Plan.naive(SCHEMA, scatter=NUMERIC, grids=NUMERIC).patterns,
        Pattern("pairs", NAMES),
        Pattern("triples", NAMES),
        Pattern("families", (("x0",), ("x1", "x0"), ("x2", "x1", "x0"))),
        Pattern("cell_moments", NUMERIC),
        Pattern("regressions", (("v", "u"), ("u", "x0", "x2"))),
        Pattern("trees", (FOREST,)),
    )
)
BLOCK = Schema((Variable("text", "block", width=4),), Variable("y", "categorical", ("no", "yes")))


def test_every_kind_of_pattern_is_here():
    kinds = {p.kind for p in EVERYTHING.patterns} | {p.kind for p in Plan.naive(BLOCK).patterns}
    # Those that are counted from rows alone are no long tables of cells, and say so.
    from_rows = {"row_sample", "interactions", "coded_scatter"}
    assert kinds == COUNTERS.keys() - from_rows
    for kind in from_rows:
        with pytest.raises(CannotCount):
            next(iter(PARTS[kind].terms(SCHEMA, ())))


NOT_COLUMNS: list[tuple[Any, ...]] = [
    ("nobody",),
    ("y",),
    (("x0",),),
    (0,),
    (["x0"],),
    ("x0", "x0"),
    ("u", "u"),
]
NOT_FAMILIES: list[tuple[Any, ...]] = [
    ("x0",),
    ((),),
    (["x0"],),
    (("x0", "x0"),),
    (("nobody",),),
    (("x1", "y"),),
]


def test_a_pattern_names_columns_that_are_there():
    for pattern in EVERYTHING.patterns:
        part = PARTS[pattern.kind]
        assert part.is_pattern(SCHEMA, pattern.attributes), pattern
        wrong = NOT_FAMILIES if pattern.kind in ("families", "regressions") else NOT_COLUMNS
        for attributes in (*wrong, (*pattern.attributes, *pattern.attributes)):
            assert not part.is_pattern(SCHEMA, attributes), (pattern.kind, attributes)
    for kind in ("tables", "pairs", "cell_moments"):  # these are of all columns
        assert not PARTS[kind].is_pattern(SCHEMA, NAMES[:-1] if kind != "cell_moments" else NUMERIC[:-1])
    assert not PARTS["families"].is_pattern(SCHEMA, (("x0", "u"),))  # a table has no numeric parent


@st.composite
def chunks(draw, fractional=False):
    n = draw(st.integers(0, 12))
    cells = st.tuples(*(st.integers(0, size) for size in SIZES))
    number = st.one_of(
        st.just(np.nan), st.sampled_from([0.0, 1e8 + 0.5, -3.25, 1e-9]), st.floats(-9.0, 9.0, width=16)
    )
    weight = st.sampled_from([0.1, 1 / 3, 2.5]) if fractional else st.sampled_from([1.0, 2.0, 3.0])
    return Chunk(
        n,
        np.array(draw(st.lists(cells, min_size=n, max_size=n)), np.uint8).reshape(n, len(SIZES)),
        np.array(draw(st.lists(st.tuples(number, number), min_size=n, max_size=n))).reshape(n, 2),
        target=np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), np.uint32),
        weights=np.array(draw(st.lists(weight, min_size=n, max_size=n))),
    )


def same(a: Statistics, b: Statistics, rtol: float = 0.0) -> None:
    assert a.schema == b.schema and a.plan == b.plan
    for kind, part in a.parts.items():
        others = b.parts[kind].arrays()
        for name, array in part.arrays().items():
            np.testing.assert_allclose(array, others[name], rtol=rtol, err_msg=f"{kind}/{name}")


def built(tables, schema=SCHEMA, plan=EVERYTHING) -> Statistics:
    return Statistics.from_cell_tables(schema, plan, tables)


@settings(max_examples=60, deadline=None)
@given(chunks())
def test_building_undoes_listing(chunk):
    statistics = count(chunk, SCHEMA, EVERYTHING)
    tables = statistics.cell_tables()
    assert tuple(table.term for table in tables) == EVERYTHING.terms(SCHEMA)
    same(built(tables), statistics)


@settings(max_examples=30, deadline=None)
@given(chunks(fractional=True), st.sampled_from(["tables", "pairs", "triples", "families", "scatter"]))
def test_building_undoes_listing_for_fractions(chunk, kind):
    # One pattern at a time: tables keep more digits of n(y, x) than pairs do.
    pattern = next(p for p in EVERYTHING.patterns if p.kind == kind)
    statistics = count(chunk, SCHEMA, Plan((pattern,)))
    same(built(statistics.cell_tables(), plan=Plan((pattern,))), statistics)


@settings(max_examples=40, deadline=None)
@given(chunks(), st.randoms(use_true_random=False))
def test_any_order_and_any_pieces_of_the_table_are_the_table(chunk, random):
    statistics = count(chunk, SCHEMA, EVERYTHING)
    pieces = []
    for table in statistics.cell_tables():
        order = random.sample(range(len(table.n)), len(table.n))
        cut = random.randint(0, len(order))
        pieces += [
            CellTable(
                table.term, table.codes[some], table.n[some], {k: v[some] for k, v in table.sums.items()}
            )
            for some in (order[:cut], order[cut:])
        ]
    random.shuffle(pieces)
    same(built(pieces), statistics)


@settings(max_examples=40, deadline=None)
@given(chunks(), chunks())
def test_statistics_built_of_any_split_of_the_rows_add_up(first, second):
    whole = [count(chunk, SCHEMA, EVERYTHING) for chunk in (first, second)]
    same(built(whole[0].cell_tables()) + built(whole[1].cell_tables()), whole[0] + whole[1])


def test_numbers_whose_squares_leave_the_range_keep_their_scale():
    chunk = Chunk(
        3,
        np.zeros((3, 3), np.uint8),
        np.array([[1e250, 1.0], [-3e250, 2.0], [np.nan, 4.0]]),
        target=np.zeros(3, np.uint32),
    )
    plan = Plan(tuple(p for p in EVERYTHING.patterns if p.kind in ("moments", "cell_moments", "grids")))
    statistics = count(chunk, SCHEMA, plan)
    assert statistics.moments.exponent.tolist()[0] > 0
    same(built(statistics.cell_tables(), plan=plan), statistics)


def test_nothing_at_all_is_listed_and_built():
    empty = Schema(SCHEMA.attributes, Variable("y", "categorical"))
    for schema, plan in (
        (empty, EVERYTHING),
        (Schema((), empty.target), Plan.naive(Schema((), empty.target))),
    ):
        zero = Statistics.zero(schema, plan)
        same(built(zero.cell_tables(), schema, plan), zero)


def test_a_block_is_listed_by_class():
    values = np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 3.0, 0.0, 0.5]])
    chunk = Chunk(2, np.empty((2, 0), np.uint8), np.empty((2, 0)), values, np.array([1, 1], np.uint32))
    plan = Plan.naive(BLOCK)
    statistics = count(chunk, BLOCK, plan)
    (table,) = (t for t in statistics.cell_tables() if t.term == Term(("y",), ("text",), 1))
    assert (table.codes.tolist(), table.n.tolist()) == ([[1]], [2.0])
    assert table.sums["first"].tolist() == [[1.0, 3.0, 2.0, 0.5]]
    same(built(statistics.cell_tables(), BLOCK, plan), statistics)


def test_moments_need_only_a_pivot_and_two_sums():
    schema = Schema((Variable("u", "numeric"),), Variable("y", "categorical", ("no",)))
    sums = {"pivot": np.array([1.0]), "first": np.array([4.0]), "second": np.array([12.0])}
    classes = CellTable(Term(("y",)), np.array([[0]]), np.array([4.0]))
    cells = CellTable(Term(("y",), ("u",), 2), np.array([[0]]), np.array([4.0]), sums)
    found = built([classes, cells], schema, Plan.naive(schema)).moments
    assert (found.mean()[0].item(), found.variance().item()) == (2.0, 2.0)


TWO = Schema((Variable("a", "categorical", (0, 1)),), Variable("y", "categorical", ("no", "yes")))
GOOD = (Term(("y",)), [[0], [1]], [2.0, 3.0]), (Term(("y", "a")), [[0, 0], [1, 1], [1, 2]], [2.0, 1.0, 2.0])


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        (GOOD[:1], ["n(y, a)"]),
        ((*GOOD, (Term(("y", "b")), [], [])), ["n(y, b)"]),
        ((GOOD[0], (GOOD[1][0], [[0, 0], [1, 3]], [2.0, 3.0])), ["a", 3, 0, 2]),
        ((GOOD[0], (GOOD[1][0], [[0, 0], [2, 1]], [2.0, 3.0])), ["y", 2, 0, 1]),
        ((GOOD[0], (GOOD[1][0], [[0, 0], [1, -1]], [2.0, 3.0])), ["a", -1]),
        ((GOOD[0], (GOOD[1][0], [[0, 0], [1, 1]], [2.0, 2.0])), ["yes", 2, 3]),
        ((GOOD[0], (GOOD[1][0], [[0, 0], [1, 1]], [2.0, np.nan])), ["n(y, a)", "nan"]),
        ((GOOD[0], (GOOD[1][0], [[0.0, 0.0], [1.0, 1.0]], [2.0, 3.0])), ["float64"]),
        ((GOOD[0], (GOOD[1][0], [[0], [1]], [2.0, 3.0])), ["(2, 1)"]),
    ],
)
def test_cells_that_do_not_fit_are_refused_by_name(tables, said):
    given_tables = [CellTable(term, np.array(codes), np.array(n)) for term, codes, n in tables]
    given_tables = [
        t if len(t.n) else CellTable(t.term, np.empty((0, 2), np.int64), np.empty(0)) for t in given_tables
    ]
    with refuses(DataError, *said):
        built(given_tables, TWO, Plan.naive(TWO))


def test_a_cell_of_sums_may_not_be_listed_twice():
    schema = Schema((Variable("u", "numeric"),), Variable("y", "categorical", ("no",)))
    classes = CellTable(Term(("y",)), np.array([[0]]), np.array([2.0]))
    twice = CellTable(Term(("y",), ("u",), 2), np.array([[0], [0]]), np.ones(2))
    with refuses(DataError, "Σ(u | y)", "twice"):
        built([classes, twice], schema, Plan.naive(schema))
