"""n, Σz and Σzzᵀ by discrete configuration, from which linear-Gaussian nodes are estimated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._numba import kernel
from bayeskit._statistics.double import Twofold, add, add_exactly, constant_value, multiply
from bayeskit._statistics.part import ROUNDING, never_counted
from bayeskit.errors import Incompatible
from bayeskit.typing import Floats


@kernel
def sum_products(
    z: Any,
    cell: Any,
    weights: Any,
    pivot: Any,
    n: Any,
    n_low: Any,
    first: Any,
    first_low: Any,
    second: Any,
    second_low: Any,
) -> None:
    """Add w, w·d and w·d·dᵀ of every row to the sums of its cell, with d = z − pivot; only the lower triangles."""
    for i in range(z.shape[0]):
        c = cell[i]
        n[c], n_low[c] = add(n[c], n_low[c], weights[i], 0.0)
        for a in range(z.shape[1]):
            d, d_low = add_exactly(z[i, a], -pivot[c, a])
            w, w_low = multiply(weights[i], 0.0, d, d_low)
            first[c, a], first_low[c, a] = add(first[c, a], first_low[c, a], w, w_low)
            for b in range(a + 1):
                e, e_low = add_exactly(z[i, b], -pivot[c, b])
                p, p_low = multiply(w, w_low, e, e_low)
                high, low = add(second[c, a, b], second_low[c, a, b], p, p_low)
                second[c, a, b], second_low[c, a, b] = high, low


Flags = NDArray[np.bool_]
# The weight, the mean and Σw(z − mean)² of removed rows.
Lost = tuple[Floats, Floats, Floats]

# A cell whose mean lies further than this many standard deviations from its pivot is recentred.
FARTHEST = 10.0
# A remainder below this fraction of the squares is rounding error: double-double resolves 1e-32, counting loses some.
_NO_SPREAD = 1e-26
# A singular value of the parents' correlations below this fraction of the largest means that parents are collinear.
_COLLINEAR = 1e-12


@dataclass(frozen=True, eq=False)
class Regressions:
    """Moments of z = (numeric parents, child) by configuration, each about its own pivot.

    Sums are double-doubles, so that a forgotten outlier leaves nothing behind.

    Attributes
    ----------
    pivot : array of shape (configurations, m)
        Subtracted from every z before it was added. It is close to the data, so that no digits are lost.
    weight, first, second : Twofold of shapes (configurations,), (configurations, m) and (configurations, m, m)
        n, Σz and Σzzᵀ about the pivot.

    Examples
    --------
    >>> z = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    >>> line = Regressions.of(z, np.zeros(3, int), np.ones(3), 1)
    >>> intercept, slopes, residual = line.solve(0)
    >>> round(intercept, 9), slopes.round(9), round(residual, 9)
    (1.0, array([2.]), 0.0)
    """

    pivot: Floats
    weight: Twofold
    first: Twofold
    second: Twofold

    @classmethod
    def of(cls, z: Floats, configuration: NDArray[np.int64], weights: Floats, size: int) -> Regressions:
        """Count complete rows; ``configuration`` is each row's cell."""
        z, configuration, weights = _with_weight(z, configuration, weights)
        pivot = _means(z, configuration, weights, size)
        m = z.shape[1]
        n, first, second = np.zeros((2, size)), np.zeros((2, size, m)), np.zeros((2, size, m, m))
        sum_products(z, configuration, weights, pivot, *n, *first, *second)
        lower, upper = np.tril_indices(m)
        second[..., upper, lower] = second[..., lower, upper]
        return cls(pivot, Twofold(*n), Twofold(*first), Twofold(*second))

    @classmethod
    def plainly(cls, z: Floats, configuration: NDArray[np.int64], weights: Floats, size: int) -> Regressions:
        """Count like `of`, but in single doubles: faster, for sums from which nothing will be subtracted."""
        z, configuration, weights = _with_weight(z, configuration, weights)
        pivot = _means(z, configuration, weights, size)
        m = z.shape[1]
        centred = z - pivot[configuration]
        first, second = np.zeros((size, m)), np.zeros((size, m, m))
        for a in range(m):
            weighted = weights * centred[:, a]
            first[:, a] = np.bincount(configuration, weighted, size)
            for b in range(a + 1):
                here = np.bincount(configuration, weighted * centred[:, b], size)
                second[:, a, b] = second[:, b, a] = here
        n = np.bincount(configuration, weights, size).astype(np.float64)
        return cls(pivot, Twofold.exact(n), Twofold.exact(first), Twofold.exact(second))

    @property
    def n(self) -> Floats:
        """The weight of the rows of each configuration."""
        return self.weight.high

    @classmethod
    def at(cls, z: Floats, weights: Floats) -> Regressions:
        """Return one cell for each row, with the row itself as pivot."""
        n, m = z.shape
        none = np.zeros((n, m)), np.zeros((n, m, m))
        return cls(z, Twofold.exact(weights), *(Twofold.exact(sums) for sums in none))

    def take(self, which: NDArray[np.intp] | NDArray[np.int64]) -> Regressions:
        """Return some cells, in this order."""
        return Regressions(self.pivot[which], self.weight[which], self.first[which], self.second[which])

    def placed(self, places: NDArray[np.intp], size: int) -> Regressions:
        """Return ``size`` cells: these at the given positions, all others empty."""

        def put(values: Floats) -> Floats:
            wide = np.zeros((size, *values.shape[1:]))
            wide[places] = values
            return wide

        def both(sums: Twofold) -> Twofold:
            return Twofold(put(sums.high), put(sums.low))

        return Regressions(put(self.pivot), both(self.weight), both(self.first), both(self.second))

    def columns(self, some: list[int]) -> Regressions:
        """Return the moments of some columns of z, in this order. The last one is the child."""
        return Regressions(
            self.pivot[:, some], self.weight, self.first[:, some], self.second[:, some][:, :, some]
        )

    def about(self, pivot: Floats) -> Regressions:
        """Return the same moments about other pivots: Σz' = Σz − nδ, Σz'z'ᵀ = Σzzᵀ − Σz δᵀ − δ Σz'ᵀ."""
        if np.array_equal(pivot, self.pivot):
            return self
        d = Twofold.difference(pivot, self.pivot)
        first = self.first - self.weight[:, None] * d
        half = self.second - self.first[:, :, None] * d[:, None, :]
        return Regressions(pivot, self.weight, first, half - d[:, :, None] * first[:, None, :])

    def merge(self, other: Regressions) -> Regressions:
        if self.pivot.shape != other.pivot.shape:
            raise Incompatible("The two have different parents or states and cannot be added.")
        # Keep the pivot with more weight: an empty cell is neutral, and a single outlier does not move the pivot.
        mine = (np.abs(self.n) >= np.abs(other.n))[:, None]
        pivot = np.where(mine, self.pivot, other.pivot)
        a, b = self.about(pivot), other.about(pivot)
        both = Regressions(pivot, a.weight + b.weight, a.first + b.first, a.second + b.second)
        return both._settled(_squares(a.second) + _squares(b.second))

    def subtract(self, other: Regressions, gone: Floats | None = None) -> Regressions:
        """Subtract sums; ``gone`` is an upper bound of the total weight removed from each cell."""
        left = self.merge(other.scale(-1.0))
        if (left.n < -1e-9 * np.maximum(1.0, np.abs(self.n))).any():
            raise never_counted(float(left.n.min()))
        rounding = ROUNDING * (np.abs(other.n) if gone is None else gone)
        return left._without((other.n != 0.0) & (left.n <= rounding))

    def without_rounding(self, lost: Lost, lost_in_all: Lost, touched: Flags) -> Regressions:
        """Clear the spread that rounding errors of removed rows may have left, see `Moments.without_rounding`.

        ``lost`` describes these rows for each cell and column, ``lost_in_all`` for each column. ``touched`` marks the
        cells from which rows were removed now.
        """
        constant, value = self._constant_but_for(lost, touched[:, None])
        left = self._at(value, constant) if constant.any() else self
        # A column that is constant up to rounding has the same value in all cells.
        whole = left.whole()
        constant, value = whole._constant_but_for(lost_in_all, np.array([[touched.any()]]))
        constant &= _spread(whole) > 0.0
        return left._at(value, constant & (left.n > 0.0)[:, None]) if constant.any() else left

    def _constant_but_for(self, lost: Lost, touched: Flags) -> tuple[Flags, Floats]:
        """Return which columns have no spread beyond rounding errors of removed rows, and their value."""
        weight, centre, around = lost
        n = np.where(self.n > 0.0, self.n, np.inf)[:, None]
        around = around + weight * (centre - self.mean) ** 2
        error = ROUNDING * np.sqrt(weight * around) / n  # of the mean
        in_doubt = np.where(touched, ROUNDING * around, self.n[:, None] * error**2)
        constant = (self.n > 0.0)[:, None] & (_spread(self) <= in_doubt)
        return constant, np.where(np.abs(self.mean) <= error, 0.0, self.mean)

    def _at(self, value: Floats, where: Flags) -> Regressions:
        """Return the same sums, with the columns in the mask constant at these values."""
        left = self._recentred(np.asarray(where.any(axis=1)))._flattened(where)
        return replace(left, pivot=np.where(where, value, left.pivot))

    def scale(self, factor: float | Floats) -> Regressions:
        """Multiply the weights by a factor, or by one for each cell."""
        by = np.broadcast_to(np.asarray(factor, np.float64), self.n.shape)
        return Regressions(
            self.pivot,
            self.weight.scaled(by),
            self.first.scaled(by[:, None]),
            self.second.scaled(by[:, None, None]),
        )._without(by == 0.0)

    def solve(self, cell: int) -> tuple[float, Floats, float]:
        """Regress the last of z on the others in one cell: intercept, coefficients, residual sum of squares.

        Parents that are constant or combinations of others get the smallest coefficients that fit. A cell
        without rows gets zeros.
        """
        intercept, slopes, residual = self.take(np.array([cell])).solved()
        return float(intercept[0]), slopes[0], float(residual[0])

    def solved(self) -> tuple[Floats, Floats, Floats]:
        """Return the same for every cell: arrays of shapes (cells,), (cells, m − 1) and (cells,)."""
        mean, scatter = self._centred
        slopes, residual = regressed(scatter)
        intercept = mean[:, -1] - (slopes * mean[:, :-1]).sum(axis=1)
        empty = self.n <= 0.0
        return (
            np.where(empty, 0.0, intercept),
            np.where(empty[:, None], 0.0, slopes),
            np.where(empty, 0.0, residual),
        )

    def pooled(self) -> tuple[float, float]:
        """Return mean and variance of the child over all cells together; (0, 0) without rows."""
        whole = self.columns([-1]).whole()
        n = float(whole.n[0])
        if n <= 0.0:
            return 0.0, 0.0
        mean, scatter = whole._centred
        return float(mean[0, 0]), max(float(scatter[0, 0, 0]) / n, 0.0)

    def whole(self) -> Regressions:
        """Return the sums of all cells together, as one cell."""
        held = self if len(self.n) else Regressions.at(np.zeros((1, self.pivot.shape[1])), np.zeros(1))
        while len(held.n) > 1:
            half = -(-len(held.n) // 2)
            rest = held.take(np.arange(half, len(held.n)))
            held = held.take(np.arange(half)).merge(rest.placed(np.arange(len(rest.n)), half))
        return held

    @property
    def scatter(self) -> Floats:
        """Σzzᵀ about the mean of each cell, of shape (cells, m, m)."""
        return self._centred[1]

    @property
    def mean(self) -> Floats:
        """The mean of each cell, of shape (cells, m)."""
        return self._centred[0]

    @cached_property
    def _centred(self) -> tuple[Floats, Floats]:
        """The mean of each cell, and Σzzᵀ about it."""
        n = np.where(self.n > 0.0, self.n, 1.0)
        far = self.first.high**2 > 1e-2 * n[:, None] * _squares(self.second)
        # If sums about the mean were counted in single doubles, there is no more precision.
        if not far.any() and not self.second.low.any():
            rest = self.first.high / n[:, None]
            scatter = self.second.high - n[:, None, None] * rest[:, :, None] * rest[:, None, :]
            return self.pivot + rest, scatter
        # Round only once, at the end: nearly collinear parents magnify the last bits, which must not depend on the
        # order of the rows.
        away = self.first / Twofold(n, self.weight.low)[:, None]
        square = self.second - self.first[:, :, None] * away[:, None, :]
        return (Twofold.exact(self.pivot) + away).high, square.high

    def _recentred(self, which: Flags) -> Regressions:
        """Move the pivots of these cells to the double nearest to their mean."""
        n = np.where(which, self.n, 1.0)[:, None]
        step = np.where(which[:, None], self.first.high / n, 0.0)
        rest = self.first - self.weight[:, None] * Twofold.exact(step)
        left = np.where(which[:, None], rest.high / n, 0.0)
        mean = Twofold.difference(self.pivot, -step)
        return self.about(mean.high + (mean.low + left))

    def _settled(self, held: Floats) -> Regressions:
        """Clear empty cells, and recentre those far from their pivot; ``held`` are the Σz² before the operation."""
        kept = self._without(self.n == 0.0)
        squares = _squares(kept.second)
        # |mean − pivot| > 10 sd, written so that nothing cancels: n·m² > 100 (Σz² − n·m²).
        far = kept.first.high**2 * (1.0 + FARTHEST**2) > FARTHEST**2 * np.abs(kept.n)[:, None] * squares
        far |= squares < 1e-12 * held
        if not far.any():
            return kept
        kept = kept._recentred(far.any(axis=1) & (kept.n > 0.0))
        constant = far & (_squares(kept.second) <= _NO_SPREAD * held)
        if not constant.any():
            return kept
        value = constant_value(kept.pivot, constant, self.pivot, held, self.n[:, None])
        return replace(kept._flattened(constant), pivot=value)

    def _flattened(self, constant: Flags) -> Regressions:
        """Replace rounding errors of constant columns by exact zeros."""
        either = constant[:, :, None] | constant[:, None, :]
        return Regressions(self.pivot, self.weight, self.first.cleared(constant), self.second.cleared(either))

    def _without(self, gone: Flags) -> Regressions:
        if not gone.any():
            return self
        return Regressions(
            np.where(gone[:, None], 0.0, self.pivot),
            self.weight.cleared(gone),
            self.first.cleared(gone[:, None]),
            self.second.cleared(gone[:, None, None]),
        )


def regressed(scatter: Floats) -> tuple[Floats, Floats]:
    """Regress the last variable on the others, given Σzzᵀ about the mean: coefficients and residual sums of squares.

    Matrices are stacked, shape (n, m, m).
    """
    spread = np.sqrt(np.maximum(np.diagonal(scatter, axis1=1, axis2=2), 0.0))
    unit = np.where(spread > 0.0, spread, 1.0)
    scaled = scatter / (unit[:, :, None] * unit[:, None, :])
    slopes = _least_squares(scaled[:, :-1, :-1], scaled[:, :-1, -1])
    # Use the full quadratic form, because its error is quadratic in the error of the slopes. Shorter forms are not.
    beside = np.concatenate([-slopes, np.ones((len(slopes), 1))], axis=1)
    form = (beside[:, None, :] @ scaled @ beside[:, :, None])[:, 0, 0]
    return slopes * unit[:, -1:] / unit[:, :-1], np.maximum(form, 0.0) * unit[:, -1] ** 2


def _least_squares(a: Floats, b: Floats) -> Floats:
    """Return the minimum-norm least-squares solution of a x = b in every cell, ignoring small singular values."""
    if not a.shape[1] or not len(a):
        return np.zeros(b.shape)
    u, values, v = np.linalg.svd(a)
    kept = values > _COLLINEAR * values[:, :1]
    share = (np.swapaxes(u, 1, 2) @ b[:, :, None])[:, :, 0] * kept / np.where(kept, values, 1.0)
    return np.asarray((np.swapaxes(v, 1, 2) @ share[:, :, None])[:, :, 0])


def _spread(sums: Regressions) -> Floats:
    """Return Σ(z − mean)² of every cell and column."""
    return np.diagonal(sums._centred[1], axis1=1, axis2=2)


def _squares(second: Twofold) -> Floats:
    """Return |Σz²| of every cell and column."""
    return np.abs(np.diagonal(second.high, axis1=1, axis2=2))


def _with_weight(
    z: Floats, configuration: NDArray[np.int64], weights: Floats
) -> tuple[Floats, NDArray[np.int64], Floats]:
    there = slice(None) if weights.all() else weights != 0.0
    return np.ascontiguousarray(z[there]), configuration[there], weights[there]


def _means(z: Floats, configuration: NDArray[np.int64], weights: Floats, size: int) -> Floats:
    """Return the mean of each cell: 0 without rows, and exact for a constant column."""
    if not len(z):
        return np.zeros((size, z.shape[1]))
    n = np.bincount(configuration, weights, size)
    # Subtract one row of the cell first, so that differences of equal values are zero.
    row = np.zeros(size, np.int64)
    row[configuration[::-1]] = np.arange(len(z))[::-1]
    away = z - z[row][configuration]
    mean = np.zeros((size, z.shape[1]))
    for a in range(z.shape[1]):
        mean[:, a] = np.bincount(configuration, weights * away[:, a], size)
    return np.where(n[:, None] > 0.0, z[row] + mean / np.where(n > 0.0, n, 1.0)[:, None], 0.0)
