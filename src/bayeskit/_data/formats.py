"""The DuckDB queries for the two file formats, text and Parquet."""

from __future__ import annotations

import csv
import io
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.columns import CodedColumn, joined_columns, narrow, without_labels
from bayeskit._data.encodings import GZIP_MAGIC, blocks, decoded, is_utf8, resolve, utf8_copy
from bayeskit._data.file_options import MissingMarks
from bayeskit._data.frames import factorize_arrow
from bayeskit._data.survey import LOOKS, SPELLINGS, Field, quoted, spelling_of
from bayeskit._messages import Joined, Message
from bayeskit.errors import ColumnError, DataError, SettingError, SourceNote

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from bayeskit._data.survey import CellCounts

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

SEPARATORS = (",", "\t", ";", "|")
_HEAD = 1 << 20
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def read_header(texts: Iterable[str], separator: str | None, shown: str) -> tuple[list[str], str]:
    """Read the names in the first line of a text, and detect the separator if none is given.

    The separator is the one that splits the header and the following records into the same number of fields,
    and into the most fields.

    Parameters
    ----------
    texts : iterable of str
        The file as text, block by block; only as much as needed is read.
    shown : str
        The name of the file, for messages.

    Examples
    --------
    >>> read_header(["色泽;密度\\n青绿;0,5\\n"], None, "melons.csv")
    (['色泽', '密度'], ';')
    """
    head = _head(texts)
    if head.lower().startswith("sep=") and len(head.partition("\n")[0].rstrip("\r")) == 5:
        raise DataError(
            "The first line of {shown} is {head!r}, a word to Excel alone. Remove that line.",
            shown=shown,
            head=head[:5],
        )
    # The order breaks ties, as in a file with one column.
    first = "\t" if ".tsv" in shown.lower() else ","
    tries = (separator,) if separator else (first, *SEPARATORS)
    records = {each: _records(head, each, shown) for each in tries}
    if not records[tries[0]] or not records[tries[0]][0]:
        way_out = Message(
            "The first line must hold the names of the columns: remove the blank lines above it."
        )
        raise DataError("The first line of {shown} is blank. {way_out}", shown=shown, way_out=way_out)
    best = max(tries, key=lambda each: (_agree(records[each]), len(records[each][0])))
    return _names(records[best][0], shown), best


def _head(texts: Iterable[str]) -> str:
    head = ""
    for text in texts:
        head += text
        if len(head) >= _HEAD:
            # Whole lines only, so that the last record is complete.
            return head[: head.rfind("\n") + 1] or head
    return head


def _records(head: str, separator: str, shown: str, limit: int = 64) -> list[list[str]]:
    reader = csv.reader(io.StringIO(head, newline=""), delimiter=separator)
    records: list[list[str]] = []
    try:
        records.extend(islice(reader, limit))
    except csv.Error as error:
        # A very long cell further down is no error: the records before it are enough.
        if not records:
            way_out = Message("A quotation mark that is never closed is the usual reason.")
            raise DataError(
                "The first line of {shown} cannot be read: {error}. {way_out}",
                shown=shown,
                error=error,
                way_out=way_out,
            ) from error
    return records


def _agree(records: Iterable[list[str]]) -> bool:
    widths = {len(record) for record in records if record}
    return len(widths) == 1 and widths != {1}


def _names(header: list[str], shown: str) -> list[str]:
    names = [name.strip() for name in header]
    for place, name in enumerate(names, start=1):
        if not name:
            names[place - 1] = f"column{place}"
            _note(
                "Column {place} of {shown} has no name; it is called {name!r}. If it numbers the rows, pass "
                "exclude=[{name!r}].",
                place=place,
                shown=shown,
                name=f"column{place}",
            )
    refuse_twins(names, shown)
    numbers = [name for name in names if _NUMBER.fullmatch(name)]
    if len(numbers) == len(names) or any(not name.isdigit() for name in numbers):
        _note(
            "The first line of {shown} is taken as the names of the columns, yet {number!r} is a number. If the file "
            "has no header, write one above its first row.",
            shown=shown,
            number=numbers[0],
        )
    return names


