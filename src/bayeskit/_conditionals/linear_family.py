r"""Numeric attributes with any parents: a regression on the numeric parents per discrete configuration.

.. math:: x \mid d, z \sim N(a_d + b_d^\top z, \; v_d)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.conditional import DrawnRows
from bayeskit._conditionals.posterior_draws import Draws, normal_draws
from bayeskit._statistics.part import digits_of, key_of
from bayeskit._statistics.regression_families import RegressionFamilies
from bayeskit._statistics.regressions import Regressions
from bayeskit.errors import InfiniteValue
from bayeskit.typing import Codes, Floats

Ids = NDArray[np.int64]
Flags = NDArray[np.bool_]

# The smallest variance, as a fraction of the attribute's own. Without it, one row could be infinitely likely.
LEAST_VARIANCE = 1e-9
# A deviation below this fraction of the mean is rounding error.
_ROUNDING = 1e-14
# The number of rows to process at a time in leave-one-out.
_BLOCK_ROWS = 4096
# Singular directions of the parents' scatter below this share of the largest do not determine the slopes.
_NO_SPREAD = 1e-12
# The first number of the key of a draw: tables have 0 and 1, other normals 2 to 5.
_DRAWS = 6


class Lines(NamedTuple):
    """Regressions of m cells: arrays of shapes (m,), (m, numeric parents) and (m,)."""

    intercept: Floats
    slopes: Floats
    variance: Floats


def estimate_lines(sums: Regressions, whole: Regressions, unbiased: bool) -> Lines:
    """Estimate a regression in each cell. The variance is RSS/n, or RSS/(n − parameters) if ``unbiased``.

    Parameters
    ----------
    sums : Regressions
        z is (numeric parents, child).
    whole : Regressions of one cell, or of as many as ``sums``
        The child alone, over all cells. A cell without rows has its mean and variance, and every variance is at least
        a fraction of its variance.

    Examples
    --------
    >>> z = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    >>> line = Regressions.of(z, np.zeros(3, int), np.ones(3), 1)
    >>> [part.round(9).tolist() for part in estimate_lines(line, line.columns([-1]).whole(), False)]
    [[1.0], [[2.0]], [3e-09]]
    """
    mean, spread = _described(whole)
    # A column that is constant, or has no rows, has no spread to go by.
    pooled = np.broadcast_to(np.where(spread > 0.0, spread, 1.0), sums.n.shape)
    intercept, slopes, residual = sums.solved()
    free = sums.n - (1.0 + slopes.shape[1]) if unbiased else sums.n
    enough = free > 0.0
    variance = np.where(enough, residual / np.where(enough, free, 1.0), pooled)
    intercept = np.where(sums.n > 0.0, intercept, mean)
    return Lines(intercept, slopes, np.maximum(variance, LEAST_VARIANCE * pooled))


def _described(whole: Regressions) -> tuple[Floats, Floats]:
    """Return mean and variance of one column in each cell; zeros without rows."""
    there = whole.n > 0.0
    mean, scatter = whole._centred
    variance = np.maximum(scatter[:, -1, -1], 0.0) / np.where(there, whole.n, 1.0)
    # After rows were added and removed, rounding errors of a constant column are not spread.
    spread = variance > (_ROUNDING * mean[:, -1]) ** 2
    return np.where(there, mean[:, -1], 0.0), np.where(there & spread, variance, 0.0)


@dataclass(frozen=True, eq=False)
class LinearFamily:
    """One numeric attribute given its parents.

    Attributes
    ----------
    child : int
    above : tuple of int
        The numeric parents, numbered as the numeric attributes.
    discrete : tuple of int
        The discrete parents, numbered as the categorical attributes; the class is not among them.
    radices : list of int
        The number of codes of each discrete parent, then of the class: 1 where it is no parent.
    keys, sums : array of shape (m,), Regressions of m cells
        The cells of the configurations that rows fell into, ascending.
    unbiased : bool
    """

    child: int
    above: tuple[int, ...]
    discrete: tuple[int, ...]
    radices: list[int]
    keys: Ids
    sums: Regressions
    unbiased: bool

    @property
    def n_classes(self) -> int:
        """The number of classes with their own regressions: 1 if the class is no parent."""
        return self.radices[-1]

    @property
    def columns(self) -> list[int]:
        """The numeric attributes of the family, the child last."""
        return [*self.above, self.child]

    @cached_property
    def whole(self) -> Regressions:
        """The child alone, over all cells."""
        return self.sums.columns([-1]).whole()

    @cached_property
    def padded(self) -> Regressions:
        """The sums of each cell. The last cell stands for all configurations without rows."""
        return self.sums.placed(np.arange(len(self.keys)), len(self.keys) + 1)

    @cached_property
    def lines(self) -> Lines:
        """The regression of each cell, as in ``padded``."""
        return estimate_lines(self.padded, self.whole, self.unbiased)

    def information(self, j: int, *, discrete: bool) -> float:
        """Return I(x; parent | the other parents) in nats, by the lines with and without it; −1 is the class."""
        if discrete:
            at = len(self.discrete) if j < 0 else self.discrete.index(j)
            fewer = _pooled(self.keys, self.sums, self.radices, at)[1]
        else:
            fewer = self.sums.columns([at for at, column in enumerate(self.columns) if column != j])
        n, (without, within) = float(self.sums.n.sum()), map(self._log_variances, (fewer, self.sums))
        return max(0.5 * (without - within) / n, 0.0) if n > 0.0 else 0.0

    def _log_variances(self, sums: Regressions) -> float:
        return float(sums.n @ np.log(estimate_lines(sums, self.whole, False).variance))

    def keys_of(self, codes: Codes) -> Ids:
        """Return the key of each row's configuration in each class with its own regression: shape (n, K or 1).

        A configuration with an unseen state has a negative key.
        """
        digits = [codes[:, j].astype(np.int64) for j in self.discrete]
        first = key_of([*digits, np.zeros(len(codes), np.int64)], self.radices)
        classes = np.arange(self.n_classes)
        seen = np.ones(len(codes), np.bool_)
        for digit, radix in zip(digits, self.radices[:-1], strict=True):
            seen &= digit < radix
        return np.where(seen[:, None], first[:, None] + classes, -1 - classes)

    def cell_of(self, keys: Ids) -> Ids:
        """Return the cell of each configuration; the last cell for configurations without rows."""
        last = len(self.keys)
        if not last:
            return np.zeros(keys.shape, np.int64)
        place = np.minimum(np.searchsorted(self.keys, keys), last - 1)
        return np.where(self.keys[place] == keys, place, last).astype(np.int64)

    def cells_of(self, codes: Codes) -> Ids:
        """Return the cell of each row in each class with its own regression."""
        return self.cell_of(self.keys_of(codes))

    def log_prob(self, codes: Codes, values: Floats) -> Floats:
        """Return log p(x | parents) of rows that have the whole family: shape (n, K), or (n, 1) without the class."""
        _refuse_infinite(values, self.columns)
        cell = self.cells_of(codes)
        return self._log_density(values, *(part[cell] for part in self.lines))

    def log_left_out(self, codes: Codes, values: Floats, target: Codes | None, own: Floats) -> Floats:
        """Return the leave-one-out log p(x | parents), with the weight ``own`` of each row removed."""
        out = self.log_prob(codes, values)
        rows = np.flatnonzero(own > 0.0)
        for start in range(0, len(rows), _BLOCK_ROWS):
            some = rows[start : start + _BLOCK_ROWS]
            out[some] = self._without(
                codes[some], values[some], np.asarray(target)[some].astype(np.intp), own[some]
            )
        return out

    def _without(self, codes: Codes, values: Floats, target: NDArray[np.intp], own: Floats) -> Floats:
        """Solve each row's own cell again, and everything that depends on the spread of the column."""
        z, cell, each = values[:, self.columns], self.cells_of(codes), np.arange(len(codes))
        mine = np.zeros(cell.shape, np.bool_)
        mine[each, target if self.n_classes > 1 else 0] = True
        whole = self.whole.take(np.zeros(len(codes), np.intp)).subtract(Regressions.at(z[:, -1:], own))
        out = np.empty(cell.shape)
        for c in range(cell.shape[1]):
            left = self.padded.take(cell[:, c]).subtract(Regressions.at(z, np.where(mine[:, c], own, 0.0)))
            lines = estimate_lines(left, whole, self.unbiased)
            out[:, c] = self._log_density(values, *(part[:, None] for part in lines))[:, 0]
        return out

    def _log_density(self, values: Floats, intercept: Floats, slopes: Floats, variance: Floats) -> Floats:
        mean = intercept + (slopes * values[:, None, list(self.above)]).sum(axis=2)
        with np.errstate(over="ignore"):  # so far away that the density is zero
            away = values[:, [self.child]] - mean
            return np.asarray(-0.5 * (away * away / variance + np.log(2.0 * np.pi * variance)))

    def sample_into(self, rows: DrawnRows, rng: np.random.Generator) -> None:
        """Draw the child of rows in which its parents are drawn."""
        each = np.arange(len(rows.classes))
        cell = self.cells_of(rows.codes)[each, rows.classes if self.n_classes > 1 else 0]
        intercept, slopes, variance = (part[cell] for part in self.lines)
        mean = intercept + (slopes * rows.values[:, list(self.above)]).sum(axis=1)
        rows.values[:, self.child] = mean + np.sqrt(variance) * rng.standard_normal(len(each))

    def draw_lines(self, key: int, draws: Draws) -> DrawnLines:
        """Return draws of the regression of one configuration.

        They come from the posterior under the reference prior, with one imaginary row added. This row has the variance
        within configurations and does not inform about the mean. So the posterior is proper even with one row.
        """
        cell = int(self.cell_of(np.array([key]))[0])
        number = 2 * key if key >= 0 else -2 * key - 1  # a seed must not be negative
        numbers = draws.get((_DRAWS, self.child, number), lambda rng: self._draw(rng, cell, draws.n))
        return DrawnLines(numbers, self.padded.mean[cell, :-1])

    @cached_property
    def _within(self) -> tuple[float, float, float]:
        """The mean of the column, its variance, and that within configurations."""
        mean, spread = (float(part[0]) for part in _described(self.whole))
        pooled = spread if spread > 0.0 else 1.0
        within = float(self.sums.solved()[2].sum()) / max(float(self.sums.n.sum()), 1e-300)
        return mean, pooled, within if within > 0.0 else pooled

    def _draw(self, rng: np.random.Generator, cell: int, n: int) -> Floats:
        """Draw the mean at the centre of the parents, the deviation and the slopes: shape (draws, 2 + slopes)."""
        (mean, pooled, within), rows = self._within, float(self.padded.n[cell])
        width = len(self.above)
        if rows <= 0.0:
            away, sigma = normal_draws(rng, np.sqrt([pooled]), np.ones(1), np.ones(1), n)
            return np.hstack([mean + away, sigma, np.zeros((n, width))])
        _, slopes, residual = self.padded.solve(cell)
        freedom = max(rows - width, 1.0)
        variance = max((residual + within) / freedom, LEAST_VARIANCE * pooled)
        away, sigma = normal_draws(rng, np.sqrt([variance]), np.array([freedom]), np.array([rows]), n)
        centre, scatter = self.padded._centred
        turned = rng.standard_normal((n, width)) @ _root(scatter[cell, :-1, :-1])
        return np.hstack([centre[cell, -1] + away, sigma, slopes + sigma * turned])

    def log_draws(self, codes: Codes, values: Floats, draws: Draws) -> Floats:
        """Return log p(x | parents) under every draw: shape (n, draws, K or 1)."""
        _refuse_infinite(values, self.columns)
        keys = self.keys_of(codes)
        x, y = values[:, list(self.above)], values[:, self.child]
        out = np.empty((len(keys), draws.n, keys.shape[1]))
        for key in np.unique(keys).tolist():
            rows, column = np.nonzero(keys == key)
            numbers, centre = self.draw_lines(key, draws)
            mean, sigma, slopes = numbers[:, 0], numbers[:, 1], numbers[:, 2:]
            away = y[rows, None] - mean - (x[rows] - centre) @ slopes.T
            out[rows, :, column] = -0.5 * (away / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2.0 * np.pi)
        return out


