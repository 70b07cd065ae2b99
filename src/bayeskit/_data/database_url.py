"""Tables of live databases, named by a URL: ``duckdb:///shop.db?table=orders``, SQLite and PostgreSQL.

The clients are those of the databases themselves: DuckDB's, Python's sqlite3, and psycopg (extra ``sql``). Names are
quoted, values come back as cells, and no value is ever written into a statement.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeGuard
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from bayeskit._data.columns import date_message
from bayeskit._data.relation import python_label
from bayeskit._messages import Message, did_you_mean
from bayeskit._schema import Kind, Label, Name, Variable
from bayeskit.errors import ColumnError, DataError, SettingError, UsageError


class Connection(Protocol):
    """What all clients have: DuckDB's, sqlite3 and psycopg."""

    def execute(self, statement: Any, parameters: Any = ..., /) -> Any: ...


_URL = re.compile("(duckdb|sqlite|postgres|postgresql)://")
# Whole numbers, other numbers, dates: by how the names of types begin.
_WHOLE = re.compile(r"u?(tiny|small|big|huge|medium)?int|bigserial|serial", re.IGNORECASE)
_NUMBERS = re.compile(r"float|double|real|numeric|decimal|number", re.IGNORECASE)
_TEXTS = re.compile(
    r"text|clob|character|n?varchar|n?char|string|enum|uuid|user-defined|citext", re.IGNORECASE
)
_DATES = re.compile(r"date|time|interval", re.IGNORECASE)


def names_database(data: object) -> TypeGuard[str]:
    """Tell whether rows are given by the URL of a table in a database.

    >>> names_database("duckdb:///shop.db?table=orders"), names_database("orders.csv")
    (True, False)
    """
    return isinstance(data, str) and _URL.match(data) is not None


@dataclass(frozen=True)
class DatabaseUrl:
    """The parts of a URL.

    Attributes
    ----------
    engine : "duckdb", "sqlite" or "postgres"
    place : the path of a file, or the URL that PostgreSQL's client takes
    table, schema : the names of the table and of the schema it is in, if one was given
    shown : the URL without a password, for messages
    query : a query of DuckDB in place of a table
    """

    engine: str
    place: str
    table: str
    schema: str | None
    shown: str
    query: str | None = None


def parse_url(url: str) -> DatabaseUrl:
    """Read a URL. A path of a file is relative after three slashes, absolute after four.

    After three slashes it is absolute, too, where there is no such file in the working folder.

    >>> parse_url("duckdb:///shop.db?table=orders").place, parse_url("sqlite:////var/shop.db?table=t").place
    ('shop.db', '/var/shop.db')
    """
    parts = urlsplit(url)
    engine = "postgres" if parts.scheme.startswith("postgres") else parts.scheme
    said = dict(parse_qsl(parts.query, keep_blank_values=True))
    host = parts.netloc.rpartition("@")[2]
    user = parts.username or ""
    # Not by urlunsplit, which drops the slashes of schemes that it does not know. A password may be here, too.
    told = "&".join(
        part for part in parts.query.split("&") if "password" not in part.partition("=")[0].lower()
    )
    shown = f"{parts.scheme}://{f'{user}@{host}' if user else host}{parts.path}{'?' if told else ''}{told}"
    query = said.pop("query", None) if engine == "duckdb" and "table" not in said else None
    table, schema = said.pop("table", ""), said.pop("schema", None)
    if not table and not query:
        raise SettingError("{url!r} names no table. Write {url}?table=NAME.", url=shown)
    if engine == "postgres":
        rest = "&".join(f"{name}={value}" for name, value in said.items())
        return DatabaseUrl(
            engine, urlunsplit(("postgresql", parts.netloc, parts.path, rest, "")), table, schema, shown
        )
    if said:
        raise SettingError(
            "{url!r}: there is no {name!r}. Give table= and schema=.", url=shown, name=next(iter(said))
        )
    if parts.netloc or len(parts.path) < 2:
        raise SettingError(
            "{url!r} names no file. Write {engine}:///FILE for a relative path, {engine}:////FILE for an absolute one.",
            url=shown,
            engine=engine,
        )
    near, far = unquote(parts.path[1:]), unquote(parts.path)
    place = near if os.path.exists(near) or not os.path.exists(far) else far
    return DatabaseUrl(engine, place, table, schema, shown, query)


