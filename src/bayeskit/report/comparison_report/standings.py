"""The table of all models and their figures, as text and as HTML."""

from __future__ import annotations

from bayeskit.report.comparison_report.comparison import Comparison, Measure, Standing
from bayeskit.report.comparison_report.footnotes import Footnotes
from bayeskit.report.comparison_report.markup import Html, filled, table, tag
from bayeskit.report.comparison_report.verdict import ceiling_text, figure, name_of, size_text, verdict
from bayeskit.report.comparison_report.words import WORDS
from bayeskit.report.page import Page
from bayeskit.report.text import as_text


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
        rows.append([*cells, f"{s.cpu_seconds:.2f}", size_text(s)])
    return table(headers, rows, 1)


def standings_text(found: Comparison) -> str:
    """Return the verdict, and under it the table in plain text."""
    words, share = WORDS[found.lang], found.best.cost is None
    keys = ["model", *([] if share else ["cost"]), "error", "log_loss", "brier", "auc", "p"]
    rows = []
    for s in found.standings:
        cells = [name_of(s, found.lang), *([] if s.cost is None else [figure(s.cost, False)])]
        cells += [figure(s.error, True), spread_text(s.log_loss), spread_text(s.brier)]
        cells += ["–" if s.auc is None else spread_text(s.auc)]
        rows.append((*cells, chance_text(s, words["is_best"], words["is_tied"])))
    failed = [words["failed"].format(name=name, why=found.spell(why)) for name, why in found.failed]
    notes = (ceiling_text(found), *failed)
    header = tuple(words[key].format(fn="") for key in keys)
    return as_text(Page(verdict(found), header, tuple(rows), (), notes))
