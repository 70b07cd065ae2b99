"""A table for display, with renderers for text, Rich and HTML (the LaTeX renderer is in `_report/latex`).

Code that shows rows and columns makes a `DisplayTable`. Column widths, alignment, escaping, and how much of a
long table a notebook shows are decided here.
"""

from __future__ import annotations

import math
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bayeskit._markup import Html, framed, join, paragraphs, tag
from bayeskit._messages import WordList, run_on
from bayeskit._visible import shorter, visible

# The limits of a table in a notebook. Rows and columns beyond these are only counted, and longer texts are cut.
MOST_ROWS = 60
MOST_COLUMNS = 16
LONGEST_NOTE = 1_000
LONGEST_CELL = 200
# On a phone a column shrinks to its longest word; cells no wider than this stay on one line, and the table scrolls.
KEPT_CELL = 16


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


def as_text(table: DisplayTable, width: int | None = None) -> str:
    """Return a table as plain text with aligned columns.

    Parameters
    ----------
    table : DisplayTable
    width : int, optional
        The most characters in a line. By default that of the terminal, or no limit where output goes elsewhere.

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
    >>> print(as_text(table, 21))
    y is a
    <BLANKLINE>
             value  a
    x        1      1/2
                    = 0.5
    ---------------------
    product         0.5
    """
    width = terminal_width() if width is None else width
    widths = table.widths
    room = math.inf if width is None else width - GAP * (len(widths) - 1)
    title = [table.title, ""] if table.title else []
    notes = [*([""] if table.notes else []), *table.notes]
    if sum(widths) > room:
        return "\n".join(
            line
            for part in ([*title], _narrow_lines(table, int(room), int(width or 0)), notes)
            for text in part
            for line in broken(text, int(width or 0))
        )
    if not table.header:
        return "\n".join([*title, *text_lines(table), *notes])
    head, *body = text_lines(table)
    n = len(table.rows)
    rule = "-" * (sum(widths) + GAP * (len(widths) - 1))
    return "\n".join([*title, head, *body[:n], rule, *body[n:], *notes])


def terminal_width() -> int | None:
    """Return the width of the terminal that standard output is shown in, or None if it goes elsewhere."""
    output = sys.stdout
    if output is None or not output.isatty():
        return None
    return max(shutil.get_terminal_size((80, 24)).columns, NARROWEST)


# The gap between columns, and the narrowest terminal that tables are laid out for.
GAP, NARROWEST = 2, 20
# Columns of names and values may be broken to this width, even within a word. Numbers never are.
NARROWEST_NAME = 10


def fitted_widths(table: DisplayTable, room: int) -> tuple[int, ...] | None:
    """Return widths of columns that sum to at most ``room``; None if some number would have to be broken.

    >>> fitted_widths(DisplayTable("", ("", "p"), (("a", "(3+1)/(8+2) = 0.4"),)), 12)
    (1, 11)
    """
    natural = table.widths
    whole = [line for line in table.lines if len(line) == len(natural)]
    least = [max(max(map(_longest, cells)), 1) for cells in zip(*whole, strict=True)]
    names = [j < 2 and not _holds_numbers(whole, j, one) for j, one in enumerate(least)]
    units = [max(_longest_unit(line[j]) for line in whole) if name else 0 for j, name in enumerate(names)]
    # Names are broken between their words; if that is too wide, between their parts, and then within one.
    for narrowest in (least, [max(unit, NARROWEST_NAME) for unit in units], [NARROWEST_NAME] * len(least)):
        widths = [min(one, narrowest[j]) if names[j] else one for j, one in enumerate(least)]
        if sum(widths) <= room:
            break
    else:
        return None
    while sum(widths) < room:
        wanting = [j for j, width in enumerate(widths) if width < natural[j]]
        if not wanting:
            break
        widths[max(wanting, key=lambda j: natural[j] / widths[j])] += 1
    return tuple(widths)


def _holds_numbers(lines: Sequence[tuple[str, ...]], column: int, width: int) -> bool:
    """Whether one of the words of this width in a column is a number."""
    words = (word for line in lines for word in line[column].split() if display_width(word) == width)
    return any(character.isdigit() for word in words for character in word)


def _longest_unit(cell: str) -> int:
    """Return the width of the longest part that a word is not broken within."""
    return max((display_width(unit) for word in _words(cell) for unit in _UNITS.findall(word)), default=0)


def _longest(cell: str) -> int:
    return max((display_width(part) for word in _words(cell) for part in _WIDE.split(word)), default=0)


# Lines end at spaces, but not at that between "=" and a number; Chinese characters need no space.
_SPACES = re.compile(r"(?<!=)(\s+)")
# Where a browser may break the line of a cell.
_BREAKS = re.compile(r"[\s=\u3001\uff0c-]")
_WIDE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
# A number with its sign and exponent, a run of letters, or any other single character.
_UNITS = re.compile(r"[+−-]?\d[\d.,]*(?:e[+−-]?\d+)?|[a-zA-Z]+|.", re.DOTALL)


def _words(text: str) -> list[str]:
    return [part for part in _SPACES.split(text) if not part.isspace()]


