"""K-means over rows with weights and missing cells, for starts of mixtures.

K-means is hard EM with equal weights and one spherical covariance for all, so the E-step of mixtures does its work.
Distances are over the observed cells. A missing cell lies at its centre (Chi, Chi, Baraniuk 2016, k-POD).

References
----------
Arthur, Vassilvitskii (2007), k-means++: the advantages of careful seeding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayeskit.learning.mixtures.components import Components
from bayeskit.learning.mixtures.gaussian_expectation import expected_sums, log_joint_of
from bayeskit.learning.mixtures.gaussian_problem import GaussianProblem

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
_MOST_STEPS = 100
# Centres that move less than this, in squares of the columns' spread, stand still (scikit-learn's).
_STILL = 1e-4


def squared_distances(problem: GaussianProblem, centres: Floats) -> Floats:
    """Return squared distances (n, K) over the observed cells, scaled up for the missing ones.

    The unit is the mean variance of the columns. A row without any cell is nowhere: its distances are 0.
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
    """Choose rows as centres by k-means++: each far from those before it, with a chance as its squared distance.

    Of a few candidates the one that brings all rows nearest is taken. Missing cells are filled with column means.
    """
    weights = _weights(problem)
    rows = [_drawn(weights, 1, rng)[0]]
    nearest = squared_distances(problem, filled(problem, np.array(rows)))[:, 0]
    n_candidates = 2 + int(np.log(n_centres))
    while len(rows) < n_centres:
        candidates = _drawn(weights * nearest, n_candidates, rng)
        brought = np.minimum(nearest[:, None], squared_distances(problem, filled(problem, candidates)))
        best = int(np.argmin(weights @ brought))
        rows.append(candidates[best])
        nearest = brought[:, best]
    return filled(problem, np.array(rows))


def lloyd(problem: GaussianProblem, centres: Floats) -> Floats:
    """Move centres to the means of the rows nearest to them until they stand still.

    A centre that is nearest to no row goes to the row that lies furthest from its centre.
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
    """Return the nearest centre of each row, the first of equals."""
    nearest: Indices = squared_distances(problem, centres).argmin(axis=1)
    return nearest


def filled(problem: GaussianProblem, rows: Indices) -> Floats:
    """Return some rows, their missing cells filled with column means."""
    chosen = problem.X[rows]
    return np.where(np.isnan(chosen), problem.centre, chosen)


def drawn_rows(problem: GaussianProblem, size: int, rng: np.random.Generator) -> Floats:
    """Draw different rows by their weights, as far as there are different ones."""
    weights = _weights(problem)
    there = np.flatnonzero(weights > 0.0)
    some = rng.choice(there, min(size, len(there)), replace=False, p=weights[there] / weights[there].sum())
    return filled(problem, np.resize(some, size))


def _round(problem: GaussianProblem, centres: Floats) -> Components:
    k = len(centres)
    return Components(np.full(k, 1.0 / k), centres, np.full(k, float(problem.spread.mean())), "spherical")


def _weights(problem: GaussianProblem) -> Floats:
    """Weights of rows; those without any cell can be no centres, unless there are no others."""
    n = problem.X.shape[0]
    weights = np.ones(n) if problem.weights is None else problem.weights
    somewhere = weights * ~np.isnan(problem.X).all(axis=1)
    return somewhere if somewhere.any() else np.ones(n)


def _drawn(chances: Floats, size: int, rng: np.random.Generator) -> Indices:
    """Draw rows, each with a chance; where all chances are zero (all rows are centres), any."""
    total = np.cumsum(chances)
    if not (total[-1] > 0.0 and np.isfinite(total[-1])):
        return rng.integers(len(chances), size=size).astype(np.intp)
    places: Indices = np.searchsorted(total, rng.random(size) * total[-1], side="right")
    last = np.flatnonzero(chances)[-1]
    return np.where(places < last, places, last)


def _furthest(problem: GaussianProblem, centres: Floats, size: int) -> Floats:
    distances = squared_distances(problem, centres).min(axis=1) * (_weights(problem) > 0.0)
    return filled(problem, np.resize(np.argsort(-distances, kind="stable")[:size], size))
