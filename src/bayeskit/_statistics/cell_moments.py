"""Moments of numeric attributes by class and state of every categorical attribute: n, Σx and Σx²."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayeskit._schema import Name, Schema
from bayeskit._statistics import double
from bayeskit._statistics.moments import Integers, Moments, moment_cells, put_moments
from bayeskit._statistics.part import CellTable, Embedding, Gone, Part
from bayeskit._statistics.term import Term
from bayeskit.errors import DataError
from bayeskit.typing import Floats

# The maximum size of the moments of all cells, in bytes.
LARGEST = 2**31


@dataclass(frozen=True, eq=False)
class CellMoments(Part):
    r"""The weight, sum and sum of squares of M attributes in each state and class.

    Attributes are stored one after the other, each with its states and one spare cell for missing values, as in
    :class:`~bayeskit.statistics.Tables`. With g the row of state v of categorical attribute j, the cell (g, c, m) holds
    the moments of x_m over the rows of class c in which x_j = v and x_m is present:

    .. math:: n = \sum w, \quad S_1 = \sum w (x - p), \quad S_2 = \sum w (x - p)^2

    Every cell has its own pivot and is stored in double-double, like the cells of
    :class:`~bayeskit._statistics.moments.Moments` with T·K classes.

    Parameters
    ----------
    cells : array of shape (7, T, K, M)
        The planes weight, weight_low, pivot, first, first_low, second, second_low.
    exponent : int array of shape (M,)
        Values are held as x·2^−exponent.

    Examples
    --------
    >>> from bayeskit.statistics import Variable
    >>> two = Variable("a", "categorical", (0, 1)), Variable("u", "numeric")
    >>> CellMoments.zero(Schema(two, Variable("y", "categorical", ("no", "yes"))), ("u",)).weight.shape
    (3, 2, 1)
    """

    kind = "cell_moments"
    column_kind = "numeric"
    weight_arrays = ("weight",)
    exponent_arrays = ("exponent",)

    cells: Floats
    exponent: Integers

    @classmethod
    def is_pattern(cls, schema: Schema, attributes: tuple[Any, ...]) -> bool:
        return attributes == cls.columns_of(schema)

    @classmethod
    def terms(cls, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[Term]:
        for variable in schema.categorical:
            cell = schema.target.name, variable.name
            yield from (Term(cell, (name,), 2) for name in attributes)

    @classmethod
    def zero(cls, schema: Schema, attributes: tuple[Name, ...]) -> Self:
        width = len(attributes)
        return cls(_room(schema, width), np.zeros(width, np.int64))

    @classmethod
    def memory(cls, schema: Schema, attributes: tuple[Name, ...] = ()) -> int:
        """Return the size of the cells of all numeric attributes in bytes, before they are allocated."""
        return _bytes(schema, len(schema.numeric))

    @property
    def flat(self) -> Moments:
        """The same cells as moments of T·K classes."""
        return self.of_states(0, self.cells.shape[1])

    def of_states(self, begin: int, end: int) -> Moments:
        """Return the cells of some states one after the other: moments of (end − begin)·K classes."""
        planes, _, k, width = self.cells.shape
        cells = self.cells[:, begin:end].reshape(planes, (end - begin) * k, width)
        return Moments(cells, self.exponent)

    def over_states(self, begin: int, end: int) -> Moments:
        """Return the moments of each class over some states together, of shape (K, M)."""
        planes, _, k, width = self.cells.shape
        # Merge halves until one state is left. Empty cells pad the states to a power of two.
        size = 1 << max(end - begin - 1, 0).bit_length()
        cells = np.zeros((planes, size, k, width))
        cells[:, : end - begin] = self.cells[:, begin:end]
        held = Moments(cells.reshape(planes, size * k, width), self.exponent)
        while size > 1:
            halves = (np.ascontiguousarray(half) for half in np.split(held.cells, 2, axis=1))
            first, second = (Moments(half, held.exponent) for half in halves)
            held, size = first.merge(second), size // 2
        return held

    @property
    def weight(self) -> Floats:
        """Σw over the values that are present, shape (T, K, M)."""
        weight: Floats = self.cells[double.WEIGHT]
        return weight

    def mean(self) -> tuple[Floats, Floats]:
        """Return the means as high + low, each of shape (T, K, M); 0 for cells without weight."""
        high, low = self.flat.mean()
        return high.reshape(self.weight.shape), low.reshape(self.weight.shape)

    def centred(self) -> Floats:
        """Return the second moments about the means, of shape (T, K, M)."""
        return self.flat.centred().reshape(self.weight.shape)

    def merge(self, other: Self) -> Self:
        return self._of(self.flat.merge(other.flat))

    def subtract(self, other: Self, gone: Gone | None = None) -> Self:
        left = self.flat.subtract(other.flat)
        if gone is not None and "moments" in gone:
            # The rows removed from a cell are among those removed from its class.
            of_class: Moments = gone["moments"]
            everywhere = Moments(np.tile(of_class.cells, (1, self.cells.shape[1], 1)), of_class.exponent)
            left = left.within_cells(everywhere, other.flat.weight != 0.0)
        return self._of(left)

    def scale(self, factor: float | Floats) -> Self:
        factors = np.empty(self.cells.shape[1:3])
        factors[:] = factor
        return self._of(self.flat.scale(factors.reshape(-1)))

    def embed(self, embedding: Embedding) -> Self:
        wide = embedding.move_classes(self.cells, axis=2)
        moved = _room(embedding.new, self.cells.shape[3])
        rows = embedding.rows
        moved[:, rows[rows >= 0]] = wide[:, rows >= 0]
        return type(self)(moved, self.exponent)

    def deficit(self) -> float:
        return self.flat.deficit()

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        shape = self.weight.shape
        return {
            name: array if name == "exponent" else array.reshape(shape)
            for name, array in self.flat.arrays().items()
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        moments = Moments.from_arrays(arrays)
        return cls(moments.cells, moments.exponent)

    def cell_tables(self, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[CellTable]:
        for term, m, planes in _blocks(self.cells, schema, attributes):
            yield moment_cells(term, planes, int(self.exponent[m]))

    @classmethod
    def from_cell_tables(
        cls, schema: Schema, attributes: tuple[Name, ...], tables: Mapping[Term, CellTable]
    ) -> Self:
        found = cls.zero(schema, attributes)
        for term, m, planes in _blocks(found.cells, schema, attributes):
            exponent = put_moments(tables[term], planes)
            if len(tables[term].n):
                found.exponent[m] = exponent
        return found

    def _of(self, moments: Moments) -> Self:
        return type(self)(moments.cells.reshape(self.cells.shape), moments.exponent)


def _blocks(
    cells: Floats, schema: Schema, attributes: tuple[Name, ...]
) -> Iterator[tuple[Term, int, Floats]]:
    """Yield the terms, the index of their numeric attribute, and their cells: a view of shape (7, K, r + 1)."""
    offsets = schema.offsets.tolist()
    for i, term in enumerate(CellMoments.terms(schema, attributes)):
        j, m = divmod(i, len(attributes))
        yield term, m, cells[:, offsets[j] : offsets[j + 1], :, m].swapaxes(1, 2)


def _bytes(schema: Schema, width: int) -> int:
    return 8 * double.PLANES * int(schema.offsets[-1]) * schema.n_classes * width


def _room(schema: Schema, width: int) -> Floats:
    """Return empty cells. If they are too large, raise an error before allocating them."""
    states, k, needed = int(schema.offsets[-1]), schema.n_classes, _bytes(schema, width)
    if needed > LARGEST:
        raise DataError(
            "The moments of {width} numeric attributes in {states} states and {k} classes take {needed:.3g} "
            "GiB, and {largest:.3g} GiB are allowed. Leave attributes out, merge rare states, or use naive "
            "Bayes, whose Gaussians have no parent but the class.",
            width=width,
            states=states,
            k=k,
            needed=needed / 2**30,
            largest=LARGEST / 2**30,
        )
    return np.zeros((double.PLANES, states, k, width))
