"""The answer of an average over super-parents, taken apart: what each says, and its share of the sum."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bayeskit.report.explanation import Attribute, Factor


@dataclass(frozen=True)
class SuperParent:
    """What one attribute says as the parent of all others.

    Attributes
    ----------
    name, value
        The attribute and its value in the row.
    weight : float
        By what it is multiplied in the sum; 1 unless super-parents are weighed.
    first : tuple of Factor
        P(c, x_i) of each class.
    attributes : tuple of Attribute
        P(x_j | c, x_i) of the others.
    """

    name: Hashable
    value: Any
    weight: float
    first: tuple[Factor, ...]
    attributes: tuple[Attribute, ...]

    @cached_property
    def log_products(self) -> tuple[float, ...]:
        """log P(c, x_i) ∏ P(x_j | c, x_i) of each class."""
        return tuple(
            sum([a.factors[k].log for a in self.attributes], factor.log)
            for k, factor in enumerate(self.first)
        )


@dataclass(frozen=True)
class Average:
    r"""What super-parents say, added up; an average but for a number that is the same in every class.

    .. math:: P(c, x) \propto \sum_i w_i\, P(c, x_i) \prod_{j \ne i} P(x_j \mid c, x_i)

    Examples
    --------
    >>> half, tenth = (Factor(math.log(0.5)),), (Factor(math.log(0.1)),)
    >>> both = Average((SuperParent("a", 1, 1.0, half, ()), SuperParent("b", 2, 1.0, tenth, ())))
    >>> round(both.factors[0].probability, 6), [round(share, 6) for share in both.shares(0)]
    (0.6, [0.833333, 0.166667])
    """

    super_parents: tuple[SuperParent, ...]

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        """The sum, one factor for each class."""
        return tuple(Factor(_log_sum(terms)) for terms in zip(*self._terms))

    def shares(self, k: int) -> tuple[float, ...]:
        """Return the part of each super-parent in the sum of class k; 0 where the sum is."""
        total = self.factors[k].log
        return tuple(math.exp(t[k] - total) if total > -math.inf else 0.0 for t in self._terms)

    @cached_property
    def _terms(self) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(math.log(s.weight) + log for log in s.log_products) for s in self.super_parents)


def _log_sum(logs: tuple[float, ...]) -> float:
    best = max(logs)
    if math.isinf(best):
        return best
    return best + math.log(math.fsum(math.exp(log - best) for log in logs))
