"""A linear-Gaussian or conditional-Gaussian node as users give it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayeskit.errors import SettingError
from bayeskit.graphs.distributions import LinearGaussian
from bayeskit.graphs.network import Network
from bayeskit.networks.given.axes import Axes, numbers
from bayeskit.networks.given.special import fitting
from bayeskit.schema import Name


def regression(
    network: Network,
    name: Name,
    intercept: object,
    coefficients: Mapping[Any, float] | None = None,
    variance: float | None = None,
) -> LinearGaussian:
    """Read one regression, or one for each configuration of the discrete parents.

    Examples
    --------
    >>> from bayeskit.networks.given.building import network_of
    >>> network = network_of({"weight": ["height"]}, states=float)
    >>> regression(network, "weight", -100.0, {"height": 1.0}, 25.0).coefficients
    array([1.])
    """
    node = network[name]
    chosen = [parent for parent in node.parents if network[parent].is_discrete]
    numeric = tuple(parent for parent in node.parents if parent not in chosen)
    axes = Axes(name, [network[parent].variable for parent in chosen])
    axes.check_size()
    if isinstance(intercept, Mapping):
        if not chosen:
            raise SettingError(
                f"{name!r} has no discrete parents, so there is one regression: give intercept, coefficients and "
                "variance as they are, not a mapping."
            )
        if coefficients is not None or variance is not None:
            raise SettingError(
                f"A mapping for {name!r} holds (intercept, coefficients, variance) for each state of its discrete "
                "parents: leave coefficients= and variance= out."
            )
        cells = axes.cells(intercept)
    else:
        if variance is None:
            raise SettingError(f"The variance of {name!r} is not said. Pass variance=.")
        cells = [((), (intercept, coefficients, variance))]
    intercepts, variances = np.zeros(axes.shape), np.zeros(axes.shape)
    slopes = np.zeros((*axes.shape, len(numeric)))
    seen = np.zeros(axes.shape, dtype=bool)
    for place, said in cells:
        where = axes.where(place)
        if len(place) < len(axes.shape) or np.any(seen[place]):
            given = ", ".join(map(repr, chosen))
            raise SettingError(
                f"{name!r} has the discrete parents {given}: give a mapping from their states to (intercept, "
                "coefficients, variance), each configuration once."
            )
        intercepts[place], slopes[place], variances[place] = _one(name, numeric, said, where)
        seen[place] = True
    axes.refuse_gaps(seen)
    made: LinearGaussian = fitting(network, name, LinearGaussian(intercepts, slopes, variances))
    return made


def _one(name: Name, numeric: tuple[Name, ...], said: object, where: str) -> tuple[float, list[float], float]:
    """Read (intercept, coefficients, variance), or (mean, variance) where no parent is continuous."""
    if not isinstance(said, (tuple, list)) or len(said) not in (2, 3):
        raise SettingError(
            f"{name!r} has {said!r} at {where or 'its top'}. Give (intercept, coefficients, variance)."
        )
    slopes = said[1] if len(said) == 3 else None
    slopes = {} if slopes is None else slopes
    if not isinstance(slopes, Mapping):
        raise SettingError(f"The coefficients of {name!r} are {slopes!r}. Give {{parent: number}}.")
    strange = [parent for parent in slopes if parent not in numeric]
    absent = [parent for parent in numeric if parent not in slopes]
    if strange or absent:
        told = f"{strange[0]!r} is none of them" if strange else f"{absent[0]!r} is left out"
        listing = ", ".join(map(repr, numeric)) or "none"
        raise SettingError(
            f"The coefficients of {name!r} are for its continuous parents ({listing}): {told}. 0 means no effect."
        )
    return (
        _number(name, said[0], where),
        [_number(name, slopes[parent], where) for parent in numeric],
        _number(name, said[-1], where),
    )


def _number(name: Name, given: object, where: str) -> float:
    number = numbers(given, name, where)
    if number.shape != ():
        raise SettingError(f"{name!r} has {given!r} where one number is needed.")
    return float(number)
