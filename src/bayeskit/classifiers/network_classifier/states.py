"""The counts of a network under other states: new ones that a batch brings, old ones that no row speaks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.graphs.network import Network, discrete
from bayeskit.learning.networks.network_counts import NetworkCounts, wanted
from bayeskit.schema import Label, Name
from bayeskit.statistics.regressions import Regressions
from bayeskit.statistics.twofold import Twofold

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
    regressions = {name: _moved(sums, old, new, name) for name, sums in counts.regressions.items()}
    return NetworkCounts(counts.tables.embed(wanted(new)[0]), regressions, counts.parents)


def _moved(sums: Regressions, old: Network, new: Network, name: Name) -> Regressions:
    """Put the moments of each configuration of discrete parents where it stands among the new ones."""
    parents = [p for p in new[name].parents if new[p].is_discrete]
    before, after = ([n[p].variable for p in parents] for n in (old, new))
    if [v.states for v in before] == [v.states for v in after]:
        return sums
    shared = [[state for state in v.states if state in w.codes] for v, w in zip(before, after)]
    there = np.ix_(*([v.codes[s] for s in some] for v, some in zip(before, shared)))
    here = np.ix_(*([w.codes[s] for s in some] for w, some in zip(after, shared)))

    def move(array: NDArray[Any]) -> NDArray[Any]:
        tail = array.shape[1:]
        out = np.zeros((*(w.size for w in after), *tail))
        out[here] = array.reshape(*(v.size for v in before), *tail)[there]
        return out.reshape(-1, *tail)

    def move_both(part: Twofold) -> Twofold:
        return Twofold(move(part.high), move(part.low))

    return Regressions(
        move(sums.pivot), move_both(sums.weight), move_both(sums.first), move_both(sums.second)
    )


def states_with_rows(network: Network, counts: NetworkCounts, names: list[Name]) -> States:
    """Return the states of these nodes that some row has."""
    found = {}
    for name in names:
        states, weight = network[name].variable.states, counts.tables.table(name)[:, 0].tolist()
        # A node without any row keeps its states: there is no table of none.
        found[name] = tuple(s for s, n in zip(states, weight) if n > 0.0) or states
    return found
