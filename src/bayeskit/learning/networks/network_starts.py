"""Where EM begins on a network: what the rows that are whole tell of each family, at random where there are none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bayeskit.graphs.distributions import Deterministic, Distribution, LinearGaussian, Table
from bayeskit.graphs.network import Network, Node
from bayeskit.learning.networks.network_counts import NetworkCounts, configurations, estimated
from bayeskit.learning.search.node_columns import NodeColumns
from bayeskit.priors import BDeu
from bayeskit.schema import Name
from bayeskit.typing import Floats

# A restart multiplies each probability by a number of mean 1 and variance 1/so much.
STEADINESS = 4.0


def start_network(
    network: Network, columns: NodeColumns, weights: Floats | None, rng: np.random.Generator, *, jitter: bool
) -> Network:
    """Return a network to begin from; no probability is zero, so no row is impossible.

    A family some row of which is whole is estimated from such rows, with one imaginary row spread over its table.
    Other families, those of nodes never observed among them, are drawn at random: alike for all states of a hidden
    node, they would stay alike for ever. Nodes that are a function of their parents stay as they are.

    Parameters
    ----------
    columns : a column for each node, missing where it is never observed
    jitter : whether the estimates are shaken too, as restarts need it
    """
    counts = NetworkCounts.of(network, columns, weights)
    found = estimated(network, counts, BDeu(1.0), {}, "mle")
    numbers = dict(zip(columns.names, columns.numbers))
    nodes = []
    for before, node in zip(network.nodes, found.nodes):
        made: Any = node.distribution
        if isinstance(before.distribution, Deterministic):
            made = before.distribution
        elif node.is_discrete:
            if not counts.table(network, node.name).any():
                made = _random_table(made.values.shape, rng)
            elif jitter:
                made = _shaken(made.values, rng)
        elif not counts.regressions[node.name].n.any():
            made = _random_regression(network, node, numbers, rng)
        elif jitter:
            made = replace(made, intercept=_moved(made, rng))
        nodes.append(replace(node, distribution=made))
    return replace(found, nodes=tuple(nodes))


def with_tables_of(network: Network, start: Network) -> Network:
    """Return the network with the distributions of another where that has them."""
    known: dict[Name, Distribution] = {
        node.name: node.distribution for node in start.nodes if node.distribution is not None
    }
    nodes = [replace(node, distribution=known.get(node.name, node.distribution)) for node in network.nodes]
    return replace(network, nodes=tuple(nodes))


def _random_table(shape: tuple[int, ...], rng: np.random.Generator) -> Table:
    return Table(rng.dirichlet(np.ones(shape[-1]), shape[:-1]))


def _shaken(values: Floats, rng: np.random.Generator) -> Table:
    moved = values * rng.gamma(STEADINESS, 1.0 / STEADINESS, values.shape)
    return Table(moved / moved.sum(axis=-1, keepdims=True))


def _moved(given: LinearGaussian, rng: np.random.Generator) -> Floats:
    """Return intercepts within half a deviation or so of where they were."""
    away = rng.normal(0.0, 0.5, given.intercept.shape)
    return np.asarray(given.intercept + away * np.sqrt(given.variance))


def _random_regression(
    network: Network, node: Node, numbers: dict[Name, Floats | None], rng: np.random.Generator
) -> LinearGaussian:
    """Return regressions through numbers of the column; a column never seen is standard normal.

    Slopes on a parent never seen are drawn: without any, the two would stay independent for ever.
    """
    discrete, numeric, _ = configurations(network, node.name)
    shape = network.sizes_of(discrete)
    seen = _seen(numbers[node.name])
    spread = float(seen.var()) if len(seen) else 1.0
    intercept = rng.choice(seen, shape) if len(seen) else rng.normal(size=shape)
    slopes = rng.normal(size=(*shape, len(numeric))) * np.sqrt(spread)
    if len(seen):
        slopes[..., [bool(len(_seen(numbers[name]))) for name in numeric]] = 0.0
    return LinearGaussian(intercept, slopes, np.full(shape, spread if spread > 0.0 else 1.0))


def _seen(numbers: Floats | None) -> Floats:
    return np.empty(0) if numbers is None else numbers[~np.isnan(numbers)]
