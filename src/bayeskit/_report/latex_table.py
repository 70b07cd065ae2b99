"""The layout of a LaTeX table on the page: font size, multi-line formulas, wrapped names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bayeskit._display_table import DisplayTable
from bayeskit._report.latex_text import as_math, escaped, escaped_signs, math_width, text_width

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
