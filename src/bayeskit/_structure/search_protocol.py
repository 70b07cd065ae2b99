"""The interface of a structure search: scores of families, and independence tests.

Variables are numbers; sets of variables are integers whose bits are the members.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class Family(NamedTuple):
    """Requests the score of a child with these parents; with ``more``, with these parents and each one of ``more``.

    The answer is an array: one number, or one for each of ``more``.

    Examples
    --------
    >>> Family(0, bits([1, 3]), (2, 4))  # 0 with parents {1, 3, 2} and with parents {1, 3, 4}
    Family(child=0, parents=10, more=(2, 4))
    """

    child: int
    parents: int
    more: tuple[int, ...] | None = None


class Test(NamedTuple):
    """Requests a test of a and b given a set; the answer is (statistic, degrees of freedom, p-value)."""

    a: int
    b: int
    given: int


@dataclass(frozen=True)
class Graph:
    """The result of a search: the parents of each variable, and the undirected edges (pairs a < b).

    A score-based search returns directed arcs only; a constraint-based one returns an equivalence class.
    """

    parents: tuple[int, ...]
    undirected: frozenset[tuple[int, int]] = frozenset()


class Stop(Exception):
    """Thrown into a search at a request when time is up. The search returns its best graph."""


Question = Sequence[Family] | Sequence[Test]
Search = Generator[Question, list[Any], Graph]


def bits(members: Sequence[int]) -> int:
    """Return the set of these variables."""
    return sum(1 << v for v in set(members))


@lru_cache(maxsize=2**14)
def members(some: int) -> tuple[int, ...]:
    """Return the variables of a set, the lowest first.

    >>> members(10)
    (1, 3)
    """
    found = []
    while some:
        low = some & -some
        found.append(low.bit_length() - 1)
        some ^= low
    return tuple(found)


def answer_all(search: Generator[Question, list[Any], T], answer: Callable[[Question], list[Any]]) -> T:
    """Run a search to its end; ``answer`` answers its requests."""
    try:
        question = next(search)
        while True:
            question = search.send(answer(question))
    except StopIteration as end:
        found: T = end.value
        return found
