"""A table for display, with renderers for text, Rich and HTML (the LaTeX renderer is in `_report/latex`).

Code that shows rows and columns makes a `DisplayTable`. Column widths, alignment, escaping, and how much of a
long table a notebook shows are decided here.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bayeskit._markup import Html, join, paragraphs, tag
from bayeskit._messages import WordList, run_on
from bayeskit._visible import shorter, visible

# The limits of a table in a notebook. Rows and columns beyond these are only counted, and longer texts are cut.
MOST_ROWS = 60
MOST_COLUMNS = 16
LONGEST_NOTE = 1_000
LONGEST_CELL = 200


@dataclass(frozen=True)
class Shade:
    """The background of a cell in HTML: a class of the page's style, and how opaque it is, from 0 to 1."""

    name: str
    opacity: float


@dataclass(frozen=True)
class DisplayTable:
    """A title, a header, rows, totals in separate last rows, and notes. Control characters in texts are made visible.

    Attributes
    ----------
    title : str
    header : tuple of str
        Empty if there is none.
    rows, totals : tuples of tuples of str
        A cell may be `Html`, for a table that is shown as HTML only. A row of one cell runs over all columns.
    notes : tuple of str
    names : int
        The number of cells at the start of a row that are its heading.
    right : int or None
        The first column of numbers, which are right-aligned. None: the last column of four or more.
    of_texts : bool
        Whether cells are sentences, which a notebook would right-align by default.
    shades : tuple of tuples of Shade
        The background of each cell of ``rows`` that is not a name. Only HTML shows them. Empty: there are none.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    totals: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    names: int = 1
    right: int | None = None
    of_texts: bool = False
    shades: tuple[tuple[Shade, ...], ...] = ()

    def __post_init__(self) -> None:
        # Every renderer gets these values, and widths are computed from them.
        for field in ("rows", "totals"):
            object.__setattr__(
                self, field, tuple(tuple(map(_visible_cell, line)) for line in getattr(self, field))
            )
        for field in ("header", "notes"):
            object.__setattr__(self, field, tuple(map(_visible_cell, getattr(self, field))))
        object.__setattr__(self, "title", visible(self.title))

    @property
    def lines(self) -> tuple[tuple[str, ...], ...]:
        """The header and all rows."""
        return (*([self.header] if self.header else []), *self.rows, *self.totals)

    @property
    def widths(self) -> tuple[int, ...]:
        """The width of each column, where a wide character counts as two."""
        n = max(map(len, self.lines), default=0)
        return tuple(
            max(map(display_width, cells))
            for cells in zip(*(line for line in self.lines if len(line) == n), strict=True)
        )

    def is_right(self, column: int) -> bool:
        """Whether a column is right-aligned."""
        last = len(self.header) - 1
        return column >= self.right if self.right is not None else column == last > 2


def _visible_cell(cell: object) -> str:
    return cell if isinstance(cell, Html) else visible(cell)


def display_width(text: str) -> int:
    """Return the width of a text. Combining accents have width 0.

    Examples
    --------
    >>> display_width("纹理 a"), display_width("é")
    (6, 1)
    """
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cc", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def padded(text: str, width: int, right: bool = False) -> str:
    """Pad a text with spaces to a width.

    Examples
    --------
    >>> padded("纹理", 6) + "|", padded("1", 3, right=True)
    ('纹理  |', '  1')
    """
    blanks = " " * max(0, width - display_width(text))
    return blanks + text if right else text + blanks


def as_text(table: DisplayTable) -> str:
    """Return a table as plain text with aligned columns.

    Examples
    --------
    >>> table = DisplayTable("y is a", ("", "value", "a"), (("x", "1", "1/2 = 0.5"),), (("product", "", "0.5"),))
    >>> print(as_text(table))
    y is a
    <BLANKLINE>
             value  a
    x        1      1/2 = 0.5
    -------------------------
    product         0.5
    """
    head, *body = text_lines(table)
    n, widths = len(table.rows), table.widths
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    title = [table.title, ""] if table.title else []
    lines = [*title, head, *body[:n], rule, *body[n:]]
    return "\n".join([*lines, *([""] if table.notes else []), *table.notes])


def text_lines(table: DisplayTable) -> list[str]:
    """Return the header and the rows as lines with aligned columns.

    Examples
    --------
    >>> text_lines(DisplayTable("", ("纹理", "n"), (("a", "10"), ("b", "5")), right=1))
    ['纹理   n', 'a     10', 'b      5']
    """
    widths = table.widths

    def joined(line: tuple[str, ...]) -> str:
        if len(line) == 1:
            return line[0]
        cells = enumerate(zip(line, widths, strict=True))
        return "  ".join(padded(cell, width, table.is_right(j)) for j, (cell, width) in cells)

    return [joined(line).rstrip() for line in table.lines]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines with left-aligned columns, separated by two spaces.

    Examples
    --------
    >>> aligned([("纹理", "1"), ("a", "2")])
    ['纹理  1', 'a     2']
    """
    cells = tuple(map(tuple, rows))
    return text_lines(DisplayTable("", cells[0], cells[1:], right=len(cells[0])))


