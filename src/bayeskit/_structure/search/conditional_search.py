"""Hill climbing by the conditional likelihood of a class given the rest, not the joint likelihood."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, NamedTuple

import numpy as np

from bayeskit._structure.search_protocol import Arcs, Graph, Stop, members

# A gain below this share of the score is rounding.
_TIE = 1e-10


class ClassFamilies(NamedTuple):
    """Requests the conditional log-likelihood of a class for these families: its own and those of its children.

    No other family affects P(class | rest). The answer is one number; larger is better.
    """

    families: tuple[tuple[int, int], ...]


ConditionalSearch = Generator[list[ClassFamilies], list[Any], Graph]


def conditional(arcs: Arcs, target: int, start: tuple[int, ...] | None = None) -> ConditionalSearch:
    """Hill-climb while some move improves the prediction of the target.

    The moves are those that change P(target | rest): add or remove an arc into the target, out of it, or into
    one of its children; reverse an arc of the target. The best move is taken, and ties go to the first. So
    the result is never worse than the start.

    Parameters
    ----------
    arcs : Arcs
    target : int
    start : tuple of sets, optional
        The parents of each variable at the start, without a cycle; by default, the required arcs only.

    Examples
    --------
    Only the third variable helps to predict the first.

    >>> from bayeskit._structure.search_protocol import answer_all
    >>> def answer(questions):
    ...     return [float((2, 0b001) in q.families) - 0.1 * len(q.families) for q in questions]
    >>> answer_all(conditional(Arcs.all(3), 0), answer).parents
    (0, 0, 1)

    References
    ----------
    D. Grossman and P. Domingos, "Learning Bayesian network classifiers by maximizing conditional likelihood", ICML
    2004.
    """
    here = arcs.required if start is None else tuple(start)
    try:
        while True:
            found = [here, *_neighbours(arcs, target, here)]
            scores = np.array((yield [deciding(parents, target) for parents in found]), np.float64)
            best = int(np.argmax(scores))
            if scores[best] <= scores[0] + _TIE * max(1.0, abs(float(scores[0]))):
                break
            here = found[best]
    except Stop:
        pass
    return Graph(here)


def deciding(parents: tuple[int, ...], target: int) -> ClassFamilies:
    """Return the families of the target and of its children.

    >>> deciding((0, 0b101, 0), 0)
    ClassFamilies(families=((0, 0), (1, 5)))
    """
    return ClassFamilies(
        tuple((v, mine) for v, mine in enumerate(parents) if v == target or mine >> target & 1)
    )


def _neighbours(arcs: Arcs, target: int, parents: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the neighbouring graphs: arcs added, then removed, then reversed."""
    above = [_ancestors(parents, v) for v in range(arcs.n)]

    def may_have(child: int, parent: int) -> bool:
        room = parents[child].bit_count() < arcs.max_parents
        return room and bool(arcs.allowed[child] >> parent & 1)

    pairs = [(p, v) for v in range(arcs.n) for p in range(arcs.n) if p != v]
    for p, v in pairs:
        matters = target in (p, v) or parents[v] >> target & 1
        if matters and not parents[v] >> p & 1 and may_have(v, p) and not above[p] >> v & 1:
            yield _changed(parents, v, parents[v] | 1 << p)
    for p, v in pairs:
        if not parents[v] >> p & 1 or arcs.required[v] >> p & 1:
            continue
        if target in (p, v) or parents[v] >> target & 1:
            yield _changed(parents, v, parents[v] ^ 1 << p)
    for p, v in pairs:
        if not parents[v] >> p & 1 or arcs.required[v] >> p & 1 or target not in (p, v) or not may_have(p, v):
            continue
        without = _changed(parents, v, parents[v] ^ 1 << p)
        if not _ancestors(without, v) >> p & 1:
            yield _changed(without, p, without[p] | 1 << v)


def _changed(parents: tuple[int, ...], v: int, mine: int) -> tuple[int, ...]:
    return (*parents[:v], mine, *parents[v + 1 :])


def _ancestors(parents: tuple[int, ...], v: int) -> int:
    """Return a variable and its ancestors."""
    found, new = 1 << v, 1 << v
    while new:
        above = 0
        for u in members(new):
            above |= parents[u]
        new = above & ~found
        found |= new
    return found
