"""What a user says of the columns of a table: their states, and where to cut them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayeskit.data.columns import is_missing
from bayeskit.data.table import Table
from bayeskit.errors import ColumnError, SettingError
from bayeskit.schema import Name, first_twice


def check_states(states: Any) -> None:
    """Refuse what declares no states of columns."""
    if states is not None and not isinstance(states, Mapping):
        raise SettingError(f"states is {states!r}; give a mapping from column to its states.")


def states_by_name(states: Any, table: Table) -> dict[Name, tuple[Any, ...] | None]:
    """Read declared states; None for a column that is continuous."""
    check_states(states)
    if states is None:
        return {}
    found: dict[Name, tuple[Any, ...] | None] = {}
    for name, given in states.items():
        if name not in table.names:
            raise ColumnError(f"states names {name!r}, which is no column.")
        if given is float or (isinstance(given, str) and given == "continuous"):
            found[name] = None
        elif isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
            raise SettingError(
                f"The states of {name!r} are {given!r}. Give a list in their order, or float for a continuous column."
            )
        else:
            found[name] = _distinct(name, tuple(given))
    return found


def _distinct(name: Name, states: tuple[Any, ...]) -> tuple[Any, ...]:
    twice = first_twice(states)
    if not states or twice is not None:
        wrong = f"hold {twice!r} twice" if states else "are none"
        raise SettingError(f"The states declared for {name!r} {wrong}. Give each state once.")
    return states


def cuts_by_name(discretize: Any, table: Table) -> dict[Name, Any]:
    """Read how columns are to be cut: {column: number of intervals, or cut points}; a number is for all floats."""
    if discretize is None:
        return {}
    if isinstance(discretize, Mapping):
        for name in discretize:
            if name not in table.names:
                raise ColumnError(f"discretize names {name!r}, which is no column.")
        return {
            name: given if isinstance(given, (Sequence, np.ndarray)) else _intervals(given)
            for name, given in discretize.items()
        }
    many = _intervals(discretize)
    numeric = [(j, name) for j, name in enumerate(table.names) if table.kind(j) == "numeric"]
    return {name: many for j, name in numeric if not is_whole(table, j)}


def is_whole(table: Table, j: int) -> bool:
    """Tell whether a column of numbers is one of whole numbers.

    Where cells are missing its numbers come as floats; the frame, or the cells of a list, know what they are.
    """
    if table.frame is not None:
        return bool(table.frame.schema[table.names[j]].is_integer())
    raw = table.raw(j)
    if raw.dtype.kind == "O":
        cells = [value for value in raw if not is_missing(value)]
        return bool(cells) and all(isinstance(value, (int, np.integer)) for value in cells)
    return raw.dtype.kind in "iu"


def _intervals(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < 2:
        raise SettingError(
            f"discretize is {given!r}; give a number of intervals of at least 2, or a mapping from column to "
            "such a number or to cut points."
        )
    return int(given)
