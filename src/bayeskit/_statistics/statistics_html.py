"""Statistics as an HTML table for notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bayeskit._display_table import DisplayTable, as_html
from bayeskit._schema import Variable
from bayeskit._visible import shorter

if TYPE_CHECKING:
    from bayeskit._statistics.statistics import Statistics

# The maximum number of attributes to show. For the others, only their number is shown.
MOST_ATTRIBUTES = 20
MOST_STATES = 6
MOST_CLASSES = 8

Cells = tuple[str, str, list[str]]


def statistics_html(statistics: Statistics) -> str:
    """Return a table with a column for each class: its rows, the counts of states, mean ± deviation of numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from bayeskit._schema import Schema
    >>> from bayeskit.statistics import Plan, Statistics
    >>> schema = Schema((Variable("sky", "categorical", ("<sun>",)),), Variable("y", "categorical", ("go", "stay")))
    >>> html = statistics_html(Statistics.zero(schema, Plan.naive(schema)))
    >>> html[html.index("<tbody>") :]
    '<tbody><tr><th>(rows)</th><th></th><td>0</td><td>0</td></tr><tr><th>sky</th><th>&lt;sun&gt;</th><td>0</td><td>0</td></tr></tbody></table>'
    """
    schema = statistics.schema
    classes = schema.target.states[:MOST_CLASSES]
    lines: list[Cells] = [("(rows)", "", _numbers(statistics.class_counts[: len(classes)].tolist()))]
    for variable in schema.attributes[:MOST_ATTRIBUTES]:
        for i, (state, cells) in enumerate(_lines(statistics, variable, len(classes))):
            lines.append((shorter(variable.name) if i == 0 else "", state, cells))
    notes = []
    if (more := len(schema.attributes) - MOST_ATTRIBUTES) > 0:
        notes.append(f"{more:,} more attribute{'' if more == 1 else 's'}")
    if (more := schema.n_classes - len(classes)) > 0:
        notes.append(f"{more:,} more class{'' if more == 1 else 'es'}")
    header = tuple(shorter(text) for text in (schema.target.name, "", *classes))
    rows = tuple((name, state, *cells) for name, state, cells in lines)
    kinds = ", ".join(p.kind.replace("_", " ") for p in statistics.plan.patterns)
    title = f"{statistics.total:,.10g} rows: {kinds}"
    below = (f"… {', '.join(notes)} not shown.",) if notes else ()
    return as_html(DisplayTable(title, header, rows, notes=below, names=2), whole=True)


def _lines(statistics: Statistics, variable: Variable, k: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the lines of one attribute: a heading, and a cell for each class."""
    schema, parts = statistics.schema, statistics.parts
    if variable.kind == "categorical":
        counts = statistics.table(variable.name)
        for code, state in enumerate(variable.states[:MOST_STATES]):
            yield shorter(state), _numbers(counts[code, :k].tolist())
        if variable.size > MOST_STATES:
            rest = counts[MOST_STATES:, :k].sum(axis=0)
            yield f"… {variable.size - MOST_STATES:,} more", _numbers(rest.tolist())
        # The spare cell after the last state.
        j = [v.name for v in schema.categorical].index(variable.name)
        missing = statistics.tables.counts[int(schema.offsets[j + 1]) - 1, :k]
        if missing.any():
            yield "(missing)", _numbers(missing.tolist())
    elif variable.kind == "block":
        sums = statistics.parts["totals"].arrays()["sums"] if "totals" in parts else None
        texts = _numbers(sums[:k].sum(axis=1).tolist()) if sums is not None else [""] * k
        yield f"sum of {variable.width:,} columns", texts
    elif "moments" in parts:
        j = schema.numeric_index[variable.name]
        moments = statistics.moments
        mean, deviation = moments.mean()[0][:k, j].tolist(), moments.deviation()[:k, j].tolist()
        weight = moments.weight[:k, j].tolist()
        yield (
            "mean ± sd",
            [
                f"{m:.4g} ± {s:.3g}".replace("-", "−") if w > 0 else ""
                for m, s, w in zip(mean, deviation, weight, strict=True)
            ],
        )
    else:
        yield "numbers", [""] * k


def _numbers(values: list[float]) -> list[str]:
    return [f"{value:,.6g}" for value in values]
