"""Pages as LaTeX: tables for a document, or complete documents, with escaped labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayeskit._display_table import DisplayTable
from bayeskit._report.latex_table import (
    ARTICLE,
    SHEET,
    halves,
    is_long,
    laid_out,
    longtable,
    opening,
    tabular,
)
from bayeskit._report.latex_text import as_math, escaped, is_accented, is_foreign, is_wide, text_width
from bayeskit._report.page import page_of

if TYPE_CHECKING:
    from bayeskit._report.explanation import Explanation
    from bayeskit._report.network_explanation import NetworkExplanation

# For tables that run over pages, and for Chinese without Chinese captions.
_LONG = r"\usepackage{longtable}"
_CHINESE = r"\usepackage[scheme=plain]{ctex}"
# The maximum width of the heading of a formula, in points.
_ROOM = 180.0
# Fonts that support most scripts. The first one installed is used.
_FONTS = ("CMU Serif", "Noto Serif", "DejaVu Serif", "FreeSerif", "Times New Roman")


def as_latex(page: DisplayTable, first: int = 2) -> str:
    r"""Return the table of a page. Arithmetic in the cells becomes mathematics.

    Type, line breaks and, for a long table, page breaks are chosen so that it fits the text of LaTeX's article.

    Parameters
    ----------
    page : DisplayTable
    first : int
        The first column that may hold arithmetic; those before it are names and values.

    Examples
    --------
    >>> page = DisplayTable("y is a", ("", "value", "a"), (("x_1", "1", "(3+1)/(8+2) = 0.4"),), (), ())
    >>> print(as_latex(page))
    \begin{table}[htbp]
    \centering
    \renewcommand{\arraystretch}{1.6}
    \caption{y is a}
    \begin{tabular}{lll}
    \hline
     & value & a \\
    \hline
    x\_1 & 1 & $\frac{3+1}{8+2} = 0.4$ \\
    \hline
    \end{tabular}
    \end{table}
    """
    layout = laid_out(page, first, ARTICLE)
    title = escaped(page.title)
    if is_long(page, first, layout):
        table = longtable(page, first, layout, title)
        return "\n".join(["{" + opening(layout), *table, "}"])
    top = [r"\begin{table}[htbp]", r"\centering", opening(layout), rf"\caption{{{title}}}"]
    return "\n".join([*top, *tabular(page, first, layout), r"\end{table}"])


def in_text(page: DisplayTable, first: int = 2, room: float = ARTICLE) -> str:
    """Return the table in place, because a document has room for only a few floating tables.

    A table with too many columns is split into several, one below the other.
    """
    layout = laid_out(page, first, room)
    if not layout.fits and len(page.header) > first + 1:
        return "\n".join(in_text(part, first, room) for part in halves(page, first))
    title = escaped(page.title)
    if is_long(page, first, layout):
        top = [r"\begin{center}", rf"{title}", r"\end{center}", r"\nopagebreak"]
        return "\n".join([*top, "{" + opening(layout), *longtable(page, first, layout, ""), "}"])
    # A box keeps the title with its table.
    top = [r"\begin{center}", r"\begin{minipage}{\linewidth}", r"\centering", rf"{title}\par\smallskip"]
    end = [r"\end{minipage}", r"\end{center}"]
    return "\n".join([*top, opening(layout), *tabular(page, first, layout), *end])


def notes_latex(notes: tuple[str, ...]) -> str:
    """Return the notes under a table, one paragraph each."""
    return "\n".join(rf"\par\noindent{{\small {escaped(note)}}}" for note in notes)


def document_latex(body: str, lang: str = "zh") -> str:
    """Return a complete A4 document, with the packages that its characters need.

    A document with Chinese text needs XeLaTeX or LuaLaTeX. If its language is Chinese, its class is ctexart.

    Examples
    --------
    >>> document_latex("瓜").splitlines()[0], document_latex("melon").splitlines()[0]
    ('\\\\documentclass{ctexart}', '\\\\documentclass{article}')
    """
    wide, foreign = is_wide(body), is_foreign(body)
    lines = [r"\documentclass{ctexart}" if wide and lang == "zh" else r"\documentclass{article}"]
    lines += [r"\usepackage[a4paper,margin=2cm]{geometry}"]
    if wide and lang != "zh":
        lines.append(_CHINESE)
    if foreign:
        lines += [r"\usepackage{fontspec}", _first_font(_FONTS)]
    elif is_accented(body) and not wide:
        lines += [
            r"\usepackage{iftex}",
            r"\ifPDFTeX\usepackage[T1]{fontenc}\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}\fi",
        ]
    if _is_broken(body):
        # Use one chunk, so that columns have their final width after one run.
        lines += [_LONG, r"\setcounter{LTchunksize}{1000}"]
    return "\n".join([*lines, r"\begin{document}", body, r"\end{document}", ""])


def fragment_latex(body: str) -> str:
    """Return a part of a document, and before it, as comments, the packages that it needs.

    Examples
    --------
    >>> print(fragment_latex("瓜"))
    % Needs \\usepackage[scheme=plain]{ctex}, and XeLaTeX or LuaLaTeX.
    瓜
    """
    needs = [f"% Needs {_LONG}."] if _is_broken(body) else []
    needs += [f"% Needs {_CHINESE}, and XeLaTeX or LuaLaTeX."] if is_wide(body) else []
    return "\n".join([*needs, body])


def explanation_latex(explanation: Explanation, document: bool = False) -> str:
    """Return an explanation: its table, the posterior as a fraction, the notes.

    As many classes as fit are shown next to the prediction; the others are listed in the notes.
    """
    e = explanation
    room = _room(document, e.lang)
    page = page_of(e)
    # The page may end in a column of odds, or show fewer classes than there are.
    shown = sum(str(e.classes[k]) == name for k, name in zip(e.ranking, page.header[2:], strict=False))
    while shown > 2 and not laid_out(page, 2, room).fits:
        shown -= 1
        page = page_of(e, most=shown)
    parts = [in_text(page, 2, room) if document else as_latex(page)]
    if not e.impossible and len(e.classes) > 1:
        parts.append(_fraction(e))
    body = "\n".join([*parts, notes_latex(page.notes)])
    return document_latex(body, e.lang) if document else fragment_latex(body)


def network_latex(explanation: NetworkExplanation, document: bool = False) -> str:
    """Return the explanation of a query to a network: the formula, the factors, the sums, the normaliser."""
    from bayeskit._report.network_explanation import pages_of

    lines, pages = pages_of(explanation)
    room = _room(document, explanation.lang)
    tables = "\n".join(in_text(page, first, room) for page, first in pages)
    body = "\n".join([notes_latex(lines), tables])
    return document_latex(body, explanation.lang) if document else fragment_latex(body)


def _is_broken(body: str) -> bool:
    return r"\begin{longtable}" in body


def _room(document: bool, lang: str) -> float:
    """Return the width of a line for a font size of ten points; ctexart uses ten and a half."""
    return ARTICLE if not document else SHEET / 1.06 if lang == "zh" else SHEET


def _fraction(e: Explanation) -> str:
    from bayeskit._report.fractions import magnitude

    best = e.ranking[0]
    joint, evidence = as_math(magnitude(e.log_joint[best])), as_math(magnitude(e.log_evidence))
    left_side = rf"P(\mbox{{{escaped(e.target)}}} = \mbox{{{escaped(e.prediction)}}} \mid x)"
    if text_width(f"{e.target}{e.prediction}") > _ROOM:
        left_side = r"P(c \mid x)"
    posterior = as_math(magnitude(e.log_joint[best] - e.log_evidence))
    return rf"\[ {left_side} = \frac{{{joint}}}{{{evidence}}} = {posterior} \]"


def _first_font(fonts: tuple[str, ...]) -> str:
    if not fonts:
        return ""
    chosen = rf"\setmainfont[Scale=MatchLowercase]{{{fonts[0]}}}"
    return rf"\IfFontExistsTF{{{fonts[0]}}}{{{chosen}}}{{{_first_font(fonts[1:])}}}"
