"""Counts of a network's families × prior → its tables and regressions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from bayeskit.estimation.linear_family import estimate_lines
from bayeskit.graphs.distributions import Distribution, LinearGaussian, Table
from bayeskit.graphs.network import Network
from bayeskit.learning.networks.network_counts import NetworkCounts, configurations
from bayeskit.priors import Prior
from bayeskit.schema import Name
from bayeskit.typing import Floats


def estimated(
    network: Network, counts: NetworkCounts, prior: Prior, imaginary: Mapping[Name, Floats], variance: str
) -> Network:
    """Return the network with every distribution estimated anew.

    Parameters
    ----------
    prior : what is added to each cell of a discrete node's table
    imaginary : {node: counts of the shape of its table}
        Where it names a node, these are added instead.
    variance : "mle" (RSS/n) or "unbiased" (RSS/(n − parameters)), of continuous nodes
    """
    nodes = []
    for node in network.nodes:
        found: Distribution
        if node.is_discrete:
            cells = counts.table(network, node.name)
            found = Table(_table(cells, network, node.name, prior, imaginary.get(node.name)))
        else:
            found = _regression(network, counts, node.name, variance)
        nodes.append(replace(node, distribution=found))
    return replace(network, nodes=tuple(nodes))


def _table(cells: Floats, network: Network, name: Name, prior: Prior, imaginary: Floats | None) -> Floats:
    variable = network[name].variable
    if imaginary is None:
        imaginary = prior.cells(variable, math.prod(cells.shape[:-1]))
    smoothed = cells + imaginary
    totals = smoothed.sum(axis=-1, keepdims=True)
    # A configuration that neither rows nor prior speak of tells nothing.
    return np.asarray(
        np.where(totals > 0.0, smoothed / np.where(totals > 0.0, totals, 1.0), 1.0 / variable.size)
    )


def _regression(network: Network, counts: NetworkCounts, name: Name, variance: str) -> LinearGaussian:
    discrete, numeric, _ = configurations(network, name)
    sums = counts.regressions[name]
    intercept, slopes, spread = estimate_lines(sums, sums.columns([-1]).whole(), variance == "unbiased")
    shape = network.sizes_of(discrete)
    return LinearGaussian(
        intercept.reshape(shape), slopes.reshape((*shape, len(numeric))), spread.reshape(shape)
    )
