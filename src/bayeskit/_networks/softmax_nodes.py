"""Reads the distribution of a discrete node with continuous parents as users write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayeskit._graphs.dag import unknown_node
from bayeskit._graphs.distributions import Softmax
from bayeskit._graphs.network import Network, Node
from bayeskit._messages import Joined
from bayeskit._networks.arguments import is_number
from bayeskit._networks.building import Axes, node_with_states
from bayeskit._schema import Name, Variable, state_code
from bayeskit.errors import SettingError
from bayeskit.typing import Floats


def softmax(network: Network, name: Name, intercept: object, coefficients: object) -> Softmax:
    """Read one softmax, or one for each configuration of the discrete parents.

    Examples
    --------
    >>> from bayeskit._networks.building import network_of
    >>> network = network_of({"buys": ["income"]}, {"buys": ["no", "yes"], "income": float})
    >>> softmax(network, "buys", -3.0, {"income": 0.5}).coefficients.tolist()
    [[0.0], [0.5]]
    """
    node = _softmax_node(network, name)
    numeric = network.numeric_parents(node)
    chosen = [parent for parent in node.parents if parent not in numeric]
    axes = Axes(name, [network[parent].variable for parent in chosen])
    axes.check_size()
    if not chosen:
        cells: list[tuple[tuple[int, ...], Any]] = [((), (intercept, coefficients))]
    else:
        if not isinstance(intercept, Mapping) or coefficients is not None:
            raise SettingError(
                "{name!r} has the discrete parents {given}: give a mapping from their states to (intercept, "
                "coefficients).",
                name=name,
                given=Joined(map(repr, chosen)),
            )
        cells = list(axes.cells(intercept))
    intercepts = np.zeros((*axes.shape, node.variable.size))
    slopes = np.zeros((*intercepts.shape, len(numeric)))
    seen = np.zeros(axes.shape, dtype=bool)
    for place, said in cells:
        if not isinstance(said, (tuple, list)) or len(said) != 2 or len(place) < len(axes.shape):
            raise SettingError(
                "{name!r} has {said!r} at {where}. Give (intercept, coefficients).",
                name=name,
                said=said,
                where=axes.where(place) or "its top",
            )
        if np.any(seen[place]):
            raise SettingError(
                "The table of {owner!r} says twice what stands at {where}.",
                owner=name,
                where=axes.where(place),
            )
        intercepts[place] = _by_state(node.variable, said[0])
        slopes[place] = _slopes(network, node, numeric, said[1])
        seen[place] = True
    axes.refuse_gaps(seen)
    return fitting_softmax(network, name, Softmax(intercepts, slopes))


def _softmax_node(network: Network, name: Name) -> Node:
    """Return a discrete node with states and a continuous parent, or raise an error that says what it is."""
    node = node_with_states(network, name)
    if not network.numeric_parents(node):
        raise SettingError("{name!r} has no continuous parent. Call set_cpt({name!r}, ...).", name=name)
    return node


def _by_state(variable: Variable, given: object) -> Floats:
    """Read a number for each state: of two states, one number is that of the second against the first."""
    out = np.zeros(variable.size)
    if isinstance(given, Mapping):
        for state, value in given.items():
            out[state_code(variable.name, variable.states, state)] = _number(variable.name, value)
        return out
    if variable.size != 2:
        raise SettingError(
            "{name!r} has {size} states ({states}): give {{state: number}}, where a state that is left out has 0, "
            "not {given!r}.",
            name=variable.name,
            size=variable.size,
            states=variable.listing(),
            given=given,
        )
    out[1] = _number(variable.name, given)
    return out


def _slopes(network: Network, node: Node, numeric: tuple[Name, ...], given: object) -> Floats:
    if not isinstance(given, Mapping):
        raise SettingError(
            "The coefficients of {name!r} are {slopes!r}. Give {{parent: number}}.",
            name=node.name,
            slopes=given,
        )
    for parent in given:
        if parent not in numeric:
            raise unknown_node(parent, numeric)
    absent = next((parent for parent in numeric if parent not in given), None)
    if absent is not None:
        raise SettingError(
            "{name!r} has no coefficient for {parent!r}. Give one for each continuous parent.",
            name=node.name,
            parent=absent,
        )
    return np.stack([_by_state(node.variable, given[parent]) for parent in numeric], axis=-1)


def _number(name: Name, value: object) -> float:
    if not is_number(value) or not np.isfinite(value):
        raise SettingError(
            "The softmax of {name!r} has {value!r} where a finite number is needed.", name=name, value=value
        )
    return float(value)


def fitting_softmax(network: Network, name: Name, given: Softmax) -> Softmax:
    """Check that a softmax fits its node, and return it."""
    node = _softmax_node(network, name)
    numeric = network.numeric_parents(node)
    sizes = network.sizes_of(parent for parent in node.parents if parent not in numeric)
    shape = (*sizes, node.variable.size)
    wanted = (*shape, len(numeric))
    if given.intercept.shape != shape or given.coefficients.shape != wanted:
        raise SettingError(
            "The softmax of {name!r} has intercepts and coefficients of the shapes {shape}, {shape2}; {shape3} and "
            "{shape4} are needed.",
            name=name,
            shape=given.intercept.shape,
            shape2=given.coefficients.shape,
            shape3=shape,
            shape4=wanted,
        )
    for part in (given.intercept, given.coefficients):
        if not np.isfinite(part).all():
            raise SettingError(
                "The softmax of {name!r} has {value!r} where a finite number is needed.",
                name=name,
                value=float(part[~np.isfinite(part)].flat[0]),
            )
    return given
