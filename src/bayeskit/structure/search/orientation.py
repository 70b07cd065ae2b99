"""Which arcs of a skeleton have a direction, given its head-to-head nodes and what is known beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bayeskit.structure.arcs import Arcs
from bayeskit.structure.questions import Graph, members

Pair = tuple[int, int]


@dataclass(frozen=True)
class Oriented(Graph):
    """A graph with directed and undirected arcs, never a cycle of directed ones.

    ``conflicts`` lists the pairs a < b whose direction is contradicted: by two head-to-head nodes, by what is
    known, or because the arc would close a cycle. Known directions stay; of the rest these arcs are undirected.
    """

    conflicts: tuple[Pair, ...] = ()


def orient(near: Sequence[int], heads: Iterable[tuple[int, int, int]], arcs: Arcs) -> Oriented:
    """Direct the arcs of a skeleton by what is known, by a → c ← b, and then by Meek's rules.

    Nothing depends on the numbers of the variables: arcs that contradict each other fall together.

    Parameters
    ----------
    near : for each variable its neighbours
    heads : (a, c, b) for every a → c ← b with a and b not joined
    arcs : Arcs
        A required arc, or one that is allowed one way only, is directed first.

    Examples
    --------
    >>> near = [0b0100, 0b0100, 0b1011, 0b0100]  # 0 — 2, 1 — 2, 2 — 3
    >>> found = orient(near, [(0, 2, 1)], Arcs.all(4))
    >>> found.parents, sorted(found.undirected)  # 0 → 2 ← 1, and so 2 → 3
    ((0, 0, 3, 4), [])
    >>> found = orient([0b010, 0b101, 0b010], [], Arcs((0b110, 0b101, 0b011), (0b010, 0, 0), 2))
    >>> found.parents, sorted(found.undirected)  # 1 → 0 is known; 1 → 2 or 2 → 1 may be
    ((2, 0, 0), [(1, 2)])

    References
    ----------
    C. Meek, "Causal inference and causal explanation with background knowledge", UAI 1995.
    """
    pattern = _Pattern(near)
    known = {
        (x, y)
        for y in range(len(near))
        for x in members(near[y] & arcs.allowed[y])
        if arcs.required[y] >> x & 1 or not arcs.allowed[x] >> y & 1
    }
    pattern.direct(known)
    pattern.direct({arm for a, c, b in heads for arm in ((a, c), (b, c))})
    while new := pattern.forced(with_knowledge=bool(known)):
        pattern.direct(new)
    return pattern.graph()


class _Pattern:
    """Arcs while they are being directed."""

    def __init__(self, near: Sequence[int]) -> None:
        self.near = tuple(near)
        self.loose = list(near)
        self.parents = [0] * len(near)
        self.children = [0] * len(near)
        self.conflicts: set[Pair] = set()

    def direct(self, wanted: set[Pair]) -> None:
        """Direct all of these at once, but those that contradict each other, an arc that stands, or close a cycle."""
        bad = {(x, y) for x, y in wanted if (y, x) in wanted or self.children[y] >> x & 1}
        new = {(x, y) for x, y in wanted if self.loose[x] >> y & 1} - bad
        children = list(self.children)
        for x, y in new:
            children[x] |= 1 << y
        circular = _on_cycles(children)
        bad |= {(x, y) for x, y in new if circular[x] >> y & 1}
        self.conflicts |= {(min(arc), max(arc)) for arc in bad}
        for x, y in new - bad:
            self.children[x] |= 1 << y
            self.parents[y] |= 1 << x
            self.loose[x] ^= 1 << y
            self.loose[y] ^= 1 << x

    def forced(self, with_knowledge: bool) -> set[Pair]:
        """Return the undirected arcs to which one of Meek's rules gives a direction."""
        return {
            (x, y)
            for x in range(len(self.near))
            for y in members(self.loose[x])
            if (min(x, y), max(x, y)) not in self.conflicts and self._forces(x, y, with_knowledge)
        }

    def _forces(self, x: int, y: int, with_knowledge: bool) -> bool:
        # Of the variables that are not neighbours of y; y itself is none of them.
        far = ~(self.near[y] | 1 << y)
        # Rule 1, w → x: else w → x ← y were head to head. Rule 2, x → w → y: else there were a cycle.
        if self.parents[x] & far or self.children[x] & self.parents[y]:
            return True
        # Rule 3, x — v → y ← w — x with v, w not joined: with y → x both had to point at x.
        ins = self.loose[x] & self.parents[y]
        if any(ins & ~(self.near[v] | 1 << v) for v in members(ins)):
            return True
        # Rule 4, x — w → v → y with w, y not joined and v a neighbour of x: only knowledge leads to such a pattern.
        return with_knowledge and any(
            self.parents[v] & self.loose[x] & far for v in members(self.parents[y] & self.near[x])
        )

    def graph(self) -> Oriented:
        undirected = frozenset((x, y) for x, some in enumerate(self.loose) for y in members(some) if x < y)
        return Oriented(tuple(self.parents), undirected, tuple(sorted(self.conflicts)))


def _on_cycles(children: list[int]) -> list[int]:
    """Return for every variable those of its children from which a path leads back to it."""
    left = (1 << len(children)) - 1
    # Take away what has no children left until only cycles remain, and what leads to them.
    while gone := sum(1 << v for v in members(left) if not children[v] & left):
        left &= ~gone
    found = [0] * len(children)
    for x in members(left):
        for y in members(children[x] & left):
            if _reaches(children, y, x):
                found[x] |= 1 << y
    return found


def _reaches(children: list[int], source: int, goal: int) -> bool:
    seen = fresh = 1 << source
    while fresh and not seen >> goal & 1:
        fresh = _union(children, fresh) & ~seen
        seen |= fresh
    return bool(seen >> goal & 1)


def _union(sets: list[int], some: int) -> int:
    union = 0
    for v in members(some):
        union |= sets[v]
    return union
