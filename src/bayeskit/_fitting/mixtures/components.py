"""The parameters of a Gaussian mixture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayeskit.errors import SettingError
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
