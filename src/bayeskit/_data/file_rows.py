"""Reads the rows of a file or several: checks columns by name, applies the given kinds, stops at a limit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.file_set import TableFiles
from bayeskit._data.source import Batches
from bayeskit._data.table import ColumnBatch
from bayeskit._data.texts import is_free_text
from bayeskit._messages import Message, did_you_mean
from bayeskit.errors import ColumnError, DataError

Batch = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class FileRows:
    r"""The rows of a file, possibly only the first ones, and its name in messages.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from bayeskit._data.files import FileSource
    >>> path = pathlib.Path(tempfile.mkdtemp(), "melons.csv")
    >>> _ = path.write_text("x,y\n1,a\n2,b\n")
    >>> FileRows(FileSource(path), "the melons", limit=1).columns()
    {'x': array([1]), 'y': array(['a'], dtype=object)}
    """

    source: TableFiles
    shown: str
    limit: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return self.source.names

    def batches(self) -> Iterator[ColumnBatch]:
        """Read the rows from the beginning, up to the limit."""
        left = self.limit
        for batch in self.source.batches():
            n = len(next(iter(batch.values())))
            if left is None or n <= left:
                yield batch
                left = None if left is None else left - n
            elif left:
                yield batch.first(left)
                left = 0
            if left == 0:
                return

    def for_learning(self) -> Batches:
        """Return the rows as a source for a classifier."""
        return Batches(self.batches)

    def columns(self) -> Batch:
        """Return all rows, in memory."""
        parts = list(self.batches())
        return {name: np.concatenate([part[name] for part in parts]) for name in self.names}

    def need(self, *names: str) -> None:
        """Raise an error for a name that is not a column, and suggest the nearest."""
        for name in names:
            if name not in self.names:
                hint = did_you_mean(name, self.names)
                raise ColumnError(
                    "{shown} has no column {name!r}. {hint}", shown=self.shown, name=name, hint=hint
                )

    def read_as(self, names: Sequence[str] | None = None, kinds: Mapping[str, str] | None = None) -> FileRows:
        """Return some columns, some read as "str" or "float64"."""
        numeric = [name for name, kind in (kinds or {}).items() if kind == "float64"]
        self._refuse_words([n for n in numeric if self.source.dtypes[n] not in ("int64", "float64")])
        return replace(self, source=self.source.reread(names, kinds))

    def without(self, names: Sequence[str] | None) -> FileRows:
        """Return the rows without some columns."""
        self.need(*(names or ()))
        left = [name for name in self.names if name not in set(names or ())]
        if not left:
            raise ColumnError("No column of {shown} is left. Take back an exclude=.", shown=self.shown)
        return self.read_as(left) if names else self

    def need_two_classes(self, target: str) -> None:
        """Raise an error for a target with only one value: there is nothing to classify."""
        self.need(target)
        seen: set[Any] = set()
        for batch in self.read_as([target]).batches():
            seen.update(value for value in batch[target].tolist() if value is not None and value == value)
            if len(seen) > 1:
                return
        what = Message("only one value, {value!r}", value=next(iter(seen))) if seen else Message("no value")
        raise DataError(
            "Column {target!r} of {shown} has {what}: there is nothing to tell apart. Choose another target=.",
            target=target,
            shown=self.shown,
            what=what,
        )

    def free_texts(self, but: Collection[str]) -> tuple[str, ...]:
        """Return the columns whose first rows are free text, apart from some."""
        kinds = self.source.dtypes
        names = [name for name in self.names if name not in but and kinds[name] == "str"]
        first: Mapping[str, NDArray[Any]] = next(self.read_as(names).batches(), {}) if names else {}
        return tuple(name for name, column in first.items() if is_free_text(column.tolist()))

    def row(self, number: int) -> dict[str, Any]:
        """Return one row; the first is 1."""
        before = 0
        for batch in self.batches():
            n = len(next(iter(batch.values())))
            if number <= before + n:
                return {name: column[number - before - 1] for name, column in batch.items()}
            before += n
        raise DataError(
            "{shown} has {before:,} rows, so there is no row {number:,}. They count from 1.",
            shown=self.shown,
            before=before,
            number=number,
        )

    def _refuse_words(self, names: list[str]) -> None:
        """Find a cell that is not a number in columns that should be numeric."""
        if not names:
            return
        for batch in self.source.reread(names, dict.fromkeys(names, "str")).batches():
            for name, column in batch.items():
                word = next((v for v in column.tolist() if v is not None and not _is_number(v)), None)
                if word is not None:
                    raise ColumnError(
                        "Column {name!r} of {shown} is to hold numbers, and holds {word!r}. If that means "
                        "missing, say missing={word!r}; if it is a name, leave numeric= out.",
                        name=name,
                        shown=self.shown,
                        word=word,
                    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
