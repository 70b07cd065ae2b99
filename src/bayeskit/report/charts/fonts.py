"""Fonts for Matplotlib: it draws a box for a character that its font lacks, so one that has it is looked for."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING

from bayeskit.errors import SuspectResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Fonts with Chinese characters as systems name them: Linux, macOS, Windows.
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
    """Tell whether a text has characters that Matplotlib's own font lacks.

    >>> is_wide("纹理"), is_wide("texture – 3 µm")
    (True, False)
    """
    return any(unicodedata.east_asian_width(character) in "WF" for character in text)


def installed() -> list[str]:
    """Return the fonts with Chinese characters that Matplotlib finds, the best first."""
    found = {font.name for font in import_module("matplotlib.font_manager").fontManager.ttflist}
    return [name for name in CHINESE if name in found]


def warn_of_boxes(texts: Iterable[str]) -> None:
    """Say once that Chinese characters come out as boxes, and what helps; nothing where a font has them."""
    global _warned
    wide = next((text for text in texts if is_wide(text)), None)
    if wide is None or _warned or installed():
        return
    _warned = True
    warnings.warn(
        f"No font that Matplotlib finds has the characters of {wide!r}: they will be boxes. Install one (Debian and "
        'Ubuntu: apt install fonts-noto-cjk), or save("chart.svg"), which uses the fonts of whoever looks at it.',
        SuspectResult,
        stacklevel=4,
    )


def set_fonts(axes: Axes) -> None:
    """Let every text on the axes that needs it fall back on an installed font with Chinese characters."""
    artists = axes.findobj(import_module("matplotlib.text").Text)
    wide = [artist for artist in artists if is_wide(artist.get_text())]
    if not wide:
        return
    warn_of_boxes(artist.get_text() for artist in wide)
    for artist in wide:
        artist.set_fontfamily([*artist.get_fontfamily(), *installed()])
