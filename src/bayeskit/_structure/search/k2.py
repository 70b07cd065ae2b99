"""The K2 algorithm: adds parents greedily from the variables before each one in a given order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayeskit._structure.arcs import Arcs
from bayeskit._structure.search.hill_climbing import slack
from bayeskit._structure.search_protocol import Family, Graph, Search, Stop, members


def k2(arcs: Arcs, order: Sequence[int]) -> Search:
    """Give each variable the predecessor that makes its score best, then another, until none makes it better.

    All variables are asked for at once, so there are as many questions as the largest family has parents, and two.

    Parameters
    ----------
    arcs : Arcs
        Required arcs lead forwards in the order.
    order : sequence of int
        All variables; parents come before their children.

    Examples
    --------
    >>> from bayeskit._structure.search_protocol import answer_all
    >>> worth = {(1, 0b001): 5.0, (2, 0b010): 3.0, (2, 0b011): 2.0}
    >>> def answer(families):
    ...     sets = ([f.parents | 1 << v for v in f.more] if f.more else [f.parents] for f in families)
    ...     return [[worth.get((f.child, some), 0.0) for some in each] for f, each in zip(families, sets)]
    >>> answer_all(k2(Arcs.all(3), [0, 1, 2]), answer).parents
    (0, 1, 2)

    References
    ----------
    G. F. Cooper and E. Herskovits, "A Bayesian method for the induction of probabilistic networks from data",
    Machine Learning 9 (1992).
    """
    parents = list(arcs.required)
    before = 0
    allowed = [0] * arcs.n
    for v in order:
        allowed[v] = arcs.allowed[v] & before
        before |= 1 << v
    try:
        found = yield [Family(v, parents[v]) for v in range(arcs.n)]
        scores = [float(score[0]) for score in found]
        tie = slack(np.array(scores))
        growing = list(range(arcs.n))
        while True:
            question = [
                Family(v, parents[v], tuple(members(allowed[v] & ~parents[v])))
                for v in growing
                if allowed[v] & ~parents[v] and parents[v].bit_count() < arcs.max_parents
            ]
            if not question:
                break
            growing = []
            for (child, _, more), answer in zip(question, (yield question), strict=True):
                gained = np.asarray(answer)
                best = float(gained.max())
                if best > scores[child] + tie:
                    # The lowest of equal ones.
                    parents[child] |= 1 << (more or ())[int(np.argmax(gained >= best - tie))]
                    scores[child] = best
                    growing.append(child)
    except Stop:
        pass
    return Graph(tuple(parents))
