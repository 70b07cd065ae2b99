"""A model as a formula for other languages: sums of look-ups and densities, as a small tree.

A conditional returns its log-probability as a ``Score`` (``Conditional.score``), and each language is a
``Writer`` with one method for each kind of score. They are independent, so a new density needs no new writer, and a
new language no new density.

Every score represents K numbers of a row, one for each class. Attributes are identified as in a chunk: categorical
ones by their index in ``codes``, numeric ones (or the columns of a block) by their index in ``values``. The codes
of an attribute with r states are 0, …, r − 1, r for missing and r + 1 for unseen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit.typing import Floats

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Writer(Protocol[T_co]):
    """A target language, into which scores are translated."""

    def look_up(self, score: LookUp, /) -> T_co: ...
    def number(self, score: Number, /) -> T_co: ...
    def sum(self, score: Sum, /) -> T_co: ...
    def product(self, score: Product, /) -> T_co: ...
    def log(self, score: Log, /) -> T_co: ...
    def distance(self, score: Distance, /) -> T_co: ...
    def step(self, score: Step, /) -> T_co: ...
    def if_present(self, score: IfPresent, /) -> T_co: ...
    def marginal(self, score: Marginal, /) -> T_co: ...
    def average(self, score: Average, /) -> T_co: ...


class Score(ABC):
    """K numbers of a row, one for each class."""

    @abstractmethod
    def write(self, writer: Writer[T]) -> T:
        """Call the writer's method for this kind of score."""

    @property
    @abstractmethod
    def is_possible(self) -> bool:
        """Whether it is finite for every row, so that nothing has probability zero."""

    def flat(self) -> list[Score]:
        """Return the scores that it is the sum of."""
        return [self]


@dataclass(frozen=True, eq=False)
class LookUp(Score):
    """An entry of a table.

    Attributes
    ----------
    columns : tuple of int
        Categorical attributes; none for a constant.
    table : array of shape (r + 2, …, K)
        One axis for the codes of each attribute, then the classes. −inf is log 0.
    """

    columns: tuple[int, ...]
    table: Floats

    def write(self, writer: Writer[T]) -> T:
        return writer.look_up(self)

    @property
    def is_possible(self) -> bool:
        return bool(np.isfinite(self.table).all())


