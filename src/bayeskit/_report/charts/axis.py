"""The frame of a chart: ticks, scales from numbers to pixels, marks; its colours, heading and legend."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from bayeskit._markup import plain
from bayeskit._report.scene import Line, Point, Rectangle, Style, Words, shortened, text_width

Tick = tuple[float, str]


def around(values: Iterable[float], room: float = 0.04) -> tuple[float, float]:
    """Return the range of some values, extended a little on both sides.

    >>> around([0.0, 10.0], room=0.1), around([3.0])
    ((-1.0, 11.0), (2.0, 4.0))
    """
    found = list(values)
    least, most = min(found), max(found)
    # If all are equal up to rounding, do not magnify the differences.
    if not most - least > 1e-9 * max(abs(least), abs(most)):
        return least - max(1.0, 1e-6 * abs(least)), most + max(1.0, 1e-6 * abs(most))
    return least - room * (most - least), most + room * (most - least)


def round_numbers(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers between two, up to a maximum number of them.

    >>> round_numbers(0.0, 1.0), round_numbers(-3.0, 17.0, 5)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 5.0, 10.0, 15.0])
    """
    span = high - low
    if not (span > 0 and math.isfinite(span)):
        return [low]
    power = math.floor(math.log10(span / most))
    for step in (10.0**power * m for m in (1, 2, 5, 10, 20)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            break
    return [round(i * step, -power) for i in range(first, last + 1)] or [low]


def written(value: float) -> str:
    """Write a number in a few digits, with a true minus sign.

    >>> written(-0.50), written(20_000.0), written(1.5e9), written(0.1 + 0.2)
    ('−0.5', '20,000', '1.5e+09', '0.3')
    """
    whole = 1e4 <= abs(value) < 1e7 and value == round(value)
    return (f"{value:,.0f}" if whole else f"{value:.4g}").replace("-", "−")


def written_alike(values: Sequence[float]) -> list[str]:
    """Write evenly spaced numbers with as many digits as distinguish them; very large and small ones by powers of ten.

    >>> written_alike([-0.5, 0.0, 0.5]), written_alike([10_000.0, 20_000.0]), written_alike([0.0, 2e9])
    (['−0.5', '0.0', '0.5'], ['10,000', '20,000'], ['0', '2e+09'])
    """
    if len(values) < 2:
        return [written(value) for value in values]
    step, largest = values[1] - values[0], max(map(abs, values))
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    if largest < 1e7 and digits <= 5:
        comma = "," if largest >= 1e4 else ""
        texts = [f"{value:{comma}.{digits}f}" for value in values]
    else:
        texts = [f"{value:.{1 + math.ceil(math.log10(largest / step))}g}" for value in values]
    # Rounding may leave a minus sign before zero.
    return [text.replace("-", "−") if float(text.replace(",", "")) else text.lstrip("-") for text in texts]


def ticks_of(low: float, high: float, most: int = 6, *, whole: bool = False) -> list[Tick]:
    """Return round numbers with their texts; with ``whole``, only integers.

    >>> ticks_of(0.0, 1.0, 3), ticks_of(0.0, 1.0, 3, whole=True)
    ([(0.0, '0.0'), (0.5, '0.5'), (1.0, '1.0')], [(0.0, '0'), (1.0, '1')])
    """
    values = [value for value in round_numbers(low, high, most) if not whole or value == round(value)]
    return list(zip(values, written_alike(values), strict=True))


Mark = Rectangle | Words | Line
# The width of a chart that a phone shows without making the text small.
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
        """Return the position of a number, clipped to the ends."""
        return self(min(max(value, self.low), self.high))


def room_for(ticks: Sequence[Tick], least: float = 56.0, most: float = 120.0) -> float:
    """Return the start of an axis that has these texts to its left.

    >>> room_for([(0.0, "0")]), room_for([(1e6, "1,000,000")]) > 70
    (56.0, True)
    """
    widest = max((text_width(text, SMALL) for _, text in ticks), default=0.0)
    return min(max(least, LEFT + widest + 8), most)


def frame(
    x: Scale,
    y: Scale,
    x_ticks: Sequence[Tick],
    y_ticks: Sequence[Tick],
    x_title: str,
    y_title: str,
    *,
    grid: tuple[bool, bool] = (True, True),
    upright: bool = False,
) -> list[Mark]:
    """Draw grid lines and the numbers at them; horizontal lines are drawn below vertical ones.

    ``grid`` says whether the horizontal and the vertical axis have grid lines. With ``upright``, the base line is the
    left one.
    """
    marks: list[Mark] = []
    if y_title:
        marks.append(Words(LEFT, y.stop - 9, shortened(plain(y_title), WIDTH - 2 * LEFT, TEXT), "chart-text"))
    for value, text in y_ticks:
        marks += [straight(x.start, y(value), x.stop, y(value), "chart-grid")] if grid[1] else []
        marks.append(
            Words(x.start - 7, y(value) + 4, shortened(text, x.start - 12, SMALL), "chart-small", "end")
        )
    for value, text in thinned(x, x_ticks):
        marks += [straight(x(value), y.start, x(value), y.stop, "chart-grid")] if grid[0] else []
        marks.append(Words(x(value), y.start + 17, text, "chart-small", "middle"))
    end = (x.start, y.stop) if upright else (x.stop, y.start)
    marks.append(straight(x.start, y.start, *end, "chart-axis"))
    if x_title:
        middle = (x.start + x.stop) / 2
        room = 2 * min(middle, WIDTH - middle) - 2 * LEFT
        marks.append(
            Words(middle, y.start + 36, shortened(plain(x_title), room, TEXT), "chart-text", "middle")
        )
    return marks


def apart(scale: Scale, ticks: Sequence[Tick], gap: float = 8.0) -> list[Tick]:
    """Return the ticks without those whose texts would touch the one before.

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
    """Return every second tick, every third, …, so that no texts touch and the spacing stays even.

    >>> thinned(Scale(0.0, 4.0, 0.0, 120.0), [(float(i), f"{i},000") for i in range(5)])
    [(0.0, '0,000'), (2.0, '2,000'), (4.0, '4,000')]
    """
    inside = [tick for tick in ticks if scale(tick[0]) + text_width(tick[1], SMALL) / 2 <= WIDTH - 4]
    for step in range(1, len(inside)):
        if len(apart(scale, inside[::step])) == len(inside[::step]):
            return inside[::step]
    return inside[:1]


def spread(places: Sequence[float], lowest: float, room: float = 15.0) -> list[float]:
    """Move labels so that they do not overlap, keeping their order, and none is below ``lowest``.

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
    """Return a dashed straight line."""
    n = max(1, round(math.hypot(x2 - x1, y2 - y1) / (2 * dash)))
    at = [(x1 + (x2 - x1) * t, y1 + (y2 - y1) * t) for t in (i / (2 * n - 1) for i in range(2 * n))]
    return Line(tuple(("L" if i % 2 else "M", (point,)) for i, point in enumerate(at)), style)


def polyline(points: Sequence[Point], style: str) -> Line:
    return Line(tuple(("L" if i else "M", (point,)) for i, point in enumerate(points)), style)


def dot(x: float, y: float, radius: float, style: str) -> Rectangle:
    return Rectangle(x - radius, y - radius, 2 * radius, 2 * radius, style, radius)


def moved(mark: Mark, x: float, y: float) -> Mark:
    """Return a mark moved to the right and down."""
    if isinstance(mark, Line):
        steps = tuple((verb, tuple((a + x, b + y) for a, b in points)) for verb, points in mark.steps)
        return Line(steps, mark.style)
    return replace(mark, x=mark.x + x, y=mark.y + y)


# Distinguishable without seeing red and green: they differ in lightness, and every chart also names them.
COLOURS = (
    ("#2a66ab", "#82b4ee"),
    ("#c2571a", "#f0a06a"),
    ("#3f7d58", "#7fc29b"),
    ("#8e4a8b", "#d79bd4"),
    ("#8a6d00", "#dcbb45"),
    ("#007c8a", "#5cc6d3"),
    ("#a83250", "#ee8fa6"),
    ("#5d6b75", "#aab7c0"),
)
BANDS = 5
_PAGE = ("#fcfcfa", "#16191c")
_INK, _FAINT = ("#26323a", "#e8ecef"), ("#4b5963", "#b9c3ca")


def colour_of(place: int) -> int:
    """Return the index of the colour of a class; colours repeat after eight."""
    return place % len(COLOURS)


def mixed(colour: str, page: str, share: float) -> str:
    """Mix a colour with that of the page.

    >>> mixed("#000000", "#ffffff", 0.5)
    '#808080'
    """
    ours, page_s = ([int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in (colour, page))
    return "#" + "".join(
        f"{round(share * a + (1 - share) * b):02x}" for a, b in zip(ours, page_s, strict=True)
    )


def _shade(colour: tuple[str, str], band: int) -> tuple[str, str]:
    share = 0.14 + 0.62 * band / (BANDS - 1)
    return mixed(colour[0], _PAGE[0], share), mixed(colour[1], _PAGE[1], 0.75 * share)


CHART_STYLES = {
    "chart-title": Style(fill=_INK, font_size=14.0, bold=True),
    "chart-text": Style(fill=_FAINT, font_size=12.0),
    "chart-name": Style(fill=_INK, font_size=12.5, bold=True),
    "chart-small": Style(fill=_FAINT, font_size=11.0),
    "chart-strong": Style(fill=_INK, font_size=12.0, bold=True),
    "chart-grid": Style(stroke=("#e3e7e9", "#2c3338"), width=1.0),
    "chart-axis": Style(stroke=("#7d8a92", "#8b98a1"), width=1.2),
    "chart-reference": Style(stroke=("#7d8a92", "#8b98a1"), width=1.4),
    "chart-sample": Style(fill=_FAINT),
    "chart-ring": Style(stroke=_INK, width=1.8),
    "chart-mark": Style(fill=("#b4412b", "#ef8c78"), stroke=_PAGE, width=1.2),
    "chart-mark-line": Style(stroke=("#b4412b", "#ef8c78"), width=1.2),
    "chart-mark-text": Style(fill=("#b4412b", "#ef8c78"), font_size=12.0, bold=True),
    **{f"line-{i}": Style(stroke=c, width=2.0) for i, c in enumerate(COLOURS)},
    **{f"thin-{i}": Style(stroke=c, width=1.3) for i, c in enumerate(COLOURS)},
    **{f"fill-{i}": Style(fill=c) for i, c in enumerate(COLOURS)},
    **{f"dot-{i}": Style(fill=c, stroke=_PAGE, width=1.0) for i, c in enumerate(COLOURS)},
    **{
        f"shade-{i}-{b}": Style(fill=_shade(c, b)) for i, c in enumerate(COLOURS) for b in range(BANDS)
    },
}  # fmt: skip


LINE = 19.0
# The mark of a name: the style of a square, a mark within 11 pixels either way, or nothing; and the name.
Sample = tuple[str | Mark | None, str]


def wrapped(text: str, width: float, size: float) -> list[str]:
    """Break a text into lines, at spaces and between Chinese characters.

    >>> wrapped("one two three", 60, 10)
    ['one two', 'three']
    >>> wrapped("每个区间的预测概率与实际比例", 80, 10)
    ['每个区间的预测', '概率与实际比例']
    """
    lines, line = [], ""
    for piece in _pieces(text):
        if line and text_width(line + piece.rstrip(), size) > width:
            lines.append(line.rstrip())
            line = ""
        line += piece
    return [*lines, line.rstrip()] if line.strip() or not lines else lines


def _pieces(text: str) -> list[str]:
    pieces: list[str] = [""]
    for character in text:
        # Closing punctuation stays with the word before it.
        wide = ord(character) >= 0x2E80 and character not in "，。、；：）”？！"
        if wide or (pieces[-1].endswith(" ") and character != " "):
            pieces.append("")
        pieces[-1] += character
    return [piece for piece in pieces if piece]


def heading(title: str, notes: Sequence[str] = (), top: float = 12.0) -> tuple[list[Mark], float]:
    """Draw a title and notes under it. Return the marks and the position of the end."""
    marks: list[Mark] = []
    y, room = top, WIDTH - 2 * LEFT
    for line in wrapped(plain(title), room / 1.05, TITLE):
        y += LINE
        marks.append(Words(LEFT, y - 4, line, "chart-title"))
    for note in notes:
        for line in wrapped(plain(note), room, TEXT):
            y += LINE - 2
            marks.append(Words(LEFT, y - 3, line, "chart-text"))
    return marks, y + 6


def legend(names: Sequence[Sample], top: float) -> tuple[list[Mark], float]:
    """Draw samples and their names on as many lines as needed. Return the marks and the position of the end."""
    marks: list[Mark] = []
    x, y = LEFT, top
    for sample, name in names:
        text = shortened(plain(name), WIDTH - 2 * LEFT - 20, TEXT)
        indent = 0.0 if sample is None else 16.0
        width = indent + text_width(text, TEXT) + 14
        if x > LEFT and x + width > WIDTH - LEFT + 14:
            x, y = LEFT, y + LINE
        square = Rectangle(0, 0, 11, 11, sample, 2.0) if isinstance(sample, str) else sample
        marks += [] if square is None else [moved(square, x, y + 4)]
        marks.append(Words(x + indent, y + 14, text, "chart-text"))
        x += width
    return marks, y + LINE + 3
