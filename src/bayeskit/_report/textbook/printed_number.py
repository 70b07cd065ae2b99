"""The results of a page's working: numbers and words that can be left blank as exercises."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from string import Formatter
from typing import Any

Number = Fraction | Decimal | float
# Every blank has this width: its length must not tell how long the answer is.
BLANK = 8


@dataclass(frozen=True)
class PrintedNumber:
    """A number of the working as it is printed, and the number itself; a word has none."""

    text: str
    value: Number | None = None


@dataclass(frozen=True)
class Blank:
    """A line to write on in place of a number; the answer sheet has its number."""

    number: int

    @property
    def text(self) -> str:
        """The blank in plain text.

        Examples
        --------
        >>> Blank(1).text, Blank(12).text
        ('[1]_____', '[12]____')
        """
        return f"[{self.number}]".ljust(BLANK, "_")


Line = tuple[str | PrintedNumber | Blank, ...]
"""Texts and findings that stand on one line."""


def counted(n: int, of: int) -> PrintedNumber:
    """Return a share as it was counted, not reduced.

    Examples
    --------
    >>> counted(4, 8)
    PrintedNumber(text='4/8', value=Fraction(1, 2))
    """
    return PrintedNumber(f"{n}/{of}", Fraction(n, of))


def exact(value: Fraction | int) -> PrintedNumber:
    """Return a fraction in its lowest terms."""
    return PrintedNumber(str(Fraction(value)).replace("-", "−"), Fraction(value))


def decimal(value: Number, form: str = ".4f") -> PrintedNumber:
    """Return a number rounded for print; what it is stays what it was.

    Examples
    --------
    >>> decimal(Fraction(210, 211), ".5f")
    PrintedNumber(text='0.99526', value=Fraction(210, 211))
    """
    return PrintedNumber(format(float(value), form).replace("-", "−").replace("e−", "e-"), value)


def word(text: object) -> PrintedNumber:
    """Return a word that is to be found, such as a class."""
    return PrintedNumber(str(text))


def line(template: str, **values: object) -> Line:
    """Put findings, lines and texts into the places of a template.

    Examples
    --------
    >>> line("P({c}) = {p}", c="spam", p=counted(7, 10))
    ('P(', 'spam', ') = ', PrintedNumber(text='7/10', value=Fraction(7, 10)))
    """
    made: list[str | PrintedNumber | Blank] = []
    for text, name, _, _ in Formatter().parse(template):
        made += [text] if text else []
        made += as_line(values[name]) if name else ()
    return tuple(made)


def as_line(value: object) -> Line:
    """Return a finding, a line or anything that can be written as a line."""
    if isinstance(value, tuple):
        return value
    return (value,) if isinstance(value, (PrintedNumber, Blank)) else (str(value),)


def joined(sign: str, parts: Iterable[Any]) -> Line:
    """Return parts with a sign between them.

    Examples
    --------
    >>> line_text(joined(" · ", [counted(1, 4), counted(3, 4)]))
    '1/4 · 3/4'
    """
    made: list[str | PrintedNumber | Blank] = []
    for part in parts:
        made += [sign] if made else []
        made += as_line(part)
    return tuple(made)


def bracketed(found: PrintedNumber) -> Line:
    """Return a fraction in brackets, so that it can be divided; a whole number needs none.

    Examples
    --------
    >>> line_text(bracketed(exact(Fraction(7, 10)))), line_text(bracketed(exact(5)))
    ('(7/10)', '5')
    """
    return ("(", found, ")") if "/" in found.text else (found,)


def line_text(line: Line) -> str:
    """Return a line as text.

    Examples
    --------
    >>> line_text(line("P = {p}", p=counted(7, 10)))
    'P = 7/10'
    """
    return "".join(piece if isinstance(piece, str) else piece.text for piece in line)
