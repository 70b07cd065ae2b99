"""A picture that shows itself in a notebook and saves itself to a file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from os import PathLike
from pathlib import Path

from bayeskit.errors import SettingError
from bayeskit.report.drawing.svg import as_svg
from bayeskit.report.scene import STYLES, Scene, Style
from bayeskit.visible import visible

# What matplotlib writes; SVG needs nothing beside bayeskit.
_BY_MATPLOTLIB = (".png", ".pdf", ".jpg", ".jpeg")


class Picture:
    """A drawing, of a network or a chart.

    ``str(picture)`` is the SVG; a notebook shows it; ``save`` writes it.

    Examples
    --------
    >>> Picture(Scene(10, 20, "a network", "", ()))
    <Picture: a network, 10 × 20 pixels>
    """

    # Whether it becomes smaller on a page that is narrower.
    _shrinks = False

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def _styles(self) -> Mapping[str, Style]:
        """Return the styles that it has beside those of every picture."""
        return {}

    @cached_property
    def svg(self) -> str:
        """The picture as the text of an SVG file."""
        return as_svg(self.scene, self._styles(), shrinks=self._shrinks)

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return (
            f"<Picture: {visible(self.scene.title)}, {self.scene.width:.0f} × {self.scene.height:.0f} pixels>"
        )

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the picture to a file and return its path: .svg always; .png, .pdf and .jpg if matplotlib is there.

        Whoever stops it half-way finds the old file, or none.

        Parameters
        ----------
        path : str or path
            The suffix says the format.
        """
        if not isinstance(path, (str, PathLike)):
            raise SettingError(f"{path!r} is no path to save a picture to. Give text such as 'network.svg'.")
        file = Path(path)
        suffix = file.suffix.lower()
        if suffix == ".svg":
            data = self.svg.encode()
        elif suffix in _BY_MATPLOTLIB:
            from bayeskit.report.picture_matplotlib import as_bytes

            data = as_bytes(self.scene, file.name, {**STYLES, **self._styles()})
        else:
            known = ", ".join((".svg", *_BY_MATPLOTLIB))
            raise SettingError(
                f"A picture cannot be saved as {file.name!r}: its suffix says the format, one of {known}."
            )
        from bayeskit.io.replacing import replace_file

        replace_file(file, data)
        return file
