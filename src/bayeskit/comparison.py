"""Comparison of models on the same rows, with a test for ties: ``bayeskit.compare`` and its result."""

from typing import TYPE_CHECKING

from bayeskit._on_demand import on_demand

# Name → module, imported on demand.
_HOMES = {
    "Comparison": "bayeskit._report.comparison_report.comparison",
    "ModelStanding": "bayeskit._report.comparison_report.comparison",
    "Watcher": "bayeskit._comparison.run",
    "compare": "bayeskit._comparison.run",
}

__all__ = [
    "Comparison",
    "ModelStanding",
    "Watcher",
    "compare",
]

if TYPE_CHECKING:
    from bayeskit._comparison.run import Watcher, compare
    from bayeskit._report.comparison_report.comparison import Comparison, ModelStanding

__getattr__, __dir__ = on_demand(__name__, _HOMES)
