"""A textbook page as a value, as text, HTML and LaTeX; as an exercise with blanks, and the answers to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import count, pairwise
from typing import Any

from bayeskit._display_table import DisplayTable, display_width, table_html, text_lines
from bayeskit._markup import Html, document, elements, page_style, tag
from bayeskit._messages import text_in
from bayeskit._report.latex_table import ARTICLE, fragment_latex, simple_tabular, size_for
from bayeskit._report.latex_text import escaped, math_width, text_width
from bayeskit._report.textbook.formula import Node, formulas, latex, line_html, line_latex
from bayeskit._report.textbook.printed_number import Blank, Line, Number, PrintedNumber, as_line, line_text


@dataclass(frozen=True)
class Grid:
    """A table whose cells are lines, so that their numbers can be left blank."""

    header: tuple[str, ...]
    rows: tuple[tuple[Line, ...], ...]

    def table(self, write: Callable[[Line], str]) -> DisplayTable:
        """Return the table with its cells written as text, or as LaTeX."""
        header = tuple(write((name,)) for name in self.header)
        return DisplayTable("", header, tuple(tuple(map(write, row)) for row in self.rows), right=len(header))


@dataclass(frozen=True)
class Erratum:
    """What is printed elsewhere, and what is right.

    Attributes
    ----------
    copied : bool
        Whether it is in widely copied sources; otherwise it is a trap that readers fall into.
    """

    printed: str
    right: Line
    copied: bool = True


@dataclass(frozen=True)
class Result:
    """A number that the page ends with: computed, and as books and pages of this kind print it."""

    name: str
    exact: Number
    printed: str

    @property
    def as_printed(self) -> str:
        """The computed number in the form of the printed one."""
        return alike(self.exact, self.printed)


@dataclass(frozen=True)
class Sheet:
    """A page: a question, what is given, the working, the answer, what other sources print."""

    name: str
    lang: str
    title: str
    question: str
    given: tuple[Grid, ...]
    working: tuple[Line | Grid, ...]
    answer: Line
    errata: tuple[Erratum, ...]
    source: str
    results: tuple[Result, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; of an exercise, without any number of the working."""

        def plain_item(item: Line | Grid) -> dict[str, Any]:
            if isinstance(item, Grid):
                table = item.table(line_text)
                return {"header": list(table.header), "rows": [list(row) for row in table.rows]}
            numbers = [_plain(piece) for piece in item if isinstance(piece, PrintedNumber)]
            return {"text": line_text(item)} | ({"numbers": numbers} if self.results else {})

        found: dict[str, Any] = {"page": self.name, "title": self.title, "question": self.question}
        found |= {
            "given": [plain_item(grid) for grid in self.given],
            "working": [plain_item(i) for i in self.working],
        }
        found |= {"answer": plain_item(self.answer)}
        found["errata"] = [
            {"printed": e.printed, "right": line_text(e.right), "copied": e.copied} for e in self.errata
        ]
        found["source"] = self.source
        if self.results:
            found["results"] = {r.name: _plain(PrintedNumber(r.printed, r.exact)) for r in self.results}
        return found


def exercise(sheet: Sheet) -> Sheet:
    """Return the page with a blank for every number and word that is to be found.

    Examples
    --------
    >>> from bayeskit._report.textbook.fraction_pages import spam_page
    >>> line_text(exercise(spam_page("en")).working[0])
    'P(spam) P(word | spam) = [1]_____ · [2]_____ = [3]_____'
    """
    numbers = count(1)
    return replace(_each_line(sheet, partial(_blanked, numbers=numbers)), results=())


def _blanked(line: Line, numbers: Iterator[int]) -> Line:
    return tuple(piece if isinstance(piece, str) else Blank(next(numbers)) for piece in line)


def answers(sheet: Sheet) -> Sheet:
    """Return what belongs into the blanks of the exercise, by their numbers.

    Examples
    --------
    >>> from bayeskit._report.textbook.fraction_pages import spam_page
    >>> line_text(answers(spam_page("en")).working[0].rows[0][0])
    '[1] 7/10'
    """
    found: list[PrintedNumber] = []

    def keep(line: Line) -> Line:
        found.extend(piece for piece in line if isinstance(piece, PrintedNumber))
        return line

    _each_line(sheet, keep)
    cells: list[Line] = [(f"[{i}] ", piece) for i, piece in enumerate(found, 1)]
    # As many columns as are easily read; the last row is filled up.
    n = 4 if max(display_width(piece.text) for piece in found) <= 12 else 3
    cells += [("",)] * (-len(cells) % n)
    rows = tuple(tuple(cells[at : at + n]) for at in range(0, len(cells), n))
    # Several tables, so that a page can end between them.
    grids = tuple(Grid(("",) * n, rows[at : at + _TALLEST]) for at in range(0, len(rows), _TALLEST))
    title = text_in(sheet.lang, "Answers: {title}").format(title=sheet.title)
    return replace(sheet, title=title, question="", given=(), working=grids, errata=())


