"""Equivalence classes of graphs as bit sets, conversion to and from graphs, and greedy search (GES)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bayeskit._structure.search_protocol import Arcs, Family, Graph, Question, Search, Stop, members
from bayeskit.errors import SettingError


@dataclass(frozen=True)
class PartialGraph:
    """A graph whose edges may be undirected.

    Attributes
    ----------
    parents : for each variable, its parents
    near : for each variable, its undirected neighbours
    """

    parents: tuple[int, ...]
    near: tuple[int, ...]

    @cached_property
    def children(self) -> tuple[int, ...]:
        """For each variable, its children."""
        return children_of(self.parents)

    @cached_property
    def joined(self) -> tuple[int, ...]:
        """For each variable, all adjacent variables, whatever the direction."""
        return tuple(a | b | c for a, b, c in zip(self.parents, self.near, self.children, strict=True))

    def has_path(self, source: int, target: int, without: int) -> bool:
        """Whether a path along arcs and undirected edges, never against an arc, avoids a set of variables."""
        goal, seen, frontier = 1 << target, 1 << source | without, 1 << source
        while frontier:
            step = 0
            for v in members(frontier):
                step |= self.children[v] | self.near[v]
            if step & goal:
                return True
            frontier = step & ~seen
            seen |= frontier
        return False


def children_of(parents: Sequence[int]) -> tuple[int, ...]:
    """Return the children of each variable.

    >>> children_of((0, 0b1, 0b1))
    (6, 0, 0)
    """
    children = [0] * len(parents)
    for v, mine in enumerate(parents):
        for p in members(mine):
            children[p] |= 1 << v
    return tuple(children)


def topological(parents: Sequence[int]) -> list[int]:
    """Return the variables of an acyclic graph, each after its parents; ties go to the lowest.

    >>> topological((0b100, 0, 0b10))
    [1, 2, 0]
    """
    children: list[list[int]] = [[] for _ in parents]
    waiting = [mine.bit_count() for mine in parents]
    for v, mine in enumerate(parents):
        for p in members(mine):
            children[p].append(v)
    ready = [v for v, n in enumerate(waiting) if n == 0]  # ascending, so a heap
    order: list[int] = []
    while ready:
        v = heapq.heappop(ready)
        order.append(v)
        for child in children[v]:
            waiting[child] -= 1
            if waiting[child] == 0:
                heapq.heappush(ready, child)
    return order


def complete(parents: Sequence[int]) -> PartialGraph:
    """Return the class of a graph: an arc keeps its direction if all equivalent graphs agree on it.

    Examples
    --------
    >>> complete((0, 0b1, 0b10))  # 0 → 1 → 2 may be reversed
    PartialGraph(parents=(0, 0, 0), near=(2, 5, 2))
    >>> complete((0, 0b101, 0))  # 0 → 1 ← 2 may not
    PartialGraph(parents=(0, 5, 0), near=(0, 0, 0))

    References
    ----------
    D. M. Chickering, "A transformational characterization of equivalent Bayesian network structures", UAI 1995.
    """
    order = topological(parents)
    rank = {v: place for place, v in enumerate(order)}
    compelled, near = [0] * len(order), [0] * len(order)
    for y in order:
        mine = parents[y]
        if not mine:
            continue
        x = max(members(mine), key=rank.__getitem__)
        if compelled[x] & ~mine or mine & ~(parents[x] | 1 << x):
            compelled[y] = mine
            continue
        compelled[y] = compelled[x]
        for p in members(mine ^ compelled[x]):
            near[y] |= 1 << p
            near[p] |= 1 << y
    return PartialGraph(tuple(compelled), tuple(near))


def extension(partial: PartialGraph) -> tuple[int, ...] | None:
    """Return a graph with the same edges, arcs and v-structures; None if there is none.

    Repeatedly removes a variable into which all its edges may point; of several, the highest.

    Examples
    --------
    >>> extension(PartialGraph((0, 0, 0), (0b10, 0b101, 0b10)))
    (0, 1, 2)
    >>> extension(PartialGraph((0, 0, 0, 0), (0b1010, 0b101, 0b1010, 0b101))) is None  # a square without a chord
    True

    References
    ----------
    D. Dor and M. Tarsi, "A simple algorithm to construct a consistent extension of a partially oriented graph",
    1992.
    """
    children, near = partial.children, partial.near
    joined = partial.joined
    parents = list(partial.parents)
    left = (1 << len(parents)) - 1
    # A variable that cannot be removed now is tried again when one of its neighbours is gone.
    tried = [-v for v in reversed(range(len(parents)))]
    is_waiting = [True] * len(parents)
    while tried:
        v = -heapq.heappop(tried)
        is_waiting[v] = False
        around = joined[v] & left
        if children[v] & left or any(around & ~(joined[u] | 1 << u) for u in members(near[v] & left)):
            continue
        parents[v] |= near[v] & left
        left ^= 1 << v
        for u in members(around):
            if not is_waiting[u]:
                is_waiting[u] = True
                heapq.heappush(tried, -u)
    return None if left else tuple(parents)


def extended(graph: Graph, arcs: Arcs) -> tuple[int, ...]:
    """Direct every edge: as a member of the class, if one satisfies the limits; otherwise in some order.

    Independence tests may contradict each other; then no graph has all their arcs and v-structures. The
    remaining edges are directed from earlier to later variables of a topological order.

    Examples
    --------
    >>> extended(Graph((0, 0, 0), frozenset({(0, 1), (1, 2)})), Arcs.all(3))
    (0, 1, 2)
    """
    near = [0] * len(graph.parents)
    for a, b in graph.undirected:
        near[a] |= 1 << b
        near[b] |= 1 << a
    found = extension(PartialGraph(graph.parents, tuple(near)))
    if found is not None and arcs.permits(found):
        return found
    parents = list(graph.parents)
    rank = {v: k for k, v in enumerate(topological(parents))}
    for a, b in sorted(graph.undirected):
        first, second = (a, b) if rank[a] < rank[b] else (b, a)
        if not arcs.allowed[second] >> first & 1:
            # Reverse the edge if no path leads back; otherwise leave it out.
            first, second = second, first
            if not arcs.allowed[second] >> first & 1 or _reaches(parents, second, first):
                continue
        if parents[second].bit_count() < arcs.max_parents:
            parents[second] |= 1 << first
            rank = {v: k for k, v in enumerate(topological(parents))}
    return tuple(parents)


def _reaches(parents: list[int], source: int, target: int) -> bool:
    """Whether a directed path leads from one variable to another."""
    seen = frontier = 1 << target
    while frontier:
        step = 0
        for v in members(frontier):
            step |= parents[v]
        if step >> source & 1:
            return True
        frontier = step & ~seen
        seen |= frontier
    return False


# Smaller gains come from the order of summation; gains are rounded to this many digits.
TIE = 1e-6
DIGITS = 6
# If a variable is in very many cliques of undirected edges, only this many are considered, the smallest first.
MOST_CLIQUES = 2000
# With more variables than this, pairs are screened, and each variable has at most so many candidates at first.
WIDE, MOST_CANDIDATES = 100, 30


class Change(NamedTuple):
    """Insert or delete the edge from x to y; ``clique`` are the undirected neighbours of y that stay its parents.

    In Chickering's notation, the clique is NA ∪ T for an insertion and NA \\ H for a deletion, where NA are
    the neighbours of y that are adjacent to x.
    """

    loss: float  # the decrease of the score, so that sorting puts the best first, and ties go to the lowest variables
    x: int
    y: int
    clique: int


def insertions(
    partial: PartialGraph, y: int, max_parents: int, among: int
) -> tuple[list[Family], Callable[..., list[Change]]]:
    """Return the score requests, and a function that reads the improving insertions into y from the answers.

    Their cliques are valid. Cycles (:func:`can_insert`) are only checked when an insertion is the best. Only edges to
    the variables ``among`` are considered.
    """
    near, above = partial.near[y], partial.parents[y]
    apart = members(among & ~(partial.joined[y] | 1 << y))
    # The neighbours of y adjacent to x must be in the clique, and others may be: x fits each clique that
    # contains them.
    must = [(x, partial.joined[x] & near) for x in apart]
    questions: list[Family] = []
    for clique in cliques(partial, near):
        if (above | clique).bit_count() >= max_parents:
            continue
        fitting = tuple(x for x, needed in must if needed & ~clique == 0)
        if fitting:
            questions += [Family(y, above | clique), Family(y, above | clique, fitting)]

    def read(answers: Sequence[Any]) -> list[Change]:
        found = []
        for question, alone, with_x in zip(questions[1::2], answers[::2], answers[1::2], strict=True):
            base = float(alone[0]) + TIE
            for x, score in zip(question.more or (), with_x.tolist(), strict=True):
                if score > base:
                    found.append(Change(round(base - TIE - score, DIGITS), x, y, question.parents & ~above))
        return sorted(found)

    return questions, read


def deletions(
    partial: PartialGraph, y: int, max_parents: int, among: int
) -> tuple[list[Family], Callable[..., list[Change]]]:
    """Return the score requests, and a function that reads the improving deletions of an edge at y from the answers."""
    near, above = partial.near[y], partial.parents[y]
    cases: list[tuple[int, int]] = []
    questions: list[Family] = []
    for x in members((near | above) & among):
        for clique in cliques(partial, near & partial.joined[x]):
            without = (above | clique) & ~(1 << x)
            if without.bit_count() < max_parents:
                cases.append((x, clique))
                questions += [Family(y, without), Family(y, without | 1 << x)]

    def read(answers: Sequence[Any]) -> list[Change]:
        found = []
        for (x, clique), without, with_x in zip(cases, answers[::2], answers[1::2], strict=True):
            loss = float(with_x[0] - without[0])
            if loss < -TIE:
                found.append(Change(round(loss, DIGITS), x, y, clique))
        return sorted(found)

    return questions, read


def can_insert(partial: PartialGraph, change: Change) -> bool:
    """Whether an insertion creates no cycle: every path from y back to x goes through the clique."""
    return not partial.has_path(change.y, change.x, change.clique)


def insert(partial: PartialGraph, change: Change) -> PartialGraph:
    """Return the graph with x → y; the clique's edges become arcs to y if x is not adjacent to them."""
    _, x, y, clique = change
    return _directed(partial, [(t, y) for t in members(clique & ~partial.joined[x])], [(x, y)], None)


