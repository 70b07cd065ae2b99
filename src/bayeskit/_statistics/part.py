"""The interface of one part of the statistics, its conversion to a larger schema, and cells as a long table.

The long table has a row for each nonempty cell. This is the form in which a database engine returns
aggregates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from bayeskit._messages import Message, listed
from bayeskit._schema import Kind, Name, Schema
from bayeskit._statistics.term import Term
from bayeskit.errors import ColumnError, DataError, NotCounted
from bayeskit.typing import Floats

# A remaining weight below this fraction of the removed weight is rounding error. For example, a row of weight 1 that
# fades twice by 0.7 has the weight 0.7·0.7, which is not exactly the 0.49 that a call of forget passes.
ROUNDING = 2.0**-48
# The same for sums in single doubles, which lose precision with every row.
ROUNDING_OF_ONE = 2.0**-40
# When rows are forgotten, rounding may leave a cell below zero by this fraction of the largest cell.
DUST = 1e-6
# A class with at most this weight is a single row, which has no spread.
ONE_ROW = 1.0 + 1e-9

# The statistics of all removed rows, by kind of part: always tables, and moments and scatter if they may be inexact.
Gone = Mapping[Any, Any]


@dataclass(frozen=True)
class Embedding:
    """The positions of the classes and states of one schema in another; −1 if they are gone.

    Only states without weight may be dropped, so nothing is lost.
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
        for before, after, offset in zip(
            self.old.categorical, self.new.categorical, self.new.offsets[:-1], strict=True
        ):
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
        The name of its pattern, in plans and in files.
    column_kind : "categorical", "numeric" or "block"
        The kind of its columns; of families, of the children.
    weight_arrays, free_arrays, fixed_arrays, exponent_arrays : names of arrays
        Weights are never negative. The length of free arrays is the number of cells. Fixed arrays are determined by the
        schema and the plan. Exponents are those of doubles.
    is_squared : bool
        Whether its sums are of products, which must not overflow.
    remembered : "always", "scaled" or None
        Whether it is remembered for removed rows: always, or once weights have been scaled.
    cleared_by : str or None
        The kind of part whose memory of removed rows bounds the rounding error in this one.
    """

    kind: ClassVar[str]
    column_kind: ClassVar[Kind] = "categorical"
    weight_arrays: ClassVar[tuple[str, ...]] = ()
    free_arrays: ClassVar[tuple[str, ...]] = ()
    fixed_arrays: ClassVar[tuple[str, ...]] = ()
    exponent_arrays: ClassVar[tuple[str, ...]] = ()
    is_squared: ClassVar[bool] = False
    remembered: ClassVar[Literal["always", "scaled"] | None] = None
    cleared_by: ClassVar[str | None] = None
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @classmethod
    def terms(cls, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[Term]:
        """Return the terms of the part. Counting these terms counts all of it."""
        raise NotImplementedError

    @classmethod
    def is_pattern(cls, schema: Schema, attributes: tuple[Any, ...]) -> bool:
        """Return whether a pattern in a file may have these attributes. By default: distinct columns of its kind."""
        columns = cls.columns_of(schema)
        # First check that they are columns, because values from a file may not be hashable.
        return all(name in columns for name in attributes) and len(set(attributes)) == len(attributes)

    @classmethod
    def columns_of(cls, schema: Schema) -> tuple[Name, ...]:
        """Return all columns of its kind."""
        return tuple(v.name for v in schema.attributes if v.kind == cls.column_kind)

    @classmethod
    def memory(cls, schema: Schema, attributes: tuple[Name, ...]) -> int:
        """Return the bytes that a large part will need; 0 for a small one."""
        return 0

    @property
    def exact(self) -> bool:
        """Whether sums of the weights are free of rounding."""
        return True

    @classmethod
    def flaw(
        cls, arrays: Mapping[str, NDArray[Any]], schema: Schema, beside: Mapping[str, NDArray[Any]]
    ) -> str | Message | None:
        """Return what is wrong with arrays read from a file, apart from shapes and signs, or None.

        ``beside`` are the arrays of all parts, with keys kind/name.
        """
        return None

    @classmethod
    def zero(cls, schema: Schema, attributes: tuple[Name, ...]) -> Self:
        """Return the sums of no rows."""
        raise NotImplementedError

    def merge(self, other: Self) -> Self:
        """Return the sums of the rows of both."""
        raise NotImplementedError

    def subtract(self, other: Self, gone: Gone | None = None) -> Self:
        """Subtract sums, and set remainders that are only rounding errors to zero.

        ``gone`` is everything that was subtracted so far, including ``other``. Errors of earlier subtractions are
        still present, so their bound depends on ``gone`` and not on ``other``.
        """
        raise NotImplementedError

    def scale(self, factor: float | Floats) -> Self:
        """Multiply every weight by a factor, or by one factor for each class."""
        raise NotImplementedError

    def widened(self, old: Schema, new: Schema, names: tuple[Name, ...]) -> Self:
        """Return the sums of the same rows under a schema with more columns at its end, missing in all rows."""
        raise cannot_widen(self.kind, names)

    def embed(self, embedding: Embedding) -> Self:
        """Return the same sums under another schema: states and classes are moved, added or removed."""
        raise NotImplementedError

    def deficit(self) -> float:
        """Return the absolute value of the most negative weight; 0.0 if none is negative."""
        raise NotImplementedError

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return all state as named arrays, for saving: here, the fields of a dataclass."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        """Build the part that had these arrays."""
        return cls(*(arrays[one.name] for one in fields(cls)))

    def cell_tables(self, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[CellTable]:
        """List the cells of every term of the pattern, in the order of the terms."""
        raise NotImplementedError

    @classmethod
    def from_cell_tables(
        cls, schema: Schema, attributes: tuple[Name, ...], tables: Mapping[Term, CellTable]
    ) -> Self:
        """Build the part from the cells of its terms."""
        raise NotImplementedError

    def without_rounding(self, gone: Any) -> Self:
        """Clear the rounding errors that removed rows may have left; for parts with ``cleared_by``."""
        raise NotImplementedError


def are_families(schema: Schema, attributes: tuple[Any, ...], child: Kind, parents: tuple[Kind, ...]) -> bool:
    """Return whether attributes are distinct families (child, parent 1, …) of columns of these kinds."""
    if any(type(family) is not tuple or not family for family in attributes):
        return False
    kinds = {v.name: v.kind for v in schema.attributes}
    return len(set(attributes)) == len(attributes) and all(
        len(set(family)) == len(family)
        and kinds.get(family[0]) == child
        and all(kinds.get(name) in parents for name in family[1:])
        for family in attributes
    )


def never_counted(least: float) -> NotCounted:
    """Return the error for removing rows that were never counted; ``least`` is the lowest resulting weight."""
    return NotCounted(
        "These rows were never counted: some cell would hold {least:g}. "
        "Forget only rows that were learned, with the weights they were learned with.",
        least=least,
    )


def weight_gone(gone: Gone | None, taken: Floats) -> Floats:
    """Return the total weight removed from each class: n(c) of ``gone``, or of what is removed now."""
    return taken if gone is None or "tables" not in gone else gone["tables"].margin


def left_of(held: Floats, taken: Floats, margin: Floats, gone: Floats) -> Floats:
    """Return held − taken, with rounding errors cleared. Raise an error if more is removed than was counted.

    ``margin`` is the weight of the class, and ``gone`` the total weight removed from it. Both broadcast.
    """
    left, rounding = held - taken, ROUNDING_OF_ONE * gone
    if (-left - 1e-9 * held - 1e-12 * margin - rounding > 0).any():
        raise never_counted(left.min())
    left[(taken != 0.0) & (left <= rounding)] = 0.0
    return left


# Sums of fractional weights in different orders differ by less than this fraction.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class CellTable:
    """The cells of one term.

    Attributes
    ----------
    term : Term
    codes : int64 array of shape (m, number of cell variables)
        The class comes first, as in the term. Missing is the code after the last state. A value of order 0
        adds a column: the number of its cell on the dyadic grid.
    n : array of shape (m,)
        The weight of each cell. Cells without weight may be omitted. Duplicate cells are added (order 0
        only).
    sums : mapping from name to array of shape (m, …)
        The other sums of the order. Names ending in ``_low`` are the low parts of double-doubles, zero if
        absent.

    Examples
    --------
    >>> table = CellTable(Term(("y", "a")), np.array([[0, 1], [1, 0], [0, 1]]), np.array([2.0, 1.0, 3.0]))
    >>> table.dense((2, 2))
    array([[0., 5.],
           [1., 0.]])
    """

    term: Term
    codes: NDArray[np.int64]
    n: Floats
    sums: Mapping[str, Floats] = field(default_factory=dict)

    @classmethod
    def of_array(cls, term: Term, counts: Floats, low: Floats | None = None) -> CellTable:
        """List the cells of an array whose axes are the variables of the term."""
        occupied = np.nonzero(counts if low is None else (counts != 0.0) | (low != 0.0))
        sums = {} if low is None else {"n_low": low[occupied]}
        return cls(term, np.stack(occupied, axis=1).astype(np.int64), counts[occupied], sums)

    def dense(self, shape: tuple[int, ...], name: str | None = None) -> Floats:
        """Return n, or a sum by name, as an array whose axes are the variables of the term."""
        values = self.n if name is None else self.sums.get(name)
        out = np.zeros(shape)
        if values is not None:
            np.add.at(out, tuple(self.codes.T), values)
        return out

    def plane(self, name: str, shape: tuple[int, ...]) -> Floats:
        """Return a sum of each cell; zeros if it is not given."""
        found = self.sums.get(name)
        return np.zeros((len(self.n), *shape)) if found is None else np.asarray(found, np.float64)

    @classmethod
    def empty(cls, term: Term) -> CellTable:
        """Return the table of a term that no row has a cell of."""
        width = len(term.cells) + (len(term.values) if term.order == 0 else 0)
        return cls(term, np.empty((0, width), np.int64), np.empty(0))

    def widened(self, term: Term, schema: Schema) -> CellTable:
        """Return the cells of a term with more variables, which are missing in all rows."""
        held = dict(zip(self.term.cells, np.asarray(self.codes, np.int64).T, strict=False))  # grids follow
        columns = [
            held[name] if name in held else np.full(len(self.n), schema[name].size) for name in term.cells
        ]
        grids = list(np.asarray(self.codes, np.int64).T[len(self.term.cells) :])
        codes = np.stack([*columns, *grids], axis=1).astype(np.int64)
        return CellTable(term, codes, self.n, self.sums)

    def checked(self, schema: Schema) -> CellTable:
        """Return the table as arrays, after checking that it fits the schema."""
        n = np.asarray(self.n, np.float64)
        codes = np.asarray(self.codes)
        gridded = len(self.term.values) if self.term.order == 0 else 0
        width = len(self.term.cells) + gridded
        if n.ndim != 1 or codes.shape != (len(n), width) or (codes.size and codes.dtype.kind not in "iu"):
            raise DataError(
                "The cells of {term} have codes of shape {shape} and dtype {dtype} for {n} weights. Give one "
                "row of {width} integers for each.",
                term=term_text(self.term),
                shape=codes.shape,
                dtype=codes.dtype,
                n=len(n),
                width=width,
            )
        if not np.isfinite(n).all():
            raise DataError(
                "A cell of {term} has the weight {n}. Weights must be finite.",
                term=term_text(self.term),
                n=n[~np.isfinite(n)][0],
            )
        cells = self.term.cells  # codes of a grid come after these
        for name, column, size in zip(
            cells, codes.T[: len(cells)], shape_of(schema, self.term)[: len(cells)], strict=True
        ):
            strange = column[(column < 0) | (column >= size)]
            if len(strange):
                raise DataError(
                    "A cell of {term} has the code {strange} of {name!r}, whose codes are 0 to {size}. Use the "
                    "codes of the schema, with missing last.",
                    term=term_text(self.term),
                    strange=strange[0],
                    name=name,
                    size=size - 1,
                )
        if self.term.values and len(np.unique(codes, axis=0)) < len(codes):
            raise DataError(
                "A cell of {term} is listed twice. Add up its sums first.", term=term_text(self.term)
            )
        return CellTable(self.term, codes.astype(np.int64).reshape(len(n), width), n, self.sums)


def shape_of(schema: Schema, term: Term) -> tuple[int, ...]:
    """Return the number of codes of each cell variable of a term: the classes, then states and one for missing."""
    return schema.n_classes, *(schema[name].size + 1 for name in term.cells[1:])


def term_text(term: Term) -> str:
    """Return a term as a formula.

    >>> term_text(Term(("y", "a")))
    'n(y, a)'
    """
    names = ", ".join(map(str, term.cells))
    return f"n({names})" if not term.values else f"Σ({', '.join(map(str, term.values))} | {names})"


def joined(tables: Iterable[CellTable], schema: Schema, terms: tuple[Term, ...]) -> dict[Term, CellTable]:
    """Return one checked table for each term. Missing or extra tables are an error."""
    found: dict[Term, list[CellTable]] = {term: [] for term in terms}
    for table in tables:
        if table.term not in found:
            raise DataError("The plan does not contain {term}. Leave it out.", term=term_text(table.term))
        found[table.term].append(table)
    absent = [term for term, pieces in found.items() if not pieces]
    if absent:
        raise DataError(
            "{absent} was not counted, but the plan contains it. Give a table of its cells, empty if there "
            "are none.",
            absent=term_text(absent[0]),
        )
    whole = {term: _concatenated(pieces).checked(schema) for term, pieces in found.items()}
    _check_totals(whole, schema)
    return whole


def _concatenated(pieces: list[CellTable]) -> CellTable:
    if len(pieces) == 1:
        return pieces[0]
    names = dict.fromkeys(name for piece in pieces for name in piece.sums)
    some = {name: next(p.sums[name] for p in pieces if name in p.sums) for name in names}
    sums = {
        name: np.concatenate([piece.plane(name, np.shape(some[name])[1:]) for piece in pieces])
        for name in names
    }
    codes = np.concatenate([np.asarray(piece.codes) for piece in pieces])
    return CellTable(pieces[0].term, codes, np.concatenate([piece.n for piece in pieces]), sums)


def _check_totals(tables: Mapping[Term, CellTable], schema: Schema) -> None:
    """Raise an error if counts are of different rows, for example because a table changed between queries."""
    plain = [table for term, table in tables.items() if not term.values]
    totals = [np.bincount(table.codes[:, 0], table.n, schema.n_classes) for table in plain]
    for table, total in zip(plain, totals, strict=True):
        if not np.allclose(total, totals[0], rtol=_ROUNDING, atol=_ROUNDING):
            c = int(np.abs(total - totals[0]).argmax())
            raise DataError(
                "{term} adds up to {total:g} rows of class {state!r}, and {term2} to {totals:g}. Count all "
                "terms over the same rows, including missing cells.",
                term=term_text(table.term),
                total=total[c],
                state=schema.target.states[c],
                term2=term_text(plain[0].term),
                totals=totals[0][c],
            )


def of_planes(term: Term, planes: Mapping[str, Any]) -> CellTable:
    """List the cells of arrays that share their first axes, those of the term; ``weight`` is n."""
    weight = planes["weight"]
    filled = np.zeros(weight.shape, dtype=bool)
    for plane in planes.values():
        filled |= np.any(plane != 0.0, axis=tuple(range(weight.ndim, plane.ndim)))
    occupied = np.nonzero(filled)
    sums = {name: plane[occupied] for name, plane in planes.items() if name != "weight"}
    return CellTable(term, np.stack(occupied, axis=1).astype(np.int64), weight[occupied], sums)


def put_planes(table: CellTable, planes: Mapping[str, Any]) -> None:
    """Write the sums of each cell into arrays: the inverse of :func:`of_planes`."""
    place = tuple(table.codes.T)
    for name, plane in planes.items():
        plane[place] = table.n if name == "weight" else table.plane(name, plane.shape[len(place) :])


def key_of(digits: Iterable[NDArray[np.int64]], sizes: Iterable[int]) -> NDArray[np.int64]:
    """Return the index of each cell. The last digit varies fastest."""
    key: Any = 0
    for digit, size in zip(digits, sizes, strict=True):
        key = key * size + digit
    return np.asarray(key, np.int64)


def digits_of(keys: NDArray[np.int64], sizes: list[int]) -> Iterator[NDArray[np.int64]]:
    """Yield the digits of keys: the inverse of :func:`key_of`."""
    rest = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    for size, behind in zip(sizes, rest, strict=True):
        yield keys // behind % size


def cannot_widen(kind: str, names: tuple[Name, ...]) -> ColumnError:
    """Return the error for new columns in a model that cannot add them after counting rows."""
    return ColumnError(
        "{names} is new, and the counts of this model ({kind}) cannot take in a column later. Give rows with all "
        "columns before the first prediction, or use NaiveBayes.",
        names=listed(map(repr, names), 6),
        kind=kind,
    )
