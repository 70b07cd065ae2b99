"""Argument checks: integers, numbers in a range, switches, choices, arrays, names of nodes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.dag import Dag, unknown_node
from bayeskit._messages import Joined, Message
from bayeskit._schema import Name
from bayeskit.errors import SettingError
from bayeskit.typing import NamesLike


def whole_number(value: object, name: str, least: int) -> int:
    """Return an integer that is not too small.

    >>> whole_number(np.int64(3), "n", 0)
    3
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise SettingError(
            "{name} is {value!r}; give a whole number, {least} or more.", name=name, value=value, least=least
        )
    return int(value)


def number_below(value: object, name: str, below: float = math.inf) -> float:
    """Return a number from 0 to below a bound."""
    if not is_number(value) or not 0 <= value < below:
        upper = "" if math.isinf(below) else Message(" and below {below:g}", below=below)
        raise SettingError(
            "{name} is {value!r}; give a number, 0 or more{upper}.", name=name, value=value, upper=upper
        )
    return float(value)


def switch(value: object, name: str) -> bool:
    """Return True or False; ``"no"`` is neither."""
    if not isinstance(value, (bool, np.bool_)):
        raise SettingError("{name} is {value!r}; it must be True or False.", name=name, value=value)
    return bool(value)


def choice(value: object, name: str, choices: tuple[str, ...]) -> str:
    """Return the value if it is one of the choices.

    >>> choice("up", "direction", ("down", "right"))
    Traceback (most recent call last):
    ...
    bayeskit.errors.SettingError: direction is 'up'; choose from 'down', 'right'.
    """
    if not isinstance(value, str) or value not in choices:
        raise SettingError(
            "{name} is {value!r}; choose from {names}.",
            name=name,
            value=value,
            names=Joined(map(repr, choices)),
        )
    return value


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number of Python or NumPy. True and False are not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def real_numbers(value: object) -> NDArray[np.float64] | None:
    """Return real numbers as a new array; None for text, complex numbers, masked cells and ragged lists.

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


def known_node(dag: Dag, name: Name) -> Name:
    """Return the name of a node, or raise an error if there is no such node.

    Examples
    --------
    >>> known_node(Dag.of({}, ["rain"]), "rain")
    'rain'
    """
    try:
        return dag.nodes[dag.position[name]]
    except (KeyError, TypeError):
        raise unknown_node(name, dag.nodes) from None


def known_nodes(dag: Dag, given: NamesLike, what: str) -> tuple[Name, ...]:
    """Return the nodes of an argument, each once: a name, or a list, tuple or set of names.

    ``what`` is the name of the argument, for messages. A tuple that is itself the name of a node is that
    node.

    Examples
    --------
    >>> dag = Dag.of({}, ["rain", "wet"])
    >>> known_nodes(dag, "rain", "a"), known_nodes(dag, ["wet", "rain", "wet"], "a")
    (('rain',), ('wet', 'rain'))
    """
    if isinstance(given, str) or (isinstance(given, Hashable) and _is_node(dag, given)):
        return (known_node(dag, given),)
    if isinstance(given, Mapping):
        raise SettingError(
            "{what} is {given!r}; give names of nodes only: their states have no part in this.",
            what=what,
            given=given,
        )
    if not isinstance(given, Iterable):
        return (known_node(dag, given),)
    names = dict.fromkeys(known_node(dag, name) for name in given)
    if isinstance(given, (set, frozenset)):
        return tuple(sorted(names, key=dag.position.__getitem__))
    return tuple(names)


def two_groups(dag: Dag, a: NamesLike, b: NamesLike) -> tuple[tuple[Name, ...], tuple[Name, ...]]:
    """Return the nodes of two arguments ``a`` and ``b``. Neither may be empty, and they may not share a node."""
    groups = known_nodes(dag, a, "a"), known_nodes(dag, b, "b")
    for what, group in zip("ab", groups, strict=True):
        if not group:
            raise SettingError("{what} names no node. Give one name, or a list of names.", what=what)
    both = next((name for name in groups[0] if name in groups[1]), None)
    if both is not None:
        raise SettingError(
            "{both!r} is in a and in b. A node is not compared with itself: take it out of one.", both=both
        )
    return groups


def _is_node(dag: Dag, given: object) -> bool:
    try:
        return given in dag.position
    except TypeError:  # a tuple that contains a list
        return False
