"""SQUAREM: two EM steps tell where many more would lead.

References
----------
Varadhan, Roland (2008), Simple and globally convergent methods for accelerating the convergence of any EM algorithm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import BayeskitError

Floats = NDArray[np.float64]
# How fast longer extrapolations are allowed while they succeed.
_GROWTH = 4.0


def extrapolate(first: Floats, second: Floats, third: Floats, longest: float) -> tuple[Floats, float]:
    r"""Return the point that three successive EM iterates lead to, and the length of the step.

    .. math:: \theta' = \theta_0 + 2 s\, r + s^2 v,\quad r = \theta_1 - \theta_0,\;
        v = (\theta_2 - \theta_1) - r,\; s = \lVert r \rVert / \lVert v \rVert

    Coordinates that are not finite in all three (the logarithm of an exact zero) stay as in the third. A length of 1
    is the third point itself.

    Examples
    --------
    >>> import numpy as np
    >>> halving = [np.array([x]) for x in (1.0, 0.5, 0.25)]
    >>> extrapolate(*halving, longest=10.0)
    (array([0.]), 2.0)
    """
    live = np.isfinite(first) & np.isfinite(second) & np.isfinite(third)
    to = third.copy()
    r = second[live] - first[live]
    v = third[live] - second[live] - r
    norm = float(np.linalg.norm(v))
    length = float(np.linalg.norm(r)) / norm if norm > 0.0 else 1.0
    length = min(max(length, 1.0), longest)
    if length > 1.0:
        to[live] = first[live] + 2.0 * length * r + length**2 * v
    return to, length


class Accelerator:
    """Tries points that lie ahead; remembers how far it was safe to go."""

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self.longest = _GROWTH

    def try_from(self, first: Any, second: Any, third: Any, least: float) -> tuple[Any, Any, float] | None:
        """Return (parameters, statistics, value) of a point ahead, or None where it is no better than ``least``."""
        flat = self.problem.flat
        to, length = extrapolate(flat(first), flat(second), flat(third), self.longest)
        if length <= 1.0:
            return None
        if length >= self.longest:
            self.longest *= _GROWTH
        try:
            with np.errstate(all="ignore"):
                parameters = self.problem.unflat(to)
                statistics, value = self.problem.expect(parameters)
        except (BayeskitError, ArithmeticError, np.linalg.LinAlgError):
            value = np.nan
        if not (np.isfinite(value) and value >= least):
            self.longest = max(self.longest / _GROWTH**2, _GROWTH)
            return None
        return parameters, statistics, float(value)
