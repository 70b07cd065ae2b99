"""A page as plain text, as wide as a terminal; hidden, with blanks where its numbers were."""

from __future__ import annotations

from bayeskit.report.textbook.found import chooser, spoken
from bayeskit.report.textbook.sheet import Grid, Sheet
from bayeskit.report.width import aligned, display_width

WIDTH = 100


def as_text(sheet: Sheet, hide: bool = False) -> str:
    """Return the whole page.

    Examples
    --------
    >>> from bayeskit.report.textbook.spam import page
    >>> print("\\n".join(as_text(page("en"), hide=True).splitlines()[10:12]))
    Working
      P(spam) P(word | spam) = ____ · ____ = ______
    """
    say = chooser(sheet.lang)
    lines = [sheet.title, "", *wrapped(sheet.question), ""]
    for grid in sheet.given:
        lines += [*_grid(grid, False), ""]
    lines.append(say("Working", "演算"))
    for item in sheet.working:
        if isinstance(item, Grid):
            lines += [*([""] if lines[-1] else []), *_grid(item, hide), ""]
        else:
            lines += wrapped(spoken(item, hide), "  ")
    lines += [*([""] if lines[-1] else []), say("Answer", "答案"), *wrapped(spoken(sheet.answer, hide), "  ")]
    for erratum in sheet.errata:
        lines += ["", say("Widely copied", "流传甚广的错误") if erratum.copied else say("A trap", "易错之处")]
        lines += [*wrapped(erratum.printed, "  "), *wrapped(spoken(erratum.right, hide), "  → ")]
    return "\n".join([*lines, "", *wrapped(sheet.source)])


def _grid(grid: Grid, hide: bool) -> list[str]:
    rows = [list(grid.header), *([spoken(cell, hide) for cell in row] for row in grid.rows)]
    head, *body = aligned(rows)
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
    for this, following in zip(text, text[1:] + " "):
        current += this
        wide = (display_width(this) == 2 and this not in "“（《") or display_width(following) == 2
        if (this == " " or wide) and following not in "，。：；？！、”）》)].,;:?! ":
            pieces.append(current)
            current = ""
    return [*pieces, current] if current else pieces
