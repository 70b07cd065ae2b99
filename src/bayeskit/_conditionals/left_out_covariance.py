r"""Leave-one-out for Gaussian classes: the density of each row under the sums of all other rows.

Without a row x of weight w, the scatter of its class about the mean changes by one outer product,

.. math:: S' = S - \alpha\, \delta \delta^T, \qquad \delta = x - \bar x_c, \quad \alpha = \frac{w\, n_c}{n_c - w},

and so do the pooled scatter and everything computed from both. In the basis of eigenvectors of a group's matrix,
shrinkage and ridge only add to the eigenvalues. The inverse and the determinant without the row then follow from the
Sherman-Morrison formula: one product of the row with the basis, then d operations for each class.

A column J that is constant without the row is left out of its matrix. With P = Σ⁻¹, the inverse of what remains is
:math:`P - P_{\cdot J} P_{JJ}^{-1} P_{J \cdot}` and its determinant is :math:`|\Sigma|\,|P_{JJ}|`. So a state that only
one row has costs no more than the other rows.

If the units of the columns matter (Ledoit and Wolf's weight, a singular matrix that is regularised), they change with
the row, too, and no basis serves all rows. The matrix of each row is then computed and factorised.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.covariance_rule import (
    FLOOR,
    SINGULAR,
    CovarianceRule,
    ledoit_wolf_weight,
    log_density,
)
from bayeskit._numba import kernel
from bayeskit._statistics.part import ONE_ROW
from bayeskit._statistics.scatter import Scatter
from bayeskit.typing import Floats

# The number of rows to multiply at a time, few enough to stay in the cache, and of doubles in matrices for single rows.
_BLOCK, _NUMBERS = 2048, 2**21
# If less than this fraction of a spread remains without a row, it may be rounding error, and the row needs a new
# estimate.
_CANCELLED = 1e-6
# The formula is accurate if at least this fraction of the matrix remains in the direction of the row, and if the ratio
# of its smallest to its largest eigenvalue is at least this.
_LEFT, _CONDITION = 1e-3, 1e-8
# The largest plausible squared distance per dimension from a class that has spread in all directions.
_FAR = 1e4
# Columns that may be constant without a row; with more of them the row needs a new estimate.
_MOST_CONSTANT = 8
# With more distinct weights than this, a basis for each weight would cost more than a matrix for each row.
_FEW_WEIGHTS = 32


@kernel
def solve_lifted(
    covariance: Any, vector: Any, factor: Any, y: Any, square: Any, log_det: Any, lifted: Any
) -> None:
    """Write vᵀ Σ⁻¹ v and ½ log |Σ| of each row, and the amount added to a singular Σ; NaN if nothing helps."""
    d = vector.shape[1]
    for i in range(vector.shape[0]):
        most = 1.0
        for a in range(d):
            total = 0.0
            for b in range(d):
                total += abs(covariance[i, a, b])
            most = max(most, total)
        lift, done = 0.0, False
        square[i] = log_det[i] = math.nan
        while not done and lift <= 100.0 * most:
            done = True
            q = half = 0.0
            for a in range(d):
                for b in range(a + 1):
                    rest = covariance[i, a, b] + (lift if a == b else 0.0)
                    whole = rest
                    for t in range(b):
                        rest -= factor[a, t] * factor[b, t]
                    if a != b:
                        factor[a, b] = rest / factor[b, b]
                    elif rest > SINGULAR * whole:
                        factor[a, a] = math.sqrt(rest)
                    else:
                        done = False
                if not done:
                    break
                rest = vector[i, a]
                for b in range(a):
                    rest -= factor[a, b] * y[b]
                y[a] = rest / factor[a, a]
                q += y[a] * y[a]
                half += math.log(factor[a, a])
            if done:
                square[i], log_det[i], lifted[i] = q, half, lift
            lift = lift * 10.0 if lift > 0.0 else FLOOR


def removed(scatter: Scatter, x: Floats, c: int, own: float) -> Scatter:
    """Return the scatter without a row of class c."""
    # The other classes keep their pivots, so that none of their sums has to be moved.
    pivot, weight = scatter.pivot.copy(), np.zeros(len(scatter.pivot))
    pivot[c], weight[c] = x, own
    square = np.zeros((*pivot.shape, pivot.shape[1]))
    row = Scatter.about(pivot, weight, np.zeros_like(pivot), square, square, square)
    # Class weights round the weight of a row, so its last bit may remain.
    return scatter.subtract(row, {"scatter": row})


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of rows about their means, with columns in fixed units: n, and powers of second to fourth order."""

    n: float
    n_means: int
    second: Floats
    third: Floats
    fourth: Floats

    @classmethod
    def of(cls, one: Scatter, unit: Floats, n_means: int = 1) -> _Sums:
        centred = one.within()
        _, _, second, third, fourth = (part.high[0] for part in centred.sums)
        square = unit * unit
        return cls(
            float(centred.weight[0]),
            n_means,
            second / unit / unit[:, None],
            third / unit / square[:, None],
            fourth / square / square[:, None],
        )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of a block, measured in the fixed units.

    ``away`` are their distances from the mean of their class, ``from_all`` from the mean of all rows. ``left`` and
    ``all_left`` are the remaining weights of their class and of all rows.
    """

    x: Floats
    target: NDArray[np.intp]
    own: Floats
    away: Floats
    from_all: Floats
    left: Floats
    all_left: Floats

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> _Rows:
        return _Rows(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def without(self, columns: NDArray[np.intp]) -> _Rows:
        """Return the rows with no distance in some columns, of shape (rows, m)."""
        if not columns.shape[1]:
            return self
        away, from_all = self.away.copy(), self.from_all.copy()
        for distance in (away, from_all):
            np.put_along_axis(distance, columns, 0.0, axis=1)
        return replace(self, away=away, from_all=from_all)


@dataclass(frozen=True, eq=False)
class _Group:
    """The sums behind the matrix of one class, and how much of a direction each row removes from them."""

    sums: _Sums
    rows_left: Floats
    direction: Floats
    taken: Floats


class LeftOutClasses:
    """Scores rows under the Gaussian classes of all other rows.

    Parameters
    ----------
    scatter : Scatter
        The scatter of rows that include these.
    rule : CovarianceRule
    varying : array of shape (v,)
        The attributes that are not constant.
    unit : array of shape (v,)
        The units of these attributes.
    """

    def __init__(
        self, scatter: Scatter, rule: CovarianceRule, varying: NDArray[np.intp], unit: Floats
    ) -> None:
        self.rule, self.unit = rule, unit
        some = scatter.restricted(varying)
        pooled = some.pooled()
        self.pooled, self.weight, self.total = pooled, scatter.weight, float(pooled.weight[0])
        self.centre = pooled.mean()[0]
        self.mean = np.where(self.weight[:, None] > 0, some.mean(), self.centre)
        self.n_means = int(np.count_nonzero(self.weight > 0))
        self.classes = [_Sums.of(some.of_class(c), unit) for c in range(len(self.weight))]
        self.everyone = _Sums.of(pooled, unit)
        self.inside = _Sums.of(some, unit, self.n_means)
        self.prior_rows = rule.own_rows(len(unit))
        s = rule.shrinkage
        self.shrinkage = s if isinstance(s, float) else 0.0
        self.is_round = self.shrinkage > 0.0 or any(rule.ridge)
        self._known: dict[tuple[int, float], tuple[Floats, Floats, float]] = {}

    def log_prob(self, x: Floats, target: NDArray[np.intp], own: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the leave-one-out log p(x | c) of complete rows, and which of them need a new estimate instead.

        A new estimate is needed if without the row a class is empty, many attributes are constant, some are constant
        and the matrix does not follow from one basis, or a matrix is nearly singular.
        """
        out = np.empty((len(x), len(self.weight)))
        anew = np.zeros(len(x), dtype=np.bool_)
        with np.errstate(divide="ignore", invalid="ignore"):
            for begin in range(0, len(x), _BLOCK):
                part = slice(begin, begin + _BLOCK)
                rows = self._rows(x[part], target[part], own[part])
                alone, constant = self._decides(rows)
                n_constant = constant.sum(axis=1)
                scored = np.full((len(alone), out.shape[1]), np.nan)
                for n in np.unique(n_constant[~alone]).tolist():
                    at = np.flatnonzero(~alone & (n_constant == n))
                    some = rows if len(at) == len(alone) else rows.take(at)
                    scored[at] = self._score(some, np.nonzero(constant[at])[1].reshape(len(at), n))
                out[part], anew[part] = scored, ~np.isfinite(scored).all(axis=1)
        return out, anew

    def _rows(self, x: Floats, target: NDArray[np.intp], own: Floats) -> _Rows:
        away, from_all = (x - self.mean[target]) / self.unit, (x - self.centre) / self.unit
        return _Rows(x, target, own, away, from_all, self.weight[target] - own, self.total - own)

    def _decides(self, rows: _Rows) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the rows that need a new estimate at once, and the attributes that are constant without each."""
        rule = self.rule
        least = np.maximum(1e-9 * self.weight[rows.target], 0.0)
        if rule.unbiased and not rule.shared:
            least = np.where(self.weight[rows.target] > 1.0, ONE_ROW, least)
        alone = (rows.left <= least) | (rows.all_left <= self.n_means * rule.unbiased * ONE_ROW)
        spread = np.diagonal(self.everyone.second)
        left = spread - (rows.own * self.total / rows.all_left)[:, None] * rows.from_all**2
        bits = 2 * (4 * np.finfo(np.float64).eps * self.centre / self.unit) ** 2
        constant = (left < _CANCELLED * spread) | (left <= rows.all_left[:, None] * bits)
        constant &= (rows.own > 0)[:, None]
        anew = (rows.own > 0) & alone | (constant.sum(axis=1) > (0 if self.prior_rows else _MOST_CONSTANT))
        # What is left may be rounding error, or the spread of the others beside an outlier.
        for i, j in np.argwhere(constant & ~anew[:, None]).tolist():
            anew[i] |= not self._is_constant(j, float(rows.x[i, j]), float(rows.own[i]))
        return np.asarray(anew), np.asarray(constant)

    def _is_constant(self, column: int, x: float, own: float) -> bool:
        """Return whether a column is constant without a value, by sums in double-double."""
        left = removed(self.pooled.restricted(np.array([column])), np.array([x]), 0, own)
        bits = (4 * np.finfo(np.float64).eps * left.mean()[0, 0]) ** 2
        return bool(left.covariance()[0, 0, 0] <= bits)

    def _score(self, rows: _Rows, constant: NDArray[np.intp]) -> Floats:
        """Return the log densities of rows; ``constant`` are the columns that are, without each: shape (rows, m)."""
        out = np.empty((len(rows.x), len(self.weight)))
        d, m = len(self.unit), constant.shape[1]
        rows = rows.without(constant)
        log_unit = np.log(self.unit).sum() - np.log(self.unit)[constant].sum(axis=1)
        for k in range(len(self.weight)):
            mine = rows.target == k
            left = self.weight[k] - rows.own * mine
            group = self._group(k, rows, mine)
            if not k or not self.rule.shared:
                basis = self._bases(k, rows, group, constant)
            vector = self._vector(k, rows, left)
            np.put_along_axis(vector, constant, 0.0, axis=1)
            square, log_det = np.empty((2, len(rows.x)))
            direct = self.rule.shrinks_by_data(group.rows_left - (group.sums.n_means - 1), d - m)
            direct = np.array(np.broadcast_to(direct | (not basis), len(rows.x)))
            for which, spectrum in basis:
                found = spectrum.solve(vector[which])
                square[which], log_det[which] = found[:2]
                direct[which] |= ~found[2]
            at = np.flatnonzero(direct)
            if m:
                square[at] = np.nan
            elif len(at):
                square[at], log_det[at] = self._factorised(k, rows.take(at), vector[at], left[at])
            freedom = self.rule.freedom(left, rows.all_left)
            out[:, k] = log_density(square, log_det + log_unit, d - m, freedom)
        return out

    def _group(self, k: int, rows: _Rows, mine: NDArray[np.bool_]) -> _Group:
        """Return the sums behind the shrunken matrix of a class, and what each row removes from them."""
        if self.rule.shared or self.prior_rows:
            taken = rows.own * self.weight[rows.target] / rows.left
            return _Group(self.inside, rows.all_left, rows.away, taken)
        if self.weight[k] > self.rule.unbiased:
            taken = np.where(mine, rows.own * self.weight[k] / rows.left, 0.0)
            return _Group(self.classes[k], self.weight[k] - rows.own * mine, rows.away, taken)
        return _Group(self.everyone, rows.all_left, rows.from_all, rows.own * self.total / rows.all_left)

    def _vector(self, k: int, rows: _Rows, left: Floats) -> Floats:
        """Return the distances of rows from the mean of a class, estimated without each row."""
        if not self.weight[k]:
            return np.asarray(rows.from_all * (self.total / rows.all_left)[:, None])
        mean_rows = self.rule.mean_rows
        away = (rows.x - self.mean[k]) / self.unit
        stretch = self.weight[k] / (left + mean_rows)
        if not mean_rows:
            return np.asarray(away * stretch[:, None])
        pull = mean_rows * self.total / rows.all_left / (left + mean_rows)
        return np.asarray(away * stretch[:, None] + rows.from_all * pull[:, None])

    def _bases(
        self, k: int, rows: _Rows, group: _Group, constant: NDArray[np.intp]
    ) -> list[tuple[NDArray[np.intp], _Spectrum]]:
        """Return the eigenvectors for all rows, or for each weight if they depend on it; none if there are too many."""
        sums = group.sums
        divisor = self.rule.divisor(group.rows_left, sums.n_means)
        scale, added = (1.0 - self.shrinkage) / divisor, self._added(group, divisor, constant)
        if not self.prior_rows:
            which, eigen = np.arange(len(rows.x)), self._eigen((k, 0.0), sums.second)
            return [
                (which, _Spectrum.of(*eigen, scale, added, scale * group.taken, group.direction, constant))
            ]
        weights, place = np.unique(rows.own, return_inverse=True)
        if len(weights) > _FEW_WEIGHTS:
            return []
        found = []
        for w, weight in enumerate(weights.tolist()):
            at = np.flatnonzero(place.ravel() == w)
            mine = rows.target[at] == k
            share = self.prior_rows * scale[at]
            whole = 1.0 / (self.weight[k] - weight * mine + self.prior_rows)
            taken = whole * (mine + share) * group.taken[at]
            eigen = self._eigen((k, weight), self.classes[k].second + share[0] * sums.second)
            ball = whole * self.prior_rows * added[at]
            found.append((at, _Spectrum.of(*eigen, whole, ball, taken, group.direction[at], constant[at])))
        return found

    def _added(self, group: _Group, divisor: Floats, constant: NDArray[np.intp]) -> Floats:
        """Return the amounts that shrinkage and ridge add to the eigenvalues, without each row."""
        if not self.is_round:
            return np.zeros(len(divisor))
        variances = np.diagonal(group.sums.second) * self.unit**2
        whole = variances.sum() - variances[constant].sum(axis=1)
        left = whole - group.taken * (group.direction**2 @ self.unit**2)
        left[left < _CANCELLED * whole] = np.nan  # a rounding error must not act as a ridge
        return np.asarray(
            self.rule.ball(left / divisor / (len(self.unit) - constant.shape[1]), self.shrinkage)
        )

    def _eigen(self, key: tuple[int, float], matrix: Floats) -> tuple[Floats, Floats, float]:
        """Return the eigenvalues of a matrix, the basis for rows, and the logarithm of its scale."""
        found = self._known.get(key)
        if found is None:
            # Shrinkage and ridge are spherical in the units of the columns. Without them, any units will do.
            unit = self.unit if self.is_round else np.ones_like(self.unit)
            values, vectors = np.linalg.eigh(matrix * unit * unit[:, None])
            found = values, unit[:, None] * vectors, float(np.log(unit).sum())
            if len(self._known) <= _FEW_WEIGHTS * len(self.weight):
                self._known[key] = found
        return found

    def _factorised(self, k: int, rows: _Rows, vector: Floats, left: Floats) -> tuple[Floats, Floats]:
        """Compute and factorise the matrix without each row, in the units without it."""
        square, log_det = np.empty((2, len(rows.x)))
        d = len(self.unit)
        step = max(_NUMBERS // d**2, 1)
        for c in np.unique(rows.target):
            of_class = np.flatnonzero(rows.target == c)
            for begin in range(0, len(of_class), step):
                at = of_class[begin : begin + step]
                part = rows.take(at)
                covariance, unit, fine, changed = self._matrices(k, int(c), part, left[at])
                found = np.empty((3, len(at)))
                solve_lifted(covariance, vector[at] / unit, np.empty((d, d)), np.empty(d), *found)
                # If the other rows have no spread in the direction of an outlier, its distance is only rounding error.
                fine &= ~(changed & (found[2] > 0.0) & (found[0] > _FAR * d))
                square[at], log_det[at] = np.where(fine, found[:2], np.nan)
                log_det[at] += np.log(unit).sum(axis=1)
        return square, log_det

    def _matrices(
        self, k: int, c: int, rows: _Rows, left: Floats
    ) -> tuple[Floats, Floats, NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the matrix of a class without each of some rows of class c, and its units.

        Also return where it is accurate, and where the row contributes to it.
        """
        rule, d = self.rule, len(self.unit)
        group = self._group(k, rows, rows.target == k)
        taken = rows.own * self.weight[c] / rows.left
        inside = np.diagonal(self.inside.second) - taken[:, None] * rows.away**2
        spread = self.total * rows.own / rows.all_left
        everyone = np.diagonal(self.everyone.second) - spread[:, None] * rows.from_all**2
        wide = np.where(inside > 1e-24 * everyone, inside, everyone) / rows.all_left[:, None]
        unit = np.sqrt(wide)

        def without(sums: _Sums, amount: Floats, direction: Floats) -> tuple[Floats, NDArray[np.bool_]]:
            less = amount[:, None] * direction
            second = sums.second - less[:, :, None] * direction[:, None, :]
            diagonal = np.diagonal(sums.second)
            fine = (np.diagonal(second, axis1=1, axis2=2) >= _CANCELLED * diagonal) | (less == 0.0)
            return second / unit[:, :, None] / unit[:, None, :], fine.all(axis=1)

        second, fine = without(group.sums, group.taken, group.direction)
        n, n_means = group.rows_left, group.sums.n_means
        by_data = np.broadcast_to(rule.shrinks_by_data(n - (n_means - 1), d), len(n))
        weight = np.full(len(n), self.shrinkage)
        if by_data.any() and d > 1:
            s = second / n[:, None, None]
            off = s - np.trace(s, axis1=1, axis2=2)[:, None, None] / d * np.eye(d)
            fourth = self._fourth(group, c, rows, 1.0 / wide)
            norm = (s**2).sum(axis=(1, 2))
            found = ledoit_wolf_weight(n, norm, fourth, (off**2).sum(axis=(1, 2)), d)
            weight = np.where(by_data, found, weight)
            # If two rows are left, the excess over ‖S‖² is only rounding error, and a new estimate has not even that.
            fine &= ~by_data | (group.taken == 0.0) | (fourth / n - norm > _CANCELLED * norm)
        covariance = second / rule.divisor(n, n_means)[:, None, None]
        covariance = rule.regularised(covariance, weight, unit * self.unit, by_data)
        if self.prior_rows:
            mine = np.where(rows.target == k, taken, 0.0)
            own, also = without(self.classes[k], mine, rows.away)
            fine &= also
            covariance = (own + self.prior_rows * covariance) / (left + self.prior_rows)[:, None, None]
        return covariance, unit, fine, group.taken > 0.0

    def _fourth(self, group: _Group, c: int, rows: _Rows, g: Floats) -> Floats:
        r"""Return :math:`\sum \|z\|^4` without each row, where :math:`\|z\|^2 = \sum_j g_j z_j^2` about the new mean.

        With t the step of the mean, :math:`\|z - t\|^2 = A - 2B + C` with A = ‖z‖², B = ⟨z, t⟩ and C = ‖t‖².
        """
        sums = group.sums
        is_everyone = sums is self.everyone
        shifted, left = (sums, rows.all_left) if is_everyone else (self.classes[c], rows.left)
        total = np.einsum("ri,ij,rj->r", g, sums.fourth, g, optimize=True)
        own = np.where(group.taken > 0.0, rows.own, 0.0)
        t = -(own / left)[:, None] * group.direction
        gt = g * t
        bb = np.einsum("ri,ij,rj->r", gt, shifted.second, gt, optimize=True)
        ab = np.einsum("ri,ij,rj->r", g, shifted.third, gt, optimize=True)
        cc = (gt * t).sum(axis=1)
        total += 4.0 * bb + shifted.n * cc**2 - 4.0 * ab + 2.0 * cc * (g @ np.diagonal(shifted.second))
        mine = (g * (group.direction - t) ** 2).sum(axis=1)
        return np.asarray(total - own * mine**2)


