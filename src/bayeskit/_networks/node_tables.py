"""Reads the distribution of a node as users write it: tables of probabilities, and softmax nodes.

A table may be nested mappings, an array, a factor, or a frame of cells or rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bayeskit._data.frames import is_frame
from bayeskit._data.table import Table as Rows
from bayeskit._data.table import open_table
from bayeskit._graphs.dag import unknown_node
from bayeskit._graphs.distributions import Distribution, Softmax, Table, row_sums, summing_to_one
from bayeskit._graphs.factor import Factor
from bayeskit._graphs.network import Network, Node
from bayeskit._messages import Joined, Message, RowNumber
from bayeskit._networks.arguments import is_number
from bayeskit._networks.building import Axes, Place, node_with_states, numbers
from bayeskit._schema import Name, Variable, state_code
from bayeskit.errors import ColumnError, SettingError
from bayeskit.typing import Floats, Frame, TableLike

# The tolerance of sums: small for computed numbers, larger for files, which have few digits.
ROUNDED = 1e-9


def checked_rows(axes: Axes, values: Floats, normalize: bool | None) -> Floats:
    """Return rows that sum to one: unchanged if they do, normalised if the error is rounding or on request.

    ``normalize`` is None if the user has no such option, so that messages do not mention it.
    """
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        place = np.argwhere(wrong)[0]
        raise SettingError(
            "The table of {owner!r} has {value} at {where}. A probability is a number from 0 to 1.",
            owner=axes.owner,
            value=values[tuple(place)],
            where=axes.where(place),
        )
    sums = row_sums(values)
    off = np.abs(sums - 1.0) > ROUNDED
    refused = (sums == 0) | ~np.isfinite(sums) | (off if not normalize else False)
    if refused.any():
        place = np.argwhere(refused)[0]
        total = float(sums[tuple(place)])
        where = Message(" for {where}", where=axes.where(place)) if len(place) else ""
        hopeless = total == 0 or not np.isfinite(total) or normalize is not False
        way_out = (
            Message("Correct the row") if hopeless else Message("Correct the row, or pass normalize=True")
        )
        raise SettingError(
            "The probabilities of {owner!r}{where} sum to {total!r}, not 1. {way_out}.",
            owner=axes.owner,
            where=where,
            total=total,
            way_out=way_out,
        )
    # −0.0 becomes 0.0.
    return summing_to_one(values, sums) + 0.0


# A table as users write it: cells in order, nested mappings, a factor, a frame, or a distribution.
CptLike: TypeAlias = ArrayLike | Mapping[Any, Any] | Factor | Frame | Distribution

NUMBER_COLUMNS = ("p", "probability", "value")


def cells_of_frame(axes: Axes, frame: TableLike) -> list[tuple[Place, float]]:
    """Return the cells of a frame, in the order of its rows.

    Parameters
    ----------
    axes : the parents, then the child
    frame : pandas, Polars or PyArrow
        Long: a column for each parent, one for the child, and one named p, probability or value. Wide: a column
        for each parent, and one for each state of the child.
    """
    table = open_table(frame)
    parents = [_column(table, name) for name in axes.names[:-1]]
    absent = [name for name, column in zip(axes.names[:-1], parents, strict=True) if column is None]
    if absent:
        raise ColumnError(
            "The frame for {owner!r} has no column for its parent {absent!r}. It has {listing}.",
            owner=axes.owner,
            absent=absent[0],
            listing=_listing(table),
        )
    own = [column for column in parents if column is not None]
    child = _column(table, axes.names[-1])
    rest = [j for j in range(len(table.names)) if j not in own and j != child]
    number = [j for j in rest if table.names[j] in NUMBER_COLUMNS]
    if child is not None and number:
        return _long(axes, table, [*own, child], _the_only(rest, table, axes))
    return _wide(axes, table, own, sorted(rest if child is None else [*rest, child]))


def _long(axes: Axes, table: Rows, columns: list[int], number: int) -> list[tuple[Place, float]]:
    codes = [_codes_in(axes, axis, table, j) for axis, j in enumerate(columns)]
    return list(zip(zip(*codes, strict=True), _numbers_in(table, number, axes.owner), strict=True))


def _wide(axes: Axes, table: Rows, parents: list[int], columns: list[int]) -> list[tuple[Place, float]]:
    last = len(axes.names) - 1
    if not axes.open_last and not {str(table.names[j]) for j in columns} & set(map(str, axes.states[last])):
        raise ColumnError(
            "The frame for {owner!r} has the columns {listing}. It needs one for each parent, and either "
            "{owner!r} and 'p', or one for each state: {names}.",
            owner=axes.owner,
            listing=_listing(table),
            names=Joined(map(repr, axes.states[last])),
        )
    states = [axes.code(last, table.names[j]) for j in columns]
    codes = [_codes_in(axes, axis, table, j) for axis, j in enumerate(parents)]
    rows: list[Place] = list(zip(*codes, strict=True)) if codes else [()] * table.n_rows
    found: list[tuple[Place, float]] = []
    for state, j in zip(states, columns, strict=True):
        found += [((*row, state), p) for row, p in zip(rows, _numbers_in(table, j, axes.owner), strict=True)]
    return found


def _the_only(rest: list[int], table: Rows, axes: Axes) -> int:
    if len(rest) > 1:
        raise ColumnError(
            "The frame for {owner!r} has {names} besides its family. Keep the one with the probabilities.",
            owner=axes.owner,
            names=Joined(repr(table.names[j]) for j in rest),
        )
    return rest[0]


def _column(table: Rows, name: Name) -> int | None:
    """Find the column of a node by its name, otherwise by the text of its name."""
    if name in table.names:
        return table.names.index(name)
    written = [j for j, column in enumerate(table.names) if str(column) == str(name)]
    return written[0] if len(written) == 1 else None


def _codes_in(axes: Axes, axis: int, table: Rows, j: int) -> list[int]:
    coded = table.factorize(j)
    codes = np.asarray(coded.codes).astype(np.int64)
    if (codes < 0).any():
        row = int((codes < 0).argmax())
        raise ColumnError(
            "The frame for {owner!r} has no state of {name!r} in {place}.",
            owner=axes.owner,
            name=axes.names[axis],
            place=RowNumber(row),
        )
    # Labels in the order of the rows, and only those that occur.
    met, first = np.unique(codes, return_index=True)
    place = {int(code): axes.code(axis, coded.labels[int(code)]) for code in met[np.argsort(first)]}
    return [place[code] for code in codes.tolist()]


def _numbers_in(table: Rows, j: int, owner: Name) -> list[float]:
    if table.kind(j) != "numeric":
        raise ColumnError(
            "Column {name!r} of the frame for {owner!r} does not contain numbers.",
            name=table.names[j],
            owner=owner,
        )
    return [float(number) for number in table.numbers(j)]


def _listing(table: Rows) -> str:
    return ", ".join(map(repr, table.names))


def table_values(axes: Axes, table: Any) -> Floats:
    if isinstance(table, Mapping):
        return axes.filled(axes.cells(table))
    if isinstance(table, Factor):
        return _aligned(axes, table)
    if not isinstance(table, (list, tuple, np.ndarray, Table)) and is_frame(table):
        return axes.filled(cells_of_frame(axes, table))
    given = numbers(table.values if isinstance(table, Table) else table, axes.owner)
    shape = axes.shape
    if given.shape != shape and given.shape != (int(np.prod(shape)),):
        raise SettingError(
            "The table of {owner!r} has the shape {shape}; {shape2} is needed, or the same number of values "
            "in one list: one axis for each of {names}, the last varying fastest.",
            owner=axes.owner,
            shape=given.shape,
            shape2=shape,
            names=Joined(map(repr, axes.names)),
        )
    return given.reshape(shape)


def _aligned(axes: Axes, factor: Factor) -> Floats:
    """Reorder the axes and states of a factor to match the node."""
    if set(factor.names) != set(axes.names):
        raise SettingError(
            "The factor is over {names}; the table of {owner!r} is over {names2}.",
            names=Joined(map(repr, factor.names)) or Message("nothing"),
            owner=axes.owner,
            names2=Joined(map(repr, axes.names)),
        )
    values = factor.ordered(axes.names)
    codes = [[axes.code(k, state) for state in states] for k, states in enumerate(values.states)]
    for name, found, states in zip(axes.names, codes, axes.states, strict=True):
        absent = [state for code, state in enumerate(states) if code not in found]
        if absent or len(set(found)) < len(found):
            problem = (
                Message("lacks the state {absent!r}", absent=absent[0])
                if absent
                else Message("has a state twice")
            )
            raise SettingError(
                "The factor for {owner!r} {problem} of {name!r}.",
                owner=axes.owner,
                problem=problem,
                name=name,
            )
    return np.asarray(values.values[np.ix_(*(np.argsort(found) for found in codes))])


def softmax(network: Network, name: Name, intercept: object, coefficients: object) -> Softmax:
    """Read one softmax, or one for each configuration of the discrete parents.

    Examples
    --------
    >>> from bayeskit._networks.building import network_of
    >>> network = network_of({"buys": ["income"]}, {"buys": ["no", "yes"], "income": float})
    >>> softmax(network, "buys", -3.0, {"income": 0.5}).coefficients.tolist()
    [[0.0], [0.5]]
    """
    node = _softmax_node(network, name)
    numeric = network.numeric_parents(node)
    chosen = [parent for parent in node.parents if parent not in numeric]
    axes = Axes(name, [network[parent].variable for parent in chosen])
    axes.check_size()
    if not chosen:
        cells: list[tuple[tuple[int, ...], Any]] = [((), (intercept, coefficients))]
    else:
        if not isinstance(intercept, Mapping) or coefficients is not None:
            raise SettingError(
                "{name!r} has the discrete parents {given}: give a mapping from their states to (intercept, "
                "coefficients).",
                name=name,
                given=Joined(map(repr, chosen)),
            )
        cells = list(axes.cells(intercept))
    intercepts = np.zeros((*axes.shape, node.variable.size))
    slopes = np.zeros((*intercepts.shape, len(numeric)))
    seen = np.zeros(axes.shape, dtype=bool)
    for place, said in cells:
        if not isinstance(said, (tuple, list)) or len(said) != 2 or len(place) < len(axes.shape):
            raise SettingError(
                "{name!r} has {said!r} at {where}. Give (intercept, coefficients).",
                name=name,
                said=said,
                where=axes.where(place) or Message("its top"),
            )
        if np.any(seen[place]):
            raise SettingError(
                "The table of {owner!r} gives the value at {where} twice.",
                owner=name,
                where=axes.where(place),
            )
        intercepts[place] = _by_state(node.variable, said[0])
        slopes[place] = _slopes(network, node, numeric, said[1])
        seen[place] = True
    axes.refuse_gaps(seen)
    return fitting_softmax(network, name, Softmax(intercepts, slopes))


def _softmax_node(network: Network, name: Name) -> Node:
    """Return a discrete node with states and a continuous parent, or raise an error that says what it is."""
    node = node_with_states(network, name)
    if not network.numeric_parents(node):
        raise SettingError("{name!r} has no continuous parent. Call set_cpt({name!r}, ...).", name=name)
    return node


def _by_state(variable: Variable, given: object) -> Floats:
    """Read a number for each state: of two states, one number is that of the second against the first."""
    out = np.zeros(variable.size)
    if isinstance(given, Mapping):
        for state, value in given.items():
            out[state_code(variable.name, variable.states, state)] = _number(variable.name, value)
        return out
    if variable.size != 2:
        raise SettingError(
            "{name!r} has {size} states ({states}): give {{state: number}}, where a state that is left out has 0, "
            "not {given!r}.",
            name=variable.name,
            size=variable.size,
            states=variable.listing(),
            given=given,
        )
    out[1] = _number(variable.name, given)
    return out


def _slopes(network: Network, node: Node, numeric: tuple[Name, ...], given: object) -> Floats:
    if not isinstance(given, Mapping):
        raise SettingError(
            "The coefficients of {name!r} are {slopes!r}. Give {{parent: number}}.",
            name=node.name,
            slopes=given,
        )
    for parent in given:
        if parent not in numeric:
            raise unknown_node(parent, numeric)
    absent = next((parent for parent in numeric if parent not in given), None)
    if absent is not None:
        raise SettingError(
            "{name!r} has no coefficient for {parent!r}. Give one for each continuous parent.",
            name=node.name,
            parent=absent,
        )
    return np.stack([_by_state(node.variable, given[parent]) for parent in numeric], axis=-1)


def _number(name: Name, value: object) -> float:
    if not is_number(value) or not np.isfinite(value):
        raise SettingError(
            "The softmax of {name!r} has {value!r} where a finite number is needed.", name=name, value=value
        )
    return float(value)


def fitting_softmax(network: Network, name: Name, given: Softmax) -> Softmax:
    """Check that a softmax fits its node, and return it."""
    node = _softmax_node(network, name)
    numeric = network.numeric_parents(node)
    sizes = network.sizes_of(parent for parent in node.parents if parent not in numeric)
    shape = (*sizes, node.variable.size)
    wanted = (*shape, len(numeric))
    if given.intercept.shape != shape or given.coefficients.shape != wanted:
        raise SettingError(
            "The softmax of {name!r} has intercepts and coefficients of the shapes {shape}, {shape2}; {shape3} and "
            "{shape4} are needed.",
            name=name,
            shape=given.intercept.shape,
            shape2=given.coefficients.shape,
            shape3=shape,
            shape4=wanted,
        )
    for part in (given.intercept, given.coefficients):
        if not np.isfinite(part).all():
            raise SettingError(
                "The softmax of {name!r} has {value!r} where a finite number is needed.",
                name=name,
                value=float(part[~np.isfinite(part)].flat[0]),
            )
    return given
