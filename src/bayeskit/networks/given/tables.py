"""A conditional table as users give it → the node that has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.frames import is_frame
from bayeskit.errors import SettingError, UsageError
from bayeskit.graphs.distributions import Deterministic, LinearGaussian, NoisyMax, Table
from bayeskit.graphs.factor import Factor
from bayeskit.graphs.network import Network, Node, discrete
from bayeskit.networks.given.axes import Axes, numbers
from bayeskit.networks.given.checked_rows import checked_rows
from bayeskit.networks.given.cpt_frames import cells_of_frame
from bayeskit.networks.given.special import fitting
from bayeskit.schema import Name

Floats = NDArray[np.float64]


def read_table(network: Network, name: Name, table: Any, normalize: bool = False) -> Node:
    """Return the node with the table given; a node without states takes those that the table names.

    Parameters
    ----------
    table : array, nested mapping, Factor, frame, or a value of bayeskit.graphs.distributions
    normalize : divide every row by its sum, however far from one it is

    Examples
    --------
    >>> from bayeskit.networks.given.building import network_of
    >>> network = network_of({"wet": ["rain"]}, states=["no", "yes"])
    >>> read_table(network, "wet", {"no": {"no": 0.9, "yes": 0.1}, "yes": [0.25, 0.75]}).distribution.table()
    array([[0.9 , 0.1 ],
           [0.25, 0.75]])
    """
    node = network[name]
    if isinstance(table, (Deterministic, NoisyMax, LinearGaussian)):
        return replace(node, distribution=fitting(network, name, table))
    if not node.is_discrete:
        raise SettingError(f"{name!r} is continuous and has no table. Call set_gaussian({name!r}, ...).")
    named = isinstance(table, (Mapping, Factor)) or is_frame(table)
    variables = [network[other].variable for other in (*node.parents, name)]
    axes = Axes(name, variables, open_last=named and not node.variable.size)
    values = checked_rows(axes, _values(axes, table), normalize)
    variable = discrete(name, axes.states[-1]) if axes.open_last else node.variable
    return replace(node, variable=variable, distribution=Table(values))


def _values(axes: Axes, table: Any) -> Floats:
    if isinstance(table, Mapping):
        return axes.filled(axes.cells(table))
    if isinstance(table, Factor):
        return _aligned(axes, table)
    if is_frame(table):
        return axes.filled(cells_of_frame(axes, table))
    given = numbers(table.values if isinstance(table, Table) else table, axes.owner)
    shape = axes.shape
    if given.shape != shape and given.shape != (int(np.prod(shape)),):
        raise SettingError(
            f"The table of {axes.owner!r} has the shape {given.shape}; {shape} is needed, or as many numbers in one "
            f"list: one axis for each of {', '.join(map(repr, axes.names))}, the last varying fastest."
        )
    return given.reshape(shape)


def _aligned(axes: Axes, factor: Factor) -> Floats:
    """Turn a factor so that its axes and its states stand in the order of the node's."""
    if set(factor.names) != set(axes.names):
        raise SettingError(
            f"The factor is over {', '.join(map(repr, factor.names)) or 'nothing'}; the table of {axes.owner!r} is "
            f"over {', '.join(map(repr, axes.names))}."
        )
    values = factor.ordered(axes.names)
    codes = [[axes.code(k, state) for state in states] for k, states in enumerate(values.states)]
    for name, found, states in zip(axes.names, codes, axes.states):
        absent = [state for code, state in enumerate(states) if code not in found]
        if absent or len(set(found)) < len(found):
            told = f"lacks the state {absent[0]!r}" if absent else "has a state twice"
            raise SettingError(f"The factor for {axes.owner!r} {told} of {name!r}.")
    return np.asarray(values.values[np.ix_(*(np.argsort(found) for found in codes))])


def table_of(network: Network, name: Name) -> Floats:
    """Return a node's table, or say why there is none."""
    node = network[name]
    if isinstance(node.distribution, LinearGaussian) or not node.is_discrete:
        raise SettingError(f"{name!r} is continuous and has no table. Call distribution({name!r}).")
    if node.distribution is None:
        raise UsageError(f"{name!r} has no table yet. Call set_cpt({name!r}, ...) or fit.")
    axes = Axes(name, [network[other].variable for other in (*node.parents, name)])
    axes.check_size(f"Ask distribution({name!r}), which holds the numbers that the table is made of.")
    return node.distribution.table()
