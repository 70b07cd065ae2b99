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
        raise SettingError("No network without a cycle keeps the required and forbidden arcs.")
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
