"""A Gaussian mixture as a problem for EM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit._fitting.mixtures.components import Components, GaussianSums, estimate, factors
from bayeskit._fitting.mixtures.gaussian_expectation import MissingPatterns, expected_sums, log_joint_of
from bayeskit.errors import DataError
from bayeskit.typing import Floats


@dataclass(frozen=True, eq=False)
class GaussianCoordinates:
    r"""Log-weights, means, and Cholesky factors with the logarithms of their diagonals.

    Columns are measured in units of their own spread, so that a step does not depend on the units of the data.

    Parameters
    ----------
    n_components : int
    covariance_type : str
    centre, scale : arrays of shape (d,)
        The centre and the unit of each column.

    Examples
    --------
    >>> plain = GaussianCoordinates(1, "full", np.zeros(1), np.ones(1))
    >>> one = Components(np.array([1.0]), np.array([[3.0]]), np.array([[[4.0]]]), "full")
    >>> plain.flat(one).round(4).tolist()
    [0.0, 3.0, 0.6931]
    >>> plain.unflat(plain.flat(one)).covariances.round(9).tolist()
    [[[4.0]]]
    """

    n_components: int
    covariance_type: str
    centre: Floats
    scale: Floats

    def flat(self, components: Components) -> Floats:
        with np.errstate(divide="ignore"):
            log_weights = np.log(components.weights)
        means = (components.means - self.centre) / self.scale
        lower = factors(components.covariances, "covariances", matrices=components.matrices)
        if components.matrices:
            lower = np.atleast_3d(lower.T).T / self.scale[:, None]
            j = np.arange(len(self.scale))
            lower[:, j, j] = np.log(lower[:, j, j])
            spread = lower[:, *np.tril_indices(len(j))]
        else:
            spread = np.log(lower / (self.scale if self.covariance_type == "diag" else 1.0))
        return np.concatenate([log_weights, means.ravel(), spread.ravel()])

    def unflat(self, vector: Floats) -> Components:
        k, d = self.n_components, len(self.scale)
        log_weights, means, spread = np.split(vector, [k, k + k * d])
        weights = np.exp(log_weights - log_weights.max())
        means = self.centre + means.reshape(k, d) * self.scale
        kind = self.covariance_type
        if kind == "spherical":
            covariances = np.exp(2.0 * spread)
        elif kind == "diag":
            covariances = (np.exp(spread.reshape(k, d)) * self.scale) ** 2
        else:
            lower = np.zeros((1 if kind == "tied" else k, d, d))
            lower[:, *np.tril_indices(d)] = spread.reshape(lower.shape[0], -1)
            j = np.arange(d)
            lower[:, j, j] = np.exp(lower[:, j, j])
            lower *= self.scale[:, None]
            covariances = lower @ np.swapaxes(lower, 1, 2)
            covariances = covariances[0] if kind == "tied" else covariances
        return Components(weights / weights.sum(), means, covariances, kind)


# If a mean moves further than this many standard deviations in one step, sums about the old mean lose digits.
_FAR = 100.0
_EPS = float(np.finfo(np.float64).eps)
# The fraction of a column's variance that is added to components without spread.
_FLOOR = 1e-9


class GaussianProblem:
    """The EM problem of a Gaussian mixture over rows of numbers.

    Parameters
    ----------
    X : array of shape (n, d)
        C-contiguous doubles. NaN is a missing cell.
    weights : array of shape (n,), optional
        The weight of each row.
    covariance_type : "full", "tied", "diag" or "spherical"
    reg_covar : float
        Added to the diagonals of covariances in every M-step.
    hard : bool
        Assign each row to its most likely component. The objective is then the log-likelihood of the rows together
        with their components.
    n_jobs : int, optional
        The number of threads. The result does not depend on it.

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0], [8.0], [np.nan], [9.0]])
    >>> problem = GaussianProblem(rows, covariance_type="diag", reg_covar=0.0)
    >>> start = Components(np.array([0.5, 0.5]), np.array([[0.0], [9.0]]), np.ones((2, 1)), "diag")
    >>> sums, value = problem.expect(start)
    >>> found = problem.maximise(sums)
    >>> found.weights.round(6), found.means.round(6).tolist(), problem.expect(found)[1] > value
    (array([0.5, 0.5]), [[0.5], [8.5]], True)
    """

    def __init__(
        self,
        X: Floats,
        weights: Floats | None = None,
        *,
        covariance_type: str = "full",
        reg_covar: float = 1e-6,
        hard: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.X, self.weights = X, weights
        self.covariance_type, self.reg_covar = covariance_type, reg_covar
        self.hard, self.n_jobs = hard, n_jobs
        self.patterns = MissingPatterns.of(X)
        self._sorted_weights = np.empty(0) if weights is None else self.patterns.sorted(weights)
        self.centre, self.spread = column_moments(X, weights)
        self.floor = _FLOOR * self.spread

    def expect(self, components: Components) -> tuple[GaussianSums, float]:
        """Return expected sums and the log-likelihood at the components."""
        sums, value = self._expect(components, components.means)
        shift, seen = sums.shift, np.where(sums.seen > 0.0, sums.seen, 1.0)
        scatter = sums.scatter
        variances = (scatter if scatter.ndim == 2 else np.diagonal(scatter, axis1=1, axis2=2)) / seen[:, None]
        rounding = 1e3 * _EPS * np.abs(components.means)
        if (np.abs(shift) > np.maximum(_FAR * np.sqrt(np.maximum(variances, 0.0)), rounding)).any():
            sums, value = self._expect(components, sums.means)
        return sums, value

    def _expect(self, components: Components, pivot: Floats) -> tuple[GaussianSums, float]:
        return expected_sums(
            self.patterns, self._sorted_weights, components, pivot, hard=self.hard, n_jobs=self.n_jobs
        )

    def maximise(self, sums: GaussianSums) -> Components:
        """Return the maximum likelihood estimate of the components."""
        return estimate(sums, self.covariance_type, self.reg_covar, self.floor)

    def collapsed(self, components: Components) -> tuple[int, ...]:
        """Return the components that are empty or have no spread, now or after one more step.

        Without ``reg_covar``, the likelihood increases until a component has no spread. It decreases when the floor is
        added to its variances, so the best step is the last one before that.
        """
        return components.collapsed or self.maximise(self.expect(components)[0]).collapsed

    def sound(self, components: Components) -> bool:
        """Whether no component has collapsed. The likelihood of a collapsed component is unbounded."""
        return not self.collapsed(components)

    def responsibilities(self, components: Components) -> tuple[Floats, Floats]:
        """Return P(k | x) of shape (n, K), and log p(x) of shape (n,)."""
        return shares_of(log_joint_of(self.patterns, components, self.n_jobs))

    def flat(self, components: Components) -> Floats:
        """Return the components as one unconstrained vector."""
        return self._coordinates(components.means.shape[0]).flat(components)

    def unflat(self, vector: Floats) -> Components:
        """Return the components that a vector encodes."""
        d = self.X.shape[1]
        per_component = (
            1 + d + {"full": d * (d + 1) // 2, "tied": 0, "diag": d, "spherical": 1}[self.covariance_type]
        )
        shared = d * (d + 1) // 2 if self.covariance_type == "tied" else 0
        return self._coordinates((len(vector) - shared) // per_component).unflat(vector)

    def _coordinates(self, n_components: int) -> GaussianCoordinates:
        return GaussianCoordinates(n_components, self.covariance_type, self.centre, np.sqrt(self.spread))


def log_joint(X: Floats, components: Components, n_jobs: int | None = None) -> Floats:
    r"""Return :math:`\log w_k N(x; \mu_k, \Sigma_k)` of every row and component, of shape (n, K).

    Missing cells (NaN) are integrated out. For a row without any cell, the result is the log-weights.

    Examples
    --------
    >>> one = Components(np.array([1.0]), np.zeros((1, 2)), np.eye(2), "tied")
    >>> log_joint(np.array([[0.0, np.nan], [np.nan, np.nan]]), one).round(6)
    array([[-0.918939],
           [ 0.      ]])
    """
    return log_joint_of(MissingPatterns.of(X), components, n_jobs)


def shares_of(joint: Floats) -> tuple[Floats, Floats]:
    """Return P(k | x) and log p(x) from log joint densities. If a row is impossible, its shares are equal."""
    top = joint.max(axis=1, keepdims=True)
    impossible = ~np.isfinite(top[:, 0])
    shares = np.exp(joint - np.where(impossible[:, None], 0.0, top))
    shares[impossible] = 1.0
    total = shares.sum(axis=1, keepdims=True)
    return shares / total, np.where(impossible, -np.inf, (top + np.log(total))[:, 0])


def column_moments(X: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
    """Return the mean and variance of the observed cells of each column.

    The variance of a column without spread is replaced by its squared mean, or by 1 if that is larger.
    """
    seen = ~np.isnan(X)
    w = seen.astype(np.float64) if weights is None else weights[:, None] * seen
    total = w.sum(axis=0)
    total[total == 0.0] = 1.0
    # Subtract a value of the column first, so that the variance of a constant column is exactly zero.
    origin = np.where(seen.any(axis=0), X[seen.argmax(axis=0), np.arange(X.shape[1])], 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        z = np.where(seen, X - origin, 0.0)
        shift = (w * z).sum(axis=0) / total
        variances = (w * np.where(seen, z - shift, 0.0) ** 2).sum(axis=0) / total
    if not np.isfinite(variances).all():
        column = int(np.flatnonzero(~np.isfinite(variances))[0])
        raise DataError(
            "Column {column} (the first is 0) contains numbers so large that their squares exceed what a "
            "double can hold. Scale it.",
            column=column,
        )
    centre = origin + shift
    return centre, np.where(variances > 0.0, variances, np.maximum(centre**2, 1.0))
