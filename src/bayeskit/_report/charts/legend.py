"""The colours of a chart on light and dark pages, its heading and its legend."""

from __future__ import annotations

from collections.abc import Sequence

from bayeskit._markup import plain
from bayeskit._report.charts.axis import LEFT, TEXT, TITLE, WIDTH, Mark, moved
from bayeskit._report.scene import Rectangle, Style, Words, shortened, text_width

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
