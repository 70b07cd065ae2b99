"""Tests of independence from statistics, wherever they are counted: in batches, in a database, on a cluster."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.counting.kernels.contingency import measure_tables
from bayeskit.errors import DataError
from bayeskit.learning.search.counted_scores import EVERYTHING
from bayeskit.learning.search.independence_tests import ADJUSTED_ROWS_PER_CELL, p_values
from bayeskit.learning.search.remembered_tests import RememberedTests
from bayeskit.schema import Schema, Variable
from bayeskit.statistics import Pattern, Plan, Statistics
from bayeskit.structure.questions import Test, members
from bayeskit.structure.tests_of_independence import as_independence_test

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Cells = tuple[dict[int, NDArray[np.intp]], Floats]


class CountedTests(RememberedTests):
    """Answers whether discrete variables are independent given others by asking for counts in its turn.

    The same tests as :class:`~bayeskit.learning.search.independence_tests.IndependenceTests`, and the same numbers. All
    tables of a question are asked for at once, those over the same variables once; a table that has been counted is
    not asked for again by tests of one question.

    Parameters
    ----------
    variables : the columns, their states closed
    count : function from a plan to the statistics of all rows
        Statistics of pieces may be added: that is all a source has to be able to do.
    name, min_rows : as there

    Rows must be complete: a table that holds fewer than all rows is refused, because a test of other rows is another
    test.
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
        answers = zip(*measured.T.tolist(), p_values(measured[:, 0], measured[:, 1]).tolist())
        self._known.update(zip(tests, answers))

    def _degrees(self, test: Test) -> float:
        a, b, given = test
        # In floats: the configurations of many variables are more than any integer type holds.
        declared = math.prod(float(self._sizes[v]) for v in members(given))
        return float((self._sizes[a] - 1.0) * (self._sizes[b] - 1.0) * declared)

    def _counted(self, sets: list[int]) -> tuple[dict[int, Cells], float]:
        """Count the cells of some sets of variables; return them, and the weight of all rows."""
        families: Any = tuple(tuple(self._names[v] for v in members(some)) for some in sets)
        patterns = (Pattern("tables", self._names), *([Pattern("families", families)] if sets else []))
        statistics = self._count(Plan(patterns))
        found: dict[int, Cells] = {}
        for f, some in enumerate(sets):
            part: Any = statistics.parts["families"]
            keys, counts = part.levels(f)[-1]
            if not math.isclose(float(counts.sum()), statistics.total, rel_tol=1e-9):
                shown = ", ".join(repr(self._names[v]) for v in members(some))
                raise DataError(f"One of {shown} has missing cells. Leave such rows out first.")
            # The first member is the last digit of a key; each digit has one code more, for what is missing.
            child, *parents = members(some)
            order = (*parents, child)
            digits = np.unravel_index(keys, [int(self._sizes[v]) + 1 for v in order])
            found[some] = dict(zip(order, digits)), counts
        return found, statistics.total

    def _measured(
        self, test: Test, digits: dict[int, NDArray[np.intp]], counts: Floats
    ) -> tuple[float, float]:
        """Return the statistic and the degrees of freedom of one test from the cells that occur."""
        a, b, given = test
        r, s = int(self._sizes[a]), int(self._sizes[b])
        z = np.zeros(len(counts), np.int64)
        for v in members(given):
            # Numbered anew after each, so that no number outgrows its type.
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
