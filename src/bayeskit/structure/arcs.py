"""Which arcs a search may and must use."""

from __future__ import annotations

from dataclasses import dataclass

from bayeskit.structure.questions import members


@dataclass(frozen=True)
class Arcs:
    """Limits of a search over the variables 0 … n−1, as sets of bits.

    Attributes
    ----------
    allowed : for each variable the parents that it may have (never itself)
    required : for each variable the parents that it must have (a part of the allowed ones; no cycle)
    max_parents : the most parents a variable may have
    """

    allowed: tuple[int, ...]
    required: tuple[int, ...]
    max_parents: int

    @classmethod
    def all(cls, n: int, max_parents: int | None = None) -> Arcs:
        """Return no limits but the number of parents."""
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
        """Whether every graph with few enough parents will do."""
        everything = (1 << self.n) - 1
        return not any(self.required) and all(
            allowed == everything ^ (1 << v) for v, allowed in enumerate(self.allowed)
        )

    def permits(self, parents: tuple[int, ...]) -> bool:
        """Tell whether a graph keeps the limits (that it has no cycle is not looked at)."""
        return all(
            mine & ~self.allowed[v] == 0
            and self.required[v] & ~mine == 0
            and sum(1 for _ in members(mine)) <= self.max_parents
            for v, mine in enumerate(parents)
        )
