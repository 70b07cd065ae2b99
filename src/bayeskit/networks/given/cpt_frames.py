"""A table given as a data frame: long (one row a cell) or wide (one column for each state of the child)."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.data.table import Table, open_table
from bayeskit.errors import ColumnError
from bayeskit.networks.given.axes import Axes, Place
from bayeskit.schema import Name

NUMBER_COLUMNS = ("p", "probability", "value")


def cells_of_frame(axes: Axes, frame: Any) -> list[tuple[Place, float]]:
    """Return the cells that a frame gives, in the order of its rows.

    Parameters
    ----------
    axes : the parents, then the child
    frame : pandas, Polars or PyArrow
        Long: a column for each parent, one for the child, and one named p, probability or value. Wide: a column
        for each parent, and one for each state of the child.
    """
    table = open_table(frame)
    parents = [_column(table, name) for name in axes.names[:-1]]
    absent = [name for name, column in zip(axes.names, parents) if column is None]
    if absent:
        raise ColumnError(
            f"The frame for {axes.owner!r} has no column for its parent {absent[0]!r}. It has {_listing(table)}."
        )
    own = [column for column in parents if column is not None]
    child = _column(table, axes.names[-1])
    rest = [j for j in range(len(table.names)) if j not in own and j != child]
    number = [j for j in rest if table.names[j] in NUMBER_COLUMNS]
    if child is not None and number:
        return _long(axes, table, [*own, child], _the_only(rest, table, axes))
    return _wide(axes, table, own, sorted(rest if child is None else [*rest, child]))


def _long(axes: Axes, table: Table, columns: list[int], number: int) -> list[tuple[Place, float]]:
    codes = [_codes(axes, axis, table, j) for axis, j in enumerate(columns)]
    return list(zip(zip(*codes), _numbers(table, number, axes.owner)))


def _wide(axes: Axes, table: Table, parents: list[int], columns: list[int]) -> list[tuple[Place, float]]:
    last = len(axes.names) - 1
    if not axes.open_last and not {str(table.names[j]) for j in columns} & set(map(str, axes.states[last])):
        raise ColumnError(
            f"The frame for {axes.owner!r} has the columns {_listing(table)}. It needs one for each parent, and either "
            f"{axes.owner!r} and 'p', or one for each state: {', '.join(map(repr, axes.states[last]))}."
        )
    states = [axes.code(last, table.names[j]) for j in columns]
    codes = [_codes(axes, axis, table, j) for axis, j in enumerate(parents)]
    rows: list[Place] = list(zip(*codes)) if codes else [()] * table.n_rows
    found: list[tuple[Place, float]] = []
    for state, j in zip(states, columns):
        found += [((*row, state), p) for row, p in zip(rows, _numbers(table, j, axes.owner))]
    return found


def _the_only(rest: list[int], table: Table, axes: Axes) -> int:
    if len(rest) > 1:
        raise ColumnError(
            f"The frame for {axes.owner!r} has {', '.join(repr(table.names[j]) for j in rest)} beside its family. "
            "Keep the one with the probabilities."
        )
    return rest[0]


def _column(table: Table, name: Name) -> int | None:
    """Find the column of a node: by its name, else by how the name is written."""
    if name in table.names:
        return table.names.index(name)
    written = [j for j, column in enumerate(table.names) if str(column) == str(name)]
    return written[0] if len(written) == 1 else None


def _codes(axes: Axes, axis: int, table: Table, j: int) -> list[int]:
    coded = table.factorize(j)
    codes = np.asarray(coded.codes).astype(np.int64)
    if (codes < 0).any():
        row = int((codes < 0).argmax())
        raise ColumnError(
            f"The frame for {axes.owner!r} says no state of {axes.names[axis]!r} in row {row} (the first is 0)."
        )
    # Labels are met in the order of the rows, and only those that stand in one.
    met, first = np.unique(codes, return_index=True)
    place = {int(code): axes.code(axis, coded.labels[int(code)]) for code in met[np.argsort(first)]}
    return [place[code] for code in codes.tolist()]


def _numbers(table: Table, j: int, owner: Name) -> list[float]:
    if table.kind(j) != "numeric":
        raise ColumnError(f"Column {table.names[j]!r} of the frame for {owner!r} does not hold numbers.")
    return [float(number) for number in table.numbers(j)]


def _listing(table: Table) -> str:
    return ", ".join(map(repr, table.names))
