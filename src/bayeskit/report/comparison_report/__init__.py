"""A comparison of models as values, as sentences, and as one page of HTML."""

from bayeskit.report.comparison_report.comparison import (
    Column,
    Comparison,
    Held,
    Measure,
    ModelStanding,
    Table,
)
from bayeskit.report.comparison_report.comparison_page import Findings, RowShown, as_page
from bayeskit.report.comparison_report.verdict import verdict

__all__ = [
    "Column",
    "Comparison",
    "Findings",
    "Held",
    "Measure",
    "ModelStanding",
    "RowShown",
    "Table",
    "as_page",
    "verdict",
]
