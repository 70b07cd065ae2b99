"""The log probability of complete rows: of discrete nodes a probability, of continuous ones a density."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import DataError
from bayeskit.graphs.distributions import LinearGaussian
from bayeskit.graphs.network import Network, Node
from bayeskit.inference.gaussian.elimination import log_normal

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def log_prob(network: Network, codes: Ints, values: Floats | None = None) -> Floats:
    r"""Return :math:`\log p(x) = \sum_i \log p(x_i \mid \mathrm{pa}_i)` of each row.

    A node of variance zero adds log 1 = 0 on its point and −∞ off it.

    Parameters
    ----------
    network : Network with all its distributions
    codes : int array of shape (n, number of nodes)
        States of the discrete nodes; other columns are not read.
    values : array of shape (n, number of nodes)
        Values of the continuous nodes; other columns are not read. Not needed where there are none.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> from bayeskit.graphs.distributions import Table
    >>> from bayeskit.graphs.network import discrete
    >>> rain = Node(discrete("rain", ("no", "yes")), (), Table([0.8, 0.2]))
    >>> wet = Node(discrete("wet", ("no", "yes")), ("rain",), Table([[0.9, 0.1], [0.2, 0.8]]))
    >>> np.exp(log_prob(Network((rain, wet)), np.array([[0, 0], [1, 1]]))).round(3)
    array([0.72, 0.16])
    """
    network.require_distributions()
    position = network.dag.position
    columns = [position[node.name] for node in network.nodes]
    total = np.zeros(len(codes))
    for k, node in zip(columns, network.nodes):
        parents = [position[p] for p in node.parents]
        _check(node, k, codes, values)
        if isinstance(node.distribution, LinearGaussian):
            assert values is not None
            total += _gaussian(network, node.distribution, parents, k, codes, values)
        else:
            assert node.distribution is not None
            total += node.distribution.log_prob(codes[:, [*parents, k]])
    return total


def _check(node: Node, k: int, codes: Ints, values: Floats | None) -> None:
    column: NDArray[Any]
    if node.is_discrete:
        column = codes[:, k]
        wrong = (column < 0) | (column >= node.variable.size)
    elif values is None:
        raise DataError(f"{node.name!r} is continuous: its values are needed to say how probable a row is.")
    else:
        column = values[:, k]
        wrong = ~np.isfinite(column)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"{node.name!r} is {column[row]} in row {row} (the first is 0), which is missing or no value of it. "
            "Give complete rows, or ask for the probability of the cells that are known as evidence."
        )


def _cells(codes: Ints, nodes: list[int], shape: tuple[int, ...]) -> Ints:
    """Return the flat place of each row's configuration in an array with one axis for each node."""
    place = np.zeros(len(codes), np.int64)
    for v, size in zip(nodes, shape):
        place = place * size + codes[:, v]
    return place


def _gaussian(
    network: Network, given: LinearGaussian, parents: list[int], k: int, codes: Ints, values: Floats
) -> Floats:
    discrete = [p for p in parents if network.nodes[p].is_discrete]
    numeric = [p for p in parents if not network.nodes[p].is_discrete]
    cell = _cells(codes, discrete, given.intercept.shape)
    intercept = given.intercept.ravel()[cell]
    x = values[:, k]
    residual = x - intercept
    size = np.maximum(np.abs(x), np.abs(intercept))
    coefficients = given.coefficients.reshape(given.variance.size, len(numeric))
    for column, parent in enumerate(numeric):
        term = coefficients[cell, column] * values[:, parent]
        residual = residual - term
        size = np.maximum(size, np.abs(term))
    return log_normal(residual, given.variance.ravel()[cell], size)[0]
