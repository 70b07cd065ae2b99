"""A page of the textbook as a value."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bayeskit.report.textbook.found import Found, Line, Number, as_line, spoken


@dataclass(frozen=True)
class Grid:
    """A table of lines."""

    header: tuple[str, ...]
    rows: tuple[tuple[Line, ...], ...]


@dataclass(frozen=True)
class Erratum:
    """What is printed elsewhere, and what is right.

    Attributes
    ----------
    copied : bool
        Whether it stands in sources that many have copied; else it is a trap that readers fall into.
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

        def told(item: Line | Grid) -> dict[str, Any]:
            if isinstance(item, Grid):
                rows = [[spoken(cell, hide) for cell in row] for row in item.rows]
                return {"header": list(item.header), "rows": rows}
            numbers = [_plain(piece) for piece in item if isinstance(piece, Found)]
            return {"text": spoken(item, hide)} | ({} if hide else {"numbers": numbers})

        found: dict[str, Any] = {"page": self.name, "title": self.title, "question": self.question}
        found |= {"given": [told(grid) for grid in self.given], "working": [told(i) for i in self.working]}
        found |= {"answer": told(self.answer)}
        found["errata"] = [
            {"printed": e.printed, "right": spoken(e.right, hide), "copied": e.copied} for e in self.errata
        ]
        found["source"] = self.source
        if not hide:
            found["results"] = {r.name: _plain(Found(r.printed, r.exact)) for r in self.results}
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


def _plain(found: Found) -> dict[str, Any]:
    told: dict[str, Any] = {"text": found.text}
    if found.value is not None:
        told["value"] = float(found.value)
    if isinstance(found.value, Fraction):
        told["fraction"] = str(found.value)
    return told
