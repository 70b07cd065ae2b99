"""The layout of a LaTeX table on the page: font size, multi-line formulas, wrapped names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayeskit._display_table import DisplayTable
from bayeskit._report.latex_text import (
    as_math,
    escaped,
    escaped_signs,
    is_accented,
    is_foreign,
    is_wide,
    math_width,
    text_width,
)
from bayeskit._report.page import page_of

if TYPE_CHECKING:
    from bayeskit._report.explanation import Explanation
    from bayeskit._report.network_explanation import NetworkExplanation


# The width of the text in LaTeX's article, and of an A4 sheet with the margins of our own documents, in points.
ARTICLE, SHEET = 345.0, 480.0
# The maximum height of a table in points. A taller table may be broken over pages.
_TALLEST = 430.0
GAP = 12.0  # between columns
# Room for fractions in the lines of a table.
STRETCH = 1.6
# If there is little room, formulas wider than the first number are written in several lines: the value below its
# arithmetic, then also the parameters of a density, then also formulas wider than the second number, such as fractions.
_WIDEST = (110.0, 60.0)
_LEAST_NAME = 70.0  # to which names and values may be narrowed
_SIZES = (("", 1.0), (r"\small", 0.92), (r"\footnotesize", 0.83))
_SMALLEST = (r"\scriptsize", 0.74)


@dataclass(frozen=True)
class Stacking:
    """Which formulas are written in several lines: those wider than ``wider_than``, and densities if set."""

    wider_than: float = math.inf
    densities: bool = False

    def lines(self, formula: str) -> list[str]:
        """Return the lines of a formula.

        Examples
        --------
        >>> Stacking(110.0, True).lines(r"N(0.6; \\mu=0.425, \\sigma^2=0.0069) = 1.2")
        ['N(0.6; \\\\mu=0.425,', '\\\\sigma^2=0.0069)', '= 1.2']
        """
        working, sign, value = formula.rpartition(" = ")
        if math_width(formula) <= self.wider_than or not sign:
            return [formula]
        parts = [working]
        if (
            self.densities and r"\left" not in working
        ):  # brackets that grow must end in the line they begin in
            for mark in (", ", "; "):
                parts = [piece for part in parts for piece in self._broken(part, mark)]
        return [*parts, f"= {value}"]

    def _broken(self, part: str, mark: str) -> list[str]:
        if math_width(part) <= self.wider_than:
            return [part]
        return part.replace(mark, f"{mark.rstrip()}\n").split("\n")


_LEVELS = (Stacking(), Stacking(_WIDEST[0]), Stacking(_WIDEST[0], True), Stacking(_WIDEST[1], True))


@dataclass(frozen=True)
class Layout:
    """The layout of a table.

    Attributes
    ----------
    size : the command for the font size, and the scale relative to ten points
    stacking : which formulas are written in several lines
    limits : the maximum width of the cells of each column, in points at that size; wider cells wrap
    gap : the gap between columns, in points
    fits : whether the table is not wider than its room
    """

    size: tuple[str, float]
    stacking: Stacking
    limits: tuple[float, ...]
    gap: float = GAP
    fits: bool = True


def laid_out(page: DisplayTable, first: int, room: float) -> Layout:
    """Choose the largest font size in which a table fits, and which cells to wrap."""
    for stacking in _LEVELS:
        widths = _widths(page, first, stacking)
        for size in _SIZES:
            if sum(widths) * size[1] + GAP * len(widths) <= room:
                return Layout(size, stacking, tuple(w * size[1] + 1 for w in widths))
    for size, gap in ((_SIZES[-1], GAP), (_SIZES[-1], GAP / 2), (_SMALLEST, GAP / 2)):
        scaled = [w * size[1] for w in widths]
        names = _narrowed(scaled[:first], room - gap * len(widths) - sum(scaled[first:]))
        if names is not None:
            return Layout(size, stacking, (*names, *(w + 1 for w in scaled[first:])), gap)
    narrow = (min(w, _LEAST_NAME) for w in scaled[:first])
    return Layout(size, stacking, (*narrow, *(w + 1 for w in scaled[first:])), gap, fits=False)


def size_for(widths: Sequence[float], room: float = ARTICLE) -> str:
    r"""Return the command for the largest font size in which columns of these widths fit.

    Examples
    --------
    >>> size_for([100.0, 100.0]), size_for([100.0] * 4)
    ('', '\\scriptsize')
    """
    fitting = (name for name, scale in _SIZES if sum(widths) * scale + GAP * len(widths) <= room)
    return next(fitting, _SMALLEST[0])


def is_long(page: DisplayTable, first: int, layout: Layout) -> bool:
    """Whether a table is too tall for a page."""
    heights = (_height(line, first, layout) for line in (page.header, *page.rows, *page.totals))
    return sum(heights) > _TALLEST


def _height(line: Sequence[str], first: int, layout: Layout) -> float:
    """Return the approximate height of a line, in points."""
    scale = layout.size[1]
    formulas = (as_math(cell) for cell in line[first:] if cell)
    stacked = max((len(layout.stacking.lines(f)) for f in formulas if f is not None), default=1)
    words = max(
        (scale * text_width(c) / limit for c, limit in zip(line[:first], layout.limits[:first], strict=True)),
        default=1.0,
    )
    return scale * max(12.0 * STRETCH, 11.0 * stacked + 8.0 * (stacked > 1), 13.0 * math.ceil(words))


def _widths(page: DisplayTable, first: int, stacking: Stacking) -> list[float]:
    found = []
    for j, name in enumerate(page.header):
        cells = [line[j] for line in (*page.rows, *page.totals)]
        if j < first:
            found.append(max(map(text_width, (name, *cells))))
            continue
        widest = max((_cell_width(cell, stacking) for cell in cells), default=0.0)
        found.append(max(widest, min(text_width(name), _LEAST_NAME)))  # a longer heading wraps
    return found


def _cell_width(cell: str, stacking: Stacking) -> float:
    found = as_math(cell) if cell else None
    return text_width(cell) if found is None else max(map(math_width, stacking.lines(found)))


def _narrowed(widths: list[float], room: float) -> list[float] | None:
    """Narrow the widest columns until all fit. Return None if they would become too narrow."""
    found = list(widths)
    while sum(found) > room:
        widest = max(range(len(found)), key=found.__getitem__, default=-1)
        if widest < 0 or found[widest] <= _LEAST_NAME:
            return None
        found[widest] = max(_LEAST_NAME, 0.9 * found[widest])
    return [w + 1 for w in found]


_STACK = (
    r"\providecommand{\stacked}[1]{\raisebox{-.4\height}{\shortstack[l]"
    r"{\rule{0pt}{2.8ex}#1\rule[-1.4ex]{0pt}{1.4ex}}}}"
)


def tabular(page: DisplayTable, first: int, layout: Layout) -> list[str]:
    """Return the lines of a table on one page."""
    header, *lines = _lines(page, first, layout)
    return [
        rf"\begin{{tabular}}{{{'l' * len(page.header)}}}",
        r"\hline",
        header,
        r"\hline",
        *lines,
        r"\end{tabular}",
    ]


def simple_tabular(page: DisplayTable) -> list[str]:
    """Return the lines of a table whose cells are LaTeX already; a rule is under its header, where it has one."""
    head = [_joined(page.header), r"\hline"] if any(page.header) else []
    lines = [*head, *map(_joined, page.rows)]
    return [rf"\begin{{tabular}}{{{'l' * len(page.header)}}}", *lines, r"\end{tabular}"]


def longtable(page: DisplayTable, first: int, layout: Layout, caption: str) -> list[str]:
    """Return the lines of a table that spans several pages, with its header on each."""
    header, *lines = _lines(page, first, layout)
    top = [rf"\caption{{{caption}}}\\"] if caption else []
    head = [r"\hline", header, r"\hline"]
    return [
        rf"\begin{{longtable}}{{{'l' * len(page.header)}}}",
        *top,
        *head,
        r"\endfirsthead",
        *head,
        r"\endhead",
        r"\hline",
        r"\endfoot",
        *lines[:-1],  # the foot has the last line
        r"\end{longtable}",
    ]


def halves(page: DisplayTable, first: int) -> tuple[DisplayTable, DisplayTable]:
    """Split the columns of numbers into two tables, each with the names.

    Examples
    --------
    >>> [half.header for half in halves(DisplayTable("t", ("x", "a", "b", "c"), (), (), ()), 1)]
    [('x', 'a', 'b'), ('x', 'c')]
    """
    middle = (first + len(page.header) + 1) // 2

    def part(begin: int, end: int) -> DisplayTable:
        lines = [(*line[:first], *line[begin:end]) for line in (page.header, *page.rows, *page.totals)]
        n = 1 + len(page.rows)
        return DisplayTable(page.title, lines[0], tuple(lines[1:n]), tuple(lines[n:]), page.notes)

    return part(first, middle), part(middle, len(page.header))


def opening(layout: Layout) -> str:
    """Return the commands that set the layout of a table."""
    tight = rf"\setlength{{\tabcolsep}}{{{layout.gap / 2:.0f}pt}}" if layout.gap < GAP else ""
    stack = "" if layout.stacking == Stacking() else "\n" + _STACK
    return rf"{layout.size[0]}\renewcommand{{\arraystretch}}{{{STRETCH}}}{tight}{stack}"


def _lines(page: DisplayTable, first: int, layout: Layout) -> list[str]:
    """Return the header, the rows, and the totals below a rule, ending with a rule."""
    head = [
        _wrapped(name, limit, layout.size[1], "b")
        for name, limit in zip(page.header, layout.limits, strict=True)
    ]
    lines = [_joined(head), *(_row(cells, first, layout) for cells in page.rows), r"\hline"]
    if page.totals:
        lines += [*(_row(cells, first, layout) for cells in page.totals), r"\hline"]
    return lines


def _row(cells: Sequence[str], first: int, layout: Layout) -> str:
    indent = r"\quad " if cells[0].startswith("  ") else ""
    parts = [
        _wrapped(cell.strip(), limit, layout.size[1])
        for cell, limit in zip(cells[:first], layout.limits[:first], strict=True)
    ]
    parts += [
        _number(cell, layout, limit) for cell, limit in zip(cells[first:], layout.limits[first:], strict=True)
    ]
    return indent + _joined(parts)


def _joined(parts: Sequence[str]) -> str:
    return " & ".join(parts) + r" \\"


def _number(cell: str, layout: Layout, limit: float) -> str:
    found = as_math(cell) if cell else None
    if found is None:
        return _wrapped(cell, limit, layout.size[1])
    lines = [f"${line}$" for line in layout.stacking.lines(found)]
    return lines[0] if len(lines) == 1 else r"\stacked{" + r"\\".join(lines) + "}"


def _wrapped(text: str, limit: float, scale: float, place: str = "t") -> str:
    """Return text in as many lines as it needs. A word that is too long is broken anywhere."""
    if scale * text_width(text) <= limit:
        return escaped(text)
    words = []
    for word in text.split():
        between = r"\allowbreak{}" if scale * text_width(word) > limit else ""
        words.append(between.join(escaped_signs(word)))
    return rf"\parbox[{place}]{{{limit:.0f}pt}}{{\raggedright\rule{{0pt}}{{2.8ex}}{' '.join(words)}\strut}}"


# Pages as LaTeX: tables for a document, or complete documents, with escaped labels.

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
