r"""A table in LaTeX: rows and header, formulas in several lines, names that wrap."""

from __future__ import annotations

from collections.abc import Sequence

from bayeskit.report.latex.layout import GAP, STRETCH, Layout, Stacking
from bayeskit.report.latex.math import as_math
from bayeskit.report.latex.text import escaped, escaped_signs
from bayeskit.report.latex.width import text_width
from bayeskit.report.page import Page

_STACK = (
    r"\providecommand{\stacked}[1]{\raisebox{-.4\height}{\shortstack[l]"
    r"{\rule{0pt}{2.8ex}#1\rule[-1.4ex]{0pt}{1.4ex}}}}"
)


def tabular(page: Page, first: int, layout: Layout) -> list[str]:
    """Return the lines of a table that stands on one page."""
    header, *lines = _lines(page, first, layout)
    return [
        rf"\begin{{tabular}}{{{'l' * len(page.header)}}}",
        r"\hline",
        header,
        r"\hline",
        *lines,
        r"\end{tabular}",
    ]


def longtable(page: Page, first: int, layout: Layout, caption: str) -> list[str]:
    """Return the lines of a table that runs over pages, its header on each of them."""
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


def halves(page: Page, first: int) -> tuple[Page, Page]:
    """Divide the columns of numbers into two tables, the names in both of them.

    Examples
    --------
    >>> [half.header for half in halves(Page("t", ("x", "a", "b", "c"), (), (), ()), 1)]
    [('x', 'a', 'b'), ('x', 'c')]
    """
    middle = (first + len(page.header) + 1) // 2

    def part(begin: int, end: int) -> Page:
        lines = [(*line[:first], *line[begin:end]) for line in (page.header, *page.rows, *page.totals)]
        n = 1 + len(page.rows)
        return Page(page.title, lines[0], tuple(lines[1:n]), tuple(lines[n:]), page.notes)

    return part(first, middle), part(middle, len(page.header))


def opening(layout: Layout) -> str:
    """Return the commands that say how a table is set."""
    tight = rf"\setlength{{\tabcolsep}}{{{layout.gap / 2:.0f}pt}}" if layout.gap < GAP else ""
    stack = "" if layout.stacking == Stacking() else "\n" + _STACK
    return rf"{layout.size[0]}\renewcommand{{\arraystretch}}{{{STRETCH}}}{tight}{stack}"


def cell_latex(text: str) -> str:
    """Return a cell as mathematics where it is arithmetic, else as text."""
    found = as_math(text) if text else None
    return escaped(text) if found is None else f"${found}$"


def _lines(page: Page, first: int, layout: Layout) -> list[str]:
    """Return the header, the rows, and the totals under a line of their own; a line comes last."""
    head = [_wrapped(name, limit, layout.size[1], "b") for name, limit in zip(page.header, layout.limits)]
    lines = [_joined(head), *(_row(cells, first, layout) for cells in page.rows), r"\hline"]
    if page.totals:
        lines += [*(_row(cells, first, layout) for cells in page.totals), r"\hline"]
    return lines


def _row(cells: Sequence[str], first: int, layout: Layout) -> str:
    indent = r"\quad " if cells[0].startswith("  ") else ""
    parts = [
        _wrapped(cell.strip(), limit, layout.size[1]) for cell, limit in zip(cells[:first], layout.limits)
    ]
    parts += [_number(cell, layout, limit) for cell, limit in zip(cells[first:], layout.limits[first:])]
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
    """Return words in as many lines as they need; a word that is too long is broken anywhere."""
    if scale * text_width(text) <= limit:
        return escaped(text)
    words = []
    for word in text.split():
        between = r"\allowbreak{}" if scale * text_width(word) > limit else ""
        words.append(between.join(escaped_signs(word)))
    return rf"\parbox[{place}]{{{limit:.0f}pt}}{{\raggedright\rule{{0pt}}{{2.8ex}}{' '.join(words)}\strut}}"
