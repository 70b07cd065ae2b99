"""Sufficient statistics that can be added, subtracted, scaled and saved, and information measures."""

from typing import TYPE_CHECKING

from bayeskit._on_demand import on_demand

# Name → module, imported on demand.
_HOMES = {
    "CellTable": "bayeskit._statistics.part",
    "Embedding": "bayeskit._statistics.part",
    "Part": "bayeskit._statistics.part",
    "Pattern": "bayeskit._statistics.term",
    "Plan": "bayeskit._statistics.term",
    "Schema": "bayeskit._schema",
    "Statistics": "bayeskit._statistics.statistics",
    "Tables": "bayeskit._statistics.tables",
    "Term": "bayeskit._statistics.term",
    "Variable": "bayeskit._schema",
    "class_information": "bayeskit._statistics.information",
    "conditional_mutual_information": "bayeskit._statistics.information",
    "entropy": "bayeskit._statistics.information",
    "load_statistics": "bayeskit._io.statistics",
    "mutual_information": "bayeskit._statistics.information",
    "pair_information": "bayeskit._statistics.information",
    "save_statistics": "bayeskit._io.statistics",
}

__all__ = [
    "CellTable",
    "Embedding",
    "Part",
    "Pattern",
    "Plan",
    "Schema",
    "Statistics",
    "Tables",
    "Term",
    "Variable",
    "class_information",
    "conditional_mutual_information",
    "entropy",
    "load_statistics",
    "mutual_information",
    "pair_information",
    "save_statistics",
]

if TYPE_CHECKING:
    from bayeskit._io.statistics import load_statistics, save_statistics
    from bayeskit._schema import Schema, Variable
    from bayeskit._statistics.information import (
        class_information,
        conditional_mutual_information,
        entropy,
        mutual_information,
        pair_information,
    )
    from bayeskit._statistics.part import CellTable, Embedding, Part
    from bayeskit._statistics.statistics import Statistics
    from bayeskit._statistics.tables import Tables
    from bayeskit._statistics.term import Pattern, Plan, Term

__getattr__, __dir__ = on_demand(__name__, _HOMES)
