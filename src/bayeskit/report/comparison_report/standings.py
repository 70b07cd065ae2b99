"""The table of all models and their figures."""

from __future__ import annotations

from bayeskit.report.comparison_report.comparison import Comparison, Measure, Standing
from bayeskit.report.comparison_report.footnotes import Footnotes
from bayeskit.report.comparison_report.markup import Html, filled, table, tag
from bayeskit.report.comparison_report.verdict import bytes_text, figure, name_of
from bayeskit.report.comparison_report.words import WORDS


def spread_text(measure: Measure, digits: int = 3) -> str:
    """Write a number and how much it varies.

    >>> spread_text(Measure(0.3141, 0.002)), spread_text(Measure(0.5))
    ('0.314 ± 0.002', '0.500')
    """
    told = f"{measure.value:.{digits}f}"
    return told if measure.deviation is None else f"{told} ± {measure.deviation:.{digits}f}"


def chance_text(standing: Standing, best: str, tied: str) -> str:
    """Write p, or that a model is the best."""
    if standing.p is None:
        return best
    if standing.tied:
        return f"{standing.p:.2f} {tied}"
    return f"{standing.p:.3f}" if standing.p >= 0.0005 else "< 0.001"


def standings_html(found: Comparison, notes: Footnotes) -> Html:
    """Return the table, the best model first."""
    words, has_cost = WORDS[found.lang], found.best.cost is not None
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
        rows.append([*cells, f"{s.cpu_seconds:.2f}", bytes_text(s.size)])
    return table(headers, rows, 1)
