"""Several files as one source of rows: a list of paths, or a pattern such as ``part-*.parquet``."""

from __future__ import annotations

import glob
import hashlib
import math
import os
import re
import warnings
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote

import numpy as np

from bayeskit._data.converted import is_address, path_in
from bayeskit._data.database_url import names_database
from bayeskit._data.file_options import MissingMarks
from bayeskit._data.files import Engine, FileSource, file_stamp
from bayeskit._data.frames import FilesLike, is_table_name
from bayeskit._data.survey import Field
from bayeskit._data.table import ColumnBatch
from bayeskit._messages import Joined
from bayeskit.errors import ColumnError, DataError, SourceNote


def paths_of(data: FilesLike) -> list[str]:
    """List the files that a path, a pattern or a list of these names; those of a pattern sorted by name.

    A file whose own name has the signs of a pattern is taken literally. A folder stands for the tables in it and in
    its folders.
    """
    if not isinstance(data, (str, os.PathLike)):
        return [path for one in data for path in paths_of(one)]
    path = os.fspath(data)
    if is_address(path):
        return [path]
    if names_database(path):
        raise DataError(
            "{path!r} names a table of a server or of SQLite, which is counted where it is: use lazy(...). To fit, "
            "read its rows in batches and pass them as Batches.",
            path=path,
        )
    if _ADDRESS.match(path):
        raise DataError(
            "{path!r} is an address, and only files of this machine are read. Copy the file here, or let another "
            "library read it and pass what it returns: duckdb.sql(\"FROM '...'\"), or polars.scan_parquet(...).",
            path=path,
        )
    if os.path.isdir(path):
        return _tables_in(path)
    if not glob.has_magic(path) or os.path.exists(path):
        return [path]
    found = sorted(one for one in glob.glob(path, recursive=True) if os.path.isfile(one))
    if not found:
        raise DataError("No file matches {pattern!r}. Check the folder and the pattern.", pattern=path)
    return found


def _tables_in(folder: str) -> list[str]:
    """List the tables in a folder and in its folders; names that begin with a dot or an underscore are not data."""
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        found += [
            os.path.join(place, name) for name in sorted(files) if name[0] not in "._" and is_table_name(name)
        ]
    if not found:
        raise DataError(
            "The folder {path!r} holds no CSV, Parquet, JSON, Arrow or ARFF file. To read files with other "
            "endings, name them by a pattern: {pattern!r}.",
            path=folder,
            pattern=os.path.join(folder, "*"),
        )
    return found


def stamps_of(data: FilesLike) -> tuple[object, ...] | None:
    """Tell when and how large the files of a path, a pattern or a list were written; None where one is gone."""
    try:
        return tuple((path, *file_stamp(path_in(path))) for path in paths_of(data))
    except (OSError, DataError):
        return None


# What is no path: s3://…, https://…; a letter alone is a drive of Windows.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
# A folder that is named as a part of a table, day=2024-01-31, and the value that means missing there.
_PART, _MISSING_PART = re.compile(r"([^=]+)=(.+)"), "__HIVE_DEFAULT_PARTITION__"


