"""A table and a row to classify by hand: counts, fractions, numbers of thirty digits, and the blocks of a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ContextDecorator
from dataclasses import dataclass, field
from decimal import Context, Decimal, getcontext, setcontext
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

from bayeskit._messages import join_in, run_on, text_in
from bayeskit._report.textbook.printed_number import (
    Line,
    PrintedNumber,
    bracketed,
    counted,
    decimal,
    exact,
    joined,
    line,
    word,
)
from bayeskit._report.textbook.sheet import Erratum, Grid, Result, Sheet, grid
from bayeskit._schema import Label

Say = Callable[[str], str]
# Ten digits more than are compared: sums and differences may lose some.
_DIGITS = 40
PI = Decimal("3.14159265358979323846264338327950288419716939937510582")


class ManyDigits(ContextDecorator):
    """Reckon with decimals of forty digits, of which thirty are good after a page of arithmetic."""

    def __enter__(self) -> None:
        self._before = getcontext()
        setcontext(Context(prec=_DIGITS))

    def __exit__(self, *_: object) -> None:
        setcontext(self._before)


def as_decimal(value: Fraction | Decimal | int) -> Decimal:
    """Return a fraction as a decimal of as many digits as are reckoned with."""
    return (
        Decimal(value.numerator) / Decimal(value.denominator)
        if isinstance(value, Fraction)
        else Decimal(value)
    )


def ln(value: Fraction | Decimal | int) -> Decimal:
    """Return the natural logarithm.

    Examples
    --------
    >>> with ManyDigits():
    ...     round(ln(Fraction(1, 2)), 30)
    Decimal('-0.693147180559945309417232121458')
    """
    return as_decimal(value).ln()


@dataclass(frozen=True)
class Lesson:
    """Rows with a class each, and the row to classify.

    Attributes
    ----------
    columns : mapping
        Cells of numeric columns are fractions; None is missing.
    y, target : the classes, and what they are called
    query : mapping
        The row to classify, without what is missing in it.
    row : int or None
        Its number where it is one of the rows, the first is 1.
    source : str
        The bundled table or the file that holds the rows.
    sizes : mapping
        The number of states of attributes of which not all occur.
    """

    columns: Mapping[str, Sequence[Any]]
    y: Sequence[Any]
    target: str
    query: Mapping[str, Any]
    row: int | None
    source: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    classes: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        found = sorted(set(self.y), key=lambda label: (isinstance(label, str), label))
        object.__setattr__(self, "classes", self.classes or tuple(found))

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows as mappings."""
        return [
            dict(zip(self.columns, cells, strict=True)) for cells in zip(*self.columns.values(), strict=True)
        ]

    @property
    def numeric(self) -> list[str]:
        """The attributes that are measured."""
        return [
            name for name in self.columns if any(isinstance(cell, Fraction) for cell in self.columns[name])
        ]

    @property
    def words(self) -> dict[str, Any]:
        """The cells of the row that are no measured numbers."""
        return {name: value for name, value in self.query.items() if name not in self.numeric}

    def states(self, name: str) -> list[Any]:
        """The values of a column, in the order in which they first occur."""
        return list(dict.fromkeys(cell for cell in self.columns[name] if cell is not None))

    def size(self, name: str) -> int:
        """N_i, the number of states."""
        return self.sizes.get(name, len(self.states(name)))

    def n(self, cells: Mapping[str, Any], label: Label | None = None, present: Iterable[str] = ()) -> int:
        """Count the rows with these cells, of one class or all, in which some columns are not missing."""
        return sum(
            (label is None or c == label)
            and all(row[name] == value for name, value in cells.items())
            and all(row[name] is not None for name in present)
            for row, c in zip(self.rows, self.y, strict=True)
        )

    def prior(self, label: Label, alpha: int = 0) -> PrintedNumber:
        """(|D_c| + α)/(|D| + αK)."""
        return counted(self.n({}, label) + alpha, len(self.y) + alpha * len(self.classes))

    def share(
        self, name: str, value: Any, label: Label, alpha: int = 0, given: Mapping[str, Any] | None = None
    ) -> PrintedNumber:
        """(n(c, parents, v) + α)/(n(c, parents) + αN_i), over the rows that have the attribute."""
        given = given or {}
        of = self.n(given, label, [name]) + alpha * self.size(name)
        return (
            counted(self.n({**given, name: value}, label) + alpha, of)
            if of
            else PrintedNumber("0/0", Fraction(0))
        )

    def together(self, name: str, value: Label, label: Label) -> PrintedNumber:
        """(n(c, x_i) + 1)/(N + K N_i)."""
        cells = len(self.classes) * self.size(name)
        return counted(self.n({name: value}, label) + 1, self.n({}, None, [name]) + cells)

    def of_class(self, name: str, label: Label) -> list[Any]:
        """The cells of a column in the rows of a class, without what is missing."""
        cells = zip(self.columns[name], self.y, strict=True)
        return [cell for cell, c in cells if c == label and cell is not None]

    def moments(self, name: str, label: Label) -> tuple[Fraction, Fraction]:
        """Mean and variance of a class; the variance divides by n."""
        cells = self.of_class(name, label)
        mean = sum(cells, Fraction(0)) / len(cells)
        return mean, sum(((x - mean) ** 2 for x in cells), Fraction(0)) / len(cells)

    def density(self, name: str, value: Fraction, label: Label) -> Decimal:
        """exp(−(x − μ)²/(2σ²))/√(2πσ²)."""
        mean, variance = self.moments(name, label)
        root = (2 * PI * as_decimal(variance)).sqrt()
        return as_decimal(-((value - mean) ** 2) / (2 * variance)).exp() / root

    def naive(self, label: Label, alpha: int) -> tuple[list[PrintedNumber], Fraction | Decimal]:
        """The factors of naive Bayes and their product: a fraction where no factor is a density."""
        shares = [self.share(name, value, label, alpha) for name, value in self.words.items()]
        factors = [self.prior(label, alpha), *shares]
        made: Fraction | Decimal = product_of(factors)
        for name in (name for name in self.numeric if name in self.query):
            density = self.density(name, self.query[name], label)
            factors.append(decimal(density, ".5g"))
            made = as_decimal(made) * density
        return factors, made


