"""Explanations as HTML: limited in size for notebooks, complete in ``to_html``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bayeskit._display_table import LONGEST_CELL, MOST_ROWS, DisplayTable, as_html
from bayeskit._markup import Html, join, paragraphs, tag
from bayeskit._messages import WordList
from bayeskit._report.page import parted
from bayeskit._report.words import words_of
from bayeskit._visible import shorter

if TYPE_CHECKING:
    from bayeskit._report.explanation import Explanation
    from bayeskit._report.network_explanation import NetworkExplanation

# The maximum number of tables of a network explanation. The last one is the posterior.
MOST_TABLES = 16

_WORDS = WordList(
    {
        "rest": "to_html() has all of them.",
        "least": "… {n:,} more attributes with the smallest contributions not shown. to_html() has all of them.",
        "tables": "… {n:,} more tables not shown. to_html() has all of them.",
    }
)


def explanation_html(explanation: Explanation, whole: bool = False) -> Html:
    """Return an explanation as HTML: the answer, the waterfall and the table.

    Of many attributes, a notebook shows only the most influential.
    """
    e, page = explanation, explanation.page()
    words = _WORDS.of(e.lang)
    if not whole and len(page.rows) > MOST_ROWS and e.average is None and e.runner_up is not None:
        page = _strongest(e, page)
    chart = chart_html(e)
    if chart is not None:
        title, page = page.title, replace(page, title=words_of(e.lang)["steps"])
    table = as_html(page, whole=whole, lang=e.lang, rest=words["rest"])
    return (
        table
        if chart is None
        else join([tag("p", tag("strong", shorter(title, LONGEST_CELL))), chart, table])
    )


def chart_html(explanation: Explanation) -> Html | None:
    """Return the waterfall of an explanation; None if there is only one class, or all are impossible."""
    if explanation.runner_up is None or explanation.impossible:
        return None
    return tag("div", Html(explanation.waterfall().svg()))


def network_explanation_html(explanation: NetworkExplanation, whole: bool = False) -> Html:
    """Return a network explanation as HTML: the heading, its factors and sums, the posterior."""
    from bayeskit._report.network_explanation import pages_of

    lines, pages = pages_of(explanation)
    words = _WORDS.of(explanation.lang)
    beyond = 0 if whole else max(len(pages) - MOST_TABLES, 0)
    shown = [*pages[: len(pages) - 1 - beyond], pages[-1]]
    how: dict[str, Any] = {"whole": whole, "lang": explanation.lang, "rest": words["rest"]}
    made = [as_html(replace(page, names=first), **how) for page, first in shown]
    if beyond:
        made.insert(-1, tag("p", words["tables"].format(n=beyond)))
    return join([paragraphs(lines), *made], "\n")


def _strongest(e: Explanation, page: DisplayTable) -> DisplayTable:
    """Keep the first attributes, which weigh most, and all other rows."""
    n, first = len(parted(e, e.attributes)[0]), 1  # the first row is the prior's
    kept = min(n, MOST_ROWS - (len(page.rows) - n))
    rows = (*page.rows[: first + kept], *page.rows[first + n :])
    note = _WORDS.of(e.lang)["least"].format(n=n - kept)
    return replace(page, rows=rows, notes=(note, *page.notes))
