"""A page as text: plain, or with Rich where a terminal is to be drawn on."""

from __future__ import annotations

from typing import Any

from bayeskit.report.page import Page
from bayeskit.report.page_cells import padded


def as_text(page: Page) -> str:
    """Return the page as plain lines, its columns aligned; the last one, of log-odds, to the right.

    Examples
    --------
    >>> page = Page("y is a", ("", "value", "a"), (("x", "1", "1/2 = 0.5"),), (("product", "", "0.5"),), ())
    >>> print(as_text(page))
    y is a
    <BLANKLINE>
             value  a
    x        1      1/2 = 0.5
    -------------------------
    product         0.5
    """
    widths = page.widths
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    lines = [page.title, "", _line(page.header, widths), *(_line(row, widths) for row in page.rows), rule]
    lines += [_line(row, widths) for row in page.totals]
    return "\n".join([*lines, *([""] if page.notes else []), *page.notes])


def _line(cells: tuple[str, ...], widths: tuple[int, ...]) -> str:
    last = len(cells) - 1
    has_odds = last > 2
    return "  ".join(
        padded(c, w, has_odds and j == last) for j, (c, w) in enumerate(zip(cells, widths, strict=True))
    ).rstrip()


def as_rich(page: Page) -> Any:
    """Return the page as something that ``rich.console.Console.print`` draws."""
    from rich.box import SIMPLE
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE, pad_edge=False)
    last = len(page.header) - 1
    for j, name in enumerate(page.header):
        table.add_column(Text(name), justify="right" if j == last > 2 else "left", overflow="fold")
    for row in page.rows:
        table.add_row(*map(Text, row))
    table.add_section()
    for row in page.totals:
        table.add_row(*(Text(cell, style="bold") for cell in row))
    return Group(Text(page.title, style="bold"), table, *(Text(note, style="dim") for note in page.notes))
