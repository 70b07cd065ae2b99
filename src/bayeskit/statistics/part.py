"""What one array of statistics must be able to do, and how it moves to a larger schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import NotCounted
from bayeskit.schema import Name, Schema
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit.statistics.cells import CellTable
    from bayeskit.statistics.term import Term


# What is left of a weight is rounding where it is below this share of what was taken away: the weight 0.7·0.7 that
# a row of weight 1 has after fading twice is not 0.49, and whoever forgets it can name it to one double only.
ROUNDING = 2.0**-48
# The same for sums that are kept in one double, which lose a little with every row.
ROUNDING_OF_ONE = 2.0**-40
# A class of no more weight is a single row, which has no spread of its own.
ONE_ROW = 1.0 + 1e-9

# All that was taken away, as parts by their kind: tables always, moments and scatter where they are in doubt.
Gone = Mapping[Any, Any]


@dataclass(frozen=True)
class Embedding:
    """Where the classes and states of one schema stand in another; −1 where they have left.

    Only states without weight may leave, so nothing is lost on the way.
    """

    old: Schema
    new: Schema

    @cached_property
    def classes(self) -> NDArray[np.intp]:
        codes = self.new.target.codes
        return np.array([codes.get(label, -1) for label in self.old.target.states], dtype=np.intp)

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """The row of the new flat tables for each row of the old (spare cells included)."""
        pieces = []
        for before, after, offset in zip(self.old.categorical, self.new.categorical, self.new.offsets):
            if before is after:
                place = np.arange(before.size + 1)
            else:
                place = np.array(
                    [*(after.codes.get(s, -1) for s in before.states), after.size], dtype=np.intp
                )
            pieces.append(np.where(place < 0, -1, place + int(offset)))
        return np.concatenate(pieces).astype(np.intp) if pieces else np.empty(0, np.intp)

    def move_classes(self, array: Floats, axis: int = 0) -> Floats:
        """Copy an array whose ``axis`` is the class into one for the new classes (zero where new)."""
        shape = list(array.shape)
        shape[axis] = self.new.n_classes
        moved = np.zeros(shape, dtype=array.dtype)
        alive = self.classes >= 0
        into: list[slice | NDArray[np.intp]] = [slice(None)] * array.ndim
        into[axis] = self.classes[alive]
        moved[tuple(into)] = np.compress(alive, array, axis=axis)
        return moved


class Part(Protocol):
    """Statistics of one pattern: a value with an algebra.

    Parts are immutable: every operation returns a new one. ``merge`` is associative and commutative
    and has ``zero`` as its identity; ``subtract`` undoes ``merge``; ``scale`` distributes over both.
    The class axis has the length of the schema's target.
    """

    @classmethod
    def zero(cls, schema: Schema, attributes: tuple[Name, ...]) -> Self: ...

    def merge(self, other: Self) -> Self: ...

    def subtract(self, other: Self, gone: Gone | None = None) -> Self:
        """Take sums away; what is left by rounding alone is zero.

        ``gone`` is all that was taken away so far, ``other`` included. Errors of earlier subtractions are still there,
        so that it is ``gone``, and not ``other``, which tells how large they may be.
        """
        ...

    def scale(self, factor: float | Floats) -> Self:
        """Multiply every weight by a factor, or by one factor for each class."""
        ...

    def embed(self, embedding: Embedding) -> Self: ...

    def deficit(self) -> float:
        """Return how far below zero the most negative weight lies, 0.0 if none does."""
        ...

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return all state as named arrays, for saving."""
        ...

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self: ...

    def cell_tables(self, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[CellTable]:
        """List the cells of every term of the pattern, in the order of the terms."""
        ...

    @classmethod
    def from_cell_tables(
        cls, schema: Schema, attributes: tuple[Name, ...], tables: Mapping[Term, CellTable]
    ) -> Self:
        """Build the part from the cells of its terms, wherever they were counted."""
        ...


def never_counted(least: float) -> NotCounted:
    """Return the error for taking away what is not there; ``least`` is what some cell would hold."""
    return NotCounted(
        f"These rows were never counted: some cell would hold {least:g}. "
        "Forget only rows that were learned, with the weights they were learned with."
    )


def weight_gone(gone: Gone | None, taken: Floats) -> Floats:
    """Return the weight that was ever taken from each class: n(c) of what is gone, or of what is taken now."""
    return taken if gone is None or "tables" not in gone else gone["tables"].margin


def left_of(held: Floats, taken: Floats, margin: Floats, gone: Floats) -> Floats:
    """Return held − taken, refusing what was never there and clearing what is left by rounding alone.

    ``margin`` is the weight of the class, ``gone`` all that was ever taken from it; both broadcast.
    """
    left, rounding = held - taken, ROUNDING_OF_ONE * gone
    if (-left - 1e-9 * held - 1e-12 * margin - rounding > 0).any():
        raise never_counted(left.min())
    left[(taken != 0.0) & (left <= rounding)] = 0.0
    return left