_TALLEST = 20


def _each_line(sheet: Sheet, change: Callable[[Line], Line]) -> Sheet:
    """Return the sheet with every line that is worked out changed, in the order of the page."""
    working: list[Line | Grid] = []
    for item in sheet.working:
        if isinstance(item, Grid):
            working.append(replace(item, rows=tuple(tuple(map(change, row)) for row in item.rows)))
        else:
            working.append(change(item))
    answer = change(sheet.answer)
    errata = tuple(replace(erratum, right=change(erratum.right)) for erratum in sheet.errata)
    return replace(sheet, working=tuple(working), answer=answer, errata=errata)


def grid(header: tuple[str, ...], *rows: tuple[Any, ...]) -> Grid:
    """Make a table; cells may be texts, findings or lines.

    Examples
    --------
    >>> grid(("c", "P(c)"), ("spam", 0.7)).rows
    ((('spam',), ('0.7',)),)
    """
    return Grid(header, tuple(tuple(as_line(cell) for cell in row) for row in rows))


def alike(value: Number, printed: str) -> str:
    """Write a number in the form of a printed one: as a fraction, or with as many digits.

    Examples
    --------
    >>> alike(Fraction(1, 3), "2/6"), alike(Fraction(1, 3), "0.3333"), alike(1 / 3, "6.80e-05")
    ('1/3', '0.3333', '3.33e-01')
    """
    if "/" in printed or "." not in printed:
        return str(value).replace("-", "−")
    digits = printed.partition("e")[0]
    return f"{float(value):.{len(digits) - digits.index('.') - 1}{'e' if 'e' in printed else 'f'}}"


def _plain(found: PrintedNumber) -> dict[str, Any]:
    content: dict[str, Any] = {"text": found.text}
    if found.value is not None:
        content["value"] = float(found.value)
    if isinstance(found.value, Fraction):
        content["fraction"] = str(found.value)
    return content


WIDTH = 100


def as_text(sheet: Sheet) -> str:
    """Return the whole page.

    Examples
    --------
    >>> from bayeskit._report.textbook.fraction_pages import spam_page
    >>> print("\\n".join(as_text(exercise(spam_page("en"))).splitlines()[10:12]))
    Working
      P(spam) P(word | spam) = [1]_____ · [2]_____ = [3]_____
    """
    lines = [sheet.title]
    for part in _parts(sheet):
        if isinstance(part, Grid):
            lines += [*([""] if lines[-1] else []), *_text_grid(part), ""]
        elif part.kind == "heading":
            lines += [*([""] if lines[-1] else []), line_text(part.line)]
        else:
            apart = part.kind in ("question", "source")
            lines += (
                ["", *wrapped(line_text(part.line))]
                if apart
                else wrapped(line_text(part.line), _INDENTS[part.kind])
            )
    return "\n".join(lines)


_INDENTS = {"working": "  ", "printed": "  ", "right": "  → "}


@dataclass(frozen=True)
class _Paragraph:
    """A line and what it is on the page."""

    kind: str
    line: Line


def _parts(sheet: Sheet) -> Iterator[_Paragraph | Grid]:
    """Return the page in its order: every form of it is written from these."""
    say = partial(text_in, sheet.lang)
    if sheet.question:
        yield _Paragraph("question", (sheet.question,))
    yield from sheet.given
    if sheet.question:
        yield _Paragraph("heading", (say("Working"),))
    for item in sheet.working:
        yield item if isinstance(item, Grid) else _Paragraph("working", item)
    if sheet.question:
        yield _Paragraph("heading", (say("Answer"),))
        yield _Paragraph("working", sheet.answer)
    for erratum in sheet.errata:
        yield _Paragraph("heading", (say("Widely copied") if erratum.copied else say("A trap"),))
        yield _Paragraph("printed", (erratum.printed,))
        yield _Paragraph("right", erratum.right)
    yield _Paragraph("source", (sheet.source,))


def _text_grid(grid: Grid) -> list[str]:
    head, *body = text_lines(grid.table(line_text))
    rule = "─" * max(map(display_width, (head, *body)))
    return [f"    {row}".rstrip() for row in ((head, rule, *body) if head else body)]


def wrapped(text: str, indent: str = "", width: int = WIDTH) -> list[str]:
    """Break a text at blanks and between Chinese characters; further lines are indented as far as the first.

    Examples
    --------
    >>> wrapped("a melon 西瓜好", width=10)
    ['a melon 西', '瓜好']
    """
    lines, current = [], ""
    room = width - display_width(indent)
    for piece in _pieces(text):
        if current and display_width(current + piece.rstrip()) > room:
            lines.append(current.rstrip())
            current = ""
        current += piece
    lines.append(current.rstrip())
    blank = " " * display_width(indent)
    return [f"{blank if i else indent}{each}" for i, each in enumerate(lines)]


