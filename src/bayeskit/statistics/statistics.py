"""The algebra: statistics that can be added, subtracted, scaled and moved to a larger schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayeskit.errors import Incompatible
from bayeskit.schema import Name, Schema
from bayeskit.statistics.cell_moments import CellMoments
from bayeskit.statistics.families import Families
from bayeskit.statistics.grids import Grids
from bayeskit.statistics.moments import Moments
from bayeskit.statistics.pairs import Pairs
from bayeskit.statistics.part import Embedding, Floats, Part, never_counted
from bayeskit.statistics.scatter import Scatter
from bayeskit.statistics.tables import Tables
from bayeskit.statistics.term import PatternKind, Plan
from bayeskit.statistics.totals import Totals
from bayeskit.statistics.triples import Triples

PARTS: dict[PatternKind, type[Any]] = {
    "tables": Tables,
    "moments": Moments,
    "totals": Totals,
    "scatter": Scatter,
    "grids": Grids,
    "pairs": Pairs,
    "triples": Triples,
    "families": Families,
    "cell_moments": CellMoments,
}


@dataclass(frozen=True)
class Statistics:
    """Sums over rows, with the schema that names their axes.

    Statistics are values: ``a + b`` is the statistics of the rows of both, ``a - b`` those of a without
    the rows of b, ``a * w`` those of a with every weight multiplied. Schemas grow as needed.
    """

    schema: Schema
    plan: Plan
    parts: Mapping[PatternKind, Part]

    @classmethod
    def zero(cls, schema: Schema, plan: Plan) -> Statistics:
        return cls(schema, plan, {p.kind: PARTS[p.kind].zero(schema, p.attributes) for p in plan.patterns})

    @property
    def tables(self) -> Tables:
        return self.parts["tables"]  # type: ignore[return-value]

    @property
    def moments(self) -> Moments:
        return self.parts["moments"]  # type: ignore[return-value]

    @property
    def class_counts(self) -> Floats:
        """n(c): the weight of each class."""
        return self.tables.margin

    @property
    def total(self) -> float:
        return float(self.tables.margin.sum())

    def table(self, name: Name) -> Floats:
        """n(v, c) for the states v of one attribute, without its spare cell: shape (r, K)."""
        j = [v.name for v in self.schema.categorical].index(name)
        start, stop = int(self.schema.offsets[j]), int(self.schema.offsets[j + 1])
        return self.tables.counts[start : stop - 1]

    def embed(self, schema: Schema) -> Statistics:
        """Return the same statistics under a schema with more (or fewer, weightless) states."""
        if schema is self.schema:
            return self
        embedding = Embedding(self.schema, schema)
        parts = {kind: part.embed(embedding) for kind, part in self.parts.items()}
        return replace(self, schema=schema, parts=parts)

    def _aligned(self, other: Statistics) -> tuple[Statistics, Statistics]:
        if self.plan is not other.plan and self.plan != other.plan:
            raise Incompatible("The two statistics were counted by different plans and cannot be added.")
        if self.schema is other.schema:
            return self, other
        schema = self.schema.union(other.schema)
        return self.embed(schema), other.embed(schema)

    def merge(self, other: Statistics) -> Statistics:
        a, b = self._aligned(other)
        return replace(a, parts={kind: part.merge(b.parts[kind]) for kind, part in a.parts.items()})

    def subtract(self, other: Statistics) -> Statistics:
        """Return the statistics without the rows of another; more than was counted is refused."""
        a, b = self._aligned(other)
        left = replace(a, parts={kind: part.subtract(b.parts[kind]) for kind, part in a.parts.items()})
        deficit = max(part.deficit() for part in left.parts.values())
        if deficit > 1e-9 * max(1.0, a.total):
            raise never_counted(-deficit)
        return left

    def scale(self, factor: float | Floats) -> Statistics:
        return replace(self, parts={kind: part.scale(factor) for kind, part in self.parts.items()})

    def __add__(self, other: Statistics) -> Statistics:
        return self.merge(other)

    def __sub__(self, other: Statistics) -> Statistics:
        return self.subtract(other)

    def __mul__(self, factor: float) -> Statistics:
        return self.scale(factor)

    __rmul__ = __mul__

    def _repr_html_(self) -> str:
        from bayeskit.statistics.shown import statistics_html

        return statistics_html(self)

    def pruned(self) -> Statistics:
        """Let go of undeclared states and classes that have no weight (left or never had)."""
        schema, tables = self.schema, self.tables
        alive = np.asarray(tables.counts.any(axis=1))
        alive[schema.offsets[1:].astype(np.intp) - 1] = True  # spare cells are no states
        classes = np.asarray(tables.margin > 0)
        if alive.all() and classes.all():
            return self
        attributes, j = [], 0
        for variable in schema.attributes:
            if variable.kind == "categorical":
                start = int(schema.offsets[j])
                variable = variable.kept(alive[start : start + variable.size])
                j += 1
            attributes.append(variable)
        return self.embed(schema.with_variables(attributes, schema.target.kept(classes)))


def memory_of(plan: Plan, schema: Schema) -> int:
    """Return the bytes that the large parts of a plan take for a schema, before any is taken."""
    bytes_ = 0
    for pattern in plan.patterns:
        if pattern.kind == "pairs":
            bytes_ += Pairs.memory(schema)
        elif pattern.kind == "triples":
            bytes_ += Triples.memory(schema, pattern.attributes)
        elif pattern.kind == "cell_moments":
            bytes_ += CellMoments.memory(schema)
    return bytes_
