"""Naive Bayes as on paper: shares counted in rows, exact means and variances, one exponential at the end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from bayeskit.report.textbook.found import Found, counted
from bayeskit.schema import Label


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
    """Rows with a class each; ``sizes`` tells how many states an attribute has where rows do not show all."""

    columns: Mapping[str, Sequence[Any]]
    y: Sequence[Any]
    sizes: Mapping[str, int] = field(default_factory=dict)

    def of_class(self, name: str, label: Label) -> list[Any]:
        """The cells of a column in the rows of a class."""
        return [value for value, c in zip(self.columns[name], self.y) if c == label]

    def prior(self, label: Label, alpha: int = 0) -> Found:
        """(|D_c| + α)/(|D| + αK)."""
        return counted(list(self.y).count(label) + alpha, len(self.y) + alpha * len(set(self.y)))

    def share(self, name: str, value: Label, label: Label, alpha: int = 0) -> Found:
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

    def factors(self, query: Mapping[str, Any], label: Label, alpha: int = 0) -> list[Found]:
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

    data = datasets.load(table)
    columns = {name: data.columns[name].tolist() for name in data.attributes}
    return Counts(columns, data.y.tolist(), sizes or {})


def product_of(factors: Sequence[Found]) -> Fraction:
    """Multiply findings."""
    return math.prod((Fraction(factor.value or 0) for factor in factors), start=Fraction(1))
