"""Models compared on the same rows, with ties called ties: ``bayeskit.compare``."""

from typing import TYPE_CHECKING

from bayeskit.on_demand import on_demand

_HOMES = {
    "Comparison": "bayeskit.report.comparison_report.comparison",
    "Watcher": "bayeskit.comparing.run",
    "compare": "bayeskit.comparing.run",
}

__all__ = ["Comparison", "Watcher", "compare"]

if TYPE_CHECKING:
    from bayeskit.comparing.run import Watcher, compare
    from bayeskit.report.comparison_report.comparison import Comparison

__getattr__, __dir__ = on_demand(__name__, _HOMES)
