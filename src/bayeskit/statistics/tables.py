"""n(class) and n(class, attribute): the counts of all categorical attributes in one array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bayeskit.errors import NotCounted
from bayeskit.schema import Name, Schema
from bayeskit.statistics.part import Embedding, Floats


@dataclass(frozen=True)
class Tables:
    """Counts of order 0.

    Attributes
    ----------
    margin : array of shape (K,)
        n(c): the weight of each class.
    counts : array of shape (T, K)
        n(v, c) for the states of all attributes one after the other, the class innermost; the last
        row of each attribute is its spare cell, the weight of the missing values.
    """

    margin: Floats
    counts: Floats

    @classmethod
    def zero(cls, schema: Schema, attributes: tuple[Name, ...]) -> Self:
        n_rows = int(schema.offsets[-1])
        return cls(np.zeros(schema.n_classes), np.zeros((n_rows, schema.n_classes)))

    def merge(self, other: Self) -> Self:
        return type(self)(self.margin + other.margin, self.counts + other.counts)

    def subtract(self, other: Self) -> Self:
        margin = _left(self.margin, other.margin, self.margin)
        return type(self)(margin, _left(self.counts, other.counts, self.margin))

    def scale(self, factor: float | Floats) -> Self:
        return type(self)(self.margin * factor, self.counts * factor)

    def embed(self, embedding: Embedding) -> Self:
        wide = embedding.move_classes(self.counts, axis=1)
        rows = embedding.rows
        counts = np.zeros((int(embedding.new.offsets[-1]), embedding.new.n_classes))
        counts[rows[rows >= 0]] = wide[rows >= 0]
        return type(self)(embedding.move_classes(self.margin), counts)

    def deficit(self) -> float:
        return 0.0  # subtract has refused what would be negative

    def arrays(self) -> dict[str, Any]:
        return {"margin": self.margin, "counts": self.counts}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        return cls(arrays["margin"], arrays["counts"])


def _left(held: Floats, taken: Floats, margin: Floats) -> Floats:
    """Return held − taken, refusing what was never there and clearing what is left by rounding alone.

    Whole weights cancel exactly; fractional ones leave about 1e-16 of the largest weight a cell ever held.
    """
    left = held - taken
    short = -left - 1e-9 * held - 1e-12 * margin
    if (short > 0).any():
        raise NotCounted(
            f"These rows were never counted: some cell would hold {left.min():g}. "
            "Forget only rows that were learned, with the weights they were learned with."
        )
    left[left <= 4e-15 * held] = 0.0
    return left
