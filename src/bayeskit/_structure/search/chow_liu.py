"""The Chow–Liu algorithm: the maximum spanning tree by mutual information."""

from __future__ import annotations

import numpy as np

from bayeskit._structure.search.hill_climbing import slack
from bayeskit._structure.search_protocol import Family, Graph, Search, Stop
from bayeskit.typing import Floats


def chow_liu(n: int, root: int = 0) -> Search:
    r"""Learn the tree with the largest likelihood: a maximum spanning tree of mutual information.

    .. math:: N\, I(x_i; x_j) = \ell(x_i \mid x_j) - \ell(x_i)

    so it requests the scores of all pairs; the score must be the log-likelihood. With another score for which
    both directions of an arc are equal (AIC, BIC, BDeu), it finds the best tree by that score.

    Parameters
    ----------
    n : int
        The number of variables.
    root : int
        Arcs lead away from it. Without directions, the tree is the same for every root.

    Examples
    --------
    >>> from bayeskit._structure.search_protocol import answer_all
    >>> shared = np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0]])
    >>> def answer(families):
    ...     return [shared[f.child, f.more or [f.child]] for f in families]
    >>> answer_all(chow_liu(3, root=1), answer).parents
    (2, 0, 2)

    References
    ----------
    C. K. Chow and C. N. Liu, "Approximating discrete probability distributions with dependence trees", IEEE
    Transactions on Information Theory 14 (1968).
    """
    alone = [Family(v, 0) for v in range(n)]
    pairs = [Family(v, 0, tuple(range(v))) for v in range(1, n)]
    parents = [0] * n
    try:
        found = yield [*alone, *pairs]
    except Stop:
        return Graph(tuple(parents))
    scores = np.array([float(score[0]) for score in found[:n]])
    weights = np.zeros((n, n))
    for v, pair in enumerate(found[n:], 1):
        weights[v, :v] = weights[:v, v] = np.asarray(pair) - scores[v]
    for parent, child in _spanning_tree(_ranks(weights, slack(scores)), root):
        parents[child] = 1 << parent
    return Graph(tuple(parents))


def _ranks(weights: Floats, tie: float) -> Floats:
    """Return the rank of each pair, the heaviest first; ties go to the lowest, so that the best tree is unique."""
    n = len(weights)
    rows, columns = np.triu_indices(n, 1)
    order = np.argsort(-np.round(weights[rows, columns] / tie), kind="stable")
    rank = np.empty(len(order))
    rank[order] = np.arange(len(order))
    ranks = np.full((n, n), np.inf)
    ranks[rows, columns] = ranks[columns, rows] = rank
    return ranks


def _spanning_tree(ranks: Floats, root: int) -> list[tuple[int, int]]:
    """Return (parent, child) of every arc of the tree with the lowest ranks, from the root outwards (Prim)."""
    n = len(ranks)
    nearest = np.full(n, root)
    distance = ranks[root].copy() if n else np.empty(0)
    outside = np.arange(n) != root
    arcs: list[tuple[int, int]] = []
    for _ in range(n - 1):
        child = int(np.argmin(np.where(outside, distance, np.inf)))
        arcs.append((int(nearest[child]), child))
        outside[child] = False
        closer = ranks[child] < distance
        distance[closer] = ranks[child][closer]
        nearest[closer] = child
    return arcs