def _note(template: str, **values: object) -> None:
    # The stack from here up: _names, read_header, Text, FileSource, and its caller, who should be named.
    warnings.warn(SourceNote(template, **values), stacklevel=6)


def refuse_twins(names: Iterable[str], shown: str) -> None:
    """Raise an error for two columns with the same name, which would be ambiguous."""
    twins = [name for name, times in Counter(names).items() if times > 1]
    if twins:
        way_out = Message("Rename all but one of them in the file.")
        raise ColumnError(
            "{shown} has more than one column called {names}. {way_out}",
            shown=shown,
            names=Joined(map(repr, twins)),
            way_out=way_out,
        )


def mixed_newlines(path: Path) -> bool:
    """Whether there are several kinds of line ends (CR LF, LF, CR), which DuckDB's strict reader rejects."""
    kinds = set()
    for block in _overlapping(blocks(path)):
        bare = block.replace(b"\r\n", b"")
        kinds |= {end for end, text in ((b"\n", bare), (b"\r", bare[:-1]), (b"\r\n", block)) if end in text}
        if len(kinds) > 1:
            return True
    return False


def _overlapping(pieces: Iterable[bytes]) -> Iterator[bytes]:
    # A CR LF cut between two blocks is whole in the second, which begins with the CR of the first.
    kept = b""
    for piece in pieces:
        yield kept + piece
        kept = b"\r" if piece.endswith(b"\r") else b""


_TYPES = {
    "int64": "TINYINT SMALLINT INTEGER BIGINT UTINYINT USMALLINT UINTEGER",
    "float64": 'FLOAT DOUBLE DECIMAL HUGEINT UBIGINT UHUGEINT "NULL"',  # the last: of a column without values
    "str": "VARCHAR ENUM UUID",
    "bool": "BOOLEAN",
    "date": "DATE TIMESTAMP TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_NS",
    "time": "TIME INTERVAL",
}
_KIND_OF_TYPE = {each: kind for kind, types in _TYPES.items() for each in types.split()}
# The same of one cell: what the name of a folder says.
_LOOKS_OF_ONE = {
    "int64": re.compile(r"[-+]?[0-9]{1,18}"),
    "float64": _NUMBER,
    "bool": re.compile("true|false", re.IGNORECASE),
    "date": re.compile(r"(\d{4}[-/]\d\d?[-/]\d\d?|\d\d?[-/]\d\d?[-/]\d{4})([ T]\d.*)?"),
    "time": re.compile(r"\d\d?:\d\d(:\d\d(\.\d+)?)?"),
}
# DuckDB needs at least one text for "missing"; this one occurs in no file, and is no name of a column.
_NEVER = "\ue000\ue001\ue000"


def folder_field(name: str, value: str | None) -> Field:
    """Return a column that has the same cell in all rows; its kind is that of a text column with this cell."""
    column = "CAST(NULL AS VARCHAR)" if value is None else quoted(value)
    kind = next((kind for kind, looks in _LOOKS_OF_ONE.items() if value and looks.fullmatch(value)), "str")
    return Field(name, column, "float64" if value is None else kind, everywhere=(value,))


def _repeated(field: Field, n: int) -> Column:
    """Return so many cells of a column that has the same one in all rows."""
    assert field.everywhere is not None
    (value,) = field.everywhere
    if field.kind == "str":
        return CodedColumn(np.full(n, 0 if value is not None else -1, np.int8), [value or ""])
    if field.kind == "bool":
        return np.full(n, None if value is None else value.lower() == "true", field.dtype)
    return np.full(n, np.nan if value is None else int(value) if field.kind == "int64" else float(value))


class Unsure(Exception):
    """What the first rows of a file promised does not hold."""


# A column of a batch: text in codes where PyArrow has made them.
Column: TypeAlias = NDArray[Any] | CodedColumn
_Batch = TypeVar("_Batch")


def arrow_column(field: Field, column: pyarrow.Array, missing: Sequence[str] = ()) -> Column:
    """Return an array of PyArrow as a column of a batch."""
    if field.kind == "str":
        return narrow(without_labels(factorize_arrow(column), missing))
    return np.array(column.to_numpy(zero_copy_only=False), dtype=field.dtype)


