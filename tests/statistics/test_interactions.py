"""Counts of chosen sets of attributes in many views, and the sample of rows beside them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit._counting.backend import count
from bayeskit._io.statistics import pack_statistics, unpack_statistics
from bayeskit._statistics import interactions
from bayeskit._statistics.interactions import Interactions
from bayeskit._statistics.row_sample import RowSample
from bayeskit.errors import CannotCount, DataError, NotCounted
from bayeskit.extending import Chunk
from bayeskit.statistics import Pattern, Plan, Schema, Statistics, Variable
from refusals import refuses

SCHEMA = Schema(
    (
        Variable("a", "categorical", ("u", "v", "w")),
        Variable("x", "numeric"),
        Variable("b", "categorical", (0, 1)),
        Variable("z", "numeric"),
    ),
    Variable("y", "categorical", ("no", "yes", "maybe")),
)
AXES = (("a",), ("x", -0.5, 0.5), ("b",), ("z",), ("x", 0.0))
TABLES = ((0,), (1,), (2,), (3,), (0, 1), (2, 4), (0, 2, 1))


def plan_of(capacity: int = 50) -> Plan:
    return Plan(
        (
            *Plan.naive(SCHEMA).patterns,
            Pattern("interactions", (AXES, TABLES)),
            Pattern("row_sample", (capacity,)),
        )
    )


def rows(n: int, seed: int, weighted: bool = False) -> Chunk:
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, 4, n), rng.integers(0, 3, n)]).astype(np.uint8)
    values = rng.integers(-2, 3, (n, 2)) / 2.0
    values[rng.random((n, 2)) < 0.2] = np.nan
    weights = rng.integers(0, 4, n) / 2.0 if weighted else None
    return Chunk(n, codes, values, target=rng.integers(0, 3, n).astype(np.uint32), weights=weights)


def counted(chunk: Chunk, capacity: int = 50) -> Statistics:
    return count(chunk, SCHEMA, plan_of(capacity))


def same(a: Any, b: Any) -> None:
    for kind in ("interactions", "row_sample"):
        for name, array in a.parts[kind].arrays().items():
            np.testing.assert_array_equal(array, b.parts[kind].arrays()[name], err_msg=f"{kind}/{name}")


def codes_of(chunk: Chunk, i: int) -> list[int]:
    """The codes of one row on every axis, one by one."""
    found = []
    for name, *cuts in AXES:
        if name in "ab":
            found.append(int(chunk.codes[i, "ab".index(name)]))
        else:
            value = chunk.values[i, "xz".index(name)]
            found.append(len(cuts) + 1 if np.isnan(value) else sum(value > cut for cut in cuts))
    return found


@pytest.mark.parametrize("weighted", [False, True])
def test_every_table_is_the_count_of_its_rows(weighted: bool) -> None:
    chunk = rows(200, 1, weighted)
    part: Any = counted(chunk).parts["interactions"]
    for t, axes in enumerate(TABLES):
        slow = np.zeros(part.table(t).shape)
        for i in range(chunk.n_rows):
            assert chunk.target is not None
            codes = codes_of(chunk, i)
            slow[(*(codes[a] for a in axes), chunk.target[i])] += chunk.row_weights[i]
        np.testing.assert_array_equal(part.table(t), slow)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(2, 60), st.integers(0, 99), st.booleans())
def test_any_split_of_the_rows_gives_the_same(
    n: int, m: int, capacity: int, seed: int, weighted: bool
) -> None:
    chunk = rows(n + m, seed, weighted)
    whole = counted(chunk, capacity)
    first, second = (counted(chunk.take(np.arange(*b)), capacity) for b in ((0, n), (n, n + m)))
    same(first + second, whole)
    same(second + first, whole)
    same(whole + Statistics.zero(SCHEMA, plan_of(capacity)), whole)


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 99))
def test_what_was_added_can_be_taken_away(n: int, m: int, seed: int) -> None:
    first, second = counted(rows(n, seed), 100), counted(rows(m, seed + 1000), 100)
    same((first + second) - second, first)


def test_a_full_sample_stays_fair_when_rows_leave() -> None:
    """The rows below the limit are those that a larger sample of the rest would begin with."""
    first, second = rows(60, 3), rows(60, 4)
    left: Any = ((counted(first, 20) + counted(second, 20)) - counted(second, 20)).parts["row_sample"]
    all_rows: Any = counted(first, 1000).parts["row_sample"]
    assert 0 < len(left.numbers) < 20 and not left.is_whole
    np.testing.assert_array_equal(left.numbers, all_rows.numbers[: len(left.numbers)])
    np.testing.assert_array_equal(left.weight, all_rows.weight[: len(left.numbers)])


def test_equal_rows_are_one_row_with_their_weights() -> None:
    chunk = rows(5, 7)
    thrice: Any = counted(chunk.take(np.tile(np.arange(5), 3))).parts["row_sample"]
    once: Any = counted(chunk).parts["row_sample"]
    np.testing.assert_array_equal(thrice.numbers, once.numbers)
    np.testing.assert_array_equal(thrice.weight, 3 * once.weight)
    np.testing.assert_array_equal(thrice.own, once.own)


def test_a_row_that_was_never_counted_is_refused() -> None:
    known = rows(40, 1)
    strange = known.take(np.arange(1))
    strange.values[0] = 123.0, 4.0
    with pytest.raises(NotCounted):
        counted(known) - counted(strange)


def test_states_and_classes_that_come_later_do_not_move_what_is_there() -> None:
    """A sample and tables in a larger schema are those of rows coded by it."""
    larger = SCHEMA.with_variables(
        (Variable("a", "categorical", ("t", "u", "v", "w")), *SCHEMA.attributes[1:]),
        Variable("y", "categorical", ("maybe", "never", "no", "yes")),
    )
    chunk = rows(80, 5)
    assert chunk.target is not None
    codes = chunk.codes.copy()
    codes[:, 0] = np.array([1, 2, 3, 4])[codes[:, 0]]
    target = np.array([2, 3, 0], dtype=np.uint32)[chunk.target]
    moved = counted(chunk, 30).embed(larger)
    again = count(Chunk(80, codes, chunk.values, target=target), larger, plan_of(30))
    same(moved, again)


def test_weights_scale_by_class() -> None:
    found: Any = counted(rows(30, 2)).scale(np.array([1.0, 2.0, 0.5])).parts["row_sample"]
    plain: Any = counted(rows(30, 2)).parts["row_sample"]
    factors = np.array([1.0, 2.0, 0.5])[plain.target]
    np.testing.assert_array_equal(found.weight, plain.weight * factors)
    np.testing.assert_array_equal(found.own, plain.own * factors)


def test_they_are_saved_and_read() -> None:
    whole = counted(rows(50, 9))
    content, arrays = pack_statistics(whole)
    same(unpack_statistics(content, arrays), whole)


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("interactions", ((("c",),), ((0,),))),
        ("interactions", ((("a", 1.0),), ((0,),))),
        ("interactions", ((("x", 2.0, 1.0),), ((0,),))),
        ("interactions", ((("x",),), ((1,),))),
        ("interactions", ((("x",),), ((),))),
        ("interactions", (("x",),)),
        ("row_sample", (0,)),
        ("row_sample", ("x",)),
    ],
)
def test_patterns_that_cannot_be_are_known(kind: str, attributes: tuple[Any, ...]) -> None:
    part = Interactions if kind == "interactions" else RowSample
    assert not part.is_pattern(SCHEMA, attributes)


def test_forged_samples_are_found() -> None:
    content, arrays = pack_statistics(counted(rows(50, 9)))
    for name, change in (
        ("codes", lambda a: a + 9),
        ("target", lambda a: a + 3),
        ("numbers", lambda a: a[::-1].copy()),
        ("weight", lambda a: 0.0 * a),
    ):
        forged = {**arrays, f"row_sample/{name}": change(arrays[f"row_sample/{name}"])}
        with pytest.raises(ValueError, match=f"row_sample/{name}"):
            unpack_statistics(content, forged)


def test_tables_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interactions, "LARGEST", 100)
    with refuses(DataError, len(TABLES), 3):
        Interactions.zero(SCHEMA, (AXES, TABLES))


def test_they_are_counted_from_rows_alone() -> None:
    with refuses(CannotCount):
        plan_of().terms(SCHEMA)
    with refuses(CannotCount):
        list(RowSample.terms(SCHEMA, ()))


def test_starts_are_where_cells_begin() -> None:
    part = Interactions.zero(SCHEMA, (AXES, TABLES))
    sizes = [int(np.prod(part.table(t).shape[:-1])) for t in range(len(TABLES))]
    assert [b - a for a, b in pairwise(part.starts.tolist())] == sizes
