"""n(class, x_i, x_j, x_k) of chosen sets of one to three attributes, with several sets of cut points for numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayeskit._schema import Name, Schema
from bayeskit._statistics.part import CellTable, Embedding, Gone, Part, left_of, weight_gone
from bayeskit._statistics.term import Term
from bayeskit.errors import CannotCount, DataError
from bayeskit.typing import Floats

Ints = NDArray[np.int64]

# The maximum size of all tables together, in bytes.
LARGEST = 2**29
# The maximum number of attributes of one table.
MOST_AXES = 3


@dataclass(frozen=True, eq=False)
class Interactions(Part):
    r"""Counts of order 0 of chosen sets of attributes: one table for each set and each choice of cut points.

    An *axis* is a categorical attribute, or a numeric one with cut points. A table has one to three axes. Each axis has
    its states and one spare cell for missing values. The cells of a table are stored row by row, and the tables one
    after the other: ``counts[starts[t] + (v * w_j + u) * w_k + s, c]`` is :math:`n(x_i = v, x_j = u, x_k = s, c)`,
    where w is the width of an axis. State v of a numeric axis is the interval (cut v − 1, cut v].

    The attributes of its pattern are (axes, tables). An axis is (name, cut point, …), a table the indices of its axes.

    Attributes
    ----------
    margin : array of shape (K,)
        n(c): the weight of each class.
    counts : array of shape (cells of all tables, K)
    columns : array of shape (axes,)
        The index in the schema of the attribute of each axis.
    cuts, cut_starts : arrays
        The cut points of all axes, and the start of those of each axis.
    widths : array of shape (axes,)
        The number of codes of each axis: its states, and missing.
    tables : array of shape (tables, 3)
        The axes of each table, filled up with −1.

    Examples
    --------
    >>> from bayeskit.statistics import Variable
    >>> two = Variable("a", "categorical", (0, 1)), Variable("x", "numeric")
    >>> schema = Schema(two, Variable("y", "categorical", ("no", "yes")))
    >>> axes, tables = (("a",), ("x", 0.5, 2.0)), ((0,), (1,), (0, 1))
    >>> Interactions.zero(schema, (axes, tables)).starts.tolist()  # 3, 4 and 3 × 4 cells
    [0, 3, 7, 19]
    """

    kind = "interactions"
    weight_arrays = "margin", "counts"
    fixed_arrays = "columns", "cuts", "cut_starts", "widths", "tables"

    margin: Floats
    counts: Floats
    columns: Ints
    cuts: Floats
    cut_starts: Ints
    widths: Ints
    tables: Ints

    @classmethod
    def is_pattern(cls, schema: Schema, attributes: tuple[Any, ...]) -> bool:
        if len(attributes) != 2 or any(type(some) is not tuple for some in attributes):
            return False
        axes, tables = attributes
        return all(_is_axis(axis, schema) for axis in axes) and all(
            type(table) is tuple
            and 1 <= len(table) <= MOST_AXES
            and all(type(a) is int and 0 <= a < len(axes) for a in table)
            for table in tables
        )

    @classmethod
    def terms(cls, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[Term]:
        raise CannotCount("Interactions of numbers in several views can be counted from rows only.")

    @classmethod
    def zero(cls, schema: Schema, attributes: tuple[Any, ...]) -> Self:
        axes, tables = attributes
        starts = np.array([0, *np.cumsum([len(axis) - 1 for axis in axes])], dtype=np.int64)
        layout = cls(
            margin=np.zeros(schema.n_classes),
            counts=np.zeros((0, schema.n_classes)),
            columns=np.array([schema.position[axis[0]] for axis in axes], dtype=np.int64),
            cuts=np.array([cut for axis in axes for cut in axis[1:]], dtype=np.float64),
            cut_starts=starts,
            widths=np.zeros(len(axes), dtype=np.int64),
            tables=np.array(
                [(*table, *[-1] * (MOST_AXES - len(table))) for table in tables], dtype=np.int64
            ).reshape(-1, MOST_AXES),
        )
        return layout._empty_in(schema)

    @classmethod
    def memory(cls, schema: Schema, attributes: tuple[Any, ...]) -> int:
        axes, tables = attributes
        widths = [axis_width(schema, axis) for axis in axes]
        cells = sum(int(np.prod([float(widths[a]) for a in table])) for table in tables)
        return 8 * schema.n_classes * cells

    @cached_property
    def shapes(self) -> Ints:
        """The number of codes of each axis of each table; 1 for an absent axis."""
        wide = np.append(self.widths, 1)
        return np.asarray(wide[self.tables])

    @cached_property
    def starts(self) -> Ints:
        """The start of the cells of each table, and the end of the last."""
        return np.concatenate([[0], np.cumsum(self.shapes.prod(axis=1))]).astype(np.int64)

    def table(self, t: int) -> Floats:
        """Return n(…, c) of one table, spare cells included: a view whose axes are its attributes and the class."""
        shape = self.shapes[t][self.tables[t] >= 0]
        return self.counts[self.starts[t] : self.starts[t + 1]].reshape(*shape, -1)

    def merge(self, other: Self) -> Self:
        return self._with(self.margin + other.margin, self.counts + other.counts)

    def subtract(self, other: Self, gone: Gone | None = None) -> Self:
        weight = weight_gone(gone, other.margin)
        return self._with(
            left_of(self.margin, other.margin, self.margin, weight),
            left_of(self.counts, other.counts, self.margin, weight),
        )

    def scale(self, factor: float | Floats) -> Self:
        return self._with(self.margin * factor, self.counts * factor)

    def embed(self, embedding: Embedding) -> Self:
        moved = self._empty_in(embedding.new)
        margin, wide = embedding.move_classes(self.margin), embedding.move_classes(self.counts, axis=1)
        places = [self._moves(embedding, a) for a in range(len(self.columns))]
        if all(place is None for place in places):
            return moved._with(margin, wide)
        for t, axes in enumerate(self.tables):
            axes = axes[axes >= 0]
            old = wide[self.starts[t] : self.starts[t + 1]].reshape(*self.widths[axes], -1)
            ways = [np.arange(self.widths[a]) if places[a] is None else places[a] for a in axes]
            alive = [np.flatnonzero(way >= 0) for way in ways]
            into = np.ix_(*(way[here] for way, here in zip(ways, alive, strict=True)))
            moved.table(t)[into] = old[np.ix_(*alive)]
        return moved._with(margin, moved.counts)

    def deficit(self) -> float:
        return 0.0  # subtract raises an error for negative counts

    def arrays(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*self.weight_arrays, *self.fixed_arrays)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        return cls(**arrays)

    def cell_tables(self, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[CellTable]:
        raise CannotCount("Interactions of numbers in several views cannot be made from a table of cells.")

    def _moves(self, embedding: Embedding, axis: int) -> NDArray[np.intp] | None:
        """Return the new code of each code of an axis, −1 if it is dropped; None if nothing changes."""
        before, after = (s.attributes[self.columns[axis]] for s in (embedding.old, embedding.new))
        if before is after or before.kind != "categorical" or before.states == after.states:
            return None
        return np.array([*(after.codes.get(s, -1) for s in before.states), after.size], dtype=np.intp)

    def _empty_in(self, schema: Schema) -> Self:
        """Return tables of the same axes for the states and classes of a schema, all zero."""
        variables = [schema.attributes[j] for j in self.columns]
        widths = [
            (v.size if v.kind == "categorical" else int(n) + 1) + 1
            for v, n in zip(variables, np.diff(self.cut_starts), strict=True)
        ]
        empty = replace(self, widths=np.array(widths, dtype=np.int64))
        needed = 8 * schema.n_classes * int(empty.starts[-1])
        if needed > LARGEST:
            raise DataError(
                "{n} tables of interactions in {k} classes take {needed:.3g} GiB, and {largest:.3g} GiB are allowed. "
                "Take fewer views, pairs or triples, leave attributes out, or join rare states.",
                n=len(self.tables),
                k=schema.n_classes,
                needed=needed / 2**30,
                largest=LARGEST / 2**30,
            )
        return empty._with(np.zeros(schema.n_classes), np.zeros((int(empty.starts[-1]), schema.n_classes)))

    def _with(self, margin: Floats, counts: Floats) -> Self:
        return replace(self, margin=margin, counts=counts)


def axis_width(schema: Schema, axis: tuple[Any, ...]) -> int:
    """Return the number of codes of an axis: its states or intervals, and missing."""
    variable = schema[axis[0]]
    return (variable.size if variable.kind == "categorical" else len(axis)) + 1


def _is_axis(axis: object, schema: Schema) -> bool:
    if type(axis) is not tuple or not axis or axis[0] not in schema.position:
        return False
    cuts = axis[1:]
    numbers = all(type(cut) is float and np.isfinite(cut) for cut in cuts)
    can_be_cut = not cuts or schema[axis[0]].kind == "numeric"
    return numbers and can_be_cut and all(a < b for a, b in pairwise(cuts))
