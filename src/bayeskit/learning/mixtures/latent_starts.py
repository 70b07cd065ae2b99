"""Where EM begins: components that differ, since from equal ones it would never leave."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayeskit.learning.mixtures.latent_problem import LatentProblem
from bayeskit.learning.model import Model
from bayeskit.typing import Floats


def shares_start(problem: LatentProblem, share: Floats) -> Model:
    """Estimate the components from the share each has in each of the rows given: shape (N, K)."""
    return problem.maximise(problem.gather(problem.rows.spread(share)))


def random_starts(problem: LatentProblem, n: int, seed: int) -> list[Callable[[], Model]]:
    """Return n ways to begin, by turns of two kinds that fail on different data.

    Shares of every row drawn from Dirichlet(1, …, 1): components all near the middle of the data, nearer the more
    rows there are. And components that each lean towards one row: far from each other, but perhaps the wrong rows.
    """
    kinds = (drawn_shares, chosen_rows)
    streams = np.random.default_rng(seed).spawn(n)
    return [lambda kind=kinds[i % 2], rng=rng: kind(problem, rng) for i, rng in enumerate(streams)]  # type: ignore[misc]


def drawn_shares(problem: LatentProblem, rng: np.random.Generator) -> Model:
    """Share every distinct row out at random."""
    weights = problem.rows.weights
    share = rng.dirichlet(np.ones(problem.n_components), size=len(weights))
    return problem.maximise(problem.gather(share * weights[:, None]))


def chosen_rows(problem: LatentProblem, rng: np.random.Generator) -> Model:
    """Make each component half of all rows and half of one row, drawn by weight."""
    weights, k = problem.rows.weights, problem.n_components
    total = weights.sum()
    share = np.repeat(weights[:, None] / (2.0 * k), k, axis=1)
    chosen = rng.choice(len(weights), size=k, replace=k > len(weights), p=weights / total)
    share[chosen, np.arange(k)] += total / (2.0 * k)
    return problem.maximise(problem.gather(share))
