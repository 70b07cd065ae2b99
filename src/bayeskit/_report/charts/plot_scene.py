"""The layout of a chart description as a scene for SVG: heading, legend, panels, and rulers.

Rulers are lanes below a common scale, or pairs of matching scales.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, groupby, pairwise

import numpy as np

from bayeskit._markup import plain
from bayeskit._report.charts.axis import (
    BANDS,
    LEFT,
    SMALL,
    TEXT,
    WIDTH,
    Mark,
    Sample,
    Scale,
    Tick,
    apart,
    colour_of,
    dashes,
    dot,
    frame,
    heading,
    legend,
    polyline,
    room_for,
    straight,
)
from bayeskit._report.charts.plot import (
    OUTER,
    START,
    STOP,
    Area,
    Axis,
    Bars,
    Cells,
    Conversion,
    Curve,
    Key,
    Lane,
    Panel,
    Plot,
    Points,
    Ring,
    Rulers,
    Series,
    Tag,
)
from bayeskit._report.scene import Group, Line, Point, Rectangle, Scene, Words, shortened, text_width

# A line with more points than this would not show more detail.
MOST_POINTS = 400
# Names at the ends of curves, and names of states and of floating bars beside the axis, are cut to this; so much is
# reserved for numbers after bars.
MOST_NAME, MOST_STATE, MOST_STEP, NUMBERS = 140.0, 150.0, 195.0, 44.0


def scene_of(plot: Plot) -> Scene:
    """Return the scene of a chart."""
    marks, y = heading(plot.title, plot.notes)
    if plot.legend:
        names, y = legend([_sample(key) for key in plot.legend], y)
        marks += names
    groups = [Group(plot.title, tuple(marks))]
    # All panels with labels to their left begin at the same position.
    upright = [panel for panel in plot.panels if isinstance(panel, Panel) and not panel.y.bare]
    left = max((_room_left(panel) for panel in upright), default=0.0)
    for panel in plot.panels:
        match panel:
            case Panel():
                found, y = _panel(panel, y, left, plot.title)
            case Rulers():
                found, y = draw_rulers(panel, y)
            case Conversion():
                found, y = draw_conversion(panel, y)
        groups += found
    return Scene(WIDTH, y + 8, plain(plot.title), plot.description, tuple(groups))


def _sample(key: Key) -> Sample:
    if key.colour is not None:
        return f"fill-{colour_of(key.colour)}", key.name
    return (None if key.shape is None else _shape(5.5, 5.5, key.shape, 2.4, "chart-sample")), key.name


def _up_ticks(axis: Axis) -> list[Tick]:
    return [(value, shortened(plain(text), 200.0, SMALL)) for value, text in axis.shown_ticks()]


def _across_ticks(axis: Axis, room: float) -> list[Tick]:
    ticks = axis.shown_ticks()
    if not axis.states:
        return ticks
    each = max(room / len(ticks), 40.0)
    return [(value, shortened(plain(text), each, SMALL)) for value, text in ticks]


def _panel(panel: Panel, top: float, left: float, title: str) -> tuple[list[Group], float]:
    """Draw the frame and its content, and return the position of the end, too."""
    alone = panel.y.bare and not panel.beneath
    start, stop = (LEFT + 10, WIDTH - LEFT - 10) if alone else (left, WIDTH - _room_right(panel))
    # The title of the panel is above that of the upright axis.
    above = 28.0 if panel.title and panel.y.title and not panel.y.bare else 10.0
    top += 26 + above if panel.title else 26
    x = Scale(panel.x.low, panel.x.high, start, stop)
    y = Scale(panel.y.low, panel.y.high, top + panel.height, top)
    marks: list[Mark] = []
    if panel.title:
        name = shortened(plain(panel.title), WIDTH - 2 * LEFT, 12.5)
        marks.append(Words(LEFT, top - above, name, "chart-name"))
    x_ticks = [] if panel.x.bare else _across_ticks(panel.x, WIDTH - start)
    y_ticks = [] if panel.y.bare else _up_ticks(panel.y)
    # States need no grid lines.
    grid = (not panel.x.states, not panel.y.states)
    titles = (panel.x.title, panel.y.title)
    marks += frame(x, y, x_ticks, y_ticks, *titles, grid=grid, upright=_is_lying(panel))
    groups = [Group(panel.title or title, tuple(marks))]
    names = {id(curve): _name_at(curve, x.stop, y(height)) for curve, height in panel.named_ends()}
    # Series with the same description are one group.
    for description, members in groupby(panel.series, lambda series: series.description):
        drawn = [[*_series(series, panel, x, y), *names.get(id(series), [])] for series in members]
        groups.append(Group(description or panel.title or title, tuple(chain.from_iterable(drawn))))
    below = 44.0 if panel.x.title else 22.0 if x_ticks else 6.0
    return groups, y.start + below


def _is_lying(panel: Panel) -> bool:
    return any(isinstance(series, Bars) and series.horizontal for series in panel.series)


def _room_left(panel: Panel) -> float:
    """Return the width needed to the left of the axes; names of bars that float get more of it."""
    floats = any(isinstance(series, Bars) and series.base is not None for series in panel.series)
    return room_for(_up_ticks(panel.y), most=MOST_STEP if floats else MOST_STATE if panel.y.states else 120.0)


def _room_right(panel: Panel) -> float:
    """Return the width needed to the right of the axes."""
    if _is_lying(panel):
        return LEFT + NUMBERS
    # The names at the ends of curves, with the lines before them.
    widest = max((text_width(plain(curve.name), SMALL) for curve, _ in panel.named_ends()), default=0.0)
    return min(widest, MOST_NAME) + (40.0 if widest else 24.0)


def _name_at(curve: Curve, right: float, height: float) -> list[Mark]:
    name = shortened(plain(curve.name), MOST_NAME, SMALL)
    return [
        straight(right + 8, height, right + 18, height, _line_style(curve)),
        Words(right + 23, height + 4, name, "chart-small"),
    ]


def _series(series: Series, panel: Panel, x: Scale, y: Scale) -> list[Mark]:
    match series:
        case Curve():
            return _curve(series, panel, x, y)
        case Points():
            return _points(series, x, y)
        case Bars():
            return _bars(series, x, y)
        case Cells():
            return _cells(series, x, y)
        case Area():
            steps: list[tuple[str, tuple[Point, ...]]] = []
            for loop in series.loops:
                first, *rest = [(x(a), y(b)) for a, b in loop.tolist()]
                steps += [("M", (first,)), *(("L", (point,)) for point in rest), ("Z", ())]
            return [Line(tuple(steps), f"shade-{colour_of(series.colour)}-{series.band}")]
        case Ring():
            at = [(x(a), y(b)) for a, b in series.points.tolist()]
            steps = [("M", (at[0],)), *(("C", tuple(at[i : i + 3])) for i in (1, 4, 7, 10)), ("Z", ())]
            return [Line(tuple(steps), f"line-{colour_of(series.colour)}")]
        case Tag():
            across, up = x(series.x), y(series.y)
            half = max(8.5, text_width(series.text, SMALL) / 2 + 4)
            plate = Rectangle(across - half, up - 8.5, 2 * half, 17, "node", 8.5)
            return [plate, Words(across, up + 4, series.text, "chart-small", "middle")]


def _line_style(curve: Curve) -> str:
    return "chart-reference" if curve.colour is None else f"line-{colour_of(curve.colour)}"


def _curve(curve: Curve, panel: Panel, x: Scale, y: Scale) -> list[Mark]:
    at = [(x(a), y(b)) for a, b in zip(curve.x, curve.y, strict=True)]
    if curve.dashed:
        inside = [
            point
            for point, a, b in zip(at, curve.x, curve.y, strict=True)
            if panel.x.holds(float(a)) and panel.y.holds(float(b))
        ]
        return [dashes(*inside[0], *inside[-1], _line_style(curve))] if inside else []
    marks: list[Mark] = []
    if curve.lower is not None and curve.upper is not None:
        for (across, _), low, high in zip(at, curve.lower, curve.upper, strict=True):
            marks.append(straight(across, y(low), across, y(high), f"thin-{colour_of(curve.colour or 0)}"))
    kept = np.linspace(0, len(at) - 1, min(len(at), MOST_POINTS)).astype(int).tolist()
    marks.append(polyline([at[i] for i in kept], _line_style(curve)))
    if curve.size:
        marks += [dot(*point, curve.size, f"dot-{colour_of(curve.colour or 0)}") for point in at]
    return marks


def _points(points: Points, x: Scale, y: Scale) -> list[Mark]:
    colour = None if points.colour is None else colour_of(points.colour)
    style = "chart-ring" if colour is None else f"dot-{colour}" if points.rim else f"fill-{colour}"
    if points.shape == "ring" and colour is not None:
        style = f"line-{colour}"  # the page shows through
    at = [(x(a), y(b)) for a, b in zip(points.x, points.y, strict=True)]
    marks = [_shape(*place, points.shape, points.size, style) for place in at if points.size]
    # To the right and above.
    marks += [
        Words(a + 6, b - 6, text, "chart-small")
        for (a, b), text in zip(at, points.texts, strict=bool(points.texts))
    ]
    return marks


def _shape(x: float, y: float, shape: str, size: float, style: str) -> Mark:
    """Draw a mark. All shapes of the same size look about equally large."""
    match shape:
        case "disc" | "ring":
            return dot(x, y, size, style)
        case "square":
            half = size * 23 / 24
            return Rectangle(x - half, y - half, 2 * half, 2 * half, style)
        case "triangle":
            unit = size / 2.4
            corners = [
                (x, y - 3.4 * unit),
                (x + 3.2 * unit, y + 2.5 * unit),
                (x - 3.2 * unit, y + 2.5 * unit),
            ]
        case _:
            a, b = 0.375 * size, 1.46 * size
            quarter = [(a, -a), (b, -a), (b, a)]
            turns = [(1, 0), (0, 1), (-1, 0), (0, -1)]
            corners = [(x + u * c - v * s, y + u * s + v * c) for c, s in turns for u, v in quarter]
    return Line((*polyline(corners, style).steps, ("Z", ())), style)


def _bars(bars: Bars, x: Scale, y: Scale) -> list[Mark]:
    """Draw bars, thick enough to be visible, with a pixel between neighbours."""
    marks: list[Mark] = []
    style = f"fill-{colour_of(bars.colour)}"
    along, across = (x, y) if bars.horizontal else (y, x)
    texts = bars.texts or ("",) * len(bars.at)
    begins = [along.start] * len(bars.at) if bars.base is None else [along(base) for base in bars.base]
    for at, begin, value, width, text in zip(bars.at, begins, bars.values, bars.width, texts, strict=True):
        ends = sorted((across(at - width / 2), across(at + width / 2)))
        thick, (low, high) = max(ends[1] - ends[0] - 1, 1.0), sorted((begin, along(value)))
        long = max(high - low, 0.8)
        if bars.horizontal:
            marks.append(Rectangle(low, ends[0] + 0.5, long, thick, style))
            words = Words(low + long + 5, sum(ends) / 2 + 4, text, "chart-small")
        else:
            marks.append(Rectangle(ends[0] + 0.5, high - long, thick, long, style))
            words = Words(sum(ends) / 2, high - long - 4, text, "chart-small", "middle")
        marks += [words] if text else []
    return marks


def _cells(cells: Cells, x: Scale, y: Scale) -> list[Mark]:
    """Draw cells of one colour side by side as one rectangle: a tenth of the marks."""
    rows, columns = cells.colours.shape
    height, width = (y.start - y.stop) / rows, (x.stop - x.start) / columns
    marks: list[Mark] = []
    for i in range(rows):
        key = cells.colours[i] * BANDS + cells.bands[i]
        edges = [0, *(np.flatnonzero(np.diff(key)) + 1).tolist(), columns]
        for a, b in pairwise(edges):
            style = f"shade-{colour_of(int(cells.colours[i, a]))}-{cells.bands[i, a]}"
            # Extend the rectangle a little, so that the page does not show between cells.
            right, above = 0.5 if b < columns else 0.0, 0.5 if i < rows - 1 else 0.0
            at = (x.start + a * width, y.start - (i + 1) * height - above)
            marks.append(Rectangle(*at, (b - a) * width + right, height + above, style))
    return marks


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
