"""Charts that hold their data and can be drawn as SVG or with Matplotlib."""

from typing import TYPE_CHECKING

from bayeskit._on_demand import on_demand

# Name → module, imported on demand.
_HOMES = {
    "Axis": "bayeskit._report.charts.plot",
    "Bars": "bayeskit._report.charts.plot",
    "Chart": "bayeskit._report.charts.chart",
    "ClassProfile": "bayeskit._report.charts.class_profile",
    "CostCurve": "bayeskit._report.charts.decision_curves",
    "Curve": "bayeskit._report.charts.plot",
    "Key": "bayeskit._report.charts.plot",
    "Nomogram": "bayeskit._report.charts.nomogram",
    "Panel": "bayeskit._report.charts.plot",
    "Plot": "bayeskit._report.charts.plot",
    "PlotPicture": "bayeskit._report.charts.chart",
    "Points": "bayeskit._report.charts.plot",
    "Regions": "bayeskit._report.charts.regions",
    "RejectCurve": "bayeskit._report.charts.decision_curves",
    "Reliability": "bayeskit._report.charts.reliability_chart",
    "Waterfall": "bayeskit._report.charts.waterfall",
    "RankingCurve": "bayeskit._report.charts.ranking_curves",
    "cost_curve": "bayeskit._report.charts.decision_curves",
    "curve_picture": "bayeskit._report.mixture_report",
    "lift_curve": "bayeskit._report.charts.ranking_curves",
    "precision_recall_curve": "bayeskit._report.charts.ranking_curves",
    "reject_curve": "bayeskit._report.charts.decision_curves",
    "reliability": "bayeskit._report.charts.reliability_chart",
    "roc_curve": "bayeskit._report.charts.ranking_curves",
    "states_axis": "bayeskit._report.charts.plot",
}

__all__ = [
    "Axis",
    "Bars",
    "Chart",
    "ClassProfile",
    "CostCurve",
    "Curve",
    "Key",
    "Nomogram",
    "Panel",
    "Plot",
    "PlotPicture",
    "Points",
    "RankingCurve",
    "Regions",
    "RejectCurve",
    "Reliability",
    "Waterfall",
    "cost_curve",
    "curve_picture",
    "lift_curve",
    "precision_recall_curve",
    "reject_curve",
    "reliability",
    "roc_curve",
    "states_axis",
]

if TYPE_CHECKING:
    from bayeskit._report.charts.chart import Chart, PlotPicture
    from bayeskit._report.charts.class_profile import ClassProfile
    from bayeskit._report.charts.decision_curves import CostCurve, RejectCurve, cost_curve, reject_curve
    from bayeskit._report.charts.nomogram import Nomogram
    from bayeskit._report.charts.plot import Axis, Bars, Curve, Key, Panel, Plot, Points, states_axis
    from bayeskit._report.charts.ranking_curves import (
        RankingCurve,
        lift_curve,
        precision_recall_curve,
        roc_curve,
    )
    from bayeskit._report.charts.regions import Regions
    from bayeskit._report.charts.reliability_chart import Reliability, reliability
    from bayeskit._report.charts.waterfall import Waterfall
    from bayeskit._report.mixture_report import curve_picture

__getattr__, __dir__ = on_demand(__name__, _HOMES)
