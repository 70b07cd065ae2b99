"""A picture that shows itself in a notebook and saves itself to a file."""

from __future__ import annotations

from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from bayeskit.errors import SettingError
from bayeskit.report.network_svg import as_svg
from bayeskit.report.scene import Scene

# What matplotlib writes; SVG needs nothing beside bayeskit.
_BY_MATPLOTLIB = (".png", ".pdf", ".jpg", ".jpeg")


class Picture:
    """A drawing of a network.

    ``str(picture)`` is the SVG; a notebook shows it; ``save`` writes it.

    Examples
    --------
    >>> Picture(Scene(10, 20, "a network", "", ()))
    <Picture: a network, 10 × 20 pixels>
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    @cached_property
    def svg(self) -> str:
        """The picture as the text of an SVG file."""
        return as_svg(self.scene)

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Picture: {self.scene.title}, {self.scene.width:.0f} × {self.scene.height:.0f} pixels>"

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: Any) -> Path:
        """Write the picture to a file and return its path: .svg always; .png, .pdf and .jpg if matplotlib is there.

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
            file.write_text(self.svg, encoding="utf-8")
        elif suffix in _BY_MATPLOTLIB:
            from bayeskit.report.picture_matplotlib import save

            save(self.scene, file)
        else:
            known = ", ".join((".svg", *_BY_MATPLOTLIB))
            raise SettingError(
                f"A picture cannot be saved as {file.name!r}: its suffix says the format, one of {known}."
            )
        return file
