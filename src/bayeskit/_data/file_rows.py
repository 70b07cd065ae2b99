"""Reads the rows of a file or several: checks columns by name, applies the given kinds, stops at a limit."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.batches import Batches
from bayeskit._data.file_set import TableFiles
from bayeskit._data.suspect_columns import are_measured, is_present, measured_target
from bayeskit._data.table import ColumnBatch
from bayeskit._data.texts import is_free_text
from bayeskit._messages import Joined, Message, did_you_mean, listed
from bayeskit._schema import Schema, Variable
from bayeskit.errors import ColumnError, DataError


class Learner(Protocol):
    """A fitted model that knows the columns it was learned from."""

    @property
    def schema_(self) -> Schema: ...


Batch = dict[str, NDArray[Any]]
# A file of so many times the rows that are looked at is not read whole for that, if it can be read in blocks.
_WORTH_SKIPPING = 10


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

    @property
    def n_rows(self) -> int:
        return self.source.rows if self.limit is None else min(self.source.rows, self.limit)

    @property
    def known_rows(self) -> int | None:
        """The number of rows, or None where it has not been counted."""
        known = self.source.known_rows
        return known if known is None or self.limit is None else min(known, self.limit)

    def sample(self, most: int) -> Mapping[str, NDArray[Any]]:
        """Return all rows if they are so few; else rows at equal distances, at most so many."""
        if self.limit is None:
            return self.source.sample(most)
        step = -(-self.n_rows // most)
        return {name: cells[::step] for name, cells in self.columns().items()}

    def blocks(self, number: int, most: int) -> list[ColumnBatch]:
        """Return so many blocks of rows at equal distances, together at most so many rows.

        The first block is at the beginning, the last one at the end. The rows between them are not read; where that is
        not possible, or saves nothing, there are no blocks.
        """
        size = most // number
        if self.limit is not None or self.n_rows < _WORTH_SKIPPING * most:
            return []
        starts = [k * (self.n_rows - size) // (number - 1) for k in range(number)]
        return self.source.blocks(starts, size)

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
        return Batches(self.batches, self.known_rows)

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

    def matching(self, variables: Sequence[Variable], target: str, *, optional: bool = False) -> FileRows:
        """Return the columns that a model uses, each read as in training; all but the target if it knows no names.

        ``optional``: columns may be absent.
        """
        if not variables:
            return self.without([target]) if target in self.names else self
        names = [str(v.name) for v in variables]
        if optional:
            names = [name for name in names if name in self.names]
        return self.fitting(names, {n: kind for n, kind in kinds_of(variables).items() if n in names})

    def without(self, names: Sequence[str] | None) -> FileRows:
        """Return the rows without some columns."""
        self.need(*(names or ()))
        left = [name for name in self.names if name not in set(names or ())]
        if not left:
            raise ColumnError("No column of {shown} is left. Exclude fewer columns.", shown=self.shown)
        return self.read_as(left) if names else self

    def need_classes(self, target: str) -> None:
        """Raise an error for a target that is no class: with only one value, or with a measurement in each row."""
        seen = self.refuse_measured(target)
        if len(seen) > 1:
            return
        what = Message("only one value, {label!r}", label=next(iter(seen))) if seen else Message("no value")
        raise DataError(
            "Column {target!r} of {shown} has {what}: there is nothing to classify. Choose another target=.",
            target=target,
            shown=self.shown,
            what=what,
        )

    def refuse_measured(self, target: str) -> set[Any]:
        """Raise an error for a target that has a measurement in each row; return values of it, all if they are few."""
        self.need(target)
        seen: set[Any] = set()
        n = 0
        for batch in self.read_as([target]).batches():
            cells = batch[target]
            known = cells[is_present(cells)]
            seen.update(known.tolist())
            n += len(known)
            fractions = known.dtype.kind == "f" and bool((known % 1 != 0).any())
            if fractions and len(seen) > 1:
                raise measured_target(target, self.shown, len(seen), n)
            if len(seen) > 1 and not fractions and not are_measured(len(seen), n):
                return seen
        if len(seen) > 1:
            raise measured_target(target, self.shown, len(seen), n)
        return seen

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

    def fitting(self, names: Sequence[str], kinds: Mapping[str, str]) -> FileRows:
        """Return some columns as a model needs them; everything that does not fit it is told in one error."""
        lacking = [name for name in names if name not in self.names]
        numeric = [n for n, kind in kinds.items() if kind == "float64" and n in self.names]
        words = self._words([n for n in numeric if self.source.dtypes[n] not in ("int64", "float64")])
        if len(lacking) == 1 and not words:
            self.need(*lacking)
        problems = []
        if lacking:
            problems.append(
                Message(
                    "{shown} has no column {names}. Its columns are {columns}. A column whose values are not "
                    "known may be empty: its cells are missing values then.",
                    shown=self.shown,
                    names=listed(map(repr, lacking), 12),
                    columns=listed(map(repr, self.names), 12),
                )
            )
        if words:
            problems.append(_words_message(self.shown, words))
        if problems:
            raise ColumnError("{problems}", problems=Joined(problems, " "))
        return replace(self, source=self.source.reread(names, {n: k for n, k in kinds.items() if n in names}))

    def _refuse_words(self, names: list[str]) -> None:
        """Raise an error for cells that are not numbers in columns that should be numeric."""
        words = self._words(names)
        if words:
            raise ColumnError(
                "{what} If they are names, leave numeric= out.", what=_words_message(self.shown, words)
            )

    def _words(self, names: list[str]) -> dict[str, str]:
        """Find a cell that is not a number in each of the columns that have one."""
        found: dict[str, str] = {}
        if not names:
            return found
        marks = {name: self.source.marks.in_numbers(name) for name in names}
        for batch in self.source.reread(names, dict.fromkeys(names, "str")).batches():
            for name, column in batch.items():
                if name not in found:
                    cells = (v for v in column.tolist() if v is not None and v.strip() not in marks[name])
                    word = next((cell for cell in cells if not _is_number(cell)), None)
                    found |= {} if word is None else {name: word}
        return found


def _words_message(shown: str, words: Mapping[str, str]) -> Message:
    told = listed((Message("{name!r} ({word!r})", name=n, word=word) for n, word in words.items()), 12)
    return Message(
        "{shown} has words where numbers are needed: {told}. If that means missing, say missing={word!r}.",
        shown=shown,
        told=told,
        word=next(iter(words.values())),
    )


# A number in any of the spellings that are understood.
_SPELLED = re.compile(r"[-+]?[¥￥$£€]?\s*[0-9][0-9.,]*\s*[%％€]?")


def kinds_of(variables: Sequence[Variable]) -> dict[str, str]:
    """Return how to read a file so that its cells match the states of a model.

    A file may by chance hold nothing but digits, or nothing at all, in a column of words.

    Examples
    --------
    >>> kinds_of((Variable("a", "numeric"), Variable("b", "categorical", ("1", "x"))))
    {'a': 'float64', 'b': 'str'}
    """
    kinds = {}
    for variable in variables:
        if variable.vocabulary is not None:
            kinds[str(variable.name)] = "str"
        elif variable.kind == "numeric" or variable.cuts is not None:
            kinds[str(variable.name)] = "float64"
        elif variable.states and all(isinstance(state, str) for state in variable.states):
            kinds[str(variable.name)] = "str"
    return kinds


def learned_columns(model: Learner) -> tuple[Variable, ...]:
    """Return a variable for each column that a model was learned from; several texts are one attribute of it.

    Empty where columns had no names.
    """
    schema = model.schema_
    known = {v.name: v for v in schema.attributes}
    names: Sequence[Any] = getattr(model, "feature_names_in_", ())
    texts = schema.block
    return tuple(
        known[name] if texts is None or name in known else replace(texts, name=name) for name in names
    )


def _is_number(text: str) -> bool:
    if _SPELLED.fullmatch(text.strip()):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
