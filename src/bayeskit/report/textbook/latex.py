r"""A page as LaTeX, to be pasted into a document: numbers become mathematics, blanks become lines to write on."""

from __future__ import annotations

from bayeskit.report.latex.layout import size_for
from bayeskit.report.latex.math import as_math
from bayeskit.report.latex.page import fragment_latex
from bayeskit.report.latex.table import cell_latex
from bayeskit.report.latex.text import escaped
from bayeskit.report.latex.width import math_width, text_width
from bayeskit.report.textbook.found import Found, Line, chooser
from bayeskit.report.textbook.sheet import Grid, Sheet
from bayeskit.report.width import display_width

# Of a blank, for each column that its number would take.
_EM = 0.6
_NARROWEST = 1.5


def as_latex(sheet: Sheet, hide: bool = False) -> str:
    """Return a section with its tables; Chinese in it needs the package ctex, and XeLaTeX or LuaLaTeX.

    Examples
    --------
    >>> from bayeskit.report.textbook.spam import page
    >>> print(as_latex(page("en"), hide=True).splitlines()[1])
    \\section*{One word in a letter}
    """
    say = chooser(sheet.lang)
    parts = [rf"\section*{{{escaped(sheet.title)}}}", escaped(sheet.question)]
    parts += [_grid(grid, False) for grid in sheet.given]
    parts.append(rf"\subsection*{{{say('Working', '演算')}}}")
    for item in sheet.working:
        parts.append(_grid(item, hide) if isinstance(item, Grid) else _paragraph(_line(item, hide)))
    parts += [rf"\subsection*{{{say('Answer', '答案')}}}", _paragraph(_line(sheet.answer, hide))]
    for erratum in sheet.errata:
        title = say("Widely copied", "流传甚广的错误") if erratum.copied else say("A trap", "易错之处")
        parts += [rf"\subsection*{{{title}}}", _paragraph(rf"\emph{{{escaped(erratum.printed)}}}")]
        parts.append(_paragraph(_line(erratum.right, hide)))
    return fragment_latex("\n".join([*parts, rf"\par\noindent{{\small {escaped(sheet.source)}}}"]))


def _line(line: Line, hide: bool) -> str:
    return "".join(escaped(piece) if isinstance(piece, str) else _found(piece, hide) for piece in line)


def _found(found: Found, hide: bool) -> str:
    if hide:
        return rf"\underline{{\hspace{{{_blank(found):.1f}em}}}}"
    return cell_latex(found.text)


def _blank(found: Found) -> float:
    """Return the width of a blank, in em; a pen needs more room than a printed digit."""
    return max(_NARROWEST, _EM * display_width(found.text))


def _paragraph(text: str) -> str:
    # Blanks and formulas cannot be stretched or broken, so the lines end where they may.
    return rf"\par\smallskip{{\raggedright\noindent {text}\par}}"


def _grid(grid: Grid, hide: bool) -> str:
    lines = [[(name,) for name in grid.header], *grid.rows]
    size = size_for([max(_width(cell, hide) for cell in column) for column in zip(*lines)])
    rows = [" & ".join(map(escaped, grid.header)) + r" \\", r"\hline"]
    rows += [" & ".join(_line(cell, hide) for cell in row) + r" \\" for row in grid.rows]
    return "\n".join(
        [
            r"\begin{center}",
            rf"{size}\renewcommand{{\arraystretch}}{{1.4}}",
            rf"\begin{{tabular}}{{{'l' * len(grid.header)}}}",
            *rows,
            r"\end{tabular}",
            r"\end{center}",
        ]
    )


def _width(line: Line, hide: bool) -> float:
    """Return about how wide a cell is, in points."""
    return sum(text_width(piece) if isinstance(piece, str) else _found_width(piece, hide) for piece in line)


def _found_width(found: Found, hide: bool) -> float:
    if hide:
        return 10.0 * _blank(found)
    formula = as_math(found.text)
    return text_width(found.text) if formula is None else math_width(formula)
