"""Variables and factors as users write them → a Field value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from reprlib import repr as shortly
from typing import Any

import numpy as np

from bayeskit.errors import SettingError
from bayeskit.graphs.dag import node_name, unknown_node
from bayeskit.graphs.factor import Factor
from bayeskit.graphs.network import Field, Network, discrete
from bayeskit.networks.arguments import real_numbers
from bayeskit.networks.given.building import state_labels
from bayeskit.networks.given.node_distributions import table_of
from bayeskit.schema import Name, Variable, first_twice


def field_of(states: object, factors: object, name: str = "") -> Field:
    """Read variables with their states, and factors over them.

    Parameters
    ----------
    states : mapping variable → its states
    factors : list of Factor or of (names, array)
        The axes of an array are the names, in their order; it may also be flat, the last name fastest.

    Examples
    --------
    >>> field_of({"a": [0, 1]}, [(["a"], [1, 2])]).factors
    (Factor('a': {0: 1, 1: 2}),)
    """
    if not isinstance(states, Mapping):
        raise SettingError(f"states is {states!r}; give a mapping from variable to its list of states.")
    if not isinstance(factors, Iterable) or isinstance(factors, (str, bytes, Mapping, Factor)):
        raise SettingError(f"factors is {factors!r}; give a list of Factor or of (names, array).")
    if not isinstance(name, str):
        raise SettingError(f"name={name!r}: a network is called by a string.")
    variables = {
        node_name(variable): discrete(node_name(variable), state_labels(variable, labels))
        for variable, labels in states.items()
    }
    read = tuple(_checked(_factor(given, variables, place), place) for place, given in enumerate(factors))
    return Field(tuple(variables.values()), read, name)


def field_of_network(network: Network) -> Field:
    """Return the factors of a Bayesian network: its tables, each over the parents and the child."""
    network.require_distributions()
    strange = next((node.name for node in network.nodes if not node.is_discrete), None)
    if strange is not None:
        raise SettingError(f"{strange!r} is continuous. A Markov network has nodes with states only.")
    factors = []
    for node in network.nodes:
        scope = (*node.parents, node.name)
        factors.append(
            Factor(scope, (network[n].variable.states for n in scope), table_of(network, node.name))
        )
    return Field(tuple(node.variable for node in network.nodes), tuple(factors), network.name)


def _factor(given: Any, variables: Mapping[Name, Variable], place: int) -> Factor:
    if isinstance(given, Factor):
        return _aligned(given, variables, place)
    try:
        names, values = given
    except (TypeError, ValueError):
        raise SettingError(f"Factor {place} is {given!r}; give a Factor or (names, array).") from None
    if isinstance(names, str) or not isinstance(names, Iterable):
        names = [names]
    names = [_known(name, variables, place) for name in names]
    twice = first_twice(names)
    if twice is not None:
        raise SettingError(f"Factor {place} has {twice!r} twice.")
    shape = tuple(variables[name].size for name in names)
    numbers = real_numbers(values)
    if numbers is None:
        raise SettingError(
            f"{_called(names, place)} has {shortly(values)}, where numbers are needed: an array of shape {shape}."
        )
    if numbers.shape != shape and numbers.shape != (math.prod(shape),):
        raise SettingError(
            f"The numbers of {_called(names, place)} have the shape {numbers.shape}; their states make {shape}."
        )
    return Factor(names, (variables[name].states for name in names), numbers.reshape(shape))


def _aligned(factor: Factor, variables: Mapping[Name, Variable], place: int) -> Factor:
    """Return a factor with the states of each variable in the network's order."""
    values = factor.values
    for axis, (name, states) in enumerate(zip(factor.names, factor.states)):
        own = variables[_known(name, variables, place)].states
        if set(own) != set(states):
            raise SettingError(
                f"{_called(factor.names, place)} gives {name!r} the states {', '.join(map(repr, states[:12]))}; the "
                f"network has {', '.join(map(repr, own[:12]))}."
            )
        if own != states:
            values = np.take(values, [states.index(state) for state in own], axis=axis)
    return Factor(factor.names, (variables[name].states for name in factor.names), values)


def _known(name: Name, variables: Mapping[Name, Variable], place: int) -> Name:
    try:
        return variables[name].name
    except (KeyError, TypeError):
        raise unknown_node(name, variables, f"factor {place} is over it") from None


def _checked(factor: Factor, place: int) -> Factor:
    if not np.isfinite(factor.values).all() or (factor.values < 0).any():
        cell = np.argwhere(~(np.isfinite(factor.values) & (factor.values >= 0)))[0]
        states = ", ".join(
            f"{n!r} = {s[i]!r}" for n, s, i in zip(factor.names, factor.states, cell, strict=True)
        )
        raise SettingError(
            f"{_called(factor.names, place)} has the value {factor.values[tuple(cell)]} at {states}. Factors are "
            "finite and not negative."
        )
    if not factor.values.any():
        raise SettingError(
            f"{_called(factor.names, place)} is zero everywhere, which leaves no distribution."
        )
    return factor


def _called(names: Iterable[Name], place: int) -> str:
    return f"Factor {place} (over {', '.join(map(repr, names)) or 'nothing'})"
