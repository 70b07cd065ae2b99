"""A nomogram on the axes of Matplotlib: the rulers, with points across."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.report.charts.nomogram_scene import title_of
from bayeskit.report.charts.words import chart_words

if TYPE_CHECKING:
    from bayeskit.report.charts.nomogram import Nomogram


def on_axes(chart: Nomogram, axes: Any) -> None:
    """Draw every ruler on a line of its own; a number's curve takes most of the line's height."""
    shown = chart.rulers[: chart.most]
    row = {reading.name: reading for reading in chart.row}
    for i, ruler in enumerate(shown):
        points = np.clip(chart.points(ruler.name), 0.0, ruler.spread / chart.unit)
        mark = float(i)
        if ruler.numeric:
            values = np.asarray(ruler.values, dtype=np.float64)
            up = (values - values.min()) / max(float(np.ptp(values)), 1e-300)
            height = i + 0.35 - 0.7 * up
            axes.plot(points, height, color="#2a66ab")
            for at, side in ((0, "top"), (len(values) - 1, "bottom")):
                axes.annotate(f"{values[at]:.3g}", (points[at], height[at]), fontsize=8, ha="center", va=side)
            read = row[ruler.name].value if ruler.name in row else None
            mark = float(np.interp(read, values, height)) if isinstance(read, (int, float)) else mark
        else:
            axes.plot(points, np.full(len(points), i), "|-", color="#2a66ab")
            for k, at in enumerate(np.argsort(points)):
                place = (0, 6 if k % 2 == 0 else -13)
                text = str(ruler.values[at])
                axes.annotate(
                    text,
                    (points[at], i),
                    place,
                    textcoords="offset points",
                    ha="center",
                    fontsize=8,
                    parse_math=False,
                )
        if ruler.name in row:
            axes.plot((row[ruler.name].log_odds - ruler.least) / chart.unit, mark, "o", color="#b4412b")
    axes.set_yticks(range(len(shown)), [str(ruler.name) for ruler in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlabel(chart_words(chart.lang)["points"])
    axes.set_title(title_of(chart))