def delete(partial: PartialGraph, change: Change) -> PartialGraph:
    """Return the graph without the edge between x and y, where both point at the neighbours outside the clique."""
    _, x, y, clique = change
    outside = partial.near[y] & partial.joined[x] & ~clique
    arcs = [(y, h) for h in members(outside)] + [(x, h) for h in members(outside & partial.near[x])]
    return _directed(partial, arcs, [], (x, y))


def cliques(partial: PartialGraph, among: int) -> Iterator[int]:
    """Yield the cliques of a set, the smallest first (including the empty set), each once.

    >>> from bayeskit._structure.search.equivalence import complete
    >>> list(cliques(complete((0, 0b1, 0b11, 0b100)), 0b1101))
    [0, 1, 4, 8, 5, 12]
    """
    level = [(0, among)]
    count = 0
    while level:
        larger = []
        for clique, candidates in level:
            yield clique
            count += 1
            if count == MOST_CLIQUES:
                return
            for v in members(candidates):
                # Only higher ones are added, so that each set is generated once.
                larger.append((clique | 1 << v, candidates & partial.joined[v] & -(2 << v)))
        level = larger


def _directed(
    partial: PartialGraph,
    now_directed: list[tuple[int, int]],
    new: list[tuple[int, int]],
    gone: tuple[int, int] | None,
) -> PartialGraph:
    parents, near = list(partial.parents), list(partial.near)
    for a, b in [*now_directed, *([gone] if gone else [])]:
        near[a] &= ~(1 << b)
        near[b] &= ~(1 << a)
    for a, b in [*now_directed, *new]:
        parents[b] |= 1 << a
    if gone:
        parents[gone[1]] &= ~(1 << gone[0])
    return PartialGraph(tuple(parents), tuple(near))


