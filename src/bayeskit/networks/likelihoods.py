"""Soft evidence as users write it → one likelihood for each state."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import SettingError
from bayeskit.networks.arguments import real_numbers
from bayeskit.networks.negation import Not
from bayeskit.schema import Name, Variable, state_code

Floats = NDArray[np.float64]


def read_likelihoods(variable: Variable, given: Any) -> Floats:
    """Return the likelihood of each state, as given: an array in the order of states, or state → number.

    Examples
    --------
    >>> from bayeskit.graphs.network import discrete
    >>> read_likelihoods(discrete("rain", ["no", "yes"]), {"yes": 3, "no": 1})
    array([1., 3.])
    """
    name, size = variable.name, variable.size
    values = _by_state(variable, given) if isinstance(given, Mapping) else _by_order(name, given)
    if values.shape != (size,):
        raise SettingError(
            f"The soft evidence on {name!r} has the shape {values.shape}; it needs {size} likelihoods, one for each "
            f"of {', '.join(map(repr, variable.states[:12]))}{', …' if size > 12 else ''}."
        )
    for state, value in zip(variable.states, values.tolist()):
        if not 0 <= value < math.inf:  # also where it is NaN
            raise SettingError(
                f"The soft evidence on {name!r} gives {state!r} the likelihood {value!r}. Likelihoods are finite "
                "and not negative."
            )
    if not values.any():
        raise SettingError(
            f"The soft evidence on {name!r} is zero for every state, which nothing can satisfy. Leave it out, or "
            "give some state a positive likelihood."
        )
    return values


def excluding(variable: Variable, negation: Not) -> Floats:
    """Return the likelihood of each state where some are excluded: 0 for those, 1 for the others.

    Examples
    --------
    >>> from bayeskit.graphs.network import discrete
    >>> excluding(discrete("light", ["red", "amber", "green"]), Not("red"))
    array([0., 1., 1.])
    """
    values = np.ones(variable.size)
    for state in negation.states:
        values[state_code(variable.name, variable.states, state)] = 0.0
    if not values.any():
        raise SettingError(
            f"{negation!r} excludes every state of {variable.name!r}, which nothing can satisfy. Leave one out."
        )
    return values


def scaled(values: Floats) -> tuple[Floats, float]:
    """Return the likelihoods with a largest in [½, 1], and the logarithm of what they were divided by.

    The divisor is a power of two, so no digit is lost; where it would round the least to nothing it is smaller.

    >>> scaled(np.array([2.0, 6.0]))[0]
    array([0.25, 0.75])
    """
    largest = float(values.max())
    if 0.5 <= largest <= 1.0:
        return values, 0.0
    exponent = math.frexp(largest)[1]
    if exponent > 0:
        # Not so far that the least is rounded to nothing: it may be the only one that is possible.
        least = float(values[values > 0.0].min())
        exponent = max(min(exponent, math.frexp(least)[1] + 1021), 0)
    return np.ldexp(values, -exponent), exponent * math.log(2.0)


def _by_state(variable: Variable, given: Mapping[Any, Any]) -> Floats:
    values: dict[int, Any] = {}
    for state, value in given.items():
        code = state_code(variable.name, variable.states, state)
        if code in values:
            raise SettingError(f"The soft evidence on {variable.name!r} names {state!r} twice.")
        values[code] = value
    missing = next((state for code, state in enumerate(variable.states) if code not in values), None)
    if len(values) < variable.size:
        raise SettingError(
            f"The soft evidence on {variable.name!r} says nothing of {missing!r}. Give a likelihood for each state."
        )
    return _by_order(variable.name, [values[code] for code in range(variable.size)])


def _by_order(name: Name, given: Any) -> Floats:
    values = real_numbers(given)
    if values is None:
        raise SettingError(
            f"The soft evidence on {name!r} is {given!r}. Give a likelihood for each state: numbers in the order "
            "of states, or {state: number}."
        )
    return values