def literal(path: Path, shown: str) -> str:
    """Return a path as an SQL literal, in which ``*``, ``?`` and ``[`` have no special meaning."""
    text = os.fspath(path)
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        raise DataError(
            "{shown} has a name that is not UTF-8; DuckDB cannot name it. Rename it.", shown=shown
        )
    if os.sep == "/" and "\\" in text and re.search(r"[*?\[]", text):
        raise DataError(
            "{shown} has a backslash and one of * ? [ in its path; DuckDB cannot name it. Rename it.",
            shown=shown,
        )
    return quoted(re.sub(r"([*?\[])", r"[\1]", text))


# DuckDB holds several such buffers of a text file; of its own, twice as large, it holds 30 MB more. A line of 2 MB, the
# longest that is read, has room in it many times.
_BUFFER = 16 << 20


class Text:
    """Delimited text with a header in any encoding, optionally compressed with gzip."""

    tests = tuple(LOOKS)

    def __init__(
        self,
        path: Path,
        shown: str,
        encoding: str | None,
        separator: str | None,
        missing: Sequence[str],
        marks: MissingMarks,
        spellings: Mapping[str, str],
    ) -> None:
        if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
            raise SettingError(
                'separator={separator!r} must be one character, such as ";" or "\\t".', separator=separator
            )
        self.path, self.shown, self.missing, self.even = path, shown, missing, False
        self.marks, self.spellings = marks, spellings
        self.encoding = resolve(path, encoding)
        if encoding is not None and is_utf8(self.encoding):
            for _ in decoded(path, self.encoding):  # DuckDB checks this too, but does not report the byte
                pass
        with open(path, "rb") as file:
            self.packed = file.read(2) == GZIP_MAGIC
        self.names, self.separator = read_header(decoded(path, self.encoding), separator, shown)

    def __str__(self) -> str:
        return str(self.message)

    @property
    def message(self) -> Message:
        """The name of the format in messages."""
        return Message(
            "text in {encoding}, separated by {separator!r}", encoding=self.encoding, separator=self.separator
        )

    @contextmanager
    def table(self) -> Iterator[str]:
        """The file as a FROM clause, with every column as text."""
        with self._readable() as readable:
            columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(self.names)))
            nulls = ", ".join(map(quoted, self.missing or (_NEVER,)))
            packed = "gzip" if self.packed and readable == self.path else "none"
            yield (
                f"read_csv({literal(readable, self.shown)}, auto_detect = false, header = true, "
                f"columns = {{{columns}}}, quote = '\"', escape = '\"', delim = {quoted(self.separator)}, "
                f"nullstr = [{nulls}], compression = '{packed}', buffer_size = {_BUFFER}, hive_partitioning = false)"
            )

    # The number of a row does not lead to its place in the file: all rows before it are read.
    seekable = False

    def where(self, condition: str, table: str) -> str:
        """Some rows of the file as a FROM clause: those whose number, "{row}", which begins with 0, is as it says."""
        return _where(condition, table)

    @contextmanager
    def _readable(self) -> Iterator[Path]:
        if is_utf8(self.encoding) and not self.even:
            yield self.path
        else:
            with utf8_copy(self.path, self.encoding, newlines=self.even) as copy:
                yield copy

    def fields(self, connection: DuckDBPyConnection, table: str) -> list[Field]:
        # Numbers as names: DuckDB treats "a" and "A" as the same.
        return [Field(name, f"c{place}") for place, name in enumerate(self.names)]

    def marked(self, fields: list[Field]) -> list[Field]:
        """Return the columns with the marks of missing cells to look for."""
        return [replace(field, marks=self.marks.suspected(field.name)) for field in fields]

    def typed_by(
        self, field: Field, rows: int, count: CellCounts, seen: tuple[tuple[str, int], ...]
    ) -> Field:
        """Decide the kind by what was counted; what means missing depends on the kind."""
        field = replace(field, seen=seen, marks=tuple(mark for mark, _ in seen))
        typed = self.typed(field, rows, count.filled, count.passed)
        known = field.name in self.marks.numbers and not count.filled
        if not seen or known or (count.filled and typed.kind not in ("str", "bool")):
            return typed
        field = field.with_marks(self.marks.in_words(field.name))
        filled = count.written - sum(n for mark, n in seen if mark in field.marks)
        return self.typed(field, rows, filled, count.passed)

    def typed(self, field: Field, rows: int, filled: int, passed: dict[str, int]) -> Field:
        """Decide the kind by how many cells are filled, and how many of them look like each kind."""
        field = replace(field, empty=not filled)
        kind = next((each for each in LOOKS if filled and passed.get(each) == filled), "str")
        if kind in SPELLINGS:
            before = self.spellings.get(field.name, "")
            known = before if passed.get(before) == filled else None
            spelling = known or spelling_of(filled, passed, self.separator) or ""
            return self._cast(replace(field, kind="float64", nulls=filled < rows, spelling=spelling))
        if kind == "bool":
            return replace(field, kind=kind, nulls=filled < rows, expression=f"lower({field.cell}) = 'true'")
        return self._cast(replace(field, kind=kind, nulls=filled < rows))

    def expected(self, field: Field, rows: int, count: CellCounts) -> Field | None:
        """Decide the kind by the first rows, and let reading check every cell; None where they do not tell it.

        Text is certain: in each kind of number some cell is none. Of numbers, those that all cells are must be plain.
        """
        found = self.typed(replace(field, marks=()), rows, count.filled, count.passed)
        plain = found.kind in ("int64", "float64") and not found.spelling
        if not count.filled or not (plain or (found.kind == "str" and not count.partly_numbers)):
            return None
        # A number may be missing further on. An integer may not: the column would be of another kind.
        return self._cast(replace(found, nulls=found.kind != "int64", refused=frozenset(field.marks)))

    def read_as(self, field: Field, kind: str) -> Field:
        """Read a column as text or as numbers, whatever its cells look like."""
        among = self.marks.in_words(field.name) if kind == "str" else self.marks.in_numbers(field.name)
        return self._cast(replace(field.with_marks(among), kind=kind))

    def _cast(self, field: Field) -> Field:
        """Return a column that is read as its kind; where that is only expected, another cell is an error."""
        field = _cast(field)
        if field.refused is None or field.kind == "str":
            return field
        # Most marks of missing cells are no numbers, so that the cast fails. Others are: nan, and what users name.
        marks = {repr(number) for number in map(_number, field.refused) if number is not None}
        strange = [f"{field.expression} = {quoted(mark)}::DOUBLE" for mark in sorted(marks)]
        if field.kind == "int64":
            strange += [f"{field.cell} IS NULL", f"NOT ({LOOKS['int64'].format(field.cell)})"]
        elif self._has_underscores:  # 1_000 is a number for DuckDB
            strange.append(f"contains({field.cell}, '_')")
        if not strange:
            return field
        check = f"CASE WHEN {' OR '.join(strange)} THEN error('another kind') ELSE {field.expression} END"
        return replace(field, expression=check)

    @cached_property
    def _has_underscores(self) -> bool:
        """Whether some byte of the file is an underscore; a search at the speed of memory."""
        with self._readable() as readable:
            if self.packed and readable == self.path:
                return True
            with open(readable, "rb") as file:
                file.readline()  # the names
                return any(b"_" in block for block in iter(lambda: file.read(1 << 20), b""))

    def in_codes(
        self, fields: Sequence[Field], size: int, use_threads: bool
    ) -> Iterator[list[Column]] | None:
        """None: DuckDB reads text files."""
        return None

    def mend(self) -> bool:
        """After a failure: whether to retry with a copy with uniform line ends."""
        if self.even or not mixed_newlines(self.path):
            return False
        self.even = True
        note = SourceNote(
            "The lines of {shown} end in different ways (CR LF, LF, CR): all are read as line ends.",
            shown=self.shown,
        )
        warnings.warn(note, stacklevel=4)
        return True


