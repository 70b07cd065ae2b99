"""Initial values of EM for a Gaussian mixture."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._fitting.mixtures.components import Components, GaussianSums, estimate, factors
from bayeskit._fitting.mixtures.gaussian_expectation import expected_sums, log_joint_of
from bayeskit._fitting.mixtures.gaussian_problem import GaussianProblem
from bayeskit._messages import Joined
from bayeskit.errors import SettingError
from bayeskit.typing import Floats

Indices = NDArray[np.intp]
_MOST_STEPS = 100
# k-means has converged if the squared shift of the centres is below this fraction of the mean variance, as in
# scikit-learn.
_STILL = 1e-4


def squared_distances(problem: GaussianProblem, centres: Floats) -> Floats:
    """Return squared distances (n, K) over the observed cells, scaled up for the missing cells.

    The unit is the mean variance of the columns. The distances of a row without any cell are 0.
    """
    d = problem.X.shape[1]
    joint = log_joint_of(problem.patterns, _round(problem, centres), problem.n_jobs)
    observed = problem.patterns.restored(
        np.repeat(problem.patterns.observed, np.diff(problem.patterns.starts)).astype(np.float64)
    )[:, None]
    weight, constant = -np.log(len(centres)), -0.5 * np.log(2.0 * np.pi * problem.spread.mean())
    squares = -2.0 * (joint - weight - observed * constant)
    distances: Floats = np.maximum(squares, 0.0) * d / np.maximum(observed, 1.0) * (observed > 0.0)
    return distances


def spread_out(problem: GaussianProblem, n_centres: int, rng: np.random.Generator) -> Floats:
    """Choose rows as centres by k-means++: with a probability proportional to the squared distance from the others.

    Of a few candidates, take the one that minimises the total distance. Missing cells are filled with column means.
    """
    weights = _weights(problem)
    rows = [_draw(weights, 1, rng)[0]]
    nearest = squared_distances(problem, filled(problem, np.array(rows)))[:, 0]
    n_candidates = 2 + int(np.log(n_centres))
    while len(rows) < n_centres:
        candidates = _draw(weights * nearest, n_candidates, rng)
        brought = np.minimum(nearest[:, None], squared_distances(problem, filled(problem, candidates)))
        best = int(np.argmin(weights @ brought))
        rows.append(candidates[best])
        nearest = brought[:, best]
    return filled(problem, np.array(rows))


def lloyd(problem: GaussianProblem, centres: Floats) -> Floats:
    """Move centres to the means of their nearest rows until they converge.

    A centre without rows moves to the row that is furthest from its nearest centre.
    """
    weights = np.empty(0) if problem.weights is None else problem.patterns.sorted(problem.weights)
    still = _STILL * float(problem.spread.mean())
    for _ in range(_MOST_STEPS):
        sums, _ = expected_sums(
            problem.patterns, weights, _round(problem, centres), centres, hard=True, n_jobs=problem.n_jobs
        )
        moved, empty = sums.means, np.flatnonzero(sums.seen <= 0.0)
        if len(empty):
            moved[empty] = _furthest(problem, centres, len(empty))
        far = float(((moved - centres) ** 2).sum())
        centres = moved
        if far <= still:
            break
    return centres


def labels_of(problem: GaussianProblem, centres: Floats) -> Indices:
    """Return the nearest centre of each row, the first in a tie."""
    nearest: Indices = squared_distances(problem, centres).argmin(axis=1)
    return nearest


def filled(problem: GaussianProblem, rows: Indices) -> Floats:
    """Return some rows, with missing cells filled with column means."""
    chosen = problem.X[rows]
    return np.where(np.isnan(chosen), problem.centre, chosen)


def draw_rows(problem: GaussianProblem, size: int, rng: np.random.Generator) -> Floats:
    """Draw rows by weight without replacement. If there are fewer than ``size``, repeat them."""
    weights = _weights(problem)
    there = np.flatnonzero(weights > 0.0)
    some = rng.choice(there, min(size, len(there)), replace=False, p=weights[there] / weights[there].sum())
    return filled(problem, np.resize(some, size))


def _round(problem: GaussianProblem, centres: Floats) -> Components:
    k = len(centres)
    return Components(np.full(k, 1.0 / k), centres, np.full(k, float(problem.spread.mean())), "spherical")


def _weights(problem: GaussianProblem) -> Floats:
    """Return the weights of the rows. Rows without any cell get 0, because they cannot be centres.

    If no row qualifies, all weights are 1.
    """
    n = problem.X.shape[0]
    weights = np.ones(n) if problem.weights is None else problem.weights
    somewhere = weights * ~np.isnan(problem.X).all(axis=1)
    return somewhere if somewhere.any() else np.ones(n)


def _draw(chances: Floats, size: int, rng: np.random.Generator) -> Indices:
    """Draw rows with these probabilities. If all are zero (all rows are centres), draw uniformly."""
    total = np.cumsum(chances)
    if not (total[-1] > 0.0 and np.isfinite(total[-1])):
        return rng.integers(len(chances), size=size).astype(np.intp)
    places: Indices = np.searchsorted(total, rng.random(size) * total[-1], side="right")
    last = np.flatnonzero(chances)[-1]
    return np.where(places < last, places, last)


def _furthest(problem: GaussianProblem, centres: Floats, size: int) -> Floats:
    distances = squared_distances(problem, centres).min(axis=1) * (_weights(problem) > 0.0)
    return filled(problem, np.resize(np.argsort(-distances, kind="stable")[:size], size))


# Squares of larger numbers may overflow.
LARGEST = 1e150
STARTS = ("kmeans", "k-means++", "random", "random_from_data")


def start(
    problem: GaussianProblem,
    n_components: int,
    how: str,
    rng: np.random.Generator,
    *,
    weights_init: ArrayLike | None = None,
    means_init: ArrayLike | None = None,
    precisions_init: ArrayLike | None = None,
) -> Components:
    """Return components to start from.

    Parameters
    ----------
    problem : GaussianProblem
    n_components : int
    how : "kmeans", "k-means++", "random" or "random_from_data"
        The clusters of k-means; distant rows as means, each with its nearest rows; random responsibilities; or random
        rows as means, each with its nearest rows.
    rng : numpy.random.Generator
    weights_init, means_init, precisions_init : array-like, optional
        Given values, in the shapes of the components. If all three are given, nothing is drawn.

    Examples
    --------
    >>> problem = GaussianProblem(np.array([[0.0], [1.0], [8.0], [9.0], [np.nan]]))
    >>> found = start(problem, 2, "kmeans", np.random.default_rng(0))
    >>> sorted(found.means[:, 0].round(6).tolist())
    [0.5, 8.5]
    """
    if how not in STARTS:
        raise SettingError(
            "init_params is {how!r}; choose from {names}.", how=how, names=Joined(map(repr, STARTS))
        )
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
            "weights_init must be positive and sum to one; they sum to {given_weights:.9g}.",
            given_weights=given_weights.sum(),
        )
    if precisions is not None:
        factors(precisions, "precisions_init", matrices=kind in ("full", "tied"))
    if given_weights is not None and given_means is not None and precisions is not None:
        return Components.of_precisions(given_weights, given_means, precisions, kind)
    found = _start_components(problem, k, how, rng)
    weights = found.weights if given_weights is None else given_weights
    means = found.means if given_means is None else given_means
    if precisions is not None:
        return Components.of_precisions(weights, means, precisions, kind)
    return Components(weights, means, found.covariances, kind, found.collapsed)


def _checked(values: ArrayLike | None, name: str, shape: tuple[int, ...]) -> Floats | None:
    if values is None:
        return None
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise SettingError(
            "{name} must be an array of numbers of shape {shape}.", name=name, shape=shape
        ) from None
    if array.shape != shape:
        raise SettingError(
            "{name} has shape {shape}; it must be {shape2}.", name=name, shape=array.shape, shape2=shape
        )
    if not np.isfinite(array).all():
        raise SettingError("{name} contains NaN or infinity; every number must be finite.", name=name)
    if np.abs(array).max() >= LARGEST:
        raise SettingError(
            "{name} contains {abs:g}, which is too large to be squared.", name=name, abs=np.abs(array).max()
        )
    return array


def _start_components(problem: GaussianProblem, k: int, how: str, rng: np.random.Generator) -> Components:
    if how == "random":
        shares = rng.random((problem.X.shape[0], k))
        return from_shares(problem, shares / shares.sum(axis=1, keepdims=True))
    centres = draw_rows(problem, k, rng) if how == "random_from_data" else spread_out(problem, k, rng)
    if how == "kmeans":
        centres = lloyd(problem, centres)
    shares = np.eye(k)[labels_of(problem, centres)]
    # A centre that coincides with another has no rows of its own, so they share rows.
    empty = np.flatnonzero(~shares.any(axis=0))
    if len(empty):
        heaviest = int(shares.sum(axis=0).argmax())
        together = [heaviest, *empty]
        shares[:, together] = shares[:, [heaviest]] / len(together)
    return from_shares(problem, shares, None if how == "kmeans" else centres)


def from_shares(problem: GaussianProblem, shares: Floats, means: Floats | None = None) -> Components:
    """Estimate components from responsibilities (n, K).

    Missing cells have no conditional distribution yet. They get the mean and variance of their column in the component.
    A component whose rows have no spread in some direction gets the pooled covariance of all components, because a
    component that starts as a spike stays one.

    Parameters
    ----------
    problem : GaussianProblem
    shares : array of shape (n, K)
    means : array of shape (K, d), optional
        The means of the components, about which the scatter is computed. By default, the means of the rows.
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
        # The second pass recovers what the first lost to rounding because the pivot was far from the mean.
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
