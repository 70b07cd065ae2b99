"""What to count: terms, and plans of patterns of terms."""

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
    """Register a part by its kind, for plans and files."""
    PARTS[part.kind] = part


@dataclass(frozen=True)
class Term:
    """A term: for each configuration of ``cells``, the moments of ``values`` up to ``order``.

    Missing is the code after a variable's last state, so the cells of a term of order 0 sum to all rows of
    each class. The terms of any smaller set of variables can therefore be derived. Numeric values must be
    present (all of them, if there are several).

    ``order`` is 0 for n; 1 for n and Σx; 2 for n, Σz and Σz_iz_j of all values z = x − p, with a pivot p for
    each cell; 4 for those of order 2 and Σz_i²z_j, Σz_i²z_j². A value of order 0 means its cell on a dyadic
    grid or, for a tree, the node at which a row stops.
    """

    cells: tuple[Name, ...]
    values: tuple[Name, ...] = ()
    order: int = 0


@dataclass(frozen=True)
class Pattern:
    """Many terms of one shape, which one fused kernel counts into one array.

    Each kind has its own part of the statistics (:func:`register`). The library has these kinds:

    ``tables``: n(class) and n(class, attribute) for every categorical attribute.
    ``moments``: n, Σx, Σx² in each class, for every numeric attribute.
    ``totals``: n and Σx in each class, for every column of a block.
    ``scatter``: n, Σz, Σzzᵀ and their third and fourth powers in each class, over the rows where all these attributes
    are present.
    ``pairs``: n(class, x_i, x_j) for all pairs of categorical attributes, and the counts of ``tables``.
    ``triples``: n(class, x_i, x_j, x) for all pairs of these categorical attributes and every categorical one.
    ``families``: n(class, x, parents); each of the attributes is a tuple (child, parent 1, …, parent k).
    ``cell_moments``: n, Σx, Σx² in each class and state of each categorical attribute, for every numeric one.
    ``regressions``: n, Σz and Σzzᵀ of z = (numeric parents, x) in each class and configuration of the categorical
    parents; each of the attributes is a tuple (numeric child, parent 1, …, parent k).
    ``grids``: n in each class and cell of a dyadic grid, for each of these numeric attributes.
    ``trees``: n in each class and node at which rows stop, for every tree; each of the attributes is a forest's splits.
    ``interactions``: n(class, x_i, x_j, x_k) of chosen sets of one to three attributes, numbers cut into intervals; the
    attributes are (axes, tables).
    ``coded_scatter``: the sums of ``scatter`` for coded columns of attributes; its attributes are (filled, columns).
    ``row_sample``: distinct rows with their weights, up to a maximum number.
    """

    kind: str
    attributes: tuple[Name, ...]

    def terms(self, schema: Schema) -> Iterator[Term]:
        """Return the terms of this pattern. Counting these terms counts all of it."""
        return PARTS[self.kind].terms(schema, self.attributes)


@dataclass(frozen=True)
class Plan:
    """A set of terms to count, as patterns.

    Examples
    --------
    >>> from bayeskit.statistics import Schema, Variable
    >>> schema = Schema((Variable("a", "categorical", (0, 1)),), Variable("y", "categorical", ("no", "yes")))
    >>> list(Plan.naive(schema).terms(schema))
    [Term(cells=('y',), values=(), order=0), Term(cells=('y', 'a'), values=(), order=0)]
    """

    patterns: tuple[Pattern, ...]

    @classmethod
    def naive(cls, schema: Schema, scatter: tuple[Name, ...] = (), grids: tuple[Name, ...] = ()) -> Plan:
        """Return the plan of naive Bayes: every attribute with the class."""
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
        """Return the plan of naive Bayes plus all pairs of categorical attributes with the class."""
        names = tuple(v.name for v in schema.categorical)
        return cls((*cls.naive(schema).patterns, Pattern("pairs", names)))

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        """Return all terms of the plan, each once."""
        return tuple(dict.fromkeys(term for pattern in self.patterns for term in pattern.terms(schema)))
