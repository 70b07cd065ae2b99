"""Explanations as HTML: limited in size for notebooks, complete in ``to_html``."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bayeskit._display_table import MOST_ROWS, DisplayTable, as_html
from bayeskit._markup import Html, join, paragraphs, tag
from bayeskit._messages import WordList

if TYPE_CHECKING:
    from bayeskit._report.explanation import Explanation
    from bayeskit._report.networks.network_explanation import NetworkExplanation

# The maximum number of tables of a network explanation. The last one is the posterior.
MOST_TABLES = 16

_WORDS = WordList(
    {
        "rest": "to_html() has all of them.",
        "least": "… {n:,} more attributes, which weigh least, not shown. to_html() has all of them.",
        "tables": "… {n:,} more tables not shown. to_html() has all of them.",
    }
)


def explanation_html(explanation: Explanation, whole: bool = False) -> Html:
    """Return an explanation as HTML. Of many attributes, only the most influential are shown, in their order."""
    e, page = explanation, explanation.page()
    words = _WORDS.of(e.lang)
    if not whole and len(page.rows) > MOST_ROWS and e.average is None and e.runner_up is not None:
        page = _strongest(e, page)
    return as_html(page, whole=whole, lang=e.lang, rest=words["rest"])


def network_explanation_html(explanation: NetworkExplanation, whole: bool = False) -> Html:
    """Return a network explanation as HTML: the heading, its factors and sums, the posterior."""
    from bayeskit._report.networks.network_pages import pages_of

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
    """Keep the attributes with the largest log-odds, and all other rows."""
    sizes = [math.inf if odds is None or math.isnan(odds) else abs(odds) for odds in e.attribute_log_odds]
    n, first = len(sizes), 1  # the first row is the prior's
    others = len(page.rows) - n
    kept = sorted(sorted(range(n), key=lambda j: -sizes[j])[: MOST_ROWS - others])
    rows = (*page.rows[:first], *(page.rows[first + j] for j in kept), *page.rows[first + n :])
    note = _WORDS.of(e.lang)["least"].format(n=n - len(kept))
    return replace(page, rows=rows, notes=(note, *page.notes))