@dataclass(frozen=True, eq=False)
class _Spectrum:
    """The matrices s M + b I − r uuᵀ of rows, in the basis of eigenvectors of M; s, b, r and u depend on the row.

    ``corner`` has for each row the factor of P_JJ and the rows J of P in the basis, J the columns left out.
    """

    basis: Floats
    inverse: Floats
    log_det: Floats
    rank: Floats
    direction: Floats
    left: Floats
    fine: NDArray[np.bool_]
    corner: _Corner | None

    @classmethod
    def of(
        cls,
        values: Floats,
        basis: Floats,
        log_basis: float,
        scale: Floats,
        added: Floats,
        rank: Floats,
        u: Floats,
        constant: NDArray[np.intp],
    ) -> _Spectrum:
        if np.ptp(scale) == 0.0 and np.ptp(added) == 0.0:
            scale, added = scale[:1], added[:1]
        eigenvalues = scale[:, None] * values + added[:, None]
        fine = eigenvalues.min(axis=1) > _CONDITION * eigenvalues.max(axis=1)
        inverse = 1.0 / eigenvalues
        direction = u @ basis
        taken = np.einsum("ij,ij,ij->i", direction, direction, np.broadcast_to(inverse, u.shape))
        half = 0.5 * np.log(eigenvalues).sum(axis=1) - log_basis
        corner = None
        if constant.shape[1]:
            corner = _Corner.of(basis[constant] * inverse[:, None, :], basis[constant])
            fine = np.broadcast_to(fine, len(u)) & corner.fine
            half, taken = half + corner.half_log_det, taken - corner.product(direction, direction)
        left = 1.0 - rank * taken
        half = half + 0.5 * np.log(left)
        return cls(basis, inverse, half, rank, direction, left, fine & (left > _LEFT), corner)

    def solve(self, vector: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return vᵀ Σ⁻¹ v and ½ log |Σ| of each row, and where they are accurate."""
        v = vector @ self.basis
        weighed = v * self.inverse
        square = np.einsum("ij,ij->i", weighed, v)
        along = np.einsum("ij,ij->i", weighed, self.direction)
        if self.corner is not None:
            square = square - self.corner.product(v, v)
            along = along - self.corner.product(v, self.direction)
        return square + self.rank * along**2 / self.left, self.log_det, self.fine


@dataclass(frozen=True, eq=False)
class _Corner:
    """What leaving out the columns J changes: aᵀ P b less :math:`a^T P_{\\cdot J} P_{JJ}^{-1} P_{J \\cdot} b`."""

    rows: Floats
    inverse: Floats
    half_log_det: Floats
    fine: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: Floats, basis: Floats) -> _Corner:
        """From P_J in the basis and the rows J of the basis, both of shape (n, m, v)."""
        corner = rows @ basis.transpose(0, 2, 1)
        finite = np.asarray(np.isfinite(corner).all(axis=(1, 2)))
        values, vectors = np.linalg.eigh(np.where(finite[:, None, None], corner, np.eye(corner.shape[1])))
        fine = finite & (values[:, 0] > _CONDITION * values[:, -1])
        inverse = (vectors / values[:, None, :]) @ vectors.transpose(0, 2, 1)
        return cls(rows, inverse, 0.5 * np.log(values).sum(axis=1), fine)

    def product(self, a: Floats, b: Floats) -> Floats:
        """Return the change for each row's vectors, given in the basis: shape (n,)."""
        left, right = (np.einsum("nmv,nv->nm", self.rows, vector) for vector in (a, b))
        return np.asarray(np.einsum("nm,nmk,nk->n", left, self.inverse, right))
