"""The explanation of an average over super-parents: the factors of each, and its share of the sum."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

from bayeskit._report.explanation import Attribute, PageFactor

# Name, and log P(x | c, ...) of each class.
NamedLogs = list[tuple[Hashable, Sequence[float]]]


def logs_of(attributes: Sequence[Attribute]) -> NamedLogs:
    """Return the names and logarithms of attributes."""
    if isinstance(attributes, LazyAttributes):
        return attributes.logs()
    return [(a.name, [factor.log for factor in a.factors]) for a in attributes]


class LazyAttributes(Sequence[Attribute]):
    """Attributes that are computed on access, because a page shows only a few of many super-parents.

    It is equal to the tuple of its attributes, and pickled as one.

    Examples
    --------
    >>> later = LazyAttributes(lambda: (Attribute("a", 1, "table", (PageFactor(0.0, "2/2"),)),))
    >>> len(later), later[0].name, later == (later[0],)
    (1, 'a', True)
    """

    def __init__(
        self,
        write: Callable[[], tuple[Attribute, ...]],
        logs: Callable[[], NamedLogs] | None = None,
        plainly: Callable[[Sequence[int]], list[dict[str, Any]]] | None = None,
    ) -> None:
        self._write, self._logs, self.plainly = write, logs, plainly

    @cached_property
    def written(self) -> tuple[Attribute, ...]:
        return self._write()

    def logs(self) -> NamedLogs:
        """Return only the names and logarithms, without computing the attributes."""
        return logs_of(self.written) if self._logs is None else self._logs()

    @overload
    def __getitem__(self, place: int) -> Attribute: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Attribute, ...]: ...

    def __getitem__(self, place: int | slice) -> Attribute | tuple[Attribute, ...]:
        return self.written[place]

    def __len__(self) -> int:
        return len(self.written)

    def __eq__(self, other: object) -> bool:
        return self.written == (other.written if isinstance(other, LazyAttributes) else other)

    def __hash__(self) -> int:
        return hash(self.written)

    def __repr__(self) -> str:
        return repr(self.written)

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self.written,)


@dataclass(frozen=True)
class SuperParent:
    """The factors of one attribute as the parent of all others.

    Attributes
    ----------
    name, value
        The attribute and its value in the row.
    weight : float
        Its weight in the sum; 1 unless super-parents are weighted.
    first : tuple of PageFactor
        P(c, x_i) of each class.
    attributes : sequence of Attribute
        P(x_j | c, x_i) of the others.
    product : tuple of float, optional
        ``log_products``, if they are known before the attributes are computed.
    """

    name: Hashable
    value: Any
    weight: float
    first: tuple[PageFactor, ...]
    attributes: Sequence[Attribute]
    product: tuple[float, ...] | None = None

    @cached_property
    def log_products(self) -> tuple[float, ...]:
        """log P(c, x_i) ∏ P(x_j | c, x_i) of each class."""
        if self.product is not None:
            return self.product
        return tuple(
            sum([a.factors[k].log for a in self.attributes], factor.log)
            for k, factor in enumerate(self.first)
        )


@dataclass(frozen=True)
class Average:
    r"""The sum over super-parents: their average, up to a constant that is the same in every class.

    .. math:: P(c, x) \propto \sum_i w_i\, P(c, x_i) \prod_{j \ne i} P(x_j \mid c, x_i)

    Examples
    --------
    >>> half, tenth = (PageFactor(math.log(0.5)),), (PageFactor(math.log(0.1)),)
    >>> both = Average((SuperParent("a", 1, 1.0, half, ()), SuperParent("b", 2, 1.0, tenth, ())))
    >>> round(both.factors[0].probability, 6), [round(share, 6) for share in both.shares(0)]
    (0.6, [0.833333, 0.166667])
    """

    super_parents: tuple[SuperParent, ...]

    @cached_property
    def factors(self) -> tuple[PageFactor, ...]:
        """The sum, one factor for each class."""
        return tuple(PageFactor(_log_sum(terms)) for terms in zip(*self._terms, strict=True))

    def shares(self, k: int) -> tuple[float, ...]:
        """Return the share of each super-parent in the sum of class k; 0 if the sum is 0."""
        return self._shares[k]

    @cached_property
    def families(self) -> frozenset[str]:
        """The families of all attributes: those of the first super-parent and its children."""
        return frozenset(a.family for s in self.super_parents[:2] for a in s.attributes)

    @cached_property
    def _shares(self) -> tuple[tuple[float, ...], ...]:
        totals = [factor.log for factor in self.factors]
        return tuple(
            tuple(math.exp(t[k] - total) if total > -math.inf else 0.0 for t in self._terms)
            for k, total in enumerate(totals)
        )

    @cached_property
    def _terms(self) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(math.log(s.weight) + log for log in s.log_products) for s in self.super_parents)


def _log_sum(logs: tuple[float, ...]) -> float:
    best = max(logs)
    if math.isinf(best):
        return best
    return best + math.log(math.fsum(math.exp(log - best) for log in logs))
