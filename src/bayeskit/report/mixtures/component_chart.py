"""A criterion over the number of components, one line for each covariance type: a picture that stands alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bayeskit.errors import SettingError
from bayeskit.report.charts.axis import WIDTH, Scale, dot, frame, room_for, spread
from bayeskit.report.charts.chart import ChartPicture
from bayeskit.report.charts.legend import heading
from bayeskit.report.charts.ticks import Tick, around, ticks_of
from bayeskit.report.charts.words import chart_words
from bayeskit.report.curve_picture import HEIGHT, name_room, named_curve
from bayeskit.report.picture_text import plain
from bayeskit.report.scene import Group, Scene


def component_chart(
    found: Sequence[tuple[str, int, float]], criterion: str, *, lang: str = "en"
) -> ChartPicture:
    """Draw a criterion, the least of which is the best.

    Parameters
    ----------
    found : sequence of (covariance type, number of components, value)
        Values that are not finite are left out.
    criterion : str
        The name of what is drawn.
    lang : "en" or "zh"

    Examples
    --------
    >>> component_chart([("full", 1, 30.0), ("full", 2, 20.0), ("diag", 1, 25.0)], "BIC")
    <Picture: BIC by number of components: least for 2 components, full (20.00), 440 × 421 pixels>
    """
    words = chart_words(lang)
    points = [(kind, k, value) for kind, k, value in found if math.isfinite(value)]
    if not points:
        raise SettingError(f"No model has a finite {criterion}, so there is nothing to draw.")
    best = min(points, key=lambda point: (point[2], point[1]))
    said = words["component" if best[1] == 1 else "components"].format(n=best[1])
    said = words["choice_best"].format(many=said, kind=plain(best[0])) if best[0] else said
    title = words["choice_title"].format(criterion=criterion, best=said, value=f"{best[2]:,.2f}")
    marks, top = heading(title, [words["choice_note"]])
    top += 26
    low, high = around(value for _, _, value in points)
    y_ticks = ticks_of(low, high)
    numbers = sorted({k for _, k, _ in points})
    kinds = list(dict.fromkeys(kind for kind, _, _ in points))
    ends = around(map(float, numbers))
    x = Scale(*ends, room_for(y_ticks), WIDTH - name_room(kinds))
    y = Scale(low, high, top + HEIGHT, top)
    # Every number that was tried: there is nothing between.
    x_ticks: list[Tick] = [(float(k), str(k)) for k in numbers]
    marks += frame(x, y, x_ticks, y_ticks, words["choice_axis"], criterion)
    lines = {kind: sorted((k, value) for this, k, value in points if this == kind) for kind in kinds}
    labels = spread([y(lines[kind][-1][1]) for kind in kinds], y.start)
    groups = [Group("axes", tuple(marks))]
    for i, kind in enumerate(kinds):
        at = [(x(k), y(value)) for k, value in lines[kind]]
        told = ", ".join(f"{k}: {value:.2f}" for k, value in lines[kind])
        drawn = named_curve(i, kind, at, x.stop, labels[i])
        groups.append(Group(f"{plain(kind)} {criterion} {told}".strip(), tuple(drawn)))
    ring = dot(x(best[1]), y(best[2]), 8.0, "chart-ring")
    groups.append(Group(f"best: {said}", (ring,)))
    listed = "; ".join(f"{plain(kind)} {k}: {value:.2f}" for kind, k, value in points)
    return ChartPicture(Scene(WIDTH, y.start + 52, title, listed, tuple(groups)))
