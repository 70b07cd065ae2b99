"""Finds the Markov blanket of a variable by independence tests."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from bayeskit._structure.search_protocol import Question, Stop, Test, members

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
