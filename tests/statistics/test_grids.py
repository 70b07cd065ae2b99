"""Sparse dyadic grids: laws, the slow twin in exact arithmetic, and the limits of float64."""

from __future__ import annotations

import math
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bayeskit._counting.count_grids import count_grids
from bayeskit._statistics.grids import MOST_CELLS, Grids
from bayeskit.errors import DataError
from bayeskit.extending import Chunk
from bayeskit.statistics import Embedding, Schema, Variable
from refusals import refuses

K = 3
FEW = 6
EXTREMES = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    1e-310,
    2.2e-308,
    1e-300,
    -1e-300,
    1e300,
    -1e300,
    1.7976931348623157e308,
]


def schema_of(d=1, states=("a", "b", "c")):
    return Schema(tuple(Variable(f"x{j}", "numeric") for j in range(d)), Variable("y", "categorical", states))


def chunk_of(values, target, weights=None):
    values = np.asarray(values, float)
    values = values[:, None] if values.ndim == 1 else np.ascontiguousarray(values)
    codes = np.empty((len(target), 0), np.uint8)
    weights = None if weights is None else np.asarray(weights, float)
    return Chunk(len(target), codes, values, target=np.asarray(target, np.uint32), weights=weights)


def count_rows(rows):
    """Rows are (value, class, weight)."""
    values, target, weights = zip(*rows, strict=True) if rows else ((), (), ())
    return count_grids(chunk_of(values, target, weights), schema_of(), ("x0",))


def slow_grid(rows, most):
    """The definition in exact arithmetic: (largest, exponent, {id: counts})."""
    rows = [(Fraction(x), c, w) for x, c, w in rows if w and not math.isnan(x)]
    largest = max((math.frexp(float(x))[1] for x, _, _ in rows if x), default=-1073)
    exponent = largest - 40
    while len({math.floor(x / Fraction(2) ** exponent) for x, _, _ in rows}) > most:
        exponent += 1
    cells = {}
    for x, c, w in rows:
        cells.setdefault(math.floor(x / Fraction(2) ** exponent), [0.0] * K)[c] += w
    return largest, exponent, dict(sorted(cells.items()))


@contextmanager
def at_most(cells):
    """Coarsening begins early enough for small examples to reach it."""
    with (
        patch("bayeskit._statistics.grids.MOST_CELLS", cells),
        patch("bayeskit._counting.count_grids.MOST_CELLS", cells),
    ):
        yield


def same(a, b):
    return all(
        np.array_equal(x, y) and x.dtype == y.dtype
        for x, y in zip(a.arrays().values(), b.arrays().values(), strict=True)
    )


def on_cells_of(grids, other):
    """The grids coarsened as far as another's."""
    return grids.of(
        (grids.grid(j).coarsened(int(other.exponents[j])) for j in range(len(grids))), grids.n_classes
    )


ordinary = st.floats(-100, 100) | st.integers(-20, 20).map(float)
any_value = ordinary | st.sampled_from(EXTREMES) | st.floats(allow_nan=True, allow_infinity=False)
weight = st.sampled_from([0.0, 0.25, 1.0, 2.0, 3.0])


def rows_of(value):
    return st.lists(st.tuples(value, st.integers(0, K - 1), weight), max_size=25)


some_rows = rows_of(ordinary) | rows_of(any_value)


@settings(max_examples=150, deadline=None)
@given(some_rows, st.sampled_from([2, FEW, MOST_CELLS]))
@example([(x, 0, 1.0) for x in EXTREMES], FEW)
@example([(-1e-300, 1, 1.0), (1e300, 0, 1.0)], MOST_CELLS)
def test_equals_the_definition(rows, most):
    with at_most(most):
        grid = count_rows(rows).grid(0)
    largest, exponent, cells = slow_grid(rows, most)
    if cells:
        assert (grid.largest, grid.exponent) == (largest, exponent)
    assert grid.ids.tolist() == list(cells)
    assert grid.counts.tolist() == list(cells.values())


