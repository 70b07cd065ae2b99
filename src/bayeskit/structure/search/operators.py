"""The steps between classes of graphs: insert an edge, delete an edge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from bayeskit.structure.questions import Family, members
from bayeskit.structure.search.partial import Partial

# Gains below this are the same number added up in different orders; so many digits of one are the gain itself.
TIE = 1e-6
DIGITS = 6
# A variable amid very many cliques of undirected edges: those beyond this number, the largest, are not looked at.
MOST_CLIQUES = 2000


class Change(NamedTuple):
    """The edge from x to y is inserted or deleted; ``clique`` are the undirected neighbours of y that stay its parents.

    In Chickering's words the clique is NA ∪ T where an edge is inserted and NA \\ H where it is deleted, NA being the
    neighbours of y that are joined to x.
    """

    loss: float  # what the score falls by, so that the best comes first when sorted, and of equals the lowest variables
    x: int
    y: int
    clique: int


def insertions(
    partial: Partial, y: int, max_parents: int
) -> tuple[list[Family], Callable[..., list[Change]]]:
    """Return what to ask, and how to read from the answers the insertions into y that gain.

    Their cliques are such; that they leave no cycle (:func:`can_insert`) is left to be looked at when one is the best.
    """
    near, above = partial.near[y], partial.parents[y]
    apart = [x for x in range(len(partial.near)) if x != y and not partial.joined[y] >> x & 1]
    # The neighbours of y joined to x must be in the clique, and others may: so x fits each clique that has those.
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
        for question, alone, with_x in zip(questions[1::2], answers[::2], answers[1::2]):
            base = float(alone[0]) + TIE
            for x, score in zip(question.more or (), with_x.tolist()):
                if score > base:
                    found.append(Change(round(base - TIE - score, DIGITS), x, y, question.parents & ~above))
        return sorted(found)

    return questions, read


def deletions(partial: Partial, y: int, max_parents: int) -> tuple[list[Family], Callable[..., list[Change]]]:
    """Return what to ask, and how to read from the answers the deletions of an edge at y that gain."""
    near, above = partial.near[y], partial.parents[y]
    cases: list[tuple[int, int]] = []
    questions: list[Family] = []
    for x in members(near | above):
        for clique in cliques(partial, near & partial.joined[x]):
            without = (above | clique) & ~(1 << x)
            if without.bit_count() < max_parents:
                cases.append((x, clique))
                questions += [Family(y, without), Family(y, without | 1 << x)]

    def read(answers: Sequence[Any]) -> list[Change]:
        found = []
        for (x, clique), without, with_x in zip(cases, answers[::2], answers[1::2]):
            loss = float(with_x[0] - without[0])
            if loss < -TIE:
                found.append(Change(round(loss, DIGITS), x, y, clique))
        return sorted(found)

    return questions, read


def can_insert(partial: Partial, change: Change) -> bool:
    """Tell whether an insertion leaves no cycle: every path from y back to x goes through the clique."""
    return not partial.has_path(change.y, change.x, change.clique)


def insert(partial: Partial, change: Change) -> Partial:
    """Return the graph with x → y, and the clique's edges turned into arcs to y where x is not joined to them."""
    _, x, y, clique = change
    return _directed(partial, [(t, y) for t in members(clique & ~partial.joined[x])], [(x, y)], None)


def delete(partial: Partial, change: Change) -> Partial:
    """Return the graph without the edge of x and y, in which both point at those outside the clique."""
    _, x, y, clique = change
    outside = partial.near[y] & partial.joined[x] & ~clique
    arcs = [(y, h) for h in members(outside)] + [(x, h) for h in members(outside & partial.near[x])]
    return _directed(partial, arcs, [], (x, y))


def cliques(partial: Partial, among: int) -> Iterator[int]:
    """Yield the cliques of a set, the smallest first (the empty set is one); each once.

    >>> from bayeskit.structure.search.partial import complete
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
                # Only higher ones are added, so that each set is made in one way.
                larger.append((clique | 1 << v, candidates & partial.joined[v] & -(2 << v)))
        level = larger


def _directed(
    partial: Partial, turned: list[tuple[int, int]], new: list[tuple[int, int]], gone: tuple[int, int] | None
) -> Partial:
    parents, near = list(partial.parents), list(partial.near)
    for a, b in [*turned, *([gone] if gone else [])]:
        near[a] &= ~(1 << b)
        near[b] &= ~(1 << a)
    for a, b in [*turned, *new]:
        parents[b] |= 1 << a
    if gone:
        parents[gone[1]] &= ~(1 << gone[0])
    return Partial(tuple(parents), tuple(near))
