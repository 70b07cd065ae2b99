"""Reads the rows of a table by the nodes of a network, one column at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.columns import refuse_beyond
from bayeskit._data.encode import code_column
from bayeskit._data.table import Table, open_table
from bayeskit._messages import Message
from bayeskit._schema import Name, Variable
from bayeskit.errors import ColumnError, UnseenState
from bayeskit.typing import Floats, Ints, TableLike

Codes = NDArray[Any]
Unseen = Literal["ignore", "error"]


class Rows:
    """The cells of a table by node.

    Columns are matched to nodes by name. A node without a column is missing in every row, and columns that
    are not nodes are ignored. An array holds integer codes, one column for each node in order, as
    ``sample(as_codes=True)`` returns them, with −1 for missing.

    Parameters
    ----------
    data : a data frame, a mapping of columns, or a matrix of codes
    variables : the nodes, in order
    unseen : "ignore" (a value that is not a state counts as missing) or "error"

    Examples
    --------
    >>> from bayeskit._graphs.network import discrete
    >>> rows = Rows({"rain": ["yes", None, "no"]}, [discrete("rain", ["no", "yes"])], "ignore")
    >>> rows.codes(0)
    array([1, 2, 0], dtype=uint8)
    """

    def __init__(self, data: TableLike, variables: Sequence[Variable], unseen: Unseen) -> None:
        self.variables = tuple(variables)
        self._unseen = unseen
        self._coded: dict[int, Codes] = {}
        self._table = open_table(data)
        self.n_rows = self._table.n_rows
        self._matrix = None if self._table.named else _codes_of(self._table, self.variables)
        place = {name: j for j, name in enumerate(self._table.names)}
        columns = columns_of([variable.name for variable in self.variables], self._table.names)
        self._place = {node: place[name] for node, name in columns.items()}

    def codes(self, place: int) -> Codes:
        """Return the codes of one discrete node; missing cells have the code after its last state."""
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
        """Read every discrete column except the target, so that values that are not states are reported."""
        for place, variable in enumerate(self.variables):
            if place != target and variable.kind == "categorical":
                self.codes(place)

    def numbers(self, place: int) -> Floats:
        """Return the numbers of one continuous node, NaN if missing."""
        j = self._place.get(self.variables[place].name)
        if j is None:
            return np.full(self.n_rows, np.nan)
        values = np.asarray(self._table.numbers(j), dtype=np.float64)
        refuse_beyond(values[:, None], [self.variables[place].name], np.inf)
        return values

    def _code(self, place: int) -> Codes:
        variable = self.variables[place]
        if self._matrix is not None:
            return _checked_codes(self._matrix[:, place], variable)
        j = self._place.get(variable.name)
        if j is None:
            return np.full(self.n_rows, variable.size)
        return code_column(self._table, j, variable, self._unseen, as_written=True)[1][:]


def columns_of(nodes: Sequence[Name], names: Sequence[Name]) -> dict[Name, Name]:
    """Return the column of each node that has one.

    In frames with text column names, a node named 0 is the column "0".

    >>> columns_of([0, "b"], ("0", "c"))
    {0: '0'}
    """
    known, there = set(nodes), set(names)
    found = {node: node if node in there or str(node) in known else str(node) for node in nodes}
    return {node: name for node, name in found.items() if name in there}


def _codes_of(table: Table, variables: tuple[Variable, ...]) -> NDArray[Any]:
    numeric = any(variable.kind != "categorical" for variable in variables)
    if table.matrix is None or table.matrix.dtype.kind not in "iu" or numeric:
        coded = (
            ""
            if numeric
            else Message(", or a matrix of integer codes with a column for each node in order (-1: missing)")
        )
        raise ColumnError(
            "The columns have no names. Pass a data frame or a mapping of columns named after the nodes{coded}.",
            coded=coded,
        )
    if len(table.names) != len(variables):
        raise ColumnError(
            "A matrix of codes has a column for each of the {n} nodes, in order (-1: missing); this "
            "one has {n_names}.",
            n=len(variables),
            n_names=len(table.names),
        )
    return table.matrix


def _checked_codes(column: NDArray[Any], variable: Variable) -> Codes:
    """Read codes as users write them, with −1 for missing."""
    codes = column.astype(np.int64)
    strange = (codes < -1) | (codes >= variable.size)
    if strange.any():
        row = int(strange.argmax())
        raise UnseenState(
            "{name!r} has the code {column} in row {row}; its codes are 0 to {size}, and -1 for missing.",
            name=variable.name,
            column=column[row],
            row=row,
            size=variable.size - 1,
        )
    codes[codes < 0] = variable.size
    return codes
