"""What one array of statistics must be able to do, and how it moves to a larger schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import NotCounted
from bayeskit.schema import Kind, Name, Schema
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit.statistics.cells import CellTable
    from bayeskit.statistics.term import Term


# What is left of a weight is rounding where it is below this share of what was taken away: the weight 0.7·0.7 that
# a row of weight 1 has after fading twice is not 0.49, and whoever forgets it can name it to one double only.
ROUNDING = 2.0**-48
# The same for sums that are kept in one double, which lose a little with every row.
ROUNDING_OF_ONE = 2.0**-40
# Rounding may leave a cell this share of the largest below zero when rows are forgotten.
DUST = 1e-6
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


class Part:
    """Statistics of one pattern: a value with an algebra.

    Parts are immutable: every operation returns a new one. ``merge`` is associative and commutative
    and has ``zero`` as its identity; ``subtract`` undoes ``merge``; ``scale`` distributes over both.
    The class axis has the length of the schema's target.

    Attributes
    ----------
    kind : str
        The name of its pattern, by which plans ask for it and files hold it.
    column_kind : "categorical", "numeric" or "block"
        What columns its attributes are.
    parent_kinds : tuple of kinds
        Where each of its attributes is a family, (child, parent 1, …): what columns the parents may be.
    takes_all : bool
        Whether its attributes are always all columns of their kind.
    weight_arrays, free_arrays, fixed_arrays, exponent_arrays : names of arrays
        Weights are never below zero. Free arrays are as long as there are cells, fixed ones follow from the schema
        and the plan, exponents are those of some double.
    is_squared : bool
        Whether its sums are of products, which must not overflow where they are added up.
    remembered : "always", "scaled" or None
        Whether it is remembered of rows that were taken away: always, or once weights have been scaled.
    cleared_by : str or None
        The kind of part whose memory of such rows tells what rounding may have left in this one.
    """

    kind: ClassVar[str]
    column_kind: ClassVar[Kind] = "categorical"
    parent_kinds: ClassVar[tuple[Kind, ...]] = ()
    takes_all: ClassVar[bool] = False
    weight_arrays: ClassVar[tuple[str, ...]] = ()
    free_arrays: ClassVar[tuple[str, ...]] = ()
    fixed_arrays: ClassVar[tuple[str, ...]] = ()
    exponent_arrays: ClassVar[tuple[str, ...]] = ()
    is_squared: ClassVar[bool] = False
    remembered: ClassVar[Literal["always", "scaled"] | None] = None
    cleared_by: ClassVar[str | None] = None

    @classmethod
    def terms(cls, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[Term]:
        """Say exactly what the part holds: whoever counts these terms has counted all of it."""
        raise NotImplementedError

    @classmethod
    def memory(cls, schema: Schema, attributes: tuple[Name, ...]) -> int:
        """Return the bytes that a large part will take, before any is taken; 0 for a small one."""
        return 0

    @property
    def exact(self) -> bool:
        """Whether all weights are such that sums of them have no rounding."""
        return True

    @classmethod
    def flaw(
        cls, arrays: Mapping[str, NDArray[Any]], schema: Schema, beside: Mapping[str, NDArray[Any]]
    ) -> str | None:
        """Say what is wrong with arrays that were read, beyond shapes and signs; None where nothing is.

        ``beside`` are the arrays of all parts, as kind/name.
        """
        return None

    @classmethod
    def zero(cls, schema: Schema, attributes: tuple[Name, ...]) -> Self:
        raise NotImplementedError

    def merge(self, other: Self) -> Self:
        raise NotImplementedError

    def subtract(self, other: Self, gone: Gone | None = None) -> Self:
        """Take sums away; what is left by rounding alone is zero.

        ``gone`` is all that was taken away so far, ``other`` included. Errors of earlier subtractions are still there,
        so that it is ``gone``, and not ``other``, which tells how large they may be.
        """
        raise NotImplementedError

    def scale(self, factor: float | Floats) -> Self:
        """Multiply every weight by a factor, or by one factor for each class."""
        raise NotImplementedError

    def embed(self, embedding: Embedding) -> Self:
        raise NotImplementedError

    def deficit(self) -> float:
        """Return how far below zero the most negative weight lies, 0.0 if none does."""
        raise NotImplementedError

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return all state as named arrays, for saving."""
        raise NotImplementedError

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        raise NotImplementedError

    def cell_tables(self, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[CellTable]:
        """List the cells of every term of the pattern, in the order of the terms."""
        raise NotImplementedError

    @classmethod
    def from_cell_tables(
        cls, schema: Schema, attributes: tuple[Name, ...], tables: Mapping[Term, CellTable]
    ) -> Self:
        """Build the part from the cells of its terms, wherever they were counted."""
        raise NotImplementedError

    def without_rounding(self, gone: Any) -> Self:
        """Clear what rounding may have left of rows that are gone; asked of parts with ``cleared_by``."""
        raise NotImplementedError


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
