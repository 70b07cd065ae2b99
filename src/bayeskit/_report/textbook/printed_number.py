"""Worked numbers: what is printed, or left blank in an exercise; and the counts and joint distributions behind it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import product
from string import Formatter
from typing import Any

from bayeskit._messages import closed_up
from bayeskit._schema import Label

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
    return tuple(_closed(made))


def _closed(parts: list[str | PrintedNumber | Blank]) -> Iterator[str | PrintedNumber | Blank]:
    """Close up the parts of a line, each with its neighbours."""
    said = ["", *(part.text if isinstance(part, PrintedNumber) else str(part) for part in parts), ""]
    for i, part in enumerate(parts):
        if isinstance(part, str):
            before, after = said[i][-1:], said[i + 2][:1]
            part = closed_up(before + part + after)[len(before) :].removesuffix(after)
        yield part


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


@dataclass(frozen=True)
class Normal:
    """A normal distribution whose mean and variance are fractions."""

    mean: Fraction
    variance: Fraction

    def exponent(self, x: Fraction) -> Fraction:
        """(x − μ)²/(2σ²), exactly."""
        return (x - self.mean) ** 2 / (2 * self.variance)

    def density(self, x: Fraction) -> float:
        """Return exp(−exponent)/√(2πσ²): the only step that is no fraction.

        Examples
        --------
        >>> round(Normal(Fraction(17, 40), Fraction(11, 1200)).density(Fraction(3, 5)), 5)
        0.78403
        """
        return math.exp(-float(self.exponent(x))) / math.sqrt(2 * math.pi * float(self.variance))


@dataclass(frozen=True)
class Counts:
    """Rows with a class each; ``sizes`` is the number of states of an attribute of which not all occur in rows."""

    columns: Mapping[str, Sequence[Any]]
    y: Sequence[Any]
    sizes: Mapping[str, int] = field(default_factory=dict)

    def of_class(self, name: str, label: Label) -> list[Any]:
        """The cells of a column in the rows of a class."""
        return [value for value, c in zip(self.columns[name], self.y, strict=True) if c == label]

    def prior(self, label: Label, alpha: int = 0) -> PrintedNumber:
        """(|D_c| + α)/(|D| + αK)."""
        return counted(list(self.y).count(label) + alpha, len(self.y) + alpha * len(set(self.y)))

    def share(self, name: str, value: Label, label: Label, alpha: int = 0) -> PrintedNumber:
        """(|D_{c,v}| + α)/(|D_c| + αN_i)."""
        cells = self.of_class(name, label)
        size = self.sizes.get(name, len(set(self.columns[name])))
        return counted(cells.count(value) + alpha, len(cells) + alpha * size)

    def normal(self, name: str, label: Label, unbiased: bool) -> Normal:
        """Mean and variance of a class; the variance divides by n − 1 or by n."""
        cells = [Fraction(str(value)) for value in self.of_class(name, label)]
        mean = sum(cells, Fraction(0)) / len(cells)
        spread = sum(((x - mean) ** 2 for x in cells), Fraction(0))
        return Normal(mean, spread / (len(cells) - 1 if unbiased else len(cells)))

    def factors(self, query: Mapping[str, Any], label: Label, alpha: int = 0) -> list[PrintedNumber]:
        """The prior, then the share of each value that is no number."""
        words = {name: value for name, value in query.items() if not isinstance(value, Fraction)}
        shares = [self.share(name, value, label, alpha) for name, value in words.items()]
        return [self.prior(label, alpha), *shares]

    def joint(self, query: Mapping[str, Any], label: Label, alpha: int = 0, unbiased: bool = False) -> float:
        """P(c)·Π P(x_i | c): the fractions multiplied exactly, then the densities of the numbers."""
        numbers = {name: value for name, value in query.items() if isinstance(value, Fraction)}
        densities = (self.normal(name, label, unbiased).density(x) for name, x in numbers.items())
        return float(product_of(self.factors(query, label, alpha))) * math.prod(densities)


def counts_of(table: str, sizes: Mapping[str, int] | None = None) -> Counts:
    """Return the counts of a bundled table.

    Examples
    --------
    >>> counts_of("melon8").share("纹理", "清晰", "是").text
    '3/4'
    """
    from bayeskit import datasets

    data = datasets.load_dataset(table)
    columns = {name: data.columns[name].tolist() for name in data.attributes}
    return Counts(columns, data.y.tolist(), sizes or {})


def product_of(factors: Sequence[PrintedNumber]) -> Fraction:
    """Multiply findings."""
    return math.prod((Fraction(factor.value or 0) for factor in factors), start=Fraction(1))


Event = Mapping[str, int]


@dataclass(frozen=True)
class Joint:
    """Nodes that are 0 or 1: name → (parents, P(1) for the parents' states 0…0, 0…1, …, 1…1).

    Examples
    --------
    >>> rain = Joint({"r": ((), ("1/5",)), "w": (("r",), ("1/10", "1"))})
    >>> rain.p({"w": 1}), rain.p({"r": 1}, {"w": 1})
    (Fraction(7, 25), Fraction(5, 7))
    """

    tables: Mapping[str, tuple[Sequence[str], Sequence[str]]]

    def cell(self, name: str, row: Event) -> Fraction:
        """P(name = its state | its parents' states), all read from a row."""
        parents, numbers = self.tables[name]
        place = int("0" + "".join(str(row[parent]) for parent in parents), 2)
        share = Fraction(numbers[place])
        return share if row[name] else 1 - share

    @cached_property
    def rows(self) -> tuple[tuple[dict[str, int], Fraction], ...]:
        """Every row of the joint distribution, and its probability."""
        rows = [
            dict(zip(self.tables, states, strict=True)) for states in product((0, 1), repeat=len(self.tables))
        ]
        return tuple(
            (row, math.prod((self.cell(name, row) for name in self.tables), start=Fraction(1)))
            for row in rows
        )

    def p(self, event: Event, given: Event | None = None) -> Fraction:
        """P(event | given): the rows that agree with both, over those that agree with what is given."""
        whole = self._sum(given or {})
        return self._sum({**event, **(given or {})}) / whole

    def _sum(self, event: Event) -> Fraction:
        agreeing = (p for row, p in self.rows if all(row[name] == state for name, state in event.items()))
        return sum(agreeing, Fraction(0))
