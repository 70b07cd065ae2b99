"""The density of a network's numbers where some are missing: jointly normal, once all states are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayeskit.classifiers.network_classifier.cells import NodeCells
from bayeskit.graphs.distributions import LinearGaussian
from bayeskit.graphs.network import Network
from bayeskit.graphs.relations import topological_order
from bayeskit.schema import Name

Floats = NDArray[np.float64]


def density_logs(cells: NodeCells, known: list[Name], hidden: list[Name]) -> Floats:
    """Return log p(known numbers | states) of each row and class, those hidden integrated out: shape (n, K).

    Parameters
    ----------
    cells : NodeCells
        Codes of all discrete nodes above these numbers, the class apart.
    known, hidden : continuous nodes, and all continuous ones above them
    """
    network, position = cells.network, cells.network.dag.position
    together = {*known, *hidden}
    order = [name for name in topological_order(network.dag) if name in together]
    states = [p for p in network.dag.nodes if network[p].is_discrete]
    states = [p for p in states if any(p in network[name].parents for name in order)]
    kept = [order.index(name) for name in known]
    values = cells.numbers[:, [position[name] for name in known]]
    out = np.zeros((len(cells), cells.n_classes))
    for k in range(cells.n_classes):
        codes = cells.codes[:, [position[p] for p in states]].copy()
        codes[:, [j for j, p in enumerate(states) if p == cells.target]] = k
        found, which = np.unique(codes, axis=0, return_inverse=True)
        for i, configuration in enumerate(found):
            rows = np.flatnonzero(which.ravel() == i)
            mean, covariance = _joint(network, order, dict(zip(states, configuration.tolist())))
            root = np.linalg.cholesky(covariance[np.ix_(kept, kept)])
            z = np.linalg.solve(root, (values[rows] - mean[kept]).T)
            scale = np.log(np.diagonal(root)).sum() + 0.5 * len(kept) * np.log(2.0 * np.pi)
            out[rows, k] = -0.5 * (z * z).sum(axis=0) - scale
    return out


def _joint(network: Network, order: list[Name], states: dict[Name, int]) -> tuple[Floats, Floats]:
    """Return mean and covariance of continuous nodes, parents before children, under these states."""
    place = {name: i for i, name in enumerate(order)}
    mean, covariance = np.zeros(len(order)), np.zeros((len(order), len(order)))
    for i, name in enumerate(order):
        node, d = network[name], network[name].distribution
        assert isinstance(d, LinearGaussian)
        cell = tuple(states[p] for p in node.parents if network[p].is_discrete)
        above = [place[p] for p in node.parents if not network[p].is_discrete]
        slopes = d.coefficients[cell]
        mean[i] = d.intercept[cell] + slopes @ mean[above]
        covariance[i] = slopes @ covariance[above]
        covariance[:, i] = covariance[i]
        covariance[i, i] = d.variance[cell] + covariance[i, above] @ slopes
    return mean, covariance