def _pieces(text: str) -> list[str]:
    """Where a line may end: after a blank or a Chinese character, not before a mark that closes something."""
    pieces, current = [], ""
    for this, following in pairwise(text + " "):
        current += this
        wide = (display_width(this) == 2 and this not in "“（《") or display_width(following) == 2
        if (this == " " or wide) and following not in "，。：；？！、”）》)].,;:?! ":
            pieces.append(current)
            current = ""
    return [*pieces, current] if current else pieces


def as_latex(sheet: Sheet) -> str:
    """Return a section with its tables; Chinese in it needs the package ctex, and XeLaTeX or LuaLaTeX.

    Examples
    --------
    >>> from bayeskit._report.textbook.fraction_pages import spam_page
    >>> print(as_latex(spam_page("en")).splitlines()[1])
    \\section*{One word in a letter}
    """
    parts = [rf"\section*{{{escaped(sheet.title)}}}"]
    for part in _parts(sheet):
        if isinstance(part, Grid):
            parts.append(_latex_grid(part))
        elif part.kind == "heading":
            parts.append(rf"\subsection*{{{escaped(line_text(part.line))}}}")
        elif part.kind == "source":
            parts.append(rf"\par\noindent{{\small {escaped(line_text(part.line))}}}")
        else:
            made = line_latex(part.line)
            parts.append(_paragraph(rf"\emph{{{made}}}" if part.kind == "printed" else made))
    return fragment_latex("\n".join(parts))


def _paragraph(text: str) -> str:
    # Blanks and formulas cannot be stretched or broken, so the lines end where they may.
    return rf"\par\smallskip{{\raggedright\noindent {text}\par}}"


def _latex_grid(grid: Grid) -> str:
    lines = [[(name,) for name in grid.header], *grid.rows]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    size = size_for(widths)
    # Where the smallest type is not enough, columns move together.
    size += r"\setlength{\tabcolsep}{2pt}" if len(widths) > _MANY and size == size_for([10 * ARTICLE]) else ""
    return "\n".join(
        [
            r"\begin{center}",
            rf"{size}\renewcommand{{\arraystretch}}{{1.4}}",
            *simple_tabular(grid.table(line_latex)),
            r"\end{center}",
        ]
    )


_MANY = 8  # columns
_HOLE = 36.0  # of a blank


def _width(line: Line) -> float:
    """Return about how wide a cell is, in points."""
    widths = 0.0
    for part in formulas(line):
        widths += (
            text_width(part)
            if isinstance(part, str)
            else _HOLE
            if isinstance(part, Blank)
            else _math_width(part)
        )
    return widths


def _math_width(part: Node) -> float:
    return math_width(latex(part))


_STYLE = f"""
{page_style()}
body{{background:var(--card)}}
h1{{font-size:1.5rem;line-height:1.3}}h2{{font-size:1.1rem;margin-top:1.6rem}}
math{{math-style:normal}}.kept{{white-space:nowrap}}.grid,p{{overflow:auto hidden}}
{elements()}
table{{margin:.8rem 0;font-size:1em}}th,td{{padding:.3rem 1.2rem .3rem 0;white-space:nowrap;vertical-align:baseline}}
tbody th{{font-weight:400}}
.working,.printed,.right{{padding-left:1rem}}.working{{overflow-wrap:anywhere}}.printed{{font-style:italic}}
.source{{color:var(--faint);font-size:.9rem}}
.blank{{display:inline-block;min-width:4.5em;border-bottom:1px solid currentColor;font-size:.75em;color:var(--faint)}}
@media print{{body{{background:#fff}}.grid,p{{overflow:visible}}}}
"""


def as_html(sheet: Sheet) -> Html:
    """Return the page as one HTML file, its formulas in MathML.

    Examples
    --------
    >>> from bayeskit._report.textbook.fraction_pages import spam_page
    >>> as_html(spam_page("en")).count("<mfrac>") > 10
    True
    """
    parts = [tag("h1", sheet.title)]
    for part in _parts(sheet):
        if isinstance(part, Grid):
            parts.append(tag("div", table_html(part.table(line_html)), cls="grid"))
        elif part.kind == "heading":
            parts.append(tag("h2", line_html(part.line)))
        else:
            source = part.kind == "source"
            parts.append(tag("p", line_text(part.line) if source else line_html(part.line), cls=part.kind))
    return document(sheet.title, "\n".join(parts), _STYLE, sheet.lang)
