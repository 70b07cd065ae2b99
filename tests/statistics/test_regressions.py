"""Moments of regressions: equal to least squares; any split of the rows equals the whole; what is forgotten is gone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._statistics.regressions import Regressions
from bayeskit.errors import Incompatible, NotCounted
from refusals import refuses


def rows(seed, n=30, m=3, size=2, mean=0.0):
    rng = np.random.default_rng(seed)
    z = mean + rng.normal(size=(n, m)) @ rng.normal(size=(m, m))
    return z, rng.integers(0, size, n), rng.integers(1, 4, n).astype(float)


def counted(z, cell, weights, size=2, part=slice(None)):
    return Regressions.of(z[part], cell[part], weights[part], size)


def least_squares(z, weights):
    """Return intercept, slopes, Σ w·residual² of the last column on the others."""
    centre = weights @ z / weights.sum()
    x, y = (z - centre)[:, :-1], (z - centre)[:, -1]
    root = np.sqrt(weights)
    slopes = np.linalg.lstsq(x * root[:, None], y * root, rcond=None)[0]
    residual = y - x @ slopes
    return centre[-1] - slopes @ centre[:-1], slopes, float(weights @ residual**2)


def same(a, b, rel=1e-9):
    assert a.n == pytest.approx(b.n, abs=1e-9)
    for cell in range(len(a.n)):
        (i, s, r), (j, t, q) = a.solve(cell), b.solve(cell)
        assert s == pytest.approx(t, rel=rel, abs=rel)
        assert i == pytest.approx(j, rel=rel, abs=rel * (1 + np.abs(b.pivot).max()))
        assert r == pytest.approx(q, rel=rel, abs=1e-13 * (1.0 + b.pooled()[1]))
    assert a.pooled() == pytest.approx(b.pooled(), rel=rel)


@given(seed=st.integers(0, 10**6), m=st.integers(1, 4), mean=st.sampled_from([0.0, 1e3, -1e8]))
@settings(max_examples=30)
def test_equal_to_least_squares(seed, m, mean):
    z, cell, weights = rows(seed, m=m, mean=mean)
    found = counted(z, cell, weights)
    same(Regressions.plainly(z, cell, weights, 2), found, rel=1e-6 if mean else 1e-9)
    for c in np.unique(cell):
        intercept, slopes, residual = found.solve(int(c))
        here = cell == c
        wanted = least_squares(z[here], weights[here])
        if here.sum() <= m:
            continue
        tolerance = 1e-6 if mean else 1e-9
        assert slopes == pytest.approx(wanted[1], rel=tolerance, abs=tolerance)
        assert residual == pytest.approx(wanted[2], rel=tolerance, abs=1e-12)
        assert intercept == pytest.approx(wanted[0], abs=tolerance * (1 + abs(mean) * 10))


@given(seed=st.integers(0, 10**6), cut=st.integers(0, 30), mean=st.sampled_from([0.0, 1e8]))
@settings(max_examples=30)
def test_any_split_equals_the_whole(seed, cut, mean):
    drawn = rows(seed, mean=mean)
    whole = counted(*drawn)
    a, b = counted(*drawn, part=slice(cut)), counted(*drawn, part=slice(cut, None))
    same(a.merge(b), whole)
    same(b.merge(a), whole)
    same(whole.subtract(b), a, rel=1e-6)
    # What is empty is empty.
    gone = whole.subtract(whole)
    assert not gone.n.any() and not gone.first.high.any() and not gone.second.high.any()
    same(gone.merge(a), a)


@given(seed=st.integers(0, 10**6), near=st.sampled_from([1e-1, 1e-4, 1e-6]))
@settings(max_examples=20)
def test_nearly_collinear_parents_do_not_magnify_the_order_of_rows(seed, near):
    z, cell, weights = rows(seed, n=40, mean=100.0)
    z[:, 1] = 2.0 * z[:, 0] + near * z[:, 1]
    whole, kept = counted(z, cell, weights), counted(z, cell, weights, part=slice(0))
    for some in np.array_split(np.random.default_rng(seed).permutation(40), 5):
        kept = kept.merge(counted(z, cell, weights, part=some))
    for c in range(2):
        (i, s, r), (j, t, q) = kept.solve(c), whole.solve(c)
        assert (i, *s, r) == pytest.approx((j, *t, q), rel=1e-9, abs=1e-12)


def test_a_first_row_far_away_then_forgotten():
    """An outlier of 1e8 fills all digits of one double; the others must still be there when it goes."""
    z, cell, weights = rows(5, n=50, size=1)
    far = Regressions.of(np.full((1, 3), 1e8), np.zeros(1, int), np.ones(1), 1)
    cell = np.zeros(50, int)
    same(far.merge(counted(z, cell, weights, 1)).subtract(far), counted(z, cell, weights, 1), rel=1e-9)
    # In the same batch, too.
    together = Regressions.of(
        np.vstack([np.full((1, 3), 1e8), z]), np.zeros(51, int), np.append(1.0, weights), 1
    )
    same(together.subtract(far), counted(z, cell, weights, 1), rel=1e-9)


def test_199_of_200_batches_forgotten():
    kept, *others = (counted(*rows(seed, n=12, mean=1e3 * seed)) for seed in range(200))
    total = kept
    for batch in others:
        total = total.merge(batch)
    for batch in others:
        total = total.subtract(batch)
    same(total, kept, rel=1e-8)


def test_far_apart_cells_keep_their_digits():
    rng = np.random.default_rng(0)
    cell = np.repeat([0, 1, 2], 40)
    z = rng.normal(size=(120, 2)) + 1e8 * cell[:, None]
    found = Regressions.of(z, cell, np.ones(120), 3)
    for c in range(3):
        here = z[cell == c]
        wanted = least_squares(here, np.ones(40))
        assert found.solve(c)[1] == pytest.approx(wanted[1], rel=1e-6)
        assert found.solve(c)[2] == pytest.approx(wanted[2], rel=1e-6)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e8 + 0.1, 0.0])
def test_constant_columns_have_no_spread_at_all(value):
    """0.1 summed seven times and divided by seven is not 0.1: the rounding must not pass for a spread."""
    rng = np.random.default_rng(0)
    z = np.column_stack([np.full(7, value), rng.normal(size=7)])
    found = Regressions.of(z, np.zeros(7, int), np.ones(7), 1)
    _, slopes, residual = found.solve(0)
    assert slopes == [0.0]
    assert residual == pytest.approx(((z[:, 1] - z[:, 1].mean()) ** 2).sum())
    assert Regressions.of(z[:, ::-1], np.zeros(7, int), np.ones(7), 1).pooled() == (value, 0.0)
    halves = [
        Regressions.of(z[part], np.zeros(len(z[part]), int), np.ones(len(z[part])), 1)
        for part in (slice(3), slice(3, 7))
    ]
    assert halves[0].merge(halves[1]).solve(0)[1] == [0.0]


@pytest.mark.parametrize("unit", [1.0, 2.0**40, 2.0**-40])
def test_a_constant_that_is_left_by_forgetting(unit):
    z = unit * np.array([[1.0, 0.1], [1e6, 5.0], [3.0, 0.1], [4.0, 0.1]])
    whole = Regressions.of(z, np.zeros(4, int), np.ones(4), 1)
    left = whole.subtract(Regressions.of(z[1:2], np.zeros(1, int), np.ones(1), 1))
    assert left.pooled() == (pytest.approx(0.1 * unit, rel=1e-14), 0.0)
    assert left.solve(0)[1:] == ([0.0], 0.0)


def test_copies_share_the_slope():
    """Of all coefficients that fit, the smallest."""
    x = np.random.default_rng(1).normal(size=20)
    z = np.column_stack([x, x, 2 * x, 3 * x + 1])
    intercept, slopes, residual = Regressions.of(z, np.zeros(20, int), np.ones(20), 1).solve(0)
    assert intercept == pytest.approx(1.0)
    assert slopes @ [1, 1, 2] == pytest.approx(3.0)
    assert residual == pytest.approx(0.0, abs=1e-12)
    assert np.isfinite(slopes).all() and np.abs(slopes).max() < 2


def test_a_cell_without_rows_and_rows_without_weight():
    z = np.array([[1.0, 2.0], [2.0, 4.0], [9.0, 9.0]])
    found = Regressions.of(z, np.array([0, 0, 1]), np.array([1.0, 1.0, 0.0]), 3)
    assert found.n.tolist() == [2.0, 0.0, 0.0]
    assert found.solve(0)[1] == pytest.approx([2.0])
    for empty in (1, 2):
        intercept, slopes, residual = found.solve(empty)
        assert (intercept, slopes.tolist(), residual) == (0.0, [0.0], 0.0)
    nothing = Regressions.of(np.empty((0, 2)), np.empty(0, int), np.empty(0), 3)
    assert nothing.pooled() == (0.0, 0.0)
    same(nothing.merge(found), found)


def test_pooled_is_the_whole_column():
    z, cell, weights = rows(3, size=3)
    found = Regressions.of(z, cell, weights, 3)
    mean = np.average(z[:, -1], weights=weights)
    variance = np.average((z[:, -1] - mean) ** 2, weights=weights)
    assert found.pooled() == pytest.approx((mean, variance), rel=1e-12)


def test_some_columns():
    z, cell, weights = rows(4)
    same(counted(z, cell, weights).columns([2, 0]), counted(z[:, [2, 0]], cell, weights))


def test_what_cannot_be():
    z, cell, weights = rows(4)
    found = counted(z, cell, weights)
    with pytest.raises(Incompatible):
        found.merge(counted(z[:, 1:], cell, weights))
    with refuses(NotCounted, -34):
        found.subtract(found.scale(2.0))
