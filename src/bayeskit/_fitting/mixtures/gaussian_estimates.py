"""The M-step of a Gaussian mixture: the estimate of components from expected sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bayeskit._fitting.mixtures.components import Components
from bayeskit.errors import DataError, Incompatible
from bayeskit.typing import Floats


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
                "Sums of shape {shape} and {shape2} cannot be added: "
                "they are of mixtures with other numbers of components or columns.",
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
    return DataError("The squares of the data are beyond what a double can hold. Scale the columns.")


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
