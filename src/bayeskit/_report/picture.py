"""Pictures that notebooks show and that can be saved as SVG or, with Matplotlib, as PNG, PDF or JPEG.

Matplotlib draws a box for a character that its font lacks, so a font that has the character is searched for.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterable, Mapping
from functools import cached_property
from importlib import import_module
from io import BytesIO
from os import PathLike
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from bayeskit._markup import Html, framed, tag
from bayeskit._messages import Joined
from bayeskit._report.scene import STYLES, Line, Rectangle, Scene, Style, Words, as_svg
from bayeskit._visible import visible
from bayeskit.errors import SettingError, SuspectResult, UsageError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

# Fonts with Chinese characters on Linux, macOS and Windows.
CHINESE = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Noto Sans CJK JP",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "SimHei",
    "Arial Unicode MS",
)
_warned = False


def is_wide(text: str) -> bool:
    """Return whether a text has characters that Matplotlib's own font lacks.

    >>> is_wide("纹理"), is_wide("texture – 3 µm")
    (True, False)
    """
    return any(unicodedata.east_asian_width(character) in "WF" for character in text)


def installed() -> list[str]:
    """Return the fonts with Chinese characters that Matplotlib finds, the best first."""
    found = {font.name for font in import_module("matplotlib.font_manager").fontManager.ttflist}
    return [name for name in CHINESE if name in found]


def warn_of_boxes(texts: Iterable[str]) -> None:
    """Warn once that Chinese characters are drawn as boxes, unless a font has them."""
    global _warned
    wide = next((text for text in texts if is_wide(text)), None)
    if wide is None or _warned or installed():
        return
    _warned = True
    warnings.warn(
        SuspectResult(
            "No font that Matplotlib finds has the characters of {wide!r}, so they will be boxes. Install "
            'one (Debian and Ubuntu: apt install fonts-noto-cjk), or use save("chart.svg"), which uses the '
            "fonts of the viewer.",
            wide=wide,
        ),
        stacklevel=4,
    )


def set_fonts(axes: Artist) -> None:
    """Let texts on the axes fall back to an installed font with Chinese characters where needed."""
    artists = axes.findobj(import_module("matplotlib.text").Text)
    wide = [artist for artist in artists if is_wide(artist.get_text())]
    if not wide:
        return
    warn_of_boxes(artist.get_text() for artist in wide)
    for artist in wide:
        artist.set_fontfamily([*artist.get_fontfamily(), *installed()])


# The formats that Matplotlib writes. SVG needs only bayeskit.
_BY_MATPLOTLIB = (".png", ".pdf", ".jpg", ".jpeg")


class Picture:
    """A picture of a network or a chart.

    ``str(picture)`` is the SVG, ``save`` writes a file, and notebooks show it.

    Examples
    --------
    >>> Picture(Scene(10, 20, "a network", "", ()))
    <Picture: a network, 10 × 20 pixels>
    """

    # Whether it shrinks on a narrower page.
    _shrinks = False

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def _styles(self) -> Mapping[str, Style]:
        """Return its styles in addition to those of every picture."""
        return {}

    @cached_property
    def svg(self) -> str:
        """The picture as the text of an SVG file."""
        return as_svg(self.scene, self._styles(), shrinks=self._shrinks)

    def figure(self) -> Html:
        """Return the picture for a page of HTML, where it scrolls if the page is narrow."""
        return tag("div", Html(as_svg(self.scene, self._styles(), hosted=True)), cls="figure")

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return (
            f"<Picture: {visible(self.scene.title)}, {self.scene.width:.0f} × {self.scene.height:.0f} pixels>"
        )

    def _repr_html_(self) -> str:
        return framed(self.figure())

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the picture to a file and return its path.

        The format is .svg, or .png, .pdf and .jpg if Matplotlib is installed. If writing is interrupted, an
        existing file is unchanged.

        Parameters
        ----------
        path : str or path
            The suffix determines the format.
        """
        if not isinstance(path, (str, PathLike)):
            raise SettingError(
                "{path!r} is not a path to save a picture to. Give text such as 'network.svg'.", path=path
            )
        file = Path(path)
        suffix = file.suffix.lower()
        if suffix == ".svg":
            data = self.svg.encode()
        elif suffix in _BY_MATPLOTLIB:
            data = as_bytes(self.scene, file.name, {**STYLES, **self._styles()})
        else:
            known = Joined((".svg", *_BY_MATPLOTLIB))
            raise SettingError(
                "A picture cannot be saved as {name!r}: the suffix determines the format, one of {known}.",
                name=file.name,
                known=known,
            )
        from bayeskit._io.replacing import replace_file

        replace_file(file, data)
        return file


# Pixels of a picture per inch of paper, and pixels of the file per pixel of the picture. A very large picture has a
# lower resolution, because Matplotlib allows at most 2^16 pixels per side.
PER_INCH = 72.0
FINENESS = 2.0
MOST_PIXELS = 30_000.0

_ALIGN = {"start": "left", "middle": "center", "end": "right"}


def as_bytes(scene: Scene, name: str, styles: Mapping[str, Style] = STYLES) -> bytes:
    """Draw a picture in the format of the suffix; ``styles`` may add to the default ones."""
    try:
        import_module("matplotlib.font_manager")
        figures = import_module("matplotlib.figure")
    except ImportError:
        raise UsageError(
            "Writing {name!r} needs matplotlib. Install it (pip install matplotlib), or save the picture as "
            ".svg.",
            name=name,
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
    drawn = {
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
                    (mark.x, mark.y), mark.width, mark.height, boxstyle=box, mutation_aspect=1, **drawn
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
            axes.add_patch(patches.PathPatch(outline(points, codes), **drawn))