class FileSet:
    """The rows of several files, one file after the other, as if they were one.

    All files have the same columns, in any order. A column has one kind in all of them: numbers where all files have
    numbers, text (with a note) where some have words. The same path may be listed several times.

    Parameters
    ----------
    paths : sequence of paths
    folders : for each path what the names of its folders say
    settings : as of :class:`~bayeskit._data.files.FileSource`, for every file

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name, cells in ("a", "1"), ("b", "2.5"):
    ...     _ = (folder / f"{name}.csv").write_text(f"x\\n{cells}\\n")
    >>> files = FileSet([folder / "a.csv", folder / "b.csv"])
    >>> files.rows, [batch["x"].tolist() for batch in files.batches()]
    (2, [[1.0], [2.5]])
    """

    def __init__(
        self,
        paths: Sequence[str | os.PathLike[str]],
        folders: Mapping[str, Mapping[str, str | None]] | None = None,
        **settings: Any,
    ) -> None:
        opened: dict[str, FileSource] = {}
        names = [os.fspath(path) for path in paths]
        engine = Engine(settings.get("threads"), settings.get("max_memory"))
        for path in names:
            if path not in opened:
                said = (folders or {}).get(path)
                opened[path] = FileSource(path, folders=said, may_be_empty=True, engine=engine, **settings)
        first, *others = opened.values()
        for other in others:
            _check_columns(first, other)
        # A part without rows adds nothing, whatever its columns would be read as.
        filled = [opened[path] for path in names if opened[path].known_rows != 0]
        if not filled:
            raise DataError(
                "{shown} and the other files have the names of columns and no rows. Give a file with at least one row.",
                shown=first.shown,
            )
        self.files = _alike(filled)

    @property
    def names(self) -> tuple[str, ...]:
        return self.files[0].names

    @property
    def dtypes(self) -> dict[str, str]:
        return self.files[0].dtypes

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def known_rows(self) -> int | None:
        """The number of rows, or None where that of a file has not been counted."""
        known = [file.known_rows for file in self.files]
        return None if None in known else sum(n for n in known if n is not None)

    @property
    def sure(self) -> bool:
        return all(file.sure for file in self.files)

    def surveyed(self) -> FileSet:
        """Return a source of the same columns whose kinds are determined from all cells."""
        source = copy(self)
        source.files = self.files if self.sure else _alike(self.files, with_care=True)
        return source

    @property
    def separator(self) -> str | None:
        return self.files[0].separator

    @property
    def spellings(self) -> dict[str, str]:
        return {name: how for file in self.files for name, how in file.spellings.items()}

    @property
    def marks(self) -> MissingMarks:
        return self.files[0].marks

    @property
    def seen(self) -> dict[str, dict[str, int]]:
        found: dict[str, Counter[str]] = {}
        for file in self.files:
            for name, marks in file.seen.items():
                found.setdefault(name, Counter()).update(marks)
        return {name: dict(marks) for name, marks in found.items()}

    @property
    def taken(self) -> dict[str, tuple[str, ...]]:
        every = [(name, mark) for file in self.files for name, marks in file.taken.items() for mark in marks]
        return {name: tuple(dict.fromkeys(m for n, m in every if n == name)) for name, _ in every}

    @property
    def mostly_numbers(self) -> dict[str, tuple[float, tuple[str, ...]]]:
        return {name: found for file in self.files for name, found in file.mostly_numbers.items()}

    def sample(self, most: int) -> ColumnBatch:
        """Return rows at equal distances over all files, at most about so many."""
        share = min(1.0, most / self.rows)
        return self._joined([file.sample(max(1, math.ceil(share * file.rows))) for file in self.files])

    def blocks(self, starts: Sequence[int], size: int) -> list[ColumnBatch]:
        """Return as many rows from each of some row numbers on, fewer where a file has fewer; see FileSource."""
        found, before = [], 0
        for file in self.files:
            # A block that would reach into the next file is taken from the end of this one.
            last = max(0, file.rows - size)
            mine = [min(start - before, last) for start in starts if before <= start < before + file.rows]
            blocks = file.blocks(mine, size) if mine else []
            if len(blocks) < len(mine):
                return []
            found += blocks
            before += file.rows
        return found

    def first(self, most: int) -> ColumnBatch:
        """Return the first rows, at most so many."""
        parts: list[ColumnBatch] = []
        for file in self.files:
            parts.append(file.first(most))
            most -= parts[-1].n_rows
            if most <= 0:
                break
        return self._joined(parts)

    def _joined(self, parts: Sequence[ColumnBatch]) -> ColumnBatch:
        text = frozenset().union(*(part.text for part in parts))
        return ColumnBatch(
            ((name, np.concatenate([part[name] for part in parts])) for name in self.names), text
        )

    def __repr__(self) -> str:
        return f"FileSet({len(self.files)} files: {self.rows:,} rows, {len(self.names)} columns)"

    def batches(self) -> Iterator[ColumnBatch]:
        """Read all files once, in their order; a batch is of one file."""
        for file in self.files:
            yield from file.batches()

    def reread(self, columns: Sequence[str] | None = None, kinds: Mapping[str, str] | None = None) -> FileSet:
        """Return a source of some of these columns, some read as another kind; no file is surveyed again."""
        source = copy(self)
        source.files = [file.reread(columns, kinds) for file in self.files]
        return source

    def digest(self) -> str:
        """Return the SHA-256 of the files' own digests."""
        return hashlib.sha256("\n".join(file.digest() for file in self.files).encode()).hexdigest()


# What is read from one path, a list or a pattern.
TableFiles: TypeAlias = FileSource | FileSet


def open_files(
    data: FilesLike,
    *,
    columns: Sequence[Hashable] | None = None,
    exclude: Sequence[Hashable] | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    missing: Sequence[str] | MissingMarks = ("",),
    spellings: Mapping[str, str] | None = None,
    most_columns: int | None = None,
    quick: bool = False,
    threads: int | None = None,
    max_memory: int | None = None,
    wanted: Collection[str] = (),
) -> TableFiles:
    """Open what a path, a pattern or a list of these names; see :class:`~bayeskit._data.files.FileSource`.

    Folders of which names differ, such as ``day=1`` and ``day=2``, are columns of their files, and so are those whose
    names are ``wanted`` because a model has learned from them.
    """
    paths = paths_of(data)
    settings: dict[str, Any] = {
        "columns": columns,
        "exclude": exclude,
        "encoding": encoding,
        "separator": separator,
        "missing": missing,
        "spellings": spellings,
        "most_columns": most_columns,
        "quick": quick,
        "threads": threads,
        "max_memory": max_memory,
    }
    folders, mixed = _folder_columns(paths, {*map(str, columns or ()), *wanted})
    if len(paths) == 1:
        return FileSource(paths[0], folders=folders[paths[0]], **settings)
    files = FileSet(paths, folders, **settings)
    mixed = {name: example for name, example in mixed.items() if name not in files.names}
    if mixed:
        note = SourceNote(
            "The values of {names} are in the names of some folders only, such as {example!r}, and are not read: other "
            "files are in no such folder.",
            names=Joined(map(repr, mixed)),
            example=min(mixed.values()),
        )
        warnings.warn(note, stacklevel=5)
    return files


