"""The result of a comparison as values, as sentences, and as an HTML report."""

from bayeskit._report.comparison_report.comparison import (
    Column,
    Comparison,
    JudgedRows,
    Measure,
    ModelStanding,
    Table,
)
from bayeskit._report.comparison_report.comparison_page import ExplainedRow, Findings, as_page
from bayeskit._report.comparison_report.verdict import verdict

__all__ = [
    "Column",
    "Comparison",
    "ExplainedRow",
    "Findings",
    "JudgedRows",
    "Measure",
    "ModelStanding",
    "Table",
    "as_page",
    "verdict",
]
