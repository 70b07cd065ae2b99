"""A page as a small table of HTML, every word escaped.

Explanations in a notebook are pages of bounded size, whatever was explained; ``to_html`` has all of them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bayeskit.messages import WordList, run_on
from bayeskit.report.page import Page
from bayeskit.schema import shorter
from bayeskit.visible import escape

if TYPE_CHECKING:
    from bayeskit.report.explanation import Explanation
    from bayeskit.report.networks.network_explanation import NetworkExplanation
    from bayeskit.report.page import Page

# What a notebook shows of a long or wide table; more is counted, not shown. Longer texts end in an ellipsis.
MOST_ROWS = 60
MOST_COLUMNS = 16
LONGEST_NOTE = 1_000
LONGEST_CELL = 200


def as_html(page: Page, *, whole: bool = False, lang: str = "en", rest: str = "", names: int = 1) -> str:
    """Return the page for a notebook.

    Parameters
    ----------
    page : Page
    whole : show every row and column, however many there are
    lang : the language in which it is said what is not shown
    rest : how to get the rest
    names : how many cells of a row, from its beginning, head it

    Examples
    --------
    >>> as_html(Page("<b>", ("", "value"), (), (), ()))
    '<table><caption>&lt;b&gt;</caption><thead><tr><th></th><th>value</th></tr></thead><tbody></tbody></table>'
    """
    if not whole:
        page = _shortened(page)
    rows, columns = page.rows, len(page.header)
    beyond = 0 if whole else max(len(rows) - MOST_ROWS, 0), 0 if whole else max(columns - MOST_COLUMNS, 0)
    rows, columns = rows[: len(rows) - beyond[0]], columns - beyond[1]
    head = "".join(f"<th>{escape(name)}</th>" for name in page.header[:columns])
    body = "".join(_row(cells[:columns], names) for cells in rows)
    body += "".join(_row(cells[:columns], columns) for cells in page.totals)
    below = "".join(f"<p>{escape(note)}</p>" for note in (*_left_out(*beyond, lang, rest), *page.notes))
    table = f"<table><caption>{escape(page.title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return table + below


def _left_out(rows: int, columns: int, lang: str, rest: str) -> tuple[str, ...]:
    if not rows and not columns:
        return ()
    words, left = _WORDS.of(lang), {"more_rows": rows, "more_columns": columns}
    told = words["separator"].join(words[key].format(n=n) for key, n in left.items() if n)
    return (run_on([words["left"].format(left=told), rest], lang),)


def _shortened(page: Page) -> Page:
    """Cut texts that are too long to be read in a table."""

    def line(cells: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(shorter(cell, LONGEST_CELL) for cell in cells)

    return Page(
        shorter(page.title, LONGEST_CELL),
        line(page.header),
        tuple(map(line, page.rows)),
        tuple(map(line, page.totals)),
        tuple(shorter(note, LONGEST_NOTE) for note in page.notes),
    )


def _row(cells: tuple[str, ...], heads: int) -> str:
    tags = ("th" if j < heads else "td" for j in range(len(cells)))
    return (
        f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for tag, cell in zip(tags, cells, strict=True))}</tr>"
    )


# So many tables of a network's answer are shown, the last of which is the answer.
MOST_TABLES = 16

_WORDS = WordList(
    {
        "more_rows": "{n:,} more rows",
        "more_columns": "{n:,} more columns",
        "separator": ", ",
        "left": "… {left} not shown.",
        "rest": "to_html() has all of them.",
        "least": "… {n:,} more attributes, which weigh least, not shown. to_html() has all of them.",
        "tables": "… {n:,} more tables not shown. to_html() has all of them.",
    }
)


def explanation_html(explanation: Explanation, whole: bool = False) -> str:
    """Return an explanation; of many attributes those that weigh most, in their order."""
    e, page = explanation, explanation.page()
    words = _WORDS.of(e.lang)
    if not whole and len(page.rows) > MOST_ROWS and e.average is None and e.runner_up is not None:
        page = _strongest(e, page)
    return as_html(page, whole=whole, lang=e.lang, rest=words["rest"])


def network_explanation_html(explanation: NetworkExplanation, whole: bool = False) -> str:
    """Return an answer of a network: what is said first, its factors and sums, the answer."""
    from bayeskit.report.networks.network_pages import pages_of

    lines, pages = pages_of(explanation)
    words = _WORDS.of(explanation.lang)
    opening = "".join(f"<p>{escape(line)}</p>" for line in lines)
    beyond = 0 if whole else max(len(pages) - MOST_TABLES, 0)
    shown = [*pages[: len(pages) - 1 - beyond], pages[-1]]
    how: dict[str, Any] = {"whole": whole, "lang": explanation.lang, "rest": words["rest"]}
    made = [as_html(page, names=first, **how) for page, first in shown]
    if beyond:
        made.insert(-1, f"<p>{escape(words['tables'].format(n=beyond))}</p>")
    return "\n".join([opening, *made])


def _strongest(e: Explanation, page: Page) -> Page:
    """Keep the attributes with the largest log-odds; the prior before them and what comes after them stay."""
    sizes = [math.inf if odds is None or math.isnan(odds) else abs(odds) for odds in e.attribute_log_odds]
    n, first = len(sizes), 1  # the first row is the prior's
    others = len(page.rows) - n
    kept = sorted(sorted(range(n), key=lambda j: -sizes[j])[: MOST_ROWS - others])
    rows = (*page.rows[:first], *(page.rows[first + j] for j in kept), *page.rows[first + n :])
    note = _WORDS.of(e.lang)["least"].format(n=n - len(kept))
    return replace(page, rows=rows, notes=(note, *page.notes))
