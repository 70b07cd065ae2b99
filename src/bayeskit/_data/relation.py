"""Reads a DuckDB relation by column, with safe aliases instead of its column names, and a query's rows in batches."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit._data.columns import CodedColumn, date_message, joined_columns
from bayeskit._data.formats import Column, arrow_column
from bayeskit._data.frames import has_pyarrow
from bayeskit._data.survey import Field
from bayeskit._schema import Kind, Label, Name, Variable
from bayeskit.errors import ColumnError, DataError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

_WHOLE = ("tinyint", "smallint", "integer", "bigint", "hugeint")
_NUMBERS = (*_WHOLE, *(f"u{name}" for name in _WHOLE), "float", "double", "decimal")
_FRACTIONS = ("float", "double", "decimal")
_DATES = ("date", "time", "timestamp", "interval")


@dataclass(frozen=True)
class Relation:
    """The columns of a relation, with the interface that :class:`~bayeskit._data.reading.Reading` needs."""

    native: Any
    places: tuple[int, ...]
    named: bool = True
    block: None = None

    @classmethod
    def of(cls, native: DuckDBPyRelation) -> Relation:
        with cls(native, ()).explained():
            return cls(native, tuple(range(len(native.columns))))

    @cached_property
    def names(self) -> tuple[Name, ...]:
        columns = self.native.columns
        return tuple(columns[place] for place in self.places)

    @property
    def shape(self) -> tuple[int, int]:
        return 0, len(self.places)

    def select(self, names: tuple[Name, ...]) -> Relation:
        """Return some of the columns, in this order."""
        return Relation(self.native, tuple(self.places[self.names.index(name)] for name in names))

    def kind(self, j: int) -> Kind:
        """Return the kind of a column by its type, as for frames."""
        name, kind = self.names[j], self._type(j)
        if kind in _NUMBERS or kind in ("sqlnull", "null", '"null"'):
            return "numeric"
        if kind in ("varchar", "boolean", "enum"):
            return "categorical"
        if kind.startswith(_DATES):
            raise ColumnError(date_message(name))
        raise ColumnError(
            "Column {name!r} has type {native_type}, which is neither a number nor a category. Leave it out "
            "with exclude=[{name!r}], or cast the relevant part to VARCHAR.",
            name=name,
            native_type=self._native_type(j),
        )

    def is_whole(self, j: int) -> bool:
        return self._type(j).removeprefix("u") in _WHOLE

    def declared(self, j: int) -> tuple[Label, ...]:
        """Return the values of an ENUM, which are states even if they do not occur; empty for other types."""
        if self._type(j) != "enum":
            return ()
        return tuple(dict(self._native_type(j).children)["values"])

    def label(self, j: int, variable: Variable) -> str:
        """Return a column as SQL whose values are labels; NULL is missing."""
        self.kind(j)
        column, kind = f"#{self.places[j] + 1}", self._type(j)
        if variable.cuts is not None:
            return _interval(self.number(j), variable.cuts)
        if variable.dense:
            return f"CAST(trunc({self.number(j)}) AS BIGINT)"
        if kind in ("varchar", "enum"):
            # Byte order and equality, whatever the collation of the column.
            return f"CAST({column} AS VARCHAR) COLLATE C"
        return self.number(j) if kind in _FRACTIONS else column

    def number(self, j: int) -> str:
        """Return a column as SQL whose values are doubles, finite or infinite; NULL is missing."""
        if self.kind(j) != "numeric" and self._type(j) != "boolean":
            raise ColumnError(
                "Column {name!r} should be numeric, but its type is {native_type}. Cast it to DOUBLE.",
                name=self.names[j],
                native_type=self._native_type(j),
            )
        number = f"CAST(#{self.places[j] + 1} AS DOUBLE)"
        return f"CASE WHEN isnan({number}) THEN NULL ELSE {number} END"

    def may_be_infinite(self, j: int) -> bool:
        return self._type(j) in ("float", "double")

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Convert errors of DuckDB to ours."""
        import duckdb

        try:
            yield
        except duckdb.Error as error:
            first = str(error).splitlines()[0].rstrip(".")
            raise DataError(
                "DuckDB could not count the relation: {first}. Check that it can be queried.", first=first
            ) from error

    def _type(self, j: int) -> str:
        return str(self._native_type(j).id).lower()

    def _native_type(self, j: int) -> Any:
        return self.native.types[self.places[j]]


