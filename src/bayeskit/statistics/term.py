"""What is to be counted: terms, and the plan that keeps their pattern."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from bayeskit.schema import Name, Schema

PatternKind = Literal[
    "tables", "moments", "totals", "scatter", "grids", "pairs", "cell_moments", "families", "triples"
]

_ORDER: dict[PatternKind, int] = {
    "tables": 0,
    "moments": 2,
    "totals": 1,
    "scatter": 2,
    "grids": 0,
    "pairs": 0,
    "triples": 0,
    "families": 0,
    "cell_moments": 2,
}


@dataclass(frozen=True)
class Term:
    """For each configuration of ``cells``, the moments of ``values`` up to ``order``."""

    cells: tuple[Name, ...]
    values: tuple[Name, ...] = ()
    order: int = 0


@dataclass(frozen=True)
class Pattern:
    """Many terms of one shape, so that one fused kernel counts them and one array holds them.

    ``tables``: n(class) and n(class, attribute) for every categorical attribute.
    ``moments``: n, Σx, Σx² in each class, for every numeric attribute.
    ``totals``: Σx in each class, for every column of a block.
    ``scatter``: n, Σz, Σzzᵀ in each class, over the rows where all these attributes are present.
    ``pairs``: n(class, x_i, x_j) for every two categorical attributes.
    ``triples``: n(class, x_i, x_j, x) for every two of these categorical attributes and every categorical one
    (its terms name the two; the third is any of the schema).
    ``families``: n(class, x, parents); each of the attributes is a tuple (child, parent 1, …, parent k).
    ``cell_moments``: n, Σx, Σx² in each class and state of each categorical attribute, for every numeric one
    (its terms name the class and the numeric attributes; the categorical ones are those of the schema).
    ``grids``: n in each class and cell of a dyadic grid, for each of these numeric attributes.
    """

    kind: PatternKind
    attributes: tuple[Name, ...]

    def terms(self, target: Name) -> Iterator[Term]:
        order = _ORDER[self.kind]
        if self.kind == "tables":
            yield Term((target,))
            yield from (Term((target, name)) for name in self.attributes)
        elif self.kind in ("pairs", "triples"):
            yield from (Term((target, a, b)) for a, b in itertools.combinations(self.attributes, 2))
        elif self.kind == "families":
            # A family is itself a tuple of names; any name is hashable, so the types cannot tell.
            yield from (Term((target, *tuple(family))) for family in self.attributes)  # type: ignore[arg-type]
        elif self.kind in ("scatter", "totals"):
            yield Term((target,), self.attributes, order)
        else:
            yield from (Term((target,), (name,), order) for name in self.attributes)


@dataclass(frozen=True)
class Plan:
    """The set of terms wanted, as patterns.

    Examples
    --------
    >>> from bayeskit.schema import Schema, Variable
    >>> schema = Schema((Variable("a", "categorical", (0, 1)),), Variable("y", "categorical", ("no", "yes")))
    >>> list(Plan.naive(schema).terms("y"))
    [Term(cells=('y',), values=(), order=0), Term(cells=('y', 'a'), values=(), order=0)]
    """

    patterns: tuple[Pattern, ...]

    @classmethod
    def naive(cls, schema: Schema, scatter: tuple[Name, ...] = (), grids: tuple[Name, ...] = ()) -> Plan:
        """Ask for what naive Bayes needs: every attribute with the class, no two attributes together."""
        patterns = [Pattern("tables", tuple(v.name for v in schema.categorical))]
        if schema.numeric:
            patterns.append(Pattern("moments", tuple(v.name for v in schema.numeric)))
        if schema.block is not None:
            patterns.append(Pattern("totals", (schema.block.name,)))
        if scatter:
            patterns.append(Pattern("scatter", scatter))
        if grids:
            patterns.append(Pattern("grids", grids))
        return cls(tuple(patterns))

    @classmethod
    def pairs(cls, schema: Schema) -> Plan:
        """Ask for every two categorical attributes with the class, beside what naive Bayes needs."""
        names = tuple(v.name for v in schema.categorical)
        return cls((*cls.naive(schema).patterns, Pattern("pairs", names)))

    def terms(self, target: Name) -> Iterator[Term]:
        for pattern in self.patterns:
            yield from pattern.terms(target)
