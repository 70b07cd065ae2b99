"""Evidence of probability zero → a smallest part of it that already has probability zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def minimal_conflict(items: Sequence[T], impossible: Callable[[list[T]], bool]) -> list[T]:
    """Return items that are impossible together while any fewer of them are possible.

    Parameters
    ----------
    items : impossible together
    impossible : tells whether some of the items are; whoever contains impossible items is impossible too.
        Where it cannot tell it may say False: the answer is then still impossible, perhaps not minimal.

    The shortest impossible prefix ends in an item that every conflict within the prefix needs. It is found by
    bisection, moved to the front, and the search goes on in what stands before it: about c·log₂(n) questions
    for a conflict of c items out of n, where leaving out one item at a time would ask n.

    Examples
    --------
    >>> minimal_conflict([3, 1, 4, 1, 5, 9], lambda some: 4 in some and 9 in some)
    [4, 9]
    """
    needed: list[int] = []
    rest = list(range(len(items)))
    while rest and not impossible([items[i] for i in needed]):
        low, high = 0, len(rest)  # needed + rest[:high] is impossible, needed + rest[:low] is not
        while high - low > 1:
            middle = (low + high) // 2
            if impossible([items[i] for i in (*needed, *rest[:middle])]):
                high = middle
            else:
                low = middle
        needed.append(rest[high - 1])
        rest = rest[: high - 1]
    return [items[i] for i in sorted(needed)]
