"""Import of a package's names on first use (PEP 562)."""

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
        A name is stored after its first use. No module may have the name of an object in it, because importing the
        module would replace the object.
    modules : names of submodules that can be used without importing them

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