def product_of(factors: Iterable[PrintedNumber]) -> Fraction:
    """Multiply fractions."""
    return math.prod((Fraction(factor.value or 0) for factor in factors), start=Fraction(1))


def melons(**changed: Any) -> Lesson:
    """Watermelon data set 2.0 and its first melon, of which some cells may be others.

    Examples
    --------
    >>> melons().share("色泽", "青绿", "是", given={"根蒂": "蜷缩"}).text
    '2/5'
    """
    first = {"色泽": "青绿", "根蒂": "蜷缩", "敲声": "浊响", "纹理": "清晰", "脐部": "凹陷", "触感": "硬滑"}
    return bundled("melon2", {**first, **changed}, None if changed else 1)


def bundled(name: str, query: Mapping[str, Any], row: int | None = None) -> Lesson:
    """A bundled table."""
    from bayeskit import datasets

    data = datasets.load_dataset(name)
    columns = {each: [_cell(cell) for cell in data.columns[each].tolist()] for each in data.attributes}
    return Lesson(
        columns,
        data.y.tolist(),
        data.target,
        {key: _cell(value) for key, value in query.items()},
        row,
        name,
        classes=("是", "否"),
    )


def sources(section: str, lesson: Lesson, lang: str) -> str:
    """Return the section of a book that a page follows, if any, and where its rows are from.

    >>> sources("", melons(), "en")
    'Rows: Zhou Zhihua (周志华), Machine Learning (《机器学习》), table 4.1.'
    """
    say = partial(text_in, lang)
    books = {
        "melon2": say("Zhou Zhihua (周志华), Machine Learning (《机器学习》), table 4.1"),
        "melon3": say("Zhou Zhihua (周志华), Machine Learning (《机器学习》), table 4.3"),
    }
    rows = say("Rows: {table}.").format(table=books.get(lesson.source, lesson.source))
    return run_on([section, rows] if section else [rows], lang)


def _cell(cell: object) -> Any:
    return Fraction(str(cell)) if isinstance(cell, float) else cell


def shown(cell: object) -> str:
    """Write a cell: a measured number as it was read, nothing where it is missing.

    Examples
    --------
    >>> shown(Fraction("0.460")), shown(None), shown(-1)
    ('0.46', '', '−1')
    """
    if isinstance(cell, Fraction):
        cell = format(float(cell), ".15g")
    elif isinstance(cell, str):
        return cell
    return "" if cell is None else str(cell).replace("-", "−")


# The blocks of a page


