"""The columns of a table as nodes to be: codes of states, or numbers; and an order of them that names cannot change."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.encode import code_intervals, encode_column
from bayeskit.data.reading import cut_variable
from bayeskit.data.table import Table, open_table
from bayeskit.errors import ColumnError, DataError, InfiniteValue
from bayeskit.learning.cut_points import frequency_cut_points
from bayeskit.learning.search.node_settings import cuts_by_name, is_whole, states_by_name
from bayeskit.schema import Name, Variable, first_twice

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[Any]

_Read = tuple[Variable, Ints | None, Floats | None]

# Whole numbers with more values than this are rather measured than named.
MOST_INTEGERS = 30
# Squares of larger numbers, summed over many rows, would leave the range of doubles.
LARGEST = 1e100


@dataclass(frozen=True, eq=False)
class NodeColumns:
    """Rows as a search over networks reads them.

    Attributes
    ----------
    variables : one for each column; states are closed, a numeric variable is continuous
    codes : for each variable its codes, the one after its last state missing; None where it is continuous
    numbers : for each variable its numbers, NaN missing; None where it is discrete
    """

    variables: tuple[Variable, ...]
    codes: tuple[Codes | None, ...]
    numbers: tuple[Floats | None, ...]
    n_rows: int

    @property
    def names(self) -> tuple[Name, ...]:
        return tuple(variable.name for variable in self.variables)

    @cached_property
    def is_discrete(self) -> NDArray[np.bool_]:
        return np.array([codes is not None for codes in self.codes], np.bool_)

    @cached_property
    def sizes(self) -> Ints:
        """The states of each variable, 0 of a continuous one."""
        return np.array([variable.size for variable in self.variables], np.int64)

    @cached_property
    def complete(self) -> NDArray[np.bool_]:
        """Which rows have no missing cell."""
        whole = np.ones(self.n_rows, np.bool_)
        for j in range(len(self.variables)):
            whole &= self.present(j)
        return whole

    def present(self, j: int) -> NDArray[np.bool_]:
        """Tell in which rows a column has a cell."""
        codes = self.codes[j]
        if codes is not None:
            return np.asarray(codes < self.variables[j].size)
        return ~np.isnan(self.numbers[j])  # type: ignore[arg-type]

    @property
    def n_missing(self) -> Ints:
        """The missing cells of each column."""
        found = [self.n_rows - int(self.present(j).sum()) for j in range(len(self.variables))]
        return np.array(found, np.int64)

    def code_matrix(self) -> NDArray[Any]:
        """Return the codes of the discrete variables over the complete rows, one variable after the other."""
        largest = int(self.sizes.max(initial=0))
        dtype = np.uint8 if largest <= 256 else np.uint32
        rows = slice(None) if self.complete.all() else self.complete
        found = [codes[rows].astype(dtype) for codes in self.codes if codes is not None]
        return np.stack(found) if found else np.empty((0, int(self.complete.sum())), dtype)

    def number_matrix(self) -> Floats:
        """Return the numbers of the continuous variables over the complete rows, one variable after the other."""
        found = [numbers[self.complete] for numbers in self.numbers if numbers is not None]
        return np.stack(found) if found else np.empty((0, int(self.complete.sum())))

    def reordered(self, order: Ints) -> NodeColumns:
        """Return the same columns in another order."""
        return NodeColumns(
            tuple(self.variables[j] for j in order),
            tuple(self.codes[j] for j in order),
            tuple(self.numbers[j] for j in order),
            self.n_rows,
        )

    def take(self, rows: NDArray[np.intp]) -> NodeColumns:
        """Return some rows, any of them as often as it is named."""
        return NodeColumns(
            self.variables,
            tuple(None if codes is None else codes[rows] for codes in self.codes),
            tuple(None if numbers is None else numbers[rows] for numbers in self.numbers),
            len(rows),
        )

    def canonical_order(self, weights: Floats | None = None) -> Ints:
        """Return an order of the columns that depends on their cells alone, not on their places or names.

        A search breaks ties by order; with this one, shuffling or renaming columns cannot change its answer.
        Discrete columns come first, by their entropy; columns of the same by a digest of the cells, and only
        columns that are equal cell by cell by their names.
        """

        told = [self._told(j, weights) for j in range(len(self.variables))]
        common = Counter(told)

        def key(j: int) -> tuple[tuple[bool, float], bytes, str]:
            # A digest takes longer than all the rest, and few columns need one.
            return told[j], self._digest(j) if common[told[j]] > 1 else b"", repr(self.names[j])

        return np.array(sorted(range(len(self.variables)), key=key), np.int64)

    def _digest(self, j: int) -> bytes:
        codes = self.codes[j]
        cells = codes if codes is not None else self.numbers[j]
        assert cells is not None
        found = hashlib.sha256()
        for start in range(0, self.n_rows, 2**20):
            # Codes in one type, whatever they are kept in: the same cells have the same digest.
            some = cells[start : start + 2**20]
            found.update((some if codes is None else some.astype(np.int64)).tobytes())
        return found.digest()

    def _told(self, j: int, weights: Floats | None) -> tuple[bool, float]:
        """Return whether a column is continuous, and its entropy where it is not."""
        codes = self.codes[j]
        if codes is None:
            return True, 0.0
        total = max(self.n_rows, 1) if weights is None else float(weights.sum())
        p = np.bincount(codes, weights)[: self.variables[j].size] / total
        p = np.sort(p[p > 0])
        return False, round(float(-(p * np.log(p)).sum()), 9)


def read_nodes(
    data: Any,
    states: Mapping[Name, Any] | None = None,
    discretize: Any = None,
    only: Sequence[Name] | None = None,
    continuous: Sequence[Name] = (),
) -> NodeColumns:
    """Read a table: text, categories, booleans and whole numbers are discrete, floats are continuous.

    Parameters
    ----------
    data : any table in memory
    states : {column: states}, optional
        Declared states, in order; such a column is discrete whatever it holds, and may hold no others. ``float`` in
        the place of a list makes a column continuous.
    discretize : int, or {column: int or list of cut points}, optional
        Cut continuous columns into so many intervals of about equally many rows, or at given points.
    only : names, optional
        Read these columns, which must be there, and no others.
    continuous : names of columns that are numbers whatever they look like

    Examples
    --------
    >>> rows = read_nodes({"rain": ["no", "yes", "no"], "depth": [0.1, 3.5, 0.2]})
    >>> rows.codes[0], rows.numbers[1]
    (array([0, 1, 0]), array([0.1, 3.5, 0.2]))
    """
    table = open_table(data)
    if table.block is not None:
        raise ColumnError(
            "A sparse matrix holds a block of counts, not nodes. Pass its columns as a dense table."
        )
    if only is not None:
        absent = next((name for name in only if name not in table.names), None)
        if absent is not None:
            raise ColumnError(
                f"There is no column {absent!r}. The columns are {', '.join(map(repr, table.names[:12]))}."
            )
        table = table.select(tuple(only))
    if not table.names:
        raise DataError("There are no columns to make nodes of.")
    twice = first_twice(table.names)
    if twice is not None:
        raise ColumnError(f"Two columns are named {twice!r}. Rename one of them.")
    if table.n_rows == 0:
        raise DataError("There are no rows to learn from.")
    cuts = cuts_by_name(discretize, table)
    declared = states_by_name(states, table)
    measured = {*continuous, *(name for name, given in declared.items() if given is None)}
    variables: list[Variable] = []
    codes: list[Ints | None] = []
    numbers: list[Floats | None] = []
    for j, name in enumerate(table.names):
        if name in measured:
            found: _Read = Variable(name, "numeric"), None, finite(table.numbers(j), name)
        else:
            found = _read(table, j, name, declared.get(name), cuts.get(name))
        variable, coded, values = found
        variables.append(variable)
        codes.append(coded)
        numbers.append(values)
    return NodeColumns(tuple(variables), tuple(codes), tuple(numbers), table.n_rows)


def _read(table: Table, j: int, name: Name, states: Any, cut: Any) -> _Read:
    if cut is not None:
        if table.kind(j) != "numeric":
            raise no_numbers_to_cut(name)
        return cut_numbers(table.numbers(j), name, cut)
    kind = table.kind(j)
    if states is not None:
        start = Variable(name, "categorical", states, n_declared=len(states), closed=True)
        return _discrete(table, j, start)
    if kind == "categorical":
        return _discrete(table, j, Variable(name, "categorical"))
    values = table.numbers(j)
    if is_whole(table, j):
        if len(np.unique(values[~np.isnan(values)])) > MOST_INTEGERS:
            raise too_many_integers(name)
        return _discrete(table, j, Variable(name, "categorical"))
    return Variable(name, "numeric"), None, finite(values, name)


def _discrete(table: Table, j: int, variable: Variable) -> tuple[Variable, Ints, None]:
    coded = table.factorize(j)
    variable, column = encode_column(coded, variable, "grow")
    codes = column[:]
    if not variable.closed:
        kept = variable.kept(np.bincount(codes, minlength=variable.size + 1)[:-1] > 0)
        if kept.size < variable.size:
            moved = np.array([*(kept.codes.get(state, kept.size) for state in variable.states), kept.size])
            variable, codes = kept, moved[codes]
    return sealed(variable), codes, None


def sealed(variable: Variable) -> Variable:
    """Return a variable whose states are settled; it must have some."""
    if not variable.size:
        raise ColumnError(
            f"{variable.name!r} has no cell that is there. Leave it out, or declare its states."
        )
    return Variable(variable.name, "categorical", variable.states, n_declared=variable.size, closed=True)


def cut_numbers(numbers: NDArray[Any], name: Name, cut: Any) -> tuple[Variable, Ints, None]:
    """Read numbers as intervals: so many of about equally many rows, or between given points."""
    values = finite(numbers, name)
    points = frequency_cut_points(values, cut, name=name) if isinstance(cut, int) else cut
    variable = cut_variable(name, points)
    return variable, code_intervals(values, variable, name)[:], None


def no_numbers_to_cut(name: Name) -> ColumnError:
    return ColumnError(f"discretize names {name!r}, which does not hold numbers. Leave it out.")


def too_many_integers(name: Name) -> ColumnError:
    return ColumnError(
        f"{name!r} holds whole numbers with more than {MOST_INTEGERS} values. Pass discretize={{{name!r}: 5}}, "
        "make it float (a continuous node), or make it text or a category (a state for each value)."
    )


def finite(values: NDArray[Any], name: Name) -> Floats:
    """Return numbers as doubles; NaN is missing, what cannot be squared and summed is refused."""
    numbers = np.ascontiguousarray(values, dtype=np.float64)
    if np.isinf(numbers).any():
        row = int(np.isinf(numbers).argmax())
        raise InfiniteValue(name, row, float(numbers[row]))
    if (np.abs(numbers) > LARGEST).any():
        row = int((np.abs(numbers) > LARGEST).argmax())
        raise DataError(
            f"{name!r} is {numbers[row]} in row {row}: squares of values beyond {LARGEST:g} cannot be summed. "
            "Correct it, make it missing, or change the unit of the column."
        )
    return numbers
