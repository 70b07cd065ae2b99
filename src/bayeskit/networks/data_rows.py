"""Rows of any table → the codes and numbers of a network's nodes, one column at a time as they are needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.table import Table, open_table
from bayeskit.errors import ColumnError, InfiniteValue, UnseenState
from bayeskit.schema import Name, Variable, state_code

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Unseen = Literal["ignore", "error"]

# Up to so many states a column of fixed-width text is compared with each; sorting it costs more.
MOST_COMPARED = 32

# The code of a label that has not been matched yet.
UNKNOWN = -2


class Rows:
    """The cells of a table by node.

    Columns are matched to nodes by name; a node without a column is missing in every row, and columns that are no
    node are not looked at. An array has no names: it holds integer codes, one column for each node in order, as
    ``sample(as_codes=True)`` gives them, −1 meaning missing.

    Parameters
    ----------
    data : a data frame, a mapping of columns, or a matrix of codes
    variables : the nodes, in order
    unseen : "ignore" (a value that is no state counts as missing) or "error"

    Examples
    --------
    >>> from bayeskit.graphs.network import discrete
    >>> rows = Rows({"rain": ["yes", None, "no"]}, [discrete("rain", ["no", "yes"])], "ignore")
    >>> rows.codes(0)
    array([ 1, -1,  0])
    """

    def __init__(self, data: Any, variables: Sequence[Variable], unseen: Unseen) -> None:
        self.variables = tuple(variables)
        self._unseen = unseen
        self._coded: dict[int, Ints] = {}
        self._mapping: Mapping[Name, Any] | None = None
        self._table: Table | None = None
        self._matrix: NDArray[Any] | None = None
        if isinstance(data, Mapping) and _agree(data):
            # Lists become arrays one column at a time: most nodes lie outside the target's Markov blanket.
            self._mapping, self.n_rows = data, len(next(iter(data.values())))
            names: tuple[Name, ...] = tuple(data)
        else:
            self._table = open_table(data)
            self.n_rows, names = self._table.n_rows, self._table.names
            if not self._table.named:
                self._matrix = _codes_of(self._table, self.variables)
        self._place = {name: j for j, name in enumerate(names)}
        self._nodes = {variable.name for variable in self.variables}

    def codes(self, place: int) -> Ints:
        """Return the codes of one discrete node, −1 where it is missing."""
        if place not in self._coded:
            self._coded[place] = self._code(place)
        return self._coded[place]

    def matrix(self, places: Sequence[int]) -> Ints:
        """Return the codes of some nodes side by side: shape (rows, nodes)."""
        out = np.empty((self.n_rows, len(places)), np.int64)
        for column, place in enumerate(places):
            out[:, column] = self.codes(place)
        return out

    def check(self, target: int) -> None:
        """Read every discrete column but the target's, so that a value that is no state is heard of."""
        for place, variable in enumerate(self.variables):
            if place != target and variable.kind == "categorical":
                self.codes(place)

    def numbers(self, place: int) -> Floats:
        """Return the numbers of one continuous node, NaN where it is missing."""
        found = self._column(place)
        if found is None:
            return np.full(self.n_rows, np.nan)
        table, j = found
        values = np.asarray(table.numbers(j), dtype=np.float64)
        if np.isinf(values).any():
            row = int(np.isinf(values).argmax())
            raise InfiniteValue(self.variables[place].name, row, float(values[row]))
        return values

    def _column(self, place: int) -> tuple[Table, int] | None:
        """Return the table that holds a node, and the node's column there."""
        name = self.variables[place].name
        if name not in self._place and str(name) not in self._nodes:
            name = str(name)  # frames whose columns are text hold a node named 0 as "0"
        if name not in self._place:
            return None
        if self._mapping is not None:
            return open_table({name: self._mapping[name]}), 0
        assert self._table is not None
        return self._table, self._place[name]

    def _code(self, place: int) -> Ints:
        variable = self.variables[place]
        if self._matrix is not None:
            return _checked_codes(self._matrix[:, place], variable)
        found = self._column(place)
        if found is None:
            return np.full(self.n_rows, -1, np.int64)
        table, j = found
        if variable.cuts is not None and table.kind(j) == "numeric":
            # A node of intervals is told the numbers themselves.
            numbers = np.asarray(table.numbers(j), np.float64)
            within = np.searchsorted(np.array(variable.cuts), numbers, side="left").astype(np.int64)
            return np.where(np.isnan(numbers), -1, within)
        codes = None
        if table.frame is None and table.raw(j).dtype.kind == "O":
            codes = _look_up(table.raw(j), variable)
        elif table.frame is None and table.raw(j).dtype.kind == "U" and variable.size <= MOST_COMPARED:
            codes = _compare(table.raw(j), variable)
        return _translate(table, j, variable, self._unseen) if codes is None else codes


