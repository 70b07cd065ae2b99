"""How many E-steps does SQUAREM save?

Where EM is slow: components that overlap, classes that attributes hardly tell apart, cells that are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

import em_work
from bayeskit import BayesianNetwork, GaussianMixture, LatentClass
from bayeskit._fitting.mixtures.gaussian_problem import GaussianProblem
from bayeskit._fitting.mixtures.latent_problem import LatentProblem
from bayeskit._fitting.networks.network_em import NetworkProblem
from harness import Report
from structure_samples import is_there

# A run has converged if it is this close to the best value, per row.
NEAR = 1e-6


@contextmanager
def watched(problem: Any) -> Iterator[list[float]]:
    """Record the value of every E-step, including those that acceleration discarded."""
    values: list[float] = []
    expect = problem.expect

    def kept(self: Any, parameters: Any) -> Any:
        values.append(-np.inf)  # in case it fails
        statistics, value = expect(self, parameters)
        values[-1] = value
        return statistics, value

    with mock.patch.object(problem, "expect", kept):
        yield values


def slow_problems(scale: float) -> Iterator[tuple[str, Any, int, Callable[..., Any]]]:
    """Yield a title, the class of the problem, its number of rows, and a function that runs EM."""
    n = max(500, round(5000 * scale))
    far: dict[str, Any] = {"tol": 1e-10, "max_iter": 20_000}
    rows = em_work.close_rows(n)
    start: dict[str, Any] = {
        "means_init": np.array([[-1.0, 1.0], [1.0, -1.0], [2.0, 2.0]]),
        "random_state": 0,
        "reg_covar": 0.0,
    }
    yield (
        "overlapping Gaussians",
        GaussianProblem,
        n,
        lambda **how: GaussianMixture(3, **start, **far, **how).fit(rows),
    )
    faint = em_work.faint_rows(n)
    one: dict[str, Any] = {"categorical_features": "all", "n_init": 1}
    yield (
        "faint latent classes",
        LatentProblem,
        n,
        lambda **how: LatentClass(3, **one, **far, **how).fit(faint),
    )
    if is_there("alarm"):
        holed = em_work.holed_alarm(n)
        network = BayesianNetwork(holed.parents, holed.states)
        learn = partial(network.fit, holed.frame(), method="em", smoothing=em_work.PRIOR, **far)
        yield "alarm, a fifth of the cells missing", NetworkProblem, n, learn


def count_steps(report: Report, scale: float) -> None:
    """Count the E-steps until the value is this close to the best value of both methods."""
    print(f"\n{f'E-steps to within {NEAR:g} a row of the best':<48}{'plain':>10}{'SQUAREM':>10}")
    for name, problem, n, climb in slow_problems(scale):
        seen = []
        for accelerate in (False, True):
            with watched(problem) as values:
                climb(accelerate=accelerate)
            seen.append(np.nan_to_num(values, nan=-np.inf))
        enough = max(values.max() for values in seen) - NEAR * n
        needed = [int((values >= enough).argmax()) + 1 for values in seen if values.max() >= enough]
        if len(needed) < 2:
            tops = ", ".join(f"{values.max():.6f}" for values in seen)
            report.note(f"{name}: the two ways end in different optima, {tops}")
            continue
        plain, accelerated = needed
        print(f"  {name:<46}{plain:>10}{accelerated:>10}")
        report.content.setdefault("e_steps", []).append(
            {"problem": name, "plain": plain, "squarem": accelerated}
        )
        report.claim(f"{name}: E-steps, plain against SQUAREM", plain / accelerated, "×")
