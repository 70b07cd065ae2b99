"""The arcs that a search may and must use, as bit sets and as users name them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit._graphs.dag import Dag
from bayeskit._messages import Joined, Message
from bayeskit._schema import Name
from bayeskit._structure.search_protocol import members
from bayeskit.errors import CyclicGraph, SettingError


@dataclass(frozen=True)
class Arcs:
    """Limits of a search over the variables 0 … n−1, as sets of bits.

    Attributes
    ----------
    allowed : for each variable, the parents that it may have (never itself)
    required : for each variable, the parents that it must have (a subset of the allowed ones; no cycle)
    max_parents : the maximum number of parents of a variable
    """

    allowed: tuple[int, ...]
    required: tuple[int, ...]
    max_parents: int

    @classmethod
    def all(cls, n: int, max_parents: int | None = None) -> Arcs:
        """Return limits with no restriction except the number of parents."""
        everything = (1 << n) - 1
        return cls(
            tuple(everything ^ (1 << v) for v in range(n)),
            (0,) * n,
            n - 1 if max_parents is None else max_parents,
        )

    @property
    def n(self) -> int:
        return len(self.allowed)

    @property
    def is_free(self) -> bool:
        """Whether every graph with few enough parents is allowed."""
        everything = (1 << self.n) - 1
        return not any(self.required) and all(
            allowed == everything ^ (1 << v) for v, allowed in enumerate(self.allowed)
        )

    def permits(self, parents: tuple[int, ...]) -> bool:
        """Whether a graph satisfies the limits (cycles are not checked)."""
        return all(
            mine & ~self.allowed[v] == 0
            and self.required[v] & ~mine == 0
            and sum(1 for _ in members(mine)) <= self.max_parents
            for v, mine in enumerate(parents)
        )


def read_limits(
    names: Sequence[Name],
    *,
    required: Iterable[Any] = (),
    forbidden: Iterable[Any] = (),
    tiers: Sequence[Any] | None = None,
    max_parents: int | None = None,
    continuous: Iterable[Name] = (),
) -> Arcs:
    """Read prior knowledge about a network; contradictions raise an error that names them.

    Parameters
    ----------
    required, forbidden : (parent, child) pairs
    tiers : lists of names, the earliest first
        No arc leads from a later tier to an earlier one. A name in no tier is unrestricted.
    max_parents : the maximum number of parents of a node
    continuous : nodes that cannot be parents of the others

    Examples
    --------
    >>> read_limits(["a", "b"], forbidden=[("a", "b")]).allowed
    (2, 0)
    """
    place = {name: v for v, name in enumerate(names)}
    n = len(names)
    if max_parents is not None and (
        isinstance(max_parents, bool) or not isinstance(max_parents, (int, np.integer)) or max_parents < 0
    ):
        raise SettingError(
            "max_parents is {max_parents!r}; give a whole number of at least 0, or None.",
            max_parents=max_parents,
        )
    allowed = [((1 << n) - 1) ^ (1 << v) for v in range(n)]
    why: dict[tuple[int, int], Message] = {}

    def forbid(parent: int, child: int, reason: Message) -> None:
        allowed[child] &= ~(1 << parent)
        why.setdefault((parent, child), reason)

    for pair in _pairs(forbidden, "forbidden"):
        forbid(*_arc(pair, place, "forbidden"), Message("it is forbidden"))
    level = _levels(tiers, place)
    for child in level:
        for parent in level:
            if level[parent] > level[child]:
                forbid(parent, child, Message("{name!r} is in a later tier", name=names[parent]))
    numeric = {place[name] for name in continuous}
    for parent in numeric:
        for child in range(n):
            if child not in numeric:
                forbid(
                    parent,
                    child,
                    Message(
                        "{parent!r} is continuous and {child!r} is not",
                        parent=names[parent],
                        child=names[child],
                    ),
                )
    needed = [0] * n
    for pair in _pairs(required, "required"):
        parent, child = _arc(pair, place, "required")
        if not allowed[child] >> parent & 1:
            raise SettingError(
                "The arc {name!r} → {name2!r} is required, but {why}. Remove one of the two.",
                name=names[parent],
                name2=names[child],
                why=why[parent, child],
            )
        needed[child] |= 1 << parent
    if any(needed):
        _refuse_cycle(needed, names)
    most = n - 1 if max_parents is None else int(max_parents)
    for child, mine in enumerate(needed):
        if mine.bit_count() > most:
            raise SettingError(
                "{name!r} is required to have {n} parents, and max_parents is {most}.",
                name=names[child],
                n=mine.bit_count(),
                most=most,
            )
    return Arcs(tuple(allowed), tuple(needed), most)


def _pairs(given: object, setting: str) -> Iterable[Any]:
    if given is None:
        return ()
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise SettingError(
            "{setting} is {given!r}; give a list of (parent, child) pairs.", setting=setting, given=given
        )
    return given


def _arc(pair: Any, place: dict[Name, int], setting: str) -> tuple[int, int]:
    unordered = isinstance(pair, (str, bytes, Set, Mapping))
    if unordered or not hasattr(pair, "__len__") or len(pair) != 2:
        raise SettingError(
            "{setting} holds {pair!r}; give (parent, child) pairs.", setting=setting, pair=pair
        )
    for name in pair:
        if not isinstance(name, Hashable) or name not in place:
            raise SettingError("{setting} names {name!r}, which is not a column.", setting=setting, name=name)
    parent, child = (place[name] for name in pair)
    if parent == child:
        raise SettingError("{setting} holds an arc from {pair!r} to itself.", setting=setting, pair=pair[0])
    return parent, child


def _levels(tiers: Sequence[Any] | None, place: dict[Name, int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for number, tier in enumerate(tiers or ()):
        alone = isinstance(tier, Hashable) and tier in place
        if not alone and (isinstance(tier, str) or not isinstance(tier, Iterable)):
            raise SettingError(
                "tiers names {tier!r}, which is not a column. Give lists of columns.", tier=tier
            )
        for name in [tier] if alone else tier:
            if not isinstance(name, Hashable) or name not in place:
                raise SettingError("tiers names {name!r}, which is not a column.", name=name)
            if place[name] in found:
                raise SettingError("{name!r} is in two tiers. Name it once.", name=name)
            found[place[name]] = number
    return found


def _refuse_cycle(parents: list[int], names: Sequence[Name]) -> None:
    try:
        Dag(tuple(names), tuple(tuple(names[p] for p in members(mine)) for mine in parents))
    except CyclicGraph as error:
        arcs = Joined(map(repr, error.cycle), " → ")
        raise SettingError("The required arcs form a cycle: {arcs}. Remove one of them.", arcs=arcs) from None
