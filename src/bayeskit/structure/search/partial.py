"""Classes of equivalent graphs as sets of bits: from a graph to its class and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from bayeskit.structure.questions import members


@dataclass(frozen=True)
class Partial:
    """A graph whose edges may lack a direction.

    Attributes
    ----------
    parents : for each variable those from which an arc leads to it
    near : for each variable those to which an edge without direction joins it
    """

    parents: tuple[int, ...]
    near: tuple[int, ...]

    @cached_property
    def children(self) -> tuple[int, ...]:
        """For each variable those to which an arc leads."""
        return turned(self.parents)

    @cached_property
    def joined(self) -> tuple[int, ...]:
        """For each variable all that an edge joins to it, whatever its direction."""
        return tuple(a | b | c for a, b, c in zip(self.parents, self.near, self.children))

    def is_clique(self, some: int) -> bool:
        """Tell whether every two of a set are joined."""
        return all(some & ~(self.joined[v] | 1 << v) == 0 for v in members(some))

    def has_path(self, source: int, target: int, without: int) -> bool:
        """Tell whether a path leads along arcs and undirected edges, never against an arc, past a set of variables."""
        goal, seen, edge = 1 << target, 1 << source | without, 1 << source
        while edge:
            step = 0
            for v in members(edge):
                step |= self.children[v] | self.near[v]
            if step & goal:
                return True
            edge = step & ~seen
            seen |= edge
        return False


def turned(parents: Sequence[int]) -> tuple[int, ...]:
    """Return the children of each variable.

    >>> turned((0, 0b1, 0b1))
    (6, 0, 0)
    """
    children = [0] * len(parents)
    for v, mine in enumerate(parents):
        for p in members(mine):
            children[p] |= 1 << v
    return tuple(children)


def topological(parents: Sequence[int]) -> list[int]:
    """Return the variables of a graph without cycles, each after its parents; else the lowest first.

    >>> topological((0b100, 0, 0b10))
    [1, 2, 0]
    """
    order: list[int] = []
    placed, left = 0, (1 << len(parents)) - 1
    while left:
        v = next(v for v in members(left) if parents[v] & ~placed == 0)
        order.append(v)
        placed |= 1 << v
        left ^= 1 << v
    return order


def complete(parents: Sequence[int]) -> Partial:
    """Return the class of a graph: an arc keeps its direction where all equivalent graphs agree on it.

    Examples
    --------
    >>> complete((0, 0b1, 0b10))  # 0 → 1 → 2 may be turned round
    Partial(parents=(0, 0, 0), near=(2, 5, 2))
    >>> complete((0, 0b101, 0))  # 0 → 1 ← 2 may not
    Partial(parents=(0, 5, 0), near=(0, 0, 0))

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
    return Partial(tuple(compelled), tuple(near))


def extension(partial: Partial) -> tuple[int, ...] | None:
    """Return a graph with the same edges, arcs and v-structures, or None where there is none.

    A variable into which all its edges may point is taken out, again and again; of several the highest.

    Examples
    --------
    >>> extension(Partial((0, 0, 0), (0b10, 0b101, 0b10)))
    (0, 1, 2)
    >>> extension(Partial((0, 0, 0, 0), (0b1010, 0b101, 0b1010, 0b101))) is None  # a square without a chord
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
    while left:
        for v in reversed([*members(left)]):
            around = joined[v] & left
            if children[v] & left == 0 and all(
                around & ~(joined[u] | 1 << u) == 0 for u in members(near[v] & left)
            ):
                parents[v] |= near[v] & left
                left ^= 1 << v
                break
        else:
            return None
    return tuple(parents)
