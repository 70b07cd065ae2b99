"""n(class, cell) on sparse dyadic grids, from which kernel densities are estimated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayeskit._messages import Message
from bayeskit._schema import Name, Schema
from bayeskit._statistics.part import (
    ROUNDING_OF_ONE,
    CellTable,
    Embedding,
    Gone,
    Part,
    term_text,
    weight_gone,
)
from bayeskit._statistics.term import Term
from bayeskit.errors import DataError
from bayeskit.typing import Floats

Ids = NDArray[np.int64]

# The maximum number of occupied cells of one attribute. Beyond it, its cells double in width.
MOST_CELLS = 4_096
# Cells are never finer than 2**-40 of the largest value, so an id takes at most 41 bits.
FINENESS = 40
# The binary exponent of the smallest positive number, which an attribute without values has.
LEAST_EXPONENT = -1_073


@dataclass(frozen=True)
class Grid:
    """The occupied cells of one attribute.

    Attributes
    ----------
    largest : int
        The least L with |x| < 2^L for every value counted so far.
    exponent : int
        Cells are 2^exponent wide.
    ids : int64 array of shape (m,)
        Cell i holds the values x with floor(x / 2^exponent) = i; in ascending order.
    counts : array of shape (m, K)
        n(i, c).
    """

    largest: int
    exponent: int
    ids: Ids
    counts: Floats

    def coarsened(self, exponent: int) -> Grid:
        """Return the grid with wider cells: halving an id is flooring x at twice the width."""
        if exponent == self.exponent:
            return self
        ids = self.ids >> min(exponent - self.exponent, 63)
        first = np.flatnonzero(np.diff(ids, prepend=ids[:1] - 1))
        # reduceat has no meaning for an empty array.
        counts = np.add.reduceat(self.counts, first, axis=0) if len(ids) else self.counts
        return replace(self, exponent=exponent, ids=ids[first], counts=counts)

    def fitted(self) -> Grid:
        """Return the grid with cells just so wide that there are at most 4,096 of them."""
        # exponent ≥ largest − 40 always holds: counting starts there, and merging keeps the larger exponent.
        grid = self
        while len(grid.ids) > MOST_CELLS:
            grid = grid.coarsened(grid.exponent + 1)
        return grid

    def compact(self) -> Grid:
        """Return the grid without empty cells. A grid without any cells becomes a new one."""
        occupied = np.any(self.counts != 0.0, axis=1)
        if not occupied.any():
            return empty_grid(self.counts.shape[1])
        if occupied.all():
            return self
        return replace(self, ids=self.ids[occupied], counts=self.counts[occupied])

    def union(self, other: Grid, sign: float) -> tuple[Grid, Floats]:
        """Return self + sign·other on the wider cells of the two, and the counts of self in these cells."""
        exponent = max(self.exponent, other.exponent)
        a, b = self.coarsened(exponent), other.coarsened(exponent)
        ids = np.union1d(a.ids, b.ids)
        held = np.zeros((len(ids), self.counts.shape[1]))
        held[np.searchsorted(ids, a.ids)] = a.counts
        counts = held.copy()
        counts[np.searchsorted(ids, b.ids)] += sign * b.counts
        return Grid(max(self.largest, other.largest), exponent, ids, counts), held


def empty_grid(n_classes: int) -> Grid:
    """Return the grid of an attribute without values."""
    none = np.empty(0, np.int64)
    return Grid(LEAST_EXPONENT, LEAST_EXPONENT - FINENESS, none, np.zeros((0, n_classes)))


@dataclass(frozen=True)
class Grids(Part):
    """A sparse histogram of some numeric attributes in each class.

    Cells are 2^e wide, where e is the smallest integer ≥ L − 40 such that the values of all classes together occupy at
    most 4,096 cells, and 2^L is the power of two above every |x|. Wider dyadic cells are unions of finer ones, so e
    depends only on the values, not on their order or on how they were split. Merging coarsens the finer grid and is
    associative and commutative.

    Subtracting keeps the wider cells: after forgetting, the counts are exact, but the grid does not become finer
    again, because the positions inside a cell are not known. (A grid without any values starts again.)

    Attributes
    ----------
    largest, exponents : int64 arrays of shape (d,)
        L and e of each attribute.
    offsets : int64 array of shape (d + 1,)
        The start of the cells of each attribute.
    ids : int64 array of shape (m,)
        floor(x / 2^e) of the occupied cells, ascending in each attribute.
    counts : array of shape (m, K)
        n(cell, c).

    Examples
    --------
    >>> a = Grids.of([Grid(3, 0, np.array([1, 2, 5]), np.array([[1.0], [2.0], [1.0]]))], n_classes=1)
    >>> b = Grids.of([Grid(3, 1, np.array([0, 2]), np.array([[1.0], [1.0]]))], n_classes=1)
    >>> a.merge(b).exponents, a.merge(b).ids, a.merge(b).counts.ravel()
    (array([1]), array([0, 1, 2]), array([2., 2., 2.]))
    """

    kind = "grids"
    column_kind = "numeric"
    weight_arrays = ("counts",)
    free_arrays = "ids", "counts"
    exponent_arrays = "exponents", "largest"

    largest: Ids
    exponents: Ids
    offsets: Ids
    ids: Ids
    counts: Floats

    @classmethod
    def of(cls, grids: Iterable[Grid], n_classes: int) -> Self:
        """Concatenate the grids of several attributes."""
        grids = list(grids)
        return cls(
            np.array([g.largest for g in grids], np.int64),
            np.array([g.exponent for g in grids], np.int64),
            np.cumsum([0, *(len(g.ids) for g in grids)], dtype=np.int64),
            np.concatenate([np.empty(0, np.int64), *(g.ids for g in grids)]),
            np.concatenate([np.zeros((0, n_classes)), *(g.counts for g in grids)]),
        )

    def grid(self, j: int) -> Grid:
        """Return the grid of the j-th attribute."""
        cells = slice(int(self.offsets[j]), int(self.offsets[j + 1]))
        return Grid(int(self.largest[j]), int(self.exponents[j]), self.ids[cells], self.counts[cells])

    def __len__(self) -> int:
        return len(self.largest)

    @property
    def n_classes(self) -> int:
        return int(self.counts.shape[1])

    @classmethod
    def terms(cls, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[Term]:
        yield from (Term((schema.target.name,), (name,)) for name in attributes)

    @classmethod
    def zero(cls, schema: Schema, attributes: tuple[Name, ...]) -> Self:
        return cls.of([empty_grid(schema.n_classes)] * len(attributes), schema.n_classes)

    def merge(self, other: Self) -> Self:
        pairs = ((self.grid(j), other.grid(j)) for j in range(len(self)))
        return self.of((a.union(b, 1.0)[0].compact().fitted() for a, b in pairs), self.n_classes)

    def subtract(self, other: Self, gone: Gone | None = None) -> Self:
        left = []
        for j in range(len(self)):
            taken = other.grid(j)
            grid, held = self.grid(j).union(taken, -1.0)
            weight = weight_gone(gone, taken.counts.sum(axis=0))
            rounding = (grid.counts != held) & (np.abs(grid.counts) <= ROUNDING_OF_ONE * weight)
            left.append(replace(grid, counts=np.where(rounding, 0.0, grid.counts)).compact().fitted())
        return self.of(left, self.n_classes)

    def scale(self, factor: float | Floats) -> Self:
        return replace(self, counts=self.counts * factor)._compact()

    def embed(self, embedding: Embedding) -> Self:
        return replace(self, counts=embedding.move_classes(self.counts, axis=1))._compact()

    def _compact(self) -> Self:
        return self.of((self.grid(j).compact() for j in range(len(self))), self.n_classes)

    def deficit(self) -> float:
        return float(max(0.0, -self.counts.min(initial=0.0)))

    @classmethod
    def flaw(
        cls, arrays: Mapping[str, NDArray[Any]], schema: Schema, beside: Mapping[str, NDArray[Any]]
    ) -> str | Message | None:
        offsets, ids = arrays["offsets"], arrays["ids"]
        whole = (
            offsets[0] == 0
            and offsets[-1] == len(ids) == len(arrays["counts"])
            and (np.diff(offsets) >= 0).all()
        )
        if not whole:
            return "its array grids/offsets does not fit the cells of its grids"
        rising = np.diff(ids) > 0
        rising[offsets[(offsets > 0) & (offsets < len(ids))] - 1] = True  # from one attribute to the next
        return None if rising.all() else "its array grids/ids is not in ascending order"

    def cell_tables(self, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[CellTable]:
        for j, term in enumerate(Grids.terms(schema, attributes)):
            grid = self.grid(j)
            row, c = np.nonzero(grid.counts)
            scale = {"exponent": float(grid.exponent), "largest": float(grid.largest)}
            sums = {name: np.full(len(row), value) for name, value in scale.items()}
            yield CellTable(term, np.column_stack([c, grid.ids[row]]), grid.counts[row, c], sums)

    @classmethod
    def from_cell_tables(
        cls, schema: Schema, attributes: tuple[Name, ...], tables: Mapping[Term, CellTable]
    ) -> Self:
        terms = Grids.terms(schema, attributes)
        return cls.of((_grid_of(tables[term], schema.n_classes) for term in terms), schema.n_classes)


def _grid_of(table: CellTable, n_classes: int) -> Grid:
    scales = np.unique(np.column_stack([table.plane("largest", ()), table.plane("exponent", ())]), axis=0)
    if len(scales) > 1:
        raise DataError(
            "The cells of {term} are on grids of {n} widths. Give one width for each attribute.",
            term=term_text(table.term),
            n=len(scales),
        )
    if not len(scales):
        return empty_grid(n_classes)
    ids, row = np.unique(table.codes[:, 1], return_inverse=True)
    counts = np.zeros((len(ids), n_classes))
    counts[row, table.codes[:, 0]] = table.n
    return Grid(int(scales[0, 0]), int(scales[0, 1]), ids, counts)
