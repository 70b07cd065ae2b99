"""Where EM for a Gaussian mixture starts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import SettingError
from bayeskit.learning.mixtures.components import Components, factors
from bayeskit.learning.mixtures.gaussian_estimates import estimate
from bayeskit.learning.mixtures.gaussian_problem import GaussianProblem
from bayeskit.learning.mixtures.gaussian_sums import GaussianSums
from bayeskit.learning.mixtures.k_means import drawn_rows, labels_of, lloyd, spread_out

Floats = NDArray[np.float64]
# The square of a larger number is no float.
LARGEST = 1e150
STARTS = ("kmeans", "k-means++", "random", "random_from_data")


def start(
    problem: GaussianProblem,
    n_components: int,
    how: str,
    rng: np.random.Generator,
    *,
    weights_init: Any = None,
    means_init: Any = None,
    precisions_init: Any = None,
) -> Components:
    """Return components to start from.

    Parameters
    ----------
    problem : GaussianProblem
    n_components : int
    how : "kmeans", "k-means++", "random" or "random_from_data"
        Clusters of k-means; rows that lie far apart as means, with the rows nearest to them; random responsibilities;
        random rows as means.
    rng : numpy.random.Generator
    weights_init, means_init, precisions_init : array-like, optional
        Used in place of what is found, in the shapes of the components. Where all three are given, nothing is drawn.

    Examples
    --------
    >>> problem = GaussianProblem(np.array([[0.0], [1.0], [8.0], [9.0], [np.nan]]))
    >>> found = start(problem, 2, "kmeans", np.random.default_rng(0))
    >>> sorted(found.means[:, 0].round(6).tolist())
    [0.5, 8.5]
    """
    if how not in STARTS:
        raise SettingError(f"init_params is {how!r}; it can be {', '.join(map(repr, STARTS))}.")
    k, d = n_components, problem.X.shape[1]
    given_weights = _checked(weights_init, "weights_init", (k,))
    given_means = _checked(means_init, "means_init", (k, d))
    kind = problem.covariance_type
    shape = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}[kind]
    precisions = _checked(precisions_init, "precisions_init", shape)
    if given_weights is not None and not (
        given_weights.min() >= 0.0 and abs(given_weights.sum() - 1.0) < 1e-8
    ):
        raise SettingError(
            f"weights_init must be positive and sum to one; they sum to {given_weights.sum():.9g}."
        )
    if precisions is not None:
        factors(precisions, "precisions_init", matrices=kind in ("full", "tied"))
    if given_weights is not None and given_means is not None and precisions is not None:
        return Components.of_precisions(given_weights, given_means, precisions, kind)
    found = _found(problem, k, how, rng)
    weights = found.weights if given_weights is None else given_weights
    means = found.means if given_means is None else given_means
    if precisions is not None:
        return Components.of_precisions(weights, means, precisions, kind)
    return Components(weights, means, found.covariances, kind, found.collapsed)


def _checked(values: Any, name: str, shape: tuple[int, ...]) -> Floats | None:
    if values is None:
        return None
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise SettingError(f"{name} must be an array of numbers of shape {shape}.") from None
    if array.shape != shape:
        raise SettingError(f"{name} has shape {array.shape}; it must be {shape}.")
    if not np.isfinite(array).all():
        raise SettingError(f"{name} holds NaN or infinity; every number must be finite.")
    if np.abs(array).max() >= LARGEST:
        raise SettingError(f"{name} holds {np.abs(array).max():g}, too large to be squared.")
    return array


def _found(problem: GaussianProblem, k: int, how: str, rng: np.random.Generator) -> Components:
    if how == "random":
        shares = rng.random((problem.X.shape[0], k))
        return from_shares(problem, shares / shares.sum(axis=1, keepdims=True))
    centres = drawn_rows(problem, k, rng) if how == "random_from_data" else spread_out(problem, k, rng)
    if how == "kmeans":
        centres = lloyd(problem, centres)
    shares = np.eye(k)[labels_of(problem, centres)]
    # A centre that coincides with another is nearest to nothing: the two share their rows.
    empty = np.flatnonzero(~shares.any(axis=0))
    if len(empty):
        heaviest = int(shares.sum(axis=0).argmax())
        together = [heaviest, *empty]
        shares[:, together] = shares[:, [heaviest]] / len(together)
    return from_shares(problem, shares, None if how == "kmeans" else centres)


def from_shares(problem: GaussianProblem, shares: Floats, means: Floats | None = None) -> Components:
    """Estimate components from responsibilities (n, K).

    There is no conditional distribution of missing cells yet: they lie at the mean of their column in the component,
    with its variance. A component whose rows have no spread in some direction gets the covariance of all components
    together, since one that starts as a spike stays one.

    Parameters
    ----------
    problem : GaussianProblem
    shares : array of shape (n, K)
    means : array of shape (K, d), optional
        Scatter is taken about them, and they are kept. Otherwise those of the rows.
    """
    X = problem.X
    r = shares if problem.weights is None else shares * problem.weights[:, None]
    seen = ~np.isnan(X)
    somewhere = seen.any(axis=1)
    k, d = shares.shape[1], X.shape[1]
    whole = problem.covariance_type in ("full", "tied")
    pivot, second = np.empty((k, d)), np.empty((k, d, d) if whole else (k, d))
    for c in range(k):
        n = r[:, c] @ seen
        pivot[c] = problem.centre if means is None else means[c]
        # Twice: the second time what was lost to rounding while the mean was far away comes back.
        for _ in range(2 if means is None else 0):
            pivot[c] += (r[:, c] @ np.where(seen, X - pivot[c], 0.0)) / np.where(n > 0.0, n, 1.0)
        about = np.where(seen, X - pivot[c], 0.0)
        squares = r[:, c] @ about**2
        variances = np.where(n > 0.0, squares / np.where(n > 0.0, n, 1.0), problem.spread)
        unseen = (r[:, c] @ somewhere - n) * variances
        second[c] = (r[:, c] * about.T) @ about + np.diag(unseen) if whole else squares + unseen
    sums = GaussianSums(pivot, r.sum(axis=0), r.T @ somewhere, np.zeros((k, d)), second)
    return _with_spread(problem, sums)


def _with_spread(problem: GaussianProblem, sums: GaussianSums) -> Components:
    kind = problem.covariance_type
    found = estimate(sums, kind, problem.reg_covar, problem.floor)
    if not found.collapsed or kind == "tied":
        return found
    one = GaussianSums(
        sums.pivot[:1],
        sums.weight.sum(keepdims=True),
        sums.seen.sum(keepdims=True),
        sums.first[:1],
        sums.second.sum(axis=0, keepdims=True),
    )
    pooled = estimate(one, kind, problem.reg_covar, problem.floor)
    covariances = found.covariances.copy()
    covariances[list(found.collapsed)] = pooled.covariances[0]
    return Components(found.weights, found.means, covariances, kind, found.collapsed)
