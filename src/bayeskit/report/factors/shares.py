"""Shares of counts as fractions, and factors with their workings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayeskit.report.explanation import Factor
from bayeskit.report.fractions import fraction

Floats = NDArray[np.float64]


def shares(real: Floats, imaginary: Floats, total: Floats, prior_total: float, states: int) -> list[str]:
    """Write each (n + a)/(N + A); without rows and prior every state is alike.

    Examples
    --------
    >>> shares(np.array([3.0]), np.array([1.0]), np.array([8.0]), 2.0, 2)
    ['(3+1)/(8+2)']
    """
    return [
        fraction(n, a, whole, prior_total) if whole + prior_total > 0 else fraction(1.0, 0.0, states, 0.0)
        for n, a, whole in zip(real.tolist(), imaginary.tolist(), total.tolist())
    ]


def with_workings(logs: Floats, workings: list[str]) -> tuple[Factor, ...]:
    """Return a factor for each class."""
    return tuple(Factor(float(log), working) for log, working in zip(logs, workings, strict=True))