def constant(values: ArrayLike) -> LookUp:
    """Return a score that is the same for every row."""
    return LookUp((), np.asarray(values, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class Number(Score):
    """The value of a numeric attribute, in all classes."""

    column: int

    def write(self, writer: Writer[T]) -> T:
        return writer.number(self)

    @property
    def is_possible(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class Sum(Score):
    """The sum of scores."""

    terms: tuple[Score, ...]

    def write(self, writer: Writer[T]) -> T:
        return writer.sum(self)

    @property
    def is_possible(self) -> bool:
        return all(term.is_possible for term in self.terms)

    def flat(self) -> list[Score]:
        return [inner for term in self.terms for inner in term.flat()]


@dataclass(frozen=True, eq=False)
class Product(Score):
    """The product of scores, all finite."""

    factors: tuple[Score, ...]

    def write(self, writer: Writer[T]) -> T:
        return writer.product(self)

    @property
    def is_possible(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class Log(Score):
    """The natural logarithm of a positive score."""

    of: Score

    def write(self, writer: Writer[T]) -> T:
        return writer.log(self)

    @property
    def is_possible(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class Distance(Score):
    """((x − mean) − low)·scale of a numeric attribute; the mean is given as high and low."""

    column: int
    mean: LookUp
    low: LookUp
    scale: LookUp

    def write(self, writer: Writer[T]) -> T:
        return writer.distance(self)

    @property
    def is_possible(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class Step(Score):
    """``above`` where a numeric attribute is larger than ``at``, ``below`` elsewhere: arrays of shape (K,)."""

    column: int
    at: float
    below: Floats
    above: Floats

    def write(self, writer: Writer[T]) -> T:
        return writer.step(self)

    @property
    def is_possible(self) -> bool:
        return bool(np.isfinite(self.below).all() and np.isfinite(self.above).all())


@dataclass(frozen=True, eq=False)
class IfPresent(Score):
    """One score where a numeric attribute is present, another where it is missing."""

    column: int
    there: Score
    missing: LookUp

    def write(self, writer: Writer[T]) -> T:
        return writer.if_present(self)

    @property
    def is_possible(self) -> bool:
        return self.there.is_possible and self.missing.is_possible


@dataclass(frozen=True, eq=False)
class Family:
    """log P(child | parents, c) by the codes of the parents and the child.

    If a parent is missing, the table backs off to the parents before it. If the child is missing, the value is 0.
    """

    parents: tuple[int, ...]
    child: int
    table: Floats

    @property
    def look_up(self) -> LookUp:
        return LookUp((*self.parents, self.child), self.table)


@dataclass(frozen=True, eq=False)
class Marginal(Score):
    r"""Categorical attributes with parents, with missing values summed over.

    .. math:: \log \sum_{\text{needed}} \prod_j P(x_j \mid c, \text{parents of } x_j)

    A missing attribute is needed if it has a child that is present or needed; a missing attribute that is not
    needed is left out.

    Attributes
    ----------
    families : tuple of Family
        Children before their parents.
    sizes : mapping from attribute to r
    values : mapping from attribute to codes
        The codes over which a missing value is summed. An attribute that is not named here is never missing, because
        missing is one of its states. An attribute without codes cannot be summed over.
    most : int or None
        With more joint states of the needed attributes than this, or if one has no codes, nothing is summed over, and
        families back off from their first missing parent. None: no limit.
    """

    families: tuple[Family, ...]
    sizes: Mapping[int, int]
    values: Mapping[int, tuple[int, ...]]
    most: int | None

    def write(self, writer: Writer[T]) -> T:
        return writer.marginal(self)

    @property
    def is_possible(self) -> bool:
        return all(bool(np.isfinite(family.table).all()) for family in self.families)

    @property
    def is_forest(self) -> bool:
        """Whether every child has one parent, so that messages can be passed regardless of what is missing."""
        return self.most is None and all(len(family.parents) <= 1 for family in self.families)

    @cached_property
    def children(self) -> dict[int, list[Family]]:
        """The families of the children of each attribute."""
        found: dict[int, list[Family]] = {}
        for family in self.families:
            for parent in family.parents:
                found.setdefault(parent, []).append(family)
        return found

    def direct(self, family: Family) -> LookUp:
        """The table of a family in a forest, with 0 where its parent is summed over."""
        if not family.parents or family.parents[0] not in self.values:
            return family.look_up
        table = family.table.copy()
        table[self.sizes[family.parents[0]]] = 0.0
        return LookUp((*family.parents, family.child), table)


@dataclass(frozen=True, eq=False)
class Normals:
    """Normal densities of numeric attributes in each context: norm − (((x − mean) − low)·scale)².

    Attributes
    ----------
    columns : int array of shape (M,)
    norm, mean, low, scale : arrays of shape (contexts, M, K)
    """

    columns: NDArray[np.intp]
    norm: Floats
    mean: Floats
    low: Floats
    scale: Floats


@dataclass(frozen=True, eq=False)
class Average(Score):
    r"""log of a sum over contexts, each with a look-up for every attribute.

    .. math:: \log \sum_{u \text{ holds}} \exp \sum_j \text{logs}[u, x_j]

    A context is a value of one attribute (AODE) or of two (A2DE); it holds in a row that has these values. The
    cell of its own first value holds log P(c, u), weighted.

    Attributes
    ----------
    offsets : int array of shape (d + 1,)
        Where the r + 2 codes of each attribute begin among the codes of all attributes.
    contexts : int array of shape (n, 1) or (n, 2)
        Codes of all attributes, in ascending order in each row.
    logs : array of shape (n, codes, K)
    normals : Normals, optional
        Of numeric attributes; one that is missing is left out.
    otherwise : Score
        For rows in which no context holds.
    """

    offsets: NDArray[np.intp]
    contexts: NDArray[np.intp]
    logs: Floats
    normals: Normals | None
    otherwise: Score
    order: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", self.contexts.shape[1])

    def write(self, writer: Writer[T]) -> T:
        return writer.average(self)

    @property
    def is_possible(self) -> bool:
        return bool(np.isfinite(self.logs).all()) and self.otherwise.is_possible


def normal(column: int, norm: LookUp, mean: LookUp, low: LookUp, scale: LookUp) -> IfPresent:
    """Return norm − (((x − mean) − low)·scale)² of a numeric attribute, 0 where it is missing."""
    k = norm.table.shape[-1]
    z = Distance(column, mean, low, scale)
    there = Sum((norm, Product((constant(np.full(k, -1.0)), z, z))))
    return IfPresent(column, there, constant(np.zeros(k)))
