"""Explanations: the prediction of a row as a page of arithmetic."""

from typing import TYPE_CHECKING

from bayeskit.on_demand import on_demand

# Name → module, imported when asked for: the values need neither the kernels nor Rich.
_HOMES = {
    "Average": "bayeskit.report.factors.average",
    "Attribute": "bayeskit.report.explanation",
    "Contributions": "bayeskit.report.contributions",
    "Explanation": "bayeskit.report.explanation",
    "PageFactor": "bayeskit.report.explanation",
    "LeftOut": "bayeskit.report.explanation",
    "NetworkExplanation": "bayeskit.report.networks.network_explanation",
    "Novelty": "bayeskit.report.novelty_report",
    "Questions": "bayeskit.report.information_value",
    "Risks": "bayeskit.report.risks",
    "SuperParent": "bayeskit.report.factors.average",
    "explain": "bayeskit.report.factors.arithmetic",
    "information": "bayeskit.report.information_table",
    "one_row": "bayeskit.report.row",
    "pairs": "bayeskit.report.information_table",
}

__all__ = [
    "Attribute",
    "Average",
    "Contributions",
    "Explanation",
    "LeftOut",
    "NetworkExplanation",
    "Novelty",
    "PageFactor",
    "Questions",
    "Risks",
    "SuperParent",
    "explain",
    "information",
    "one_row",
    "pairs",
]

if TYPE_CHECKING:
    from bayeskit.report.contributions import Contributions
    from bayeskit.report.explanation import Attribute, Explanation, LeftOut, PageFactor
    from bayeskit.report.factors.arithmetic import explain
    from bayeskit.report.factors.average import Average, SuperParent
    from bayeskit.report.information_table import information, pairs
    from bayeskit.report.information_value import Questions
    from bayeskit.report.networks.network_explanation import NetworkExplanation
    from bayeskit.report.novelty_report import Novelty
    from bayeskit.report.risks import Risks
    from bayeskit.report.row import one_row

__getattr__, __dir__ = on_demand(__name__, _HOMES)
