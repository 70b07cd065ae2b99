"""Neighbourhoods by independence tests: Markov blankets (IAMB), parents and children (MMPC), and MMHC.

In MMHC, tests restrict the candidate arcs, and the score chooses among them.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from bayeskit._structure.search.hill_climbing import hill_climbing
from bayeskit._structure.search_protocol import Arcs, Graph, Question, Search, Stop, Test, bits, members

BlanketSearch = Generator[Question, list[Any], int]


def iamb(n: int, target: int, significance: float = 0.01, inter: bool = False) -> BlanketSearch:
    """Search for the Markov blanket of a variable: its parents, its children, and the children's other parents.

    Add the variable that depends most on the target given those found so far, until none does (p ≤
    significance). Then remove the one that depends least given the others, while any is independent (p >
    significance).

    Parameters
    ----------
    n : int
        The number of variables.
    target : int
    significance : float
    inter : bool
        Remove after each addition (inter-IAMB): the conditioning sets stay smaller, so the tests have more power.

    Returns
    -------
    generator that returns a set of bits

    Examples
    --------
    >>> def chain(tests):  # 0 → 1 → 2
    ...     return [(0.0, 1, float({a, b} == {0, 2} and given == 0b010)) for a, b, given in tests]
    >>> search = iamb(3, 0)
    >>> question = next(search)
    >>> try:
    ...     while True:
    ...         question = search.send(chain(question))
    ... except StopIteration as end:
    ...     list(members(end.value))
    [1]

    References
    ----------
    I. Tsamardinos, C. F. Aliferis, A. Statnikov, "Algorithms for large scale Markov blanket discovery", FLAIRS 2003.
    """
    blanket, seen = 0, {0}
    try:
        while True:
            outside = [Test(target, v, blanket) for v in range(n) if v != target and not blanket >> v & 1]
            answers = (yield outside) if outside else []
            dependent = [
                (_weakness(a), t.b) for t, a in zip(outside, answers, strict=True) if a[2] <= significance
            ]
            if not dependent:
                break
            blanket |= 1 << min(dependent)[1]
            if inter:
                blanket = yield from _without_superfluous(target, blanket, significance)
                # With contradictory tests, adding and removing might never end.
                if blanket in seen:
                    break
                seen.add(blanket)
        blanket = yield from _without_superfluous(target, blanket, significance)
    except Stop:
        pass
    return blanket


def _without_superfluous(target: int, blanket: int, significance: float) -> BlanketSearch:
    while blanket:
        tests = [Test(target, v, blanket & ~(1 << v)) for v in members(blanket)]
        answers = yield tests
        superfluous = [
            (_weakness(a), -t.b) for t, a in zip(tests, answers, strict=True) if a[2] > significance
        ]
        if not superfluous:
            break
        blanket &= ~(1 << -max(superfluous)[1])
    return blanket


def _weakness(answer: tuple[float, float, float]) -> tuple[float, float]:
    """Sort key, strongest dependence first; if p is zero to all digits, by the statistic."""
    statistic, _, p = answer
    return p, -abs(statistic)


# How weak a dependence is: the p-value, then the statistic (with many rows, p-values are often exactly zero).
Weakness = tuple[float, float]
_STRONGEST, _WEAKEST = (0.0, -math.inf), (1.0, 0.0)

Neighbours = Generator[Question, list[Any], tuple[int, ...]]


def mmpc(arcs: Arcs, significance: float = 0.05, max_given: int = 3) -> Neighbours:
    """Find pairs of variables that no small set of each other's neighbours makes independent.

    For each variable, repeatedly add the variable with the strongest minimum dependence over all subsets of
    the neighbours found so far, until all others are independent. Then remove those that a subset of the
    others makes independent. Two variables are neighbours if each is found for the other. All variables
    advance together, so there are few requests with many tests each.

    Parameters
    ----------
    arcs : Arcs
        Variables that no allowed arc connects are not tested.
    significance : float
        Variables are independent if the p-value is above this.
    max_given : int
        The maximum size of a conditioning set. The number of tests is that of the subsets of the neighbours.

    Returns
    -------
    generator
        Returns the neighbours of each variable.

    Examples
    --------
    0 → 1 → 2: the ends are independent given the middle.

    >>> def answer(tests):
    ...     return [(0.0, 1, 1.0) if {t.a, t.b} == {0, 2} and t.given == 2 else (9.0, 1, 0.001) for t in tests]
    >>> search = mmpc(Arcs.all(3))
    >>> question = next(search)
    >>> try:
    ...     while True:
    ...         question = search.send(answer(question))
    ... except StopIteration as end:
    ...     end.value
    (2, 5, 2)

    References
    ----------
    I. Tsamardinos, L. E. Brown, C. F. Aliferis, "The max-min hill-climbing Bayesian network structure learning
    algorithm", Machine Learning 65 (2006).
    """
    n = arcs.n
    joined = [
        bits([u for u in range(n) if arcs.allowed[v] >> u & 1 or arcs.allowed[u] >> v & 1]) for v in range(n)
    ]
    targets = [_Target(v, dict.fromkeys(members(joined[v]), _STRONGEST)) for v in range(n)]
    known: dict[Test, Weakness] = {}

    def learn(tests: Iterable[Test]) -> Generator[Question, list[Any], None]:
        new = sorted({test for test in tests if test not in known})
        if new:
            for test, (statistic, _, p) in zip(new, (yield new), strict=True):
                # With too few rows, the p-value is NaN. A test without conditioning then does not make two
                # variables neighbours, and a conditioning set that cannot be tested does not separate them.
                untested = _WEAKEST if test.given == 0 else _STRONGEST
                known[test] = untested if math.isnan(p) else (float(p), -float(statistic))

    growing = targets
    while growing:
        # Smaller sets first: a variable that one of them makes independent needs no larger ones.
        for size in range(max_given + 1):
            tests = [[*target.growing_tests(size)] for target in growing]
            yield from learn(test for each in tests for _, test in each)
            for target, each in zip(growing, tests, strict=True):
                target.weaken(((u, known[test]) for u, test in each), significance)
        growing = [target for target in growing if target.take_strongest()]

    for place in range(max((len(target.neighbours) for target in targets), default=0)):
        for size in range(max_given + 1):
            again = [[*target.shrinking_tests(place, size)] for target in targets]
            yield from learn(test for each in again for test in each)
            for target, once_more in zip(targets, again, strict=True):
                if any(known[test][0] > significance for test in once_more):
                    target.dropped.add(target.neighbours[place])

    sets = [bits(target.remaining) for target in targets]
    return tuple(bits([u for u in members(sets[v]) if sets[u] >> v & 1]) for v in range(n))


@dataclass
class _Target:
    """A variable, its neighbours in the order of addition, and the minimum dependence on each other variable."""

    v: int
    open: dict[int, Weakness]
    neighbours: list[int] = field(default_factory=list)
    dropped: set[int] = field(default_factory=set)

    @property
    def remaining(self) -> list[int]:
        return [u for u in self.neighbours if u not in self.dropped]

    def growing_tests(self, size: int) -> Iterator[tuple[int, Test]]:
        """Yield tests of the open variables given sets with the last neighbour; sets without it were tested before."""
        given: list[int] = []
        if size == 0 and not self.neighbours:
            given = [0]
        elif size and self.neighbours:
            *before, last = self.neighbours
            given = [bits([*some, last]) for some in combinations(before, size - 1)]
        for u in self.open:
            for some in given:
                yield u, _test(self.v, u, some)

    def weaken(self, results: Iterable[tuple[int, Weakness]], significance: float) -> None:
        for u, weakness in results:
            if u in self.open:
                self.open[u] = max(self.open[u], weakness)
                if weakness[0] > significance:
                    del self.open[u]

    def take_strongest(self) -> bool:
        """Move the variable with the strongest dependence to the neighbours; False if none is left."""
        if not self.open:
            return False
        strongest = min(self.open, key=lambda u: (self.open[u], u))
        del self.open[strongest]
        self.neighbours.append(strongest)
        return bool(self.open)

    def shrinking_tests(self, place: int, size: int) -> Iterator[Test]:
        """Yield tests of one neighbour given sets of the remaining others."""
        if place < len(self.neighbours) and (u := self.neighbours[place]) not in self.dropped:
            for some in combinations([w for w in self.remaining if w != u], size):
                yield _test(self.v, u, bits(some))


def _test(a: int, b: int, given: int) -> Test:
    return Test(min(a, b), max(a, b), given)


def mmhc(
    arcs: Arcs, significance: float = 0.05, *, max_given: int = 3, tabu: int = 0, max_worse: int = 15
) -> Search:
    """Find the neighbours of every variable by tests, then hill-climb with arcs between neighbours only.

    It requests tests first, then scores of families. Required arcs are kept whatever the result of the tests.

    Parameters
    ----------
    arcs : Arcs
    significance : float
        Variables are independent if the p-value is above this.
    max_given : int
        The maximum size of a conditioning set. A small number leaves more pairs to the score.
    tabu, max_worse : int
        As in :func:`~bayeskit._structure.search.hill_climbing.hill_climbing`.

    Examples
    --------
    >>> search = mmhc(Arcs.all(2))
    >>> next(search)
    [Test(a=0, b=1, given=0)]
    >>> search.send([(9.0, 1, 0.003)])[:2]  # dependent: the arcs between them are tried
    [Family(child=0, parents=0, more=None), Family(child=0, parents=0, more=(1,))]

    References
    ----------
    I. Tsamardinos, L. E. Brown, C. F. Aliferis, "The max-min hill-climbing Bayesian network structure learning
    algorithm", Machine Learning 65 (2006).
    """
    try:
        neighbours = yield from mmpc(arcs, significance, max_given)
    except Stop:
        return Graph(arcs.required)
    return (yield from hill_climbing(arcs, tabu=tabu, max_worse=max_worse, candidates=neighbours))
