"""The algebra of sufficient statistics. It never sees a row."""

from bayeskit.statistics.part import Embedding, Part
from bayeskit.statistics.statistics import Statistics
from bayeskit.statistics.tables import Tables
from bayeskit.statistics.term import Pattern, Plan, Term

__all__ = ["Embedding", "Part", "Pattern", "Plan", "Statistics", "Tables", "Term"]
