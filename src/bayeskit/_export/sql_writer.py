"""Scores as SQL: each is K expressions over the columns of a query, or of the queries before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from bayeskit._conditionals.scoring import (
    Average,
    Distance,
    Family,
    IfPresent,
    Log,
    LookUp,
    Marginal,
    Number,
    Product,
    Step,
    Sum,
)
from bayeskit._export.scorer import LOG_ZERO, Kind, Scorer, kind_of
from bayeskit._export.sql_text import Dialect, Sql, made
from bayeskit._schema import Variable
from bayeskit.typing import Floats

# The alias of the table in the first query.
SOURCE = "src"


class Side(NamedTuple):
    """Additional queries that read a stage, and whose result the next stage joins.

    Attributes
    ----------
    queries : list of (name, text, whether several read it)
    reads : names of columns of the stage before
    tables : the text of the join, which includes the stage before
    provides : names of the columns that the join adds
    """

    queries: list[tuple[str, str, bool]]
    reads: frozenset[str]
    tables: str
    provides: tuple[str, ...]


@dataclass(eq=False)
class Stages:
    """Queries q0, q1, …, each over the one before, with the columns that each adds and the queries that it joins."""

    columns: list[list[tuple[str, Sql]]] = field(default_factory=list)
    sides: dict[int, Side] = field(default_factory=dict)
    count: int = 0

    def free(self, stage: int) -> int:
        """Return the first stage, from this one on, that joins nothing yet."""
        while stage in self.sides:
            stage += 1
        return stage

    def add(self, stage: int, side: Side) -> list[Sql]:
        """Make a stage join other queries, and return the columns that this adds."""
        self.sides[stage] = side
        return [Sql(name, stage + 1, frozenset([name])) for name in side.provides]

    def name(self) -> str:
        """Return a unique name."""
        self.count += 1
        return f"v{self.count}"

    def bind(self, sql: Sql, name: str | None = None) -> Sql:
        """Make an expression a column, so that it is computed once."""
        name = self.name() if name is None else name
        while len(self.columns) <= sql.stage:
            self.columns.append([])
        self.columns[sql.stage].append((name, sql))
        return Sql(name, sql.stage + 1, frozenset([name]))


class TableOfLogs(NamedTuple):
    """A table of a script: integer key columns, then doubles."""

    name: str
    keys: tuple[str, ...]
    numbers: tuple[str, ...]
    rows: Sequence[tuple[float, ...]]


class SqlWriter:
    """Writes each kind of score as K expressions."""

    def __init__(self, scorer: Scorer, dialect: Dialect) -> None:
        self.scorer, self.dialect, self.stages = scorer, dialect, Stages()
        self.kinds: list[Kind] = [
            kind_of(v, "SQL") if v.cuts is None else "number" for v in scorer.categorical
        ]
        self.tables: list[TableOfLogs] = []
        self._bound: dict[tuple[str, int], Sql] = {}

    @property
    def row(self) -> Sql:
        """The number of the row, for queries that join."""
        return self._once("row", 0, lambda: Sql("ROW_NUMBER() OVER ()"))

    # -- columns -------------------------------------------------------------------------------

    def _once(self, kind: str, j: int, make: Callable[[], Sql]) -> Sql:
        if (kind, j) not in self._bound:
            self._bound[kind, j] = self.stages.bind(make())
        return self._bound[kind, j]

    def _raw(self, name: object) -> str:
        return f"{SOURCE}.{self.dialect.identifier(str(name))}"

    def value(self, column: int) -> Sql:
        """Return a numeric attribute, or NULL if it is missing."""

        def make() -> Sql:
            cast = self.dialect.as_double(self._raw(self.scorer.numbers[column]))
            return Sql(self.dialect.held(cast))

        return self._once("number", column, make)

    def code(self, j: int) -> Sql:
        """The code of a categorical attribute."""
        size = self.scorer.categorical[j].size
        return self._once("code", j, lambda: self._by_state(j, [Sql(str(v)) for v in range(size + 2)]))

    def _by_state(self, j: int, entries: Sequence[Sql]) -> Sql:
        """Return the entry of an attribute's value: its states, missing, unseen."""
        variable = self.scorer.categorical[j]
        *states, missing, unseen = entries
        if self.scorer.unseen != "smooth":
            unseen = missing
        if variable.cuts is not None:
            return self._by_interval(j, variable.cuts, states, missing)
        raw = self._once("raw", j, lambda: Sql(self._source(variable)))
        labels = [self.dialect.label(state, self.kinds[j]) for state in variable.states]
        known = self.dialect.case(raw, zip(labels, states, strict=True), unseen)
        return known if missing.text == unseen.text else self.dialect.if_null(raw, missing, known)

    def _source(self, variable: Variable) -> str:
        """Return the column of a categorical attribute, in the form in which it is compared with its states."""
        raw = self._raw(variable.name)
        if variable.dense:
            return f"TRUNC({self.dialect.as_double(raw)})"
        # NaN is missing, not unseen. If both are treated alike, they need not be distinguished.
        is_number = kind_of(variable, "SQL") == "number"
        return self.dialect.as_double(raw) if is_number and self.scorer.unseen == "smooth" else raw

    def _by_interval(self, j: int, cuts: tuple[float, ...], states: Sequence[Sql], missing: Sql) -> Sql:
        raw = self._raw(self.scorer.categorical[j].name)
        x = self._once("cut", j, lambda: Sql(self.dialect.as_double(raw)))
        arms = "".join(
            f" WHEN {x.text} <= {self.dialect.number(cut).text} THEN {state.text}"
            for cut, state in zip(cuts, states, strict=False)
        )
        text = f"CASE WHEN {x.text} IS NULL THEN {missing.text}{arms} ELSE {states[-1].text} END"
        return made(text, x, missing, *states)

    # -- scores --------------------------------------------------------------------------------

    def look_up(self, score: LookUp) -> list[Sql]:
        table = np.maximum(score.table, LOG_ZERO)
        return [self._entry(score.columns, table[..., c]) for c in range(table.shape[-1])]

    def _entry(self, columns: tuple[int, ...], table: Floats) -> Sql:
        if not columns:
            return self.dialect.number(float(table))
        if len(columns) == 1:
            return self._by_state(columns[0], [self.dialect.number(float(x)) for x in table])
        return self._nested(columns, table)

    def _nested(self, columns: tuple[int, ...], table: Floats) -> Sql:
        if (table == table.flat[0]).all():
            return self.dialect.number(float(table.flat[0]))
        entries = [self._nested(columns[1:], part) for part in table]
        cases = [(str(code), entry) for code, entry in enumerate(entries)]
        return self.dialect.case(self.code(columns[0]), cases[:-2] + cases[-1:], entries[-2])

    def number(self, score: Number) -> list[Sql]:
        return [self.value(score.column)] * self.scorer.n_classes

    def sum(self, score: Sum) -> list[Sql]:
        return self.totals([term.write(self) for term in score.flat()])

    def totals(self, terms: Sequence[Sequence[Sql]]) -> list[Sql]:
        """Sum terms class by class."""
        return [self.dialect.total(parts) for parts in zip(*terms, strict=True)]

    def product(self, score: Product) -> list[Sql]:
        factors = [factor.write(self) for factor in score.factors]
        return [self.dialect.product(parts) for parts in zip(*factors, strict=True)]

    def log(self, score: Log) -> list[Sql]:
        return [self.dialect.function("ln", of) for of in score.of.write(self)]

    def distance(self, score: Distance) -> list[Sql]:
        x, found = self.value(score.column), []
        for mean, low, scale in zip(
            *(part.write(self) for part in (score.mean, score.low, score.scale)), strict=True
        ):
            away = made(f"({x.text} - {mean.text})", x, mean)
            away = away if low.value == 0.0 else made(f"({away.text} - {low.text})", away, low)
            z = self.dialect.product([away, scale])
            plain = mean.value is not None and low.value is not None and scale.value is not None
            # It is used twice because it is squared, so bind it to a column.
            found.append(z if plain else self.stages.bind(z))
        return found

    def step(self, score: Step) -> list[Sql]:
        x, at = self.value(score.column), self.dialect.number(score.at).text
        found = []
        for below, above in zip(
            *(np.maximum(a, LOG_ZERO).tolist() for a in (score.below, score.above)), strict=True
        ):
            arms = f"THEN {self.dialect.number(above).text} ELSE {self.dialect.number(below).text}"
            same = above == below
            found.append(
                self.dialect.number(above) if same else made(f"CASE WHEN {x.text} > {at} {arms} END", x)
            )
        return found

    def if_present(self, score: IfPresent) -> list[Sql]:
        return self.cases(score.column, score.there.write(self), score.missing.write(self))

    def cases(self, column: int, there: Sequence[Sql], missing: Sequence[Sql]) -> list[Sql]:
        x = self.value(column)
        pairs = zip(there, missing, strict=True)
        return [self.dialect.if_null(x, absent, present) for present, absent in pairs]

    def marginal(self, score: Marginal) -> list[Sql]:
        if not score.is_forest:
            from bayeskit._export.sql_script import add_expansion

            return add_expansion(self, score)
        direct = [self.look_up(score.direct(family)) for family in score.families]
        return self.totals([*direct, *self.messages(score)])

    def average(self, score: Average) -> list[Sql]:
        from bayeskit._export.sql_script import add_average

        return add_average(self, score)

    # -- sums over a forest --------------------------------------------------------------------

    def messages(self, score: Marginal) -> list[list[Sql]]:
        """Return the terms of missing attributes with children, passing messages from children to parents.

        For a missing attribute j, column e holds exp(work − best) for each of its values, where work is the logarithm
        of the messages from its children. A missing leaf has no message.
        """
        k, found = self.scorer.n_classes, []
        work: dict[int, list[list[Sql]]] = {}
        known: dict[int, tuple[list[Sql], list[list[Sql]]]] = {}
        for family in score.families:
            j = family.child
            inner = j in score.values and j in score.children
            if inner:
                known[j] = self._weights(score, j, work[j])
                found.append(self._to_present(score, family, known[j]))
            if family.parents and family.parents[0] in score.values:
                parent = family.parents[0]
                said = self._to_missing(score, family, known.get(j))
                held = work.setdefault(parent, [[self.dialect.number(0.0)] * k for _ in said])
                work[parent] = [self.totals(pair) for pair in zip(held, said, strict=True)]
        return found

    def _hole(self, score: Marginal, j: int) -> str:
        return f"{self.code(j).text} = {score.sizes[j]}"

    def _weights(self, score: Marginal, j: int, work: list[list[Sql]]) -> tuple[list[Sql], list[list[Sql]]]:
        """Return the maximum of work in each class, and exp(work − maximum) of each value and class."""
        guard, code = self._hole(score, j), self.code(j)
        bound = [[self.stages.bind(_only_if(guard, code, x)) for x in row] for row in work]
        best = [self.stages.bind(self.dialect.greatest(column)) for column in zip(*bound, strict=True)]
        return best, [
            [
                self.stages.bind(_only_if(guard, code, self.dialect.exp(self.dialect.difference(x, top))))
                for x, top in zip(row, best, strict=True)
            ]
            for row in bound
        ]

    def _mixed(self, table: Floats, weights: tuple[list[Sql], list[list[Sql]]], c: int) -> Sql:
        """Return best + log Σ_w P(w)·e_w of one class; ``table`` has log P of the values."""
        best, each = weights
        shares = np.exp(table)
        terms = [
            self.dialect.product([self.dialect.number(float(p)), e[c]])
            for p, e in zip(shares, each, strict=True)
            if p > 0.0
        ]
        if not terms:
            return self.dialect.number(LOG_ZERO)
        total = self.dialect.total(terms)
        log = self.dialect.total([best[c], self.dialect.function("ln", total)])
        if (shares > 0.0).all():
            return log
        zero = self.dialect.number(LOG_ZERO).text
        return made(f"CASE WHEN {total.text} > 0 THEN {log.text} ELSE {zero} END", log)

    def _to_present(
        self, score: Marginal, family: Family, weights: tuple[list[Sql], list[list[Sql]]]
    ) -> list[Sql]:
        """Return the message of a missing attribute without a parent, or with a present one."""
        j, nothing = family.child, self.dialect.number(0.0)
        values, guard, code = list(score.values[j]), self._hole(score, j), self.code(j)
        found = []
        for c in range(self.scorer.n_classes):
            if not family.parents:
                said = self._mixed(family.table[values, c], weights, c)
            else:
                parent = family.parents[0]
                size = score.sizes[parent]
                entries = [self._mixed(row[values, c], weights, c) for row in family.table]
                if parent in score.values:
                    entries[size] = nothing
                cases = [(str(code), entry) for code, entry in enumerate(entries)]
                said = self.dialect.case(self.code(parent), cases[:-2] + cases[-1:], entries[size])
            found.append(made(f"CASE WHEN {guard} THEN {said.text} ELSE {nothing.text} END", code, said))
        return found

    def _to_missing(
        self, score: Marginal, family: Family, weights: tuple[list[Sql], list[list[Sql]]] | None
    ) -> list[list[Sql]]:
        """Return the message of an attribute to each value of its missing parent, class by class."""
        j, found = family.child, []
        for u in score.values[family.parents[0]]:
            row = self.look_up(LookUp((j,), family.table[u]))
            if weights is not None:
                guard, code = self._hole(score, j), self.code(j)
                mixed = [
                    self._mixed(family.table[u][list(score.values[j]), c], weights, c)
                    for c in range(len(row))
                ]
                row = [
                    made(f"CASE WHEN {guard} THEN {m.text} ELSE {x.text} END", code, m, x)
                    for m, x in zip(mixed, row, strict=True)
                ]
            found.append(row)
        return found


