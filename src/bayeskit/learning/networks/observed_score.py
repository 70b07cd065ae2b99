"""The score of rows as they are, holes and all, under a network that EM fitted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import xlogy

from bayeskit.graphs.network import Network
from bayeskit.learning.networks.expected_scores import fit_of_columns
from bayeskit.learning.networks.network_em import NetworkProblem
from bayeskit.priors import MLE, BDeu, Laplace
from bayeskit.structure.criteria import Score


def prior_of(score: Score) -> Any:
    """Return the imaginary rows that go with a score: none with one of the likelihood.

    >>> prior_of(Score("bdeu", 10.0))
    BDeu(ess=10.0)
    """
    if score.by_likelihood:
        return MLE()
    return Laplace() if score.name == "k2" else BDeu(score.ess)


def observed_score(
    score: Score, n_rows: float, problem: NetworkProblem, network: Network, value: float
) -> float:
    r"""Return what a fitted network is worth, given the cells that are there.

    With o these cells, and d parameters that cost c each,

    .. math:: \sum_i w_i \log P(o_i \mid \theta) - c\, d

    for ``loglik``, ``aic`` and ``bic``. For ``bdeu`` and ``k2`` Cheeseman and Stutz's estimate of the evidence, in
    which the rows as expected stand in for the rows, and the likelihood puts right what that adds:

    .. math:: \log P(\bar n \mid G) + \sum_i w_i \log P(o_i \mid \theta) - \sum \bar n \log \theta

    Without missing cells each is the score itself.

    Parameters
    ----------
    problem : NetworkProblem
        With the prior of `prior_of`.
    network, value : where EM ended, and what it climbed there

    References
    ----------
    Cheeseman, Stutz (1996), Bayesian classification (AutoClass): theory and results.
    """
    shapes = [network.shape_of(node.name) for node in network.nodes]
    if score.by_likelihood:
        parameters = sum(float((shape[-1] - 1) * math.prod(shape[:-1])) for shape in shapes)
        return value - score.penalty(n_rows) * parameters
    prior = prior_of(score)
    counts, total = problem.expect(network)
    for node, shape in zip(network.nodes, shapes):
        n = counts.table(network, node.name).reshape(-1, shape[-1])
        table: Any = node.distribution
        cells, above = n.reshape(-1, 1), n.sum(axis=1)[:, None]
        evidence = fit_of_columns(cells, above, score, shape[-1], np.array([float(len(n))]))
        # What EM climbs counts the imaginary rows too: they leave with the expected ones.
        leaves = n + prior.cells(node.variable, len(n))
        total += float(evidence[0]) - float(xlogy(leaves, table.values.reshape(n.shape)).sum())
    return total
