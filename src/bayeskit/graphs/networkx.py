"""A graph for NetworkX."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bayeskit.errors import UsageError
from bayeskit.graphs.network import Network


def to_networkx(network: Network) -> Any:
    """Return a ``networkx.DiGraph``: the nodes in order, each with its ``states`` (None where it is continuous).

    The edges into a node come in the order of its parents. Tables are left behind.
    """
    try:
        networkx = import_module("networkx")
    except ImportError:
        raise UsageError(
            "to_networkx needs NetworkX, which is not installed: pip install networkx."
        ) from None
    graph = networkx.DiGraph(name=network.name)
    for node in network.nodes:
        graph.add_node(node.name, states=node.variable.states if node.is_discrete else None)
    graph.add_edges_from(network.dag.arcs)
    return graph
