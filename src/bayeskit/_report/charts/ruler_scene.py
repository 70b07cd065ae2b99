"""Scales as marks of a scene: lanes below a common scale, and pairs of matching scales."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bayeskit._markup import plain
from bayeskit._report.charts.axis import (
    LEFT,
    SMALL,
    TEXT,
    WIDTH,
    Mark,
    Scale,
    Tick,
    apart,
    dashes,
    dot,
    polyline,
    straight,
)
from bayeskit._report.charts.plot import OUTER, START, STOP, Conversion, Lane, Rulers
from bayeskit._report.scene import Group, Words, shortened, text_width

NAME_WIDTH = START - LEFT - 12
ROW, CURVE = 15.0, 58.0


def draw_rulers(panel: Rulers, top: float) -> tuple[list[Group], float]:
    """Draw the common scale, grid lines below it, and the lanes. Also return the position of the end."""
    x = Scale(panel.x.low, panel.x.high, START, STOP)
    first = y = top + 26
    groups = []
    for lane in panel.lanes:
        marks, y = (_curved if lane.curved else _level)(lane, x, y + 14)
        groups.append(Group(f"{plain(lane.name)}: {lane.description}", tuple(marks)))
    ticks = panel.x.shown_ticks()
    scale: list[Mark] = [straight(x(at), first, x(at), y, "chart-grid") for at, _ in ticks]
    scale.append(Words(LEFT, first + 4, panel.x.title, "chart-text"))
    scale += _scale_line(x, first, ticks, above=True)
    return [Group(panel.x.title, tuple(scale)), *groups], y


def _scale_line(x: Scale, y: float, ticks: Sequence[Tick], above: bool) -> list[Mark]:
    marks: list[Mark] = [straight(x.start, y, x.stop, y, "chart-axis")]
    for value, text in apart(x, ticks, 5.0):
        marks.append(straight(x(value), y - 3, x(value), y + 3, "chart-axis"))
        marks.append(Words(x(value), y - 8 if above else y + 17, text, "chart-small", "middle"))
    return marks


def _name(lane: Lane, y: float) -> Words:
    return Words(LEFT, y + 4, shortened(plain(lane.name), NAME_WIDTH / 1.05, 12.5), "chart-name")


def _level(lane: Lane, x: Scale, top: float) -> tuple[list[Mark], float]:
    """Draw positions along a line, with texts above and below it."""
    kept = lane.placed_texts(x)
    used = {row for _, row, _ in kept}
    y = top + ROW * (2 if 2 in used else 1) + 4
    at = [x(place) for place in lane.x.tolist()]
    marks: list[Mark] = [_name(lane, y), straight(at[0], y, at[-1], y, "line-0")]
    marks += [straight(place, y - 4, place, y + 4, "line-0") for place in at]
    heights = (y - 8, y + 16, y - 8 - ROW, y + 16 + ROW)
    marks += [Words(middle, heights[row], text, "chart-small", "middle") for middle, row, text in kept]
    if lane.mark is not None:
        marks.append(dot(x(lane.mark[0]), y, 5.0, "chart-mark"))
    return marks, y + (ROW * (2 if 3 in used else 1) + 4 if used & {1, 3} else 8)


def _curved(lane: Lane, x: Scale, top: float) -> tuple[list[Mark], float]:
    top += 8
    y = Scale(0.0, 1.0, top + CURVE, top)
    line = [(x(across), y(up)) for across, up in zip(lane.x.tolist(), lane.up.tolist(), strict=True)]
    marks: list[Mark] = [_name(lane, top + CURVE / 2), polyline(line, "line-0")]
    mark = None if lane.mark is None else (x(lane.mark[0]), y(lane.mark[1]))
    for at, text in lane.texts:
        marks.append(dot(*line[at], 2.8, "dot-0"))
        if mark is None or math.dist(mark, line[at]) > 22:  # else the mark would cover the text
            marks.append(_beside(line, at, text))
    if mark is not None:
        marks.append(dot(*mark, 5.0, "chart-mark"))
    return marks, top + CURVE + 4


def _beside(line: list[tuple[float, float]], at: int, text: str) -> Words:
    """Place the text of a point of a curve where it does not overlap the curve."""
    (x, y), (x0, y0), (x1, y1) = line[at], line[max(at - 3, 0)], line[min(at + 3, len(line) - 1)]
    width = text_width(text, SMALL)
    if abs(x1 - x0) < 0.8 * abs(y1 - y0):  # upright: next to it
        right = x + 9 + width < OUTER
        return Words(x + 8 if right else x - 8, y + 4, text, "chart-small", "start" if right else "end")
    # Numbers increase upwards. If the curve runs to the right, there is room above it to the left.
    left = x1 > x0 and x - width > START - 30
    return Words(x + 2 if left else x - 2, y - 6, text, "chart-small", "end" if left else "start")


def draw_conversion(panel: Conversion, top: float) -> tuple[list[Group], float]:
    """Draw two scales, and the highlighted position between them. Also return the position of the end."""
    y, below = top + 44, top + 88
    x = Scale(panel.above.low, panel.above.high, START, STOP)
    marks: list[Mark] = [
        straight(LEFT, y - 34, WIDTH - LEFT, y - 34, "chart-grid"),
        Words(LEFT, y + 4, shortened(plain(panel.above.title), NAME_WIDTH, TEXT), "chart-text"),
        Words(LEFT, below + 4, shortened(plain(panel.below.title), NAME_WIDTH, TEXT), "chart-text"),
        *_scale_line(x, y, panel.above.shown_ticks(), above=True),
        *_scale_line(x, below, panel.below.ticks, above=False),
    ]
    if panel.at is not None:
        here = x(panel.at)
        marks += [dashes(here, y, here, below, "chart-mark-line", 3.0), dot(here, y, 5.0, "chart-mark")]
        marks.append(dot(here, below, 5.0, "chart-mark"))
        right = here + 10 + text_width(panel.text, TEXT) * 1.05 < OUTER
        side = here + 8 if right else here - 8
        middle = (y + below) / 2 + 4
        marks.append(Words(side, middle, panel.text, "chart-mark-text", "start" if right else "end"))
    return [Group(panel.above.title, tuple(marks))], below + 34
