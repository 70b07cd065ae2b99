"""The density of a network's numbers under every draw of its regressions, where some of them are missing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayeskit.classifiers.network_classifier.cells import NodeCells
from bayeskit.classifiers.network_classifier.draws import NetworkDraws
from bayeskit.classifiers.network_classifier.joint import cell_places
from bayeskit.graphs.relations import topological_order
from bayeskit.schema import Name

Floats = NDArray[np.float64]

# Added to a correlation matrix that rounding has left without an inverse.
_RIDGE = 1e-10


def drawn_density_logs(drawn: NetworkDraws, cells: NodeCells, together: list[Name], n: int) -> Floats:
    """Return log p(known numbers | states) under every draw, those missing integrated out: shape (rows, K, draws).

    Parameters
    ----------
    drawn : NetworkDraws
    cells : NodeCells
        Rows that lack the same cells, and have the codes of all discrete nodes above these numbers, the class apart.
    together : continuous nodes, known and missing ones; parents of theirs that are not among them are known
    n : how many draws
    """
    network, position = cells.network, cells.network.dag.position
    order = [name for name in topological_order(network.dag) if name in together]
    kept = [i for i, name in enumerate(order) if cells.known[0, position[name]]]
    out = np.zeros((len(cells), cells.n_classes, n))
    places = [
        cell_places(cells, [p for p in network[name].parents if network[p].is_discrete]) for name in order
    ]
    for row in range(len(cells)):
        x = cells.numbers[row]
        values = x[[position[order[i]] for i in kept]]
        for k in range(cells.n_classes):
            cell = [int(place[row, k if place.shape[1] > 1 else 0]) for place in places]
            mean, covariance = _joint(drawn, cells, order, cell, x, n)
            out[row, k] = _log_normal(values - mean[:, kept], covariance[:, kept][:, :, kept])
    return out


def _joint(
    drawn: NetworkDraws, cells: NodeCells, order: list[Name], cell: list[int], x: Floats, n: int
) -> tuple[Floats, Floats]:
    """Return mean and covariance of the nodes under every draw, parents before children."""
    place = {name: i for i, name in enumerate(order)}
    mean, covariance = np.zeros((n, len(order))), np.zeros((n, len(order), len(order)))
    for i, name in enumerate(order):
        numbers, centre = drawn.regression(name, cell[i])
        mean[:, i] = numbers[:, 0]
        parents = [p for p in cells.network[name].parents if not cells.network[p].is_discrete]
        for j, parent in enumerate(parents):
            slope = numbers[:, 2 + j]
            if parent in place:
                mean[:, i] += slope * (mean[:, place[parent]] - centre[j])
                covariance[:, i] += slope[:, None] * covariance[:, place[parent]]
            else:
                mean[:, i] += slope * (x[cells.network.dag.position[parent]] - centre[j])
        covariance[:, :, i] = covariance[:, i]
        within = sum(
            numbers[:, 2 + j] * covariance[:, i, place[p]] for j, p in enumerate(parents) if p in place
        )
        covariance[:, i, i] = numbers[:, 1] ** 2 + within
    return mean, covariance


def _log_normal(away: Floats, covariance: Floats) -> Floats:
    """Return the log-density of many normals at once, each of its own; on the scale of correlations."""
    spread = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    correlation = covariance / (spread[:, :, None] * spread[:, None, :])
    try:
        root = np.linalg.cholesky(correlation)
    except np.linalg.LinAlgError:
        root = np.linalg.cholesky(correlation + _RIDGE * np.eye(correlation.shape[1]))
    z = np.linalg.solve(root, (away / spread)[:, :, None])[:, :, 0]
    scale = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1) + np.log(spread).sum(axis=1)
    return np.asarray(-0.5 * (z * z).sum(axis=1) - scale - 0.5 * away.shape[1] * np.log(2.0 * np.pi))
