"""A slow twin of Gaussian mixtures: one row and one component at a time, in the words of the formulas."""

from __future__ import annotations

import math

import numpy as np

from bayeskit._fitting.mixtures.components import Components


def full_covariance(components: Components, k: int) -> np.ndarray:
    d = components.means.shape[1]
    given = components.covariances
    return {
        "full": lambda: given[k],
        "tied": lambda: given,
        "diag": lambda: np.diag(given[k]),
        "spherical": lambda: given[k] * np.eye(d),
    }[components.covariance_type]()


def log_joint(X: np.ndarray, components: Components) -> np.ndarray:
    out = np.empty((len(X), len(components.weights)))
    for i, x in enumerate(X):
        o = ~np.isnan(x)
        for k, w in enumerate(components.weights):
            z = x[o] - components.means[k, o]
            part = full_covariance(components, k)[np.ix_(o, o)]
            square = z @ np.linalg.inv(part) @ z if o.any() else 0.0
            out[i, k] = math.log(w) - 0.5 * (square + math.log(np.linalg.det(2 * math.pi * part)))
    return out


def responsibilities(X: np.ndarray, components: Components, hard: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return shares of rows, and what each row adds to the value."""
    joint = log_joint(X, components)
    if hard:
        return np.eye(joint.shape[1])[joint.argmax(axis=1)], joint.max(axis=1)
    density = np.log(np.exp(joint).sum(axis=1))
    return np.exp(joint - density[:, None]), density


def step(
    X: np.ndarray, weights: np.ndarray, components: Components, *, hard: bool = False
) -> tuple[Components, float]:
    """Return the components after one EM step without regularisation, and the value before it.

    Each missing cell has a conditional mean, and each two of them a conditional covariance; a row without any cell
    counts for the weights only.
    """
    shares, values = responsibilities(X, components, hard)
    k, d = components.means.shape
    shares = shares * weights[:, None]
    somewhere = [i for i in range(len(X)) if not np.isnan(X[i]).all()]
    means, covariances = np.zeros((k, d)), np.zeros((k, d, d))
    n = shares[somewhere].sum(axis=0)
    for c in range(k):
        sigma, mu = full_covariance(components, c), components.means[c]
        rows, extra = np.empty((len(X), d)), np.zeros((len(X), d, d))
        for i in somewhere:
            o = ~np.isnan(X[i])
            m = ~o
            rows[i] = X[i]
            gain = sigma[np.ix_(m, o)] @ np.linalg.inv(sigma[np.ix_(o, o)])
            rows[i, m] = mu[m] + gain @ (X[i, o] - mu[o])
            extra[i][np.ix_(m, m)] = sigma[np.ix_(m, m)] - gain @ sigma[np.ix_(o, m)]
        means[c] = sum(shares[i, c] * rows[i] for i in somewhere) / n[c]
        for i in somewhere:
            z = rows[i] - means[c]
            covariances[c] += shares[i, c] * (np.outer(z, z) + extra[i]) / n[c]
    kind = components.covariance_type
    estimated = {
        "full": lambda: covariances,
        "tied": lambda: sum(n[c] * covariances[c] for c in range(k)) / n.sum(),
        "diag": lambda: np.array([np.diag(c) for c in covariances]),
        "spherical": lambda: np.array([np.diag(c).mean() for c in covariances]),
    }[kind]()
    new = Components(shares.sum(axis=0) / shares.sum(), means, estimated, kind)
    return new, float(weights @ values)
