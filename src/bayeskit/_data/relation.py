"""Reads a DuckDB relation by column, and writes SQL with safe aliases instead of its column names.

Columns are referred to by position (``#1``, ``#2``, …) and get internal names, so that nothing has to be
quoted. Quotes and control characters in a name, and names that differ only in case (which DuckDB treats as
equal), are harmless. The only literals are cut points.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bayeskit._data.columns import date_message
from bayeskit._schema import Kind, Label, Name, Variable
from bayeskit.errors import ColumnError, DataError

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

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
            "Column {name!r} has type {native_type}, which is neither number nor category. Leave it out "
            "with exclude=[{name!r}], or cast what matters of it to VARCHAR.",
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
                "Column {name!r} is to be numeric, and its type is {native_type}. Cast it to DOUBLE.",
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
