"""What one array of statistics must be able to do, and how it moves to a larger schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import NotCounted
from bayeskit.schema import Name, Schema

Floats = NDArray[np.float64]


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

    def subtract(self, other: Self) -> Self: ...

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


def never_counted(least: float) -> NotCounted:
    """Return the error for taking away what is not there; ``least`` is what some cell would hold."""
    return NotCounted(
        f"These rows were never counted: some cell would hold {least:g}. "
        "Forget only rows that were learned, with the weights they were learned with."
    )


def left_of(held: Floats, taken: Floats, margin: Floats) -> Floats:
    """Return held − taken, refusing what was never there and clearing what is left by rounding alone."""
    left = held - taken
    if (-left - 1e-9 * held - 1e-12 * margin > 0).any():
        raise never_counted(left.min())
    left[left <= 4e-15 * held] = 0.0
    return left
