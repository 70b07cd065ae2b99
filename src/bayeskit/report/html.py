"""A page as a small table of HTML, every word escaped."""

from __future__ import annotations

from html import escape

from bayeskit.report.page import Page


def as_html(page: Page) -> str:
    """Return the page for a notebook.

    Examples
    --------
    >>> as_html(Page("<b>", ("", "value"), (), (), ()))
    '<table><caption>&lt;b&gt;</caption><thead><tr><th></th><th>value</th></tr></thead><tbody></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in page.header)
    body = "".join(_row(cells, "td") for cells in page.rows) + "".join(
        _row(cells, "th") for cells in page.totals
    )
    notes = "".join(f"<p>{escape(note)}</p>" for note in page.notes)
    table = f"<table><caption>{escape(page.title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return table + notes


def _row(cells: tuple[str, ...], tag: str) -> str:
    first, *rest = cells
    return f"<tr><th>{escape(first)}</th>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in rest)}</tr>"
