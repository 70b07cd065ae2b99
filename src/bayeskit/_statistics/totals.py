"""Totals in each class: Σx of every column of a block, and the weight of the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayeskit._messages import Message
from bayeskit._schema import Name, Schema
from bayeskit._statistics.part import (
    DUST,
    ROUNDING_OF_ONE,
    CellTable,
    Embedding,
    Gone,
    Part,
    of_planes,
    put_planes,
)
from bayeskit._statistics.term import Term
from bayeskit.errors import DataError, Incompatible
from bayeskit.typing import Floats

# The tolerance below zero for a fractional total (tf-idf weights) after a subtraction, as a fraction of the previous
# total. No true total is negative, so the tolerance is larger than above zero.
_DUST_BELOW = 1e-9

# 8 GiB of totals.
MOST_CELLS = 2**30


@dataclass(frozen=True, eq=False)
class Totals(Part):
    """First-order statistics of a block.

    Classes are on the first axis because counting writes one class at a time: the row of a class (0.8 MB for 100,000
    words) stays in the cache while its documents are counted. Prediction needs the classes of a word side by side, so
    estimation transposes its table once, which takes a fiftieth of the time of a count.

    Attributes
    ----------
    sums : array of shape (K, V)
        Σ w·x over the rows of each class.
    rows : array of shape (K,)
        Σ w over the rows of each class.

    Examples
    --------
    >>> one = Totals(np.array([[1., 2.]]), np.array([1.]))
    >>> one.merge(one).subtract(one).sums
    array([[1., 2.]])
    """

    kind = "totals"
    column_kind = "block"
    weight_arrays = ("rows",)
    remembered = "always"

    sums: Floats
    rows: Floats

    @classmethod
    def terms(cls, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[Term]:
        yield Term((schema.target.name,), attributes, 1)

    @classmethod
    def zero(cls, schema: Schema, attributes: tuple[Name, ...]) -> Self:
        return cls(empty_sums(schema, attributes), np.zeros(schema.n_classes))

    def merge(self, other: Self) -> Self:
        self._same_shape(other)
        with np.errstate(over="ignore"):
            sums = self.sums + other.sums
        refuse_overflow(sums, "the block")
        return type(self)(sums, self.rows + other.rows)

    def subtract(self, other: Self, gone: Gone | None = None) -> Self:
        self._same_shape(other)
        taken: Totals = other if gone is None else gone["totals"]
        sums = _take_away(self.sums, other.sums, taken.sums)
        return type(self)(sums, _take_away(self.rows, other.rows, taken.rows))

    @property
    def exact(self) -> bool:
        """Whether every sum is a whole number."""
        return bool((self.sums == np.rint(self.sums)).all())

    def scale(self, factor: float | Floats) -> Self:
        by_class = np.asarray(factor, dtype=np.float64)
        by_cell = by_class[:, None] if by_class.ndim else by_class
        return type(self)(self.sums * by_cell, self.rows * by_class)

    def embed(self, embedding: Embedding) -> Self:
        if embedding.old.target.states == embedding.new.target.states:
            return self
        return type(self)(embedding.move_classes(self.sums), embedding.move_classes(self.rows))

    def widened(self, old: Schema, new: Schema, names: tuple[Name, ...]) -> Self:
        return type(self)(
            np.concatenate([self.sums, np.zeros((len(self.sums), len(names)))], axis=1), self.rows
        )

    def deficit(self) -> float:
        below = max(_below(self.rows, self.rows), _below(self.sums, self.sums.max(1, initial=0.0)[:, None]))
        return float(below)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {"sums": self.sums, "rows": self.rows}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        return cls(np.asarray(arrays["sums"], np.float64), np.asarray(arrays["rows"], np.float64))

    @classmethod
    def flaw(
        cls, arrays: Mapping[str, NDArray[Any]], schema: Schema, beside: Mapping[str, NDArray[Any]]
    ) -> str | Message | None:
        if arrays["sums"].min(initial=0.0) < -DUST * arrays["sums"].max(initial=1.0):
            return "its array totals/sums holds negative counts"
        return None

    def cell_tables(self, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[CellTable]:
        (term,) = Totals.terms(schema, attributes)
        yield of_planes(term, {"weight": self.rows, "first": self.sums})

    @classmethod
    def from_cell_tables(
        cls, schema: Schema, attributes: tuple[Name, ...], tables: Mapping[Term, CellTable]
    ) -> Self:
        found = cls.zero(schema, attributes)
        (term,) = Totals.terms(schema, attributes)
        put_planes(tables[term], {"weight": found.rows, "first": found.sums})
        return found

    def _same_shape(self, other: Self) -> None:
        if self.sums.shape != other.sums.shape:
            raise Incompatible(
                "Totals of {length} columns in {length2} classes and of "
                "{length3} in {length4} cannot be added. "
                "Embed both in one schema first.",
                length=self.sums.shape[1],
                length2=self.sums.shape[0],
                length3=other.sums.shape[1],
                length4=other.sums.shape[0],
            )


def refuse_overflow(sums: Floats, name: Name) -> None:
    """Raise an error for totals that overflow, because estimates divide by their sum."""
    with np.errstate(over="ignore"):
        total = sums.sum()
    if not np.isfinite(total):
        raise DataError(
            "The totals of {name!r} overflow: counts add up to more than 1.8e308. Divide the columns by a "
            "constant.",
            name=name,
        )


def _take_away(whole: Floats, part: Floats, gone: Floats) -> Floats:
    """Subtract, and set to zero what only rounding has left. A whole number is never rounding."""
    rest: Floats = whole - part
    rounding = ROUNDING_OF_ONE * gone
    small = (part != 0) & (rest != 0) & (rest >= -_DUST_BELOW * whole - rounding) & (rest <= rounding)
    if small.any():
        rest[small & (rest != np.rint(rest))] = 0.0
    return rest


def _below(weights: Floats, size: Floats) -> float:
    """Return how far the lowest weight is below zero, ignoring rounding errors of the given size."""
    least = weights.min(initial=0.0)
    if least == 0.0:
        return 0.0
    real = (weights < -_DUST_BELOW * np.abs(size)) | ((weights < 0) & (weights == np.rint(weights)))
    return float(-weights.min(initial=0.0, where=real))


def empty_sums(schema: Schema, attributes: tuple[Name, ...]) -> Floats:
    """Return zeros for every class and column of a block. A table too large for memory is an error."""
    width = sum(schema[name].width for name in attributes)
    if schema.n_classes * width > MOST_CELLS:
        raise DataError(
            "{width:,} columns for {n_classes} classes need a table of {n_classes2:,.0f} GiB. Leave out "
            "empty columns, or hash the columns to fewer.",
            width=width,
            n_classes=schema.n_classes,
            n_classes2=schema.n_classes * width / 2**27,
        )
    return np.zeros((schema.n_classes, width))
