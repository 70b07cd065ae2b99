"""What every chart can do: be SVG, show itself in a notebook, save itself, be drawn by Matplotlib."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayeskit.errors import UsageError
from bayeskit.report.charts.legend import CHART_STYLES
from bayeskit.report.picture import Picture, set_fonts
from bayeskit.report.scene import Scene, Style
from bayeskit.typing import PathLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ChartPicture(Picture):
    """The drawing of a chart; ``str(picture)`` is the SVG, a notebook shows it, ``save`` writes it."""

    _shrinks = True

    def _styles(self) -> dict[str, Style]:
        used = {mark.style for group in self.scene.groups for mark in group.marks}
        return {name: style for name, style in CHART_STYLES.items() if name in used}


class Chart(ABC):
    """Numbers that draw themselves. A subclass says which scene they make, and how Matplotlib draws them on axes."""

    @abstractmethod
    def scene(self) -> Scene:
        """Return the picture as rectangles, texts and lines."""

    @abstractmethod
    def _on_axes(self, axes: Axes) -> None:
        """Draw on the axes of Matplotlib."""

    def picture(self) -> ChartPicture:
        """Return the drawing."""
        return ChartPicture(self.scene())

    def svg(self) -> str:
        """Return the text of an SVG file that needs nothing beside it."""
        return self.picture().svg

    def _repr_html_(self) -> str:
        return self.svg()

    def save(self, path: PathLike) -> Path:
        """Write the picture to a file and return its path.

        Parameters
        ----------
        path : str or path
            The suffix says the format: .svg always; .png, .pdf and .jpg where Matplotlib is installed.
        """
        return self.picture().save(path)

    def plot(self, ax: Axes | None = None) -> Any:
        """Draw with Matplotlib, on axes that are given or on new ones, and return them.

        Parameters
        ----------
        ax : matplotlib axes, optional
        """
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError:
                raise UsageError(
                    'plot() needs Matplotlib: pip install "bayeskit[plot]". svg() and save("chart.svg") need nothing.'
                ) from None
            scene = self.scene()
            _, ax = pyplot.subplots(figsize=(scene.width / 80, scene.height / 80), layout="constrained")
        self._on_axes(ax)
        set_fonts(ax)
        return ax
