"""The counts of a network under other states: new ones that a batch brings, old ones that no row speaks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bayeskit.graphs.network import Network, discrete
from bayeskit.learning.networks.network_counts import NetworkCounts, wanted
from bayeskit.schema import Label, Name

States = Mapping[Name, tuple[Label, ...]]


def with_states(network: Network, states: States) -> Network:
    """Return a network some of whose nodes have other states; these and their children lose their tables."""
    changed = {name for name, given in states.items() if network[name].variable.states != given}
    nodes = []
    for node in network.nodes:
        if changed.intersection((node.name, *node.parents)):
            node = replace(node, distribution=None)
        if node.name in changed:
            node = replace(node, variable=discrete(node.name, states[node.name]))
        nodes.append(node)
    return replace(network, nodes=tuple(nodes)) if changed else network


def moved(counts: NetworkCounts, old: Network, new: Network) -> NetworkCounts:
    """Return counts of one network as those of another that has the same arcs; only states without rows may leave."""
    if old is new:
        return counts
    return NetworkCounts(counts.statistics.embed(wanted(new)[0]))


def states_with_rows(network: Network, counts: NetworkCounts, names: list[Name]) -> States:
    """Return the states of these nodes that some row has."""
    found = {}
    for name in names:
        states, weight = network[name].variable.states, counts.statistics.table(name)[:, 0].tolist()
        # A node without any row keeps its states: there is no table of none.
        found[name] = tuple(s for s, n in zip(states, weight) if n > 0.0) or states
    return found
