"""Plain arguments checked at the door: whole numbers, numbers in a range, switches, choices, arrays of numbers."""

from __future__ import annotations

import math
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import SettingError


def whole_number(value: object, name: str, least: int) -> int:
    """Return a whole number that is not too small.

    >>> whole_number(np.int64(3), "n", 0)
    3
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise SettingError(f"{name} is {value!r}; give a whole number, {least} or more.")
    return int(value)


def number_below(value: object, name: str, below: float = math.inf) -> float:
    """Return a number from 0 to below a bound."""
    if not is_number(value) or not 0 <= value < below:
        upper = "" if math.isinf(below) else f" and below {below:g}"
        raise SettingError(f"{name} is {value!r}; give a number, 0 or more{upper}.")
    return float(value)


def switch(value: object, name: str) -> bool:
    """Return True or False; ``"no"`` is neither."""
    if not isinstance(value, (bool, np.bool_)):
        raise SettingError(f"{name} is {value!r}; it may be True or False.")
    return bool(value)


def choice(value: object, name: str, choices: tuple[str, ...]) -> str:
    """Return one of some words.

    >>> choice("up", "direction", ("down", "right"))
    Traceback (most recent call last):
    ...
    bayeskit.errors.SettingError: direction is 'up'; it may be 'down' or 'right'.
    """
    if not isinstance(value, str) or value not in choices:
        raise SettingError(f"{name} is {value!r}; it may be {' or '.join(map(repr, choices))}.")
    return value


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether a value is one real number, of Python or of NumPy; True and False are none."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def real_numbers(value: object) -> NDArray[np.float64] | None:
    """Return real numbers as an array of their own; None for texts, complex numbers, masked cells, ragged lists.

    >>> real_numbers([1, 0.5])
    array([1. , 0.5])
    >>> real_numbers(["1", "0.5"]) is None
    True
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        return None
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biufO":
            return None
        if array.dtype.kind == "O" and any(isinstance(cell, (str, bytes)) for cell in array.flat):
            return None
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
