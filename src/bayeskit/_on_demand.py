"""Imports the names of a package on first use (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def on_demand(
    package: str, homes: Mapping[str, str], modules: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : its name
    homes : {name: module}
        A name is kept once it was asked for. No module may have the name of what it holds: importing it would put
        the module in the name's place.
    modules : names of submodules that are there without being imported

    Examples
    --------
    >>> look_up, names = on_demand("bayeskit._on_demand", {"exp": "math"})
    >>> look_up("exp")(0.0), "exp" in names()
    (1.0, True)
    """

    def look_up(name: str) -> Any:
        if name in homes:
            value = getattr(import_module(homes[name]), name)
            setattr(sys.modules[package], name, value)
            return value
        if name in modules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes, *modules})

    return look_up, names
