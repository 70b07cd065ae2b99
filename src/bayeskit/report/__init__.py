"""Explanations: the prediction of a row as a page of arithmetic."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Name → module, imported when asked for: the values need neither the kernels nor Rich.
_HOMES = {
    "Attribute": "bayeskit.report.explanation",
    "Explanation": "bayeskit.report.explanation",
    "Factor": "bayeskit.report.explanation",
    "LeftOut": "bayeskit.report.explanation",
    "explain": "bayeskit.report.arithmetic",
    "one_row": "bayeskit.report.row",
}

__all__ = ["Attribute", "Explanation", "Factor", "LeftOut", "explain", "one_row"]

if TYPE_CHECKING:
    from bayeskit.report.arithmetic import explain
    from bayeskit.report.explanation import Attribute, Explanation, Factor, LeftOut
    from bayeskit.report.row import one_row


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'bayeskit.report' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
