"""A page as a small table of HTML, every word escaped."""

from __future__ import annotations

from html import escape

from bayeskit.report.page import Page

# What a notebook shows of a long or wide table; more is counted, not shown.
MOST_ROWS = 60
MOST_COLUMNS = 16


def as_html(page: Page, *, whole: bool = False) -> str:
    """Return the page for a notebook.

    Parameters
    ----------
    page : Page
    whole : show every row and column, however many there are

    Examples
    --------
    >>> as_html(Page("<b>", ("", "value"), (), (), ()))
    '<table><caption>&lt;b&gt;</caption><thead><tr><th></th><th>value</th></tr></thead><tbody></tbody></table>'
    """
    rows, columns, left = page.rows, len(page.header), []
    if not whole and len(rows) > MOST_ROWS:
        left.append(f"{len(rows) - MOST_ROWS:,} more rows")
        rows = rows[:MOST_ROWS]
    if not whole and columns > MOST_COLUMNS:
        left.append(f"{columns - MOST_COLUMNS:,} more columns")
        columns = MOST_COLUMNS
    head = "".join(f"<th>{escape(name)}</th>" for name in page.header[:columns])
    body = "".join(_row(cells[:columns], "td") for cells in rows) + "".join(
        _row(cells[:columns], "th") for cells in page.totals
    )
    cut = (f"… {', '.join(left)} not shown.",) if left else ()
    notes = "".join(f"<p>{escape(note)}</p>" for note in (*cut, *page.notes))
    table = f"<table><caption>{escape(page.title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return table + notes


def _row(cells: tuple[str, ...], tag: str) -> str:
    first, *rest = cells
    return f"<tr><th>{escape(first)}</th>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in rest)}</tr>"
