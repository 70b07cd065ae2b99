"""Naive Bayes as one does it on paper: fractions for the tables, `math` for the densities, no bayeskit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

Columns = Mapping[str, Sequence[Any]]


def share(
    columns: Columns, y: Sequence[Any], name: str, value: Any, label: Any, alpha: int = 0, n_states: int = 0
) -> Fraction:
    """(|D_{c,v}| + α)/(|D_c| + α·N_i); N_i is the number of values seen unless it is given."""
    column = [v for v, c in zip(columns[name], y, strict=True) if c == label]
    states = n_states or len(set(columns[name]))
    return Fraction(column.count(value) + alpha, len(column) + alpha * states)


def class_share(y: Sequence[Any], label: Any, alpha: int = 0) -> Fraction:
    """(|D_c| + α)/(|D| + α·K)."""
    return Fraction(list(y).count(label) + alpha, len(y) + alpha * len(set(y)))


def density(values: Sequence[float], x: float, unbiased: bool) -> float:
    """The normal density at x, mean and variance from the values."""
    n = len(values)
    mean = math.fsum(values) / n
    variance = math.fsum((v - mean) ** 2 for v in values) / (n - 1 if unbiased else n)
    return math.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


def joint(
    columns: Columns,
    y: Sequence[Any],
    query: Mapping[str, Any],
    label: Any,
    *,
    alpha: int = 0,
    unbiased: bool = False,
    sizes: Mapping[str, int] | None = None,
) -> float:
    """P(c)·Π P(x_i | c): the discrete factors as one exact fraction, times the densities."""
    exact, densities = class_share(y, label, alpha), 1.0
    for name, value in query.items():
        if isinstance(value, float):
            own = [v for v, c in zip(columns[name], y, strict=True) if c == label]
            densities *= density(own, value, unbiased)
        else:
            exact *= share(columns, y, name, value, label, alpha, (sizes or {}).get(name, 0))
    return float(exact) * densities
