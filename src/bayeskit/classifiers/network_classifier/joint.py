"""log P(c, x) of many rows of a network: a product of its tables, or a sum over what is missing."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.classifiers.network_classifier.cells import NodeCells, hidden_of
from bayeskit.classifiers.network_classifier.density import density_logs
from bayeskit.graphs.distributions import LinearGaussian
from bayeskit.graphs.network import Network
from bayeskit.networks.memory import allowed
from bayeskit.schema import Name

Floats = NDArray[np.float64]

# Up to so many joint states of missing nodes are gone through where some node is continuous; one elimination for
# each row takes longer.
MOST_STATES = 256


def log_joint(network: Any, cells: NodeCells) -> Floats:
    """Return log P(c, known cells) of each row and class: shape (n, K).

    Parameters
    ----------
    network : BayesianNetwork
    cells : NodeCells of it
    """
    out = np.empty((len(cells), cells.n_classes))
    for rows, known in cells.by_holes():
        some = cells.take(rows)
        hidden = hidden_of(cells.network, cells.target, known)
        if hidden and not _few_states(cells.network, hidden):
            logs = network._door.log_prob(some.of_each_class(), allowed(None))
            out[rows] = logs.reshape(len(rows), -1)
            continue
        out[rows] = _summed(some, known, hidden)
    return out


def _few_states(network: Network, hidden: list[Name]) -> bool:
    if network.is_discrete:
        return False
    return (
        math.prod(network[name].variable.size for name in hidden if network[name].is_discrete) <= MOST_STATES
    )


def _summed(cells: NodeCells, known: list[Name], hidden: list[Name]) -> Floats:
    """Go through all states of what is hidden; numbers that are hidden are integrated out under each."""
    network = cells.network
    states = [name for name in hidden if network[name].is_discrete]
    unknown = [name for name in hidden if not network[name].is_discrete]
    measured = [name for name in known if not network[name].is_discrete] if unknown else []
    families = [name for name in (cells.target, *known, *states) if name not in measured]
    places = [network.dag.position[name] for name in states]
    total = np.full((len(cells), cells.n_classes), -np.inf)
    for codes in product(*(range(size) for size in network.sizes_of(states))):
        cells.codes[:, places] = codes
        logs = density_logs(cells, measured, unknown) if unknown else np.zeros_like(total)
        for name in families:
            logs = logs + family_logs(cells, name)
        total = np.logaddexp(total, logs)
    return total


def family_logs(cells: NodeCells, name: Name) -> Floats:
    """Return log P(node | parents) for each row and class: shape (n, K). All of the family but the class is known."""
    network, position = cells.network, cells.network.dag.position
    distribution = network[name].distribution
    parents = network[name].parents
    k = cells.n_classes
    if not isinstance(distribution, LinearGaussian):
        assert distribution is not None
        place = cell_places(cells, (*parents, name))
        with np.errstate(divide="ignore"):
            table = np.log(distribution.table())
        return np.broadcast_to(table.ravel()[place], (len(cells), k))
    cell = cell_places(cells, [p for p in parents if network[p].is_discrete])
    numeric = [position[p] for p in parents if not network[p].is_discrete]
    slopes = distribution.coefficients.reshape(distribution.variance.size, len(numeric))[cell]
    mean = distribution.intercept.ravel()[cell] + (slopes * cells.numbers[:, None, numeric]).sum(axis=2)
    variance = distribution.variance.ravel()[cell]
    away = cells.numbers[:, [position[name]]] - mean
    logs = -0.5 * (away * away / variance + np.log(2.0 * np.pi * variance))
    return np.broadcast_to(logs, (len(cells), k))


def cell_places(cells: NodeCells, names: Any) -> NDArray[np.int64]:
    """Return the flat place of these nodes' states in an array with one axis for each: shape (n, K) or (n, 1)."""
    place = np.zeros((len(cells), 1), np.int64)
    for name in names:
        size = cells.network[name].variable.size
        code = (
            np.arange(size)[None, :]
            if name == cells.target
            else cells.codes[:, [cells.network.dag.position[name]]]
        )
        place = place * size + code
    return place