def table_of(lesson: Lesson) -> Grid:
    """The rows, numbered, as they are given."""
    rows = [
        (str(i), *map(shown, row.values()), shown(c))
        for i, (row, c) in enumerate(zip(lesson.rows, lesson.y, strict=True), 1)
    ]
    return grid(("", *lesson.columns, lesson.target), *rows)


def row_of(lesson: Lesson, lang: str) -> str:
    """The row to classify in words."""
    return join_in(lang, (f"{name} = {shown(value)}" for name, value in lesson.query.items()))


def number(value: Fraction | Decimal, form: str = ".6g") -> PrintedNumber:
    """Print a short fraction as such, and any other number rounded."""
    if isinstance(value, Fraction) and len(str(value)) <= 16:
        return exact(value)
    return decimal(value, form)


def products(
    say: Say, header: Sequence[str], rows: Iterable[tuple[str, Sequence[Any], Fraction | Decimal]]
) -> Grid:
    """A table of factors, each row with its product."""
    made = [(name, *factors, number(product)) for name, factors, product in rows]
    return grid(("", *header, say("product")), *made)


def total_of(products: Iterable[Fraction | Decimal]) -> Fraction | Decimal:
    """Add fractions, or decimals."""
    values = list(products)
    if all(isinstance(value, Fraction) for value in values):
        return sum((Fraction(value) for value in values), Fraction(0))
    return sum(map(as_decimal, values), Decimal(0))


def quotient(a: Fraction | Decimal, b: Fraction | Decimal) -> Fraction | Decimal:
    """Divide fractions, or decimals."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a / b
    return as_decimal(a) / as_decimal(b)


def posteriors(joints: Mapping[Any, Fraction | Decimal]) -> dict[Any, Fraction | Decimal]:
    """P(c | x) of all classes; the same for all where every product is 0."""
    total = total_of(joints.values())
    return {c: quotient(joint, total) if total else Fraction(1, len(joints)) for c, joint in joints.items()}


def posterior_lines(joints: Mapping[Any, Fraction | Decimal]) -> list[Line]:
    """P(c | x) = a / (a + b) = p, a line for each class."""
    if not total_of(joints.values()):
        return []
    found = posteriors(joints)
    return [
        line(
            "P({c} | x) = {a} / ({terms}) = {p}",
            c=shown(c),
            a=bracketed(number(joint)),
            terms=joined(" + ", map(number, joints.values())),
            p=decimal(found[c], ".6f"),
        )
        for c, joint in joints.items()
    ]


def best(found: Mapping[Any, Fraction | Decimal]) -> Any:
    """The class of the largest number; of several, the first."""
    return max(found, key=lambda c: as_decimal(found[c]))


def answer_line(joints: Mapping[Any, Fraction | Decimal], lang: str) -> Line:
    """The most probable class, with its probability."""
    found = posteriors(joints)
    chosen = best(found)
    return line(
        text_in(lang, "{c}, with probability {p}."), c=word(shown(chosen)), p=decimal(found[chosen], ".6f")
    )


def posterior_sheet(
    name: str,
    title: str,
    lesson: Lesson,
    lang: str,
    joints: Mapping[Any, Fraction | Decimal],
    *,
    working: Sequence[Line | Grid],
    erratum: Erratum,
    results: Sequence[Result],
    question: str = "",
    section: str = "",
) -> Sheet:
    """The page about the class of the row that a lesson asks for; ``joints`` are its P(c, x)."""
    return Sheet(
        name=name,
        lang=lang,
        title=title,
        question=question or text_in(lang, "Which class has x: {row}?").format(row=row_of(lesson, lang)),
        given=(table_of(lesson),),
        working=(*working, *posterior_lines(joints)),
        answer=answer_line(joints, lang),
        errata=(erratum,),
        source=sources(section, lesson, lang),
        results=tuple(results),
    )


def result(name: str, value: Fraction | Decimal, digits: int = 6) -> Result:
    """A number for the check; what is printed of it are so many decimals."""
    return Result(name, value, format(float(value), f".{digits}{'f' if abs(float(value)) >= 1e-3 else 'e'}"))


def joint_results(
    about: str, joints: Mapping[Any, Fraction | Decimal], prior: bool = True
) -> tuple[Result, ...]:
    """The products of all classes, and their posteriors."""
    found = posteriors(joints)
    made = [result(f"{about}: {shown(c)}", joint, 8) for c, joint in joints.items()] if prior else []
    return (*made, *(result(f"{about}: P({shown(c)} | x)", p) for c, p in found.items()))
