"""Hill climbing: from graph to graph by the best arc to put in, take out or turn round."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace

import numpy as np

from bayeskit.structure.arcs import Arcs
from bayeskit.structure.questions import Graph, Search, Stop
from bayeskit.structure.search.moves import Position


def hill_climbing(
    arcs: Arcs,
    *,
    start: tuple[int, ...] | None = None,
    tabu: int = 0,
    max_worse: int = 15,
    restarts: int = 0,
    perturb: int | None = None,
    rng: np.random.Generator | None = None,
    candidates: tuple[int, ...] | None = None,
) -> Search:
    """Climb until no single arc makes the score better.

    Parameters
    ----------
    arcs : Arcs
    start : tuple of sets, optional
        The parents of each variable at the start: a graph without a cycle that keeps the limits. The required arcs
        alone unless given.
    tabu : int
        How many of the graphs visited last are not visited again. With a list the search goes on from a summit by the
        best move downwards; without one (0) it ends there.
    max_worse : int
        The most moves, with a tabu list, that lose score before a graph better than all of this climb is reached.
        Moves within a class of equivalent graphs neither gain nor lose: there may be as many as the list is long.
    restarts : int
        How often to climb again from the best graph, some random moves away.
    perturb : int, optional
        The number of random moves; the square root of the number of arcs unless given.
    rng : Generator, optional
        Draws the random moves.
    candidates : tuple of sets, optional
        Only these parents are tried.

    Returns
    -------
    Search
        Answers with the best graph met.

    Examples
    --------
    Three variables; the second is worth more with the first as its parent, and the third with the second.

    >>> from bayeskit.structure.questions import answer_all
    >>> worth = {(1, 0b001): 5.0, (2, 0b010): 3.0, (2, 0b011): 2.0}
    >>> def answer(families):
    ...     sets = ([f.parents | 1 << v for v in f.more] if f.more else [f.parents] for f in families)
    ...     return [[worth.get((f.child, some), 0.0) for some in each] for f, each in zip(families, sets)]
    >>> answer_all(hill_climbing(Arcs.all(3)), answer).parents
    (0, 1, 2)

    References
    ----------
    F. Glover, "Tabu search: part I", ORSA Journal on Computing 1 (1989).
    """
    if candidates is not None:
        arcs = replace(arcs, allowed=tuple(a & c for a, c in zip(arcs.allowed, candidates)))
    rng = np.random.default_rng(0) if rng is None else rng
    best = arcs.required if start is None else tuple(start)
    position = Position(arcs, best)
    try:
        yield from position.ask()
        best_total, tie = position.total, position.tie
        for climb in range(restarts + 1):
            if climb:
                position = Position(arcs, best)
                n_arcs = sum(parents.bit_count() for parents in best)
                position.shake(rng, max(1, round(math.sqrt(n_arcs))) if perturb is None else perturb)
                yield from position.ask()
            peak, worse, level = position.total, 0, 0
            visited = deque([position.key], maxlen=tabu)
            while (move := position.best_move(tie, visited)) is not None:
                if move.gain < -tie:
                    worse += 1
                elif move.gain <= tie:
                    level += 1
                if worse > (max_worse if tabu else 0) or level > tabu:
                    break
                position.apply(move)
                yield from position.ask()
                visited.append(position.key)
                # Half a tie: a move that gains more than one must count, whatever the rounding of the totals.
                if position.total > peak + tie / 2:
                    peak, worse, level = position.total, 0, 0
                    if peak > best_total + tie / 2:
                        best, best_total = tuple(position.parents), peak
    except Stop:
        pass
    return Graph(best)
