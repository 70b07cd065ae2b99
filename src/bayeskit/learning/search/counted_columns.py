"""The columns of a network where rows are counted elsewhere: their states, and a function that counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.counting.backend import Backend
from bayeskit.data.reading import Reading
from bayeskit.data.source import Source
from bayeskit.errors import CannotCount, DataError, DataTypeError, Incompatible, NeedsRows, SettingError
from bayeskit.learning.search.counted_scores import EVERYTHING, CountedScores
from bayeskit.learning.search.counted_tests import CountedTests
from bayeskit.learning.search.node_columns import sealed
from bayeskit.schema import Name, Schema, Variable
from bayeskit.statistics import Pattern, Plan, Statistics
from bayeskit.structure.questions import Question, Test
from bayeskit.structure.scores import Score
from bayeskit.structure.tests_of_independence import default_test

Count = Callable[[Schema, Plan], Statistics]


@dataclass(frozen=True, eq=False)
class CountedColumns:
    """Discrete columns of a search that asks for counts; there is no row to look at.

    Attributes
    ----------
    variables : one for each column; states are closed
    count_terms : function from a schema and a plan to the statistics of all rows
        The schema has the columns as attributes and one class, that of everything.
    """

    variables: tuple[Variable, ...]
    count_terms: Count

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
        """Ask for counts, and bring their states into the order of the columns."""
        found = self.count_terms(self.schema, plan)
        if not isinstance(found, Statistics):
            raise DataTypeError(
                f"statistics= gave a {type(found).__name__}. It takes a schema and a plan and returns Statistics: "
                "Statistics.from_cell_tables(schema, plan, cells), say."
            )
        if found.plan != plan:
            raise Incompatible(
                "statistics= answered another plan than it was asked. Count the terms of the plan that it is given."
            )
        self.schema.union(found.schema)  # refuses other columns, and states that were not declared
        return found.embed(self.schema)

    def reordered(self, order: NDArray[np.int64]) -> CountedColumns:
        """Return the same columns in another order."""
        return CountedColumns(tuple(self.variables[int(j)] for j in order), self.count_terms)

    def canonical_order(self) -> NDArray[np.int64]:
        """Return an order of the columns that depends on their counts: by entropy, then by the counts themselves.

        Columns with missing cells are refused here: scores of different rows cannot be compared.
        """
        statistics = self.count(Plan((Pattern("tables", self.names),)))
        missing = statistics.tables.counts[statistics.schema.offsets[1:].astype(np.intp) - 1, 0]
        if missing.any():
            j = int(missing.argmax())
            raise DataError(
                f"{self.names[j]!r} has {missing[j]:g} missing cells, and scores of different rows cannot be compared. "
                "Leave such rows out where they are counted."
            )
        keys = []
        for name in self.names:
            counts = statistics.table(name)[:, 0]
            p = np.sort(counts[counts > 0]) / max(statistics.total, 1.0)
            keys.append((round(float(-(p * np.log(p)).sum()), 9), counts.tolist(), repr(name)))
        return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


class CountedAnswers:
    """Answers both kinds of question of a search from counts taken elsewhere."""

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
    def n_asked(self) -> int:
        """How many families were scored and tests made."""
        return self._scores.n_scored + int(self._tests.n_tested)

    def rescored(self, score: Score) -> CountedAnswers:
        """Return what answers by another score."""
        return CountedAnswers(self._columns, score)


def given_counts(statistics: Any, states: Mapping[Name, Any] | None) -> CountedColumns:
    """Read the columns whose counts a function gives; their states must be declared."""
    if not callable(statistics):
        raise SettingError(
            f"statistics is a {type(statistics).__name__}; give a function that takes a schema and a plan and returns "
            "the Statistics of all rows."
        )
    if not states:
        raise SettingError(
            "With statistics= there are no rows to find columns in: declare every column with states={column: states}."
        )
    target = EVERYTHING
    schema = Reading("all", states).schema_of(_Names(tuple(states)), target)
    return CountedColumns(tuple(map(sealed, schema.attributes)), statistics)


def counted_columns(
    backend: Backend, data: Any, states: Mapping[Name, Any] | None, discretize: Any, sample_weight: Any
) -> CountedColumns:
    """Read the columns of a source that a backend counts; all must be discrete."""
    source = Source(data, weights=sample_weight)
    declared = {name: given for name, given in (states or {}).items() if given is not float}
    schema = backend.schema(source, Reading(states=declared, cuts=_cuts(data, discretize)), EVERYTHING)
    if schema.numeric:
        name = schema.numeric[0].name
        raise CannotCount(
            f"{name!r} is numeric, and what is counted where it is must be discrete. Declare its states "
            f"(states={{{name!r}: [0, 1]}}, say), cut it with discretize={{{name!r}: [cut points]}}, cast it to text, "
            "or pass the rows themselves."
        )
    return CountedColumns(
        tuple(v if v.cuts is not None else sealed(v) for v in schema.attributes),
        lambda asked, plan: backend.count(source, asked, plan),
    )


def _cuts(data: Any, discretize: Any) -> dict[Name, Any]:
    if discretize is None:
        return {}
    chosen = discretize if isinstance(discretize, Mapping) else {"": discretize}
    for cut in chosen.values():
        if isinstance(cut, int):
            raise NeedsRows(f"discretize={discretize!r}", data, "Give the cut points of each column.")
    return dict(chosen)


@dataclass(frozen=True)
class _Names:
    """Columns of which nothing but the names is known."""

    names: tuple[Name, ...]
    block: None = None

    @property
    def shape(self) -> tuple[int, int]:
        return 0, len(self.names)

    def kind(self, j: int) -> Any:
        return "categorical"

    def is_whole(self, j: int) -> bool:
        return False
