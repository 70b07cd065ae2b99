"""Reads a CSV, TSV or Parquet file through DuckDB as a source of batches for repeated passes."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit._data.columns import CodedColumn
from bayeskit._data.converted import converted
from bayeskit._data.file_options import MissingMarks
from bayeskit._data.formats import Column, Parquet, Text, Unsure, folder_field
from bayeskit._data.relation import Arrays, pieces, rebatched
from bayeskit._data.survey import (
    FIRST_SURVEYED,
    CellCounts,
    Field,
    count_cells,
    count_first,
    note_spellings,
    seen_marks,
    tests_left,
    words_among_numbers,
)
from bayeskit._data.suspect_columns import is_crowd
from bayeskit._data.table import ColumnBatch
from bayeskit._messages import Joined, Message, Term
from bayeskit.errors import ColumnError, DataError, SettingError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Smaller text files are surveyed whole: it takes a moment, and nothing has to be read again.
_LARGE = 4 << 20
# So many first rows of a larger one are looked at before it is read without a survey.
FIRST_ROWS = 20_000
# A cell takes 8 bytes in a batch, and there are copies of it on the way; a quarter of the limit is for batches.
_BYTES_A_CELL = 64
# A text file of this size has few rows.
_FEW_BYTES = 2**16
# DuckDB cannot open a text file with less.
_LEAST_MEMORY = 64 << 20
# Converted by ourselves, from text in any encoding.
_HAS_ENCODING = (".arff", ".arff.gz", ".arff.zst")
# What pandas calls the column of a nameless index in the files that it writes.
_INDEX_OF_PANDAS = re.compile(r"__index_level_\d+__")
_USABLE = ("int64", "float64", "bool", "str")


def _words_in(column: Column) -> tuple[Collection[str], int]:
    """Return the different words of a column, perhaps some more, and the number of its cells that are not missing."""
    if isinstance(column, CodedColumn):
        labels: Any = column.labels
        return labels, int((column.codes >= 0).sum())
    known = [cell for cell in column.tolist() if cell is not None]
    return set(known), len(known)


class Engine:
    """DuckDB for the passes over files: opened at the first of them, and closed when no source holds it any more.

    To open it takes 10 ms, as long as all else for a small file.

    Parameters
    ----------
    threads : int, optional
        How many threads read; by default, one for each core.
    max_memory : int, optional
        The limit of its memory in bytes.
    """

    def __init__(self, threads: int | None = None, max_memory: int | None = None) -> None:
        self.threads, self.max_memory = threads, max_memory
        self._opening = Lock()
        # By process: after a fork the child has none of its threads, and may not even close it.
        self._opened: dict[int, DuckDBPyConnection] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Engine, (self.threads, self.max_memory)

    def connection(self) -> DuckDBPyConnection:
        """Return a new connection, for one pass; several threads may have one each."""
        import duckdb

        with self._opening:
            if os.getpid() not in self._opened:
                # No extension is downloaded, no name in a query refers to a Python variable, and no file is held.
                config: dict[str, Any] = {
                    "autoinstall_known_extensions": False,
                    "python_enable_replacements": False,
                    "enable_external_file_cache": False,
                }
                if self.threads is not None:
                    config["threads"] = self.threads
                if self.max_memory is not None:
                    config["memory_limit"] = f"{max(self.max_memory, _LEAST_MEMORY) >> 10}KiB"
                self._opened[os.getpid()] = duckdb.connect(config=config)
            return self._opened[os.getpid()].cursor()

    def reset(self) -> None:
        """Open DuckDB anew for the next pass: after some errors it refuses every query."""
        self._opened.pop(os.getpid(), None)


class FileSource:
    """The rows of one file, in batches of named NumPy arrays.

    The kind of a text column is determined from *all* of its cells, in one pass when the source is created.
    Integers are ``int64``, numbers ``float64``, true and false ``bool``, and everything else is text. Decimal
    commas, thousands separators, percent and currency signs are understood if all cells have them, with a
    note. An integer column with missing cells is ``float64`` with NaN, in every batch. Text is an object
    array with None for missing, and so are booleans with missing cells. Memory does not depend on the number
    of rows. Every pass has its own connection to one DuckDB, so that several threads can read one source.

    Parameters
    ----------
    path : path
        CSV or TSV (also packed with gzip), or Parquet; JSON, Arrow, ARFF, files packed with zstd and
        ``duckdb:///path?table=…`` are converted to Parquet first. It is taken literally: no patterns, no other
        addresses. Patterns and lists are for :func:`bayeskit._data.file_set.open_files`.
    columns, exclude : sequence of str, optional
        The columns to read, in this order; the columns to leave out.
    encoding : str, optional
        Of a text file; detected by default (see `bayeskit._data.encodings.detect`).
    separator : str, optional
        One character; detected from the first records by default.
    missing : sequence of str, or MissingMarks, default ("",)
        Texts that mean a missing cell.
    spellings : {column: how its numbers were spelled before}, optional
        Decides where a spelling is ambiguous.
    rows_per_batch : int, default 122,880
        The default is DuckDB's own unit of work.
    most_columns : int, optional
        A file with more columns is an error, before its rows are read.
    quick : bool, default False
        Take the kinds of a large text file from its first rows, where they tell them, and check every cell when it is
        read: one pass fewer. Whatever does not hold raises :class:`Unsure`; then read what :meth:`surveyed` returns.
    threads : int, optional
        How many threads read; by default, one for each core.
    max_memory : int, optional
        The bytes that reading may take: the limit of DuckDB, and shorter batches where a table is wide.
    folders : {name: text or None}, optional
        What the names of its folders say (``day=1``): columns that have this cell in all rows, unless the file has a
        column of that name.
    may_be_empty : bool, default False
        Whether a file with the names of columns alone is one without rows, as one of several may be, or an error.
    engine : Engine, optional
        What several files are read with; by default, each has its own.

    Attributes
    ----------
    names : tuple of str
        The columns to read, in order.
    dtypes : dict of str to str
        For each of them ``int64``, ``float64``, ``bool``, ``str``, or a kind that `batches` refuses.
    text : frozenset of str
        The columns that hold words somewhere, though perhaps not in every batch.
    rows : int
    seen : {column: {text: cells}}
        Marks of missing cells that were found, whether they are taken as such or not.
    taken : {column: texts}
        The marks that are read as missing.
    mostly_numbers : {column: (share, texts)}
        Columns of words of which at least 90 % of the cells are numbers, and some of the other cells.
    spellings : {column: how its numbers are spelled}, where that is not plain
    separator : str, or None for a format without one

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "melons.csv")
    >>> _ = path.write_bytes("色泽,密度\\n青绿,0.5\\n浅白,\\n".encode())
    >>> [batch["密度"].tolist() for batch in FileSource(path).batches()]
    [[0.5, nan]]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        columns: Sequence[Hashable] | None = None,
        exclude: Sequence[Hashable] | None = None,
        encoding: str | None = None,
        separator: str | None = None,
        missing: Sequence[str] | MissingMarks = ("",),
        spellings: Mapping[str, str] | None = None,
        rows_per_batch: int = 122_880,
        most_columns: int | None = None,
        quick: bool = False,
        threads: int | None = None,
        max_memory: int | None = None,
        folders: Mapping[str, str | None] | None = None,
        may_be_empty: bool = False,
        engine: Engine | None = None,
    ) -> None:
        if rows_per_batch < 1:
            raise SettingError(
                "rows_per_batch={rows_per_batch!r} must be at least 1.", rows_per_batch=rows_per_batch
            )
        self.shown = shown = repr(os.fspath(path))
        copy = converted(os.fspath(path), shown, encoding)
        # The converted copy lives as long as this source.
        self.path = Path(path).absolute() if copy is None else copy[0]
        self._spool = copy
        self.rows_per_batch = rows_per_batch
        self._most_columns, self._threads, self._max_memory = most_columns, threads, max_memory
        self._engine = Engine(threads, max_memory) if engine is None else engine
        self.marks = marks = missing if isinstance(missing, MissingMarks) else MissingMarks(())
        texts = marks.table_wide if marks is missing else _texts(missing)
        self._format: Text | Parquet
        if not _is_parquet(self.path, shown):
            self._format = Text(self.path, shown, encoding, separator, texts, marks, spellings or {})
        elif separator is None and (encoding is None or os.fspath(path).lower().endswith(_HAS_ENCODING)):
            self._format = Parquet(self.path, shown, texts)
        else:
            raise SettingError(
                "encoding= and separator= are for text, and {shown} is Parquet: leave them out.", shown=shown
            )
        self._stamp = file_stamp(self.path)
        self._quick = quick and bool(self._format.tests) and self._stamp[0] >= _LARGE
        self._may_be_empty = may_be_empty
        self._folders = [folder_field(name, value) for name, value in (folders or {}).items()]
        self._find_kinds(columns, exclude)

    def _find_kinds(self, columns: Sequence[Hashable] | None, exclude: Sequence[Hashable] | None) -> None:
        self.mostly_numbers: dict[str, tuple[float, tuple[str, ...]]] = {}
        self._fields, rows = self._survey(columns, exclude)
        if rows is not None:
            self.rows = rows
        note_spellings([(field.name, field.spelling) for field in self._fields], self.shown)
        if rows == 0 and not self._may_be_empty:
            raise DataError(
                "{shown} has the names of columns and no rows. Give a file with at least one row.",
                shown=self.shown,
            )
        self._describe()

    @property
    def sure(self) -> bool:
        """Whether every cell was looked at before its column got a kind."""
        return not self._quick

    def surveyed(self) -> FileSource:
        """Return a source of the same columns whose kinds are determined from all cells."""
        if self.sure:
            return self
        source = copy(self)
        source._quick = False
        source._find_kinds(self.names, None)
        return source

    def _describe(self) -> None:
        self.names = tuple(field.name for field in self._fields)
        self.dtypes = {field.name: field.kind for field in self._fields}
        self.seen = {field.name: dict(field.seen) for field in self._fields if field.seen}
        self.taken = {field.name: field.marks for field in self._fields if field.marks}
        self.spellings = {field.name: field.spelling for field in self._fields if field.spelling}
        words = [field for field in self._fields if field.kind in ("str", "bool") and not field.empty]
        self.text = frozenset(field.name for field in words)

    @cached_property
    def rows(self) -> int:
        """The number of rows; counted now where only the first were looked at."""
        with self._opened() as (connection, table):
            [(n,)] = connection.execute(f"SELECT count(*) FROM {table}").fetchall()
        return int(n)

    @property
    def known_rows(self) -> int | None:
        """The number of rows, or None where it has not been counted."""
        return self.__dict__.get("rows")

    def __repr__(self) -> str:
        return f"FileSource({self.shown}: {self.rows:,} rows, {len(self.names)} columns, {self._format})"

    def batches(self) -> Iterator[ColumnBatch]:
        """Read the file once from its beginning, `rows_per_batch` rows at a time (at the end, what is left).

        Returns
        -------
        iterator of dict of str to array
            One array per column, all of the same length; a column has the same dtype in every batch.
        """
        self._refuse_unusable()
        if file_stamp(self.path) != self._stamp:
            raise DataError(
                "{shown} has changed since it was opened. Make a new FileSource of it.", shown=self.shown
            )
        return self._read()

    def _refuse_unusable(self) -> None:
        """Raise an error for a column of dates, lists or structures."""
        for field in self._fields:
            if field.kind not in _USABLE:
                dated = field.kind in ("date", "time")
                what = (
                    Message("holds dates or times")
                    if dated
                    else Message("is of type {kind}", kind=field.kind)
                )
                way_out = Message(
                    "Leave it out with exclude=[{name!r}], or cast what matters to numbers or text.",
                    name=field.name,
                )
                raise ColumnError(
                    "Column {name!r} of {shown} {what}. {way_out}",
                    name=field.name,
                    shown=self.shown,
                    what=what,
                    way_out=way_out,
                )

    def reread(
        self, columns: Sequence[str] | None = None, kinds: Mapping[str, str] | None = None
    ) -> FileSource:
        """Return a source of some of these columns, some read as another kind; the file is not examined again.

        Parameters
        ----------
        columns : names, optional
            The columns to read, in this order.
        kinds : {name: "str" or "float64"}, optional
            A text column to be read as numbers fails at the first batch with a cell that is not a number.
        """
        wanted = dict(kinds or {})
        fields = self._fields if columns is None else _chosen(self._fields, columns, None, self.shown)
        return self._with(
            self._format.read_as(field, wanted[field.name]) if field.name in wanted else field
            for field in fields
        )

    def with_kinds(self, names: Sequence[str], kinds: Mapping[str, Field]) -> FileSource:
        """Return the same rows with columns in this order, each of this kind, perhaps with missing cells."""

        def read_so(field: Field, like: Field) -> Field:
            field = replace(field, nulls=like.nulls, empty=like.empty)
            same = field.kind == like.kind and field.kind in ("str", "bool")
            return field if same or like.kind not in _USABLE else self._format.read_as(field, like.kind)

        return self._with(read_so(self.field(name), kinds[name]) for name in names)

    def field(self, name: str) -> Field:
        """Return what is known of a column."""
        return next(field for field in self._fields if field.name == name)

    @property
    def separator(self) -> str | None:
        return self._format.separator

    def sample(self, most: int) -> ColumnBatch:
        """Return all rows if they are so few; else rows at equal distances over the whole file, at most so many."""
        step = -(-self.rows // most)
        return self._some(most, self._where(f"({{row}} + 1) % {step} = 0") if step > 1 else str)

    def blocks(self, starts: Sequence[int], size: int) -> list[ColumnBatch]:
        """Return as many rows from each of some row numbers on; none if the other rows would have to be read, too."""
        if not self._format.seekable:
            return []
        spans = [(start, min(start + size, self.rows)) for start in starts]
        within = " OR ".join(f"{{row}} BETWEEN {start} AND {stop - 1}" for start, stop in spans)
        found = self._some(size, self._where(within))
        stops = np.cumsum([stop - start for start, stop in spans]).tolist()
        return [found.part(slice(a, b)) for a, b in zip([0, *stops], stops, strict=False)]

    def first(self, most: int) -> ColumnBatch:
        """Return the first rows, at most so many."""
        return self._some(most, lambda table: f"{table} LIMIT {most}")

    def _where(self, condition: str) -> Callable[[str], str]:
        return partial(self._format.where, condition)

    def _some(self, most: int, which: Callable[[str], str]) -> ColumnBatch:
        self._refuse_unusable()
        parts = list(self._queried(most, which))
        arrays = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return ColumnBatch(zip(self.names, arrays, strict=True), self.text)

    def digest(self) -> str:
        """Return the SHA-256 of the file."""
        with open(self.path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def _with(self, fields: Iterable[Field]) -> FileSource:
        source = copy(self)
        source._fields = list(fields)
        source._describe()
        return source

    def _read(self) -> Iterator[ColumnBatch]:
        size = self.rows_per_batch
        if self._max_memory is not None:
            size = max(1, min(size, self._max_memory // (_BYTES_A_CELL * len(self.names))))
        for arrays in rebatched(self._parts(size), size):
            yield ColumnBatch(zip(self.names, arrays, strict=True), self.text)

    def _parts(self, size: int) -> Iterator[Arrays]:
        direct = self._format.in_codes(self._fields, size, self._threads != 1)
        if direct is not None:
            yield from self._explaining(direct)
            return
        yield from self._queried(size)

    def _queried(self, size: int, which: Callable[[str], str] = str) -> Iterator[Arrays]:
        """Read all rows of the file as a FROM clause, or some of them."""
        query = ", ".join(f"{field.expression} AS o{i}" for i, field in enumerate(self._fields))
        with self._opened() as (connection, table):
            few = isinstance(self._format, Text) and os.path.getsize(self.path) <= _FEW_BYTES
            parts = pieces(connection, f"SELECT {query} FROM {which(table)}", self._fields, size, few=few)
            yield from parts if self.sure else self._checked(parts)

    def _checked(self, parts: Iterator[Arrays]) -> Iterator[Arrays]:
        """Pass pieces on; raise an error for words that a survey would have told of, though their kind is right.

        Numbers are checked by the query.
        """
        words, cells = np.zeros(len(self._fields), dtype=int), np.zeros(len(self._fields), dtype=int)
        for arrays in parts:
            for i, (field, column) in enumerate(zip(self._fields, arrays, strict=True)):
                if field.refused is not None and field.kind == "str":
                    labels, n = _words_in(column)
                    if not field.refused.isdisjoint(label.strip() for label in labels):
                        raise Unsure
                    words[i] += len(labels)
                    cells[i] += n
                    # Columns that name the rows or hold free text, and become so only now, have many words.
                    if cells[i] >= FIRST_ROWS and is_crowd(words[i], cells[i]):
                        raise Unsure
            yield arrays

    def _explaining(self, parts: Iterator[Arrays]) -> Iterator[Arrays]:
        try:
            yield from parts
        except (OSError, ValueError) as error:  # PyArrow's errors, and text that is no UTF-8
            if isinstance(error, DataError):
                raise
            raise DataError(self._explained(str(error))) from error

    def _survey(
        self, columns: Sequence[Hashable] | None, exclude: Sequence[Hashable] | None
    ) -> tuple[list[Field], int | None]:
        """Determine the columns and, in one pass over the rows, their number and the kind of each column."""
        try:
            with self._opened() as (connection, table):
                fields = self._format.fields(connection, table)
                if (
                    columns is None
                ):  # pandas takes these for an index when it reads them again, not for columns
                    fields = [
                        field for field in fields if not _INDEX_OF_PANDAS.fullmatch(field.name)
                    ] or fields
                own = {field.name for field in fields}
                fields += [field for field in self._folders if field.name not in own]
                fields = _chosen(fields, columns, exclude, self.shown)
                if self._most_columns is not None and len(fields) > self._most_columns:
                    raise ColumnError(
                        "{shown} has {n:,} columns, and {most_columns:,} at most are read. "
                        "Make a file of the columns that matter.",
                        shown=self.shown,
                        n=len(fields),
                        most_columns=self._most_columns,
                    )
                fields = self._format.marked(fields)
                tests: list[list[str]] = [[] for _ in fields]
                counts: list[CellCounts] = []
                rows = FIRST_SURVEYED
                if self._format.tests:
                    # Most text columns are recognised at once, and need no test over the whole file.
                    rows, counts = count_first(connection, table, fields, self._format.tests)
                    expected = [
                        self._format.expected(field, rows, count)
                        for field, count in zip(fields, counts, strict=True)
                        if self._quick
                    ]
                    known = [field for field in expected if field is not None]
                    if len(known) == len(fields):
                        return known, None
                    self._quick = False
                    tests = [tests_left(count) for count in counts]
                if rows >= FIRST_SURVEYED:
                    rows, counts = count_cells(connection, table, fields, tests)
                found = seen_marks(connection, table, fields, counts)
                typed = [
                    self._format.typed_by(field, rows, count, found.get(field.name, ()))
                    for field, count in zip(fields, counts, strict=True)
                ]
                self.mostly_numbers |= words_among_numbers(connection, table, typed, counts)
        except ColumnError:
            raise
        except Unsure:
            self._quick = False
            return self._survey(columns, exclude)
        except DataError:
            if not self._format.mend():
                raise
            return self._survey(columns, exclude)
        return typed, rows

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, str]]:
        """A separate connection, and the file as a FROM clause."""
        import duckdb

        with self._format.table() as table, self._engine.connection() as connection:
            try:
                connection.execute("SET enable_progress_bar = false")
                yield connection, table
            except (duckdb.InterruptException, RuntimeError) as error:
                # DuckDB handles Ctrl-C itself, and turns it into its own error.
                self._engine.reset()
                if "interrupt" in str(error).lower():
                    raise KeyboardInterrupt from error
                raise
            except (duckdb.Error, OSError) as error:  # pyarrow passes DuckDB's errors on as OSError
                self._engine.reset()
                if self._quick:
                    raise Unsure from error
                raise DataError(self._explained(str(error))) from error

    def _explained(self, error: str) -> Message:
        lines = [line for line in error.partition("Possible")[0].splitlines() if line.strip()]
        # A blank line above the record is shown with it.
        if len(lines) > 2 and lines[1].rstrip() == "Original Line:":
            lines[1:3] = [f"Original Line: {lines[2]}"]
        # DuckDB's error says where, shows the record, which may be long, and ends with what is wrong.
        short = " | ".join(dict.fromkeys([*lines[:2], lines[-1]]))[:300]
        what = re.sub(r"^(\w+ )*Error: ", "", short).rstrip(".")
        width = _WRONG_WIDTH.fullmatch(what)
        return Message(
            "{shown} cannot be read as {format}: {what}. {way_out}",
            shown=self.shown,
            format=self._format.message,
            what=what if width is None else Message(_WIDTHS, **width.groupdict()),
            way_out=Message("Correct the file there, or check separator= and encoding=.")
            if self._format.tests
            else Message("Correct the file there."),
        )


# DuckDB's most common error for CSV files: a line with more or fewer cells than the first.
_WIDTHS = (
    "CSV Error on Line: {line} | Original Line: {text} | Expected Number of Columns: {wanted} Found: {found}"
)
_WRONG_WIDTH = re.compile(
    r"CSV Error on Line: (?P<line>\d+) \| Original Line: (?P<text>.*) \| "
    r"Expected Number of Columns: (?P<wanted>\d+) Found: (?P<found>\d+)"
)


# A list of objects, or one.
_JSON = re.compile(rb"(\xef\xbb\xbf)?\s*(\[\s*)?\{\s*\"")
# Packed files that are not read, by their first bytes.
_PACKED_OTHERWISE = {
    "bzip2": b"BZh",
    "xz": b"\xfd7zXZ\0",
    "LZ4": b"\x04\x22\x4d\x18",
    "7-Zip": b"7z\xbc\xaf\x27\x1c",
}
_WINDOWS = re.compile(r"([A-Za-z]):\\(.*)")


def _texts(missing: Any) -> tuple[str, ...]:
    return (missing,) if isinstance(missing, str) else tuple(missing)


def _is_parquet(path: Path, shown: str) -> bool:
    """Check the first and last bytes; raise an error if the file is not a table."""
    if path.is_dir():
        raise DataError("{shown} is a directory. Name one file in it.", shown=shown)
    try:
        with open(path, "rb") as file:
            start = file.read(64)
            head = start[:4]
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4))
            tail = file.read(4)
    except FileNotFoundError:
        # Not its own name, as that of a link to nowhere.
        there = set(os.listdir(path.parent)) - {path.name} if path.parent.is_dir() else set()
        near = get_close_matches(path.name, sorted(there))
        windows = _WINDOWS.fullmatch(path.name)
        meant: Message | str = ""
        if windows is not None:
            there_too = f"/mnt/{windows[1].lower()}/" + windows[2].replace("\\", "/")
            meant = Message(" This is a path of Windows; in WSL it is {path!r}.", path=there_too)
        elif near:
            meant = Message(" Did you mean {names}?", names=Joined(map(repr, near), " or "))
        raise DataError(
            "There is no file {shown} (looked for as {path!r}).{meant} Check the path.",
            shown=shown,
            path=str(path),
            meant=meant,
        ) from None
    except OSError as error:
        raise DataError(
            "{shown} cannot be opened: {strerror}. Check the path and your rights to it.",
            shown=shown,
            strerror=Term(error.strerror or str(error)),
        ) from error
    if not head:
        raise DataError(
            "{shown} is empty. Give a file with a line of names and at least one row.", shown=shown
        )
    if head == b"PK\x03\x04":
        raise DataError(
            "{shown} is a zip archive or an Excel workbook. Save the sheet as CSV and give that.", shown=shown
        )
    packing = next((name for name, first in _PACKED_OTHERWISE.items() if start.startswith(first)), None)
    if packing is not None:
        raise DataError(
            "{shown} is packed with {packing}, which is not read. Unpack it, or pack it with gzip or zstd.",
            shown=shown,
            packing=packing,
        )
    if start.startswith(b"SQLite format 3\0"):
        raise DataError(
            "{shown} is a database of SQLite. To count a table where it is, use lazy({address!r}, …). To fit, read its "
            "rows in batches and pass them as Batches.",
            shown=shown,
            address=f"sqlite:///{path}?table=…",
        )
    if start[8:12] == b"DUCK":
        raise DataError(
            "{shown} is a database of DuckDB. Name a table of it: {address!r}.",
            shown=shown,
            address=f"duckdb:///{path}?table=…",
        )
    if _JSON.match(start):
        raise DataError(
            "{shown} holds JSON. Name it .json, or .jsonl if each line is an object.", shown=shown
        )
    named_so = path.suffix.lower() in (".parquet", ".pq")
    if named_so and head != b"PAR1":
        raise DataError(
            "{shown} is not Parquet: it begins with {head!r}. If it is text, name it .csv.",
            shown=shown,
            head=head,
        )
    return head == b"PAR1" and (named_so or tail == b"PAR1")


