"""The heading of a chart and the names of its colours."""

from __future__ import annotations

from collections.abc import Sequence

from bayeskit.report.charts.axis import LEFT, TEXT, TITLE, WIDTH, Mark, moved
from bayeskit.report.picture_text import plain, shortened, text_width
from bayeskit.report.scene import Rectangle, Words

LINE = 19.0
# What a name stands for: the style of a square, a mark within 11 pixels either way, or nothing; and the name.
Sample = tuple[str | Mark | None, str]


def wrapped(text: str, width: float, size: float) -> list[str]:
    """Break a text into lines: at blanks, and between Chinese characters.

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
        # A closing sign stays with the word before it.
        wide = ord(character) >= 0x2E80 and character not in "，。、；：）”？！"
        if wide or (pieces[-1].endswith(" ") and character != " "):
            pieces.append("")
        pieces[-1] += character
    return [piece for piece in pieces if piece]


def heading(title: str, notes: Sequence[str] = (), top: float = 12.0) -> tuple[list[Mark], float]:
    """Draw a title and notes under it; return the marks and where what follows may begin."""
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
    """Draw samples and their names side by side, on as many lines as they need; return the marks and where they end."""
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
