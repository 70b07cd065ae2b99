"""Scores of families from statistics, wherever they are counted: in batches, in a database, on a cluster."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import gammaln

from bayeskit.errors import DataError
from bayeskit.schema import Schema, Variable
from bayeskit.statistics import Pattern, Plan, Statistics
from bayeskit.structure.criteria import Score
from bayeskit.structure.questions import Family, Question, members
from bayeskit.typing import Floats

# There is no class: every row has the same one.
EVERYTHING = Variable("everything", "categorical", ("everything",), n_declared=1, closed=True)


class CountedScores:
    """Answers what a search asks of discrete columns by asking for counts in its turn.

    Parameters
    ----------
    variables : the columns, their states closed
    count : function from a plan to the statistics of all rows
        Statistics of pieces may be added: that is all a source has to be able to do.
    score : Score

    All families of a question are asked for at once. Rows must be complete: a family whose counts are fewer
    than the rows is refused, because scores of different rows cannot be compared.
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
        """How many families were counted."""
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
                    f"{self._names[child]!r} or one of its parents has missing cells. Leave such rows out first."
                )
            self._known[child, parents] = self._scored(child, parents, cells, counts, statistics.total)

    def _scored(self, child: int, parents: int, cells: Any, counts: Floats, n_rows: float) -> float:
        sizes = [self.schema.attributes[v].size for v in members(parents)]
        r, q = self.schema.attributes[child].size, math.prod(sizes)
        # The child is the last digit of a cell's number, with one code more for what is missing.
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
