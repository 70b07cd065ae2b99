"""Eliminating the continuous variables: what is left weighs the configurations of the discrete ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from bayeskit.inference.gaussian.plan import Step
from bayeskit.inference.gaussian.regression import Floats, Regression, turned
from bayeskit.inference.gaussian.weights import Weight

# An equation without noise holds when it is off by no more than this part of its largest term.
EXACT = 1e-10


@dataclass(frozen=True, eq=False)
class Eliminated:
    """``given_later[x]`` is x regressed on variables eliminated after it; ``weights`` are what was observed."""

    given_later: Mapping[int, Regression]
    weights: list[Weight]


def eliminate(rows: Mapping[int, Regression], steps: Iterable[Step]) -> Eliminated:
    """Turn arcs round as the steps say, then read the observed rows, which have nothing but constants left."""
    rows = dict(rows)
    given_later: dict[int, Regression] = {}
    for step in steps:
        pivot = rows.pop(step.node)
        for child in step.children:
            pivot, rows[child] = turned(pivot, rows[child])
        given_later[step.node] = pivot
    return Eliminated(given_later, [weight(row) for row in rows.values()])


def weight(row: Regression) -> Weight:
    r"""Return :math:`\log N(0; b, v)` of an observed row, in each cell of its scope."""
    log, hits = log_normal(row.intercept, row.variance, row.size)
    return Weight(row.scope, log, hits)


def log_normal(residual: Floats, variance: Floats, size: Floats) -> tuple[Floats, Floats]:
    """Return the log density of residuals about zero, and 1 where the variance is zero and the residual too.

    With variance zero the answer is log 1 = 0 on the point and −∞ off it.

    Examples
    --------
    >>> density, hits = log_normal(np.array([0.0, 0.0, 2.0]), np.array([1.0, 0.0, 0.0]), np.ones(3))
    >>> density.round(4), hits
    (array([-0.9189,  0.    ,    -inf]), array([0., 1., 0.]))
    """
    certain = variance == 0.0
    some = np.where(certain, 1.0, variance)
    with np.errstate(over="ignore"):
        density = -0.5 * (np.log(2.0 * np.pi * some) + (residual / np.sqrt(some)) ** 2)
    on_point = certain & (np.abs(residual) <= EXACT * size)
    log = np.where(certain, np.where(on_point, 0.0, -np.inf), density)
    return log, on_point.astype(np.float64)