def _folder_columns(
    paths: Sequence[str], wanted: Collection[str]
) -> tuple[dict[str, dict[str, str | None]], dict[str, str]]:
    """Return for each path the columns in the names of its folders, such as day=1; and those that some paths lack.

    A name that says the same for all files is a place, not a column, unless it is wanted.

    >>> _folder_columns(["day=1/a.csv", "day=2/b.csv"], ())
    ({'day=1/a.csv': {'day': '1'}, 'day=2/b.csv': {'day': '2'}}, {})
    >>> _folder_columns(["day=1/a.csv"], ()), _folder_columns(["day=1/a.csv"], ["day"])
    (({'day=1/a.csv': {}}, {}), ({'day=1/a.csv': {'day': '1'}}, {}))
    """
    said: dict[str, dict[str, str | None]] = {}
    examples: dict[str, str] = {}
    for path in paths:
        parts = () if is_address(path) else Path(path).parent.parts
        for match in filter(None, map(_PART.fullmatch, parts)):
            value = unquote(match[2])
            said.setdefault(path, {})[match[1]] = None if value == _MISSING_PART else value
            examples.setdefault(match[1], match[0])
    found = [said.get(path, {}) for path in paths]
    taken = [
        name
        for name in examples
        if all(name in values for values in found)
        and (name in wanted or len({values[name] for values in found}) > 1)
    ]
    columns = {path: {name: said[path][name] for name in taken} if taken else {} for path in paths}
    return columns, {
        name: example for name, example in examples.items() if any(name not in values for values in found)
    }


def _check_columns(first: FileSource, other: FileSource) -> None:
    """Refuse files of which one has a column that another lacks."""
    for file, beside in (other, first), (first, other):
        lacking = [name for name in beside.names if name not in file.names]
        if lacking:
            raise ColumnError(
                "{file} has no column {names}, and {beside} has. Files that are read together must have the same "
                "columns: correct the file, or leave the column out with exclude=.",
                file=file.shown,
                names=Joined(map(repr, lacking[:12])),
                beside=beside.shown,
            )


def _alike(files: Sequence[FileSource], with_care: bool = False) -> list[FileSource]:
    """Return files with their columns in the same order and of the same kinds.

    Kinds that are only expected are checked where they are the same in all files: others need care.
    """
    each = {id(file): file for file in files}  # a path may be listed several times
    if with_care:
        each = {key: file.surveyed() for key, file in each.items()}
    others, names = list(each.values()), files[0].names
    if not all(file.sure for file in others) and any(len(_kinds(name, others)) > 1 for name in names):
        return _alike(files, with_care=True)
    kinds = {name: _common_kind(name, others) for name in names}
    same = {key: file.with_kinds(names, kinds) for key, file in each.items()}
    return [same[id(file)] for file in files]


def _kinds(name: str, files: Sequence[FileSource]) -> set[str]:
    """Return the kinds of a column in files; integers are numbers."""
    kinds = {field.kind for file in files if not (field := file.field(name)).empty}
    return {"float64" if kind == "int64" else kind for kind in kinds}


def _common_kind(name: str, files: Sequence[FileSource]) -> Field:
    """Find one kind that a column can be read as in all files, and whether a cell is missing in any."""
    fields = [(file, file.field(name)) for file in files]
    filled = [(file, field) for file, field in fields if not field.empty] or fields
    kinds = {field.kind for _, field in filled}
    nulls = any(field.nulls for _, field in fields)
    if kinds <= {"int64", "float64"}:
        kind = "float64" if "float64" in kinds or nulls else "int64"
    elif len(kinds) == 1:
        (kind,) = kinds
    else:
        kind = "str"
        one, other = (next(pair for pair in filled if pair[1].kind == k) for k in sorted(kinds)[:2])
        warnings.warn(
            SourceNote(
                "Column {name!r} is of kind {kind} in {shown} and {kind2} in {shown2}: all of it is read as text.",
                name=name,
                kind=one[1].kind,
                shown=one[0].shown,
                kind2=other[1].kind,
                shown2=other[0].shown,
            ),
            stacklevel=6,
        )
    return Field(name, "", kind, nulls, empty=all(field.empty for _, field in fields))
