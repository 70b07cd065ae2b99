"""Sources of rows (memory, batches, a file), which yield tables with labels and weights."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit._data.batches import Batches, ExternalFrame, is_empty, with_progress
from bayeskit._data.class_labels import batch_weights, check_total, weight_of
from bayeskit._data.database_url import DatabaseTable
from bayeskit._data.file_options import FileOptions
from bayeskit._data.frames import cluster_of, is_relation, lazy_pieces, names_files
from bayeskit._data.table import ColumnsAside, Table, open_table
from bayeskit._messages import Joined
from bayeskit._schema import UNNAMED, Name, Variable
from bayeskit.errors import (
    ColumnError,
    DataError,
    DataTypeError,
    OneShotSource,
    SettingError,
    WeightError,
)
from bayeskit.typing import LabelsLike, RowSource, WeightsLike

if TYPE_CHECKING:
    from bayeskit._data.file_reading import FileReading
    from bayeskit._data.file_set import TableFiles


@dataclass(frozen=True)
class Rows:
    """A table with the labels and weights of its rows."""

    table: Table
    y: Any = None
    weights: Any = None

    @cached_property
    def weight(self) -> float:
        """The total weight of the rows; each weight is checked."""
        weights = batch_weights(self.weights, self.table.n_rows)
        return float(self.table.n_rows) if weights is None else weight_of(weights)


@dataclass(frozen=True)
class ModelOrigin:
    """Where a model comes from: what it learned last and when, or the file that it was loaded from.

    A saved model does not hold it, so that the same rows give the same file.
    """

    source: str
    when: datetime
    loaded: bool = False


def name_of_labels(y: object, data: object) -> str:
    """Return the name of labels that are a Series, or a frame of one column; "y" for any others.

    Labels that have the name of an attribute are called "y", too: they were taken from the rows beside them.

    >>> from types import SimpleNamespace
    >>> name_of_labels(SimpleNamespace(name="class"), {"a": [1, 2]}), name_of_labels(["no"], None)
    ('class', 'y')
    """
    names = list(getattr(y, "columns", ()))
    name = names[0] if len(names) == 1 else getattr(y, "name", None)
    if not (isinstance(name, str) and name):
        return UNNAMED
    columns = data if isinstance(data, Mapping) else getattr(data, "columns", ())
    return UNNAMED if name in list(columns) else name


_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def memory_in_bytes(memory: int | str | None, what: str = "max_memory") -> int | None:
    """Read an amount of memory: bytes, or a text with a unit.

    >>> memory_in_bytes("512MB"), memory_in_bytes("1.5 GiB"), memory_in_bytes(1024)
    (512000000, 1610612736, 1024)
    """
    if memory is None:
        return None
    found = re.fullmatch(r"\s*([0-9]+\.?[0-9]*)\s*([kmg]?i?b?)\s*", str(memory), re.IGNORECASE)
    factor = None if found is None else _UNITS.get(found[2].lower())
    amount = 0 if found is None or factor is None else int(float(found[1]) * factor)
    if isinstance(memory, bool) or amount < 1:
        raise SettingError(
            '{what} is {memory!r}; give a number of bytes, or a text such as "512MB" or "2GiB".',
            what=what,
            memory=memory,
        )
    return amount


def thread_count(n_jobs: int | None) -> int:
    """Read ``n_jobs``: None is one thread, −1 all, −2 all but one.

    >>> thread_count(None), thread_count(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    try:
        wanted = index(n_jobs)
    except TypeError:
        wanted = 0
    if wanted == 0:
        raise SettingError("n_jobs is {n_jobs!r}; use a number of threads, or −1 for all.", n_jobs=n_jobs)
    return wanted if wanted > 0 else max(1, (os.cpu_count() or 1) + 1 + wanted)


@dataclass(frozen=True)
class Source:
    """Rows from anywhere, as an iterator of :class:`Rows`.

    ``data`` is rows in memory, :class:`Batches`, an iterator, a lazy frame, or the path of a CSV or Parquet file, a
    pattern of such paths, or a list of them. With
    ``target`` the labels are a column of the rows; ``weights`` may then name another. ``keep`` says which rows of a
    batch are given out: it returns them, or None where there are none. With ``once`` rows in memory are opened and
    their text is coded once for all passes: they must not change between them. Without ``has_class`` rows have no
    label, and a batch is a table. ``opener`` opens rows in memory. Values of a block above ``threshold`` are read as 1
    by a backend, the others as 0. ``options`` say how files are read.
    """

    data: Any
    y: Any = None
    weights: Any = None
    target: Name | None = None
    columns: Sequence[Name] | None = None
    exclude: Sequence[Name] | None = None
    keep: Callable[[Rows], Rows | None] | None = None
    once: bool = False
    has_class: bool = True
    opener: Callable[[Any], Table] = open_table
    threshold: float | None = None
    options: FileOptions = field(default_factory=FileOptions)
    # Whether the data are paths of files; rows, all at once; rows on workers or in DuckDB, counted there, and read here
    # where counts are not enough.
    in_files: bool = field(init=False, repr=False, compare=False)
    in_memory: bool = field(init=False, repr=False, compare=False)
    in_partitions: bool = field(init=False, repr=False, compare=False)

    @classmethod
    def given(
        cls,
        data: RowSource,
        y: LabelsLike | None = None,
        weights: WeightsLike | None = None,
        target: Name | None = None,
        columns: Sequence[Name] | None = None,
        exclude: Sequence[Name] | None = None,
        encoding: str | None = None,
        *,
        once: bool = False,
        opener: Callable[[Any], Table] = open_table,
        **options: Any,
    ) -> Source:
        """Return what the arguments of a verb name; ``options`` are those of :class:`FileOptions`."""
        how = FileOptions(encoding, **options)
        return cls(data, y, weights, target, columns, exclude, once=once, opener=opener, options=how)

    @property
    def passed(self) -> object:
        """What the user passed: the frame itself if it is counted elsewhere."""
        return self.data.frame if isinstance(self.data, ExternalFrame) else self.data

    @property
    def reading(self) -> FileReading | None:
        """How a file is read; None where there is no file, or it was not looked at."""
        return self.options.reading

    @property
    def aside(self) -> ColumnsAside:
        """The columns that are no attributes, so that later rows may have them, too."""
        left_out = () if self.reading is None else self.reading.left_out
        named = frozenset(
            (*(() if self.target is None else (self.target,)), *(self.exclude or ()), *left_out)
        )
        weights = self.weights if isinstance(self.weights, str) else None
        return ColumnsAside(named, self.columns is not None, weights)

    def without(self, aside: ColumnsAside) -> Source:
        """Return the same rows without the columns of a frame on workers or in DuckDB that training set aside."""
        names = self.attribute_names
        kept = [name for name in names if not aside.has(name, learning=True)]
        return self if len(kept) == len(names) or not kept else replace(self, columns=kept)

    def with_options(self, **changes: Any) -> Source:
        """Return the same rows, read in another way."""
        return replace(self, options=replace(self.options, **changes))

    def __post_init__(self) -> None:
        cluster = cluster_of(self.data)
        if cluster is not None:
            self._refuse_beside(cluster)
        # A frame that is not in memory is read in pieces, as often as needed. Labels beside it would have none.
        pieces = lazy_pieces(self.data) if self.y is None else None
        if pieces is not None:
            place = "duckdb" if is_relation(self.data) else cluster
            held = Batches(pieces) if place is None else ExternalFrame(self.data, pieces, place)
            object.__setattr__(self, "data", held)
        in_files = names_files(self.data)
        if in_files and self.y is not None:
            raise DataError(
                'Say which column of {path!r} is the class: target="...", and leave y out.', path=self._called
            )
        object.__setattr__(self, "in_files", in_files)
        object.__setattr__(self, "in_memory", not (in_files or isinstance(self.data, (Batches, Iterator))))
        object.__setattr__(self, "in_partitions", isinstance(self.data, ExternalFrame))

    def _refuse_beside(self, cluster: str) -> None:
        """Raise an error for labels or weights beside a frame in partitions: there is nothing to match rows by."""
        name = cluster.capitalize()
        if self.y is not None:
            raise DataTypeError(
                "The class of a {name} DataFrame is one of its columns: name it with target=, and leave y out.",
                name=name,
            )
        if not (self.weights is None or isinstance(self.weights, (str, int, float, np.number))):
            raise DataTypeError(
                "The row weights of a {name} DataFrame are one of its columns, not a {kind}. "
                'Name it: sample_weight="...".',
                name=name,
                kind=type(self.weights).__name__,
            )

    @property
    def class_name(self) -> Name:
        """The name of the class: that of the target column, of a Series of labels, or "y"."""
        return self.target if self.target is not None else name_of_labels(self.y, self.data)

    @property
    def class_variable(self) -> Variable:
        """The class, before any of its states is known."""
        return Variable(self.class_name, "categorical")

    def learned_now(self) -> ModelOrigin:
        """Return a note for the model: these rows, by the name of their file or the kind of what holds them, now."""
        called = type(self.data.frame if self.in_partitions else self.data).__name__
        if self.in_files:
            called = os.path.basename(self.data) if isinstance(self.data, str) else self._called
        return ModelOrigin(called, datetime.now())

    @property
    def one_shot(self) -> bool:
        return isinstance(self.data, Iterator)

    @property
    def sample_note(self) -> Mapping[str, int] | None:
        """How many rows of how many were drawn, where iterating gives a sample of the rows."""
        return self.data.note if isinstance(self.data, ExternalFrame) else None

    def need_many_passes(self, who: str) -> None:
        """Raise an error for a source that can be read only once."""
        if self.one_shot:
            raise OneShotSource(
                "{who} reads its source more than once, and a {kind} can be read only once. "
                "Pass Batches(callable), where the callable opens it anew.",
                who=who,
                kind=type(self.data).__name__,
            )

    def __iter__(self) -> Iterator[Rows]:
        """Yield tables. Weights are checked: one batch may have weight zero; whether all have is checked at the end."""
        total, batches = 0.0, 0
        for rows in self._numbered() if self.keep is None else map(self.keep, self._numbered()):
            if rows is None:
                continue
            total += rows.weight
            batches += 1
            if self.in_memory:
                check_total(total)
            yield rows
        if batches:
            check_total(total)

    def weighing(self) -> Iterator[Rows]:
        """Yield the batches with positive weight; rows of other batches are ignored, and define no class."""
        return (rows for rows in self if rows.weights is None or rows.weight > 0.0)

    def _numbered(self) -> Iterator[Rows]:
        """Give all batches; each knows how many rows came before it."""
        before, batches = 0, self._all()
        if self.options.progress:
            batches = with_progress(batches, lambda rows: rows.table.n_rows, self._known_rows)
        for rows in batches:
            yield replace(rows, table=replace(rows.table, first_row=before)) if before else rows
            before += rows.table.n_rows

    @property
    def n_columns(self) -> int | None:
        """The number of columns, where it is known without reading rows; those set aside are among them."""
        if self.in_files:
            return len(self.file.names if self.reading is None else self.reading.kinds)
        if self.in_partitions:
            return len(self.data.names)
        shape = getattr(self.data, "shape", ())
        if isinstance(shape, tuple) and len(shape) == 2:
            return int(shape[1])
        return len(self.data) if isinstance(self.data, Mapping) else None

    @property
    def _known_rows(self) -> int | None:
        """The number of all rows, where nobody needs to count them for it."""
        if names_files(self.data):
            return self.file.known_rows
        return self.data.n_rows if isinstance(self.data, Batches) else None

    def _all(self) -> Iterator[Rows]:
        if self.in_files:
            yield from self._from_file()
        elif isinstance(self.data, (Batches, Iterator)):
            if self.y is not None:
                raise DataTypeError(
                    "With batches, each batch contains its own y: pass (X, y) pairs and leave y out."
                )
            empty, some = None, False
            for batch in self.data:
                if is_empty(batch):
                    empty = batch  # adds nothing, as a partition without rows
                    continue
                some = True
                yield self.from_batch(batch)
            if not some and empty is not None:
                yield self.from_batch(empty)  # raises an error
        else:
            yield self._rows if self.once else self._opened()

    @cached_property
    def _rows(self) -> Rows:
        return self._opened()

    def _opened(self) -> Rows:
        return self._split(self.opener(self.data), self.y, self.weights)

    @cached_property
    def file(self) -> TableFiles:
        """The file that a path names, or the files, surveyed once for all passes, with the columns that are used."""
        reading, files = self.reading, self._files
        if reading is None:
            return files
        from bayeskit._data.file_rows import FileRows

        names = [name for name in files.names if name in reading.kinds]
        kinds = {name: kind for name, kind in reading.next_kinds.items() if name in names}
        return FileRows(files, repr(self._called)).fitting(names, kinds).source if names else files

    @cached_property
    def _files(self) -> TableFiles:
        if self.has_class and self.target is None:
            raise DataError('Say which column of {data!r} is the class: target="...".', data=str(self.data))
        columns = None
        if self.columns is not None:
            named = (self.target, self.weights if isinstance(self.weights, str) else None)
            columns = [*self.columns, *(n for n in named if n is not None and n not in self.columns)]
        from bayeskit._data.file_set import open_files

        settings = self.options.settings(self.target)
        return open_files(self.data, columns=columns, exclude=self.exclude, **settings)

    @property
    def sure(self) -> bool:
        """Whether nothing is read on the promise of the first rows alone."""
        known = "_files" in self.__dict__ and self._files.sure
        return known or not (self.options.quick and self.in_files)

    def surveyed(self) -> Source:
        """Return the same rows, read with care.

        With ``quick``, one pass over a large text file is spared: its kinds are those of its first rows, and a cell
        that is not as they promise raises :class:`~bayeskit._data.formats.Unsure`. Then this source must be read.
        """
        source = self.with_options(quick=False)
        if "_files" in self.__dict__:
            source.__dict__["_files"] = self._files.surveyed()
        return source

    def examined(self, keep: Sequence[Name] = (), with_texts: bool = True) -> Source:
        """Return a source whose ``reading`` says how a file is read and which of its columns are left out.

        A file is looked at before anything is learned from it (`bayeskit._data.file_reading.screen_file`); what was
        found is said by warnings. Rows of any other kind stay as they are, and so do columns that are named.
        """
        needs_target = self.has_class and self.target is None
        if not self.in_files or needs_target or self.reading is not None:
            return self
        from bayeskit._data.file_reading import screen_file
        from bayeskit._data.file_rows import FileRows

        rows, reading = screen_file(
            FileRows(self.file, repr(self._called)),
            None if self.target is None else str(self.target),
            [str(name) for name in (*keep, *(self.columns or ()))],
            [self.weights] if isinstance(self.weights, str) else (),
            with_texts,
        )
        source = self.with_options(reading=reading, quick=not rows.source.sure)
        source.__dict__["file"] = rows.source
        return source

    def refuse_measurements(self) -> None:
        """Raise an error, with the name of the column, if the target of a file holds fractions."""
        if self.target is not None and self.file.dtypes.get(str(self.target)) == "float64":
            from bayeskit._data.file_rows import FileRows

            FileRows(self.file, repr(self._called)).refuse_measured(str(self.target))

    @property
    def _called(self) -> str:
        return ", ".join(map(str, self.data)) if isinstance(self.data, (list, tuple)) else str(self.data)

    def reopen(self) -> None:
        """Discard what is known about a file: the next pass examines it again."""
        for name in ("file", "_files"):
            self.__dict__.pop(name, None)

    def _from_file(self) -> Iterator[Rows]:
        inner = Source(None, weights=self.weights, target=self.target)
        for batch in self.file.batches():
            yield inner._split(open_table(batch), None, self.weights)

    def from_batch(self, batch: Any) -> Rows:
        """Separate the class and the weights of a batch from its attributes."""
        if isinstance(batch, tuple) and not self.has_class:
            raise DataTypeError(
                "A batch was a tuple. Without a class, a batch is one table; name a column of weights with "
                "sample_weight=."
            )
        if isinstance(batch, tuple) and len(batch) in (2, 3):
            return self._split(self.opener(batch[0]), batch[1], batch[2] if len(batch) == 3 else None)
        if self.has_class and self.target is None:
            raise DataTypeError(
                "A batch was a {kind}. Yield (X, y) or (X, y, weights), or name the target column.",
                kind=type(batch).__name__,
            )
        return self._split(self.opener(batch), None, self.weights)

    def _split(self, table: Table, y: LabelsLike | None, weights: WeightsLike | None) -> Rows:
        """Separate the target and weight columns from the attributes; keep and exclude columns by name."""
        taken: list[Name] = []
        if self.target is not None:
            if y is not None:
                raise DataTypeError("Give the labels either as y or as target=, not both.")
            y = _column(table, self.target, "target")
            taken.append(self.target)
        if isinstance(weights, str):
            taken.append(weights)
            weights = _weights_in(table, weights)
        if not taken and self.columns is None and self.exclude is None:
            return Rows(table, y, weights)
        return Rows(table.select(self.attributes_of(table.names, taken)), y, weights)

    @property
    def attribute_names(self) -> tuple[Name, ...]:
        """The attribute columns of a frame on workers or of a DuckDB relation."""
        return self.attributes_of(
            self.data.names, [name for name in (self.target, self.weights) if isinstance(name, str)]
        )

    def attributes_of(self, names: tuple[Name, ...], taken: Sequence[Name]) -> tuple[Name, ...]:
        """Return the attribute columns: the requested ones, or all, without the target and the weights."""
        keep = list(names) if self.columns is None else list(self.columns)
        for name in [*keep, *(self.exclude or ())]:
            if name not in names and not (self.in_files or self.data is None):
                raise ColumnError(
                    "There is no column {name!r}. The columns are {names}.",
                    name=name,
                    names=Joined(map(repr, names[:12])),
                )
        left_out = {*taken, *(self.exclude or ())}
        kept = tuple(n for n in keep if n not in left_out and n in names)
        if not kept:
            if not self.has_class:
                raise ColumnError("No column is left: there are no columns to read besides the weights.")
            raise ColumnError("No attribute is left besides the target. Check columns= and exclude=.")
        return kept


def is_in_duckdb(source: Source) -> bool:
    """Return whether the rows are all those of a DuckDB relation."""
    return is_relation(source.data) or is_on("duckdb", source)


def is_live(source: Source) -> bool:
    """Return whether the rows are those of a table in a database, as they are at each look."""
    return isinstance(source.data, DatabaseTable)


def is_on(place: str, source: Source) -> bool:
    """Return whether all rows of a source are on the workers of a cluster, or in DuckDB."""
    data = source.data
    return isinstance(data, ExternalFrame) and data.place == place and source.keep is None


def place_of(names: tuple[Name, ...], name: Name, role: str) -> int:
    """Return the position of a column."""
    try:
        return names.index(name)
    except ValueError:
        raise ColumnError(
            "{role} names {name!r}, which is not a column. The columns are {names}.",
            role=role,
            name=name,
            names=Joined(map(repr, names[:12])),
        ) from None


def _weights_in(table: Table, name: Name) -> Any:
    j = place_of(table.names, name, "sample_weight")
    if table.first_text(j) is not None:
        raise WeightError("sample_weight names {name!r}, which does not contain numbers.", name=name)
    return table.numbers(j)


def _column(table: Table, name: Name, role: str) -> Any:
    j = place_of(table.names, name, role)
    if table.frame is not None:
        return table.frame.get_column(name)
    return table.factorize(j) if table.is_coded(j) else table.raw(j)
