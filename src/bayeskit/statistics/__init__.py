"""The algebra of sufficient statistics. It never sees a row."""

from bayeskit.statistics.information import (
    class_information,
    conditional_mutual_information,
    entropy,
    mutual_information,
    pair_information,
)
from bayeskit.statistics.part import CellTable, Embedding, Part
from bayeskit.statistics.statistics import Statistics
from bayeskit.statistics.tables import Tables
from bayeskit.statistics.term import Pattern, Plan, Term

__all__ = [
    "CellTable",
    "Embedding",
    "Part",
    "Pattern",
    "Plan",
    "Statistics",
    "Tables",
    "Term",
    "class_information",
    "conditional_mutual_information",
    "entropy",
    "mutual_information",
    "pair_information",
]
