"""A nomogram drawn: a scale of points, a ruler for each attribute, the sum and the probability below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bayeskit.report.charts.axis import (
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
    round_numbers,
    straight,
    ticks_of,
    written,
)
from bayeskit.report.charts.chart_words import chart_words
from bayeskit.report.charts.legend import heading
from bayeskit.report.scene import Group, Scene, Words, plain, shortened, text_width

if TYPE_CHECKING:
    from bayeskit.report.charts.nomogram import Nomogram, Reading, Ruler

START, STOP = 136.0, WIDTH - 26
NAME_WIDTH = START - LEFT - 12
LANE, GAP, CURVE = 15.0, 7.0, 58.0
# Should they not all fit, the first ones are kept.
_CHANCES = (0.5, 0.1, 0.9, 0.01, 0.99, 0.001, 0.999, 0.05, 0.95, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6)


def nomogram_scene(chart: Nomogram) -> Scene:
    """Draw a nomogram."""
    words = chart_words(chart.lang)
    marks, top = heading(title_of(chart), notes_of(chart))
    shown = chart.rulers[: chart.most]
    x = Scale(0.0, 100.0, START, STOP)
    y = top + 26
    scale = Words(LEFT, y + 4, words["points"], "chart-text")
    groups = [Group(words["points"], (*marks, scale, *_ruler_line(x, y, ticks_of(0, 100, 11), above=True)))]
    row = {reading.name: reading for reading in chart.row}
    first = y
    for ruler in shown:
        draw = _curve if ruler.numeric else _states
        group, y = draw(chart, ruler, x, y + 14, row.get(ruler.name))
        groups.append(group)
    grid = [straight(x(p), first, x(p), y, "chart-grid") for p in range(0, 101, 10)]
    groups.insert(0, Group(words["points"], tuple(grid)))
    totals, y = _totals(chart, y + 44)
    listed = "; ".join(f"{plain(r.name)}: {written(r.spread / chart.unit)}" for r in shown)
    return Scene(WIDTH, y + 22, title_of(chart), listed, (*groups, totals))


def title_of(chart: Nomogram) -> str:
    return chart_words(chart.lang)["nomogram_title"].format(target=chart.target, label=chart.label)


def notes_of(chart: Nomogram) -> list[str]:
    words, hidden = chart_words(chart.lang), len(chart.rulers) - chart.most
    said = {"label": chart.label, "against": chart.against}
    notes = [words["nomogram_rest" if chart.against is None else "nomogram_pair"].format(**said)]
    notes.append(words["nomogram_note"])
    if hidden > 0:
        notes.append(words["nomogram_more"].format(n=hidden))
    if chart.total is not None:
        notes.append(words["nomogram_row"].format(total=f"{chart.total:.0f}"))
    return notes


def _ruler_line(x: Scale, y: float, ticks: Sequence[Tick], above: bool) -> list[Mark]:
    marks: list[Mark] = [straight(x.start, y, x.stop, y, "chart-axis")]
    for value, text in apart(x, ticks, 5.0):
        marks.append(straight(x(value), y - 3, x(value), y + 3, "chart-axis"))
        marks.append(Words(x(value), y - 8 if above else y + 17, text, "chart-small", "middle"))
    return marks


def _name(ruler: Ruler, y: float) -> Words:
    return Words(LEFT, y + 4, shortened(plain(ruler.name), NAME_WIDTH / 1.05, 12.5), "chart-name")


def _states(chart: Nomogram, ruler: Ruler, x: Scale, top: float, read: Reading | None) -> tuple[Group, float]:
    """Draw states along a line, their names over and under it so that none covers another."""
    placed = sorted(zip(chart.points(ruler.name).tolist(), map(plain, ruler.values)))
    lanes: list[list[tuple[float, float]]] = [[], [], [], []]
    kept = []
    # The ends of the line first: should names not all fit, these are the ones to know.
    for points, text in [placed[0], placed[-1], *placed[1:-1]][: len(placed)]:
        text = shortened(text, 110, SMALL)
        half = text_width(text, SMALL) / 2
        # A name at the end of the line is moved inwards.
        middle = min(max(x(points), START - 20 + half), WIDTH - 8 - half)
        begin, end = middle - half - GAP, middle + half
        lane = next(
            (i for i, names in enumerate(lanes) if all(end + GAP <= a or b <= begin for a, b in names)), None
        )
        if lane is not None:
            lanes[lane].append((middle - half, end))
            kept.append((middle, lane, text))
    used = {lane for _, lane, _ in kept}
    y = top + LANE * (2 if 2 in used else 1) + 4
    marks: list[Mark] = [_name(ruler, y), straight(x(placed[0][0]), y, x(placed[-1][0]), y, "line-0")]
    marks += [straight(x(points), y - 4, x(points), y + 4, "line-0") for points, _ in placed]
    # Lanes 0 and 2 stand over the line, 1 and 3 under it.
    heights = (y - 8, y + 16, y - 8 - LANE, y + 16 + LANE)
    marks += [Words(middle, heights[lane], text, "chart-small", "middle") for middle, lane, text in kept]
    if read is not None:
        marks.append(dot(x.clipped((read.log_odds - ruler.least) / chart.unit), y, 5.0, "chart-mark"))
    title = "; ".join(f"{text}: {points:.1f}" for points, text in placed)
    bottom = y + (LANE * (2 if 3 in used else 1) + 4 if used & {1, 3} else 8)
    return Group(f"{plain(ruler.name)}: {title}", tuple(marks)), bottom


def _curve(chart: Nomogram, ruler: Ruler, x: Scale, top: float, read: Reading | None) -> tuple[Group, float]:
    """Draw numbers as a curve: the number upwards, its points across, since the same points may have two numbers."""
    values: Any = ruler.values
    top += 8
    y = Scale(min(values), max(values), top + CURVE, top)
    points = chart.points(ruler.name).tolist()
    ends = Scale(0.0, max(ruler.spread / chart.unit, 1e-9), x(0.0), x(ruler.spread / chart.unit))
    line = [(ends.clipped(p), y(v)) for p, v in zip(points, values)]
    marks: list[Mark] = [_name(ruler, top + CURVE / 2), polyline(line, "line-0")]
    mark = None
    if read is not None:
        up = y.clipped(float(read.value)) if isinstance(read.value, (int, float)) else top + CURVE / 2
        mark = (x.clipped((read.log_odds - ruler.least) / chart.unit), up)
    listed = []
    for value in round_numbers(y.low, y.high, 4):
        at = min(range(len(values)), key=lambda i: abs(values[i] - value))
        here, text = line[at], written(value)
        listed.append(f"{text}: {points[at]:.1f}")
        marks.append(dot(*here, 2.8, "dot-0"))
        if mark is None or math.dist(mark, here) > 22:  # else the mark would cover the number
            marks.append(_beside(line, at, text))
    if mark is not None:
        marks.append(dot(*mark, 5.0, "chart-mark"))
    return Group(f"{plain(ruler.name)}: {'; '.join(listed)}", tuple(marks)), top + CURVE + 4


def _beside(line: list[tuple[float, float]], at: int, text: str) -> Words:
    """Write the number of a point of a curve where the curve is not."""
    (x, y), (x0, y0), (x1, y1) = line[at], line[max(at - 3, 0)], line[min(at + 3, len(line) - 1)]
    width = text_width(text, SMALL)
    if abs(x1 - x0) < 0.8 * abs(y1 - y0):  # upright: beside it
        right = x + 9 + width < WIDTH - 8
        return Words(x + 8 if right else x - 8, y + 4, text, "chart-small", "start" if right else "end")
    # Numbers grow upwards: where points grow with them the place over the line, to the left, is free.
    left = x1 > x0 and x - width > START - 30
    return Words(x + 2 if left else x - 2, y - 6, text, "chart-small", "end" if left else "start")


def _percent(p: float) -> str:
    """Write a probability; none is 0 or 1.

    >>> _percent(0.0), _percent(0.1234), _percent(1.0)
    ('<0.1%', '12.3%', '>99.9%')
    """
    return "<0.1%" if p < 0.0005 else ">99.9%" if p > 0.9995 else f"{100 * p:.1f}%"


def _chances(chart: Nomogram, x: Scale) -> list[Tick]:
    """Return where probabilities lie under the sum of points."""
    kept: list[Tick] = []
    for p in _CHANCES:
        at = (math.log(p / (1 - p)) - chart.intercept) / chart.unit
        more = sorted([*kept, (at, written(p))])
        if 0 <= at <= x.high and len(apart(x, more, 5.0)) == len(more):
            kept = more
    return kept


def _totals(chart: Nomogram, y: float) -> tuple[Group, float]:
    """Draw the sum of points and, under it, the probability that it stands for."""
    words = chart_words(chart.lang)
    most = sum(ruler.spread for ruler in chart.rulers) / chart.unit
    x = Scale(0.0, max(most, 1.0), START, STOP)
    below = y + 44
    name = shortened(plain(words["probability"].format(label=chart.label)), NAME_WIDTH, TEXT)
    marks: list[Mark] = [
        straight(LEFT, y - 34, WIDTH - LEFT, y - 34, "chart-grid"),
        Words(LEFT, y + 4, words["total"], "chart-text"),
        Words(LEFT, below + 4, name, "chart-text"),
        *_ruler_line(x, y, ticks_of(0, x.high, 7), above=True),
    ]
    marks += _ruler_line(x, below, _chances(chart, x), above=False)
    total = chart.total
    if total is not None:
        here = x.clipped(total)
        marks += [dashes(here, y, here, below, "chart-mark-line", 3.0), dot(here, y, 5.0, "chart-mark")]
        marks.append(dot(here, below, 5.0, "chart-mark"))
        text = f"{total:.0f} → {_percent(chart.probability(total))}"
        right = here + 10 + text_width(text, TEXT) * 1.05 < WIDTH - 8
        side = 8 if right else -8
        marks.append(
            Words(here + side, (y + below) / 2 + 4, text, "chart-mark-text", "start" if right else "end")
        )
    return Group(words["total"], tuple(marks)), below + 20
