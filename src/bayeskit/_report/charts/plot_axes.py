"""Drawing of a chart description on Matplotlib axes, as artists that users may style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit._markup import plain
from bayeskit._report.charts.axis import BANDS, CHART_STYLES, COLOURS, Scale, colour_of, wrapped
from bayeskit._report.charts.plot import (
    START,
    STOP,
    Area,
    Axis,
    Bars,
    Cells,
    Conversion,
    Curve,
    Key,
    Panel,
    Plot,
    Points,
    Ring,
    Rulers,
    Series,
    Tag,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REFERENCE, INK, MARK = "#7d8a92", "#26323a", "#b4412b"
_MARKERS = {"disc": "o", "square": "s", "triangle": "^", "cross": "P", "ring": "o"}
# Converts a radius in pixels (80 per inch) to a diameter in points.
_POINTS = 2 * 72 / 80
TITLE_WIDTH = 400.0


def _colour(number: int | None) -> str:
    return REFERENCE if number is None else COLOURS[colour_of(number)][0]


def draw_plot(plot: Plot, on: Sequence[Axes]) -> None:
    """Draw the first panels, as many as there are axes."""
    for axes, panel in zip(on, plot.panels, strict=False):
        match panel:
            case Panel():
                _panel(axes, panel if plot.legend else _in_free_colours(panel, axes))
            case Rulers():
                _rulers(axes, panel)
            case Conversion():
                _conversion(axes, panel)
        if not panel.beneath:
            axes.set_title(in_lines(panel.title or plot.title), parse_math=False)
    if plot.legend:
        _legend(on[0], plot.legend, plot.legend_title)


def in_lines(text: str) -> str:
    """Break a text that is longer than a figure is wide."""
    return "\n".join(wrapped(plain(text), TITLE_WIDTH, 12.0))


def _in_free_colours(panel: Panel, axes: Axes) -> Panel:
    """Return the panel with colours that existing lines do not use, so that two charts can share axes."""
    taken = len({line.get_color() for line in axes.lines} - {REFERENCE})
    if not taken:
        return panel
    series = [
        replace(one, colour=one.colour + taken)
        if isinstance(one, Curve | Points | Bars) and one.colour is not None
        else one
        for one in panel.series
    ]
    return replace(panel, series=tuple(series))


def _panel(axes: Axes, panel: Panel) -> None:
    x, y = (panel.x.low, panel.x.high), (panel.y.low, panel.y.high)
    if axes.has_data() and not (panel.x.states or panel.y.states):
        # Keep what was drawn before visible.
        x, y = _both(x, axes.get_xlim()), _both(y, axes.get_ylim())
    axes.set_xlim(*x)
    axes.set_ylim(*y)
    for order, series in enumerate(panel.series):
        # Matplotlib's own lines have order 2.
        _series(axes, series, panel, 2.0 + order / 100)
    for curve, height in panel.named_ends():
        _write(
            axes,
            curve.name,
            (1.0, height),
            (6, 0),
            _colour(curve.colour),
            xycoords=axes.get_yaxis_transform(),
        )
    for axis, described in ((axes.xaxis, panel.x), (axes.yaxis, panel.y)):
        axis.set_label_text(plain(described.title), parse_math=False)
        _ticks(axis, described)


def _both(ours: tuple[float, float], there: tuple[float, float]) -> tuple[float, float]:
    return min(*ours, *there), max(*ours, *there)


def _write(
    axes: Axes, text: str, at: tuple[float, float], offset: tuple[float, float], colour: str, **style: Any
) -> None:
    """Write a small text next to a place; ``offset`` is in points."""
    ha = "center" if not offset[0] else "left" if offset[0] > 0 else "right"
    va = "center" if not offset[1] else "bottom" if offset[1] > 0 else "top"
    style = {"ha": ha, "va": va, "fontsize": "small", "color": colour, "parse_math": False, **style}
    axes.annotate(plain(text), at, offset, textcoords="offset points", annotation_clip=False, **style)


def _ticks(axis: Any, described: Axis) -> None:
    """Write the ticks of the description. Round numbers are left to Matplotlib, so that they adapt to zooming."""
    ticker = import_module("matplotlib.ticker")
    if described.ticks:
        places, texts = zip(*described.ticks, strict=True)
        axis.set_ticks(places, [plain(text) for text in texts], parse_math=False)
    elif described.written == "percent":
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{100 * value:.4g}%"))
    elif described.written == "whole":
        axis.set_major_locator(ticker.MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))


def _series(axes: Axes, series: Series, panel: Panel, order: float) -> None:
    match series:
        case Curve():
            _curve(axes, series, order)
        case Points():
            _points(axes, series, order)
        case Bars():
            _bars(axes, series, order)
        case Cells():
            extent = (panel.x.low, panel.x.high, panel.y.low, panel.y.high)
            image = _shades()[series.colours % len(COLOURS), series.bands]
            axes.imshow(image, origin="lower", extent=extent, aspect="auto", interpolation="nearest")
        case Area():
            outline, patches = import_module("matplotlib.path").Path, import_module("matplotlib.patches")
            closed = [outline(np.vstack([loop, loop[:1]]), closed=True) for loop in series.loops]
            fill = CHART_STYLES[f"shade-{colour_of(series.colour)}-{series.band}"].fill or ("none",)
            whole = outline.make_compound_path(*closed)
            axes.add_patch(patches.PathPatch(whole, facecolor=fill[0], linewidth=0, zorder=order))
        case Ring():
            outline, patches = import_module("matplotlib.path").Path, import_module("matplotlib.patches")
            path = outline(series.points, [outline.MOVETO, *[outline.CURVE4] * 12])
            style = {"fill": False, "edgecolor": _colour(series.colour), "linewidth": 1.6, "zorder": order}
            axes.add_patch(patches.PathPatch(path, **style))
        case Tag():
            plate = {"boxstyle": "round", "facecolor": "white", "edgecolor": REFERENCE}
            _write(axes, series.text, (series.x, series.y), (0, 0), INK, bbox=plate, zorder=order)


def _curve(axes: Axes, curve: Curve, order: float) -> None:
    style: dict[str, Any] = {
        "color": _colour(curve.colour),
        "linestyle": "--" if curve.dashed else "-",
        "label": plain(curve.name) or None,
        "zorder": order,
    }
    if curve.size:
        style |= {"marker": "o", "markersize": _POINTS * curve.size}
    if curve.lower is None or curve.upper is None:
        axes.plot(curve.x, curve.y, **style)
    else:
        reach = np.abs(np.stack([curve.lower, curve.upper]) - curve.y)
        axes.errorbar(curve.x, curve.y, yerr=reach, capsize=2, **style)


def _points(axes: Axes, points: Points, order: float) -> None:
    style: dict[str, Any] = {
        "marker": _MARKERS[points.shape],
        "s": (_POINTS * points.size) ** 2,
        "zorder": order,
    }
    if points.shape == "ring":
        edge = INK if points.colour is None else _colour(points.colour)
        style |= {"facecolors": "none", "edgecolors": edge, "linewidths": 1.6}
    else:
        style |= {"color": _colour(points.colour), "edgecolors": "white", "linewidths": 0.6 * points.rim}
    axes.scatter(points.x, points.y, **style)
    for x, y, text in zip(points.x, points.y, points.texts, strict=bool(points.texts)):
        _write(axes, text, (float(x), float(y)), (4, 4), INK)


def _bars(axes: Axes, bars: Bars, order: float) -> None:
    style: dict[str, Any] = {
        "color": _colour(bars.colour),
        "label": plain(bars.name) or None,
        "zorder": order,
    }
    base = np.zeros(len(bars.at)) if bars.base is None else bars.base
    if bars.horizontal:
        axes.barh(bars.at, bars.values - base, bars.width, left=base, **style)
    else:
        axes.bar(bars.at, bars.values - base, bars.width, bottom=base, edgecolor="white", **style)
    ends = np.maximum(bars.values, base).tolist()
    for at, end, text in zip(bars.at.tolist(), ends, bars.texts, strict=bool(bars.texts)):
        if text:
            place, offset = ((end, at), (3, 0)) if bars.horizontal else ((at, end), (0, 2))
            _write(axes, text, place, offset, INK)


def _rulers(axes: Axes, panel: Rulers) -> None:
    """Draw every lane on a line of its own; a curve takes most of the line's height."""
    low, high = panel.x.low, panel.x.high
    # Measure texts as on a figure with the width of the SVG.
    across = Scale(low, high, START, STOP)
    for i, lane in enumerate(panel.lanes):
        up = i + 0.35 - 0.7 * lane.up
        line = axes.plot(lane.x, up, "-" if lane.curved else "|-", color=_colour(0))[0]
        if lane.curved:
            line.set(marker="o", markersize=4, markevery=[at for at, _ in lane.texts])
            for at, text in lane.texts:
                _write(axes, text, (float(lane.x[at]), float(up[at])), (0, 4), INK)
        else:
            for middle, row, text in lane.placed_texts(across):
                place = low + (high - low) * (middle - START) / (STOP - START)
                _write(axes, text, (place, float(i)), (0, (5, -5, 16, -16)[row]), INK)
        if lane.mark is not None:
            axes.plot(lane.mark[0], i + 0.35 - 0.7 * lane.mark[1], "o", color=MARK)
    axes.set_yticks(range(len(panel.lanes)), [plain(lane.name) for lane in panel.lanes], parse_math=False)
    axes.set_ylim(len(panel.lanes) - 0.4, -0.6)
    axes.set_xlim(low - 0.03 * (high - low), high + 0.03 * (high - low))
    axes.set_xlabel(plain(panel.x.title), parse_math=False)