class DrawnLines(NamedTuple):
    """Draws of one regression: the mean where the parents are at their centre, the deviation, the slopes.

    ``numbers`` has the shape (draws, 2 + slopes), ``centre`` that of the numeric parents.
    """

    numbers: Floats
    centre: Floats


def _refuse_infinite(values: Floats, columns: list[int]) -> None:
    endless = np.isinf(values[:, columns])
    if endless.any():
        row, at = (int(place) for place in np.argwhere(endless)[0])
        raise InfiniteValue(columns[at], row, float(values[row, columns[at]]))


def _root(scatter: Floats) -> Floats:
    """Return R with RᵀR = the inverse of a scatter, on the directions in which there is any."""
    values, vectors = np.linalg.eigh(scatter)
    there = values > _NO_SPREAD * max(values.max(initial=0.0), 0.0)
    inverse = np.where(there, 1.0 / np.sqrt(np.where(there, values, 1.0)), 0.0)
    return np.asarray(inverse[:, None] * vectors.T)


def estimate_linear(
    counted: RegressionFamilies, f: int, *, has_class: bool, is_state: Flags, unbiased: bool
) -> LinearFamily:
    """Estimate the regressions of a family from its sums.

    Parameters
    ----------
    counted : RegressionFamilies
    f : int
    has_class : bool
        Whether the class is a parent. If not, the cells of all classes are added.
    is_state : bool array over the categorical attributes
        Whether missing is a state. Rows in which any other parent is missing are not used.
    unbiased : bool
        Divide variances by n − parameters instead of n.
    """
    *above, child = counted.numeric_of(f)
    discrete, radices, (keys, sums) = counted.discrete_of(f), counted.radices_of(f), counted.cells[f]
    there = np.ones(len(keys), np.bool_)
    *codes, _ = digits_of(keys, radices)
    for j, radix, code in zip(discrete, radices[:-1], codes, strict=True):
        there &= (code != radix - 1) | is_state[j]
    keys, sums = keys[there], sums.take(np.flatnonzero(there))
    if not has_class:
        keys, sums = _pooled(keys, sums, radices, len(radices) - 1)
        radices = [*radices[:-1], 1]
    return LinearFamily(child, tuple(above), discrete, radices, keys, sums, unbiased)


def _pooled(keys: Ids, sums: Regressions, radices: list[int], at: int) -> tuple[Ids, Regressions]:
    """Add the cells that differ only in one digit of their keys, and remove this digit."""
    behind, radix = math.prod(radices[at + 1 :]), max(radices[at], 1)
    found, place = np.unique(keys // (behind * radix) * behind + keys % behind, return_inverse=True)
    digit = keys // behind % radix
    total = sums.take(np.empty(0, np.intp)).placed(np.empty(0, np.intp), len(found))
    for value in range(radix):
        mine = np.flatnonzero(digit == value)
        total = total.merge(sums.take(mine).placed(place.ravel()[mine], len(found)))
    return found, total
