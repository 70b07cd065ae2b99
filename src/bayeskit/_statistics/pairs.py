"""n(class, x_i, x_j): the counts of all pairs of categorical attributes in one array."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayeskit._schema import Name, Schema
from bayeskit._statistics.part import CellTable, Embedding, Gone, Part, left_of, shape_of, weight_gone
from bayeskit._statistics.tables import Tables
from bayeskit._statistics.term import Term
from bayeskit.errors import DataError
from bayeskit.typing import Floats

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
    >>> from bayeskit._schema import Variable
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
        if needed > LARGEST:
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
    ) -> str | None:
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
