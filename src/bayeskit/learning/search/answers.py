"""What answers a search over rows in memory: scores of families, tests of independence."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr, stdtr

from bayeskit.counting.kernels.distinct import find_distinct, hash_rows
from bayeskit.learning.search.family_scores import FamilyScores
from bayeskit.learning.search.independence_tests import IndependenceTests
from bayeskit.learning.search.mixed_tests import MixedTests
from bayeskit.learning.search.node_columns import NodeColumns
from bayeskit.learning.search.regression_scores import MixedScores
from bayeskit.learning.search.remembered_tests import RememberedTests
from bayeskit.structure.questions import Question, Test, members
from bayeskit.structure.scores import Score
from bayeskit.structure.tests_of_independence import as_independence_test, default_test
from bayeskit.typing import Floats


class CorrelationTests(RememberedTests):
    r"""Answers whether two Gaussian variables are independent given others: (statistic, degrees of freedom, p).

    With ρ the partial correlation of a and b given k others, from the inverse of their correlation matrix:
    ``cor`` t = ρ √((n − 2 − k) / (1 − ρ²)), Student's t with n − 2 − k degrees of freedom; ``zf``
    z = artanh(ρ) √(n − 3 − k), normal; ``mi-g`` −n log(1 − ρ²), χ² with one degree of freedom.

    Parameters
    ----------
    correlation : array of shape (variables, variables)
        NaN where a column is constant: it depends on nothing.
    n_rows : float
        The rows, or their weight.
    name : "cor", "zf", "mi-g"

    Notes
    -----
    The statistic of ``cor`` is ρ itself, as bnlearn reports it. With no degree of freedom left, p is NaN: the test
    is not made.

    Examples
    --------
    >>> chain = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]])
    >>> tests = CorrelationTests(chain, 100)
    >>> [round(p, 4) for _, _, p in tests([Test(0, 2, 0), Test(0, 2, 0b010)])]
    [0.0121, 1.0]
    """

    def __init__(self, correlation: Floats, n_rows: float, name: str = "cor") -> None:
        super().__init__()
        self.test = as_independence_test(name, continuous=True)
        self.n_rows = n_rows
        self._correlation = np.array(correlation, np.float64)
        self._correlation[np.isnan(self._correlation)] = 0.0
        np.fill_diagonal(self._correlation, 1.0)

    def _make(self, tests: list[Test]) -> None:
        # Sets of one size are inverted together.
        groups: dict[int, list[Test]] = defaultdict(list)
        for test in tests:
            groups[test.given.bit_count()].append(test)
        for k, some in groups.items():
            partial = self._partial(np.array([[a, b, *members(given)] for a, b, given in some]))
            self._known.update(zip(some, zip(*(column.tolist() for column in self._tested(partial, k)))))

    def _partial(self, sets: NDArray[np.int64]) -> Floats:
        """Return the correlation of the first two of each set given the rest."""
        blocks = self._correlation[sets[:, :, None], sets[:, None, :]]
        if sets.shape[1] == 2:
            return np.asarray(blocks[:, 0, 1])
        try:
            precision = np.linalg.inv(blocks)
        except np.linalg.LinAlgError:
            # Among the given some are functions of the others: the pseudo-inverse leaves those out.
            precision = np.linalg.pinv(blocks, hermitian=True)
        scale = precision[:, 0, 0] * precision[:, 1, 1]
        found = -precision[:, 0, 1] / np.sqrt(np.where(scale > 0, scale, np.inf))
        return np.asarray(np.clip(found, -1.0, 1.0))

    def _tested(self, partial: Floats, k: int) -> tuple[Floats, Floats, Floats]:
        degrees = {"cor": self.n_rows - 2.0 - k, "zf": self.n_rows - 3.0 - k, "mi-g": 1.0}[self.test.name]
        columns = np.full((3, len(partial)), np.nan)
        columns[1] = degrees
        if degrees <= 0 or self.n_rows == 0:
            return columns[0], columns[1], columns[2]
        with np.errstate(divide="ignore"):
            if self.test.name == "cor":
                t = partial * np.sqrt(degrees / ((1.0 - partial) * (1.0 + partial)))
                columns[0], columns[2] = partial, 2.0 * stdtr(degrees, -np.abs(t))
            elif self.test.name == "zf":
                z = np.arctanh(partial) * np.sqrt(degrees)
                columns[0], columns[2] = z, 2.0 * ndtr(-np.abs(z))
            else:
                columns[0] = -self.n_rows * np.log1p(-partial * partial)
                columns[2] = chdtrc(1.0, columns[0])
        return columns[0], columns[1], columns[2]


# Fewer rows than this are counted before they are compared.
FEWEST_ROWS = 2**14
# One row in so many, evenly spread, is looked at first: where more than half of these differ, the pass over all rows
# is spared.
SAMPLED = 16
# Weighted rows are counted one by one, others 64 at a time by bits: below one in so many, weights win.
PAYS = 16


class DistinctRows(NamedTuple):
    """Columns in which every row differs from every other, and what each row weighs."""

    columns: NDArray[Any]
    weights: Floats


def distinct_rows(columns: NDArray[Any], weights: Floats | None, most: int) -> DistinctRows | None:
    """Return each different row once, in the order in which they are met; None where more than ``most`` differ.

    Parameters
    ----------
    columns : unsigned integer array of shape (variables, rows)
    weights : float64 array, optional
        What each row weighs; one where it is left out.
    most : int

    Examples
    --------
    >>> rows = distinct_rows(np.array([[0, 1, 0], [2, 2, 2]], np.uint8), None, 3)
    >>> rows.columns.tolist(), rows.weights
    ([[0, 1], [2, 2]], array([2., 1.]))
    """
    n = columns.shape[1]
    most = min(most, n)
    hashes = np.empty(n, np.uint64)
    hash_rows(columns, hashes)
    first, sums = np.empty(most, np.int64), np.empty(most)
    table = np.full(1 << (2 * most).bit_length(), -1, np.int64)
    given = np.empty(0) if weights is None else weights
    found = find_distinct(columns, hashes, given, most, table, first, sums)
    if found < 0:
        return None
    return DistinctRows(np.ascontiguousarray(columns[:, first[:found]]), sums[:found])


def joined_where_it_pays(columns: NDArray[Any], weights: Floats | None) -> DistinctRows | None:
    """Return the different rows with their weights where there are few enough of them; else None.

    A sample is looked at first, so that rows of which most differ cost next to nothing.
    """
    n = columns.shape[1]
    if n < FEWEST_ROWS or not len(columns):
        return None
    sample = np.ascontiguousarray(columns[:, ::SAMPLED])
    if distinct_rows(sample, None, sample.shape[1] // 2) is None:
        return None
    return distinct_rows(columns, weights, n // PAYS)


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
