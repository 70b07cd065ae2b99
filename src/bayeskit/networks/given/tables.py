"""A conditional table as users give it → the node that has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit.data.frames import is_frame
from bayeskit.data.table import Table as Rows
from bayeskit.data.table import open_table
from bayeskit.errors import ColumnError, SettingError, UsageError
from bayeskit.graphs.distributions import Deterministic, Distribution, LinearGaussian, NoisyMax, Table
from bayeskit.graphs.factor import Factor
from bayeskit.graphs.network import Network, Node, discrete
from bayeskit.networks.given.axes import Axes, Place, numbers
from bayeskit.networks.given.checked_rows import checked_rows
from bayeskit.networks.given.special import fitting
from bayeskit.schema import Name
from bayeskit.typing import Frame, TableLike

# A table as users write it: cells in order, nested mappings, a factor, a frame, or a distribution as it is.
CptLike: TypeAlias = ArrayLike | Mapping[Any, Any] | Factor | Frame | Distribution

NUMBER_COLUMNS = ("p", "probability", "value")


def cells_of_frame(axes: Axes, frame: TableLike) -> list[tuple[Place, float]]:
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


def _long(axes: Axes, table: Rows, columns: list[int], number: int) -> list[tuple[Place, float]]:
    codes = [_codes(axes, axis, table, j) for axis, j in enumerate(columns)]
    return list(zip(zip(*codes), _numbers(table, number, axes.owner)))


def _wide(axes: Axes, table: Rows, parents: list[int], columns: list[int]) -> list[tuple[Place, float]]:
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


def _the_only(rest: list[int], table: Rows, axes: Axes) -> int:
    if len(rest) > 1:
        raise ColumnError(
            f"The frame for {axes.owner!r} has {', '.join(repr(table.names[j]) for j in rest)} beside its family. "
            "Keep the one with the probabilities."
        )
    return rest[0]


def _column(table: Rows, name: Name) -> int | None:
    """Find the column of a node: by its name, else by how the name is written."""
    if name in table.names:
        return table.names.index(name)
    written = [j for j, column in enumerate(table.names) if str(column) == str(name)]
    return written[0] if len(written) == 1 else None


def _codes(axes: Axes, axis: int, table: Rows, j: int) -> list[int]:
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


def _numbers(table: Rows, j: int, owner: Name) -> list[float]:
    if table.kind(j) != "numeric":
        raise ColumnError(f"Column {table.names[j]!r} of the frame for {owner!r} does not hold numbers.")
    return [float(number) for number in table.numbers(j)]


def _listing(table: Rows) -> str:
    return ", ".join(map(repr, table.names))


Floats = NDArray[np.float64]


def read_table(network: Network, name: Name, table: CptLike, normalize: bool = False) -> Node:
    """Return the node with the table given; a node without states takes those that the table names.

    Parameters
    ----------
    table : array, nested mapping, Factor, frame, or a value of bayeskit.graphs.distributions
    normalize : divide every row by its sum, however far from one it is

    Examples
    --------
    >>> from bayeskit.networks.given.building import network_of
    >>> network = network_of({"wet": ["rain"]}, states=["no", "yes"])
    >>> read_table(network, "wet", {"no": {"no": 0.9, "yes": 0.1}, "yes": [0.25, 0.75]}).distribution.table()
    array([[0.9 , 0.1 ],
           [0.25, 0.75]])
    """
    node = network[name]
    if isinstance(table, (Deterministic, NoisyMax, LinearGaussian)):
        return replace(node, distribution=fitting(network, name, table))
    if not node.is_discrete:
        raise SettingError(f"{name!r} is continuous and has no table. Call set_gaussian({name!r}, ...).")
    named = isinstance(table, (Mapping, Factor)) or is_frame(table)
    variables = [network[other].variable for other in (*node.parents, name)]
    axes = Axes(name, variables, open_last=named and not node.variable.size)
    values = checked_rows(axes, _values(axes, table), normalize)
    variable = discrete(name, axes.states[-1]) if axes.open_last else node.variable
    return replace(node, variable=variable, distribution=Table(values))


def _values(axes: Axes, table: Any) -> Floats:
    if isinstance(table, Mapping):
        return axes.filled(axes.cells(table))
    if isinstance(table, Factor):
        return _aligned(axes, table)
    if is_frame(table):
        return axes.filled(cells_of_frame(axes, table))
    given = numbers(table.values if isinstance(table, Table) else table, axes.owner)
    shape = axes.shape
    if given.shape != shape and given.shape != (int(np.prod(shape)),):
        raise SettingError(
            f"The table of {axes.owner!r} has the shape {given.shape}; {shape} is needed, or as many numbers in one "
            f"list: one axis for each of {', '.join(map(repr, axes.names))}, the last varying fastest."
        )
    return given.reshape(shape)


def _aligned(axes: Axes, factor: Factor) -> Floats:
    """Turn a factor so that its axes and its states stand in the order of the node's."""
    if set(factor.names) != set(axes.names):
        raise SettingError(
            f"The factor is over {', '.join(map(repr, factor.names)) or 'nothing'}; the table of {axes.owner!r} is "
            f"over {', '.join(map(repr, axes.names))}."
        )
    values = factor.ordered(axes.names)
    codes = [[axes.code(k, state) for state in states] for k, states in enumerate(values.states)]
    for name, found, states in zip(axes.names, codes, axes.states):
        absent = [state for code, state in enumerate(states) if code not in found]
        if absent or len(set(found)) < len(found):
            told = f"lacks the state {absent[0]!r}" if absent else "has a state twice"
            raise SettingError(f"The factor for {axes.owner!r} {told} of {name!r}.")
    return np.asarray(values.values[np.ix_(*(np.argsort(found) for found in codes))])


def table_of(network: Network, name: Name) -> Floats:
    """Return a node's table, or say why there is none."""
    node = network[name]
    if isinstance(node.distribution, LinearGaussian) or not node.is_discrete:
        raise SettingError(f"{name!r} is continuous and has no table. Call distribution({name!r}).")
    if node.distribution is None:
        raise UsageError(f"{name!r} has no table yet. Call set_cpt({name!r}, ...) or fit.")
    axes = Axes(name, [network[other].variable for other in (*node.parents, name)])
    axes.check_size(f"Ask distribution({name!r}), which holds the numbers that the table is made of.")
    return node.distribution.table()
