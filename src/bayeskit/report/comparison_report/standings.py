"""All models and their figures: as text, as a table of HTML, and as dots on a line."""

from __future__ import annotations

from bayeskit.display_table import DisplayTable, as_text
from bayeskit.markup import Html, filled, tag
from bayeskit.report.charts.axis import WIDTH, Mark, Scale, apart, dashes, dot, straight, ticks_of
from bayeskit.report.charts.chart import ChartPicture
from bayeskit.report.charts.legend import heading
from bayeskit.report.comparison_report.comparison import Comparison, Measure, ModelStanding
from bayeskit.report.comparison_report.comparison_words import WORDS
from bayeskit.report.comparison_report.sections import Footnotes, numbers_table
from bayeskit.report.comparison_report.verdict import ceiling_text, figure, name_of, size_text, verdict
from bayeskit.report.scene import Group, Scene, Words, shortened, text_width


def spread_text(measure: Measure, digits: int = 3) -> str:
    """Write a number and how much it varies.

    >>> spread_text(Measure(0.3141, 0.002)), spread_text(Measure(0.5))
    ('0.314 ± 0.002', '0.500')
    """
    told = f"{measure.value:.{digits}f}"
    return told if measure.deviation is None else f"{told} ± {measure.deviation:.{digits}f}"


def chance_text(standing: ModelStanding, best: str, tied: str) -> str:
    """Write p, or that a model is the best."""
    if standing.p is None:
        return best
    if standing.tied:
        return f"{standing.p:.2f} {tied}"
    return f"{standing.p:.3f}" if standing.p >= 0.0005 else "< 0.001"


def standings_html(found: Comparison, notes: Footnotes) -> Html:
    """Return the table, the best model first."""
    words, has_cost = WORDS.of(found.lang), found.best.cost is not None
    headers: list[object] = [words["model"], *([words["cost"]] if has_cost else []), words["error"]]
    headers += [filled(words[key], fn=notes.mark(key)) for key in ("log_loss", "brier", "auc", "p")]
    headers += [words["seconds"], words["size"]]
    rows = []
    for s in found.standings:
        name = name_of(s, found.lang)
        cells: list[object] = [tag("b" if s.key == found.pick else "span", name, cls="name")]
        cells += [figure(s.cost, False)] if s.cost is not None else []
        cells += [figure(s.error, True), spread_text(s.log_loss), spread_text(s.brier)]
        cells += ["–" if s.auc is None else spread_text(s.auc)]
        cells += [chance_text(s, words["is_best"], words["is_tied"])]
        rows.append([*cells, f"{s.cpu_seconds:.2f}", size_text(s)])
    return numbers_table(headers, rows, 1)


def standings_text(found: Comparison) -> str:
    """Return the verdict, and under it the table in plain text."""
    words, share = WORDS.of(found.lang), found.best.cost is None
    keys = ["model", *([] if share else ["cost"]), "error", "log_loss", "brier", "auc", "p"]
    rows = []
    for s in found.standings:
        cells = [name_of(s, found.lang), *([] if s.cost is None else [figure(s.cost, False)])]
        cells += [figure(s.error, True), spread_text(s.log_loss), spread_text(s.brier)]
        cells += ["–" if s.auc is None else spread_text(s.auc)]
        rows.append((*cells, chance_text(s, words["is_best"], words["is_tied"])))
    failed = [words["failed"].format(name=name, why=why) for name, why in found.failed]
    notes = (ceiling_text(found), *failed)
    header = tuple(words[key].format(fn="") for key in keys)
    return as_text(DisplayTable(verdict(found), header, tuple(rows), (), notes))


LINE, SMALL, TEXT = 24.0, 11.0, 12.0


def bars_scene(found: Comparison) -> Scene:
    """Draw the figure that decides for each model, the best on top."""
    words, share = WORDS.of(found.lang), found.best.cost is None
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
    inner = [end for s, end in zip(found.standings, ends, strict=True) if s.key != "majority"] or ends
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
    for i, (standing, name, told) in enumerate(zip(found.standings, names, figures, strict=True)):
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


def _ends(standing: ModelStanding) -> tuple[float, float]:
    spread = standing.decisive.deviation or 0.0
    return max(0.0, standing.decisive.value - spread), standing.decisive.value + spread