@settings(max_examples=150, deadline=None)
@given(some_rows, some_rows, some_rows)
def test_merge_is_a_commutative_monoid(first, second, third):
    with at_most(FEW):
        a, b, c = count_rows(first), count_rows(second), count_rows(third)
        assert same(a.merge(b), b.merge(a))
        assert same(a.merge(b).merge(c), a.merge(b.merge(c)))
        assert same(a.merge(Grids.zero(schema_of(), ("x0",))), a)


@settings(max_examples=150, deadline=None)
@given(some_rows, st.integers(0, 25), st.randoms())
def test_any_split_equals_the_whole(rows, cut, random):
    shuffled = random.sample(rows, len(rows))
    with at_most(FEW):
        assert same(count_rows(shuffled[:cut]).merge(count_rows(shuffled[cut:])), count_rows(rows))


@settings(max_examples=150, deadline=None)
@given(some_rows, some_rows)
def test_subtract_undoes_merge_on_the_wider_cells(first, second):
    with at_most(FEW):
        a, b = count_rows(first), count_rows(second)
        both = a.merge(b)
        back = both.subtract(b)
        assert back.deficit() == 0.0
        if len(a.ids):
            assert back.exponents == both.exponents
            expected = on_cells_of(a, both)
            assert np.array_equal(back.ids, expected.ids)
            assert np.array_equal(back.counts, expected.counts)
        assert same(back.subtract(a), Grids.zero(schema_of(), ("x0",)))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(any_value, st.integers(0, K - 1), st.integers(0, 3)), max_size=15))
def test_integer_weights_are_repetition(rows):
    with at_most(FEW):
        repeated = [(x, c, 1.0) for x, c, times in rows for _ in range(times)]
        assert same(count_rows([(x, c, float(w)) for x, c, w in rows]), count_rows(repeated))


@settings(max_examples=60, deadline=None)
@given(
    some_rows, some_rows, st.sampled_from([0.5, 4.0]), st.sampled_from([(1.0, 2.0, 0.5), (0.25, 8.0, 1.0)])
)
def test_scale_distributes(first, second, factor, factors):
    with at_most(FEW):
        a, b = count_rows(first), count_rows(second)
        for w in (factor, np.array(factors)):
            assert same(a.merge(b).scale(w), a.scale(w).merge(b.scale(w)))
        assert np.array_equal(a.scale(np.array(factors)).counts, a.counts * factors)
        assert same(a.scale(0.0), Grids.zero(schema_of(), ("x0",)))


def test_scaling_a_class_away_drops_its_cells():
    grids = count_rows([(1.0, 0, 1.0), (2.0, 1, 1.0), (3.0, 0, 1.0)]).scale(np.array([0.0, 2.0, 1.0]))
    assert grids.counts.tolist() == [[0.0, 2.0, 0.0]]


@pytest.mark.parametrize("seed", range(3))
def test_thousands_of_distinct_values(seed):
    rng = np.random.default_rng(seed)
    n = 30_000
    values = np.column_stack([rng.normal(size=n), np.exp(4 * rng.normal(size=n)), 1e8 + rng.normal(size=n)])
    values[rng.random((n, 3)) < 0.05] = np.nan
    target, weights = rng.integers(0, K, n), rng.integers(0, 4, n)
    schema, names = schema_of(3), ("x0", "x1", "x2")
    whole = count_grids(chunk_of(values, target, weights), schema, names)
    bounds = [0, *np.sort(rng.integers(0, n, 6)), n]
    parts = [
        count_grids(chunk_of(values[i:j], target[i:j], weights[i:j]), schema, names)
        for i, j in pairwise(bounds)
    ]
    merged = Grids.zero(schema, names)
    for i in rng.permutation(len(parts)):
        merged = merged.merge(parts[i])
    assert same(merged, whole)
    for j in range(3):
        grid = whole.grid(j)
        seen = ~np.isnan(values[:, j]) & (weights > 0)
        for e, fits in ((grid.exponent, True), (grid.exponent - 1, False)):
            assert (len(np.unique(np.floor(values[seen, j] / 2.0**e))) <= MOST_CELLS) == fits
        ids = np.floor(values[seen, j] / 2.0**grid.exponent)
        assert np.array_equal(grid.ids, np.unique(ids))
        for c in range(K):
            edges = np.append(grid.ids, grid.ids[-1] + 1)
            rows = target[seen] == c
            expected, _ = np.histogram(ids[rows], bins=edges, weights=weights[seen][rows])
            assert np.array_equal(grid.counts[:, c], expected)