class Parquet:
    """A Parquet file."""

    tests = ()
    separator: str | None = None

    def __init__(self, path: Path, shown: str, missing: Sequence[str]) -> None:
        self.path, self.shown, self.missing = path, shown, missing
        self._lower_names: set[str] = set()

    def __str__(self) -> str:
        return str(self.message)

    @property
    def message(self) -> Message:
        """The name of the format in messages."""
        return Message("Parquet")

    @contextmanager
    def table(self) -> Iterator[str]:
        """The file as a FROM clause."""
        yield f"read_parquet({literal(self.path, self.shown)}, hive_partitioning = false)"

    @property
    def seekable(self) -> bool:
        """Whether rows are found by their numbers; not where a column has the name of these."""
        return "file_row_number" not in self._lower_names

    def where(self, condition: str, table: str) -> str:
        """Some rows of the file as a FROM clause: those whose number, "{row}", which begins with 0, is as it says."""
        if not self.seekable:
            return _where(condition, table)
        # The reader numbers rows itself, and does not decode what the condition rules out.
        numbered = table.removesuffix(")") + ", file_row_number = true)"
        return f"(SELECT * FROM {numbered} WHERE {condition.format(row='file_row_number')})"

    def fields(self, connection: DuckDBPyConnection, table: str) -> list[Field]:
        tree = f"SELECT name, num_children FROM parquet_schema({literal(self.path, self.shown)})"
        nodes = iter(connection.execute(tree).fetchall()[1:])
        names = [_skip_children(node, nodes) for node in nodes]
        refuse_twins(names, self.shown)
        self._lower_names = {name.lower() for name in names}
        # DuckDB may have changed a name that differs from another only in case; the order is that of the file.
        described = connection.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()
        fields = []
        for name, (column, kind, *_) in zip(names, described, strict=True):
            known = None if kind.endswith("]") else _KIND_OF_TYPE.get(re.split(r"[( ]", kind)[0])
            fields.append(Field(name, '"' + column.replace('"', '""') + '"', known or kind))
        return fields

    def marked(self, fields: list[Field]) -> list[Field]:
        """Its types say which cells are missing: there are no marks to look for."""
        return fields

    def typed_by(
        self, field: Field, rows: int, count: CellCounts, seen: tuple[tuple[str, int], ...]
    ) -> Field:
        """Decide the kind by what was counted."""
        return self.typed(field, rows, count.filled, count.passed)

    def typed(self, field: Field, rows: int, filled: int, passed: dict[str, int]) -> Field:
        """Decide the kind by the column's type and whether all its cells are filled."""
        field = replace(field, nulls=filled < rows, empty=not filled)
        if field.kind == "str":
            text = f"CAST({field.column} AS VARCHAR)"
            texts = ", ".join(map(quoted, self.missing))
            return replace(
                field,
                expression=f"CASE WHEN {text} IN ({texts}) THEN NULL ELSE {text} END" if texts else text,
            )
        return replace(field, expression=field.column) if field.kind == "bool" else _cast(field)

    def read_as(self, field: Field, kind: str) -> Field:
        """Read a column as text or as numbers, whatever its type."""
        as_text = kind == "str" and field.kind != "str"
        column = f"CAST({field.column} AS VARCHAR)" if as_text else field.column
        return self.typed(replace(field, column=column, kind=kind), 1, 0 if field.nulls else 1, {})

    def expected(self, field: Field, rows: int, count: CellCounts) -> Field | None:
        """A column has its type: there is nothing to expect."""
        return None

    def in_codes(
        self, fields: Sequence[Field], size: int, use_threads: bool
    ) -> Iterator[list[Column]] | None:
        """Read columns with PyArrow, which gives text in codes and takes a third of DuckDB's time for it.

        None where PyArrow is not installed, or might read a column in another way.
        """
        try:
            import pyarrow.parquet
        except ImportError:
            return None
        texts = [field.name for field in fields if field.kind == "str" and field.everywhere is None]
        try:
            # Part of a column is held at a time, however long the row groups are. What PyArrow buffers before, which
            # newer versions do unless told not to, is held until the end: in all, the size of the file.
            file = pyarrow.parquet.ParquetFile(
                self.path, read_dictionary=texts, buffer_size=1 << 20, pre_buffer=False
            )
        except (OSError, ValueError, NotImplementedError):
            return None
        types = {each.name: each.type for each in file.schema_arrow}
        if all(field.everywhere for field in fields) or not all(
            _is_read_alike(field, types.get(field.name)) for field in fields
        ):
            file.close()
            return None
        return self._direct(file, fields, size, use_threads)

    def _direct(
        self, file: pyarrow.parquet.ParquetFile, fields: Sequence[Field], size: int, use_threads: bool
    ) -> Iterator[list[Column]]:
        names = [field.name for field in fields if field.everywhere is None]

        def converted() -> Iterator[list[Column]]:
            # A quarter at a time: Arrow's allocator keeps what it gets back of larger buffers for a while.
            batches = file.iter_batches(-(-size // 4), columns=names, use_threads=use_threads)
            held: list[pyarrow.RecordBatch] = []
            rows = 0
            for batch in batches:
                held.append(batch)
                rows += batch.num_rows
                del batch  # not held while its columns are counted and the next ones are read
                if rows >= size:
                    columns, held, rows = self._columns(fields, held), [], 0
                    yield columns
                    del columns
            if held:
                yield self._columns(fields, held)

        with file:
            yield from _read_ahead(converted()) if use_threads else converted()

    def _columns(self, fields: Sequence[Field], batches: Sequence[pyarrow.RecordBatch]) -> list[Column]:
        """Return the columns of some batches, one below the other."""
        columns: list[Column] = []
        for field in fields:
            if field.everywhere is not None:
                columns.append(_repeated(field, sum(batch.num_rows for batch in batches)))
                continue
            parts = [batch.column(field.name) for batch in batches]
            if field.kind == "str":
                coded = [without_labels(factorize_arrow(part), self.missing) for part in parts]
                columns.append(narrow(joined_columns(coded)))
            else:
                cells = [part.to_numpy(zero_copy_only=False) for part in parts]
                columns.append(np.concatenate(cells, dtype=field.dtype, casting="unsafe"))
        return columns

    def mend(self) -> bool:
        """A Parquet file that cannot be read is not retried."""
        return False


def _read_ahead(batches: Iterator[_Batch]) -> Iterator[_Batch]:
    """Yield each batch while another thread reads the next one.

    >>> list(_read_ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    with ThreadPoolExecutor(1, thread_name_prefix="bayeskit-read") as reader:
        coming = reader.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = reader.submit(next, batches, None)
            yield batch


def _is_read_alike(field: Field, kind: pyarrow.DataType | None) -> bool:
    """Whether PyArrow reads a column of Parquet as DuckDB does; a dot in a name would lead PyArrow into a structure."""
    from pyarrow import types

    if field.everywhere is not None:
        return True
    if kind is None or "." in field.name or not field.column.startswith('"'):
        return False
    if field.kind == "str":
        text = kind.value_type if types.is_dictionary(kind) else kind
        return bool(types.is_string(text) or types.is_large_string(text))
    if field.kind == "bool":
        return bool(types.is_boolean(kind))
    return bool(types.is_integer(kind) or types.is_float32(kind) or types.is_float64(kind))


def _cast(field: Field) -> Field:
    if field.kind == "int64" and not field.nulls:
        return replace(field, expression=f"CAST({field.cell} AS BIGINT)")
    if field.kind in ("int64", "float64"):
        plain = SPELLINGS[field.spelling].plain if field.spelling else "{0}"
        return replace(field, kind="float64", expression=f"CAST({plain.format(field.cell)} AS DOUBLE)")
    return replace(field, expression=field.cell)


def _where(condition: str, table: str) -> str:
    number = f'"{_NEVER}"'  # a Parquet file may have a column of any usual name
    numbered = f"SELECT *, row_number() OVER () - 1 AS {number} FROM {table}"
    return f"(SELECT * FROM ({numbered}) WHERE {condition.format(row=number)})"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _skip_children(node: tuple[str, int | None], nodes: Iterator[tuple[str, int | None]]) -> str:
    """The name of a node of the schema, which is listed before its children."""
    for _ in range(node[1] or 0):
        _skip_children(next(nodes), nodes)
    return node[0]
