"""How much memory one exact answer may use: one setting for all, and an argument that overrides it."""

from __future__ import annotations

import math

import numpy as np

from bayeskit.errors import SettingError

DEFAULT = 2**30

# One name bound to one number: reading it is atomic, so threads need no lock.
_max_memory: float = DEFAULT


def set_max_memory(n_bytes: float) -> float:
    """Set how many bytes an exact answer may use where ``max_memory`` is not given; return what it was.

    Parameters
    ----------
    n_bytes : number
        2**30 (one GiB) at the start. ``math.inf`` takes the guard away.

    Examples
    --------
    >>> before = set_max_memory(2**31)
    >>> get_max_memory() == set_max_memory(before) == 2**31
    True
    """
    global _max_memory
    before, _max_memory = _max_memory, _checked(n_bytes, "n_bytes")
    return before


def get_max_memory() -> float:
    """Return how many bytes an exact answer may use where ``max_memory`` is not given."""
    return _max_memory


def allowed(max_memory: float | None) -> float:
    """Return the bytes that a call may use: its argument, or the setting where that is None."""
    return _max_memory if max_memory is None else _checked(max_memory, "max_memory")


def _checked(given: float, name: str) -> float:
    number = isinstance(given, (int, float, np.integer, np.floating)) and not isinstance(given, bool)
    if not number or math.isnan(given) or given <= 0:
        raise SettingError(f"{name} is {given!r}; give a positive number of bytes, such as 2**30.")
    # A plain number of Python: sizes beyond 64 bits are compared with it.
    return given.item() if isinstance(given, np.generic) else given
