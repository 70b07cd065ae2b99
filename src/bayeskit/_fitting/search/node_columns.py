"""The columns of a table as nodes (codes or numbers), in an order that does not depend on their names."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.class_labels import as_weights
from bayeskit._data.encode import code_intervals
from bayeskit._data.encoded import EncodedTable
from bayeskit._data.file_options import FileOptions
from bayeskit._data.frames import names_files
from bayeskit._data.reading import Reading, check_states, cut_variable
from bayeskit._data.row_store import gather
from bayeskit._data.source import Source
from bayeskit._data.table import open_table
from bayeskit._fitting.cut_points import frequency_cut_points
from bayeskit._schema import Name, Variable
from bayeskit.errors import ColumnError, SettingError, SourceNote
from bayeskit.typing import Floats, RowSource, WeightsLike

if TYPE_CHECKING:
    from bayeskit._data.file_reading import FileReading

Ints = NDArray[np.int64]
Codes = NDArray[Any]

# Integer columns with more distinct values than this are numeric, not categorical.
MOST_INTEGERS = 30
# Sums of squares of larger numbers could overflow.
LARGEST = 1e100
# A target with one state, because there is no class.
EVERYTHING = Variable("everything", "categorical", ("everything",), n_declared=1, closed=True)


@dataclass(frozen=True)
class FileSettings:
    """How a file is read that a network is learned from.

    Attributes
    ----------
    keep : columns to use that would be left out
    exclude : columns to leave out
    options : FileOptions
    """

    keep: Sequence[Name] = ()
    exclude: Sequence[Name] = ()
    options: FileOptions = field(default_factory=FileOptions)


@dataclass(frozen=True, eq=False)
class NodeColumns:
    """The columns of a table, as a search for a network reads them.

    Attributes
    ----------
    variables : one for each column, with closed states; a numeric variable is continuous
    codes : the codes of each variable, where the code after the last state is missing; None if it is continuous
    numbers : the numbers of each variable, where NaN is missing; None if it is discrete
    reading : how the file was read, if there was one
    """

    variables: tuple[Variable, ...]
    codes: tuple[Codes | None, ...]
    numbers: tuple[Floats | None, ...]
    n_rows: int
    reading: FileReading | None = None

    @cached_property
    def names(self) -> tuple[Name, ...]:
        return tuple([variable.name for variable in self.variables])

    @cached_property
    def is_discrete(self) -> NDArray[np.bool_]:
        return np.array([codes is not None for codes in self.codes], np.bool_)

    @cached_property
    def sizes(self) -> Ints:
        """The number of states of each variable; 0 for a continuous one."""
        return np.array([variable.size for variable in self.variables], np.int64)

    @cached_property
    def complete(self) -> NDArray[np.bool_]:
        """Which rows have no missing cell."""
        whole = np.ones(self.n_rows, np.bool_)
        for j in range(len(self.variables)):
            whole &= self.present(j)
        return whole

    def present(self, j: int) -> NDArray[np.bool_]:
        """Return in which rows a column is present."""
        codes = self.codes[j]
        if codes is not None:
            return np.asarray(codes < self.variables[j].size)
        return ~np.isnan(self.numbers[j])  # type: ignore[arg-type]

    @property
    def n_missing(self) -> Ints:
        """The number of missing cells of each column."""
        found = [self.n_rows - int(self.present(j).sum()) for j in range(len(self.variables))]
        return np.array(found, np.int64)

    def code_matrix(self) -> NDArray[Any]:
        """Return the codes of the discrete variables in the complete rows: shape (variables, rows)."""
        largest = int(self.sizes.max(initial=0))
        dtype = np.uint8 if largest <= 256 else np.uint32
        rows = slice(None) if self.complete.all() else self.complete
        found = [codes[rows].astype(dtype) for codes in self.codes if codes is not None]
        return np.stack(found) if found else np.empty((0, int(self.complete.sum())), dtype)

    def number_matrix(self) -> Floats:
        """Return the numbers of the continuous variables in the complete rows: shape (variables, rows)."""
        found = [numbers[self.complete] for numbers in self.numbers if numbers is not None]
        return np.stack(found) if found else np.empty((0, int(self.complete.sum())))

    def reordered(self, order: Ints) -> NodeColumns:
        """Return the same columns in another order."""
        return NodeColumns(
            tuple(self.variables[j] for j in order),
            tuple(self.codes[j] for j in order),
            tuple(self.numbers[j] for j in order),
            self.n_rows,
            self.reading,
        )

    def take(self, rows: NDArray[np.intp]) -> NodeColumns:
        """Return some rows, which may be repeated."""
        return NodeColumns(
            self.variables,
            tuple(None if codes is None else codes[rows] for codes in self.codes),
            tuple(None if numbers is None else numbers[rows] for numbers in self.numbers),
            len(rows),
            self.reading,
        )

    def canonical_order(self, weights: Floats | None = None) -> Ints:
        """Return an order of the columns that depends only on their cells, not on their positions or names.

        A search breaks ties by order. With this order, shuffling or renaming columns cannot change its result.
        Discrete columns come first, sorted by entropy. Ties are broken by a digest of the cells, and only columns
        with identical cells are sorted by name.
        """

        keys = [self._kind_and_entropy(j, weights) for j in range(len(self.variables))]
        common = Counter(keys)

        def key(j: int) -> tuple[tuple[bool, float], bytes, str]:
            # A digest takes longer than everything else, and few columns need one.
            return keys[j], self._digest(j) if common[keys[j]] > 1 else b"", repr(self.names[j])

        return np.array(sorted(range(len(self.variables)), key=key), np.int64)

    def copies(self) -> dict[int, int]:
        """Return each column that repeats an earlier one in every complete row, perhaps by other states, and that one.

        Columns that never change are left out.
        """
        rows, first, found = self.complete, dict[bytes, int](), dict[int, int]()
        for j, (codes, numbers) in enumerate(zip(self.codes, self.numbers, strict=True)):
            mine = np.asarray(codes if codes is not None else numbers)[rows]
            if len(mine) and (mine != mine[0]).any():
                if codes is not None:  # number the states as they come
                    _, begins, mine = np.unique(mine, return_index=True, return_inverse=True)
                    mine = np.argsort(np.argsort(begins))[mine]
                kind = b"states" if codes is not None else b"numbers"
                earlier = first.setdefault(kind + mine.tobytes(), j)
                if earlier != j:
                    found[j] = earlier
        return found

    def _digest(self, j: int) -> bytes:
        codes = self.codes[j]
        cells = codes if codes is not None else self.numbers[j]
        assert cells is not None
        found = hashlib.sha256()
        for start in range(0, self.n_rows, 2**20):
            some = cells[start : start + 2**20]
            if codes is not None:
                # Equal cells must have the same digest for any integer type and any number of declared states, so
                # represent missing by −1, which is not a state.
                some = np.where(some < self.variables[j].size, some.astype(np.int64), -1)
            found.update(some.tobytes())
        return found.digest()

    def _kind_and_entropy(self, j: int, weights: Floats | None) -> tuple[bool, float]:
        """Return whether a column is continuous, and its entropy if it is not."""
        codes = self.codes[j]
        if codes is None:
            return True, 0.0
        total = max(self.n_rows, 1) if weights is None else float(weights.sum())
        p = np.bincount(codes, weights)[: self.variables[j].size] / total
        p = np.sort(p[p > 0])
        return False, round(float(-(p * np.log(p)).sum()), 9)


def read_nodes(
    data: RowSource,
    states: Mapping[Name, Any] | None = None,
    discretize: str | int | Mapping[Any, Any] | None = None,
    *,
    only: Sequence[Name] | None = None,
    known: Mapping[Name, Variable] | None = None,
) -> NodeColumns:
    """Read a table in memory, without weights. The settings are those of :func:`read_source`.

    Examples
    --------
    >>> rows = read_nodes({"rain": ["no", "yes", "no"], "depth": [0.1, 3.5, 0.2]})
    >>> rows.codes[0], rows.numbers[1]
    (array([0, 1, 0], dtype=uint8), array([0.1, 3.5, 0.2]))
    """
    if in_pieces(data):
        open_table(data)  # its error lists the accepted kinds of rows
    return read_source(data, states, discretize, only=only, known=known)[0]


def read_source(
    data: RowSource | None,
    states: Mapping[Name, Any] | None = None,
    discretize: str | int | Mapping[Any, Any] | None = None,
    sample_weight: WeightsLike | None = None,
    max_memory: float = math.inf,
    *,
    only: Sequence[Name] | None = None,
    known: Mapping[Name, Variable] | None = None,
    file: FileSettings | None = None,
) -> tuple[NodeColumns, Floats | None]:
    """Read rows. Text, categories, booleans and integers are discrete, floats are continuous.

    Parameters
    ----------
    data : any table in memory, the path of a CSV or Parquet file, Batches of tables, or an iterator of tables
    states : {column: states}, optional
        Declared states, in order. Such a column is discrete and may have no other states. ``float`` instead of a list
        makes a column continuous.
    discretize : int, or {column: int or list of cut points}, optional
        Cut continuous columns, and integers of more than 30 values, into this many intervals with about equal numbers
        of rows; or cut columns at given points.
    sample_weight : one number for each row, or the name of the column of weights
        Such a column is not a node.
    max_memory : the maximum size of the codes of a file or of batches, in bytes
    only : names, optional
        Read only these columns, which must exist.
    known : {column: variable}, optional
        The variables of columns whose states are already known.
    file : FileSettings, optional
        How a file is read. Columns that tell nothing about new rows are left out, unless a setting names them.

    Returns
    -------
    columns : NodeColumns
    weights : array of shape (rows,), or None if every weight is 1

    Examples
    --------
    >>> from bayeskit import Batches
    >>> halves = Batches(lambda: [{"rain": ["no", "yes"], "n": [2, 1]}, {"rain": ["no", "no"], "n": [3, 4]}])
    >>> columns, weights = read_source(halves, sample_weight="n")
    >>> columns.names, columns.codes[0], weights
    (('rain',), array([0, 1, 0, 0], dtype=uint8), array([2., 1., 3., 4.]))
    """
    reading, for_all = _reading(states, discretize, known or {})
    in_source = isinstance(sample_weight, str) or not in_pieces(data)
    weighing = sample_weight if in_source else None
    how = FileSettings() if file is None else file
    source = Source(
        data, None, weighing, columns=only, exclude=how.exclude or None, has_class=False, options=how.options
    )
    if source.in_files:
        settled = {*(states or {}), *_named(discretize), *_named(known)}
        source = source.examined([*how.keep, *(name for name in source.file.names if name in settled)])
    rows = gather(source, reading, EVERYTHING, max_memory=max_memory)
    weights = rows.weights if in_source else as_weights(sample_weight, rows.n_rows)
    if names_files(data) and for_all is None:
        _note_gaps(rows, reading)
    return replace(_cut(rows, reading, for_all), reading=source.reading), weights


def _named(settings: object) -> Iterable[Any]:
    return settings if isinstance(settings, Mapping) else ()


def in_pieces(data: RowSource | None) -> bool:
    """Return whether rows come in parts: from a file, batches or an iterator of tables."""
    return not Source(data).in_memory


def _reading(
    states: Mapping[Any, Any] | None,
    discretize: str | int | Mapping[Any, Any] | None,
    known: Mapping[Name, Variable],
) -> tuple[Reading, int | None]:
    """Return the settings as a reading of rows, and the number of intervals for all floats, if one was given."""
    check_states({} if states is None else states)
    measured = {name for name, given in (states or {}).items() if _is_float(given)}
    by_name = discretize if isinstance(discretize, Mapping) else {}
    cuts = {
        name: given if isinstance(given, (Sequence, np.ndarray)) else _intervals(given)
        for name, given in by_name.items()
        if name not in measured
    }
    reading = Reading(
        states={n: given for n, given in (states or {}).items() if n not in measured and n not in cuts},
        kinds=dict.fromkeys(measured, "numeric"),
        cuts=cuts,
        known=known,
        whole=MOST_INTEGERS,
        numbers_beyond=not (discretize is None or isinstance(discretize, Mapping)),
        as_written=True,
        largest=LARGEST,
    )
    return reading, None if discretize is None or isinstance(discretize, Mapping) else _intervals(discretize)


def _is_float(given: object) -> bool:
    return given is float or (isinstance(given, str) and given == "continuous")


def _intervals(given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < 2:
        raise SettingError(
            "discretize is {given!r}; give a number of intervals of at least 2, or a mapping from column to "
            "such a number or to cut points.",
            given=given,
        )
    return int(given)


def _cut(rows: EncodedTable, reading: Reading, for_all: int | None) -> NodeColumns:
    """Cut numbers into the requested intervals, after all rows have been read."""
    coded, measured = iter(rows.codes), iter(rows.values)
    variables: list[Variable] = []
    codes: list[Codes | None] = []
    numbers: list[Floats | None] = []
    for variable in rows.schema.attributes:
        name, cells, values = variable.name, None, None
        if variable.kind == "categorical":
            variable, cells = sealed(variable), next(coded).own
        else:
            values = next(measured)
            many = reading.cuts.get(name)
            if many is None and for_all is not None and not reading.has_settings(name):
                many = for_all
            if many is not None:
                variable = cut_variable(name, frequency_cut_points(values, many, name=name))
                cells, values = code_intervals(values, variable, name).own, None
        variables.append(variable)
        codes.append(cells)
        numbers.append(values)
    return NodeColumns(tuple(variables), tuple(codes), tuple(numbers), rows.n_rows)


def sealed(variable: Variable) -> Variable:
    """Return the variable with closed states. Raise an error if it has none."""
    if not variable.size:
        raise ColumnError(
            "Every cell of {name!r} is missing. Leave it out, or declare its states.", name=variable.name
        )
    return replace(variable, n_declared=variable.size, closed=True)


def _note_gaps(rows: EncodedTable, reading: Reading) -> None:
    """Warn about columns that are read as continuous but contain only a few distinct integers and missing cells."""
    for variable, numbers in zip(rows.schema.numeric, rows.values, strict=True):
        there = numbers[~np.isnan(numbers)]
        few = len(there) < len(numbers) and (there == np.rint(there)).all()
        if reading.has_settings(variable.name) or not few or len(np.unique(there)) > MOST_INTEGERS:
            continue
        warnings.warn(
            SourceNote(
                "{name!r} holds whole numbers and gaps, and is read as continuous, as data frames read such a "
                "file. Pass states={{{name!r}: [...]}} to make states of them, or "
                "states={{{name!r}: float}} to say so.",
                name=variable.name,
            ),
            stacklevel=4,
        )
