"""Exact search for the best network by dynamic programming (Silander and Myllymäki, 2006)."""

from __future__ import annotations

from collections.abc import Generator
from itertools import combinations
from typing import Any

import numpy as np

from bayeskit._numba import kernel
from bayeskit._structure.arcs import Arcs
from bayeskit._structure.search_protocol import Family, Graph, Question, Search, Stop, members
from bayeskit.errors import SettingError, TooLarge
from bayeskit.typing import Floats


@kernel
def best_of_subsets(best: Any, n: int) -> None:
    """Raise the number of every subset of n members to the largest among its own subsets."""
    for bit in range(n):
        step = 1 << bit
        for some in range(1 << n):
            if some & step and best[some ^ step] > best[some]:
                best[some] = best[some ^ step]


@kernel
def best_networks(best_parents: Any, totals: Any, sinks: Any, n: int) -> None:
    """Find for every set of variables the best network over it, and a variable that has no child in it.

    ``best_parents[v, S]`` is the best score of v with parents inside S, in which the bit of v itself is left
    out. The network over S is that over S without its sink v, and v with parents among the rest. Of equally good
    sinks the highest, so that arcs rather lead from low to high.
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
    """Return the bytes for n variables: for each the best parents in every set of the others, and all sets."""
    return 8 * n * (1 << max(n - 1, 0)) + 9 * (1 << n)


def exact(arcs: Arcs, *, max_memory: float = MAX_MEMORY, names: tuple[Any, ...] = ()) -> Search:
    """Search for a network whose score no other exceeds.

    Every family with few enough parents is asked for, so the number of parents matters as much as that of
    variables: 20 variables with up to 4 parents are 100,000 families. Stopped before, it answers with the best
    network of the families that were asked for; a variable not come to has its required parents only.

    Parameters
    ----------
    max_memory : the most bytes; beyond, TooLarge is raised before anything is counted
    names : what the variables are called, for that message
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
        raise SettingError("No network without a cycle keeps the required and forbidden arcs.")
    parents = [0] * n
    some = (1 << n) - 1
    while some:
        v = int(sinks[some])
        some ^= 1 << v
        parents[v] = _best_parents(v, some, tables[v])
    return Graph(tuple(parents))


def _score_all(v: int, arcs: Arcs, table: Floats) -> Generator[Question, list[Any], None]:
    """Ask for every family of a child, and write its scores."""
    required = arcs.required[v]
    free = [*members(arcs.allowed[v] & ~required)]
    table[_without(required, v)] = (yield [Family(v, required)])[0][0]
    for size in range(arcs.max_parents - required.bit_count()):
        # All sets of size + 1, as sets of size and one more that comes after them.
        for chosen in combinations(free, size):
            base = required | sum(1 << u for u in chosen)
            more = tuple(u for u in free if not chosen or u > chosen[-1])
            if more:
                scores = (yield [Family(v, base, more)])[0]
                for u, score in zip(more, scores.tolist(), strict=True):
                    table[_without(base | (1 << u), v)] = score


def _fill(v: int, required: int, table: Floats) -> None:
    """Make do with the families of a child that were asked for; it is all the same what a lone one is worth."""
    place = _without(required, v)
    if table[place] == -np.inf:
        table[place] = 0.0
    best_of_subsets(table, len(table).bit_length() - 1)


def _best_parents(v: int, among: int, table: Floats) -> int:
    """Find a set of parents inside a set that is as good as any, and none of whose members can go.

    The table tells the best score within each set: where every member that goes costs something, the set itself has
    that score. The highest members go first.
    """
    best = table[_without(among, v)]
    for u in reversed([*members(among)]):
        if table[_without(among ^ (1 << u), v)] == best:
            among ^= 1 << u
    return among


def _without(some: int, v: int) -> int:
    """Return a set with the place of v taken out."""
    return (some & ((1 << v) - 1)) | (some >> (v + 1) << v)
