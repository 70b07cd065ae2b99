"""The PC algorithm: finds an equivalence class of graphs by independence tests."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import Any

from bayeskit._structure.search_protocol import Arcs, Graph, Question, Search, Stop, Test, bits, members

# Each round tests twice as many sets of every variable as the one before, so that few tests are superfluous:
# an edge that one set removes needs no other. At most this many sets of one variable are tested in a round.
MOST_SETS = 256


@dataclass
class Skeleton:
    """The neighbours during the search, and the set that separated each pair a < b of non-neighbours.

    ``frozen[k]`` are the neighbours from which the sets of k variables are taken.
    """

    near: list[int]
    separating: dict[tuple[int, int], int] = field(default_factory=dict)
    frozen: list[tuple[int, ...]] = field(default_factory=list)

    @classmethod
    def possible(cls, arcs: Arcs) -> Skeleton:
        """Connect every two variables that an allowed arc can connect."""
        near = list(arcs.allowed)
        for v, parents in enumerate(arcs.allowed):
            for p in members(parents):
                near[p] |= 1 << v
        return cls(near)

    def part(self, a: int, b: int, given: int) -> None:
        """Remove the edge between two variables."""
        self.near[a] &= ~(1 << b)
        self.near[b] &= ~(1 << a)
        self.separating[min(a, b), max(a, b)] = given


def thin(
    skeleton: Skeleton, arcs: Arcs, significance: float, max_given: int | None
) -> Generator[Question, list[Any], None]:
    """Separate all pairs that sets of 0, then 1, … neighbours make independent (p > significance).

    For each size, the neighbours from which sets are taken are fixed at the start, so the order of the
    variables does not matter. It ends when no variable has enough neighbours, at ``max_given``, or when no
    test of a size is possible. Required arcs stay.

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
            tests: list[Test] = []
            for v in list(sets):
                some = list(islice(sets[v], at_once))
                if len(some) < at_once:
                    del sets[v]
                for given in some:
                    ends = skeleton.near[v] & ~kept[v] & ~given
                    # If the set consists of neighbours of both ends, only the end with the lower number tests it.
                    tests += [Test(v, u, given) for u in members(ends) if u > v or given & ~frozen[u]]
            if tests:
                answers = yield tests
                made |= _part(skeleton, tests, answers, significance)
            at_once = min(2 * at_once, MOST_SETS)
        if not made:
            return
        size += 1


def _sets(some: int, size: int) -> Iterator[int]:
    return map(bits, combinations(list(members(some)), size))


def _part(skeleton: Skeleton, tests: list[Test], answers: list[Any], significance: float) -> bool:
    """Remove the edges found superfluous; return whether any test was possible."""
    best: dict[tuple[int, int], tuple[float, int]] = {}
    made = False
    for (a, b, given), (_, _, p) in zip(tests, answers, strict=True):
        made |= p == p
        pair = (min(a, b), max(a, b))
        if p > significance and (pair not in best or p > best[pair][0]):
            best[pair] = (p, given)
    for (a, b), (_, given) in best.items():
        skeleton.part(a, b, given)
    return made


Pair = tuple[int, int]
Heads = set[tuple[int, int, int]]


def pc(arcs: Arcs, significance: float = 0.01, max_given: int | None = None, majority: bool = True) -> Search:
    """Search for the equivalence class whose separations match the independence tests.

    Start with all edges. Remove those whose ends are independent given some neighbours (p > significance).
    Find the head-to-head nodes, and direct what follows from them. The result has directed and undirected
    edges and no cycle. It lists the edges whose directions contradict each other (see
    :class:`~bayeskit._structure.search.pc.OrientedGraph`). ``arcs.max_parents`` is ignored: tests determine
    neighbours, not parents.

    Parameters
    ----------
    arcs : Arcs
        An arc that is not allowed in either direction is never included; a required one always is.
    significance : float
        The level of the tests: a smaller level gives fewer edges.
    max_given : int, optional
        The maximum size of a conditioning set.
    majority : bool
        Let all smallest separating sets of a and b vote whether c, a neighbour of both, is head-to-head
        between them: it is if most sets do not contain it. The sets consist of current neighbours or, if none
        of these separates, of neighbours at the time of the separation. So the result does not depend on the
        order of the variables. Otherwise, the first set found decides.

    Examples
    --------
    >>> from bayeskit._structure.search_protocol import answer_all
    >>> def coins(tests):  # 2 tells whether the coins 0 and 1 agree; 3 is a copy of 2 with errors
    ...     alone = {Test(0, 1, 0), Test(0, 3, 0b0100), Test(1, 3, 0b0100)}
    ...     return [(0.0, 1, float(Test(min(a, b), max(a, b), given) in alone)) for a, b, given in tests]
    >>> found = answer_all(pc(Arcs.all(4)), coins)
    >>> found.parents, sorted(found.undirected)
    ((0, 0, 3, 4), [])

    References
    ----------
    P. Spirtes, C. Glymour, R. Scheines, *Causation, Prediction, and Search* (2000).
    D. Colombo and M. H. Maathuis, "Order-independent constraint-based causal structure learning", JMLR 15 (2014).
    """
    skeleton = Skeleton.possible(arcs)
    try:
        yield from thin(skeleton, arcs, significance, max_given)
        heads = yield from _heads(skeleton, significance, max_given, majority)
    except Stop:
        heads = _heads_of_first_sets(skeleton)
    return orient(skeleton.near, heads, arcs)


