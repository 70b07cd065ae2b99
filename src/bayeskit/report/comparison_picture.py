"""The picture of two networks side by side, with colours of its own for arcs that differ."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from bayeskit.errors import SettingError
from bayeskit.report.network_svg import _rule, as_svg
from bayeskit.report.picture import Picture
from bayeskit.report.scene import Style

_RED, _BLUE, _AMBER = ("#b4412b", "#ef8c78"), ("#2a66ab", "#82b4ee"), ("#a06a00", "#e0ab3f")

# Beside the styles of every picture of a network.
DIFFERENCES = {
    "arc-extra": Style(stroke=_RED, width=2.0),
    "head-extra": Style(fill=_RED),
    "arc-missing": Style(stroke=_BLUE, width=2.0),
    "head-missing": Style(fill=_BLUE),
    "arc-turned": Style(stroke=_AMBER, width=2.0),
    "head-turned": Style(fill=_AMBER),
}


class ComparisonPicture(Picture):
    """A drawing of two networks; ``str(picture)`` is the SVG, a notebook shows it, ``save`` writes it as .svg."""

    @cached_property
    def svg(self) -> str:
        """The picture as the text of an SVG file."""
        light = "".join(_rule(name, style, 0) for name, style in DIFFERENCES.items())
        dark = "".join(_rule(name, style, 1, colours_only=True) for name, style in DIFFERENCES.items())
        more = f"{light}@media (prefers-color-scheme:dark){{{dark}}}"
        return as_svg(self.scene).replace("</style>", f"{more}</style>", 1)

    def save(self, path: Any) -> Path:
        """Write the picture to an .svg file and return its path."""
        if isinstance(path, (str, Path)) and Path(path).suffix.lower() != ".svg":
            raise SettingError(
                f"A comparison cannot be saved as {Path(path).name!r}. Save it as .svg, which browsers and drawing "
                "programs read."
            )
        return super().save(path)
