"""Line charts: the history of EM, a criterion over the number of components."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bayeskit._markup import plain
from bayeskit._report.charts.axis import around
from bayeskit._report.charts.chart import PlotPicture
from bayeskit._report.charts.chart_words import chart_words
from bayeskit._report.charts.plot import Axis, Curve, Panel, Plot, Points
from bayeskit.errors import SettingError

# With more points only the line is drawn.
MOST_POINTS = 60


def curve_picture(
    curves: Mapping[str, Iterable[tuple[float, float]]], across: str, up: str, title: str
) -> PlotPicture:
    """Draw curves, each with its name at its end.

    Parameters
    ----------
    curves : mapping from name to points (x, y)
        Points that are not finite are left out, because EM may start at −inf.
    across, up : the names of the axes
    title : the title of the picture

    Examples
    --------
    >>> curve_picture({"soft": enumerate([-30.0, -20.0, -19.0])}, "step", "log-likelihood", "EM climbs")
    <Picture: EM climbs, 440 × 385 pixels>
    """
    found = {
        name: sorted((float(x), float(y)) for x, y in points if math.isfinite(x) and math.isfinite(y))
        for name, points in curves.items()
    }
    found = {name: points for name, points in found.items() if points}
    if not found:
        raise SettingError(
            "No curve has a finite point, so there is nothing to draw of {title!r}.", title=title
        )
    everything = [point for points in found.values() for point in points]
    whole = all(x == round(x) for x, _ in everything)  # steps of EM are integers
    lines = tuple(
        _curve(i, name, points, f"{name}, in the end {points[-1][1]:.6g}")
        for i, (name, points) in enumerate(found.items())
    )
    x = Axis(across, *around(x for x, _ in everything), "whole" if whole else "number")
    y = Axis(up, *around(y for _, y in everything))
    description = "; ".join(
        f"{plain(name)}: " + ", ".join(f"{a:.6g} {b:.6g}" for a, b in points[:MOST_POINTS])
        for name, points in found.items()
    )
    return PlotPicture(Plot(title, (), description, (Panel(x, y, lines, direct=True),)))


def _curve(colour: int, name: str, points: Sequence[tuple[float, float]], description: str) -> Curve:
    x, y = np.array(points, dtype=np.float64).T
    return Curve(x, y, colour, name, description, size=3.5 if len(points) <= MOST_POINTS else 0.0)


def component_chart(
    found: Sequence[tuple[str, int, float]], criterion: str, *, lang: str = "en"
) -> PlotPicture:
    """Draw a criterion, of which the lowest value is the best.

    Parameters
    ----------
    found : sequence of (covariance type, number of components, value)
        Values that are not finite are left out.
    criterion : str
        The name of the criterion.
    lang : "en" or "zh"

    Examples
    --------
    >>> component_chart([("full", 1, 30.0), ("full", 2, 20.0), ("diag", 1, 25.0)], "BIC")
    <Picture: BIC by number of components: least for 2 components, full (20.00), 440 × 421 pixels>
    """
    words = chart_words(lang)
    points = [(kind, k, value) for kind, k, value in found if math.isfinite(value)]
    if not points:
        raise SettingError(
            "No model has a finite {criterion}, so there is nothing to draw.", criterion=criterion
        )
    best = min(points, key=lambda point: (point[2], point[1]))
    said = words["component" if best[1] == 1 else "components"].format(n=best[1])
    said = words["choice_best"].format(many=said, kind=plain(best[0])) if best[0] else said
    title = words["choice_title"].format(criterion=criterion, best=said, value=f"{best[2]:,.2f}")
    kinds = list(dict.fromkeys(kind for kind, _, _ in points))
    lines = {kind: sorted((k, value) for this, k, value in points if this == kind) for kind in kinds}
    curves = []
    for i, kind in enumerate(kinds):
        description = ", ".join(f"{k}: {value:.2f}" for k, value in lines[kind])
        curves.append(_curve(i, kind, lines[kind], f"{kind} {criterion} {description}".strip()))
    ring = Points(np.array([best[1]]), np.array([best[2]]), None, 8.0, "ring", description=f"best: {said}")
    numbers = sorted({k for _, k, _ in points})
    # Label every number that was tried.
    ticks = tuple((float(k), str(k)) for k in numbers)
    x = Axis(words["choice_axis"], *around(map(float, numbers)), ticks=ticks)
    y = Axis(criterion, *around(value for _, _, value in points))
    listed = "; ".join(f"{plain(kind)} {k}: {value:.2f}" for kind, k, value in points)
    panel = Panel(x, y, (*curves, ring), direct=True)
    return PlotPicture(Plot(title, (words["choice_note"],), listed, (panel,)))
