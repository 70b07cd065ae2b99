"""n(class, x_i) and n(class, x_i, x_j): the counts of all categorical attributes, and of all pairs of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._messages import Message
from bayeskit._schema import Name, Schema
from bayeskit._statistics.double import Twofold
from bayeskit._statistics.part import (
    ROUNDING,
    CellTable,
    Embedding,
    Gone,
    Part,
    left_of,
    never_counted,
    shape_of,
    weight_gone,
)
from bayeskit._statistics.term import Term
from bayeskit.errors import DataError
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


# The maximum size of a table of pairs in bytes. It grows with the square of the total number of states.
LARGEST = 2**29


@dataclass(frozen=True, eq=False)
class Pairs(Part):
    r"""Counts of order 0 for all pairs of attributes.

    Attributes are stored one after the other, each with its states and one spare cell for missing values, as in
    :class:`Tables`. With g the row of state v of attribute i, and h that of state u of attribute j,
    ``counts[g, h, c]`` is :math:`n(x_i = v, x_j = u, c)`. From this follow:

    - :math:`n(v, u, c)` over the rows where both are present: :meth:`table`, the cells without the spare ones;
    - :math:`n(v, c)` over the rows where j is present: ``table(i, j).sum(axis=1)``, which is
      ``counts[g, g] - counts[g, s]`` with s the spare cell of j;
    - :math:`n(v, c)` over all rows: ``counts[g, g]``, see :attr:`tables`;
    - :math:`n(c)` over the rows where both are present: ``table(i, j).sum(axis=(0, 1))``.

    Attributes
    ----------
    margin : array of shape (K,)
        n(c): the weight of each class.
    counts : array of shape (T, T, K)
        Symmetric: ``counts[g, h]`` equals ``counts[h, g]``. The block of an attribute with itself holds
        n(v, c) on its diagonal.
    offsets : array of shape (d + 1,)
        The start of each attribute, as in the schema.

    Examples
    --------
    >>> from bayeskit.statistics import Variable
    >>> two = Variable("a", "categorical", (0, 1)), Variable("b", "categorical", (0, 1, 2))
    >>> schema = Schema(two, Variable("y", "categorical", ("no", "yes")))
    >>> Pairs.zero(schema, ("a", "b")).table(0, 1).shape
    (2, 3, 2)
    """

    kind = "pairs"
    weight_arrays = "margin", "counts"
    fixed_arrays = ("offsets",)

    margin: Floats
    counts: Floats
    offsets: NDArray[np.int64]

    @classmethod
    def is_pattern(cls, schema: Schema, attributes: tuple[Any, ...]) -> bool:
        return attributes == cls.columns_of(schema)

    @classmethod
    def terms(cls, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[Term]:
        yield from Tables.terms(schema, attributes)
        target = schema.target.name
        yield from (Term((target, *pair)) for pair in itertools.combinations(attributes, 2))

    @classmethod
    def zero(cls, schema: Schema, attributes: tuple[Name, ...]) -> Self:
        needed = cls.memory(schema)
        if not cls.fits(schema):
            states, d, k = int(schema.offsets[-1]), len(schema.categorical), schema.n_classes
            raise DataError(
                "Counting all pairs of {d} attributes with {states} states together in {k} classes takes "
                "{needed:.3g} GiB, and {largest:.3g} GiB are allowed. Leave attributes out, join "
                'rare states, treat numbers as numbers (numeric="gaussian"), or use a model without pairs.',
                d=d,
                states=states,
                k=k,
                needed=needed / 2**30,
                largest=LARGEST / 2**30,
            )
        n_rows = int(schema.offsets[-1])
        counts = np.zeros((n_rows, n_rows, schema.n_classes))
        return cls(np.zeros(schema.n_classes), counts, schema.offsets.astype(np.int64))

    @classmethod
    def memory(cls, schema: Schema, attributes: tuple[Name, ...] = ()) -> int:
        """Return the size of the counts in bytes, before they are allocated."""
        return 8 * schema.n_classes * (int(schema.offsets[-1]) ** 2 + 1)

    @classmethod
    def fits(cls, schema: Schema) -> bool:
        """Return whether all pairs of attributes of a schema may be counted."""
        return cls.memory(schema) <= LARGEST

    @staticmethod
    def most_telling(schema: Schema, information: ArrayLike) -> tuple[Name, ...]:
        """Return the attributes with the highest I(X; Y) whose pairs take a quarter of the memory allowed.

        Those of a single state are never among them. The attributes are in schema order.

        Examples
        --------
        >>> from bayeskit.statistics import Variable
        >>> three = Variable("a", "categorical", (0,)), *(Variable(n, "categorical", (0, 1)) for n in "bc")
        >>> Pairs.most_telling(Schema(three, Variable("y", "categorical", ("no", "yes"))), [0.0, 0.1, 0.3])
        ('b', 'c')
        """
        ranked = np.argsort(-np.round(np.asarray(information, dtype=np.float64), 12), kind="stable")
        able = [j for j in ranked.tolist() if schema.categorical[j].size > 1]
        rows = np.cumsum([schema.categorical[j].size + 1 for j in able], dtype=np.float64)
        some = able[: int((8.0 * schema.n_classes * rows**2 <= LARGEST // 4).sum())]
        return tuple(schema.categorical[j].name for j in sorted(some))

    @property
    def tables(self) -> Tables:
        """n(c) and n(v, c), which are the diagonal."""
        g = np.arange(len(self.counts))
        return Tables(self.margin, self.counts[g, g])

    def table(self, i: int, j: int) -> Floats:
        """Return n(v_i, v_j, c) over the rows where both are present: a view of shape (r_i, r_j, K).

        i and j are indices of categorical attributes of the schema.
        """
        begin, end = self.offsets[:-1], self.offsets[1:] - 1
        return self.counts[begin[i] : end[i], begin[j] : end[j]]

    def merge(self, other: Self) -> Self:
        return type(self)(self.margin + other.margin, self.counts + other.counts, self.offsets)

    def subtract(self, other: Self, gone: Gone | None = None) -> Self:
        weight = weight_gone(gone, other.margin)
        margin = left_of(self.margin, other.margin, self.margin, weight)
        return type(self)(margin, left_of(self.counts, other.counts, self.margin, weight), self.offsets)

    def scale(self, factor: float | Floats) -> Self:
        return type(self)(self.margin * factor, self.counts * factor, self.offsets)

    def embed(self, embedding: Embedding) -> Self:
        moved = self.zero(embedding.new, ())
        wide = embedding.move_classes(self.counts, axis=2)
        rows = embedding.rows
        alive = np.flatnonzero(rows >= 0)
        moved.counts[np.ix_(rows[alive], rows[alive])] = wide[np.ix_(alive, alive)]
        return type(self)(embedding.move_classes(self.margin), moved.counts, moved.offsets)

    def deficit(self) -> float:
        return 0.0  # subtract raises an error for negative counts

    @classmethod
    def flaw(
        cls, arrays: Mapping[str, NDArray[Any]], schema: Schema, beside: Mapping[str, NDArray[Any]]
    ) -> str | Message | None:
        """Check that pairs are symmetric, and that an attribute has only one state at a time."""
        counts, offsets, tables = arrays["counts"], arrays["offsets"], beside.get("tables/counts")
        g = np.arange(len(counts))
        # Tables are stored as double-doubles, pairs as doubles.
        if tables is not None and not np.allclose(counts[g, g], tables, rtol=1e-6, atol=1e-6):
            return "its arrays pairs/counts and tables/counts count an attribute differently"
        for begin, end in itertools.pairwise(offsets.tolist()):
            if not np.array_equal(counts[begin:end], counts[:, begin:end].transpose(1, 0, 2)):
                return "its array pairs/counts is not symmetric"
            own = counts[begin:end, begin:end].copy()
            own[np.arange(end - begin), np.arange(end - begin)] = 0.0
            if own.any():
                return "its array pairs/counts gives an attribute two states at once"
        return None

    def cell_tables(self, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[CellTable]:
        yield from self.tables.cell_tables(schema, attributes)
        for term, a, b in _blocks(schema, attributes):
            yield CellTable.of_array(term, np.moveaxis(self.counts[a, b], 2, 0))

    @classmethod
    def from_cell_tables(
        cls, schema: Schema, attributes: tuple[Name, ...], tables: Mapping[Term, CellTable]
    ) -> Self:
        pairs, single = cls.zero(schema, attributes), Tables.from_cell_tables(schema, attributes, tables)
        g = np.arange(len(pairs.counts))
        pairs.margin[:], pairs.counts[g, g] = single.margin, single.counts
        for term, a, b in _blocks(schema, attributes):
            block = tables[term].dense(shape_of(schema, term))
            pairs.counts[a, b] = block.transpose(1, 2, 0)
            pairs.counts[b, a] = block.transpose(2, 1, 0)
        return pairs


def _blocks(schema: Schema, attributes: tuple[Name, ...]) -> Iterator[tuple[Term, slice, slice]]:
    """Yield the terms of two attributes, and the positions of their states."""
    offsets = schema.offsets.tolist()
    place = {v.name: slice(*offsets[j : j + 2]) for j, v in enumerate(schema.categorical)}
    for term in Pairs.terms(schema, attributes):
        if len(term.cells) == 3:
            yield term, place[term.cells[1]], place[term.cells[2]]
