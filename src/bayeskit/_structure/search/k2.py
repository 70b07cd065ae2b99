"""The K2 algorithm: adds parents greedily from the variables before each one in a given order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayeskit._structure.search.hill_climbing import slack
from bayeskit._structure.search_protocol import Arcs, Family, Graph, Search, Stop, members


def k2(arcs: Arcs, order: Sequence[int]) -> Search:
    """Add to each variable the predecessor that improves its score most, until none does.

    All variables are requested at once, so the number of requests is that of the largest family's parents, plus two.

    Parameters
    ----------
    arcs : Arcs
        Required arcs must lead forwards in the order.
    order : sequence of int
        All variables, parents before their children.

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
                    # Ties go to the lowest.
                    parents[child] |= 1 << (more or ())[int(np.argmax(gained >= best - tie))]
                    scores[child] = best
                    growing.append(child)
    except Stop:
        pass
    return Graph(tuple(parents))