def screened(n: int) -> Generator[Question, list[Any], tuple[int, ...]]:
    """Return for each variable those that improve its score as its only parent, at most so many, and their inverse."""
    asked = [Family(y, 0, tuple(x for x in range(n) if x != y)) for y in range(n)]
    answers = yield [*(Family(y, 0) for y in range(n)), *asked]
    found = [0] * n
    for y, (alone, paired) in enumerate(zip(answers[:n], answers[n:], strict=True)):
        gain = np.round(paired - alone[0], DIGITS)
        best = np.argsort(-gain, kind="stable")[:MOST_CANDIDATES]
        for k in best[gain[best] > TIE].tolist():
            x = k + (k >= y)
            found[y] |= 1 << x
            found[x] |= 1 << y
    return tuple(found)


Steps = Generator[Question, list[Any], None]
Apply = Callable[[PartialGraph, Change], PartialGraph]
IsValid = Callable[[PartialGraph, Change], bool]


def equivalence(arcs: Arcs, start: Sequence[int] | None = None) -> Search:
    """Search equivalence classes: insert the best edge until none improves the score, then delete likewise.

    With a score-equivalent criterion and enough rows, the result is the class of the distribution.

    Parameters
    ----------
    arcs : Arcs
        A class cannot have required or forbidden arcs: only ``max_parents`` may be set. A step is skipped if
        the graph built from its class has more parents.
    start : parents of each variable, optional
        The graph whose class is the start; by default, the one without arcs.

    References
    ----------
    D. M. Chickering, "Optimal structure identification with greedy search", Journal of Machine Learning Research 3
    (2002).

    Examples
    --------
    >>> import numpy as np
    >>> from bayeskit._structure.search_protocol import answer_all
    >>> def score(families):  # a likes its one parent b, c is indifferent
    ...     each = lambda child, parents: {(0, 2): 5.0, (1, 1): 5.0}.get((child, parents), -float(parents))
    ...     return [np.array([each(c, p) if more is None else each(c, p | 1 << v) for v in more or (0,)])
    ...             for c, p, more in families]
    >>> answer_all(equivalence(Arcs.all(3)), score)
    Graph(parents=(0, 1, 0), undirected=frozenset())
    """
    if not arcs.is_free:
        raise SettingError(
            "The search over classes of equivalent graphs takes no required or forbidden arcs and no tiers: all graphs "
            'of a class would have to keep them. Use method="auto" or "hill-climbing".'
        )
    classes = Classes(arcs, tuple(start) if start is not None else (0,) * arcs.n)
    with suppress(Stop):
        yield from classes.search()
    return Graph(classes.parents)


