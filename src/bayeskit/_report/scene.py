"""The elements of a picture: rectangles, texts and lines, each with a style name.

The widths of texts are estimated, texts are cut to fit, and they are escaped for XML.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

from bayeskit._markup import text as _escaped

# Widths relative to the font size, for a wide font (DejaVu Sans), so that a text is never wider than estimated.
_NARROW = frozenset("iljI|.,:;'!()[]{}/\\ `ftr-")
_BROAD = frozenset("mwMW@%&—…")


def text_width(text: str, size: float) -> float:
    """Return the estimated width of a text in this font size.

    >>> text_width("il", 10) < text_width("MW", 10) < text_width("湿地", 10.5)
    True
    """
    return size * sum(map(_width, text))


def _width(character: str) -> float:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cc", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.03
    if character in _NARROW:
        return 0.41
    if character in _BROAD:
        return 1.0
    return 0.72 if character.isupper() else 0.64


def shortened(text: str, width: float, size: float) -> str:
    """Cut a text to a width, with an ellipsis for the rest.

    >>> shortened("a_very_long_name_of_a_node", 90, 10)
    'a_very_long_n…'
    """
    if text_width(text, size) <= width:
        return text
    room, kept = width - text_width("…", size), 0
    for character in text:
        room -= _width(character) * size
        if room < 0:
            break
        kept += 1
    return text[:kept].rstrip() + "…"


def xml(text: str) -> str:
    """Escape a text for XML, including quotes, so that it may be an attribute.

    >>> xml('<script>"')
    '&lt;script&gt;&quot;'
    """
    return _escaped(text)


Point = tuple[float, float]


@dataclass(frozen=True)
class Rectangle:
    x: float
    y: float
    width: float
    height: float
    style: str
    radius: float = 0.0


@dataclass(frozen=True)
class Words:
    """A line of text; y is its base line."""

    x: float
    y: float
    text: str
    style: str
    anchor: Literal["start", "middle", "end"] = "start"


@dataclass(frozen=True)
class Line:
    """A path: ("M", a), ("L", a), ("C", a, b, c) and ("Z",), as SVG calls them."""

    steps: tuple[tuple[str, tuple[Point, ...]], ...]
    style: str


@dataclass(frozen=True)
class Group:
    """Marks that belong together, and their description."""

    title: str
    marks: tuple[Rectangle | Words | Line, ...]


@dataclass(frozen=True)
class Scene:
    """A picture, in pixels from its upper left corner."""

    width: float
    height: float
    title: str
    description: str
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Style:
    """The appearance of a mark on light and dark pages."""

    fill: tuple[str, str] | None = None
    stroke: tuple[str, str] | None = None
    width: float = 0.0
    font_size: float = 0.0
    bold: bool = False


_TEXT, _FAINT = ("#26323a", "#e8ecef"), ("#4b5963", "#b9c3ca")
_LINE, _GREEN, _AMBER = ("#7d8a92", "#8b98a1"), ("#4f7f66", "#7db597"), ("#a06a00", "#e0ab3f")

STYLES = {
    "page": Style(fill=("#fcfcfa", "#16191c")),
    "node": Style(fill=("#ffffff", "#20252a"), stroke=("#62717a", "#8b98a1"), width=1.3),
    "observed": Style(fill=("#fbf1da", "#3a2f14"), stroke=_AMBER, width=2.0),
    "name": Style(fill=_TEXT, font_size=13.0, bold=True),
    "state": Style(fill=_FAINT, font_size=11.0),
    "track": Style(fill=("#e9edef", "#30373d")),
    "bar": Style(fill=_GREEN),
    "bar-observed": Style(fill=_AMBER),
    "density": Style(stroke=_GREEN, width=1.4),
    "arc": Style(stroke=_LINE, width=1.4),
    "head": Style(fill=_LINE),
}