def broken(text: str, width: int) -> list[str]:
    """Break a text into lines of a width: at spaces, within a word only if it is longer, never within a number.

    Examples
    --------
    >>> broken("(3408+1)/(4208+9) = 0.8084", 18), broken("stalk-surface", 8)
    (['(3408+1)/(4208+9)', '= 0.8084'], ['stalk-', 'surface'])
    """
    if display_width(text) <= width:
        return [text]
    indent = text[: len(text) - len(text.lstrip(" "))]
    lines, line = [], indent
    for part in _SPACES.split(text[len(indent) :]):
        for word in _units(part, width - len(indent)):
            if line.strip() and display_width((line + word).rstrip()) > width:
                lines.append(line.rstrip())
                line = indent
            if line.strip() or not word.isspace():
                line += word
    return [*lines, line.rstrip()] if line.strip() else lines or [""]


def _units(word: str, width: int) -> list[str]:
    """Return a word whole, or in the parts that it may be broken into if it does not fit a line."""
    if word.isspace() or display_width(word) <= width:
        return [word]
    found = []
    for unit in _UNITS.findall(word):
        found += list(unit) if unit.isalpha() and display_width(unit) > width else [unit]
    return found


def _narrow_lines(table: DisplayTable, room: int, width: int) -> list[str]:
    """Return the lines of a table that is too wide: with broken cells or, if numbers do not fit, one below another."""
    widths = fitted_widths(table, room)
    if widths is None:
        rows = [_stacked(table, row, width) for row in (*table.rows, *table.totals)]
        rows.insert(len(table.rows), ["-" * width])
        return [line for row in rows for line in row]
    lines = [_broken_row(table, row, widths) for row in table.lines]
    if table.header:
        lines.insert(len(table.rows) + 1, ["-" * (sum(widths) + GAP * (len(widths) - 1))])
    return [line for row in lines for line in row]


def _broken_row(table: DisplayTable, row: tuple[str, ...], widths: tuple[int, ...]) -> list[str]:
    if len(row) == 1:
        return list(row)
    cells = [broken(cell, width) for cell, width in zip(row, widths, strict=True)]
    return [
        (" " * GAP)
        .join(
            padded(cell[i] if i < len(cell) else "", width, table.is_right(j))
            for j, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        .rstrip()
        for i in range(max(map(len, cells)))
    ]


def _stacked(table: DisplayTable, row: tuple[str, ...], width: int) -> list[str]:
    """Return a row as lines: its name, then its cells one below another, each after the name of its column."""
    if len(row) == 1 or not table.header:
        return [line for cell in row if cell for line in broken(cell, width)]
    indent = " " * (GAP + len(row[0]) - len(row[0].lstrip(" ")))
    lines = broken(row[0], width) if row[0] else []
    for name, cell in zip(table.header[1:], row[1:], strict=True):
        if cell:
            lines += broken(f"{indent}{name}: {cell}", width)
    return lines


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
    """Return a table as a Rich renderable, which fits itself to the width of the console."""
    return _RichTable(table)


@dataclass(frozen=True)
class _RichTable:
    """A table that is laid out when the width is known. Rich itself would break a number in two."""

    table: DisplayTable

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.text import Text

        table, width = self.table, options.max_width
        n = len(table.header) or len(table.widths)
        # Rich puts a space before and after a row, and three between columns.
        room = width - 2 - 3 * (n - 1)
        widths = table.widths if sum(table.widths) <= room else fitted_widths(table, room)
        if table.title or table.totals or table.notes:
            yield Text(table.title, style="bold")
        if widths is None:
            for row in table.rows:
                yield from map(Text, _stacked(table, row, width))
            for row in table.totals:
                yield from (Text(line, style="bold") for line in _stacked(table, row, width))
        else:
            yield self._drawn(widths, room - sum(widths))
        yield from (Text(note, style="dim") for note in table.notes)

    def _drawn(self, widths: tuple[int, ...], left: int) -> Any:
        """Draw the table; a row of one cell may take what is left of the line, too."""
        from rich.box import SIMPLE
        from rich.table import Table
        from rich.text import Text

        table = self.table
        made = Table(box=SIMPLE, pad_edge=False)

        def text(cell: str, width: int, style: str = "") -> Text:
            return Text("\n".join(broken(cell, width)), style=style)

        for j, name in enumerate(table.header):
            right = table.is_right(j)
            made.add_column(text(name, widths[j]), justify="right" if right else "left", no_wrap=True)
        for row in table.rows:
            wide = widths if len(row) > 1 else (widths[0] + max(left, 0),)
            made.add_row(*(text(cell, width) for cell, width in zip(row, wide, strict=True)))
        if table.totals:
            made.add_section()
        for row in table.totals:
            made.add_row(*(text(cell, width, "bold") for cell, width in zip(row, widths, strict=True)))
        return made


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


def notebook_html(*tables: DisplayTable, lang: str = "en") -> Html:
    """Return tables as a notebook shows them, in the look of the report.

    >>> notebook_html(DisplayTable("", (), (("a", "1"),)))[-75:]
    '</style>\\n<table><tbody><tr><th>a</th><td>1</td></tr></tbody></table>\\n</div>'
    """
    return framed(*(as_html(table, lang=lang) for table in tables))


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
                cls=(table.is_right(j) and number_class) or _kept(cell),
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


def _kept(cell: str) -> str:
    """Return the class of a cell that is short and could wrap.

    >>> _kept("蜷缩 | 脐部=凹陷"), _kept("0.25"), _kept("(5+1)/(8+3) = 0.5455")
    ('k', '', '')
    """
    return "k" if _BREAKS.search(cell) and display_width(cell) <= KEPT_CELL else ""


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
