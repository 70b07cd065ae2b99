"""Columns whose rows are counted elsewhere, such as in a database: states, scores and tests from counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._counting.backend_protocol import Backend
from bayeskit._counting.count_extensions import measure_tables
from bayeskit._data.reading import Reading
from bayeskit._data.source import Source
from bayeskit._fitting.search.independence_tests import ADJUSTED_ROWS_PER_CELL, RememberedTests, p_values
from bayeskit._fitting.search.node_columns import EVERYTHING, sealed
from bayeskit._messages import Joined
from bayeskit._schema import Name, Schema, Variable
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Pattern, Plan
from bayeskit._structure.search_protocol import (
    Family,
    Question,
    Score,
    Test,
    as_independence_test,
    default_test,
    members,
)
from bayeskit.errors import CannotCount, DataError, DataTypeError, Incompatible, NeedsRows, SettingError
from bayeskit.typing import Floats, RowSource, WeightsLike

Ints = NDArray[np.int64]
Cells = tuple[dict[int, NDArray[np.intp]], Floats]


class CountedTests(RememberedTests):
    """Tests of conditional independence of discrete variables, from counts that are requested when needed.

    The tests and their results are those of
    :class:`~bayeskit._fitting.search.independence_tests.IndependenceTests`. All tables of a question are requested at
    once, each only once.

    Parameters
    ----------
    variables : the columns, with closed states
    count : function from a plan to the statistics of all rows
        It may merge the statistics of parts of the rows.
    name, min_rows : as in that class

    Rows must be complete. A table that contains fewer rows is an error, because tests must use the same rows.
    """

    def __init__(
        self,
        variables: Sequence[Variable],
        count: Callable[[Plan], Statistics],
        name: str = "g2",
        min_rows: float = 5.0,
    ) -> None:
        super().__init__()
        self.schema = Schema(tuple(variables), EVERYTHING)
        self.test = as_independence_test(name, continuous=False)
        self.min_rows = min_rows
        self._count = count
        self._names = tuple(variable.name for variable in variables)
        self._sizes = np.array([variable.size for variable in variables], np.int64)
        self._rows: float | None = None

    def _make(self, tests: list[Test]) -> None:
        if self._rows is None:
            self._rows = self._counted([])[1]
        measured = np.array([[math.nan, self._degrees(test)] for test in tests])
        made = np.flatnonzero(self._rows >= self.min_rows * measured[:, 1])
        if self._rows == 0.0:
            measured[made, 0] = 0.0
        elif len(made):
            sets = sorted({_all(tests[k]) for k in made})
            tables, _ = self._counted(sets)
            for k in made:
                measured[k] = self._measured(tests[k], *tables[_all(tests[k])])
        answers = zip(*measured.T.tolist(), p_values(measured[:, 0], measured[:, 1]).tolist(), strict=True)
        self._known.update(zip(tests, answers, strict=True))

    def _degrees(self, test: Test) -> float:
        a, b, given = test
        # Use floats: the number of configurations of many variables may overflow integers.
        declared = math.prod(float(self._sizes[v]) for v in members(given))
        return float((self._sizes[a] - 1.0) * (self._sizes[b] - 1.0) * declared)

    def _counted(self, sets: list[int]) -> tuple[dict[int, Cells], float]:
        """Return the cells of some sets of variables, and the weight of all rows."""
        families: Any = tuple(tuple(self._names[v] for v in members(some)) for some in sets)
        patterns = (Pattern("tables", self._names), *([Pattern("families", families)] if sets else []))
        statistics = self._count(Plan(patterns))
        found: dict[int, Cells] = {}
        for f, some in enumerate(sets):
            part: Any = statistics.parts["families"]
            keys, counts = part.levels(f)[-1]
            if not math.isclose(float(counts.sum()), statistics.total, rel_tol=1e-9):
                shown = Joined(repr(self._names[v]) for v in members(some))
                raise DataError("One of {shown} has missing cells. Leave such rows out first.", shown=shown)
            # The first member is the last digit of a key. Each digit has an additional code for missing.
            child, *parents = members(some)
            order = (*parents, child)
            digits = np.unravel_index(keys, [int(self._sizes[v]) + 1 for v in order])
            found[some] = dict(zip(order, digits, strict=True)), counts
        return found, statistics.total

    def _measured(
        self, test: Test, digits: dict[int, NDArray[np.intp]], counts: Floats
    ) -> tuple[float, float]:
        """Return the statistic and the degrees of freedom of one test from the cells that occur."""
        a, b, given = test
        r, s = int(self._sizes[a]), int(self._sizes[b])
        z = np.zeros(len(counts), np.int64)
        for v in members(given):
            # Renumber after each variable, so that the numbers stay within their type.
            z = np.unique(z * int(self._sizes[v]) + digits[v], return_inverse=True)[1]
        q = int(z.max()) + 1
        table = np.zeros(q * r * s)
        table[(z * r + digits[a]) * s + digits[b]] = counts
        out = np.empty((1, 2))
        assert self._rows is not None
        declared = math.prod(float(self._sizes[v]) for v in members(given))
        how = self.test.name == "mi-sh", self.test.name.startswith("x2")
        room = np.empty((2, max(r, s)))
        measure_tables(
            table,
            np.zeros(1, np.int64),
            self._sizes,
            np.array([b]),
            q,
            r,
            self._rows,
            declared,
            *how,
            *room,
            out,
        )
        if not self.test.name.endswith("-adf"):
            return float(out[0, 0]), self._degrees(test)
        sparse = self._rows < ADJUSTED_ROWS_PER_CELL * declared * r * s
        return 0.0 if sparse else float(out[0, 0]), float(out[0, 1])


def _all(test: Test) -> int:
    return 1 << test.a | 1 << test.b | test.given


Count = Callable[[Schema, Plan], Statistics]


@dataclass(frozen=True, eq=False)
class CountedColumns:
    """Discrete columns of a search that uses counts and reads no rows.

    Attributes
    ----------
    variables : one for each column; states are closed
    count_terms : function from a schema and a plan to the statistics of all rows
        The schema has the columns as attributes, and a single class for all rows.
    """

    variables: tuple[Variable, ...]
    count_terms: Count
    reading = None  # no file was read here

    @property
    def names(self) -> tuple[Name, ...]:
        return tuple(variable.name for variable in self.variables)

    @property
    def is_discrete(self) -> NDArray[np.bool_]:
        return np.ones(len(self.variables), np.bool_)

    @cached_property
    def schema(self) -> Schema:
        return Schema(self.variables, EVERYTHING)

    def count(self, plan: Plan) -> Statistics:
        """Request counts, and return them with the states in the order of the columns."""
        found = self.count_terms(self.schema, plan)
        if not isinstance(found, Statistics):
            raise DataTypeError(
                "statistics= returned a {kind}. It takes a schema and a plan and must return Statistics, such "
                "as Statistics.from_cell_tables(schema, plan, cells).",
                kind=type(found).__name__,
            )
        if found.plan != plan:
            raise Incompatible(
                "statistics= answered another plan than the one it was given. Count the terms of that plan."
            )
        self.schema.union(found.schema)  # raises an error for other columns and undeclared states
        return found.embed(self.schema)

    def reordered(self, order: NDArray[np.int64]) -> CountedColumns:
        """Return the same columns in another order."""
        return CountedColumns(tuple(self.variables[int(j)] for j in order), self.count_terms)

    @property
    def is_complete(self) -> bool:
        """Whether no cell is missing."""
        statistics = self.count(Plan((Pattern("tables", self.names),)))
        return not _missing_cells(statistics).any()

    def canonical_order(self) -> NDArray[np.int64]:
        """Return an order of the columns that depends only on their counts: by entropy, then by the counts.

        Columns with missing cells are an error, because scores of different rows cannot be compared.
        """
        statistics = self.count(Plan((Pattern("tables", self.names),)))
        missing = _missing_cells(statistics)
        if missing.any():
            j = int(missing.argmax())
            raise DataError(
                "{name!r} has {missing:g} missing cells, and scores of different rows cannot be compared. "
                "Leave such rows out where they are counted.",
                name=self.names[j],
                missing=missing[j],
            )
        keys = []
        for name in self.names:
            counts = statistics.table(name)[:, 0]
            p = np.sort(counts[counts > 0]) / max(statistics.total, 1.0)
            keys.append((round(float(-(p * np.log(p)).sum()), 9), counts.tolist(), repr(name)))
        return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


def _missing_cells(statistics: Statistics) -> Floats:
    """Return the number of missing cells of each column, which are counted after its last state."""
    counts: Floats = statistics.tables.counts[statistics.schema.offsets[1:].astype(np.intp) - 1, 0]
    return counts


class CountedAnswers:
    """Scores and independence tests for a search, from counts taken elsewhere."""

    def __init__(self, columns: CountedColumns, score: Score, test: str | None = None) -> None:
        self._columns = columns
        self._scores = CountedScores(columns.variables, columns.count, score)
        name = default_test(len(columns.variables), 0) if test is None else test
        self._tests = CountedTests(columns.variables, columns.count, name)

    def __call__(self, question: Question) -> list[Any]:
        asks_for_tests = bool(question) and isinstance(question[0], Test)
        found: list[Any] = self._tests(question) if asks_for_tests else self._scores(question)
        return found

    @property
    def n_evaluated(self) -> int:
        """The number of families scored and tests made."""
        return self._scores.n_scored + int(self._tests.n_tested)

    def rescored(self, score: Score) -> CountedAnswers:
        """Return the same with another score."""
        return CountedAnswers(self._columns, score)


def given_counts(
    statistics: Callable[[Schema, Plan], Statistics], states: Mapping[Name, Any] | None
) -> CountedColumns:
    """Return columns whose counts come from a function. Their states must be declared."""
    if not callable(statistics):
        raise SettingError(
            "statistics is a {kind}; give a function that takes a schema and a plan and returns "
            "the Statistics of all rows.",
            kind=type(statistics).__name__,
        )
    if not states:
        raise SettingError(
            "With statistics= there are no rows to find columns in: declare every column with states={column: states}."
        )
    target = EVERYTHING
    schema = Reading("all", states).schema_of(_Names(tuple(states)), target)
    return CountedColumns(tuple(map(sealed, schema.attributes)), statistics)


def counted_columns(
    backend: Backend,
    data: RowSource | None,
    states: Mapping[Name, Any] | None,
    discretize: str | int | Mapping[Any, Any] | None,
    sample_weight: WeightsLike | None,
    exclude: Sequence[Name] = (),
) -> CountedColumns:
    """Return the columns of a source that a backend counts. All must be discrete."""
    source = Source(data, weights=sample_weight, exclude=exclude or None)
    declared = {name: given for name, given in (states or {}).items() if given is not float}
    schema = backend.schema(source, Reading(states=declared, cuts=_cuts(data, discretize)), EVERYTHING)
    if schema.numeric:
        name = schema.numeric[0].name
        raise CannotCount(
            "{name!r} is numeric, and data that are counted elsewhere must be discrete. Declare its states "
            "(such as states={{{name!r}: [0, 1]}}), cut it with discretize={{{name!r}: [cut points]}}, cast "
            "it to text, or pass the rows themselves.",
            name=name,
        )
    return CountedColumns(
        tuple(v if v.cuts is not None else sealed(v) for v in schema.attributes),
        lambda columns, plan: backend.count(source, columns, plan),
    )


def _cuts(data: RowSource | None, discretize: str | int | Mapping[Any, Any] | None) -> dict[Name, Any]:
    if discretize is None:
        return {}
    chosen = discretize if isinstance(discretize, Mapping) else {"": discretize}
    for cut in chosen.values():
        if isinstance(cut, int):
            raise NeedsRows(f"discretize={discretize!r}", data, "Give the cut points of each column.")
    return dict(chosen)


@dataclass(frozen=True)
class _Names:
    """Columns of which only the names are known."""

    names: tuple[Name, ...]
    block: None = None

    @property
    def shape(self) -> tuple[int, int]:
        return 0, len(self.names)

    def kind(self, j: int) -> Any:
        return "categorical"

    def is_whole(self, j: int) -> bool:
        return False


class CountedScores:
    """Scores of families of discrete columns for a search, from counts that are requested when needed.

    Parameters
    ----------
    variables : the columns, with closed states
    count : function from a plan to the statistics of all rows
        It may merge the statistics of parts of the rows.
    score : Score

    All families of a question are requested at once. Rows must be complete. A family with fewer counts than rows is
    an error, because scores of different rows cannot be compared.
    """

    def __init__(
        self, variables: Sequence[Variable], count: Callable[[Plan], Statistics], score: Score
    ) -> None:
        self.schema = Schema(tuple(variables), EVERYTHING)
        self.score = score
        self._count = count
        self._names = tuple(variable.name for variable in variables)
        self._known: dict[tuple[int, int], float] = {}

    @property
    def n_scored(self) -> int:
        """The number of families counted."""
        return len(self._known)

    def __call__(self, question: Question) -> list[Floats]:
        wanted = [[*_sets(family)] for family in question]  # type: ignore[arg-type]
        new = sorted({key for each in wanted for key in each if key not in self._known})
        if new:
            self._learn(new)
        return [np.array([self._known[key] for key in each]) for each in wanted]

    def _learn(self, keys: list[tuple[int, int]]) -> None:
        families: Any = tuple(
            (self._names[child], *(self._names[p] for p in members(parents))) for child, parents in keys
        )
        plan = Plan((Pattern("tables", self._names), Pattern("families", families)))
        statistics = self._count(plan)
        counted: Any = statistics.parts["families"]
        for f, (child, parents) in enumerate(keys):
            cells, counts = counted.levels(f)[-1]
            if not math.isclose(float(counts.sum()), statistics.total, rel_tol=1e-9):
                raise DataError(
                    "{names!r} or one of its parents has missing cells. Leave such rows out first.",
                    names=self._names[child],
                )
            self._known[child, parents] = self._scored(child, parents, cells, counts, statistics.total)

    def _scored(
        self, child: int, parents: int, cells: NDArray[np.intp], counts: Floats, n_rows: float
    ) -> float:
        sizes = [self.schema.attributes[v].size for v in members(parents)]
        r, q = self.schema.attributes[child].size, math.prod(sizes)
        from scipy.special import gammaln  # questions to a network need no SciPy

        # The child is the last digit of a cell's index, with an additional code for missing.
        _, row = np.unique(cells // (r + 1), return_inverse=True)
        rows = np.bincount(row, counts)
        if self.score.by_likelihood:
            fit = float((counts * np.log(counts)).sum() - (rows * np.log(rows)).sum())
            return fit - self.score.penalty(n_rows) * (r - 1) * q
        configurations = len(rows) if self.score.name == "bds" else q
        weight = self.score.weight
        cell = -weight if weight < 0.0 else weight / (configurations * r)
        return float(
            (gammaln(cell + counts) - gammaln(cell)).sum()
            + (gammaln(cell * r) - gammaln(cell * r + rows)).sum()
        )


def _sets(family: Family) -> list[tuple[int, int]]:
    child, parents, more = family
    return [(child, parents)] if more is None else [(child, parents | (1 << v)) for v in more]
