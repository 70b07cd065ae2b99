"""The rows of a table as commands read them: flags applied, columns checked, standard input spooled."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.cli.names import did_you_mean
from bayeskit.cli.options import Reading
from bayeskit.cli.spread import STANDARD_INPUT
from bayeskit.data.files import FileSource
from bayeskit.data.source import Batches
from bayeskit.errors import BayeskitError, ColumnError, DataError

Batch = dict[str, NDArray[Any]]
# A wider table takes minutes to look at; it is rather a matrix than a table.
MOST_COLUMNS = 4_096


@dataclass(frozen=True)
class Rows:
    """Rows that can be read again and again, in batches."""

    source: FileSource
    shown: str
    limit: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return self.source.names

    def batches(self) -> Iterator[Batch]:
        """Read the rows from the beginning, up to the limit."""
        left = self.limit
        for batch in self.source.batches():
            n = len(next(iter(batch.values())))
            if left is None or n <= left:
                yield batch
                left = None if left is None else left - n
            elif left:
                yield {name: column[:left] for name, column in batch.items()}
                left = 0
            if left == 0:
                return

    def for_learning(self) -> Batches:
        """Return the rows as a classifier takes them."""
        return Batches(self.batches)

    def columns(self) -> Batch:
        """Return all rows, in memory."""
        parts = list(self.batches())
        return {name: np.concatenate([part[name] for part in parts]) for name in self.names}

    def need(self, *names: str) -> None:
        """Refuse a name that is no column, offering the nearest."""
        for name in names:
            if name not in self.names:
                hint = did_you_mean(name, self.names)
                raise ColumnError(f"{self.shown} has no column {name!r}. {hint}")

    def read_as(self, names: Sequence[str] | None = None, kinds: Mapping[str, str] | None = None) -> Rows:
        """Return some columns, some read as "str" or "float64"."""
        numeric = [name for name, kind in (kinds or {}).items() if kind == "float64"]
        self._refuse_words([n for n in numeric if self.source.dtypes[n] not in ("int64", "float64")])
        return replace(self, source=self.source.reread(names, kinds))

    def without(self, names: Sequence[str] | None) -> Rows:
        """Return the rows without some columns."""
        self.need(*(names or ()))
        left = [name for name in self.names if name not in set(names or ())]
        if not left:
            raise ColumnError(f"No column of {self.shown} is left. Take back a --drop.")
        return self.read_as(left) if names else self

    def need_two_classes(self, target: str) -> None:
        """Refuse a target that has but one value: there is nothing to tell apart."""
        self.need(target)
        seen: set[Any] = set()
        for batch in self.read_as([target]).batches():
            seen.update(value for value in batch[target].tolist() if value is not None and value == value)
            if len(seen) > 1:
                return
        what = f"only one value, {next(iter(seen))!r}" if seen else "no value"
        raise DataError(
            f"Column {target!r} of {self.shown} has {what}: there is nothing to tell apart. Choose another --target."
        )

    def row(self, number: int) -> dict[str, Any]:
        """Return one row, the first being 1."""
        before = 0
        for batch in self.batches():
            n = len(next(iter(batch.values())))
            if number <= before + n:
                return {name: column[number - before - 1] for name, column in batch.items()}
            before += n
        raise DataError(
            f"{self.shown} has {before:,} rows, so there is no row {number:,}. They count from 1."
        )

    def _refuse_words(self, names: list[str]) -> None:
        """Look for a cell that is no number in columns that are to be numbers."""
        if not names:
            return
        for batch in self.source.reread(names, dict.fromkeys(names, "str")).batches():
            for name, column in batch.items():
                word = next((v for v in column.tolist() if v is not None and not _is_number(v)), None)
                if word is not None:
                    raise ColumnError(
                        f"Column {name!r} of {self.shown} is to hold numbers, and holds {word!r}. If that means "
                        f"missing, say --missing {word!r}; if it is a name, leave --numeric out."
                    )


@contextmanager
def opened(path: str, reading: Reading) -> Iterator[Rows]:
    """Open a table; standard input, where the path is ``-``, and pipes are spooled first."""
    with _spooled(path) as file:
        separator = {"tab": "\t", "\\t": "\t"}.get(reading.sep or "", reading.sep)
        source = FileSource(
            file,
            encoding=reading.encoding,
            separator=separator,
            missing=("", *(reading.missing or ())),
            most_columns=MOST_COLUMNS,
        )
        rows = Rows(source, STANDARD_INPUT if path == "-" else repr(path), reading.limit)
        kinds = dict.fromkeys(reading.numeric or (), "float64") | dict.fromkeys(
            reading.categorical or (), "str"
        )
        rows.need(*kinds)
        yield rows.read_as(kinds=kinds) if kinds else rows


@contextmanager
def _spooled(path: str) -> Iterator[str]:
    shown = STANDARD_INPUT if path == "-" else repr(path)
    if path != "-" and (os.path.isfile(path) or os.path.isdir(path) or not os.path.exists(path)):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="bayeskit-") as folder:
        file = os.path.join(folder, "input.csv")
        with (
            nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb") as pipe,
            open(file, "wb") as copy,
        ):
            shutil.copyfileobj(pipe, copy)
        try:
            yield file
        except BayeskitError as error:  # nobody has heard of the copy
            error.args = tuple(str(part).replace(repr(file), shown) for part in error.args)
            raise


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