def _agree(columns: Mapping[Name, Any]) -> bool:
    """Tell whether a mapping holds columns of one length; if not, opening it says what is wrong."""
    plain = all(hasattr(c, "__len__") and not isinstance(c, (str, bytes, Mapping)) for c in columns.values())
    lengths = {len(c) for c in columns.values()} if plain else set()
    return len(lengths) == 1 and 0 not in lengths


def _codes_of(table: Table, variables: tuple[Variable, ...]) -> NDArray[Any]:
    numeric = any(variable.kind != "categorical" for variable in variables)
    if table.matrix is None or table.matrix.dtype.kind not in "iu" or numeric:
        coded = (
            ""
            if numeric
            else ", or a matrix of integer codes with a column for each node in order (-1: missing)"
        )
        raise ColumnError(
            f"The columns have no names. Pass a data frame or a mapping of columns named after the nodes{coded}."
        )
    if len(table.names) != len(variables):
        raise ColumnError(
            f"A matrix of codes has a column for each of the {len(variables)} nodes, in order (-1: missing); this "
            f"one has {len(table.names)}."
        )
    return table.matrix


def _checked_codes(column: NDArray[Any], variable: Variable) -> Ints:
    codes = column.astype(np.int64)
    strange = (codes < -1) | (codes >= variable.size)
    if strange.any():
        row = int(strange.argmax())
        raise UnseenState(
            f"{variable.name!r} has the code {column[row]} in row {row}; its codes are 0 to {variable.size - 1}, and "
            "-1 for missing."
        )
    return codes


def _compare(column: NDArray[Any], variable: Variable) -> Ints | None:
    """Code text by comparing it with each state; None where some cell is none of them."""
    codes = np.full(len(column), -1, np.int64)
    for code, state in enumerate(variable.states):
        if isinstance(state, str):
            codes[column == state] = code
    return codes if (codes >= 0).all() else None


def _look_up(column: NDArray[Any], variable: Variable) -> Ints | None:
    """Code objects by one look at each; None where some cell is neither a state as it stands nor None."""
    known = {**variable.codes, None: -1}
    try:
        return np.fromiter(map(known.__getitem__, column.tolist()), np.int64, len(column))
    except (KeyError, TypeError):
        return None


def _translate(table: Table, j: int, variable: Variable, unseen: Unseen) -> Ints:
    """Turn a column's own codes into the node's: each distinct label is matched once."""
    own, labels = table.factorize(j)[:2]
    known = variable.codes
    codes = np.array([*(known.get(label, UNKNOWN) for label in labels), -1], np.int64)
    if (codes == UNKNOWN).any():
        # Coding makes 1.0 the whole number 1; as a float it is written "1.0" or "1".
        floats = _holds_floats(table, j)
        standing = np.unique(own)
        for place in standing[standing >= 0].tolist():
            if codes[place] == UNKNOWN:
                label: Any = labels[place]
                try:
                    codes[place] = state_code(
                        variable.name, variable.states, float(label) if floats else label
                    )
                except UnseenState as error:
                    if unseen == "error":
                        raise UnseenState(
                            f"Row {int((own == place).argmax())}: {error} "
                            'Pass unseen="ignore" to take such values as missing.'
                        ) from None
                    codes[place] = -1
    return codes.take(own, mode="wrap")


def _holds_floats(table: Table, j: int) -> bool:
    if table.frame is not None:
        return bool(table.frame.get_column(table.names[j]).dtype.is_float())
    return bool(table.raw(j).dtype.kind == "f")
