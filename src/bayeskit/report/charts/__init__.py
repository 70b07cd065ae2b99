"""Charts: small values with numbers in them that draw themselves, as SVG and with Matplotlib."""

from typing import TYPE_CHECKING

from bayeskit.on_demand import on_demand

# Name → module, imported when asked for.
_HOMES = {
    "Chart": "bayeskit.report.charts.chart",
    "CostCurve": "bayeskit.report.charts.decision_curves",
    "Nomogram": "bayeskit.report.charts.nomogram",
    "ClassProfile": "bayeskit.report.charts.class_profile",
    "Regions": "bayeskit.report.charts.regions",
    "RejectCurve": "bayeskit.report.charts.decision_curves",
    "Reliability": "bayeskit.report.charts.reliability_chart",
    "cost_curve": "bayeskit.report.charts.decision_curves",
    "reject_curve": "bayeskit.report.charts.decision_curves",
    "reliability": "bayeskit.report.charts.reliability_chart",
}

__all__ = [
    "Chart",
    "ClassProfile",
    "CostCurve",
    "Nomogram",
    "Regions",
    "RejectCurve",
    "Reliability",
    "cost_curve",
    "reject_curve",
    "reliability",
]

if TYPE_CHECKING:
    from bayeskit.report.charts.chart import Chart
    from bayeskit.report.charts.class_profile import ClassProfile
    from bayeskit.report.charts.decision_curves import CostCurve, RejectCurve, cost_curve, reject_curve
    from bayeskit.report.charts.nomogram import Nomogram
    from bayeskit.report.charts.regions import Regions
    from bayeskit.report.charts.reliability_chart import Reliability, reliability

__getattr__, __dir__ = on_demand(__name__, _HOMES)
