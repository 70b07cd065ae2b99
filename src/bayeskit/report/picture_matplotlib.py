"""A picture as PNG, PDF or JPEG, drawn by matplotlib where it is installed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from io import BytesIO
from pathlib import PurePath
from typing import TYPE_CHECKING

from bayeskit.errors import UsageError
from bayeskit.report.charts.fonts import installed, warn_of_boxes
from bayeskit.report.scene import STYLES, Line, Rectangle, Scene, Style, Words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Pixels of a picture for each inch of paper, and how many of the file's for one of these. A very large picture
# is written coarser: matplotlib refuses more than 2^16 pixels a side.
PER_INCH = 72.0
FINENESS = 2.0
MOST_PIXELS = 30_000.0

_ALIGN = {"start": "left", "middle": "center", "end": "right"}


def as_bytes(scene: Scene, name: str, styles: Mapping[str, Style] = STYLES) -> bytes:
    """Draw a picture in the format that the suffix of the name says; ``styles`` may hold more than the usual ones."""
    try:
        import_module("matplotlib.font_manager")
        figures = import_module("matplotlib.figure")
    except ImportError:
        raise UsageError(
            f"Writing {name!r} needs matplotlib. Install it (pip install matplotlib), or save the picture "
            "as .svg, which needs nothing."
        ) from None
    fonts = ["DejaVu Sans", *installed()]
    marks = (mark for group in scene.groups for mark in group.marks)
    warn_of_boxes(mark.text for mark in marks if isinstance(mark, Words))
    width, height = max(scene.width, 1.0), max(scene.height, 1.0)
    figure = figures.Figure(figsize=(width / PER_INCH, height / PER_INCH))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    figure.set_facecolor(styles["page"].fill[0] if styles["page"].fill else "white")
    for order, group in enumerate(scene.groups):
        for mark in group.marks:
            _draw(axes, mark, styles[mark.style], order, fonts)
    fineness = min(FINENESS, MOST_PIXELS / max(width, height))
    file = BytesIO()
    kind = PurePath(name).suffix.lower().removeprefix(".")
    figure.savefig(file, format=kind, dpi=PER_INCH * fineness, facecolor=figure.get_facecolor())
    return file.getvalue()


def _draw(axes: Axes, mark: Rectangle | Words | Line, style: Style, order: int, fonts: list[str]) -> None:
    patches, outline = import_module("matplotlib.patches"), import_module("matplotlib.path").Path
    fill = style.fill[0] if style.fill else "none"
    look = {
        "facecolor": fill,
        "edgecolor": style.stroke[0] if style.stroke else "none",
        "linewidth": style.width,
        "zorder": order,
    }
    match mark:
        case Rectangle():
            rounding = f"round,pad=0,rounding_size={min(mark.radius, mark.width / 2, mark.height / 2)}"
            box = "square,pad=0" if mark.radius == 0 else rounding
            axes.add_patch(
                patches.FancyBboxPatch(
                    (mark.x, mark.y), mark.width, mark.height, boxstyle=box, mutation_aspect=1, **look
                )
            )
        case Words():
            axes.text(
                mark.x,
                mark.y,
                mark.text,
                color=fill,
                fontsize=style.font_size * 0.92,  # its own font is broad
                fontweight="bold" if style.bold else "normal",
                fontfamily=fonts,
                ha=_ALIGN[mark.anchor],
                va="baseline",
                zorder=order,
                parse_math=False,
            )
        case Line():
            code = {
                "M": [outline.MOVETO],
                "L": [outline.LINETO],
                "C": [outline.CURVE4] * 3,
                "Z": [outline.CLOSEPOLY],
            }
            codes = [c for verb, _ in mark.steps for c in code[verb]]
            points = [p for verb, at in mark.steps for p in (at or ((0.0, 0.0),))]
            axes.add_patch(patches.PathPatch(outline(points, codes), **look))
