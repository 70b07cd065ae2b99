"""A discrete node and its Markov blanket, apart from the rest of a network with continuous nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayeskit.graphs.distributions import LinearGaussian, uniform
from bayeskit.graphs.network import Network, Node
from bayeskit.inference.likelihood import log_prob

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Surroundings:
    r"""P(target | blanket), from the distributions of the target and of its children alone.

    .. math:: P(t \mid x) \propto P(t \mid \mathrm{pa}_t) \prod_{c \in \mathrm{ch}_t} p(x_c \mid \mathrm{pa}_c)

    Parameters
    ----------
    network : with all its distributions
    target : the place of a discrete node

    Attributes
    ----------
    blanket : places of parents, children and their other parents, in order
    is_smooth : no child has a variance of zero; where one has, densities and probabilities meet and must not be
        multiplied as if they were alike

    Examples
    --------
    >>> from bayeskit.graphs.distributions import Table
    >>> from bayeskit.graphs.network import continuous, discrete
    >>> sex = Node(discrete("sex", ("f", "m")), (), Table([0.5, 0.5]))
    >>> height = Node(continuous("h"), ("sex",), LinearGaussian([165.0, 178.0], np.zeros((2, 0)), [36.0, 49.0]))
    >>> near = Surroundings(Network((sex, height)), 0)
    >>> near.posteriors(np.array([[-1, -1]]), np.array([[np.nan, 180.0]])).round(3)
    array([[0.051, 0.949]])
    """

    def __init__(self, network: Network, target: int) -> None:
        dag = network.dag
        name = dag.nodes[target]
        deciding = [name, *dag.children[name]]
        near = {name, *(p for child in deciding for p in dag.parents_of(child)), *deciding}
        places = sorted(dag.position[n] for n in near)
        self.blanket = tuple(place for place in places if place != target)
        self._places, self._column = places, places.index(target)
        self._size = network.nodes[target].variable.size
        # Other nodes of the blanket count the same whatever the target is, so any distribution will do for them.
        self._network = Network(
            tuple(
                network.nodes[place] if dag.nodes[place] in deciding else _alone(network.nodes[place])
                for place in places
            )
        )
        self.is_smooth = all(
            (distribution.variance > 0).all()
            for distribution in (network[child].distribution for child in deciding)
            if isinstance(distribution, LinearGaussian)
        )

    def posteriors(self, codes: Ints, values: Floats) -> Floats:
        """Return P(target | row): rows have a column for each node of the whole network; the blanket's are complete.

        A row of zeros says that no state of the target is possible.
        """
        codes, values = codes[:, self._places], values[:, self._places]
        logs = np.empty((len(codes), self._size))
        for state in range(self._size):
            codes[:, self._column] = state
            logs[:, state] = log_prob(self._network, codes, values)
        largest = logs.max(axis=1, keepdims=True)
        out: Floats = np.exp(logs - np.where(np.isfinite(largest), largest, 0.0))
        total = out.sum(axis=1, keepdims=True)
        return np.asarray(out / np.where(total > 0, total, 1.0))


def _alone(node: Node) -> Node:
    """Return a node of the same variable without parents."""
    if node.is_discrete:
        return Node(node.variable, (), uniform([node.variable.size]))
    nothing = np.zeros(0)
    return Node(node.variable, (), LinearGaussian(np.zeros(()), nothing, np.ones(())))
