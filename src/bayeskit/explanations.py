"""Explanations of predictions step by step, contributions, credible intervals and novelty."""

from typing import TYPE_CHECKING

from bayeskit._on_demand import on_demand

# Name → module, imported on demand.
_HOMES = {
    "Attribute": "bayeskit._report.explanation",
    "Average": "bayeskit._report.factors.average",
    "Contributions": "bayeskit._report.contributions",
    "Explanation": "bayeskit._report.explanation",
    "InformationTable": "bayeskit._report.information_table",
    "NetworkExplanation": "bayeskit._report.network_explanation",
    "Novelty": "bayeskit._report.row_figures",
    "OmittedAttribute": "bayeskit._report.explanation",
    "PageFactor": "bayeskit._report.explanation",
    "Picture": "bayeskit._report.picture",
    "PosteriorInterval": "bayeskit._report.row_figures",
    "Questions": "bayeskit._report.value_of_information",
    "Risks": "bayeskit._report.row_figures",
    "Summary": "bayeskit._report.summary_page",
    "SuperParent": "bayeskit._report.factors.average",
    "TreePaths": "bayeskit._report.tree_paths",
    "explain": "bayeskit._report.factors.arithmetic",
    "information": "bayeskit._report.information_table",
    "one_row": "bayeskit._report.row",
    "pairs": "bayeskit._report.information_table",
}

__all__ = [
    "Attribute",
    "Average",
    "Contributions",
    "Explanation",
    "InformationTable",
    "NetworkExplanation",
    "Novelty",
    "OmittedAttribute",
    "PageFactor",
    "Picture",
    "PosteriorInterval",
    "Questions",
    "Risks",
    "Summary",
    "SuperParent",
    "TreePaths",
    "explain",
    "information",
    "one_row",
    "pairs",
]

if TYPE_CHECKING:
    from bayeskit._report.contributions import Contributions
    from bayeskit._report.explanation import Attribute, Explanation, OmittedAttribute, PageFactor
    from bayeskit._report.factors.arithmetic import explain
    from bayeskit._report.factors.average import Average, SuperParent
    from bayeskit._report.information_table import InformationTable, information, pairs
    from bayeskit._report.network_explanation import NetworkExplanation
    from bayeskit._report.picture import Picture
    from bayeskit._report.row import one_row
    from bayeskit._report.row_figures import Novelty, PosteriorInterval, Risks
    from bayeskit._report.summary_page import Summary
    from bayeskit._report.tree_paths import TreePaths
    from bayeskit._report.value_of_information import Questions

__getattr__, __dir__ = on_demand(__name__, _HOMES)
