r"""A page as LaTeX, to be pasted into a document: numbers become mathematics, blanks become lines to write on."""

from __future__ import annotations

from bayeskit.report.latex import cell_latex, escaped
from bayeskit.report.textbook.found import Found, Line, chooser
from bayeskit.report.textbook.sheet import Grid, Sheet
from bayeskit.report.width import display_width

# What the plain fonts do not have beside what `escaped` knows.
_MORE = {"←": r"$\leftarrow$", "…": r"\ldots{}"}
# Of a blank, for each column that its number would take.
_EM = 0.6


def as_latex(sheet: Sheet, hide: bool = False) -> str:
    """Return a section with its tables; Chinese in it needs the package ctex, and XeLaTeX or LuaLaTeX.

    Examples
    --------
    >>> from bayeskit.report.textbook.spam import page
    >>> print(as_latex(page("en"), hide=True).splitlines()[1])
    \\section*{One word in a letter}
    """
    say = chooser(sheet.lang)
    parts = [
        "% Needs \\usepackage{ctex}, and XeLaTeX or LuaLaTeX.",
        rf"\section*{{{_text(sheet.title)}}}",
        _text(sheet.question),
    ]
    parts += [_grid(grid, False) for grid in sheet.given]
    parts.append(rf"\subsection*{{{say('Working', '演算')}}}")
    for item in sheet.working:
        parts.append(_grid(item, hide) if isinstance(item, Grid) else _paragraph(_line(item, hide)))
    parts += [rf"\subsection*{{{say('Answer', '答案')}}}", _paragraph(_line(sheet.answer, hide))]
    for erratum in sheet.errata:
        title = say("Widely copied", "流传甚广的错误") if erratum.copied else say("A trap", "易错之处")
        parts += [rf"\subsection*{{{title}}}", _paragraph(rf"\emph{{{_text(erratum.printed)}}}")]
        parts.append(_paragraph(_line(erratum.right, hide)))
    return "\n".join([*parts, rf"\par\noindent{{\small {_text(sheet.source)}}}"])


def _text(text: str) -> str:
    made = escaped(text)
    for sign, command in _MORE.items():
        made = made.replace(sign, command)
    return made


def _line(line: Line, hide: bool) -> str:
    return "".join(_text(piece) if isinstance(piece, str) else _found(piece, hide) for piece in line)


def _found(found: Found, hide: bool) -> str:
    if hide:
        return rf"\underline{{\hspace{{{_EM * display_width(found.text):.1f}em}}}}"
    return cell_latex(found.text)


def _paragraph(text: str) -> str:
    return rf"\par\noindent {text}"


def _grid(grid: Grid, hide: bool) -> str:
    rows = [" & ".join(map(_text, grid.header)) + r" \\", r"\hline"]
    rows += [" & ".join(_line(cell, hide) for cell in row) + r" \\" for row in grid.rows]
    return "\n".join(
        [
            r"\begin{center}",
            r"\renewcommand{\arraystretch}{1.4}",
            rf"\begin{{tabular}}{{{'l' * len(grid.header)}}}",
            *rows,
            r"\end{tabular}",
            r"\end{center}",
        ]
    )
