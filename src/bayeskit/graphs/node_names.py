"""What can be the name of a node, and the parents of a node as users write them."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from bayeskit.errors import SettingError
from bayeskit.schema import Name, can_be_kept, sorted_labels


def node_name(name: object) -> Name:
    """Check what is to be the name of a node: as that of a column, it must be found again in a file.

    >>> node_name(np.int64(3))
    3
    """
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, str):
        return str.__str__(name)
    if name is None or not is_label(name) or not can_be_kept(name):
        raise SettingError(
            f"{name!r} cannot be the name of a node. Use a string, a number or a tuple of them."
        )
    return name


def parent_names(node: object, given: object, known: Container[Any]) -> tuple[Name, ...]:
    """Read the parents of one node: names in a list or array, one name, or None.

    >>> parent_names("wet", ["rain"], {"rain"}), parent_names("wet", "rain", {"rain"}), parent_names("wet", None, {})
    (('rain',), ('rain',), ())
    """
    if given is None:
        return ()
    if isinstance(given, str) or (isinstance(given, Hashable) and is_label(given) and given in known):
        return (node_name(given),)
    if isinstance(given, (bytes, Mapping)) or not isinstance(given, Iterable):
        raise SettingError(f"{given!r} is no list of parents of {node!r}.")
    # A set has no order of its own, and the axes of a table need one.
    ordered = sorted_labels(given) if isinstance(given, (set, frozenset)) else given
    return tuple(map(node_name, ordered))


def is_label(value: object) -> bool:
    """Tell whether a value can be looked up: it has a hash, and equals itself."""
    try:
        hash(value)
        return bool(value == value)
    except (TypeError, ValueError):
        return False
