"""What each column adds to the logarithm of P(c, x) in a network."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.classifiers.network_classifier.cells import NodeCells
from bayeskit.classifiers.network_classifier.joint import family_logs, log_joint
from bayeskit.graphs.relations import ancestors, topological_order
from bayeskit.schema import Name

Floats = NDArray[np.float64]


def contribution_logs(network: Any, cells: NodeCells) -> dict[Name, Floats]:
    r"""Return log P(x_j | c, x_<j) of every node but the class, and under the class's own name log P(c).

    .. math:: \log P(c, x) = \log P(c) + \sum_j \log P(x_j \mid c, x_{<j})

    where < is the order of the graph, parents before children, cells that are missing being passed over. So a node
    that has all its parents has its own factor P(x_j | parents). Only what stands above the class, or below a cell
    that is missing, needs more: a sum over the rest of the network.

    Parameters
    ----------
    network : BayesianNetwork
    cells : NodeCells of it

    Returns
    -------
    {node: array of shape (n, K)}
    """
    value, target = cells.network, cells.target
    above = {*ancestors(value.dag, target)}
    prior = log_joint(network, cells.only(()).take(np.zeros(1, np.intp)))[0]
    shape = (len(cells), cells.n_classes)
    out = {name: np.zeros(shape) for name in value.dag.nodes}
    out[target] = np.repeat(prior[None], len(cells), axis=0)
    for rows, known in cells.by_holes():
        some, there = cells.take(rows), {*known, target}
        joint, before = np.repeat(prior[None], len(rows), axis=0), list[Name]()
        for name in topological_order(value.dag):
            if name == target or name not in there:
                continue
            before.append(name)
            if name not in above and there.issuperset(value[name].parents):
                step = family_logs(some, name)
                joint = joint + step
            else:
                now = log_joint(network, some.only(before))
                # What was impossible before is not made so by this value.
                step = np.where(np.isneginf(joint), 0.0, now - np.where(np.isneginf(joint), 0.0, joint))
                joint = now
            out[name][rows] = step
    return out
