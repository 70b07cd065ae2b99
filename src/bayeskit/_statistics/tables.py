"""n(class) and n(class, attribute): the counts of all categorical attributes in one array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np

from bayeskit._schema import Name, Schema
from bayeskit._statistics.double import Twofold
from bayeskit._statistics.part import ROUNDING, CellTable, Embedding, Gone, Part, never_counted, shape_of
from bayeskit._statistics.term import Term
from bayeskit.typing import Floats

# Weights with at most this many binary digits after the point are added and subtracted without rounding.
_FRACTION_BITS = 16


@dataclass(frozen=True)
class Tables(Part):
    """The counts of categorical attributes, by class.

    Attributes
    ----------
    margin : array of shape (K,)
        n(c): the weight of each class.
    counts : array of shape (T, K)
        n(v, c) for the states of all attributes one after the other, with the class innermost. The last row
        of each attribute is the weight of its missing values.
    margin_low, counts_low : arrays of the same shapes, or None
        The low parts of the sums above for fractional weights, so that adding and removing a weight leaves
        exactly zero. Integer weights need none.
    """

    kind = "tables"
    weight_arrays = "margin", "counts"
    remembered = "always"

    margin: Floats
    counts: Floats
    margin_low: Floats | None = None
    counts_low: Floats | None = None

    @classmethod
    def is_pattern(cls, schema: Schema, attributes: tuple[Any, ...]) -> bool:
        return attributes == cls.columns_of(schema)

    @classmethod
    def terms(cls, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[Term]:
        target = schema.target.name
        yield Term((target,))
        yield from (Term((target, name)) for name in attributes)

    @classmethod
    def zero(cls, schema: Schema, attributes: tuple[Name, ...]) -> Self:
        n_rows = int(schema.offsets[-1])
        return cls(np.zeros(schema.n_classes), np.zeros((n_rows, schema.n_classes)))

    def merge(self, other: Self) -> Self:
        if self.counts_low is None and other.counts_low is None:
            return type(self)(self.margin + other.margin, self.counts + other.counts)
        return self._of(*(a + b for a, b in zip(self._twofold(), other._twofold(), strict=True)))

    def subtract(self, other: Self, gone: Gone | None = None) -> Self:
        """Subtract counts. Counts that were never added are an error. Rounding errors are cleared."""
        taken: Tables = other if gone is None else gone["tables"]
        rounding = ROUNDING * taken.margin, ROUNDING * taken.counts
        margin, counts = (a - b for a, b in zip(self._twofold(), other._twofold(), strict=True))
        for left, before, doubt in zip((margin, counts), (self.margin, self.counts), rounding, strict=True):
            if (-left.high - 1e-9 * before - 1e-12 * self.margin - doubt > 0).any():
                raise never_counted(left.high.min())
        margin = margin.cleared((other.margin != 0.0) & (margin.high <= rounding[0]))
        # If a class has no weight left, all its cells are empty.
        empty = (other.counts != 0.0) & (counts.high <= rounding[1]) | (margin.high == 0.0)
        counts = counts.cleared(empty)
        if self.counts_low is None and other.counts_low is None:
            return type(self)(margin.high, counts.high)
        return self._of(margin, counts)

    @property
    def exact(self) -> bool:
        """Whether every weight is an integer or a short binary fraction, so that sums are exact."""
        high = (np.ldexp(part, _FRACTION_BITS) for part in (self.margin, self.counts))
        return not any(low.any() for low in self._low()) and all(
            (part == np.rint(part)).all() for part in high
        )

    def scale(self, factor: float | Floats) -> Self:
        margin, counts = self._twofold()
        factors = np.asarray(factor, dtype=np.float64)
        return self._of(margin.scaled(factors), counts.scaled(factors))

    def embed(self, embedding: Embedding) -> Self:
        margins = (embedding.move_classes(part) for part in (self.margin, self._low()[0]))
        margin, margin_low = margins
        counts, counts_low = (_moved(part, embedding) for part in (self.counts, self._low()[1]))
        if self.counts_low is None:
            return type(self)(margin, counts)
        return type(self)(margin, counts, margin_low, counts_low)

    def widened(self, old: Schema, new: Schema, names: tuple[Name, ...]) -> Self:
        sizes = [variable.size for variable in new.categorical[len(old.categorical) :]]

        def with_missing(counts: Floats, margin: Floats) -> Floats:
            more = [np.concatenate([np.zeros((size, len(margin))), margin[None]]) for size in sizes]
            return np.concatenate([counts, *more])

        margin_low, counts_low = self._low()
        counts = with_missing(self.counts, self.margin)
        if self.counts_low is None:
            return type(self)(self.margin, counts)
        return type(self)(self.margin, counts, margin_low, with_missing(counts_low, margin_low))

    def deficit(self) -> float:
        return 0.0  # subtract raises an error for negative counts

    def arrays(self) -> dict[str, Any]:
        margin_low, counts_low = self._low()
        return {
            "margin": self.margin,
            "counts": self.counts,
            "margin_low": margin_low,
            "counts_low": counts_low,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        margin_low, counts_low = arrays["margin_low"], arrays["counts_low"]
        if not margin_low.any() and not counts_low.any():
            return cls(arrays["margin"], arrays["counts"])
        return cls(arrays["margin"], arrays["counts"], margin_low, counts_low)

    def cell_tables(self, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[CellTable]:
        margin, *terms = Tables.terms(schema, attributes)
        whole = self.counts_low is None
        margin_low, counts_low = self._low()
        yield CellTable.of_array(margin, self.margin, None if whole else margin_low)
        for term, (start, stop) in zip(terms, pairwise(schema.offsets.tolist()), strict=True):
            low = None if whole else counts_low[start:stop].T
            yield CellTable.of_array(term, self.counts[start:stop].T, low)

    @classmethod
    def from_cell_tables(
        cls, schema: Schema, attributes: tuple[Name, ...], tables: Mapping[Term, CellTable]
    ) -> Self:
        terms = list(Tables.terms(schema, attributes))
        low = any("n_low" in tables[term].sums for term in terms)

        def stacked(name: str | None) -> tuple[Floats, Floats]:
            margin, *rest = (tables[term].dense(shape_of(schema, term), name) for term in terms)
            return margin, np.concatenate([np.zeros((0, schema.n_classes)), *(counts.T for counts in rest)])

        return cls(*stacked(None), *(stacked("n_low") if low else ()))

    def _low(self) -> tuple[Floats, Floats]:
        if self.margin_low is None or self.counts_low is None:
            return np.zeros_like(self.margin), np.zeros_like(self.counts)
        return self.margin_low, self.counts_low

    def _twofold(self) -> tuple[Twofold, Twofold]:
        margin_low, counts_low = self._low()
        return Twofold(self.margin, margin_low), Twofold(self.counts, counts_low)

    @classmethod
    def _of(cls, margin: Twofold, counts: Twofold) -> Self:
        return cls(margin.high, counts.high, margin.low, counts.low)


def _moved(counts: Floats, embedding: Embedding) -> Floats:
    wide = embedding.move_classes(counts, axis=1)
    rows = embedding.rows
    moved = np.zeros((int(embedding.new.offsets[-1]), embedding.new.n_classes))
    moved[rows[rows >= 0]] = wide[rows >= 0]
    return moved
