"""The picture of two networks side by side, with colours of its own for arcs that differ."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bayeskit.errors import SettingError
from bayeskit.report.picture import Picture
from bayeskit.report.scene import Style
from bayeskit.typing import PathLike

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

    def _styles(self) -> Mapping[str, Style]:
        return DIFFERENCES

    def save(self, path: PathLike) -> Path:
        """Write the picture to an .svg file and return its path."""
        if isinstance(path, (str, Path)) and Path(path).suffix.lower() != ".svg":
            raise SettingError(
                f"A comparison cannot be saved as {Path(path).name!r}. Save it as .svg, which browsers and drawing "
                "programs read."
            )
        return super().save(path)