class Classes:
    """The current class, and one of its graphs. Its steps do not catch Stop."""

    def __init__(self, arcs: Arcs, parents: tuple[int, ...]) -> None:
        self.arcs = arcs
        self.parents = parents
        self.partial = complete(parents)

    def search(self) -> Steps:
        """Insert while the score improves, then delete while it improves.

        Where there are many columns, edges between columns that depend on each other are inserted first, so that
        most steps need not look at the others.
        """
        everything = ((1 << self.arcs.n) - 1,) * self.arcs.n
        if self.arcs.n > WIDE:
            yield from self.phase(insertions, insert, can_insert, (yield from screened(self.arcs.n)))
        yield from self.phase(insertions, insert, can_insert, everything)
        yield from self.phase(deletions, delete, _always, everything)

    def phase(
        self,
        steps: Callable[..., Any],
        apply: Apply,
        is_valid: IsValid,
        candidates: Sequence[int],
    ) -> Steps:
        """Take the best step of one kind, between a variable and its candidates, until none improves the score."""
        n = self.arcs.n
        known: list[list[Change]] = [[] for _ in range(n)]
        changed = list(range(n))
        while True:
            before = self.partial
            moves = [steps(before, y, self.arcs.max_parents, candidates[y]) for y in changed]
            answers = (yield [q for questions, _ in moves for q in questions]) if changed else []
            place = 0
            for y, (questions, read) in zip(changed, moves, strict=True):
                known[y] = read(answers[place : place + len(questions)])
                place += len(questions)
            if not self._take_best(known, apply, is_valid):
                return
            changed = self._changed_since(before)

    def _take_best(self, known: list[list[Change]], apply: Apply, is_valid: IsValid) -> bool:
        first = [(changes[0], y, 0) for y, changes in enumerate(known) if changes]
        heapq.heapify(first)
        while first:
            change, y, place = first[0]
            if is_valid(self.partial, change):
                parents = extension(apply(self.partial, change))
                if parents is not None and self.arcs.permits(parents):
                    self.parents = parents
                    self.partial = complete(parents)
                    return True
            if place + 1 < len(known[y]):
                heapq.heapreplace(first, (known[y][place + 1], y, place + 1))
            else:
                heapq.heappop(first)
        return False

    def _changed_since(self, before: PartialGraph) -> list[int]:
        """Return the variables whose steps may be others now: those that changed, and their undirected neighbours.

        The steps at y depend on its own arcs and edges and on what its undirected neighbours are adjacent to, except
        for paths, which are checked when a step is taken.
        """
        now, changed = self.partial, 0
        for some, other in (
            (before.parents, now.parents),
            (before.near, now.near),
            (before.joined, now.joined),
        ):
            for v, (a, b) in enumerate(zip(some, other, strict=True)):
                if a != b:
                    changed |= 1 << v
        for v in members(changed):
            changed |= now.near[v]
        return list(members(changed))


def _always(partial: PartialGraph, change: Change) -> bool:
    return True
