"""The best parents of a variable among those before it, by adding and removing one at a time."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from bayeskit.structure.arcs import Arcs
from bayeskit.structure.questions import Family, Question, members
from bayeskit.structure.search.operators import DIGITS, TIE


class Parents:
    """A set of parents of a variable, its score, and the better sets next to it.

    ``larger`` are those with one more, the best first, as (minus its score, bit, set); ``open`` are the variables not
    yet tried as one more; ``smaller`` is the best with one less, where there is a better one, once ``is_shrunk``.
    """

    __slots__ = ("chosen", "is_shrunk", "larger", "open", "score", "smaller", "was_asked")

    def __init__(self, chosen: int, score: float, candidates: int, is_shrunk: bool) -> None:
        self.chosen = chosen
        self.score = score
        self.open = candidates
        self.was_asked = False
        self.larger: list[tuple[float, int, Parents]] = []
        self.smaller: Parents | None = None
        self.is_shrunk = is_shrunk


class GrowShrink:
    """Chooses parents for variables, and remembers every set it has met.

    From the required parents the one that gains most is added until none gains, then the one whose loss gains most is
    removed, and again. What is next to a set does not depend on who may be chosen, so it is asked once and serves all
    orders of the variables.

    References
    ----------
    B. Andrews, J. Ramsey, R. Sanchez Romero, J. Camchong, E. Kummerfeld, "Fast scalable and accurate discovery of DAGs
    using the best order score search and grow-shrink trees", NeurIPS 2023.
    """

    def __init__(self, arcs: Arcs) -> None:
        self.arcs = arcs
        self._known: list[dict[int, Parents]] = [{} for _ in range(arcs.n)]
        self._roots: list[Parents] = []

    def begin(self) -> Generator[Question, list[Any], None]:
        """Ask for the required parents of every variable. Comes first."""
        answers = yield [Family(v, mine) for v, mine in enumerate(self.arcs.required)]
        for v, (mine, score) in enumerate(zip(self.arcs.required, answers)):
            self._roots.append(self._parents(v, mine, float(score[0])))

    def choose(self, cases: Sequence[tuple[int, int]]) -> Generator[Question, list[Any], list[Parents]]:
        """Return the parents chosen in each case (variable, those before it)."""
        found = [_walk(self._roots[v], before) for v, before in cases]
        waiting = [case for case, (_, is_done) in enumerate(found) if not is_done]
        while waiting:
            # Each set once: many cases wait at the same one.
            wanted: dict[Parents, list[int]] = {}
            for case in waiting:
                v, before = cases[case]
                parents = found[case][0]
                asked = wanted.setdefault(parents, [v, 0])
                # Those before it only, as larger families cost more; a set asked about again is like to be so often.
                asked[1] |= (
                    parents.open if parents.was_asked and before & parents.open else before & parents.open
                )
            yield from self._ask([(v, parents, more) for parents, (v, more) in wanted.items()])
            for case in waiting:
                found[case] = _walk(found[case][0], cases[case][1])
            waiting = [case for case in waiting if not found[case][1]]
        return [parents for parents, _ in found]

    def _ask(self, wanted: list[tuple[int, Parents, int]]) -> Generator[Question, list[Any], None]:
        questions: list[Family] = []
        for v, parents, more in wanted:
            if more:
                questions.append(Family(v, parents.chosen, tuple(members(more))))
            else:
                questions += [Family(v, parents.chosen ^ 1 << u) for u in self._removable(v, parents)]
        answers = iter((yield questions))
        for v, parents, more in wanted:
            if more:
                parents.open &= ~more
                parents.was_asked = True
                for u, score in zip(members(more), next(answers).tolist()):
                    if score > parents.score + TIE:
                        larger = self._parents(v, parents.chosen | 1 << u, score)
                        parents.larger.append((-round(score, DIGITS), 1 << u, larger))
                parents.larger.sort(key=lambda one: one[:2])
            else:
                best, removed = parents.score + TIE, -1
                for u in self._removable(v, parents):
                    score = float(next(answers)[0])
                    if score > best:
                        best, removed = score + TIE, u
                parents.is_shrunk = True
                if removed >= 0:
                    parents.smaller = self._parents(v, parents.chosen ^ 1 << removed, best - TIE)

    def _parents(self, v: int, chosen: int, score: float) -> Parents:
        known = self._known[v]
        if chosen not in known:
            full = chosen.bit_count() >= self.arcs.max_parents
            candidates = 0 if full else self.arcs.allowed[v] & ~chosen
            known[chosen] = Parents(chosen, score, candidates, chosen == self.arcs.required[v])
        return known[chosen]

    def _removable(self, v: int, parents: Parents) -> list[int]:
        return list(members(parents.chosen & ~self.arcs.required[v]))


def _walk(parents: Parents, before: int) -> tuple[Parents, bool]:
    """Follow what is known; return where it ends, and whether that is the answer."""
    while True:
        if parents.open & before:
            return parents, False
        for _, bit, more in parents.larger:
            if bit & before:
                parents = more
                break
        else:
            if not parents.is_shrunk:
                return parents, False
            if parents.smaller is None:
                return parents, True
            parents = parents.smaller
