"""Predicts every row of a source and writes the answers to a file, in bounded memory and in the order of the rows."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.batches import Batches
from bayeskit._data.columns import objects
from bayeskit._data.converted import is_address
from bayeskit._data.file_options import FileOptions
from bayeskit._data.file_rows import FileRows, learned_columns
from bayeskit._data.file_set import open_files, paths_of
from bayeskit._data.frames import has_pyarrow, lazy_pieces, names_files
from bayeskit._data.source import Source
from bayeskit._io.replacing import replacing
from bayeskit._messages import Joined, Term
from bayeskit.errors import BayeskitError, DataError, SettingError, UsageError
from bayeskit.typing import Floats, PathLike, RowSource

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier


@dataclass(frozen=True)
class Written:
    """What was written: how many rows, of which predictions, and where."""

    rows: int
    path: Path
    counts: dict[str, int] = field(repr=False)

    def most_common(self) -> list[tuple[str, int]]:
        """The predictions by how often they were made."""
        return Counter(self.counts).most_common()


class _RowWriter(Protocol):
    def write(self, labels: NDArray[Any], shares: Floats) -> None: ...


def write_predictions(
    model: CountClassifier,
    source: RowSource,
    sink: PathLike | None,
    *,
    threads: int | None = None,
    max_memory: int | None = None,
) -> Written:
    """Write ``prediction`` and ``p_<class>`` of each class for every row; the file appears when all is written.

    Parameters
    ----------
    model : a fitted classifier
    source : whatever ``fit`` takes; of files and relations the columns that the model knows are read
    sink : path
        Ends in .csv or .parquet. A file that exists is replaced.
    """
    if sink is None:
        raise UsageError(
            "max_memory={max_memory} limits what reading files takes, and predictions of files are written to a file: "
            'name it with sink="answers.csv", or leave max_memory out.',
            max_memory=max_memory,
        )
    _writer_for(sink)
    _refuse_own_file(source, Path(sink))
    tables = _tables(model, source, threads, max_memory)
    return write_batches(model.predict_proba, model.classes_.tolist(), tables, sink)


def _writer_for(sink: PathLike) -> Callable[[Path, list[str]], Any]:
    write = _WRITERS.get(Path(sink).suffix.lower())
    if write is None:
        raise SettingError(
            "sink is {sink!r}; its name must end in {endings}.",
            sink=os.fspath(sink),
            endings=Joined(_WRITERS, " or "),
        )
    return write


def write_batches(
    predict_proba: Callable[[Any], Floats], labels: Sequence[Any], tables: Iterator[Any], sink: PathLike
) -> Written:
    """Write the answers for each table; the file appears when all is written."""
    path, write, classes = Path(sink), _writer_for(sink), objects(labels)
    columns = ["prediction", *(f"p_{label}" for label in labels)]
    first = next(tables, None)  # refuses a source that does not fit before anything is written
    if first is None:
        raise DataError("The source gave no rows, so there is nothing to predict.")
    n, counts = 0, np.zeros(len(classes), np.int64)
    try:
        with replacing(path) as temporary, write(temporary, columns) as rows:
            for table in chain([first], tables):
                try:
                    shares = predict_proba(table)
                except BayeskitError as error:
                    error.move_rows(n)
                    raise
                best = shares.argmax(axis=1)
                rows.write(classes[best], shares)
                n += len(shares)
                counts += np.bincount(best, minlength=len(classes))
    except OSError as error:
        if isinstance(error, BayeskitError):
            raise
        raise DataError(
            "{sink!r} cannot be written: {strerror}. Nothing was changed.",
            sink=os.fspath(sink),
            strerror=Term(error.strerror or str(error)),
        ) from error
    return Written(n, path, {str(label): int(k) for label, k in zip(labels, counts, strict=True) if k})


def _tables(
    model: CountClassifier, source: RowSource, threads: int | None, max_memory: int | None
) -> Iterator[Any]:
    """Give the rows of a source piece by piece, each as a table with the columns that the model was learned from."""
    named = hasattr(model, "feature_names_in_")
    if names_files(source):
        options = FileOptions(threads=threads, max_memory=max_memory, reading=model.reading_)
        files = open_files(source, **options.settings(model.schema_.target.name))
        rows = FileRows(files, repr(source) if isinstance(source, str) else "the files")
        return rows.matching(learned_columns(model), str(model.schema_.target.name)).batches()
    pieces = lazy_pieces(source)
    if pieces is not None:
        source = Batches(pieces)
    names = list(model.feature_names_in_) if named else None
    opened = Source(source, has_class=False, columns=names if isinstance(source, Batches) else None)
    if opened.in_memory:
        return iter([source])
    return (rows.table for rows in opened)


def _refuse_own_file(source: RowSource, sink: Path) -> None:
    for path in paths_of(source) if names_files(source) and sink.exists() else ():
        if not is_address(path) and os.path.exists(path) and os.path.samefile(path, sink):
            raise UsageError(
                "sink {sink!r} is one of the files to be predicted, which would be lost. Name another file.",
                sink=str(sink),
            )


class _CsvRows:
    def __init__(self, stream: TextIO, columns: list[str]) -> None:
        self.writer = csv.writer(stream, lineterminator="\n")
        self.writer.writerow(columns)
        self.kinds: set[type] = set()

    def write(self, labels: NDArray[Any], shares: Floats) -> None:
        self.kinds.update(map(type, labels.tolist()))
        self.writer.writerows(
            [label, *row] for label, row in zip(labels.tolist(), shares.tolist(), strict=True)
        )


@contextmanager
def _csv(path: Path, columns: list[str]) -> Iterator[_CsvRows]:
    with open(path, "w", encoding="utf-8", newline="") as stream:
        yield _CsvRows(stream, columns)


class _ParquetRows:
    def __init__(self, path: Path, columns: list[str]) -> None:
        self.path, self.columns = path, columns
        self.writer: Any = None

    def write(self, labels: NDArray[Any], shares: Floats) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        cells = labels.tolist()
        if len(set(map(type, cells))) > 1:
            cells = list(map(str, cells))
        arrays = [pa.array(cells), *(pa.array(np.ascontiguousarray(column)) for column in shares.T)]
        table = pa.Table.from_arrays(arrays, names=self.columns)
        if self.writer is None:
            self.writer = pq.ParquetWriter(self.path, table.schema)
        self.writer.write_table(table)


@contextmanager
def _parquet(path: Path, columns: list[str]) -> Iterator[_RowWriter]:
    if not has_pyarrow():
        with _parquet_by_duckdb(path, columns) as rows:
            yield rows
        return
    rows = _ParquetRows(path, columns)
    try:
        yield rows
    finally:
        if rows.writer is not None:
            rows.writer.close()


@contextmanager
def _parquet_by_duckdb(path: Path, columns: list[str]) -> Iterator[_RowWriter]:
    """Write CSV beside the file first, and let DuckDB convert it."""
    import duckdb

    from bayeskit._data.survey import quoted

    text = path.with_name(path.name + ".csv")
    try:
        with _csv(text, columns) as rows:
            yield rows
        (kind,) = rows.kinds if len(rows.kinds) == 1 else (str,)
        first = {int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN"}.get(kind, "VARCHAR")
        kinds = ", ".join(
            f"{quoted(name)}: {quoted('DOUBLE' if i else first)}" for i, name in enumerate(columns)
        )
        with duckdb.connect() as connection:
            connection.execute(
                f"COPY (FROM read_csv({quoted(str(text))}, auto_detect = false, header = true, delim = ',', "
                f"quote = '\"', escape = '\"', columns = {{{kinds}}})) TO {quoted(str(path))} (FORMAT parquet)"
            )
    finally:
        text.unlink(missing_ok=True)


_WRITERS: Mapping[str, Callable[[Path, list[str]], Any]] = {".csv": _csv, ".parquet": _parquet}
