"""Components as one vector without constraints, for acceleration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeskit.learning.mixtures.components import Components, factors

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GaussianCoordinates:
    r"""Log-weights, means, and Cholesky factors with the logarithms of their diagonals.

    Columns are taken in units of their own spread: a step is then equally long in centimetres and in miles.

    Parameters
    ----------
    n_components : int
    covariance_type : str
    centre, scale : array of shape (d,)
        Of each column.

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