@dataclass(frozen=True)
class DatabaseColumn:
    """A column of a table, by the type that it is declared with."""

    name: str
    type: str
    declared: tuple[Label, ...] = ()

    def kind(self) -> Kind:
        """Return the kind of the column, as for frames."""
        if _WHOLE.match(self.type) or _NUMBERS.match(self.type):
            return "numeric"
        if _TEXTS.match(self.type) or self.type.lower().startswith("bool"):
            return "categorical"
        if _DATES.match(self.type):
            raise ColumnError(date_message(self.name))
        raise ColumnError(
            "Column {name!r} has type {native_type}, which is neither a number nor a category. Leave it out "
            "with exclude=[{name!r}], or cast the relevant part to VARCHAR.",
            name=self.name,
            native_type=self.type,
        )


@dataclass(frozen=True)
class DatabaseColumns:
    """Columns of a table, with the interface that :class:`~bayeskit._data.reading.Reading` needs."""

    columns: tuple[DatabaseColumn, ...]
    block: None = None

    @property
    def names(self) -> tuple[Name, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def shape(self) -> tuple[int, int]:
        return 0, len(self.columns)

    def kind(self, j: int) -> Kind:
        return self.columns[j].kind()

    def is_whole(self, j: int) -> bool:
        return _WHOLE.match(self.columns[j].type) is not None

    def select(self, names: Sequence[Name]) -> DatabaseColumns:
        by_name = {column.name: column for column in self.columns}
        return DatabaseColumns(tuple(by_name[str(name)] for name in names))


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    if "\0" in name:
        raise ColumnError("The name {name!r} holds a NUL, which no database takes. Rename it.", name=name)
    return '"' + name.replace('"', '""') + '"'


class DatabaseTable:
    """A table of a live database. Each request is one statement, and so sees one state of the table."""

    def __init__(self, url: str) -> None:
        self.url = parse_url(url)
        self._held: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {"url": self.url, "_held": None}

    def __repr__(self) -> str:
        return self.url.shown

    @property
    def engine(self) -> str:
        return self.url.engine

    @property
    def place(self) -> str:
        """The table, or query, as SQL names it."""
        url = self.url
        if url.query is not None:
            return f"({url.query.rstrip().rstrip(';')})"
        return quoted(url.table) if url.schema is None else f"{quoted(url.schema)}.{quoted(url.table)}"

    def columns(self) -> DatabaseColumns:
        """Return the columns of the table as they are now."""
        with self._connected() as base:
            found = {"duckdb": _duckdb_columns, "sqlite": _sqlite_columns, "postgres": _postgres_columns}[
                self.engine
            ](base, self)
            if not found:
                raise DataError(
                    "{url} has no table {name!r}. {hint}",
                    url=self.url.shown,
                    name=self.url.table,
                    hint=did_you_mean(self.url.table, _tables(base, self.engine)),
                )
        return DatabaseColumns(tuple(found))

    def copy_to(self, path: Path) -> None:
        """Write the rows of a table or query of DuckDB to a Parquet file."""
        if self.url.query is None:
            self.columns()  # a table that is not there is told with the names of the others
        with self._connected() as base:
            base.execute("SET enable_progress_bar = false")
            target = str(path).replace("'", "''")
            base.execute(f"COPY (FROM {self.place}) TO '{target}' (FORMAT parquet)")

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement, and return its rows."""
        with self._connected() as base:
            return [tuple(row) for row in base.execute(statement).fetchall()]

    def version(self) -> object:
        """Return what changes when the table does, or None where nothing tells."""
        if self.engine == "postgres":
            return None
        try:
            files = [os.stat(self.url.place)]
            log = f"{self.url.place}{'.wal' if self.engine == 'duckdb' else '-wal'}"
            files += [os.stat(log)] if os.path.exists(log) else []
        except OSError as error:
            raise _no_file(self.url, error) from error
        stamps = tuple((file.st_ino, file.st_mtime_ns, file.st_size) for file in files)
        if self.engine == "duckdb":
            return stamps
        with self._connected() as base:
            # It changes when another connection commits, so this one is kept.
            return stamps, base.execute("PRAGMA data_version").fetchone()[0]

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """Give a connection, and turn the errors of its database into ours.

        That of DuckDB is closed at once: while it is open, no other program may write.
        """
        import sqlite3

        import duckdb

        kinds: tuple[type[Exception], ...] = (duckdb.Error, sqlite3.Error)
        if self.engine == "postgres":
            kinds = (*kinds, _psycopg().Error)
        try:
            if self.engine == "duckdb":
                with closing(_open_duckdb(self.url)) as base:
                    yield base
                return
            if self._held is None:
                self._held = _open_sqlite(self.url) if self.engine == "sqlite" else _open_postgres(self.url)
            yield self._held
        except kinds as error:
            if self.engine == "postgres" and self._held is not None and self._held.closed:
                self._held = None  # the next request connects again
            raise _explained(self.url, error) from error


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise UsageError(
            "PostgreSQL needs psycopg ({error}). Install it: pip install bayeskit[sql].", error=error
        ) from error
    return psycopg


def _no_file(url: DatabaseUrl, error: OSError | None = None) -> DataError:
    return DataError("There is no file {path!r}.{meant}", path=url.place, meant=Message(" Check the path."))


def _open_duckdb(url: DatabaseUrl) -> Any:
    import duckdb

    if not os.path.exists(url.place):
        raise _no_file(url)
    try:
        return duckdb.connect(url.place, read_only=True)
    except duckdb.ConnectionException:  # this program has it open to write, and both then share it
        return duckdb.connect(url.place)


def _open_sqlite(url: DatabaseUrl) -> Any:
    import sqlite3
    from pathlib import Path

    if not os.path.exists(url.place):
        raise _no_file(url)
    address = f"{Path(url.place).absolute().as_uri()}?mode=ro"
    # Requests are made one at a time, though by any thread.
    return sqlite3.connect(address, uri=True, check_same_thread=False, isolation_level=None)


def _open_postgres(url: DatabaseUrl) -> Any:
    return _psycopg().connect(url.place, autocommit=True, connect_timeout=10)


def _explained(url: DatabaseUrl, error: Exception) -> DataError:
    first = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    if "locked" in first or "set lock" in first:
        return DataError(
            "{url} is locked by another program ({reason}). Wait until it has finished, or close it there.",
            url=url.shown,
            reason=first,
        )
    return DataError(
        "{url} could not be read: {reason}. Check that it can be queried.", url=url.shown, reason=first
    )


def _duckdb_columns(base: Any, table: DatabaseTable) -> list[DatabaseColumn]:
    schema = table.url.schema
    known = base.execute(
        "SELECT 1 FROM information_schema.tables WHERE table_name = ? AND table_schema = coalesce(?, current_schema())",
        [table.url.table, schema],
    ).fetchall()
    if not known and table.url.query is None:
        return []
    found = base.sql(f"SELECT * FROM {table.place} LIMIT 0")
    return [
        DatabaseColumn(
            name, str(kind.id), tuple(dict(kind.children)["values"]) if str(kind.id).lower() == "enum" else ()
        )
        for name, kind in zip(found.columns, found.types, strict=True)
    ]


def _sqlite_columns(base: Connection, table: DatabaseTable) -> list[DatabaseColumn]:
    asked = "SELECT name, type FROM pragma_table_xinfo(?, ?) WHERE hidden <> 1"
    found = base.execute(asked, [table.url.table, table.url.schema or "main"]).fetchall()
    columns = []
    for name, declared in found:
        kind = declared
        if not kind:  # SQLite allows columns without a type: the first value tells
            column = f"t.{quoted(name)}"
            first = base.execute(
                f"SELECT typeof({column}) FROM {table.place} AS t WHERE {column} IS NOT NULL LIMIT 1"
            ).fetchone()
            kind = "real" if first is None else first[0]
        columns.append(DatabaseColumn(name, kind))
    return columns


def _postgres_columns(base: Connection, table: DatabaseTable) -> list[DatabaseColumn]:
    asked = (
        "SELECT a.attname, format_type(a.atttypid, NULL), y.typtype FROM pg_attribute a "
        "JOIN pg_type y ON y.oid = a.atttypid WHERE a.attrelid = to_regclass(%s) "
        "AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
    )
    found = base.execute(asked, [table.place]).fetchall()
    # A type of the user's that is a list of names is written by its name, as text is.
    return [DatabaseColumn(name, "enum" if kind == "e" else type_) for name, type_, kind in found]


def _tables(base: Connection, engine: str) -> list[str]:
    asked = (
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
        if engine == "sqlite"
        else "SELECT table_name FROM information_schema.tables "
        "WHERE table_schema NOT IN ('information_schema', 'pg_catalog')"
    )
    return [name for (name,) in base.execute(asked).fetchall()]


@dataclass(frozen=True)
class Dialect:
    """How an engine writes what statements need."""

    engine: str

    @property
    def double(self) -> str:
        return {"duckdb": "DOUBLE", "sqlite": "REAL", "postgres": "double precision"}[self.engine]

    def number(self, column: DatabaseColumn) -> str:
        """Return a column as SQL whose values are doubles; NULL is missing."""
        cell = f"CAST(t.{quoted(column.name)} AS {self.double})"
        if self.engine == "duckdb":
            return f"CASE WHEN isnan({cell}) THEN NULL ELSE {cell} END"
        return f"NULLIF({cell}, 'NaN'::double precision)" if self.engine == "postgres" else cell

    def label(self, column: DatabaseColumn, variable: Variable) -> str:
        """Return a column as SQL whose values :meth:`decoded` turns into labels; NULL is missing."""
        cell = f"t.{quoted(column.name)}"
        if variable.cuts is not None:
            number = self.number(column)
            cases = "".join(
                f" WHEN ({number}) <= {cut!r} THEN {k}" for k, cut in enumerate(map(float, variable.cuts))
            )
            return self._text(f"CASE WHEN ({number}) IS NULL THEN NULL{cases} ELSE {len(variable.cuts)} END")
        if variable.dense:
            number = self.number(column)
            whole = (
                f"CAST({number} AS INTEGER)"
                if self.engine == "sqlite"
                else f"CAST(trunc({number}) AS BIGINT)"
            )
            return self._text(whole)
        if self.engine == "sqlite":
            return f"{cell} COLLATE BINARY"  # SQLite compares numbers and texts as they are
        return self._text(cell)

    def _text(self, expression: str) -> str:
        if self.engine == "sqlite":
            return expression
        return f"CAST({expression} AS {'VARCHAR' if self.engine == 'duckdb' else 'text'})"

    def decoded(self, value: Any, column: DatabaseColumn, variable: Variable) -> Any:
        """Return the label of a cell; None if it is missing."""
        if value is None:
            return None
        if variable.cuts is not None or variable.dense:
            return int(value)
        if isinstance(value, str) and self.engine != "sqlite":
            kind = column.type.lower()
            if kind.startswith("bool"):
                return value in ("true", "t")
            if _WHOLE.match(kind):
                return int(value)
            if _NUMBERS.match(kind):
                value = float(value)
        if isinstance(value, float) and math.isnan(value):
            return None
        return python_label(value)
