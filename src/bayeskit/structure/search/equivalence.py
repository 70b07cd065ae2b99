"""Greedy search over classes of equivalent graphs (GES)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import Any

from bayeskit.errors import SettingError
from bayeskit.structure.arcs import Arcs
from bayeskit.structure.questions import Graph, Question, Search, Stop, members
from bayeskit.structure.search.operators import Change, can_insert, delete, deletions, insert, insertions
from bayeskit.structure.search.partial import Partial, complete, extension

Steps = Generator[Question, list[Any], None]
Apply = Callable[[Partial, Change], Partial]
IsValid = Callable[[Partial, Change], bool]


def equivalence(arcs: Arcs, start: Sequence[int] | None = None) -> Search:
    """Search classes of graphs: insert the edge that gains most until none gains, then delete likewise.

    With a score that is the same for equivalent graphs and rows enough, the class found is that of the distribution.

    Parameters
    ----------
    arcs : Arcs
        A class of graphs keeps no required or forbidden arcs: only ``max_parents`` may be set. Then a step is left out
        where the graph made of its class has more parents.
    start : parents of each variable, optional
        The graph whose class is the first; without it the one without arcs.

    References
    ----------
    D. M. Chickering, "Optimal structure identification with greedy search", Journal of Machine Learning Research 3
    (2002).

    Examples
    --------
    >>> import numpy as np
    >>> from bayeskit.structure.questions import answer_all
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
    """The class reached, and one of its graphs. Its steps do not catch Stop."""

    def __init__(self, arcs: Arcs, parents: tuple[int, ...]) -> None:
        self.arcs = arcs
        self.parents = parents
        self.partial = complete(parents)

    def search(self) -> Steps:
        """Insert while it gains, then delete while it gains."""
        yield from self.phase(insertions, insert, can_insert)
        yield from self.phase(deletions, delete, _always)

    def phase(
        self,
        steps: Callable[..., Any],
        apply: Apply,
        is_valid: IsValid,
    ) -> Steps:
        """Take the best step of one kind until none gains."""
        n = self.arcs.n
        known: list[list[Change]] = [[] for _ in range(n)]
        seen: list[Any] = [None] * n
        while True:
            # Only the variables about which the last step changed something are looked at again.
            now = [self._surroundings(y) for y in range(n)]
            changed = [y for y in range(n) if seen[y] != now[y]]
            seen = now
            asked = [steps(self.partial, y, self.arcs.max_parents) for y in changed]
            answers = (yield [q for questions, _ in asked for q in questions]) if changed else []
            place = 0
            for y, (questions, read) in zip(changed, asked):
                known[y] = read(answers[place : place + len(questions)])
                place += len(questions)
            if not self._take_best(known, apply, is_valid):
                return

    def _take_best(self, known: list[list[Change]], apply: Apply, is_valid: IsValid) -> bool:
        for change in heapq.merge(*known):
            if is_valid(self.partial, change):
                parents = extension(apply(self.partial, change))
                if parents is not None and self.arcs.permits(parents):
                    self.parents = parents
                    self.partial = complete(parents)
                    return True
        return False

    def _surroundings(self, y: int) -> tuple[int, ...]:
        """Return all that the steps at y depend on, but for paths."""
        now = self.partial
        return (now.parents[y], now.near[y], now.joined[y], *(now.joined[u] for u in members(now.near[y])))


def _always(partial: Partial, change: Change) -> bool:
    return True