def as_rich(table: DisplayTable) -> Any:
    """Return a table as a Rich renderable."""
    from rich.box import SIMPLE
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    made = Table(box=SIMPLE, pad_edge=False)
    for j, name in enumerate(table.header):
        made.add_column(Text(name), justify="right" if table.is_right(j) else "left", overflow="fold")
    for row in table.rows:
        made.add_row(*map(Text, row))
    if not (table.title or table.totals or table.notes):
        return made
    made.add_section()
    for row in table.totals:
        made.add_row(*(Text(cell, style="bold") for cell in row))
    return Group(Text(table.title, style="bold"), made, *(Text(note, style="dim") for note in table.notes))


WORDS = WordList(
    {
        "more_rows": "{n:,} more rows",
        "more_columns": "{n:,} more columns",
        "separator": ", ",
        "left": "… {left} not shown.",
    }
)


def as_html(table: DisplayTable, *, whole: bool = False, lang: str = "en", rest: str = "") -> Html:
    """Return a table for a notebook, with its notes.

    Parameters
    ----------
    table : DisplayTable
    whole : show all rows and columns
    lang : the language of the note about what is not shown
    rest : how to get the rest

    Examples
    --------
    >>> as_html(DisplayTable("<b>", ("", "value"), ()))
    '<table><caption>&lt;b&gt;</caption><thead><tr><th></th><th>value</th></tr></thead><tbody></tbody></table>'
    """
    if whole:
        return join([table_html(table), paragraphs(table.notes)])
    short = _shortened(table)
    rows = max(len(short.rows) - MOST_ROWS, 0)
    columns = max(len(short.header) - MOST_COLUMNS, 0)
    shown = replace(
        short,
        header=short.header[:MOST_COLUMNS],
        rows=tuple(row[:MOST_COLUMNS] for row in short.rows[:MOST_ROWS]),
        totals=tuple(row[:MOST_COLUMNS] for row in short.totals),
        shades=tuple(row[: MOST_COLUMNS - short.names] for row in short.shades[:MOST_ROWS]),
    )
    return join([table_html(shown), paragraphs((*_left_out(rows, columns, lang, rest), *short.notes))])


def table_html(table: DisplayTable, number_class: str = "") -> Html:
    """Return only the table, with all rows; cells of numbers may have a CSS class.

    Examples
    --------
    >>> table_html(DisplayTable("", (), (("a", "<1>"),), right=1), number_class="n")
    '<table><tbody><tr><th>a</th><td class="n">&lt;1&gt;</td></tr></tbody></table>'
    """
    style = 'style="text-align:left"' if table.of_texts else ""

    def line(cells: Sequence[str], heads: int, shades: Sequence[Shade] = ()) -> Html:
        if len(cells) == 1 < len(table.header):
            return tag("tr", tag("td", *cells, attributes=f'colspan="{len(table.header)}"'))
        plain = [
            tag(
                "th" if j < heads else "td",
                cell,
                cls=number_class if table.is_right(j) else "",
                attributes=style,
            )
            for j, cell in enumerate(cells[: len(cells) - len(shades)])
        ]
        shaded = [
            tag("td", cell, cls=shade.name, attributes=f'style="--share:{shade.opacity:.2f}"')
            for cell, shade in zip(cells[len(plain) :], shades, strict=True)
        ]
        return tag("tr", *plain, *shaded)

    shades = table.shades or ((),) * len(table.rows)
    body = [line(row, table.names, of_row) for row, of_row in zip(table.rows, shades, strict=True)]
    body += [line(row, len(row)) for row in table.totals]
    above = [tag("caption", table.title)] if table.title else []
    above += [tag("thead", line(table.header, len(table.header)))] if table.header else []
    return tag("table", *above, tag("tbody", *body), cls="matrix" if table.shades else "")


def _left_out(rows: int, columns: int, lang: str, rest: str) -> tuple[str, ...]:
    if not rows and not columns:
        return ()
    words, left = WORDS.of(lang), {"more_rows": rows, "more_columns": columns}
    counts = words["separator"].join(words[key].format(n=n) for key, n in left.items() if n)
    return (run_on([words["left"].format(left=counts), rest], lang),)


def _shortened(table: DisplayTable) -> DisplayTable:
    """Cut texts that are too long to be read in a table."""

    def line(cells: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(shorter(cell, LONGEST_CELL) for cell in cells)

    return replace(
        table,
        title=shorter(table.title, LONGEST_CELL),
        header=line(table.header),
        rows=tuple(map(line, table.rows)),
        totals=tuple(map(line, table.totals)),
        notes=tuple(shorter(note, LONGEST_NOTE) for note in table.notes),
    )