def test_fractional_weights_leave_nothing_behind():
    rng = np.random.default_rng(0)
    parts = [count_rows([(1.5, 0, w), (2.5, 1, w / 3)]) for w in rng.random(2)]
    left = parts[0].merge(parts[1]).subtract(parts[1]).subtract(parts[0])
    assert same(left, Grids.zero(schema_of(), ("x0",)))


@pytest.mark.parametrize("heavy", [1e-6, 1e6])
def test_what_rounding_leaves_grows_with_the_weight_that_went(heavy):
    """After the heavy rows are gone, what a cell is off by is their rounding error, and no row; a light row stays."""
    rng = np.random.default_rng(1)
    weights = heavy * rng.random(20)
    parts = [count_rows([(1.5, 0, w), (9.5, 0, w / 3)]) for w in weights]
    total = count_rows([(40.0, 0, 1e-3 * heavy)])
    for part in parts:
        total = total.merge(part)
    for part in rng.permutation(np.arange(20)).tolist():
        total = total.subtract(
            parts[part], {"tables": SimpleNamespace(margin=np.array([2 * weights.sum(), 0, 0]))}
        )
    assert total.counts.tolist() == [[1e-3 * heavy, 0.0, 0.0]]


def test_taking_away_what_was_not_counted_shows():
    left = count_rows([(1.0, 0, 1.0)]).subtract(count_rows([(1.0, 0, 3.0)]))
    assert left.deficit() == 2.0
    assert count_rows([(1.0, 0, 1.0)]).deficit() == 0.0


def test_classes_move():
    old, new = schema_of(states=("a", "b", "c")), schema_of(states=("c", "d", "a"))
    grids = count_rows([(1.0, 0, 1.0), (2.0, 2, 5.0)])
    moved = grids.embed(Embedding(old, new))
    assert moved.counts.tolist() == [[0.0, 0.0, 1.0], [5.0, 0.0, 0.0]]
    assert np.array_equal(moved.ids, grids.ids)


def test_saved_arrays_are_all_there_is():
    grids = count_grids(chunk_of([[1.0, np.nan], [2.0, 7.0]], [0, 2]), schema_of(2), ("x0", "x1"))
    assert same(Grids.from_arrays({k: v.copy() for k, v in grids.arrays().items()}), grids)
    assert len(grids) == 2


def test_attributes_are_found_by_name():
    chunk = chunk_of([[1.0, 9.0], [2.0, 9.0]], [0, 1])
    both = count_grids(chunk, schema_of(2), ("x1", "x0"))
    assert same(Grids.of([both.grid(0)], K), count_grids(chunk, schema_of(2), ("x1",)))
    assert both.offsets.tolist() == [0, 1, 3]


def test_no_attributes_and_no_rows():
    assert len(count_grids(chunk_of(np.zeros((2, 1)), [0, 1]), schema_of(), ())) == 0
    assert same(count_rows([]), Grids.zero(schema_of(), ("x0",)))
    assert same(count_rows([(math.nan, 0, 1.0), (3.0, 0, 0.0)]), Grids.zero(schema_of(), ("x0",)))


@pytest.mark.parametrize("infinity", [math.inf, -math.inf])
def test_infinities_are_refused_by_name(infinity):
    rows = [(1.0, 0, 1.0), (2.0, 1, 1.0), (infinity, 0, 1.0)]
    with refuses(DataError, "x0", 2):
        count_rows(rows)
    assert count_rows([(x, c, w if math.isfinite(x) else 0.0) for x, c, w in rows]).counts.sum() == 2.0