def python_label(value: object) -> Any:
    """Return a DuckDB value as the label that a column of Python values would have.

    >>> python_label(2.0), python_label("2")
    (2, '2')
    """
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _interval(number: str, cuts: tuple[float, ...]) -> str:
    """Return SQL for the number of the interval (a, b] that contains a number; NULL stays NULL."""
    cases = "".join(
        f" WHEN ({number}) <= CAST('{float(cut)!r}' AS DOUBLE) THEN {k}" for k, cut in enumerate(cuts)
    )
    return f"CASE WHEN ({number}) IS NULL THEN NULL{cases} ELSE {len(cuts)} END"


Arrays = list[Column]
# Small: a long list of tuples keeps the garbage collector busy (122,880 at a time took 2.3 times as long).
_ROWS_AT_ONCE = 2048


def pieces(
    connection: DuckDBPyConnection, query: str, fields: Sequence[Field], size: int, *, few: bool = False
) -> Iterator[Arrays]:
    """Run a query and yield its columns piece by piece; DuckDB determines the length of a piece.

    A few rows are given one by one unless PyArrow is there already: to import it takes longer.
    """
    if few and "pyarrow" not in sys.modules:
        return _by_rows(connection, query, fields)
    if not has_pyarrow():
        return _by_rows(connection, query, fields)
    return _by_arrow(connection, query, fields, size)


def _by_arrow(
    connection: DuckDBPyConnection, query: str, fields: Sequence[Field], size: int
) -> Iterator[Arrays]:
    # From a relation, not from execute(), which would first hold all rows.
    relation = connection.sql(query)
    # The second name is the older one; DuckDB 2.0 warns that it is deprecated.
    open_reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    with open_reader(size) as reader:
        for batch in reader:
            yield [arrow_column(field, column) for field, column in zip(fields, batch.columns, strict=True)]


def _by_rows(connection: DuckDBPyConnection, query: str, fields: Sequence[Field]) -> Iterator[Arrays]:
    result = connection.execute(query)
    while rows := result.fetchmany(_ROWS_AT_ONCE):
        yield [
            np.array(column, dtype=field.dtype)
            for field, column in zip(fields, zip(*rows, strict=True), strict=True)
        ]


def rebatched(parts: Iterable[Arrays], size: int) -> Iterator[Arrays]:
    """Split and join pieces into batches of exactly `size` rows, the last one shorter.

    Examples
    --------
    >>> [batch[0].tolist() for batch in rebatched([[np.arange(3)], [np.arange(3, 5)]], 2)]
    [[0, 1], [2, 3], [4]]
    """
    held: list[Arrays] = []
    count = 0
    for part in parts:
        held.append(part)
        count += _length(part[0])
        if count < size:
            continue
        joined = [_joined(column) for column in zip(*held, strict=True)]
        whole = count - count % size
        for start in range(0, whole, size):
            yield [_cut(column, start, start + size) for column in joined]
        # An empty rest would hold the arrays that it was cut from.
        held = [[_cut(column, whole, count) for column in joined]] if count > whole else []
        count -= whole
    if count:
        yield [_joined(column) for column in zip(*held, strict=True)]


def _length(column: Column) -> int:
    return len(column.codes if isinstance(column, CodedColumn) else column)


def _joined(columns: Sequence[Any]) -> Column:
    columns = [column for column in columns if _length(column)] or columns[:1]
    if isinstance(columns[0], CodedColumn):
        return joined_columns(columns)
    return np.concatenate(columns) if len(columns) > 1 else columns[0]


def _cut(column: Column, start: int, stop: int) -> Column:
    if start == 0 and stop == _length(column):
        return column
    return column.part(slice(start, stop)) if isinstance(column, CodedColumn) else column[start:stop]
