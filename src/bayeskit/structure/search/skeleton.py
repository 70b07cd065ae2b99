"""Which variables are neighbours: those that no set of others makes independent."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import Any

from bayeskit.structure.arcs import Arcs
from bayeskit.structure.questions import Question, Test, bits, members

# A round asks, of every variable, for twice as many sets as the one before, so that few questions are superfluous:
# an arc that one set takes away needs no other. Of one variable it asks at most this many.
MOST_SETS = 256


@dataclass
class Skeleton:
    """Neighbours while they are searched for, and the set that separated each pair a < b that are none.

    ``frozen[k]`` are the neighbours from which sets of k variables were taken.
    """

    near: list[int]
    separating: dict[tuple[int, int], int] = field(default_factory=dict)
    frozen: list[tuple[int, ...]] = field(default_factory=list)

    @classmethod
    def possible(cls, arcs: Arcs) -> Skeleton:
        """Join every two variables that an arc may join."""
        near = list(arcs.allowed)
        for v, parents in enumerate(arcs.allowed):
            for p in members(parents):
                near[p] |= 1 << v
        return cls(near)

    def part(self, a: int, b: int, given: int) -> None:
        """Take the arc between two variables away."""
        self.near[a] &= ~(1 << b)
        self.near[b] &= ~(1 << a)
        self.separating[min(a, b), max(a, b)] = given


def thin(
    skeleton: Skeleton, arcs: Arcs, alpha: float, max_given: int | None
) -> Generator[Question, list[Any], None]:
    """Part all pairs that a set of neighbours makes independent (p > alpha): sets of 0, then 1, … variables.

    The neighbours from which sets are taken stay as they were at the beginning of a size, so the order of the
    variables does not matter. It ends when no variable has enough neighbours, at ``max_given``, or when no
    test of a size can be made any more. Required arcs stay.

    References
    ----------
    D. Colombo and M. H. Maathuis, "Order-independent constraint-based causal structure learning", JMLR 15 (2014).
    """
    n = len(skeleton.near)
    kept = list(arcs.required)
    for v, parents in enumerate(arcs.required):
        for p in members(parents):
            kept[p] |= 1 << v
    size = 0
    while max_given is None or size <= max_given:
        frozen = tuple(skeleton.near)
        open_ends = [v for v in range(n) if frozen[v] & ~kept[v] and frozen[v].bit_count() > size]
        if not open_ends:
            return
        skeleton.frozen.append(frozen)
        sets = {v: _sets(frozen[v], size) for v in open_ends}
        made, at_once = False, 1
        while sets:
            asked: list[Test] = []
            for v in list(sets):
                some = list(islice(sets[v], at_once))
                if len(some) < at_once:
                    del sets[v]
                for given in some:
                    ends = skeleton.near[v] & ~kept[v] & ~given
                    # The end with the lower number asks where the set lies among the neighbours of both.
                    asked += [Test(v, u, given) for u in members(ends) if u > v or given & ~frozen[u]]
            if asked:
                answers = yield asked
                made |= _part(skeleton, asked, answers, alpha)
            at_once = min(2 * at_once, MOST_SETS)
        if not made:
            return
        size += 1


def _sets(some: int, size: int) -> Iterator[int]:
    return map(bits, combinations(list(members(some)), size))


def _part(skeleton: Skeleton, asked: list[Test], answers: list[Any], alpha: float) -> bool:
    """Take away the arcs that were found superfluous; tell whether any test could be made."""
    best: dict[tuple[int, int], tuple[float, int]] = {}
    made = False
    for (a, b, given), (_, _, p) in zip(asked, answers):
        made |= p == p
        pair = (min(a, b), max(a, b))
        if p > alpha and (pair not in best or p > best[pair][0]):
            best[pair] = (p, given)
    for (a, b), (_, given) in best.items():
        skeleton.part(a, b, given)
    return made
