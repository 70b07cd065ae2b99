"""Values as users write them → the states they mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayeskit.errors import UnseenState
from bayeskit.schema import Label, Name


def state_code(name: Name, states: Sequence[Label], value: Any) -> int:
    """Return the place of a value among the states of a node: by equality, else by how it is written.

    Parameters
    ----------
    name : the node, for the message
    states : its states, in order
    value : what was given

    Examples
    --------
    >>> state_code("rain", ("no", "yes"), "yes"), state_code("n", ("0", "1"), 1.0)
    (1, 1)
    >>> state_code("b", ("false", "true"), True)
    1
    >>> state_code("rain", ("no", "yes"), "maybe")
    Traceback (most recent call last):
    ...
    bayeskit.errors.UnseenState: 'rain' has no state 'maybe' (it has 'no', 'yes').
    """
    if isinstance(value, np.generic):
        value = value.item()
    for code, state in enumerate(states):
        if _equal(state, value):
            return code
    written = _written(value)
    found = [code for code, state in enumerate(states) if written & _written(state)]
    if len(found) == 1:
        return found[0]
    listing = ", ".join(map(repr, states[:12])) + (", …" if len(states) > 12 else "")
    raise UnseenState(f"{name!r} has no state {value!r} (it has {listing}).")


def _equal(state: Any, value: Any) -> bool:
    try:
        return bool(state == value)
    except (TypeError, ValueError):  # an array, or something that refuses to be compared
        return False


def _written(value: Any) -> set[str]:
    """Return the ways in which a value may stand in a file."""
    forms = {str(value)}
    if isinstance(value, bool):
        forms.add(str(value).lower())
    elif isinstance(value, float) and value.is_integer():
        forms.add(str(int(value)))
    return forms
