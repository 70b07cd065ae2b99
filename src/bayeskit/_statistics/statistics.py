"""Sufficient statistics that can be added, subtracted, scaled and moved to a larger schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bayeskit._display_table import DisplayTable, as_html
from bayeskit._markup import framed
from bayeskit._schema import Name, Schema, Variable
from bayeskit._statistics.cell_moments import CellMoments
from bayeskit._statistics.families import Families
from bayeskit._statistics.grids import Grids
from bayeskit._statistics.interactions import Interactions
from bayeskit._statistics.moments import Moments
from bayeskit._statistics.part import CellTable, Embedding, Part, cannot_widen, joined, never_counted
from bayeskit._statistics.regression_families import RegressionFamilies
from bayeskit._statistics.row_sample import RowSample
from bayeskit._statistics.scatter import CodedScatter, Scatter
from bayeskit._statistics.tables import Pairs, Tables
from bayeskit._statistics.term import PARTS, Plan, Term, register
from bayeskit._statistics.totals import Totals
from bayeskit._statistics.tree_counts import TreeCounts
from bayeskit._statistics.triples import Triples
from bayeskit._visible import shorter
from bayeskit.errors import CannotCount, Incompatible
from bayeskit.typing import Floats

for _part in (
    *(Tables, Moments, Totals, Scatter, Grids, Pairs, Triples, Families, CellMoments, RegressionFamilies),
    *(TreeCounts, Interactions, RowSample, CodedScatter),
):
    register(_part)


@dataclass(frozen=True)
class Statistics:
    """Sufficient statistics: sums over rows, with the schema that names their axes.

    Statistics are values. ``a + b`` are the statistics of the rows of both, ``a - b`` those of a without the
    rows of b, and ``a * w`` those of a with every weight multiplied by w. Schemas grow as needed.

    ``gone`` holds the small parts of all rows that were removed, as long as their classes have weight. They
    bound the rounding error that the removal may have left, so that the next subtraction can recognise zeros.
    It is empty while every weight is an integer or a short binary fraction.
    """

    schema: Schema
    plan: Plan
    parts: Mapping[str, Part]
    gone: Mapping[str, Part] = field(default_factory=dict)
    tables: Tables = field(init=False, repr=False, compare=False)
    moments: Moments = field(init=False, repr=False, compare=False)
    class_counts: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Attributes for the two parts that most estimates need, if they were counted, and n(c).
        for name in ("tables", "moments"):
            if name in self.parts:
                object.__setattr__(self, name, self.parts[name])
        if "tables" in self.parts:
            object.__setattr__(self, "class_counts", self.tables.margin)

    @classmethod
    def zero(cls, schema: Schema, plan: Plan) -> Statistics:
        """Return the statistics of no rows."""
        return cls(schema, plan, {p.kind: PARTS[p.kind].zero(schema, p.attributes) for p in plan.patterns})

    def cell_tables(self) -> list[CellTable]:
        """Return the cells of every term: the same statistics as a long table.

        Each term is listed once. If it is part of two patterns, the first one is used.
        """
        found: dict[Term, CellTable] = {}
        for pattern in self.plan.patterns:
            for table in self.parts[pattern.kind].cell_tables(self.schema, pattern.attributes):
                found.setdefault(table.term, table)
        return list(found.values())

    @classmethod
    def from_cell_tables(cls, schema: Schema, plan: Plan, tables: Iterable[CellTable]) -> Statistics:
        """Build statistics from the cells of their terms, which may have been counted anywhere.

        The inverse of :meth:`cell_tables`. Every term of the plan must be present, and all plain counts must
        have the same total. A term may come in several pieces.

        Examples
        --------
        >>> from bayeskit.statistics import Variable
        >>> from bayeskit.statistics import CellTable, Term
        >>> schema = Schema((Variable("a", "categorical", (0, 1)),), Variable("y", "categorical", ("no", "yes")))
        >>> classes = CellTable(Term(("y",)), np.array([[0], [1]]), np.array([2.0, 3.0]))
        >>> cells = CellTable(Term(("y", "a")), np.array([[0, 0], [1, 1], [1, 2]]), np.array([2.0, 1.0, 2.0]))
        >>> Statistics.from_cell_tables(schema, Plan.naive(schema), [classes, cells]).table("a")
        array([[2., 0.],
               [0., 1.]])
        """
        found = joined(tables, schema, plan.terms(schema))
        parts = {p.kind: PARTS[p.kind].from_cell_tables(schema, p.attributes, found) for p in plan.patterns}
        return cls(schema, plan, parts)

    @property
    def total(self) -> float:
        """The total weight of the rows."""
        return float(self.tables.margin.sum())

    def table(self, name: Name) -> Floats:
        """n(v, c) for the states v of one attribute, without the cell for missing values: shape (r, K)."""
        j = self.schema.categorical_index[name]
        start, stop = int(self.schema.offsets[j]), int(self.schema.offsets[j + 1])
        return self.tables.counts[start : stop - 1]

    def embed(self, schema: Schema) -> Statistics:
        """Return the same statistics under a schema with more states, or without states of weight zero."""
        if schema is self.schema:
            return self
        embedding = Embedding(self.schema, schema)
        parts, gone = (
            {kind: part.embed(embedding) for kind, part in some.items()} for some in (self.parts, self.gone)
        )
        return replace(self, schema=schema, parts=parts, gone=gone)

    def widened(self, schema: Schema, plan: Plan, names: tuple[Name, ...]) -> Statistics:
        """Return the statistics of the same rows under a schema with more columns, missing in all of them.

        A part that cannot be extended in this way raises a :class:`~bayeskit.errors.ColumnError`.
        """
        gone = {kind: part.widened(self.schema, schema, names) for kind, part in self.gone.items()}
        if any(PARTS[pattern.kind].widened is Part.widened for pattern in plan.patterns):
            return replace(self._widened_by_cells(schema, plan, names), gone=gone)
        parts = {}
        for pattern in plan.patterns:
            part = self.parts.get(pattern.kind)
            if part is None and pattern.kind == "moments":  # of numbers that were missing in all rows
                part = PARTS[pattern.kind].zero(self.schema, ())
            if part is None:
                raise cannot_widen(pattern.kind, names)
            parts[pattern.kind] = part.widened(self.schema, schema, names)
        return Statistics(schema, plan, parts, gone)

    def _widened_by_cells(self, schema: Schema, plan: Plan, names: tuple[Name, ...]) -> Statistics:
        """Do so for parts that count attributes together: n(c, x, new is missing) is n(c, x)."""
        try:
            known = {table.term: table for table in self.cell_tables()}
        except CannotCount:
            raise cannot_widen(plan.patterns[-1].kind, names) from None
        found = []
        for pattern in plan.patterns:
            for term in pattern.terms(schema):
                before = Term(
                    tuple(name for name in term.cells if name not in names), term.values, term.order
                )
                if not set(term.values).isdisjoint(names):  # no row had such a number
                    found.append(CellTable.empty(term))
                elif before in known:
                    found.append(known[before].widened(term, schema))
                else:
                    raise cannot_widen(pattern.kind, names)
        return Statistics.from_cell_tables(schema, plan, {table.term: table for table in found}.values())

    def _aligned(self, other: Statistics) -> tuple[Statistics, Statistics]:
        if self.plan is not other.plan and self.plan != other.plan:
            raise Incompatible("The two statistics were counted by different plans and cannot be added.")
        if self.schema is other.schema:
            return self, other
        schema = self.schema.union(other.schema)
        return self.embed(schema), other.embed(schema)

    def merge(self, other: Statistics) -> Statistics:
        """Return the statistics of the rows of both."""
        a, b = self._aligned(other)
        parts, gone = _merged(a.parts, b.parts), _merged(a.gone, b.gone)
        for kind, part in parts.items():
            lost = gone.get(part.cleared_by)
            if lost is not None and lost.weight.any():
                parts[kind] = part.without_rounding(lost)
        return replace(a, parts=parts, gone=gone)

    def subtract(self, other: Statistics) -> Statistics:
        """Return the statistics without the rows of another. Removing more than was counted is an error."""
        a, b = self._aligned(other)
        before = _merged(a.gone, b.gone)
        taken = {
            kind: part for kind, part in b.parts.items() if part.remembered == "always" or kind in before
        }
        gone = _merged(before, taken)
        left = replace(a, parts={kind: part.subtract(b.parts[kind], gone) for kind, part in a.parts.items()})
        deficit = max(part.deficit() for part in left.parts.values())
        if deficit > 1e-9 * max(1.0, a.total):
            raise never_counted(-deficit)
        if not before and a.exact and b.exact:
            return left
        # A class without weight has no rounding errors.
        alive = (left.class_counts > 0.0).astype(np.float64)
        return replace(
            left, gone={kind: part.scale(alive) for kind, part in gone.items()} if alive.any() else {}
        )

    def scale(self, factor: float | Floats) -> Statistics:
        """Return the statistics with every weight multiplied by a factor, or by one factor for each class."""
        gone = self.gone
        if (np.abs(np.frexp(factor)[0]) != 0.5).any():  # multiplying by a power of two is exact
            remembered = tuple(p for p in self.plan.patterns if PARTS[p.kind].remembered)
            gone = _merged(Statistics.zero(self.schema, Plan(remembered)).parts, gone)
        parts, gone = (
            {kind: part.scale(factor) for kind, part in some.items()} for some in (self.parts, gone)
        )
        return replace(self, parts=parts, gone=gone)

    @property
    def exact(self) -> bool:
        """Whether sums of the weights are free of rounding."""
        return all(part.exact for part in self.parts.values())

    def __add__(self, other: Statistics) -> Statistics:
        return self.merge(other)

    def __sub__(self, other: Statistics) -> Statistics:
        return self.subtract(other)

    def __mul__(self, factor: float) -> Statistics:
        return self.scale(factor)

    __rmul__ = __mul__

    def _repr_html_(self) -> str:
        return framed(statistics_html(self))

    def pruned(self) -> Statistics:
        """Drop undeclared states and classes that have no weight."""
        schema, tables = self.schema, self.tables
        alive = np.asarray(tables.counts.any(axis=1))
        alive[schema.offsets[1:].astype(np.intp) - 1] = True  # spare cells are not states
        classes = np.asarray(tables.margin > 0)
        if alive.all() and classes.all():
            return self
        attributes, j = [], 0
        for variable in schema.attributes:
            if variable.kind == "categorical":
                start = int(schema.offsets[j])
                variable = variable.without_unused(alive[start : start + variable.size])
                j += 1
            attributes.append(variable)
        return self.embed(schema.with_variables(attributes, schema.target.without_unused(classes)))


def _merged(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    """Add parts of the same kind; a part that the other side lacks is unchanged."""
    return {**a, **b, **{kind: a[kind].merge(b[kind]) for kind in a if kind in b}}


def memory_of(plan: Plan, schema: Schema) -> int:
    """Return the bytes that the large parts of a plan will need for a schema."""
    return sum(PARTS[pattern.kind].memory(schema, pattern.attributes) for pattern in plan.patterns)


# The maximum number of attributes to show. For the others, only their number is shown.
MOST_ATTRIBUTES = 20
MOST_STATES = 6
MOST_CLASSES = 8

Cells = tuple[str, str, list[str]]


def statistics_html(statistics: Statistics) -> str:
    """Return a table with a column for each class: its rows, the counts of states, mean ± deviation of numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from bayeskit.statistics import Schema
    >>> from bayeskit.statistics import Plan, Statistics
    >>> schema = Schema((Variable("sky", "categorical", ("<sun>",)),), Variable("y", "categorical", ("go", "stay")))
    >>> html = statistics_html(Statistics.zero(schema, Plan.naive(schema)))
    >>> html[html.index("<tbody>") :]
    '<tbody><tr><th>(rows)</th><th></th><td>0</td><td>0</td></tr><tr><th>sky</th><th>&lt;sun&gt;</th><td>0</td><td>0</td></tr></tbody></table>'
    """
    schema = statistics.schema
    classes = schema.target.states[:MOST_CLASSES]
    lines: list[Cells] = [("(rows)", "", _numbers(statistics.class_counts[: len(classes)].tolist()))]
    for variable in schema.attributes[:MOST_ATTRIBUTES]:
        for i, (state, cells) in enumerate(_lines(statistics, variable, len(classes))):
            lines.append((shorter(variable.name) if i == 0 else "", state, cells))
    notes = []
    if (more := len(schema.attributes) - MOST_ATTRIBUTES) > 0:
        notes.append(f"{more:,} more attribute{'' if more == 1 else 's'}")
    if (more := schema.n_classes - len(classes)) > 0:
        notes.append(f"{more:,} more class{'' if more == 1 else 'es'}")
    header = tuple(shorter(text) for text in (schema.target.name, "", *classes))
    rows = tuple((name, state, *cells) for name, state, cells in lines)
    kinds = ", ".join(p.kind.replace("_", " ") for p in statistics.plan.patterns)
    title = f"{statistics.total:,.10g} rows: {kinds}"
    below = (f"… {', '.join(notes)} not shown.",) if notes else ()
    return as_html(DisplayTable(title, header, rows, notes=below, names=2), whole=True)


def _lines(statistics: Statistics, variable: Variable, k: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the lines of one attribute: a heading, and a cell for each class."""
    schema, parts = statistics.schema, statistics.parts
    if variable.kind == "categorical":
        counts = statistics.table(variable.name)
        for code, state in enumerate(variable.states[:MOST_STATES]):
            yield shorter(state), _numbers(counts[code, :k].tolist())
        if variable.size > MOST_STATES:
            rest = counts[MOST_STATES:, :k].sum(axis=0)
            yield f"… {variable.size - MOST_STATES:,} more", _numbers(rest.tolist())
        # The spare cell after the last state.
        j = [v.name for v in schema.categorical].index(variable.name)
        missing = statistics.tables.counts[int(schema.offsets[j + 1]) - 1, :k]
        if missing.any():
            yield "(missing)", _numbers(missing.tolist())
    elif variable.kind == "block":
        sums = statistics.parts["totals"].arrays()["sums"] if "totals" in parts else None
        texts = _numbers(sums[:k].sum(axis=1).tolist()) if sums is not None else [""] * k
        yield f"sum of {variable.width:,} columns", texts
    elif "moments" in parts:
        j = schema.numeric_index[variable.name]
        moments = statistics.moments
        mean, deviation = moments.mean()[0][:k, j].tolist(), moments.deviation()[:k, j].tolist()
        weight = moments.weight[:k, j].tolist()
        yield (
            "mean ± sd",
            [
                f"{m:.4g} ± {s:.3g}".replace("-", "−") if w > 0 else ""
                for m, s, w in zip(mean, deviation, weight, strict=True)
            ],
        )
    else:
        yield "numbers", [""] * k


def _numbers(values: list[float]) -> list[str]:
    return [f"{value:,.6g}" for value in values]
