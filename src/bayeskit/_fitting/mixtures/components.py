"""The parameters of a Gaussian mixture, and the M-step: their estimate from expected sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayeskit._intrinsics import fma
from bayeskit._numba import kernel
from bayeskit.errors import DataError, Incompatible, SettingError
from bayeskit.typing import Floats

COVARIANCE_TYPES = ("full", "tied", "diag", "spherical")


@dataclass(frozen=True, eq=False)
class Components:
    r"""Weights, means and covariances of K Gaussian components over d columns.

    .. math:: p(x) = \sum_k w_k\, N(x;\, \mu_k, \Sigma_k)

    Attributes
    ----------
    weights : array of shape (K,)
    means : array of shape (K, d)
    covariances : array
        The shape is (K, d, d) if ``covariance_type`` is "full", (d, d) if "tied", (K, d) if "diag" and (K,) if
        "spherical".
    covariance_type : str
    collapsed : tuple of int
        Components with almost no weight, or whose rows have no spread in some direction. Their likelihood is
        unbounded, and only the number added to the diagonal keeps it finite.

    Examples
    --------
    >>> pair = Components(np.array([0.5, 0.5]), np.array([[0.0], [9.0]]), np.array([[4.0], [1.0]]), "diag")
    >>> pair.precisions_cholesky.tolist(), pair.full_covariances.shape
    ([[0.5], [1.0]], (2, 1, 1))
    """

    weights: Floats
    means: Floats
    covariances: Floats
    covariance_type: str
    collapsed: tuple[int, ...] = ()

    @classmethod
    def of_precisions(
        cls, weights: Floats, means: Floats, precisions: Floats, covariance_type: str
    ) -> Components:
        """Return components from precisions (inverse covariances), which have the shapes of covariances."""
        given = np.asarray(precisions, dtype=np.float64)
        if covariance_type in ("full", "tied"):
            lower = factors(given, "precisions")
            inverse = np.linalg.solve(lower, np.broadcast_to(np.eye(given.shape[-1]), given.shape))
            covariances = np.swapaxes(inverse, -1, -2) @ inverse
        else:
            covariances = 1.0 / factors(given, "precisions", matrices=False) ** 2
        weights, means = np.asarray(weights, dtype=np.float64), np.asarray(means, dtype=np.float64)
        return cls(weights, means, covariances, covariance_type)

    @property
    def matrices(self) -> bool:
        """Whether covariances are full matrices, not diagonals."""
        return self.covariance_type in ("full", "tied")

    @cached_property
    def precisions_cholesky(self) -> Floats:
        r"""Upper triangular :math:`U` with :math:`U U^T = \Sigma^{-1}`, or one over standard deviations."""
        lower = factors(self.covariances, "covariances", matrices=self.matrices)
        if not self.matrices:
            return 1.0 / lower
        one = np.broadcast_to(np.eye(lower.shape[-1]), lower.shape)
        # Above its diagonal, the inverse contains only rounding errors.
        return np.swapaxes(np.tril(np.linalg.solve(lower, one)), -1, -2).copy()

    @cached_property
    def precisions(self) -> Floats:
        """The inverses of the covariances, in the same shape."""
        upper = self.precisions_cholesky
        return upper @ np.swapaxes(upper, -1, -2) if self.matrices else upper**2

    @property
    def full_covariances(self) -> Floats:
        """The covariance matrix of every component, of shape (K, d, d)."""
        k, d = self.means.shape
        if self.covariance_type == "full":
            return self.covariances
        if self.covariance_type == "tied":
            return np.broadcast_to(self.covariances, (k, d, d)).copy()
        return self.variances[:, :, None] * np.eye(d)

    @property
    def variances(self) -> Floats:
        """The variance of every component along every column, of shape (K, d)."""
        if self.covariance_type == "spherical":
            return np.repeat(self.covariances[:, None], self.means.shape[1], axis=1)
        if self.covariance_type == "diag":
            return self.covariances
        return np.broadcast_to(np.diagonal(self.covariances, axis1=-2, axis2=-1), self.means.shape).copy()


def all_equal(components: Components) -> bool:
    """Whether several components are equal up to weights and rounding. This is a saddle point that EM never leaves.

    Examples
    --------
    >>> twins = Components(np.array([0.3, 0.7]), np.zeros((2, 1)), np.ones((2, 1)), "diag")
    >>> all_equal(twins)
    True
    """
    means, variances = components.means, components.variances
    if len(means) < 2 or np.ptp((means - means[0]) / np.sqrt(variances[0])) > 1e-9:
        return False
    if components.covariance_type == "tied":
        return True
    flat = components.covariances.reshape(len(means), -1)
    return bool(np.allclose(flat, flat[:1], rtol=1e-9, atol=1e-9 * float(variances[0].min())))


def factors(covariances: Floats, what: str, *, matrices: bool = True) -> Floats:
    """Return lower Cholesky factors, or square roots of variances. Raise an error if there are none."""
    if not matrices:
        if not (np.isfinite(covariances).all() and (covariances > 0.0).all()):
            raise SettingError(
                "The {what} of a mixture must be positive; the smallest is {covariances:.6g}. "
                "Leave out columns that are constant, or raise reg_covar.",
                what=what,
                covariances=covariances.min(),
            )
        return np.sqrt(covariances)
    # Judge symmetry relative to the variances, because a covariance near zero may differ by rounding on both sides.
    variances = np.abs(np.diagonal(covariances, axis1=-2, axis2=-1))
    slack = 1e-6 * np.sqrt(variances[..., :, None]) * np.sqrt(variances[..., None, :])
    symmetric = (np.abs(covariances - np.swapaxes(covariances, -1, -2)) <= slack).all()
    try:
        if symmetric and np.isfinite(covariances).all():
            return np.asarray(np.linalg.cholesky(covariances), dtype=np.float64)
    except np.linalg.LinAlgError:
        pass
    raise SettingError(
        "The {what} of a mixture must be symmetric and positive definite, and one of them is not. "
        "Raise reg_covar, or leave out columns that others determine.",
        what=what,
    )


@dataclass(frozen=True, eq=False)
class GaussianSums:
    r"""Expected sums of each component about its own pivot: :math:`z = x - pivot`.

    A row has the weight r in component k: its own weight times the responsibility. Missing cells are replaced by
    their conditional means, and their conditional covariances are added to ``second``.

    Attributes
    ----------
    pivot : array of shape (K, d)
    weight : array of shape (K,)
        :math:`\sum r` over all rows.
    seen : array of shape (K,)
        The same over rows with at least one observed cell. A row without any informs only about weights.
    first : array of shape (K, d)
        :math:`\sum r z`
    second : array of shape (K, d, d) or (K, d)
        :math:`\sum r z z^T`, or its diagonal if covariances are not needed.

    Examples
    --------
    >>> one, square = np.ones(1), np.zeros((1, 1))
    >>> a = GaussianSums(np.array([[1.0]]), one, one, square, square)
    >>> b = GaussianSums(np.array([[3.0]]), one, one, square, square)
    >>> both = a.merge(b)
    >>> both.means, both.scatter / 2
    (array([[2.]]), array([[1.]]))
    """

    pivot: Floats
    weight: Floats
    seen: Floats
    first: Floats
    second: Floats

    @property
    def shift(self) -> Floats:
        """The differences between means and pivots; zero for a component without rows."""
        return self.first / np.where(self.seen > 0.0, self.seen, 1.0)[:, None]

    @property
    def means(self) -> Floats:
        return self.pivot + self.shift

    @property
    def scatter(self) -> Floats:
        """The second sums about the means."""
        return self.second - self._square(self.shift, self.first)

    def merge(self, other: Self) -> Self:
        """Add sums over other rows."""
        if self.second.shape != other.second.shape:
            raise Incompatible(
                "Sums of shape {shape} and {shape2} cannot be added: their mixtures have different numbers of "
                "components or columns.",
                shape=self.second.shape,
                shape2=other.second.shape,
            )
        # Keep the pivot with more weight, so that merging an empty component changes nothing.
        pivot = np.where((self.seen >= other.seen)[:, None], self.pivot, other.pivot)
        a, b = self.moved(pivot), other.moved(pivot)
        return type(self)(pivot, a.weight + b.weight, a.seen + b.seen, a.first + b.first, a.second + b.second)

    def scale(self, factor: float) -> Self:
        """Multiply the weight of every row by ``factor``."""
        return type(self)(
            self.pivot, factor * self.weight, factor * self.seen, factor * self.first, factor * self.second
        )

    def moved(self, pivot: Floats) -> Self:
        """Return the same sums about other pivots."""
        by = self.pivot - pivot
        first = self.first + self.seen[:, None] * by
        second = self.second + self._square(by, self.first) + self._square(first, by)
        return type(self)(pivot, self.weight, self.seen, first, second)

    def _square(self, a: Floats, b: Floats) -> Floats:
        return a[:, :, None] * b[:, None, :] if self.second.ndim == 3 else a * b


# scikit-learn adds 10 ε to the weight of every component. Doing the same makes results agree to the last digits.
_EPS = float(np.finfo(np.float64).eps)
_HAIR = 10.0 * _EPS
# A component with less weight than this fraction of a row is considered empty.
_NO_ROWS = 1e-6
# A residual variance of a column, given those before it, below this fraction is rounding error.
_NO_SPREAD = 1e-14
# There are fewer powers of two than this between the smallest and the largest double.
_MOST_DOUBLINGS = 2_200


def estimate(sums: GaussianSums, covariance_type: str, reg_covar: float, floor: Floats) -> Components:
    r"""Return the maximum likelihood estimate of the components from the completed rows.

    .. math:: w_k = \frac{n_k}{\sum_j n_j},\quad \mu_k = \frac{1}{n_k} \sum_i r_{ik} x_i,\quad
        \Sigma_k = \frac{1}{n_k} \sum_i r_{ik} (x_i - \mu_k)(x_i - \mu_k)^T + \epsilon I

    Parameters
    ----------
    sums : GaussianSums
    covariance_type : "full", "tied", "diag" or "spherical"
    reg_covar : float
        :math:`\epsilon`.
    floor : array of shape (d,)
        Added to the variances of a component without spread in some direction, if ``reg_covar`` is not enough.

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> sums = GaussianSums(one, np.array([2.0]), np.array([2.0]), 2 * one, 4 * one)
    >>> found = estimate(sums, "diag", 0.0, np.array([1e-9]))
    >>> found.means.round(9), found.covariances.round(9)
    (array([[2.]]), array([[1.]]))
    """
    if not (np.isfinite(sums.second).all() and np.isfinite(sums.weight).all()):
        raise _beyond_doubles()
    total = float(sums.weight.sum())
    hair = _HAIR * min(1.0, total)
    weight, seen = sums.weight + hair, sums.seen + hair
    scatter = sums.scatter
    if covariance_type == "tied":
        covariances = scatter.sum(axis=0) / seen.sum()
    else:
        covariances = scatter / seen.reshape(-1, *[1] * (scatter.ndim - 1))
    if covariance_type == "spherical":
        covariances = covariances.mean(axis=1)
    means = sums.pivot + sums.first / seen[:, None]
    # Rounding of the mean gives even equal values a variance of this size.
    with np.errstate(over="ignore"):
        rounding = (8.0 * _EPS * means) ** 2
    if not (np.isfinite(rounding).all() and np.isfinite(covariances).all()):
        raise _beyond_doubles()
    covariances, flat = _spread(covariances, reg_covar, floor, rounding, covariance_type)
    few = sums.weight < _NO_ROWS * min(1.0, total)
    collapsed = tuple(int(k) for k in np.flatnonzero(few | flat))
    return Components(weight / weight.sum(), means, covariances, covariance_type, collapsed)


def _spread(
    covariances: Floats, reg_covar: float, floor: Floats, rounding: Floats, covariance_type: str
) -> tuple[Floats, NDArray[np.bool_]]:
    """Make covariances positive definite by adding to the diagonals. Return them, and which had no spread."""
    if covariance_type in ("diag", "spherical"):
        spherical = covariance_type == "spherical"
        least, rounding = (floor.mean(), rounding.mean(axis=1)) if spherical else (floor, rounding)
        flat = ~(covariances > rounding)
        fuller = np.maximum(covariances, 0.0) + reg_covar
        fuller = np.where(fuller > rounding, fuller, least)
        return fuller, np.asarray(flat.reshape(len(flat), -1).any(axis=1))
    tied = covariance_type == "tied"
    matrices, rounding = (covariances[None], rounding.max(axis=0)[None]) if tied else (covariances, rounding)
    fuller = matrices + reg_covar * np.eye(len(floor))
    flat = np.zeros(len(matrices), dtype=np.bool_)
    for k, matrix in enumerate(matrices):
        if not _definite(matrix, rounding[k]):
            flat[k] = True
            # Double the ridge as often as needed, because rounding may have made an eigenvalue clearly negative.
            ridge = np.diag(floor + _NO_SPREAD * np.abs(np.diagonal(matrix)))
            for _ in range(_MOST_DOUBLINGS):
                if _definite(fuller[k], rounding[k]):
                    break
                fuller[k] += ridge
                ridge = 2.0 * ridge
            else:
                raise _beyond_doubles()
    return (fuller[0] if tied else fuller), flat


def _beyond_doubles() -> DataError:
    return DataError("The squares of the data exceed what a double can hold. Scale the columns.")


def _definite(matrix: Floats, rounding: Floats) -> bool:
    """Return whether a matrix is positive definite by more than rounding, regardless of the units of its columns."""
    variances = np.diagonal(matrix)
    if not (variances > rounding).all():
        return False
    scale = 1.0 / np.sqrt(variances)
    try:
        lower = np.linalg.cholesky(matrix * scale[:, None] * scale)
    except np.linalg.LinAlgError:
        return False
    return bool((np.diagonal(lower) ** 2 > _NO_SPREAD * len(variances)).all())


# Kernels over a range of rows: transpose cells, and convert log densities to responsibilities.
#
# Rows are the innermost axis, so that loops over rows are vectorised. Sums over rows use ``LANES`` partial sums,
# because a single sum would have to be computed one row at a time. exp is written as arithmetic, so that loops over
# it are vectorised too, which is five times as fast as calls.

_LOG2_E = 1.4426950408889634
# ln 2 in two parts. n·_LN2_HIGH is exact for all integers n that occur.
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# 1.5·2^52. Adding a number to it rounds the number to an integer, which is then in the last bits.
_ROUND = 6755399441055744.0
# For smaller arguments the result would be denormal.
_LEAST = -708.0
_EXPONENT = 52


@kernel
def exp(x: Any) -> Any:
    """Return exp(x) for x ≤ 0, accurate to the last digit; 0 if x is below −708 or NaN.

    With x = n ln 2 + r and |r| ≤ ln 2 / 2, this is a Taylor polynomial of degree 12 in r, with n added to its exponent.
    """
    rounded = fma(x, _LOG2_E, _ROUND)
    n = rounded - _ROUND
    r = fma(-n, _LN2_LOW, fma(-n, _LN2_HIGH, x))
    p = 1.0 / 479001600.0
    p = fma(p, r, 1.0 / 39916800.0)
    p = fma(p, r, 1.0 / 3628800.0)
    p = fma(p, r, 1.0 / 362880.0)
    p = fma(p, r, 1.0 / 40320.0)
    p = fma(p, r, 1.0 / 5040.0)
    p = fma(p, r, 1.0 / 720.0)
    p = fma(p, r, 1.0 / 120.0)
    p = fma(p, r, 1.0 / 24.0)
    p = fma(p, r, 1.0 / 6.0)
    p = fma(p, r, 0.5)
    p = fma(p, r, 1.0)
    p = fma(p, r, 1.0)
    power = np.int64(np.float64(rounded).view(np.int64) << np.int64(_EXPONENT))
    value = np.int64(np.float64(p).view(np.int64) + power).view(np.float64)
    return value if x > _LEAST else 0.0


# The number of rows whose responsibilities are computed together; a multiple of BLOCK.
STRETCH = 512
# The number of rows whose differences from a mean fit into the L1 cache.
BLOCK = 64
# The number of partial sums of a sum over rows: two or four vectors, whose additions are independent.
LANES = 16


@kernel
def gather(X: Any, row: Any, n_rows: Any, order: Any, n_observed: Any, x: Any) -> Any:
    """Copy the observed cells of some rows into columns. Return the width, which is a multiple of ``LANES``.

    Copies of the last row fill the rest of the last lanes. They are finite and get weight zero.
    """
    width = (n_rows + np.uintp(LANES - 1)) // np.uintp(LANES) * np.uintp(LANES)
    for c in range(np.uintp(n_observed)):
        column = np.uintp(order[c])
        for r in range(n_rows):
            x[c, r] = X[row + r, column]
        for r in range(n_rows, width):
            x[c, r] = x[c, n_rows - np.uintp(1)]
    return width


@kernel
def share(
    logs: Any, n_rows: Any, width: Any, weights: Any, row: Any, hard: Any, top: Any, total: Any, report: Any
) -> None:
    """Turn log joint densities (K, rows) into the weights of the rows in each component, in place.

    ``report`` is (value so far, first impossible row or −1).
    """
    n_components = np.uintp(logs.shape[0])
    for r in range(width):
        top[r] = -np.inf
        total[r] = 0.0
    for k in range(n_components):
        for r in range(width):
            top[r] = max(top[r], logs[k, r])
    for r in range(width):
        top[r] = top[r] if np.isfinite(top[r]) else 0.0
    for k in range(n_components):
        for r in range(width):
            logs[k, r] = exp(logs[k, r] - top[r])
            total[r] += logs[k, r]
    value = 0.0
    for r in range(n_rows):
        weight = weights[row + r] if weights.shape[0] else 1.0
        if total[r] > 0.0:
            value += weight * (top[r] if hard else top[r] + math.log(total[r]))
            if hard:
                _give_to_first(logs, r, weight)
                total[r] = 1.0
            else:
                total[r] = weight / total[r]
        else:
            total[r] = 0.0
            for k in range(n_components):
                logs[k, r] = 0.0
            if weight > 0.0 and report[1] < 0.0:
                report[1] = row + r
    for r in range(n_rows, width):
        total[r] = 0.0
    for k in range(n_components):
        for r in range(width):
            logs[k, r] *= total[r]
    report[0] += value


@kernel
def _give_to_first(logs: Any, r: Any, weight: Any) -> None:
    """Assign a row to its most likely component, the first in a tie: the one whose share is exp(0)."""
    found = False
    for k in range(np.uintp(logs.shape[0])):
        mine = logs[k, r] == 1.0 and not found
        found = found or mine
        logs[k, r] = weight if mine else 0.0
