"""cpdag and shd as functions of networks or graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from bayeskit.errors import DataTypeError
from bayeskit.graphs import cpdag as classes
from bayeskit.graphs.cpdag import Cpdag
from bayeskit.graphs.dag import Dag
from bayeskit.graphs.network import Network

if TYPE_CHECKING:
    from bayeskit.networks.network_structure import Structure

# What has arcs: a network, a graph, or a class of graphs.
WithArcs: TypeAlias = "Structure | Dag | Cpdag"


def cpdag(network: WithArcs) -> Cpdag:
    """Return the class of graphs that state the same independences as a network's.

    Examples
    --------
    >>> from bayeskit import BayesianNetwork
    >>> print(cpdag(BayesianNetwork([("a", "b"), ("b", "c")])))
    a — b, b — c
    """
    graph = _graph(network)
    return graph if isinstance(graph, Cpdag) else classes.cpdag(graph)


def shd(a: WithArcs, b: WithArcs, dag: bool = False) -> int:
    """Return the structural Hamming distance of two networks over the same nodes.

    Each pair of nodes whose relation differs (missing, extra, reversed, undirected against directed) counts
    one. The classes of equivalent graphs are compared, as bnlearn does; with ``dag`` the arcs as they are.

    Examples
    --------
    >>> from bayeskit import BayesianNetwork
    >>> one, other = BayesianNetwork([("a", "b"), ("b", "c")]), BayesianNetwork([("b", "a"), ("b", "c")])
    >>> shd(one, other), shd(one, other, dag=True)
    (0, 1)
    """
    return classes.shd(_graph(a), _graph(b), dag)


def _graph(network: WithArcs) -> Dag | Cpdag:
    if isinstance(network, (Dag, Cpdag)):
        return network
    value = getattr(network, "_network", None)
    if not isinstance(value, Network):
        raise DataTypeError(
            f"A {type(network).__name__} has no arcs. Give a BayesianNetwork, a Dag or a Cpdag."
        )
    return value.dag