def _conversion(axes: Axes, panel: Conversion) -> None:
    """Draw one scale above the axes and the other one below."""
    axes.set(xlim=(panel.above.low, panel.above.high), ylim=(0.0, 1.0), yticks=[])
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xlabel(plain(panel.above.title), parse_math=False)
    below = axes.secondary_xaxis("bottom")
    below.set_xticks([at for at, _ in panel.below.ticks], [text for _, text in panel.below.ticks])
    below.set_xlabel(plain(panel.below.title), parse_math=False)
    if panel.at is not None:
        axes.plot([panel.at, panel.at], [0.0, 1.0], "o--", color=MARK, clip_on=False)
        right = panel.at < (panel.above.low + panel.above.high) / 2
        _write(axes, panel.text, (panel.at, 0.5), (6 if right else -6, 0), MARK)


def _shades() -> Any:
    """Return the colours of cells as in the SVG: colours × bands × red, green, blue."""
    to_rgb = import_module("matplotlib.colors").to_rgb
    fills = [[CHART_STYLES[f"shade-{k}-{b}"].fill for b in range(BANDS)] for k in range(len(COLOURS))]
    return np.array([[to_rgb(fill[0]) for fill in row if fill] for row in fills])


def _legend(axes: Axes, keys: Sequence[Key], title: str) -> None:
    """Add legend entries as artists on the axes, so that another call of ``legend`` finds them."""
    for key in keys:
        if plain(key.name) not in axes.get_legend_handles_labels()[1]:
            words_only = key.colour is None and key.shape is None
            marker = "none" if words_only else _MARKERS[key.shape or "square"]
            axes.scatter([], [], s=30, marker=marker, color=_colour(key.colour), label=plain(key.name))
    drawn = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    names = [plain(key.name) for key in keys]
    found = axes.legend([drawn[name] for name in names], names, title=plain(title) or None)
    for text in (*found.get_texts(), found.get_title()):
        text.set_parse_math(False)
