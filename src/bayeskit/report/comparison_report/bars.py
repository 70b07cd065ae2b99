"""Models as dots on a line, with how much their figures vary."""

from __future__ import annotations

from bayeskit.report.charts.axis import WIDTH, Mark, Scale, apart, dashes, dot, straight
from bayeskit.report.charts.chart import ChartPicture
from bayeskit.report.charts.legend import heading
from bayeskit.report.charts.ticks import ticks_of
from bayeskit.report.comparison_report.comparison import Comparison, Standing
from bayeskit.report.comparison_report.verdict import figure, name_of
from bayeskit.report.comparison_report.words import WORDS
from bayeskit.report.picture_text import shortened, text_width
from bayeskit.report.scene import Group, Scene, Words

LINE, SMALL, TEXT = 24.0, 11.0, 12.0


def bars_scene(found: Comparison) -> Scene:
    """Draw the figure that decides for each model, the best on top."""
    words, share = WORDS[found.lang], found.best.cost is None
    floor = found.ceiling.value
    title = words["chart_error" if share else "chart_cost"]
    notes = [words["chart_note"]]
    has_floor = share and found.ceiling_holds
    notes += [words["chart_ceiling"].format(value=f"{floor:.1%}")] if has_floor else []
    marks, top = heading(title, notes)
    top += 10
    names = [shortened(name_of(s, found.lang), 170, TEXT) for s in found.standings]
    figures = [figure(s.decisive, share) for s in found.standings]
    left = 26 + max(text_width(name, TEXT) for name in names)
    right = WIDTH - 24 - max(text_width(each, SMALL) for each in figures)
    bottom = top + LINE * len(names) + 4
    ends = [_ends(s) for s in found.standings]
    # Knowing nothing may be so much worse that the others would stand on one spot: then it is off the scale.
    inner = [end for s, end in zip(found.standings, ends) if s.key != "majority"] or ends
    low = min([*(low for low, _ in inner), *([floor] if has_floor else [])])
    high = max(high for _, high in inner)
    far = high + 1.5 * (high - low)
    high = max([high, *(end for _, end in ends if end <= far)])
    margin = 0.06 * (high - low or high or 1.0)
    x = Scale(max(0.0, low - margin), high + margin, left, right)
    ticks = ticks_of(x.low, x.high, 5)
    if share:
        ticks = [(value, f"{100 * value:.4g}%") for value, _ in ticks]
    for value, written in apart(x, ticks):
        marks.append(straight(x(value), bottom, x(value), top, "chart-grid"))
        marks.append(Words(x(value), bottom + 17, written, "chart-small", "middle"))
    marks.append(straight(x.start, bottom, x.stop, bottom, "chart-axis"))
    if has_floor:
        marks.append(dashes(x(floor), bottom, x(floor), top, "chart-reference"))
    groups = [Group(title, tuple(marks))]
    for i, (standing, name, told) in enumerate(zip(found.standings, names, figures)):
        middle = top + LINE * (i + 0.5) + 2
        colour = 0 if standing.ours else 7
        bold = "chart-strong" if standing.key == found.pick else "chart-text"
        row: list[Mark] = [
            Words(16, middle + 4, name, bold),
            Words(WIDTH - 16, middle + 4, told, "chart-small", "end"),
        ]
        if standing.decisive.value > x.high:
            row.append(Words(x.stop, middle + 4, "→", "chart-text", "end"))
        else:
            row.append(straight(x(ends[i][0]), middle, x(ends[i][1]), middle, f"line-{colour}"))
            row.append(dot(x(standing.decisive.value), middle, 5.0, f"dot-{colour}"))
            if not standing.tied:  # a ring: the page shows through
                row.append(dot(x(standing.decisive.value), middle, 2.4, "page"))
        groups.append(Group(f"{name_of(standing, found.lang)}: {told}", tuple(row)))
    return Scene(WIDTH, bottom + 30, title, "; ".join(group.title for group in groups[1:]), tuple(groups))


def bars_svg(found: Comparison) -> str:
    """Return the picture as SVG."""
    return ChartPicture(bars_scene(found)).svg


def _ends(standing: Standing) -> tuple[float, float]:
    spread = standing.decisive.deviation or 0.0
    return max(0.0, standing.decisive.value - spread), standing.decisive.value + spread