def _only_if(guard: str, code: Sql, of: Sql) -> Sql:
    """Compute an expression only if needed, because few rows have missing values."""
    return made(f"CASE WHEN {guard} THEN {of.text} END", code, of)


class OddsWriter:
    """Writes differences from the first class, K − 1 expressions. Tables are subtracted in advance."""

    def __init__(self, plain: SqlWriter) -> None:
        self.plain = plain

    def _against(self, entries: Sequence[Sql]) -> list[Sql]:
        return [self.plain.dialect.difference(entry, entries[0]) for entry in entries[1:]]

    def look_up(self, score: LookUp) -> list[Sql]:
        return self.plain.look_up(LookUp(score.columns, score.table[..., 1:] - score.table[..., :1]))

    def number(self, score: Number) -> list[Sql]:
        return [self.plain.dialect.number(0.0)] * (self.plain.scorer.n_classes - 1)

    def sum(self, score: Sum) -> list[Sql]:
        return self.plain.totals([term.write(self) for term in score.flat()])

    def product(self, score: Product) -> list[Sql]:
        return self._against(self.plain.product(score))

    def log(self, score: Log) -> list[Sql]:
        return self._against(self.plain.log(score))

    def distance(self, score: Distance) -> list[Sql]:
        return self._against(self.plain.distance(score))

    def step(self, score: Step) -> list[Sql]:
        below, above = (side[1:] - side[0] for side in (score.below, score.above))
        return self.plain.step(Step(score.column, score.at, below, above))

    def if_present(self, score: IfPresent) -> list[Sql]:
        return self.plain.cases(score.column, score.there.write(self), score.missing.write(self))

    def marginal(self, score: Marginal) -> list[Sql]:
        if not score.is_forest:
            return self._against(self.plain.marginal(score))
        direct = [self.look_up(score.direct(family)) for family in score.families]
        return self.plain.totals([*direct, *map(self._against, self.plain.messages(score))])

    def average(self, score: Average) -> list[Sql]:
        return self._against(self.plain.average(score))
