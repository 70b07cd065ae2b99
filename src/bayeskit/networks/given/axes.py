"""The axes of a table that a user gives: whose states they are, and where each cell goes."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from reprlib import repr as shortly
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import SettingError, TooLarge, UsageError
from bayeskit.networks.arguments import real_numbers
from bayeskit.networks.given.building import state_labels
from bayeskit.schema import Label, Name, Variable, state_code

Place = tuple[int, ...]

# A table given cell by cell is not made larger than this, in bytes.
LARGEST_TABLE = 2**30


class Axes:
    """Discrete variables, one for each axis of a table of the node ``owner``.

    Parameters
    ----------
    owner : the node whose table it is, for messages
    variables : the variables of the axes
    open_last : bool
        The last variable has no states yet: they are what is met, in the order in which it is met.

    Examples
    --------
    >>> from bayeskit.graphs.network import discrete
    >>> axes = Axes("wet", [discrete("rain", ["no", "yes"]), discrete("wet", ["dry", "wet"])])
    >>> axes.cells({"no": {"dry": 0.9, "wet": 0.1}})
    [((0, 0), 0.9), ((0, 1), 0.1)]
    """

    def __init__(self, owner: Name, variables: Sequence[Variable], *, open_last: bool = False) -> None:
        self.owner = owner
        self.names = tuple(v.name for v in variables)
        self.states: list[list[Label]] = [list(v.states) for v in variables]
        self.open_last = open_last
        closed = self.names[:-1] if open_last else self.names
        for name, states in zip(closed, self.states):
            if not states:
                raise UsageError(
                    f"The table of {owner!r} needs the states of {name!r}, which are not known yet. Call "
                    f"set_states({name!r}, [...]), or give states= when the network is made."
                )

    @property
    def shape(self) -> Place:
        return tuple(len(states) for states in self.states)

    def code(self, axis: int, value: object) -> int:
        """Return the place of a state on an axis."""
        states = self.states[axis]
        if type(value) is str and value in states:
            return states.index(value)
        if self.open_last and axis == len(self.states) - 1 and not _among(value, states):
            states.extend(state_labels(self.names[axis], [value]))
        return state_code(self.names[axis], states, value)

    def where(self, place: Sequence[int]) -> str:
        """Say in words where a cell or a row is; nothing for a table without parents."""
        pairs = zip(self.names, self.states, place)
        return ", ".join(f"{name!r} = {states[int(k)]!r}" for name, states, k in pairs)

    def cells(self, given: Mapping[Any, Any]) -> list[tuple[Place, Any]]:
        """Walk nested mappings to their ends: the place that the keys say, and what stands there.

        A key is the state of the next axis, or a tuple of the states of the next few.
        """
        found: list[tuple[Place, Any]] = []
        waiting: deque[tuple[Place, Any]] = deque([((), given)])
        while waiting:
            place, here = waiting.popleft()
            if isinstance(here, Mapping) and len(place) < len(self.names):
                waiting.extend((place + self._places(len(place), key), value) for key, value in here.items())
            else:
                found.append((place, here))
        return found

    def _places(self, axis: int, key: object) -> Place:
        left = len(self.names) - axis
        one_state = _among(key, self.states[axis]) or (self.open_last and left == 1)
        if not isinstance(key, tuple) or one_state:
            return (self.code(axis, key),)
        if not 1 <= len(key) <= left:
            wanted = ", ".join(map(repr, self.names[axis:]))
            raise SettingError(
                f"In the table of {self.owner!r} stands the key {key!r}, which should be states of {wanted}."
            )
        return tuple(self.code(axis + k, state) for k, state in enumerate(key))

    def filled(self, cells: Iterable[tuple[Place, Any]]) -> NDArray[np.float64]:
        """Put numbers where they belong; every cell must be given, and only once.

        A place that stops short of the last axis holds an array over the axes that are left.
        """
        self.check_size()
        shape = self.shape
        if self.open_last and not shape[-1]:
            raise UsageError(
                f"The table of {self.owner!r} names no states, and they are not known yet. Name them in it, or call "
                f"set_states({self.owner!r}, [...]) first."
            )
        values = np.zeros(shape)
        seen = np.zeros(shape, dtype=bool)
        for place, value in cells:
            part = numbers(value, self.owner, self.where(place))
            if part.shape != shape[len(place) :]:
                raise SettingError(
                    f"The table of {self.owner!r} has {shortly(value)}{_at(self.where(place))}, where "
                    f"{_wanted(self.names[len(place) :], shape[len(place) :])} is needed."
                )
            if np.any(seen[place]):
                raise SettingError(
                    f"The table of {self.owner!r} says twice what stands at {self.where(place)}."
                )
            values[place] = part
            seen[place] = True
        self.refuse_gaps(seen)
        return values

    def refuse_gaps(self, seen: NDArray[np.bool_]) -> None:
        """Name the cells that were not given, at most eight of them."""
        gaps = np.argwhere(~seen)
        if len(gaps):
            named = "; ".join(self.where(place) for place in gaps[:8])
            more = f"; … {len(gaps) - 8} more" if len(gaps) > 8 else ""
            raise SettingError(
                f"The table of {self.owner!r} does not say what stands at {named}{more}. Nothing may be left "
                "out, also where it is 0."
            )

    def check_size(self, way_out: str = "") -> None:
        cells = math.prod(self.shape)
        if 8 * cells > LARGEST_TABLE:
            way_out = way_out or (
                f"Give {self.owner!r} fewer parents, or make them independent causes: set_noisy_or, set_noisy_max."
            )
            raise TooLarge(8 * cells, LARGEST_TABLE, self.names, cells, way_out)


def numbers(value: object, owner: Name, where: str = "") -> NDArray[np.float64]:
    """Return real numbers as an array; strings, complex numbers and ragged lists are refused.

    >>> numbers([1, 0.5], "rain")
    array([1. , 0.5])
    """
    array = real_numbers(value)
    if array is None:
        raise SettingError(
            f"The table of {owner!r} has {shortly(value)}{_at(where)}, where numbers are needed."
        )
    return array


def _among(value: object, states: Sequence[Label]) -> bool:
    try:
        return value in states
    except (TypeError, ValueError):  # pandas.NA and arrays refuse to be compared
        return False


def _at(where: str) -> str:
    return f" at {where}" if where else ""


def _wanted(names: Sequence[Name], shape: Place) -> str:
    if not shape:
        return "one number"
    return f"an array of shape {shape} (the states of {', '.join(map(repr, names))})"
