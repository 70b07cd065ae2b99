"""The default search: equivalence classes, then orders of the variables; for wide tables classes, then tabu search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayeskit._structure.search.equivalence import WIDE, Classes, topological
from bayeskit._structure.search.hill_climbing import TABU, hill_climbing
from bayeskit._structure.search.order import Orders, lawful
from bayeskit._structure.search_protocol import Arcs, Graph, Search, Stop, members

# Above WIDE columns, the default search takes at most this many seconds, and so many for each column.
LEAST_SECONDS, SECONDS_A_COLUMN = 30.0, 0.1


def default_seconds(n: int) -> float | None:
    """Return how long the default search may take over n columns; None for as long as it needs.

    >>> default_seconds(100), default_seconds(101), default_seconds(1000)
    (None, 30.0, 100.0)
    """
    return None if n <= WIDE else max(LEAST_SECONDS, SECONDS_A_COLUMN * n)


def auto(arcs: Arcs, *, rng: np.random.Generator, effort: int = 20) -> Search:
    """Search equivalence classes, then orders from an order of the graph found, then classes again.

    The first search is fast and usually gets close; the second escapes its local optima. They alternate while
    the graph improves. With more than 100 variables, orders take too long: tabu search from the graph found
    takes their place.

    Parameters
    ----------
    arcs : Arcs
        All limits are respected. With required or forbidden arcs, the search over classes ignores them and
        only gives the first order.
    rng : numpy.random.Generator
    effort : int
        The number of restarts of the order search without improvement.

    Examples
    --------
    >>> from bayeskit._structure.search_protocol import answer_all
    >>> def score(families):  # 1 tells all of 0 and 2, and they of it
    ...     near = {0: 2, 1: 5, 2: 2}
    ...     each = lambda child, parents: 9.0 * (parents & near[child]).bit_count() - parents.bit_count()
    ...     return [np.array([each(c, p) if more is None else each(c, p | 1 << v) for v in more or (0,)])
    ...             for c, p, more in families]
    >>> answer_all(auto(Arcs.all(3), rng=np.random.default_rng(0)), score).parents
    (0, 1, 2)
    """
    classes = Classes(Arcs.all(arcs.n, arcs.max_parents), (0,) * arcs.n)
    if arcs.n > WIDE:
        return (yield from _wide(arcs, classes))
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


def _wide(arcs: Arcs, classes: Classes) -> Search:
    try:
        yield from classes.search()
    except Stop:
        return Graph(legal(classes.parents, arcs))
    # It catches Stop itself, and returns the best graph that it visited: the start, if no other.
    return (yield from hill_climbing(arcs, start=legal(classes.parents, arcs), **TABU))


def legal(parents: Sequence[int], arcs: Arcs) -> tuple[int, ...]:
    """Return a graph within the limits: the arcs of this one that may stay, and the required ones.

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
