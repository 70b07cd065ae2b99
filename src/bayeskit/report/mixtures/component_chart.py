"""Curves over numbers as pictures that stand alone: the history of EM, a criterion over the number of components."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from bayeskit.errors import SettingError
from bayeskit.report.charts.axis import (
    SMALL,
    WIDTH,
    Mark,
    Scale,
    Tick,
    around,
    dot,
    frame,
    polyline,
    room_for,
    spread,
    straight,
    ticks_of,
)
from bayeskit.report.charts.chart import ChartPicture
from bayeskit.report.charts.chart_words import chart_words
from bayeskit.report.charts.legend import colour_of, heading
from bayeskit.report.scene import Group, Point, Scene, Words, plain, shortened, text_width

HEIGHT = 270.0
# Names at the ends of curves are cut to this; beyond so many points they are left to the line.
MOST_NAME, MOST_POINTS = 140.0, 60


def curve_picture(
    curves: Mapping[str, Iterable[tuple[float, float]]], across: str, up: str, title: str
) -> ChartPicture:
    """Draw curves, each with its name at its end.

    Parameters
    ----------
    curves : mapping from name to points (x, y)
        Points that are not finite are left out: EM may begin at −inf.
    across, up : the names of the axes
    title : what the picture shows, in words

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
        raise SettingError(f"No curve has a finite point, so there is nothing to draw of {title!r}.")
    everything = [point for points in found.values() for point in points]
    marks, top = heading(title)
    top += 26
    low, high = around(y for _, y in everything)
    y_ticks = ticks_of(low, high)
    across_ends = around(x for x, _ in everything)
    x = Scale(*across_ends, room_for(y_ticks), WIDTH - name_room(found))
    y = Scale(low, high, top + HEIGHT, top)
    whole = all(a == round(a) for a, _ in everything)  # steps of EM: there is nothing between
    marks += frame(x, y, ticks_of(*across_ends, whole=whole), y_ticks, across, up)
    ends = spread([y(points[-1][1]) for points in found.values()], y.start)
    groups = [Group("axes", tuple(marks))]
    for i, (name, points) in enumerate(found.items()):
        at = [(x(a), y(b)) for a, b in points]
        drawn = named_curve(i, name, at, x.stop, ends[i], with_dots=len(points) <= MOST_POINTS)
        groups.append(Group(f"{plain(name)}, in the end {points[-1][1]:.6g}", tuple(drawn)))
    told = "; ".join(
        f"{plain(name)}: " + ", ".join(f"{a:.6g} {b:.6g}" for a, b in points[:MOST_POINTS])
        for name, points in found.items()
    )
    return ChartPicture(Scene(WIDTH, y.start + 52, plain(title), told, tuple(groups)))


def name_room(names: Iterable[str]) -> float:
    """Return how much room the names at the ends of curves need, with the lines before them."""
    widest = max((text_width(plain(name), SMALL) for name in names), default=0.0)
    return min(widest, MOST_NAME) + (40.0 if widest else 24.0)


def named_curve(
    place: int, name: str, points: Sequence[Point], right: float, label: float, *, with_dots: bool = True
) -> list[Mark]:
    """Draw one curve in its colour, and its name to the right of the axes at the height ``label``."""
    colour = colour_of(place)
    marks: list[Mark] = [polyline(points, f"line-{colour}")]
    marks += [dot(a, b, 3.5, f"dot-{colour}") for a, b in points] if with_dots else []
    if name:
        marks.append(straight(right + 8, label, right + 18, label, f"line-{colour}"))
        marks.append(Words(right + 23, label + 4, shortened(plain(name), MOST_NAME, SMALL), "chart-small"))
    return marks


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