def _spans(skeleton: Skeleton) -> dict[Pair, int]:
    """Return all non-adjacent pairs with common neighbours, and these neighbours."""
    near = skeleton.near
    return {
        (a, b): near[a] & near[b]
        for a, b in combinations(range(len(near)), 2)
        if near[a] & near[b] and not near[a] >> b & 1
    }


def _heads_of_first_sets(skeleton: Skeleton) -> Heads:
    return {
        (a, c, b)
        for (a, b), common in _spans(skeleton).items()
        if (a, b) in skeleton.separating
        for c in members(common & ~skeleton.separating[a, b])
    }


def _heads(
    skeleton: Skeleton, significance: float, max_given: int | None, majority: bool
) -> Generator[Question, list[Any], Heads]:
    """Return the head-to-head nodes. Pairs that were never tested, because no arc is allowed, always vote."""
    heads = set() if majority else _heads_of_first_sets(skeleton)
    spans = _spans(skeleton)
    silent = [pair for pair in spans if majority or pair not in skeleton.separating]
    tried = len(skeleton.frozen)
    for size in range((tried if max_given is None else min(max_given, tried)) + 1):
        separating = yield from _separating(skeleton.near, silent, size, significance)
        heads |= _elected(separating, spans)
        silent = [pair for pair in silent if pair not in separating]
    # The sets that separated the other pairs contain former neighbours.
    for size, frozen in enumerate(skeleton.frozen):
        parted = [pair for pair in silent if pair in skeleton.separating]
        late = [pair for pair in parted if skeleton.separating[pair].bit_count() == size]
        heads |= _elected((yield from _separating(frozen, late, size, significance)), spans)
    return heads


def _separating(
    near: Sequence[int], pairs: list[Pair], size: int, significance: float
) -> Generator[Question, list[Any], dict[Pair, list[int]]]:
    """Return for each pair the sets of this size, of neighbours of one of the two, that make them independent."""
    tests: dict[Test, None] = {}
    for a, b in pairs:
        for end in (a, b):
            some = [*members(near[end] & ~(1 << a | 1 << b))]
            tests.update((Test(a, b, bits(given)), None) for given in combinations(some, size))
    found: dict[Pair, list[int]] = {}
    if tests:
        answers = yield list(tests)
        for (a, b, given), (_, _, p) in zip(tests, answers, strict=True):
            if p > significance:
                found.setdefault((a, b), []).append(given)
    return found


def _elected(separating: dict[Pair, list[int]], spans: dict[Pair, int]) -> Heads:
    """Return the common neighbours that fewer than half of the sets contain."""
    return {
        (a, c, b)
        for (a, b), sets in separating.items()
        for c in members(spans[a, b])
        if 2 * sum(given >> c & 1 for given in sets) < len(sets)
    }


@dataclass(frozen=True)
class OrientedGraph(Graph):
    """A graph with directed and undirected edges, without directed cycles.

    ``conflicts`` lists the pairs a < b with contradictory directions: because of two head-to-head nodes, of
    prior knowledge, or because the arc would close a cycle. Known directions stay; the other conflicting
    edges are undirected.
    """

    conflicts: tuple[Pair, ...] = ()


def orient(near: Sequence[int], heads: Iterable[tuple[int, int, int]], arcs: Arcs) -> OrientedGraph:
    """Direct the edges of a skeleton by prior knowledge, by a → c ← b, and then by Meek's rules.

    Nothing depends on the numbers of the variables: contradictory arcs are dropped together.

    Parameters
    ----------
    near : for each variable its neighbours
    heads : (a, c, b) for every a → c ← b with a and b not adjacent
    arcs : Arcs
        A required arc, or one that is allowed in one direction only, is directed first.

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
    """The edges while they are being directed."""

    def __init__(self, near: Sequence[int]) -> None:
        self.near = tuple(near)
        self.loose = list(near)
        self.parents = [0] * len(near)
        self.children = [0] * len(near)
        self.conflicts: set[Pair] = set()

    def direct(self, wanted: set[Pair]) -> None:
        """Direct all of these at once, except those that contradict each other or an existing arc, or close a cycle."""
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
        """Return the undirected edges to which one of Meek's rules gives a direction."""
        return {
            (x, y)
            for x in range(len(self.near))
            for y in members(self.loose[x])
            if (min(x, y), max(x, y)) not in self.conflicts and self._forces(x, y, with_knowledge)
        }

    def _forces(self, x: int, y: int, with_knowledge: bool) -> bool:
        # Only variables that are not neighbours of y; y itself is excluded.
        far = ~(self.near[y] | 1 << y)
        # Rule 1, w → x: otherwise w → x ← y would be head-to-head. Rule 2, x → w → y: otherwise there would
        # be a cycle.
        if self.parents[x] & far or self.children[x] & self.parents[y]:
            return True
        # Rule 3, x — v → y ← w — x with v, w not adjacent: with y → x both would have to point at x.
        ins = self.loose[x] & self.parents[y]
        if any(ins & ~(self.near[v] | 1 << v) for v in members(ins)):
            return True
        # Rule 4, x — w → v → y with w, y not adjacent and v a neighbour of x: occurs only with prior knowledge.
        return with_knowledge and any(
            self.parents[v] & self.loose[x] & far for v in members(self.parents[y] & self.near[x])
        )

    def graph(self) -> OrientedGraph:
        undirected = frozenset((x, y) for x, some in enumerate(self.loose) for y in members(some) if x < y)
        return OrientedGraph(tuple(self.parents), undirected, tuple(sorted(self.conflicts)))


def _on_cycles(children: list[int]) -> list[int]:
    """Return for every variable its children from which a path leads back to it."""
    left = (1 << len(children)) - 1
    # Remove variables without children until only cycles, and what leads to them, remain.
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
