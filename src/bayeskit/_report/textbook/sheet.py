"""A textbook page as a value, as plain text and as LaTeX, optionally with blanks for its results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

from bayeskit._display_table import DisplayTable, display_width, text_lines
from bayeskit._messages import text_in
from bayeskit._report.latex.latex_math import as_math
from bayeskit._report.latex.latex_page import fragment_latex
from bayeskit._report.latex.latex_table import cell_latex, simple_tabular, size_for
from bayeskit._report.latex.latex_text import escaped, math_width, text_width
from bayeskit._report.textbook.printed_number import Line, Number, PrintedNumber, as_line, line_text


@dataclass(frozen=True)
class Grid:
    """A table whose cells are lines, so that their numbers can be left blank."""

    header: tuple[str, ...]
    rows: tuple[tuple[Line, ...], ...]

    def table(self, write: Callable[[Line], str]) -> DisplayTable:
        """Return the table with its cells written as text, or as LaTeX."""
        return DisplayTable(
            "", self.header, tuple(tuple(map(write, row)) for row in self.rows), right=len(self.header)
        )


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

    def to_dict(self, hide: bool = False) -> dict[str, Any]:
        """Return plain values; hidden, without any number of the working."""

        def plain_item(item: Line | Grid) -> dict[str, Any]:
            if isinstance(item, Grid):
                table = item.table(partial(line_text, hide=hide))
                return {"header": list(table.header), "rows": [list(row) for row in table.rows]}
            numbers = [_plain(piece) for piece in item if isinstance(piece, PrintedNumber)]
            return {"text": line_text(item, hide)} | ({} if hide else {"numbers": numbers})

        found: dict[str, Any] = {"page": self.name, "title": self.title, "question": self.question}
        found |= {
            "given": [plain_item(grid) for grid in self.given],
            "working": [plain_item(i) for i in self.working],
        }
        found |= {"answer": plain_item(self.answer)}
        found["errata"] = [
            {"printed": e.printed, "right": line_text(e.right, hide), "copied": e.copied} for e in self.errata
        ]
        found["source"] = self.source
        if not hide:
            found["results"] = {r.name: _plain(PrintedNumber(r.printed, r.exact)) for r in self.results}
        return found


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
        return str(value)
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


def as_text(sheet: Sheet, hide: bool = False) -> str:
    """Return the whole page.

    Examples
    --------
    >>> from bayeskit._report.textbook.spam import page
    >>> print("\\n".join(as_text(page("en"), hide=True).splitlines()[10:12]))
    Working
      P(spam) P(word | spam) = ____ · ____ = ______
    """
    say = partial(text_in, sheet.lang)
    lines = [sheet.title, "", *wrapped(sheet.question), ""]
    for grid in sheet.given:
        lines += [*_grid(grid, False), ""]
    lines.append(say("Working"))
    for item in sheet.working:
        if isinstance(item, Grid):
            lines += [*([""] if lines[-1] else []), *_grid(item, hide), ""]
        else:
            lines += wrapped(line_text(item, hide), "  ")
    lines += [*([""] if lines[-1] else []), say("Answer"), *wrapped(line_text(sheet.answer, hide), "  ")]
    for erratum in sheet.errata:
        lines += ["", say("Widely copied") if erratum.copied else say("A trap")]
        lines += [*wrapped(erratum.printed, "  "), *wrapped(line_text(erratum.right, hide), "  → ")]
    return "\n".join([*lines, "", *wrapped(sheet.source)])


def _grid(grid: Grid, hide: bool) -> list[str]:
    head, *body = text_lines(grid.table(partial(line_text, hide=hide)))
    rule = "─" * max(map(display_width, (head, *body)))
    return [f"    {row}".rstrip() for row in (head, rule, *body)]


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


# Of a blank, for each column that its number would take.
_EM = 0.6
_NARROWEST = 1.5


def as_latex(sheet: Sheet, hide: bool = False) -> str:
    """Return a section with its tables; Chinese in it needs the package ctex, and XeLaTeX or LuaLaTeX.

    Examples
    --------
    >>> from bayeskit._report.textbook.spam import page
    >>> print(as_latex(page("en"), hide=True).splitlines()[1])
    \\section*{One word in a letter}
    """
    say = partial(text_in, sheet.lang)
    parts = [rf"\section*{{{escaped(sheet.title)}}}", escaped(sheet.question)]
    parts += [_latex_grid(grid, False) for grid in sheet.given]
    parts.append(rf"\subsection*{{{say('Working')}}}")
    for item in sheet.working:
        parts.append(_latex_grid(item, hide) if isinstance(item, Grid) else _paragraph(_line(item, hide)))
    parts += [rf"\subsection*{{{say('Answer')}}}", _paragraph(_line(sheet.answer, hide))]
    for erratum in sheet.errata:
        title = say("Widely copied") if erratum.copied else say("A trap")
        parts += [rf"\subsection*{{{title}}}", _paragraph(rf"\emph{{{escaped(erratum.printed)}}}")]
        parts.append(_paragraph(_line(erratum.right, hide)))
    return fragment_latex("\n".join([*parts, rf"\par\noindent{{\small {escaped(sheet.source)}}}"]))


def _line(line: Line, hide: bool) -> str:
    return "".join(escaped(piece) if isinstance(piece, str) else _number_latex(piece, hide) for piece in line)


def _number_latex(found: PrintedNumber, hide: bool) -> str:
    if hide:
        return rf"\underline{{\hspace{{{_blank(found):.1f}em}}}}"
    return cell_latex(found.text)


def _blank(found: PrintedNumber) -> float:
    """Return the width of a blank, in em; a pen needs more room than a printed digit."""
    return max(_NARROWEST, _EM * display_width(found.text))


def _paragraph(text: str) -> str:
    # Blanks and formulas cannot be stretched or broken, so the lines end where they may.
    return rf"\par\smallskip{{\raggedright\noindent {text}\par}}"


def _latex_grid(grid: Grid, hide: bool) -> str:
    lines = [[(name,) for name in grid.header], *grid.rows]
    size = size_for([max(_width(cell, hide) for cell in column) for column in zip(*lines, strict=True)])
    return "\n".join(
        [
            r"\begin{center}",
            rf"{size}\renewcommand{{\arraystretch}}{{1.4}}",
            *simple_tabular(grid.table(partial(_line, hide=hide))),
            r"\end{center}",
        ]
    )


def _width(line: Line, hide: bool) -> float:
    """Return about how wide a cell is, in points."""
    return sum(text_width(piece) if isinstance(piece, str) else _number_width(piece, hide) for piece in line)


def _number_width(found: PrintedNumber, hide: bool) -> float:
    if hide:
        return 10.0 * _blank(found)
    formula = as_math(found.text)
    return text_width(found.text) if formula is None else math_width(formula)
