"""The figures of all models as text, as an HTML table, and as a dot plot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayeskit._display_table import DisplayTable, as_text
from bayeskit._markup import Html, filled, tag
from bayeskit._report.charts.chart import PlotPicture
from bayeskit._report.charts.plot import Axis, Curve, Panel, Plot, Points, Series, Shape, states_axis
from bayeskit._report.comparison_report.comparison import Comparison, Measure, ModelStanding
from bayeskit._report.comparison_report.sections import Footnotes, numbers_table
from bayeskit._report.comparison_report.verdict import ceiling_text, figure, name_of, size_text, verdict
from bayeskit._report.comparison_report.words_and_style import WORDS


def spread_text(measure: Measure, digits: int = 3) -> str:
    """Write a number and its variation.

    >>> spread_text(Measure(0.3141, 0.002)), spread_text(Measure(0.5))
    ('0.314 ± 0.002', '0.500')
    """
    text = f"{measure.value:.{digits}f}"
    return text if measure.deviation is None else f"{text} ± {measure.deviation:.{digits}f}"


def chance_text(standing: ModelStanding, best: str, tied: str) -> str:
    """Write the p-value, or that a model is the best or tied."""
    if standing.p is None:
        return best
    if standing.tied:
        return f"{standing.p:.2f} {tied}"
    return f"{standing.p:.3f}" if standing.p >= 0.0005 else "< 0.001"


def behind_text(standing: ModelStanding) -> str:
    """Write how far a model is behind the best, and the 95% interval of that; shares in percentage points."""
    if standing.behind is None:
        return "–"
    scale, form = (100.0, "+.1f") if standing.cost is None else (1.0, "+.3g")
    ends = (standing.behind.value, standing.behind.low, standing.behind.high)
    value, low, high = (f"{scale * each:{form}}".replace("-", "−") for each in ends)
    return f"{value} ({low} … {high})"


def standings_html(found: Comparison, notes: Footnotes) -> Html:
    """Return the table, the best model first."""
    words, has_cost = WORDS.of(found.lang), found.best.cost is not None
    headers: list[object] = [words["model"], *([words["cost"]] if has_cost else []), words["error"]]
    headers += [filled(words["behind"], fn=notes.mark("behind"))]
    headers += [filled(words[key], fn=notes.mark(key)) for key in ("p", "log_loss", "brier", "auc")]
    headers += [words["seconds"], words["size"]]
    rows = []
    for s in found.standings:
        name = name_of(s, found.lang)
        cells: list[object] = [tag("b" if s.key == found.pick else "span", name, cls="name")]
        cells += [figure(s.cost, False)] if s.cost is not None else []
        cells += [figure(s.error, True), behind_text(s), chance_text(s, words["is_best"], words["is_tied"])]
        cells += [spread_text(s.log_loss), spread_text(s.brier)]
        cells += ["–" if s.auc is None else spread_text(s.auc)]
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


# The height of one model in the chart, in pixels.
LINE = 24.0
OURS, BASELINE = 0, 7  # colours
# The fraction of the axis reserved for the figures to the right of the marks.
_ROOM = 0.55


def bars_plot(found: Comparison) -> Plot:
    """Describe the chart of the decisive measure of each model, with its variation, the best model on top."""
    words, share = WORDS.of(found.lang), found.best.cost is None
    has_floor = share and found.ceiling_holds
    low, high = _reach(found, has_floor)
    names = [name_of(s, found.lang) for s in found.standings]
    figures = [figure(s.decisive, share) for s in found.standings]
    series: list[Series] = []
    if has_floor:
        floor = np.full(2, found.ceiling.value)
        series.append(Curve(floor, np.array([-0.5, len(names) - 0.5]), None, dashed=True))
    for i, (standing, name, description) in enumerate(zip(found.standings, names, figures, strict=True)):
        series += _marks(standing, i, high, words.pairs([(name, description)]), description)
    top = high + _ROOM * (high - low)
    # To the right of the marks there is room for texts, but no ticks.
    numbers = Axis("", low, high, "percent" if share else "number", most=5)
    x = replace(numbers, high=top, ticks=tuple(numbers.shown_ticks()))
    panel = Panel(x, states_axis("", names, downwards=True), tuple(series), height=LINE * len(names) + 4)
    notes = [words["chart_note"]]
    notes += [words["chart_ceiling"].format(value=f"{found.ceiling.value:.1%}")] if has_floor else []
    description = words.pairs(zip(names, figures, strict=True))
    return Plot(words["chart_error" if share else "chart_cost"], tuple(notes), description, (panel,))


def _marks(standing: ModelStanding, place: int, high: float, description: str, text: str) -> list[Series]:
    colour, at = OURS if standing.ours else BASELINE, np.array([float(place)])
    value = standing.decisive.value
    if value > high:  # off the scale
        return [
            Points(
                np.array([high]), at, colour, 4.0, "triangle", texts=(f"→ {text}",), description=description
            )
        ]
    ends = np.array(_ends(standing))
    shape: Shape = "disc" if standing.tied else "ring"
    return [
        Curve(ends, np.repeat(at, 2), colour),
        Points(np.array([value]), at, colour, 5.0, shape, rim=False, description=description),
        # The text is to the right of the interval, not on it.
        Points(np.array([min(max(ends[1], value), high)]), at, colour, 0.0, rim=False, texts=(text,)),
    ]


def _reach(found: Comparison, has_floor: bool) -> tuple[float, float]:
    """Return the range of the marks. A very bad model may be off the scale."""
    ends = [_ends(s) for s in found.standings]
    inner = [end for s, end in zip(found.standings, ends, strict=True) if s.key != "majority"] or ends
    low = min([*(low for low, _ in inner), *([found.ceiling.value] if has_floor else [])])
    high = max(high for _, high in inner)
    # Otherwise a much worse model would make all others coincide.
    far = high + 1.5 * (high - low)
    high = max([high, *(end for _, end in ends if end <= far)])
    margin = 0.06 * (high - low or high or 1.0)
    return max(0.0, low - margin), high + margin


def bars_figure(found: Comparison) -> Html:
    """Return the chart for a page."""
    return PlotPicture(bars_plot(found)).figure()


def _ends(standing: ModelStanding) -> tuple[float, float]:
    spread = standing.decisive.deviation or 0.0
    return max(0.0, standing.decisive.value - spread), standing.decisive.value + spread
