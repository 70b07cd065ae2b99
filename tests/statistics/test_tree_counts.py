"""Where rows stop in held trees: the algebra, the counting, and what a file may hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._counting.count_trees import binned, count_trees, stops_of
from bayeskit._statistics.tree_counts import TreeCounts, forest_of, trees_of
from bayeskit.errors import ColumnError, DataError, NotCounted
from bayeskit.extending import Chunk
from bayeskit.statistics import Embedding, Schema, Variable
from reference import slow_tree, slow_way
from refusals import refuses

STATES, CLASSES = ("u", "v", "w"), ("no", "yes", "never")
CUTS = {"a": (0.0, 1.0), "b": (0.5,)}
SCHEMA = Schema(
    (Variable("b", "numeric"), Variable("c", "categorical", STATES), Variable("a", "numeric")),
    Variable("y", "categorical", CLASSES),
)


def grown(draw: Any, depth: int) -> list[tuple[int, int, int]]:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return [(0, 0, 0)]
    test = draw(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(1, 3)))
    return [test, *grown(draw, depth - 1), *grown(draw, depth - 1)]


@st.composite
def forests(draw: Any) -> Any:
    trees = [grown(draw, 3) for _ in range(draw(st.integers(1, 3)))]
    ranks = np.array([draw(st.permutations([0, 1])) for _ in trees], np.uint8)  # "w" is not known to them
    columns = [tuple(np.array(column) for column in zip(*tree, strict=True)) for tree in trees]
    return forest_of(CUTS, {"c": ("u", "v")}, CLASSES[:2], 7, ranks, columns), trees, ranks


@st.composite
def chunks(draw: Any) -> Chunk:
    weights = st.sampled_from([1.0, 2.0, 0.5])
    n = draw(st.integers(0, 9))
    number = st.sampled_from([np.nan, -1.0, 0.0, 0.25, 0.5, 1.0, 3.0])
    values = np.array(draw(st.lists(st.tuples(number, number), min_size=n, max_size=n))).reshape(n, 2)
    codes = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), np.uint8).reshape(n, 1)
    return Chunk(
        n, codes, values,
        target=np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), np.uint32),
        weights=np.array(draw(st.lists(weights, min_size=n, max_size=n)), np.float64),
    )  # fmt: skip


def codes_of(chunk: Chunk, ranks: Any, i: int) -> list[int]:
    """The codes of a row in one tree, by hand: a, b, c."""
    b, a = chunk.values[i]
    c = int(chunk.codes[i, 0])
    numbers = [
        255 if np.isnan(x) else sum(x > cut for cut in cuts) for x, cuts in ((a, CUTS["a"]), (b, CUTS["b"]))
    ]
    return [*numbers, int(ranks[c]) if c < 2 else 254 if c == 2 else 255]


def nodes_by_way(tree: Any) -> dict[str, int]:
    """The number of the node at the end of each way."""
    found: dict[str, int] = {}

    def walk(part: Any, way: str) -> None:
        found[way] = len(found)
        if part is not None:
            walk(part[3], way + "L")
            walk(part[4], way + "R")

    walk(tree, "")
    return found


@settings(max_examples=80, deadline=None)
@given(forests(), chunks())
def test_rows_stop_where_the_slow_twin_does(made: Any, chunk: Chunk) -> None:
    forest, trees, ranks = made
    counted = count_trees(chunk, SCHEMA, (forest,))
    for t, nodes in enumerate(trees):
        slow = slow_tree(nodes)
        numbered, wanted = nodes_by_way(slow), np.zeros((len(nodes), 3))
        for i in range(chunk.n_rows):
            way = slow_way(slow, codes_of(chunk, ranks[t], i))
            wanted[numbered[way], chunk.target[i]] += chunk.row_weights[i]
        held = np.zeros(3 * len(nodes))
        keys, counts = counted.tree_cells(t)
        held[keys] = counts
        np.testing.assert_array_equal(held.reshape(-1, 3), wanted)


def same(a: TreeCounts, b: TreeCounts, rtol: float = 0.0) -> None:
    for name, array in a.arrays().items():
        np.testing.assert_allclose(array, b.arrays()[name], rtol=rtol, err_msg=name)


@settings(max_examples=60, deadline=None)
@given(forests(), chunks(), st.integers(0, 9))
def test_any_split_of_the_rows_is_the_whole_and_subtracting_undoes(made: Any, chunk: Chunk, cut: int) -> None:
    forest = (made[0],)
    first, second = (
        count_trees(chunk.take(rows), SCHEMA, forest)
        for rows in (np.arange(min(cut, chunk.n_rows)), np.arange(min(cut, chunk.n_rows), chunk.n_rows))
    )
    whole = count_trees(chunk, SCHEMA, forest)
    same(first.merge(second), whole)
    same(second.merge(first), whole)
    same(whole.subtract(second), first)
    same(whole.merge(TreeCounts.zero(SCHEMA, forest)), whole)
    same(whole.scale(0.5).merge(whole.scale(0.5)), whole)
    same(whole.scale(np.array([2.0, 0.5, 1.0])).scale(np.array([0.5, 2.0, 1.0])), whole)


@settings(max_examples=40, deadline=None)
@given(forests(), chunks())
def test_more_classes_and_states_change_no_count(made: Any, chunk: Chunk) -> None:
    forest = (made[0],)
    wide = Schema(
        (Variable("b", "numeric"), Variable("c", "categorical", ("t", *STATES)), Variable("a", "numeric")),
        Variable("y", "categorical", ("maybe", "no", "yes", "never")),
    )
    moved = count_trees(chunk, SCHEMA, forest).embed(Embedding(SCHEMA, wide))
    codes = (chunk.codes + 1).astype(np.uint8)
    again = Chunk(chunk.n_rows, codes, chunk.values, target=chunk.target + 1, weights=chunk.weights)
    same(moved, count_trees(again, wide, forest))
    same(moved.embed(Embedding(wide, SCHEMA)), count_trees(chunk, SCHEMA, forest))


@settings(max_examples=40, deadline=None)
@given(forests(), chunks())
def test_cells_make_the_same_statistic(made: Any, chunk: Chunk) -> None:
    forest = (made[0],)
    counted = count_trees(chunk, SCHEMA, forest)
    tables = {table.term: table for table in counted.cell_tables(SCHEMA, forest)}
    same(TreeCounts.from_cell_tables(SCHEMA, forest, tables), counted)


def one_tree(nodes: list[tuple[int, int, int]]) -> Any:
    columns = [tuple(np.array(column) for column in zip(*nodes, strict=True))]
    return forest_of(CUTS, {"c": ("u", "v")}, CLASSES[:2], 7, np.array([[0, 1]], np.uint8), columns)


ROWS = Chunk(
    3,
    np.array([[0], [1], [3]], np.uint8),
    np.array([[0.0, 0.0], [1.0, 2.0], [np.nan, np.nan]]),
    target=np.array([0, 1, 1], np.uint32),
)
STUMP = one_tree([(0, 0, 1), (0, 0, 0), (0, 0, 0)])


def test_two_forests_are_counted_side_by_side() -> None:
    other = one_tree([(2, 0, 3), (0, 0, 0), (0, 0, 0)])
    both = count_trees(ROWS, SCHEMA, (STUMP, other))
    for t, forest in enumerate((STUMP, other)):
        alone = count_trees(ROWS, SCHEMA, (forest,))
        assert [a.tolist() for a in both.tree_cells(t)] == [a.tolist() for a in alone.tree_cells(0)]


def test_more_than_was_counted_cannot_be_taken_away() -> None:
    held = count_trees(ROWS.take(np.arange(2)), SCHEMA, (STUMP,))
    with pytest.raises(NotCounted):
        held.subtract(count_trees(ROWS, SCHEMA, (STUMP,)))


@pytest.mark.parametrize(
    "nodes", [[(0, 0, 1)], [(0, 0, 1), (0, 0, 0)], [(0, 0, 0), (0, 0, 0)], [(9, 0, 1), (0, 0, 0), (0, 0, 0)]]
)
def test_splits_that_make_no_trees_are_refused(nodes: Any) -> None:
    with pytest.raises(DataError):
        trees_of(one_tree(nodes))
    assert not TreeCounts.is_pattern(SCHEMA, (one_tree(nodes),))


def test_a_column_that_is_not_there_is_named() -> None:
    schema = Schema((Variable("b", "numeric"), Variable("c", "categorical", STATES)), SCHEMA.target)
    with refuses(ColumnError, "a", "numeric"):
        TreeCounts.zero(schema, (STUMP,))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("trees/keys", lambda a: {**a, "keys": a["keys"][::-1].copy()}),
        ("trees/keys", lambda a: {**a, "keys": a["keys"] + 9}),
        ("trees/counts", lambda a: {**a, "counts": a["counts"] * 2}),
    ],
)
def test_damaged_arrays_are_told_by_name(name: str, change: Any) -> None:
    held = count_trees(ROWS, SCHEMA, (STUMP,)).arrays()
    assert TreeCounts.flaw(held, SCHEMA, {}) is None
    assert name in str(TreeCounts.flaw(change(held), SCHEMA, {}))


def test_trees_of_one_class_are_sound() -> None:
    schema = Schema(SCHEMA.attributes, Variable("y", "categorical", ("no",)))
    rows = Chunk(3, ROWS.codes[:3], ROWS.values[:3], target=np.zeros(3, np.uint32))
    held = count_trees(rows, schema, (STUMP,)).arrays()
    assert TreeCounts.flaw(held, schema, {}) is None
    assert "trees/counts" in str(TreeCounts.flaw({**held, "counts": held["counts"] + 0.01}, schema, {}))


def test_rows_are_routed_in_any_order_of_columns() -> None:
    trees = trees_of(one_tree([(1, 0, 1), (0, 0, 0), (0, 0, 0)]))
    stops = np.empty(3, np.int64)
    stops_of(
        binned(ROWS, SCHEMA, trees), trees, 0, stops
    )  # b is the second column of the trees, the first of the rows
    assert stops.tolist() == [1, 2, 0]
