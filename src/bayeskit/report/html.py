"""A page as a small table of HTML, every word escaped."""

from __future__ import annotations

from bayeskit.report.page import Page
from bayeskit.schema import shorter
from bayeskit.visible import escape

# What a notebook shows of a long or wide table; more is counted, not shown. Longer texts end in an ellipsis.
MOST_ROWS = 60
MOST_COLUMNS = 16
LONGEST_NOTE = 1_000
LONGEST_CELL = 200

_LEFT = {
    "en": ("{rows:,} more rows", "{columns:,} more columns", ", ", "… {left} not shown."),
    "zh": ("{rows:,} 行", "{columns:,} 列", "、", "……另有 {left}未显示。"),
}


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
    more_rows, more_columns, comma, sentence = _LEFT[lang]
    left = [text for text, n in ((more_rows, rows), (more_columns, columns)) if n]
    told = sentence.format(left=comma.join(left).format(rows=rows, columns=columns))
    return (f"{told}{' ' if lang == 'en' and rest else ''}{rest}",)


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
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for tag, cell in zip(tags, cells))}</tr>"
