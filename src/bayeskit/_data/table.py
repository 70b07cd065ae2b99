"""A common interface to in-memory rows of any type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.columns import (
    CodedColumn,
    array_kind,
    factorize_array,
    is_missing,
    narrow,
    native_order,
    numbers_of_array,
    objects,
    without_mask,
)
from bayeskit._data.frames import (
    factorize_series,
    is_frame,
    names_files,
    numbers_of_series,
    open_frame,
    series_kind,
)
from bayeskit._messages import Message, RowNumber
from bayeskit._schema import Kind, Name, column_name, first_twice
from bayeskit.errors import ColumnError, DataError, DataTypeError
from bayeskit.typing import RowSource, TableLike

if TYPE_CHECKING:
    from scipy.sparse import csr_array, sparray


class ColumnBatch(Mapping[str, NDArray[Any]]):
    """Columns by name, of which some are known to be text although all their cells here may be missing.

    Text may be held in codes: it is decoded where its cells are asked for, and counted without.
    """

    def __init__(
        self, columns: Iterable[tuple[str, NDArray[Any] | CodedColumn]], text: frozenset[str]
    ) -> None:
        self._held = dict(columns)
        self.text = text

    def __getitem__(self, name: str) -> NDArray[Any]:
        column = self._held[name]
        return column.decoded() if isinstance(column, CodedColumn) else column

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    @property
    def held(self) -> Mapping[str, NDArray[Any] | CodedColumn]:
        """The columns as they are held, text in codes."""
        return self._held

    @property
    def n_rows(self) -> int:
        return next(iter(map(_length, self._held.values())), 0)

    def first(self, n: int) -> ColumnBatch:
        """Return the first rows."""
        return self.part(slice(n))

    def part(self, some: slice) -> ColumnBatch:
        """Return some of the rows."""
        return ColumnBatch(
            (
                (name, column.part(some) if isinstance(column, CodedColumn) else column[some])
                for name, column in self._held.items()
            ),
            self.text,
        )


def _length(column: Sized) -> int:
    return len(column.codes if isinstance(column, CodedColumn) else column)


@dataclass(frozen=True)
class Table:
    """Columns of equal length.

    Exactly one of ``matrix`` (a NumPy array of one dtype), ``frame`` (a narwhals frame), ``arrays`` (one
    array a column) and ``block`` (a SciPy sparse matrix) holds the cells. ``text`` are columns that are known to be
    text although all their cells here may be missing. ``first_row`` is the number of the first row in the source that
    the table is a batch of.
    """

    n_rows: int
    names: tuple[Name, ...]
    named: bool
    matrix: NDArray[Any] | None = None
    frame: Any = None
    arrays: Sequence[NDArray[Any]] | None = None
    block: Any = None
    text: frozenset[Name] = frozenset()
    first_row: int = 0
    _coded: dict[Name, CodedColumn] = field(default_factory=dict, compare=False, repr=False)
    split_texts: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, len(self.names) if self.block is None else int(self.block.shape[1])

    def raw(self, j: int) -> NDArray[Any]:
        if self.matrix is not None:
            return self.matrix[:, j]
        assert self.arrays is not None
        return self.arrays[j]

    def kind(self, j: int) -> Kind:
        if self.block is not None:
            return "block"
        if self.frame is not None:
            return series_kind(self.frame.get_column(self.names[j]), self.names[j])
        return "categorical" if self.names[j] in self.text else array_kind(self.raw(j), self.names[j])

    def factorize(self, j: int) -> CodedColumn:
        """Encode a column. Codes of text are cached, because finding them takes longer than using them."""
        name = self.names[j]
        if name in self._coded:
            return self._coded[name]
        if self.frame is not None:
            coded = factorize_series(self.frame.get_column(name), name)
        else:
            coded = factorize_array(self.raw(j), name)
        if not coded.declared and coded.labels and isinstance(coded.labels[0], str):
            coded = self._coded[name] = narrow(coded)
        return coded

    def is_coded(self, j: int) -> bool:
        """Whether the codes of a column are cached."""
        return self.names[j] in self._coded

    def is_whole(self, j: int) -> bool:
        """Whether a numeric column contains integers.

        With missing cells, its numbers are floats; then the frame, or the cells of a list, determine it.
        """
        if self.frame is not None:
            return bool(self.frame.get_column(self.names[j]).dtype.is_integer())
        raw = self.raw(j)
        if raw.dtype.kind == "O":
            cells = [value for value in raw if not is_missing(value)]
            return bool(cells) and all(isinstance(value, (int, np.integer)) for value in cells)
        return raw.dtype.kind in "iu"

    def holds_floats(self, j: int) -> bool:
        if self.frame is not None:
            return bool(self.frame.get_column(self.names[j]).dtype.is_float())
        return bool(self.raw(j).dtype.kind == "f")

    def numbers(self, j: int) -> NDArray[Any]:
        if self.frame is not None:
            return numbers_of_series(self.frame.get_column(self.names[j]), self.names[j])
        return numbers_of_array(self.raw(j), self.names[j])

    def first_text(self, j: int) -> tuple[int, Any] | None:
        """Return the first text cell of a column, and its row; None if there is none."""
        if self.kind(j) != "categorical":
            return None
        cells = (
            self.frame.get_column(self.names[j]).to_list() if self.frame is not None else self.raw(j).tolist()
        )
        return next(((row, cell) for row, cell in enumerate(cells) if isinstance(cell, (str, bytes))), None)

    def as_block(self) -> Any:
        """Return all columns together: the sparse matrix itself, or an array of numbers."""
        if self.block is not None:
            return self.block
        if self.matrix is not None and self.matrix.dtype.kind in "iufb":
            return self.matrix
        return np.column_stack([self.numbers(j) for j in range(len(self.names))])

    def select(self, names: tuple[Name, ...]) -> Table:
        """Return the table of these columns, in this order."""
        if names == self.names:
            return self
        coded = {name: self._coded[name] for name in names if name in self._coded}
        if self.frame is not None:
            return replace(self, names=names, frame=self.frame.select(list(names)), _coded=coded)
        place = {name: j for j, name in enumerate(self.names)}
        places = [place[name] for name in names]
        arrays: Sequence[NDArray[Any]]
        if isinstance(self.arrays, _Columns):
            arrays = self.arrays.some(places)
        else:
            arrays = tuple(map(self.raw, places))
        return replace(self, names=names, matrix=None, arrays=arrays, block=None, _coded=coded)

    def take(self, rows: NDArray[np.intp]) -> Table:
        """Return the table of these rows, in this order."""
        return replace(
            self,
            n_rows=len(rows),
            matrix=None if self.matrix is None else self.matrix[rows],
            frame=None if self.frame is None else self.frame[rows],
            arrays=None if self.arrays is None else tuple(array[rows] for array in self.arrays),
            block=None if self.block is None else self.block[rows],
            _coded={},
            split_texts={},
        )


@lru_cache(maxsize=64)
def column_names(width: int) -> tuple[str, ...]:
    """Name the columns of an array like scikit-learn.

    >>> column_names(3)
    ('x0', 'x1', 'x2')
    """
    return tuple(f"x{j}" for j in range(width))


# What a classifier does with a file.
_FILES_OF_CLASSIFIERS = Message(
    'If that is a file: predict(file, sink="answers.csv") writes its predictions, and fit(file, target=...) '
    "learns from it; to get its rows, read it first."
)

_PIECES_OF_CLASSIFIERS = Message(
    'To predict rows that are read piece by piece, write the answers to a file: predict(rows, sink="answers.csv").'
)


@dataclass(frozen=True, slots=True)
class ColumnsAside:
    """Columns of the training rows that are no attributes. Later rows may have them, too: they are not read.

    Parameters
    ----------
    names : the class, what ``exclude=`` names, and what was left out of a file
    others : whether ``columns=`` named the attributes, so that all other columns are aside
    weights : the column of weights. Answers do without it; rows that are learned or forgotten name it again.
    """

    names: frozenset[Name] = frozenset()
    others: bool = False
    weights: Name | None = None

    def has(self, name: Name, learning: bool) -> bool:
        if self.weights is not None and name == self.weights:
            return not learning
        return self.others or name in self.names


NONE_ASIDE = ColumnsAside()


def open_attributes(data: RowSource | None) -> Table:
    """Open the rows that a classifier is given. An error for a file says what a classifier does with one."""
    return open_table(data, _FILES_OF_CLASSIFIERS, _PIECES_OF_CLASSIFIERS)


def open_table(
    data: RowSource | None, of_files: Message | None = None, of_pieces: Message | None = None
) -> Table:
    """Open rows in memory: arrays, lists, frames, mappings of columns, lists of mappings, sparse matrices.

    A file is refused, and so is what gives its rows piece by piece; ``of_files`` and ``of_pieces`` are what the caller
    can do with one.
    """
    if type(data) is np.ndarray:
        return _open_array(data)
    if isinstance(data, Table):
        return data
    if is_sparse(data):
        return _open_sparse(data)
    if isinstance(data, Mapping):
        return _open_mapping(data)
    if is_frame(data):
        return _open_frame(data, of_pieces)
    if isinstance(data, np.ma.MaskedArray):
        return _open_array(without_mask(data))
    if hasattr(data, "collect") or hasattr(data, "compute"):
        open_frame(data, of_pieces)  # raises an error with advice for a frame that is not in memory
    if names_files(data):
        raise DataTypeError(
            "Rows in memory were expected, not the {kind} {data!r}. {way_out}",
            way_out=of_files or Message("If that is a file, read its rows first."),
            kind=type(data).__name__,
            data=str(data[0] if isinstance(data, (list, tuple)) else data),
        )
    if of_pieces is not None and callable(getattr(data, "__iter__", None)) and not hasattr(data, "__len__"):
        raise DataTypeError(
            "Rows in memory were expected, not {kind}. {way_out}", kind=type(data).__name__, way_out=of_pieces
        )
    if isinstance(data, (str, bytes)) or not (hasattr(data, "__array__") or hasattr(data, "__len__")):
        raise DataTypeError(
            "Rows were expected, not {kind}. Pass a 2-dimensional array, a data frame, "
            "a sparse matrix or a mapping of columns.",
            kind=type(data).__name__,
        )
    if _are_records(data):
        return _open_mapping(columns_of_records(data))
    return _open_array(_array_of(data))


def _are_records(data: object) -> TypeGuard[Sequence[Mapping[Any, Any]]]:
    """Return whether rows are a list of mappings, as JSON has them."""
    return isinstance(data, (list, tuple)) and len(data) > 0 and isinstance(data[0], Mapping)


def columns_of_records(records: Sequence[Mapping[Any, Any]]) -> dict[Any, list[Any]]:
    """Return the columns of rows that are mappings; a name that a row does not have is a missing cell.

    >>> columns_of_records([{"colour": "red"}, {"colour": "blue", "size": 3}])
    {'colour': ['red', 'blue'], 'size': [None, 3]}
    """
    for i, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise DataTypeError(
                "{place} is {record!r}, and the rows before it are mappings of names to values. "
                "Pass rows of one form.",
                place=RowNumber(i, begins=True),
                record=record,
            )
    names = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name) for record in records] for name in names}


def open_dense(data: TableLike, who: str) -> Table:
    """Open rows for an estimator that takes no sparse matrix."""
    table = open_table(data)
    if table.block is not None:
        raise needs_dense(who)
    return table


def needs_dense(who: str) -> DataTypeError:
    """Return the error for a sparse matrix."""
    return DataTypeError(
        "Sparse data was passed for X, but {who} needs dense data. Use X.toarray().", who=who
    )


def _array_of(data: Any) -> NDArray[Any]:
    """Convert lists to an array without turning numbers next to strings into strings."""
    if isinstance(data, (list, tuple)) and any(isinstance(row, np.ma.MaskedArray) for row in data):
        data = [without_mask(row) if isinstance(row, np.ma.MaskedArray) else row for row in data]
    try:
        array = np.asarray(data)
    except ValueError:
        raise DataError("The rows are of different lengths. Pass a rectangular table.") from None
    if array.dtype.kind in "US" and not hasattr(data, "__array__"):
        array = np.asarray(data, dtype=object)
    return array


def _check_dimensions(ndim: int) -> None:
    if ndim < 2:
        raise DataError(
            "Expected 2D array, got {ndim}D array instead. Reshape your data either using "
            "array.reshape(-1, 1) if it has a single column or array.reshape(1, -1) if it is a single row.",
            ndim=ndim,
        )
    if ndim > 2:
        raise DataError("Found array with dim {ndim}, but a table has 2: rows and columns.", ndim=ndim)


def _open_array(array: NDArray[Any]) -> Table:
    _check_dimensions(array.ndim)
    n, d = array.shape
    if array.dtype.kind == "c":
        raise ColumnError("Complex data not supported. Pass the real and imaginary parts as columns.")
    if array.dtype.kind == "O" or array.dtype.names:
        columns = tuple(np.asarray(array[:, j]) for j in range(d))
        return _checked(Table(n, column_names(d), False, arrays=columns))
    return _checked(Table(n, column_names(d), False, matrix=native_order(array)))


def is_sparse(data: object) -> TypeGuard[sparray]:
    """Return whether this is a sparse matrix or array of SciPy, which need not be imported for that."""
    return hasattr(type(data), "tocsr") and hasattr(type(data), "nnz")


def _open_sparse(data: sparray) -> Table:
    if data.dtype.kind == "c":
        raise ColumnError("Complex data not supported. Pass the real and imaginary parts as columns.")
    _check_dimensions(data.ndim)
    if getattr(data, "format", "") == "csr":
        _check_row_pointers(data)
    block = data.tocsr()
    if block.indices.size and (int(block.indices.max()) >= block.shape[1] or int(block.indices.min()) < 0):
        raise DataError(
            "The sparse matrix is malformed: a column index lies outside its {length} columns.",
            length=block.shape[1],
        )
    return _checked(Table(block.shape[0], ("block",), False, block=block))


def _check_row_pointers(block: csr_array) -> None:
    pointers, n = block.indptr, block.shape[0]
    whole = len(pointers) == n + 1 and pointers[0] == 0 and (np.diff(pointers) >= 0).all()
    if not whole or pointers[-1] > min(len(block.indices), len(block.data)):
        raise DataError(
            "The sparse matrix is malformed: its row pointers do not fit its entries. Build it anew."
        )


def _open_mapping(data: Mapping[Any, Any]) -> Table:
    if isinstance(data, ColumnBatch):
        return _open_batch(data)
    names = _column_names(data)
    arrays = _Columns(_one_column(name, column) for name, column in data.items())
    lengths = arrays.lengths
    if len(lengths) > 1:
        raise DataError("The columns have different lengths: {lengths}.", lengths=sorted(lengths))
    return _checked(Table(lengths.pop() if lengths else 0, names, True, arrays=arrays))


def _open_batch(data: ColumnBatch) -> Table:
    coded: dict[Name, CodedColumn] = {
        name: column for name, column in data.held.items() if isinstance(column, CodedColumn)
    }
    arrays = _Columns(data.held.values())
    return _checked(
        Table(data.n_rows, tuple(data), True, arrays=arrays, text=frozenset(data.text), _coded=coded)
    )


class _Columns(Sequence[NDArray[Any]]):
    """The columns of a mapping, each converted to an array on first use: a network may need few of them."""

    def __init__(self, columns: Iterable[Any]) -> None:
        self._columns = [column if hasattr(column, "__len__") else objects(column) for column in columns]

    @property
    def lengths(self) -> set[int]:
        return set(map(_length, self._columns))

    def some(self, places: Iterable[int]) -> _Columns:
        """Return some of the columns, none of them converted for it."""
        return _Columns(self._columns[j] for j in places)

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, j: Any) -> Any:
        column = self._columns[j]
        if isinstance(column, CodedColumn):
            column = self._columns[j] = column.decoded()
        elif not isinstance(column, np.ndarray):
            column = self._columns[j] = objects(column)
        return native_order(column)


def _one_column(name: Name, column: Any) -> Any:
    strange = isinstance(column, (str, bytes)) or not hasattr(column, "__iter__")
    if strange or getattr(column, "ndim", 1) != 1:
        raise DataTypeError(
            "Column {name!r} is {column!r}. A mapping of columns needs one list or array for each name.",
            name=name,
            column=column,
        )
    return without_mask(column) if isinstance(column, np.ma.MaskedArray) else column


def _open_frame(data: Any, of_pieces: Message | None = None) -> Table:
    columns = list(data.columns) if hasattr(data, "columns") and not callable(data.columns) else []
    columns = list(getattr(data, "column_names", columns)) if not _plain_names(columns) else columns
    names = _column_names(columns)
    if len(set(names)) < len(names):
        raise ColumnError("Two columns are named {name!r}. Rename one of them.", name=first_twice(names))
    frame = open_frame(data, of_pieces)
    return _checked(Table(frame.shape[0], names or tuple(frame.columns), True, frame=frame))


def _column_names(columns: Iterable[Any]) -> tuple[Name, ...]:
    """Return the column names as stored: text unchanged, others if they can be found again in a file."""
    return tuple(name if type(name) is str else column_name(name) for name in columns)


def _plain_names(columns: list[Any]) -> bool:
    """PyArrow's ``columns`` are the data; those of all others are the names."""
    return not columns or not hasattr(columns[0], "null_count")


def _checked(table: Table) -> Table:
    shape = table.shape
    if shape[0] == 0:
        raise DataError(
            "Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.", shape=shape
        )
    if shape[1] == 0:
        raise DataError(
            "Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.", shape=shape
        )
    return table
