"""The search that is used unless another is named: classes of equivalent graphs, then orders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayeskit.structure.arcs import Arcs
from bayeskit.structure.questions import Graph, Search, Stop, members
from bayeskit.structure.search.equivalence import Classes
from bayeskit.structure.search.order import Orders, lawful
from bayeskit.structure.search.partial import topological


def auto(arcs: Arcs, *, rng: np.random.Generator, effort: int = 20) -> Search:
    """Search classes of equivalent graphs, then orders from an order of the graph found, then classes again.

    The first is fast and mostly near; the second leaves what the first is stuck in. They take turns while the graph
    gets better.

    Parameters
    ----------
    arcs : Arcs
        All limits are kept. With required or forbidden arcs the search over classes, which knows none, only gives the
        first order.
    rng : numpy.random.Generator
    effort : int
        Restarts of the search over orders that may bring nothing better in a row.

    Examples
    --------
    >>> from bayeskit.structure.questions import answer_all
    >>> def score(families):  # 1 tells all of 0 and 2, and they of it
    ...     near = {0: 2, 1: 5, 2: 2}
    ...     each = lambda child, parents: 9.0 * (parents & near[child]).bit_count() - parents.bit_count()
    ...     return [np.array([each(c, p) if more is None else each(c, p | 1 << v) for v in more or (0,)])
    ...             for c, p, more in families]
    >>> answer_all(auto(Arcs.all(3), rng=np.random.default_rng(0)), score).parents
    (0, 1, 2)
    """
    classes = Classes(Arcs.all(arcs.n, arcs.max_parents), (0,) * arcs.n)
    orders = Orders(arcs, rng)
    try:
        yield from classes.search()
        yield from orders.begin()
        yield from orders.offer(legal(classes.parents, arcs))
        while True:
            yield from orders.search(topological(classes.parents), effort)
            if not arcs.is_free:
                break
            classes = Classes(arcs, orders.best)
            yield from classes.search()
            if not (yield from orders.offer(classes.parents)):
                break
    except Stop:
        if orders.best_score == -np.inf:
            return Graph(legal(classes.parents, arcs))
    return Graph(orders.best)


def legal(parents: Sequence[int], arcs: Arcs) -> tuple[int, ...]:
    """Return a graph that keeps the limits: the arcs of this one that may stay, and those required.

    Examples
    --------
    >>> legal((0b10, 0, 0b11), Arcs((0b110, 0b101, 0b011), (0, 0b1, 0), 1))
    (0, 1, 1)
    """
    found = [0] * arcs.n
    before = 0
    for v in lawful(topological(parents), arcs):
        found[v] = arcs.required[v]
        for u in members(parents[v] & arcs.allowed[v] & before & ~found[v]):
            if found[v].bit_count() < arcs.max_parents:
                found[v] |= 1 << u
        before |= 1 << v
    return tuple(found)
