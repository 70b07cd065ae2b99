"""A joint distribution as on paper: tables of fractions multiplied row by row, and sums of the rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

Event = Mapping[str, int]


@dataclass(frozen=True)
class Joint:
    """Nodes that are 0 or 1: name → (parents, P(1) for the parents' states 0…0, 0…1, …, 1…1).

    Examples
    --------
    >>> rain = Joint({"r": ((), ("1/5",)), "w": (("r",), ("1/10", "1"))})
    >>> rain.p({"w": 1}), rain.p({"r": 1}, {"w": 1})
    (Fraction(7, 25), Fraction(5, 7))
    """

    tables: Mapping[str, tuple[Sequence[str], Sequence[str]]]

    def cell(self, name: str, row: Event) -> Fraction:
        """P(name = its state | its parents' states), all read from a row."""
        parents, numbers = self.tables[name]
        place = int("0" + "".join(str(row[parent]) for parent in parents), 2)
        share = Fraction(numbers[place])
        return share if row[name] else 1 - share

    @cached_property
    def rows(self) -> tuple[tuple[dict[str, int], Fraction], ...]:
        """Every row of the joint distribution, and its probability."""
        rows = [dict(zip(self.tables, states)) for states in product((0, 1), repeat=len(self.tables))]
        return tuple(
            (row, math.prod((self.cell(name, row) for name in self.tables), start=Fraction(1)))
            for row in rows
        )

    def p(self, event: Event, given: Event | None = None) -> Fraction:
        """P(event | given): the rows that agree with both, over those that agree with what is given."""
        whole = self._sum(given or {})
        return self._sum({**event, **(given or {})}) / whole

    def _sum(self, event: Event) -> Fraction:
        agreeing = (p for row, p in self.rows if all(row[name] == state for name, state in event.items()))
        return sum(agreeing, Fraction(0))
