"""What is to be counted: terms, and the plan that keeps their pattern."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayeskit._schema import Name, Schema

if TYPE_CHECKING:
    from bayeskit._statistics.part import Part

# The parts of statistics by the kind of the pattern that each holds.
PARTS: dict[str, type[Part]] = {}


def register(part: type[Part]) -> None:
    """Make a part known by its kind: plans may ask for it, files may hold it."""
    PARTS[part.kind] = part


@dataclass(frozen=True)
class Term:
    """For each configuration of ``cells``, the moments of ``values`` up to ``order``.

    Missing is the code after a variable's last state, so a term of order 0 adds up to all rows in each class: what is
    available for any smaller set of variables can be derived. A numeric value must be present (all of them, where
    there are several).

    ``order`` is 0 for n; 1 for n and Σx; 2 for n, Σz and Σz_iz_j of all values z = x − p, about a pivot p of the cell's
    own; 4 for what order 2 has, and Σz_i²z_j, Σz_i²z_j². A value of order 0 stands for its cell on a dyadic grid or,
    where it is a tree, for the node at which a row stops.
    """

    cells: tuple[Name, ...]
    values: tuple[Name, ...] = ()
    order: int = 0


@dataclass(frozen=True)
class Pattern:
    """Many terms of one shape, so that one fused kernel counts them and one array holds them.

    Each kind has a part of statistics of its own (:func:`register`). Those of the library are:

    ``tables``: n(class) and n(class, attribute) for every categorical attribute.
    ``moments``: n, Σx, Σx² in each class, for every numeric attribute.
    ``totals``: n and Σx in each class, for every column of a block.
    ``scatter``: n, Σz, Σzzᵀ and their third and fourth powers in each class, over the rows where all these attributes
    are present.
    ``pairs``: n(class, x_i, x_j) for every two categorical attributes, and what ``tables`` holds.
    ``triples``: n(class, x_i, x_j, x) for every two of these categorical attributes and every categorical one.
    ``families``: n(class, x, parents); each of the attributes is a tuple (child, parent 1, …, parent k).
    ``cell_moments``: n, Σx, Σx² in each class and state of each categorical attribute, for every numeric one.
    ``regressions``: n, Σz and Σzzᵀ of z = (numeric parents, x) in each class and configuration of the categorical
    parents; each of the attributes is a tuple (numeric child, parent 1, …, parent k).
    ``grids``: n in each class and cell of a dyadic grid, for each of these numeric attributes.
    ``trees``: n in each class and node at which rows stop, for every tree; each of the attributes is a forest's splits.
    ``interactions``: n(class, x_i, x_j, x_k) of chosen sets of one to three attributes, numbers cut into intervals; the
    attributes are (axes, tables).
    ``row_sample``: distinct rows with their weights, so many at most.
    """

    kind: str
    attributes: tuple[Name, ...]

    def terms(self, schema: Schema) -> Iterator[Term]:
        """Say exactly what the part of this pattern holds: whoever counts these terms has counted all of it."""
        return PARTS[self.kind].terms(schema, self.attributes)


@dataclass(frozen=True)
class Plan:
    """The set of terms wanted, as patterns.

    Examples
    --------
    >>> from bayeskit._schema import Schema, Variable
    >>> schema = Schema((Variable("a", "categorical", (0, 1)),), Variable("y", "categorical", ("no", "yes")))
    >>> list(Plan.naive(schema).terms(schema))
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

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        """Say exactly what statistics of this plan hold, each term once."""
        return tuple(dict.fromkeys(term for pattern in self.patterns for term in pattern.terms(schema)))
