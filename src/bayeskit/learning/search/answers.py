"""What answers a search over rows in memory: scores of families, tests of independence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.learning.search.correlation_tests import CorrelationTests
from bayeskit.learning.search.distinct_rows import DistinctRows, joined_where_it_pays
from bayeskit.learning.search.family_scores import FamilyScores
from bayeskit.learning.search.independence_tests import IndependenceTests
from bayeskit.learning.search.mixed_tests import MixedTests
from bayeskit.learning.search.node_columns import NodeColumns
from bayeskit.learning.search.regression_scores import MixedScores
from bayeskit.structure.questions import Question, Test
from bayeskit.structure.scores import Score
from bayeskit.structure.tests_of_independence import default_test

Floats = NDArray[np.float64]


class Answers:
    """Answers both kinds of question over the complete rows of some columns.

    ``weights`` are those of the complete rows. Rows that occur many times are joined where this pays. Scores and
    tests are made ready when they are first asked for.
    """

    def __init__(
        self,
        columns: NodeColumns,
        score: Score,
        test: str | None = None,
        weights: Floats | None = None,
        joined: DistinctRows | None = None,
    ) -> None:
        self._columns, self._score, self._weights = columns, score, weights
        discrete = int(columns.is_discrete.sum())
        self._test = default_test(discrete, len(columns.variables) - discrete) if test is None else test
        self._is_mixed = discrete < len(columns.variables)
        self._scores: Any = None
        self._tests: Any = None
        self.joined = joined

    def __call__(self, question: Question) -> list[Any]:
        asks_for_tests = bool(question) and isinstance(question[0], Test)
        if asks_for_tests and self._tests is None:
            self._tests = self._make_tests()
        if not asks_for_tests and self._scores is None:
            self._scores = self._make_scores()
        found: list[Any] = (self._tests if asks_for_tests else self._scores)(question)
        return found

    def rescored(self, score: Score) -> Answers:
        """Return what answers by another score over the same rows."""
        return Answers(self._columns, score, None, self._weights, self.joined)

    @property
    def n_asked(self) -> int:
        """How many families were scored and tests made."""
        scored = 0 if self._scores is None else int(self._scores.n_scored)
        return scored + (0 if self._tests is None else int(self._tests.n_tested))

    def _make_scores(self) -> Any:
        if self._is_mixed:
            return MixedScores(self._columns, self._score, self._weights)
        codes, weights = self._rows()
        return FamilyScores(codes, self._columns.sizes, self._score, weights)

    def _make_tests(self) -> Any:
        if self._is_mixed and self._columns.is_discrete.any():
            return MixedTests(self._columns, self._test, weights=self._weights)
        if self._is_mixed:
            return _correlation_tests(self._columns.number_matrix(), self._weights, self._test)
        codes, weights = self._rows()
        return IndependenceTests(codes, self._columns.sizes, self._test, weights=weights)

    def _rows(self) -> tuple[NDArray[Any], Floats | None]:
        if self.joined is not None:
            return self.joined
        codes = self._columns.code_matrix()
        self.joined = joined_where_it_pays(codes, self._weights)
        return (codes, self._weights) if self.joined is None else self.joined


def _correlation_tests(numbers: Floats, weights: Floats | None, name: str) -> CorrelationTests:
    """Test columns of numbers; the correlation of a constant one is NaN."""
    w = np.ones(numbers.shape[1]) if weights is None else weights
    n = float(w.sum())
    centred = numbers - (numbers @ w / n)[:, None]
    # Each column over its largest number: the square of none then leaves the range of doubles.
    centred /= np.maximum(np.abs(centred).max(axis=1, initial=0.0), np.finfo(float).tiny)[:, None]
    scatter = (w * centred) @ centred.T
    spread = np.sqrt(np.diag(scatter))
    constant = np.ptp(numbers, axis=1) == 0.0
    spread[constant] = np.nan
    return CorrelationTests(np.clip(scatter / np.outer(spread, spread), -1.0, 1.0), n, name)
