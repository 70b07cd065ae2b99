"""A picture as self-contained SVG with light and dark styles."""

from __future__ import annotations

from collections.abc import Mapping

from bayeskit._report.scene import STYLES, Group, Line, Rectangle, Scene, Style, Words, xml

ROOT = "bayeskit-network"
FONT = 'system-ui,"Segoe UI",Roboto,"Noto Sans","Noto Sans CJK SC","PingFang SC","Microsoft YaHei",sans-serif'


def as_svg(scene: Scene, more: Mapping[str, Style] | None = None, *, shrinks: bool = False) -> str:
    """Return a picture as SVG. Every text is escaped, and there are no ids or links.

    Parameters
    ----------
    scene : Scene
    more : mapping from name to style, optional
        Styles in addition to the default ones.
    shrinks : bool
        Limit the width to that of the page.

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
        f"<style>{stylesheet(more)}</style>",
        f'<rect class="page" width="{width}" height="{height}" rx="10"/>',
        *map(_group, scene.groups),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def stylesheet(more: Mapping[str, Style] | None = None) -> str:
    """Return the styles. All are limited to the class of the picture, so that they do not affect the page around it."""
    font = f".{ROOT} text{{font-family:{FONT}}}"
    return font + rules(STYLES) + (rules(more) if more else "")


def rules(styles: Mapping[str, Style]) -> str:
    """Write styles for a light page, and their colours for a dark one.

    >>> rules({"dot": Style(fill=("#000", "#fff"))})
    '.bayeskit-network .dot{fill:#000}@media (prefers-color-scheme:dark){.bayeskit-network .dot{fill:#fff}}'
    """
    light = "".join(_rule(name, style, 0) for name, style in styles.items())
    dark = "".join(_rule(name, style, 1, colours_only=True) for name, style in styles.items())
    return f"{light}@media (prefers-color-scheme:dark){{{dark}}}"


def _rule(name: str, style: Style, shade: int, colours_only: bool = False) -> str:
    said = [f"fill:{style.fill[shade] if style.fill else 'none'}"]
    if style.stroke:
        said.append(f"stroke:{style.stroke[shade]}")
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