def file_stamp(path: Path) -> tuple[int, int]:
    """Return the size of a file and when it was last written."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _chosen(
    fields: list[Field], columns: Sequence[Hashable] | None, exclude: Sequence[Hashable] | None, shown: str
) -> list[Field]:
    by_name: dict[Hashable, Field] = {field.name: field for field in fields}
    wanted = list(by_name) if columns is None else [columns] if isinstance(columns, str) else list(columns)
    unwanted = [exclude] if isinstance(exclude, str) else list(exclude or ())
    for role, names in (("columns", wanted), ("exclude", unwanted)):
        for name in names:
            if name not in by_name:
                near = get_close_matches(str(name), map(str, by_name), cutoff=0.4) or list(by_name)[:8]
                way_out = Message("Did you mean {names}?", names=Joined(map(repr, near), " or "))
                raise ColumnError(
                    "{role}= names {name!r}, which is not a column of {shown}. {way_out}",
                    role=role,
                    name=name,
                    shown=shown,
                    way_out=way_out,
                )
    kept = [by_name[name] for name in dict.fromkeys(wanted) if name not in unwanted]
    if not kept:
        raise ColumnError(
            "columns= and exclude= leave no column of {shown}. Its columns are {by_name}.",
            shown=shown,
            by_name=list(by_name)[:12],
        )
    return kept
