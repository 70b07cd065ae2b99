"""Loading of the table of a comparison: its rows, its classes, and the columns to use."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bayeskit._comparison.trials import Columns
from bayeskit._data.class_labels import as_labels
from bayeskit._data.file_options import MarksLike, MissingMarks
from bayeskit._data.file_reading import FileReading, note_columns, note_file, told_reasons
from bayeskit._data.frames import as_frame, names_files
from bayeskit._data.source import name_of_labels
from bayeskit._data.suspect_columns import (
    ColumnScreening,
    are_measured,
    hint,
    is_present,
    measured_target,
    screen_columns,
)
from bayeskit._data.table import Table, open_table
from bayeskit._messages import Joined, Message, did_you_mean
from bayeskit._report.comparison_report.comparison import Table as TableRead
from bayeskit._schema import Label, Name
from bayeskit.errors import ColumnError, DataError, DataTypeError, SettingError

if TYPE_CHECKING:
    from bayeskit._data.file_rows import Batch, FileRows
    from bayeskit.typing import LabelsLike, RowSource

Places = NDArray[np.intp]


class ComparisonSource(Protocol):
    """Rows as given by the user, with the class as one of their columns."""

    @property
    def shown(self) -> str | Message:
        """The name of the rows in messages."""

    @property
    def names(self) -> tuple[Name, ...]: ...

    @property
    def dates(self) -> Sequence[Name]:
        """Columns whose type is date or time, which cannot be read as anything else."""

    @property
    def places(self) -> Places | None:
        """The rows that were drawn at random, from 0; None: all rows are used."""

    @property
    def n_rows(self) -> int:
        """The number of rows, whether drawn or not."""

    def drawn(self, most: int, seed: int) -> ComparisonSource:
        """Return a source of so many rows, drawn at random; all of them if there are no more."""

    def read(self, names: Sequence[Name], kinds: Mapping[Name, str]) -> Columns:
        """Read some columns, some as "str" or "float64". Missing cells are NaN in numbers and None in text."""

    def as_given(self, columns: Columns, rows: NDArray[np.intp]) -> Any:
        """Return rows as scikit-learn estimators accept them: a frame, or an array if columns have no names.

        ``columns`` holds these rows of the columns in use.
        """

    def declared(self, names: Sequence[Name]) -> dict[Name, Sequence[Label]]:
        """Return the states that columns declare by their type."""

    def describe(self, rows: int, unlabelled: int) -> TableRead:
        """Return what was read."""

    @property
    def noted(self) -> Collection[Name]:
        """Columns of which it is said elsewhere that they hold words among numbers."""

    def note(self, found: ColumnScreening, target: Name) -> None:
        """Warn of what a look at the columns found; the result lists those that are left out."""

    def reading(self, found: ColumnScreening, target: Name) -> FileReading | None:
        """Return how a file was read."""


def draw(n: int, most: int, seed: int) -> Places | None:
    """Return the places of rows drawn at random, in their order; None if all are taken.

    >>> draw(10, 3, 0), draw(3, 3, 0)
    (array([5, 6, 9]), None)
    """
    if most >= n:
        return None
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


@dataclass(frozen=True, eq=False)
class MemorySource:
    """Rows in memory: a frame, an array, a mapping of columns; ``y`` holds the classes if no column does."""

    table: Table
    target: Name
    y: Any = None
    places: Places | None = None

    @property
    def shown(self) -> Message:
        return Message("the table")

    @property
    def n_rows(self) -> int:
        return self.table.n_rows

    def drawn(self, most: int, seed: int) -> MemorySource:
        return replace(self, places=draw(self.n_rows, most, seed))

    @property
    def names(self) -> tuple[Name, ...]:
        return self.table.names if self.y is None else (*self.table.names, self.target)

    @property
    def dates(self) -> Sequence[Name]:
        frame = self.table.frame
        if frame is not None:
            return [name for name, dtype in frame.schema.items() if dtype.is_temporal()]
        return [name for j, name in enumerate(self.table.names) if self.table.raw(j).dtype.kind in "Mm"]

    def read(self, names: Sequence[Name], kinds: Mapping[Name, str]) -> Columns:
        found = self._all(names)
        return found if self.places is None else {name: cells[self.places] for name, cells in found.items()}

    def _all(self, names: Sequence[Name]) -> Columns:
        found: Columns = {}
        for name in names:
            whole, j = self._column(name)
            if whole.kind(j) == "numeric":
                found[name] = whole.numbers(j)
                continue
            coded = whole.factorize(j)
            # The last one, which −1 finds, stays None: a missing cell.
            cells = np.empty(len(coded.labels) + 1, dtype=object)
            cells[:-1] = list(coded.labels)
            found[name] = cells[np.asarray(coded.codes, dtype=np.intp)]
            if all(isinstance(cell, (bool, np.bool_)) for cell in found[name].tolist()):
                found[name] = found[name].astype(np.bool_)
        return found

    def _column(self, name: Name) -> tuple[Table, int]:
        if self.y is not None and name == self.target:
            labels = as_labels(self.y, self.table.n_rows)
            if isinstance(labels, np.ndarray):
                return Table(len(labels), (name,), True, arrays=(labels,)), 0
            return Table(len(labels), (name,), True, frame=labels.alias(str(name)).to_frame()), 0
        return self.table, self.table.names.index(name)

    def as_given(self, columns: Columns, rows: NDArray[np.intp]) -> Any:
        if self.table.frame is not None:
            return self.table.select(tuple(columns)).take(rows).frame.to_native()
        if self.table.named:
            return as_frame(columns)
        numbers = all(column.dtype.kind in "iufb" for column in columns.values())
        return np.column_stack([c if numbers else c.astype(object) for c in columns.values()])

    def declared(self, names: Sequence[Name]) -> dict[Name, Sequence[Label]]:
        if self.table.frame is None:
            return {}
        places = {name: self.table.names.index(name) for name in names}
        coded = {n: self.table.factorize(j) for n, j in places.items() if self.table.kind(j) == "categorical"}
        return {name: column.labels for name, column in coded.items() if column.declared}

    def describe(self, rows: int, unlabelled: int) -> TableRead:
        return TableRead(None, rows, unlabelled, None)

    @property
    def noted(self) -> Collection[Name]:
        return ()

    def note(self, found: ColumnScreening, target: Name) -> None:
        note_columns(self.shown, found)

    def reading(self, found: ColumnScreening, target: Name) -> FileReading | None:
        return None


@dataclass(frozen=True, eq=False)
class FileTableSource:
    """Rows of a file; ``called`` is how the result names it."""

    rows: FileRows
    called: str
    places: Places | None = None

    @property
    def shown(self) -> str:
        return self.rows.shown

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

    def drawn(self, most: int, seed: int) -> FileTableSource:
        return replace(self, places=draw(self.n_rows, most, seed))

    @cached_property
    def names(self) -> tuple[Name, ...]:
        return self.rows.names

    @property
    def dates(self) -> Sequence[Name]:
        return [name for name, kind in self.rows.source.dtypes.items() if kind in ("date", "time")]

    def read(self, names: Sequence[Name], kinds: Mapping[Name, str]) -> Columns:
        wanted = {str(name): kind for name, kind in kinds.items()}
        rows = self.rows.read_as(list(map(str, names)), wanted)
        return dict((rows.columns() if self.places is None else _picked(rows, self.places)).items())

    def as_given(self, columns: Columns, rows: NDArray[np.intp]) -> Any:
        return as_frame(columns)

    def declared(self, names: Sequence[Name]) -> dict[Name, Sequence[Label]]:
        return {}

    def describe(self, rows: int, unlabelled: int) -> TableRead:
        files = self.rows.source
        marks = {name: texts for name, texts in files.taken.items() if texts and name in self.rows.names}
        return TableRead(self.called, rows, unlabelled, files.digest(), marks)

    @property
    def noted(self) -> Collection[Name]:
        return self.rows.source.mostly_numbers

    def note(self, found: ColumnScreening, target: Name) -> None:
        used = [name for name in self.rows.names if name not in found.left_out]
        note_file(self.rows.read_as(used), found, str(target), left_out=False)

    def reading(self, found: ColumnScreening, target: Name) -> FileReading | None:
        return FileReading.of(self.rows.source, str(target), found)


def _picked(rows: FileRows, places: Places) -> Batch:
    """Return some rows of a file, of which no more is held than a batch."""
    parts, before = [], 0
    for batch in rows.batches():
        n = len(next(iter(batch.values())))
        inside = places[np.searchsorted(places, before) : np.searchsorted(places, before + n)] - before
        parts.append({name: batch[name][inside] for name in rows.names})
        before += n
    return {name: np.concatenate([part[name] for part in parts]) for name in rows.names}


def open_rows(
    data: RowSource | FileTableSource,
    target: Name | None,
    y: LabelsLike | None,
    encoding: str | None,
    missing: MarksLike,
) -> tuple[ComparisonSource, Name]:
    """Open rows in memory or a file, and return them with the name of the class."""
    if isinstance(data, FileTableSource):
        assert target is not None  # the command line requires it
        return data, target
    if target is not None and not isinstance(target, Hashable):
        raise DataTypeError(
            "target must be the name of a column, and is a {kind} here. Pass the classes themselves as y=.",
            kind=type(target).__name__,
        )
    if names_files(data):
        from bayeskit._data.file_rows import FileRows
        from bayeskit._data.file_set import open_files

        path = ", ".join(map(str, data)) if isinstance(data, (list, tuple)) else str(data)
        if target is None or y is not None:
            raise DataError(
                'Say which column of {path!r} is the class: target="...", and leave y out.', path=path
            )
        source = open_files(data, encoding=encoding, missing=MissingMarks.of(missing, str(target)))
        return FileTableSource(FileRows(source, repr(path)), path), target
    if (target is None) is (y is None):
        raise DataTypeError("Give the classes either as y= or as target=, the name of their column.")
    table = open_table(data)
    if table.block is not None:
        raise DataTypeError(
            "A sparse matrix is one block of counts, and a comparison needs columns. Use X.toarray()."
        )
    name = _free_name(table.names, name_of_labels(y, data)) if target is None else target
    return MemorySource(table, name, y), name


def _free_name(names: Sequence[Name], wanted: str) -> str:
    """Return the name of the class, or one like it if a column has that name."""
    return next(name for k in range(len(names) + 1) if (name := f"{wanted}{k or ''}") not in names)


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """The labelled rows: the training rows first, then those of a test table.

    Attributes
    ----------
    target : the name of the class
    columns : the attributes in use
    y : the classes
    numbers : the number of each row in its table, from 1
    n_learned : the number of rows from the first table
    left_out : {column: why} of the columns that are left out
    order : all columns except the target
    hints : {column: (kind, cell)} of columns that look numeric but are read as categories
    states : {column: states} of columns with declared states
    texts : the attributes that are free text
    telling : {column: share} of attributes each of which alone tells the class of this share of the rows
    """

    given: ComparisonSource
    given_test: ComparisonSource | None
    target: Name
    columns: Columns
    y: NDArray[Any]
    numbers: NDArray[np.int64]
    n_learned: int
    table: TableRead
    test: TableRead | None
    left_out: dict[Name, str]
    order: tuple[Name, ...]
    hints: dict[Name, tuple[str, str]]
    states: dict[Name, Sequence[Label]]
    texts: tuple[Name, ...] = ()
    telling: Mapping[Name, float] = field(default_factory=dict)

    @property
    def screening(self) -> ColumnScreening:
        """What the look at the columns found."""
        return ColumnScreening(self.left_out, self.telling, self.texts)

    def sampled(self, most: int, seed: int, least: int) -> LabelledRows:
        """Return a random sample of at most about ``most`` rows for learning, and as many for the test.

        Classes keep their shares, but none falls below ``least`` rows, if it has so many.
        """
        parts = [
            begin + _stratified(self.y[begin:end], most, seed, least)
            for begin, end in ((0, self.n_learned), (self.n_learned, len(self.y)))
        ]
        rows = np.concatenate(parts)
        return replace(
            self, columns=self.take(rows), y=self.y[rows], numbers=self.numbers[rows], n_learned=len(parts[0])
        )

    @property
    def tabular(self) -> Columns:
        """The attributes without those that are free text."""
        return {name: column for name, column in self.columns.items() if name not in self.texts}

    def take(self, rows: NDArray[np.intp] | slice, texts: bool = True) -> Columns:
        """Return some rows of the attributes, with or without those that are free text."""
        return {name: column[rows] for name, column in (self.columns if texts else self.tabular).items()}

    def as_given(self, rows: NDArray[np.intp]) -> Any:
        """Return some rows, all of one table, as they were given."""
        of_test = self.given_test is not None and rows[0] >= self.n_learned
        given = self.given_test if of_test and self.given_test is not None else self.given
        return given.as_given(self.take(rows), self.numbers[rows] - 1)


def _stratified(y: NDArray[Any], most: int, seed: int, least: int) -> Places:
    """Return the places of rows drawn at random within each class, in their order."""
    if len(y) <= most:
        return np.arange(len(y))
    rng = np.random.default_rng(seed)
    _, codes = np.unique(y, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    found = []
    for rows in np.split(order, np.cumsum(np.bincount(codes))[:-1]):
        n = min(len(rows), max(least, round(most * len(rows) / len(y))))
        found.append(rng.choice(rows, n, replace=False))
    return np.sort(np.concatenate(found))


def load(
    given: ComparisonSource,
    target: Name,
    drop: Sequence[Name],
    keep: Sequence[Name],
    test: ComparisonSource | None,
) -> LabelledRows:
    """Read the table, and decide which columns are used."""
    _check(given, target, drop, keep)
    order = tuple(name for name in given.names if name != target)
    why: dict[Name, str] = dict.fromkeys(drop, "dropped")
    # A column of dates has its own type; it could not be read as anything else.
    typed = [name for name in given.dates if name not in {*keep, *drop}]
    if target in typed:
        raise DataError(
            "Column {target!r} of {shown} holds dates. Choose another target=.",
            target=target,
            shown=given.shown,
        )
    why |= dict.fromkeys(typed, "date")
    names = [name for name in given.names if name not in why]
    if names == [target]:
        raise _nothing_left(why, target)
    columns, y, numbers, table = _read(given, names, {}, target)
    _check_classes(y, target, given.shown)
    hints = {
        name: said
        for name, column in columns.items()
        if name not in given.noted and (said := hint(column)) is not None
    }
    found = screen_columns(columns, y, keep)
    why |= found.left_out
    texts = found.texts
    given.note(replace(found, left_out=why), target)
    columns = {name: column for name, column in columns.items() if name not in why}
    if not columns:
        raise _nothing_left(why, target)
    n, judged, states = len(y), None, given.declared([name for name in columns if name not in texts])
    if test is not None:
        columns, y, numbers, judged = _with_test(columns, y, numbers, test, target)
    return LabelledRows(
        given, test, target, columns, y, numbers, n, table, judged, why, order, hints, states, texts, found.telling
    )  # fmt: skip


def _nothing_left(why: Mapping[Name, str], target: Name) -> DataError:
    return DataError(
        "No column is left to learn from: {told}. Name the columns to use in keep=.",
        told=told_reasons(why, target),
    )


def _check(given: ComparisonSource, target: Name, drop: Sequence[Name], keep: Sequence[Name]) -> None:
    need(given, target, *drop, *keep)
    both = [name for name in keep if name in drop]
    if both:
        raise SettingError("{both!r} is given in exclude= and in keep=. Leave it out of one.", both=both[0])
    if target in drop:
        raise SettingError(
            "{target!r} is the target=: it cannot be dropped. Leave it out of exclude=.", target=target
        )
    if len(given.names) == 1:
        raise ColumnError(
            "{shown} has no column besides {target!r}. Check separator=.", shown=given.shown, target=target
        )


def need(given: ComparisonSource, *names: Name) -> None:
    """Raise an error for a name that is not a column, suggesting the nearest."""
    for name in names:
        if name not in given.names:
            raise ColumnError(
                "{shown} has no column {name!r}. {hint}",
                shown=given.shown,
                name=name,
                hint=did_you_mean(name, given.names),
            )


def _check_classes(y: NDArray[Any], target: Name, shown: str | Message) -> None:
    try:
        labels, counts = np.unique(y, return_counts=True)
    except TypeError:
        kinds = Joined(sorted({type(label).__name__ for label in y.tolist()}))
        raise DataError(
            "Column {target!r} of {shown} contains classes of several types ({kinds}). Make all of them "
            "text, or numbers.",
            target=target,
            shown=shown,
            kinds=kinds,
        ) from None
    if len(labels) < 2:
        what = (
            Message("only one value, {label!r}", label=labels.tolist()[0])
            if len(labels)
            else Message("no value")
        )
        raise DataError(
            "Column {target!r} of {shown} has {what}: there is nothing to classify. Choose another target=.",
            target=target,
            shown=shown,
            what=what,
        )
    # Integral floats were converted to integers before, so a column of floats has fractions.
    if y.dtype.kind == "f" or are_measured(len(labels), len(y)):
        raise measured_target(target, shown, len(labels), len(y))
    if counts.max() < 2:
        raise DataError(
            "Every row of {shown} has a different value of {target!r}. Choose another target=, or give more rows.",
            shown=shown,
            target=target,
        )


def _read(
    given: ComparisonSource, names: Sequence[Name], kinds: Mapping[Name, str], target: Name
) -> tuple[Columns, NDArray[Any], NDArray[np.int64], TableRead]:
    columns = given.read(names, kinds)
    _refuse_infinite(columns, given.shown)
    y = columns.pop(target)
    has_class = is_present(y)
    table = given.describe(int(has_class.sum()), int((~has_class).sum()))
    if not has_class.all():
        columns, y = {name: column[has_class] for name, column in columns.items()}, y[has_class]
    if y.dtype.kind == "f" and (y % 1 == 0).all():  # whole numbers, read so because one was missing
        y = y.astype(np.int64)
    if y.dtype.kind == "O" and len(y) and not isinstance(y[0], str):  # true and false, with holes
        y = y.astype(type(y[0]))
    places = np.flatnonzero(has_class)
    return columns, y, (places if given.places is None else given.places[places]) + 1, table


def _refuse_infinite(columns: Columns, shown: str | Message) -> None:
    # Here, while a row still has the number that it has in the file.
    for name, column in columns.items():
        if column.dtype.kind == "f" and np.isinf(column).any():
            row = int(np.isinf(column).argmax()) + 1
            raise DataError(
                "Column {name!r} of {shown} holds an infinite number in row {row:,}. Replace it, or make it missing: "
                "NaN, or in a file a text that is named by missing=.",
                name=name,
                shown=shown,
                row=row,
            )


def _with_test(
    columns: Columns, y: NDArray[Any], numbers: NDArray[np.int64], test: ComparisonSource, target: Name
) -> tuple[Columns, NDArray[Any], NDArray[np.int64], TableRead]:
    kinds: dict[Name, str] = {name: "str" for name, c in {**columns, target: y}.items() if _is_text(c)}
    kinds |= {name: "float64" for name, column in columns.items() if column.dtype.kind in "iuf"}
    need(test, target, *columns)
    more, more_y, more_numbers, table = _read(test, [*columns, target], kinds, target)
    if not len(more_y):
        raise DataError(
            "{shown} has no row with a value of {target!r}. Give rows whose class is known.",
            shown=test.shown,
            target=target,
        )
    for name, mine, its in ((target, y, more_y), *((n, c, more[n]) for n, c in columns.items())):
        if (mine.dtype.kind in "iufb") != (its.dtype.kind in "iufb"):
            raise DataError(
                "{name!r} holds numbers in one of the two tables and words in the other.", name=name
            )
    joined = {name: np.concatenate([column, more[name]]) for name, column in columns.items()}
    return joined, np.concatenate([y, more_y]), np.concatenate([numbers, more_numbers]), table


def _is_text(column: NDArray[Any]) -> bool:
    return column.dtype.kind == "O" and any(isinstance(value, str) for value in column.tolist())
