"""Searches that return the optimum: the best tree (Chow and Liu), and the best network by dynamic programming.

The latter is that of Silander and Myllymäki (2006).
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import combinations
from typing import Any

import numpy as np

from bayeskit._numba import kernel
from bayeskit._structure.search.hill_climbing import slack
from bayeskit._structure.search_protocol import Arcs, Family, Graph, Question, Search, Stop, members
from bayeskit.errors import SettingError, TooLarge
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


@kernel
def best_of_subsets(best: Any, n: int) -> None:
    """Set the value of every subset of n members to the maximum over its own subsets."""
    for bit in range(n):
        step = 1 << bit
        for some in range(1 << n):
            if some & step and best[some ^ step] > best[some]:
                best[some] = best[some ^ step]


@kernel
def best_networks(best_parents: Any, totals: Any, sinks: Any, n: int) -> None:
    """Find the best network over every set of variables, and a sink: a variable without children in it.

    ``best_parents[v, S]`` is the best score of v with parents in S; the bit of v itself is removed from S.
    The best network over S consists of the best network over S without its sink v, and v with parents among
    the rest. Ties go to the highest sink, so that arcs tend to lead from low to high.
    """
    totals[0] = 0.0
    for some in range(1, 1 << n):
        largest = -np.inf
        sink = -1
        for v in range(n):
            if not some >> v & 1:
                continue
            rest = some ^ (1 << v)
            low = (1 << v) - 1
            among = (rest & low) | ((rest >> (v + 1)) << v)
            score = totals[rest] + best_parents[v, among]
            if score >= largest:
                largest = score
                sink = v
        totals[some] = largest
        sinks[some] = sink


MAX_MEMORY = 2**30


def memory_needed(n: int) -> int:
    """Return the bytes for n variables: the best parents of each in every set of the others, and all sets."""
    return 8 * n * (1 << max(n - 1, 0)) + 9 * (1 << n)


def exact(arcs: Arcs, *, max_memory: float = MAX_MEMORY, names: tuple[Any, ...] = ()) -> Search:
    """Search for a network with the highest score.

    Every family with few enough parents is requested, so the number of parents matters as much as the number
    of variables: 20 variables with up to 4 parents have 100,000 families. If it is stopped early, it returns
    the best network of the families requested so far; a variable not yet reached has its required parents
    only.

    Parameters
    ----------
    max_memory : the limit in bytes; beyond it, TooLarge is raised before anything is counted
    names : the names of the variables, for that message
    """
    n = arcs.n
    if memory_needed(n) > max_memory:
        raise TooLarge(
            memory_needed(n),
            max_memory,
            names or tuple(range(n)),
            n * 2 ** (n - 1),
            way_out='Raise max_memory=, leave columns out, or use method="auto".',
        )
    tables = np.full((n, 1 << max(n - 1, 0)), -np.inf)
    done = 0
    try:
        for v in range(n):
            yield from _score_all(v, arcs, tables[v])
            best_of_subsets(tables[v], n - 1)
            done += 1
    except Stop:
        for v in range(done, n):
            _fill(v, arcs.required[v], tables[v])
    totals, sinks = np.empty(1 << n), np.empty(1 << n, np.int8)
    best_networks(tables, totals, sinks, n)
    if totals[-1] == -np.inf:
        raise SettingError("No acyclic network satisfies the required and forbidden arcs.")
    parents = [0] * n
    some = (1 << n) - 1
    while some:
        v = int(sinks[some])
        some ^= 1 << v
        parents[v] = _best_parents(v, some, tables[v])
    return Graph(tuple(parents))


def _score_all(v: int, arcs: Arcs, table: Floats) -> Generator[Question, list[Any], None]:
    """Request every family of a child, and store the scores."""
    required = arcs.required[v]
    free = [*members(arcs.allowed[v] & ~required)]
    table[_without(required, v)] = (yield [Family(v, required)])[0][0]
    for size in range(arcs.max_parents - required.bit_count()):
        # All sets of size + 1, as a set of this size and one later member.
        for chosen in combinations(free, size):
            base = required | sum(1 << u for u in chosen)
            more = tuple(u for u in free if not chosen or u > chosen[-1])
            if more:
                scores = (yield [Family(v, base, more)])[0]
                for u, score in zip(more, scores.tolist(), strict=True):
                    table[_without(base | (1 << u), v)] = score


def _fill(v: int, required: int, table: Floats) -> None:
    """Use the families requested so far; the value of a single family does not matter."""
    place = _without(required, v)
    if table[place] == -np.inf:
        table[place] = 0.0
    best_of_subsets(table, len(table).bit_length() - 1)


def _best_parents(v: int, among: int, table: Floats) -> int:
    """Find an optimal set of parents inside a set, from which no member can be removed.

    The table contains the best score within each set. If removing any member lowers it, the set itself has
    that score. The highest members are removed first.
    """
    best = table[_without(among, v)]
    for u in reversed([*members(among)]):
        if table[_without(among ^ (1 << u), v)] == best:
            among ^= 1 << u
    return among


def _without(some: int, v: int) -> int:
    """Return a set with the position of v removed."""
    return (some & ((1 << v) - 1)) | (some >> (v + 1) << v)
