"""The base class of charts: SVG, notebook display, saving, drawing with Matplotlib."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayeskit._markup import framed
from bayeskit._report.charts.axis import CHART_STYLES
from bayeskit._report.charts.plot import Plot
from bayeskit._report.charts.plot_axes import draw_plot, in_lines
from bayeskit._report.charts.plot_scene import scene_of
from bayeskit._report.picture import Picture, set_fonts
from bayeskit._report.scene import Scene, Style
from bayeskit.errors import UsageError
from bayeskit.typing import PathLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ChartPicture(Picture):
    """The picture of a chart. ``str(picture)`` is the SVG, ``save`` writes a file, and notebooks show it."""

    _shrinks = True

    def _styles(self) -> dict[str, Style]:
        used = {mark.style for group in self.scene.groups for mark in group.marks}
        return {name: style for name, style in CHART_STYLES.items() if name in used}


class PlotPicture(ChartPicture):
    """The picture of a chart that Matplotlib can also draw on axes."""

    def __init__(self, description: Plot) -> None:
        self.description = description
        super().__init__(scene_of(description))

    def plot(self, ax: Axes | None = None) -> Any:
        """Draw with Matplotlib: the first panel on the given axes, or every panel on new axes.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        The axes; a list of them if there are several independent panels.
        """
        on = [ax] if ax is not None else self._new_axes()
        draw_plot(self.description, on)
        set_fonts(on[0] if ax is not None else on[0].figure)
        found = [axes for axes, panel in zip(on, self.description.panels, strict=False) if not panel.beneath]
        return found[0] if len(found) == 1 else found

    def _new_axes(self) -> list[Axes]:
        """Return axes for every panel on a new figure, with the notes below."""
        try:
            from matplotlib import pyplot
        except ImportError:
            raise UsageError(
                'plot() needs Matplotlib: pip install "bayeskit[plot]". svg() and save("chart.svg") do not.'
            ) from None
        plot = self.description
        figure, grid = pyplot.subplots(
            len(plot.panels),
            figsize=(self.scene.width / 80, self.scene.height / 80),
            height_ratios=[panel.height for panel in plot.panels],
            layout="constrained",
            squeeze=False,
        )
        on: list[Axes] = list(grid[:, 0])
        if plot.panels[0].title:
            figure.suptitle(in_lines(plot.title), parse_math=False)
        notes = "\n".join(map(in_lines, plot.notes))
        figure.supxlabel(notes, x=0.02, ha="left", fontsize="small", parse_math=False)
        return on


class Chart(ABC):
    """A chart with its numbers. A subclass describes the chart, and renderers draw the description."""

    @abstractmethod
    def description(self) -> Plot:
        """Return the description of the chart: axes, and their content in the units of the data."""

    def scene(self) -> Scene:
        """Return the chart as rectangles, texts and lines."""
        return self.picture().scene

    def picture(self) -> PlotPicture:
        """Return the picture."""
        return PlotPicture(self.description())

    def svg(self) -> str:
        """Return the text of a self-contained SVG file."""
        return self.picture().svg

    def _repr_html_(self) -> str:
        return framed(self.picture().figure())

    def save(self, path: PathLike) -> Path:
        """Write the picture to a file and return its path.

        Parameters
        ----------
        path : str or path
            The suffix determines the format: .svg, or .png, .pdf and .jpg if Matplotlib is installed.
        """
        return self.picture().save(path)

    def plot(self, ax: Axes | None = None) -> Any:
        """Draw with Matplotlib on the given axes or on new ones, and return the axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            If a chart has several panels, the first one is drawn on them.
        """
        return self.picture().plot(ax)
