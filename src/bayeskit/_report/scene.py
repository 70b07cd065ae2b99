"""The elements of a picture, each with a style name, and the picture as self-contained SVG with light and dark styles.

The widths of texts are estimated, texts are cut to fit, and they are escaped for XML.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from bayeskit._markup import FONT
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


ROOT = "bayeskit-network"


def as_svg(
    scene: Scene, more: Mapping[str, Style] | None = None, *, shrinks: bool = False, hosted: bool = False
) -> str:
    """Return a picture as SVG. Every text is escaped, and there are no ids or links.

    Parameters
    ----------
    scene : Scene
    more : mapping from name to style, optional
        Styles in addition to the default ones.
    shrinks : bool
        Limit the width to that of the page.
    hosted : bool
        Whether it stands in HTML, which then says whether colours are those of light or of dark pages. A file of its
        own follows the system.

    Examples
    --------
    >>> as_svg(Scene(10, 10, "<b>", "", ())).splitlines()[1]
    '<title>&lt;b&gt;</title><desc></desc>'
    """
    width, height = number(scene.width), number(scene.height)
    narrow = 'style="max-width:100%;height:auto" ' if shrinks else ""
    lines = [
        f'<svg {narrow}xmlns="http://www.w3.org/2000/svg" class="{ROOT}" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{xml(scene.title)}">',
        f"<title>{xml(scene.title)}</title><desc>{xml(scene.description)}</desc>",
        f"<style>{stylesheet(more, hosted)}</style>",
        f'<rect class="page" width="{width}" height="{height}" rx="10"/>',
        *map(_group, scene.groups),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def stylesheet(more: Mapping[str, Style] | None = None, hosted: bool = False) -> str:
    """Return the styles. All are limited to the class of the picture, so that they do not affect the page around it."""
    font = f".{ROOT} text{{font-family:{FONT}}}"
    return font + rules(STYLES, hosted) + (rules(more, hosted) if more else "")


def rules(styles: Mapping[str, Style], hosted: bool = False) -> str:
    """Write styles for a light page, and their colours for a dark one.

    >>> rules({"dot": Style(fill=("#000", "#fff"))})
    '.bayeskit-network .dot{fill:#000}@media (prefers-color-scheme:dark){.bayeskit-network .dot{fill:#fff}}'
    >>> rules({"dot": Style(fill=("#000", "#fff"))}, hosted=True)
    '.bayeskit-network .dot{fill:#000;fill:light-dark(#000,#fff)}'
    """
    if hosted:
        return "".join(_rule(name, style, 0, hosted=True) for name, style in styles.items())
    light = "".join(_rule(name, style, 0) for name, style in styles.items())
    dark = "".join(_rule(name, style, 1, colours_only=True) for name, style in styles.items())
    return f"{light}@media (prefers-color-scheme:dark){{{dark}}}"


def _rule(name: str, style: Style, shade: int, colours_only: bool = False, hosted: bool = False) -> str:
    said = [f"fill:{style.fill[shade] if style.fill else 'none'}"]
    if style.stroke:
        said.append(f"stroke:{style.stroke[shade]}")
    if hosted:  # browsers that do not know light-dark() keep what comes before it
        both = (("fill", style.fill), ("stroke", style.stroke))
        said += [f"{what}:light-dark({','.join(pair)})" for what, pair in both if pair]
    if not colours_only:
        said += [f"stroke-width:{style.width}"] if style.stroke else []
        said += [f"font-size:{style.font_size:g}px"] if style.font_size else []
        said += ["font-weight:600"] if style.bold else []
    return f".{ROOT} .{name}{{{';'.join(said)}}}"


def _group(group: Group) -> str:
    return f"<g><title>{xml(group.title)}</title>{''.join(map(_mark, group.marks))}</g>"


def _mark(mark: Rectangle | Words | Line) -> str:
    match mark:
        case Rectangle():
            corner = f' rx="{number(mark.radius)}"' if mark.radius else ""
            return (
                f'<rect class="{mark.style}" x="{number(mark.x)}" y="{number(mark.y)}" '
                f'width="{number(mark.width)}" height="{number(mark.height)}"{corner}/>'
            )
        case Words():
            anchor = "" if mark.anchor == "start" else f' text-anchor="{mark.anchor}"'
            place = f'x="{number(mark.x)}" y="{number(mark.y)}"{anchor}'
            return f'<text class="{mark.style}" {place}>{xml(mark.text)}</text>'
        case Line():
            steps = "".join(
                verb + " ".join(f"{number(x)},{number(y)}" for x, y in points) for verb, points in mark.steps
            )
            return f'<path class="{mark.style}" d="{steps}"/>'


def number(value: float) -> str:
    """Write a length to a tenth of a pixel.

    >>> number(3.0), number(-0.04), number(2.25)
    ('3', '0', '2.2')
    """
    text = f"{value:.1f}"
    return "0" if text == "-0.0" else text.removesuffix(".0")
