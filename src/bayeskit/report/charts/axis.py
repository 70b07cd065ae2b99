"""Axes of a chart: from numbers to pixels, the frame around them, and marks to draw with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from bayeskit.report.charts.ticks import Tick
from bayeskit.report.picture_text import plain, shortened, text_width
from bayeskit.report.scene import Line, Point, Rectangle, Words

Mark = Rectangle | Words | Line
# A chart is as wide as a telephone shows without making its letters small.
WIDTH = 440.0
LEFT = 16.0
SMALL, TEXT, TITLE = 11.0, 12.0, 14.0


@dataclass(frozen=True)
class Scale:
    """Numbers from ``low`` to ``high`` at pixels from ``start`` to ``stop``.

    >>> Scale(0.0, 2.0, 100.0, 300.0)(0.5)
    150.0
    """

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        span = self.high - self.low
        share = (value - self.low) / span if span else 0.5
        return self.start + (self.stop - self.start) * share

    def clipped(self, value: float) -> float:
        """Return the place of a number, at an end where it lies beyond."""
        return self(min(max(value, self.low), self.high))


def room_for(ticks: Sequence[Tick], least: float = 56.0, most: float = 120.0) -> float:
    """Return where an axis begins that has these texts to its left.

    >>> room_for([(0.0, "0")]), room_for([(1e6, "1,000,000")]) > 70
    (56.0, True)
    """
    widest = max((text_width(text, SMALL) for _, text in ticks), default=0.0)
    return min(max(least, LEFT + widest + 8), most)


def frame(
    x: Scale, y: Scale, x_ticks: Sequence[Tick], y_ticks: Sequence[Tick], x_title: str, y_title: str
) -> list[Mark]:
    """Draw grid lines and the numbers at them; what runs along stands below, what runs up above."""
    marks: list[Mark] = [
        Words(LEFT, y.stop - 9, shortened(plain(y_title), WIDTH - 2 * LEFT, TEXT), "chart-text")
    ]
    for value, text in y_ticks:
        marks.append(straight(x.start, y(value), x.stop, y(value), "chart-grid"))
        marks.append(
            Words(x.start - 7, y(value) + 4, shortened(text, x.start - 12, SMALL), "chart-small", "end")
        )
    for value, text in thinned(x, x_ticks):
        marks.append(straight(x(value), y.start, x(value), y.stop, "chart-grid"))
        marks.append(Words(x(value), y.start + 17, text, "chart-small", "middle"))
    marks.append(straight(x.start, y.start, x.stop, y.start, "chart-axis"))
    middle = (x.start + x.stop) / 2
    room = 2 * min(middle, WIDTH - middle) - 2 * LEFT
    marks.append(Words(middle, y.start + 36, shortened(plain(x_title), room, TEXT), "chart-text", "middle"))
    return marks


def apart(scale: Scale, ticks: Sequence[Tick], gap: float = 8.0) -> list[Tick]:
    """Leave out the ticks whose texts would touch the one before.

    >>> apart(Scale(0.0, 1.0, 0.0, 60.0), [(0.0, "zero"), (0.1, "a tenth"), (1.0, "one")])
    [(0.0, 'zero'), (1.0, 'one')]
    """
    kept: list[Tick] = []
    end = -math.inf
    for value, text in ticks:
        half = text_width(text, SMALL) / 2
        if scale(value) - half >= end + gap:
            kept.append((value, text))
            end = scale(value) + half
    return kept


def thinned(scale: Scale, ticks: Sequence[Tick]) -> list[Tick]:
    """Take every second tick, third, …, whatever lets no texts touch: what is even stays even.

    >>> thinned(Scale(0.0, 4.0, 0.0, 120.0), [(float(i), f"{i},000") for i in range(5)])
    [(0.0, '0,000'), (2.0, '2,000'), (4.0, '4,000')]
    """
    inside = [tick for tick in ticks if scale(tick[0]) + text_width(tick[1], SMALL) / 2 <= WIDTH - 4]
    for step in range(1, len(inside)):
        if len(apart(scale, inside[::step])) == len(inside[::step]):
            return inside[::step]
    return inside[:1]


def spread(places: Sequence[float], lowest: float, room: float = 15.0) -> list[float]:
    """Move labels so that none covers another, in the order they have, and none lies below ``lowest``.

    >>> spread([100.0, 101.0, 200.0], 300.0), spread([100.0, 101.0], 101.0)
    ([100.0, 115.0, 200.0], [86.0, 101.0])
    """
    moved = list(places)
    order = sorted(range(len(places)), key=places.__getitem__)
    for above, below in pairwise(order):
        moved[below] = max(moved[below], moved[above] + room)
    for i, place in enumerate(reversed(order)):
        moved[place] = min(moved[place], lowest - room * i)
    return moved


def straight(x1: float, y1: float, x2: float, y2: float, style: str) -> Line:
    return Line((("M", ((x1, y1),)), ("L", ((x2, y2),))), style)


def dashes(x1: float, y1: float, x2: float, y2: float, style: str, dash: float = 5.0) -> Line:
    """A straight line in dashes."""
    n = max(1, round(math.hypot(x2 - x1, y2 - y1) / (2 * dash)))
    at = [(x1 + (x2 - x1) * t, y1 + (y2 - y1) * t) for t in (i / (2 * n - 1) for i in range(2 * n))]
    return Line(tuple(("L" if i % 2 else "M", (point,)) for i, point in enumerate(at)), style)


def polyline(points: Sequence[Point], style: str) -> Line:
    return Line(tuple(("L" if i else "M", (point,)) for i, point in enumerate(points)), style)


def dot(x: float, y: float, radius: float, style: str) -> Rectangle:
    return Rectangle(x - radius, y - radius, 2 * radius, 2 * radius, style, radius)


def moved(mark: Mark, x: float, y: float) -> Mark:
    """Return a mark so much further to the right and down."""
    if isinstance(mark, Line):
        steps = tuple((verb, tuple((a + x, b + y) for a, b in points)) for verb, points in mark.steps)
        return Line(steps, mark.style)
    return replace(mark, x=mark.x + x, y=mark.y + y)
