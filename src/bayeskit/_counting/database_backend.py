"""Counts a table of a live database: everything a prediction needs in one statement, and so in one snapshot."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit._counting.backend_protocol import Backend
from bayeskit._data.database_url import DatabaseColumn, DatabaseColumns, DatabaseTable, Dialect, quoted
from bayeskit._data.reading import Reading
from bayeskit._data.source import Source, is_live, place_of
from bayeskit._schema import Name, Schema, Variable
from bayeskit._statistics.moments import exponent_for
from bayeskit._statistics.part import CellTable
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Pattern, Plan, Term
from bayeskit.errors import CannotCount, ColumnError, DataError, DataTypeError, WeightError

# SQLite joins at most 500 selects to one; longer lists are joined in two steps.
_MOST_JOINED = 200
# The numbers of the selects that check rows instead of counting terms.
_ROWS, _TEXTS = -1, -2
_LABELS = Variable("class", "categorical")
PlanOf = Callable[[Schema], Plan]


class Database(Backend):
    """Counts tables of DuckDB, SQLite and PostgreSQL that are named by a URL."""

    takes = staticmethod(is_live)

    def skeleton(self, source: Source, reading: Reading, target: Variable) -> Schema:
        """Return the columns and their kinds, without states: no row is read."""
        return _Table.of(source).schema_of(reading, target)

    def schema(self, source: Source, reading: Reading, target: Variable) -> Schema:
        def tables(found: Schema) -> Plan:
            return Plan((Pattern("tables", tuple(v.name for v in found.categorical)),))

        return self.found_and_counted(source, reading, target, None, tables).schema

    def count(self, source: Source, schema: Schema, plan: Plan) -> Statistics:
        rows = _Table.of(source)
        return rows.statistics(schema, plan, rows.cells(schema, plan))

    def found_and_counted(
        self,
        source: Source,
        reading: Reading,
        target: Variable,
        names: Iterable[Name] | None,
        plan_of: PlanOf,
    ) -> Statistics:
        """Find the states of some attributes (None: all) and count them, in one statement."""
        rows = _Table.of(source)
        schema = rows.schema_of(reading, target)
        if names is not None:
            for name in names:
                rows.column(name)  # one that was dropped since the last look must not go unnoticed
            schema = schema.restricted(names)
        plan = plan_of(schema)
        cells = rows.cells(schema, plan)
        grown = rows.grown(schema, cells)
        return rows.statistics(grown, plan_of(grown), cells)


# The labels of a cell (the class first), its weight, then pivot, both sums about it, and the largest number.
_Cell = tuple[tuple[Any, ...], float, tuple[Any, ...]]
_Cells = dict[Term, list[_Cell]]


@dataclass(frozen=True)
class _Table:
    """A table, with its class and weights separated from the attributes."""

    table: DatabaseTable
    attributes: DatabaseColumns
    target: DatabaseColumn
    weights: DatabaseColumn | None

    @classmethod
    def of(cls, source: Source) -> _Table:
        if source.y is not None or source.target is None:
            raise DataTypeError(
                "The class of a table in a database is one of its columns: name it with target=."
            )
        if source.weights is not None and not isinstance(source.weights, str):
            raise DataTypeError(
                "The row weights of a table in a database are one of its columns, not a {kind}. Name it: "
                'sample_weight="...".',
                kind=type(source.weights).__name__,
            )
        found = source.data.columns()
        names = found.names
        target = found.columns[place_of(names, source.target, "target")]
        weights = (
            None
            if source.weights is None
            else found.columns[place_of(names, source.weights, "sample_weight")]
        )
        taken = [column.name for column in (target, weights) if column is not None]
        return cls(source.data, found.select(source.attributes_of(names, taken)), target, weights)

    @property
    def dialect(self) -> Dialect:
        return Dialect(self.table.engine)

    def schema_of(self, reading: Reading, target: Variable) -> Schema:
        schema = reading.schema_of(self.attributes, target)
        if schema.block is not None:
            raise CannotCount(
                "A database counts categories, and adds up numbers and their squares, each alone. Blocks of counts "
                "need rows: use fit."
            )
        return schema

    def column(self, name: Name) -> DatabaseColumn:
        return self.attributes.columns[place_of(self.attributes.names, name, "The schema")]

    # -- asking --------------------------------------------------------------------------------

    def cells(self, schema: Schema, plan: Plan) -> _Cells:
        """Ask for the cells of all terms, in one statement."""
        terms = plan.terms(schema)
        for term in terms:
            if len(term.values) > 1 or term.order != (2 if term.values else 0):
                raise CannotCount(
                    "A database counts categories, and adds up numbers and their squares, each alone; {names} need "
                    'more than that. Use numeric="gaussian" without a covariance, or fit.',
                    names=", ".join(map(repr, term.values)) or repr(term.cells[-1]),
                )
        found: _Cells = {term: [] for term in terms}
        width = max((len(term.cells) for term in terms), default=1)
        numeric = [v.name for v in schema.numeric]
        checks: dict[int, tuple[Any, ...]] = {}
        for number, *rest in self.table.run(self._statement(schema, terms, width)):
            if number < 0:
                checks[int(number)] = tuple(rest[width:])
            else:
                term = terms[int(number)]
                labels = self._labels(schema, term, rest)
                found[term].append((labels, float(rest[width]), tuple(rest[width + 1 :])))
        self._check(checks, numeric)
        return found

    def _labels(self, schema: Schema, term: Term, values: Sequence[Any]) -> tuple[Any, ...]:
        columns = [(self.target, _LABELS), *((self.column(name), schema[name]) for name in term.cells[1:])]
        return tuple(
            self.dialect.decoded(value, column, variable)
            for value, (column, variable) in zip(values[: len(columns)], columns, strict=True)
        )

    def _statement(self, schema: Schema, terms: Sequence[Term], width: int) -> str:
        """Write one statement, whose rows are the number of a term, the labels of a cell, and its sums."""
        d = self.dialect
        place = {v.name: j for j, v in enumerate(schema.attributes)}
        columns = [f"{d.label(self.target, _LABELS)} AS y"]
        for v in schema.attributes:
            column = self.column(v.name)
            is_number = v.kind == "numeric"
            columns.append(
                f"{d.number(column) if is_number else d.label(column, v)} AS {'x' if is_number else 'a'}{place[v.name]}"
            )
        kept = ""
        if self.weights is not None:
            columns.append(f"{d.number(self.weights)} AS w")
            kept = f" WHERE {d.number(self.weights)} > 0"
        base = f"SELECT {', '.join(columns)} FROM {self.table.place} AS t{kept}"
        selects = [self._rows_select(width)]
        if d.engine == "sqlite":  # where any cell may hold a text, which would be added as 0
            selects += [
                self._texts_select(_TEXTS - j, self.column(v.name), width)
                for j, v in enumerate(schema.numeric)
            ]
        selects += [self._select(k, term, place, width) for k, term in enumerate(terms)]
        parts = [
            " UNION ALL ".join(selects[i : i + _MOST_JOINED]) for i in range(0, len(selects), _MOST_JOINED)
        ]
        named = "".join(f", part{i} AS ({part})" for i, part in enumerate(parts))
        union = " UNION ALL ".join(f"SELECT * FROM part{i}" for i in range(len(parts)))
        return f"WITH base AS ({base}){named} {union}"

    def _row(self, number: int, labels: Sequence[str], width: int, sums: Sequence[str]) -> str:
        """One row of the answer; every select has the same columns, of the same types."""
        text = {"duckdb": "CAST(NULL AS VARCHAR)", "sqlite": "NULL", "postgres": "CAST(NULL AS text)"}
        nothing = f"CAST(NULL AS {self.dialect.double})"
        cells = [*labels, *[text[self.dialect.engine]] * (width - len(labels))]
        numbers = [f"CAST({each} AS {self.dialect.double})" for each in sums]
        return ", ".join([str(number), *cells, *numbers, *[nothing] * (5 - len(sums))])

    def _rows_select(self, width: int) -> str:
        sums = ["count(*)", f"count(t.{quoted(self.target.name)})"]
        if self.weights is not None:
            weight = self.dialect.number(self.weights)
            sums += [f"count({weight})", f"min({weight})", f"max({weight})"]
        return f"SELECT {self._row(_ROWS, [], width, sums)} FROM {self.table.place} AS t"

    def _texts_select(self, number: int, column: DatabaseColumn, width: int) -> str:
        texts = f"count(CASE WHEN typeof(t.{quoted(column.name)}) IN ('text', 'blob') THEN 1 END)"
        return f"SELECT {self._row(number, [], width, [texts])} FROM {self.table.place} AS t"

    def _select(self, number: int, term: Term, place: dict[Name, int], width: int) -> str:
        labels = ["y", *(f"a{place[name]}" for name in term.cells[1:])]
        keys = ", ".join(labels)
        n = "count(*)" if self.weights is None else "sum(w)"
        if not term.values:
            return f"SELECT {self._row(number, labels, width, [n])} FROM base GROUP BY {keys}"
        x = f"x{place[term.values[0]]}"
        over = f"OVER (PARTITION BY {keys})"
        mean = f"avg({x}) {over}" if self.weights is None else f"sum(w * {x}) {over} / sum(w) {over}"
        w = "" if self.weights is None else ", w"
        times = "" if self.weights is None else "w * "
        # Sums about the mean of each cell keep the digits that Σx² would lose.
        inner = f"SELECT {keys}{w}, {x} AS x, {mean} AS p FROM base WHERE {x} IS NOT NULL"
        sums = [n, "p", f"sum({times}(x - p))", f"sum({times}(x - p) * (x - p))", "max(abs(x))"]
        return f"SELECT {self._row(number, labels, width, sums)} FROM ({inner}) AS q GROUP BY {keys}, p"

    # -- checking and coding -------------------------------------------------------------------

    def _check(self, checks: dict[int, tuple[Any, ...]], numeric: Sequence[Name]) -> None:
        rows, labelled, weighed, least, largest = checks[_ROWS]
        if not rows:
            shape = (0, len(self.attributes.names))
            raise DataError(
                "Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.", shape=shape
            )
        if labelled < rows:
            raise DataError(
                "The class {name!r} is NULL in {found} rows. Every row to be learned needs its class: name a view "
                "without these rows.",
                name=self.target.name,
                found=int(rows - labelled),
            )
        if self.weights is not None:
            name = self.weights.name
            if weighed < rows or math.isinf(largest):
                raise WeightError(
                    "The weight {name!r} is missing or not finite in {found} rows. Use 0 to leave a row out.",
                    name=name,
                    found=int(rows - weighed) or 1,
                )
            if least < 0:
                raise WeightError("The weight {name!r} is negative: {least:g}.", name=name, least=least)
            if largest == 0:
                raise WeightError("All row weights are zero, so there is nothing to learn from.")
        for j, column in enumerate(numeric):
            texts = checks.get(_TEXTS - j, (0,))[0]
            if texts:
                raise ColumnError(
                    "Column {name!r} should be numeric, but {found} rows hold text in it. Correct them, or declare "
                    "the column as TEXT.",
                    name=column,
                    found=int(texts),
                )

    def grown(self, schema: Schema, cells: _Cells) -> Schema:
        """Return the schema with the states and classes that were found."""
        labels: dict[Name, set[Any]] = {v.name: set() for v in schema.categorical}
        classes: set[Any] = set()
        for term, some in cells.items():
            for values, _, _ in some:
                classes.add(values[0])
                for name, value in zip(term.cells[1:], values[1:], strict=True):
                    if value is not None:
                        labels[name].add(value)
        fraction = next((label for label in classes if isinstance(label, float)), None)
        if fraction is not None:
            raise DataError(
                "Unknown label type: continuous. {name!r} contains {fraction}; a classifier needs class labels.",
                name=self.target.name,
                fraction=fraction,
            )
        attributes = [
            v
            if v.kind == "numeric" or v.cuts is not None
            else v.grown(labels[v.name], () if v.closed else self.column(v.name).declared)
            for v in schema.attributes
        ]
        return schema.with_variables(attributes, schema.target.grown(classes))

    def statistics(self, schema: Schema, plan: Plan, cells: _Cells) -> Statistics:
        Statistics.zero(schema, plan)  # raises an error for too large tables
        return Statistics.from_cell_tables(
            schema, plan, [_cell_table(schema, term, cells[term]) for term in plan.terms(schema)]
        )


def _cell_table(schema: Schema, term: Term, cells: list[_Cell]) -> CellTable:
    variables = [schema.target, *(schema[name] for name in term.cells[1:])]
    codes = np.array(
        [[_code(v, value) for v, value in zip(variables, values, strict=True)] for values, _, _ in cells],
        np.int64,
    ).reshape(-1, len(variables))
    n = np.array([weight for _, weight, _ in cells], np.float64)
    if not term.values:
        return CellTable(term, codes, n)
    sums = np.array([more for _, _, more in cells], np.float64).reshape(-1, 4)
    largest = float(sums[:, 3].max(initial=0.0))
    name = term.values[0]
    if math.isinf(largest):
        raise ColumnError("Column {name!r} holds infinity. Replace it or make it missing (NULL).", name=name)
    if largest and int(exponent_for(np.array([math.log2(largest)]))[0]):
        raise ColumnError(
            "Column {name!r} holds {largest:g}, whose square a database cannot add up. Rescale it, or use fit.",
            name=name,
            largest=largest,
        )
    planes = {"pivot": sums[:, 0], "first": sums[:, 1], "second": sums[:, 2]}
    planes |= {low: np.zeros(len(n)) for low in ("first_low", "second_low", "exponent")}
    return CellTable(term, codes, n, planes)


def _code(variable: Variable, value: Any) -> int:
    """Return the code of a label; missing is the code after the last state."""
    if value is None:
        return variable.size
    return int(value) if variable.cuts is not None else variable.code_of(value)
