"""Cached tests of independence over rows in memory, for discrete, Gaussian and mixed columns."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bayeskit._counting.count_extensions import measure_extensions, measure_tables, measure_weighted
from bayeskit._fitting.search.family_scores import PackedRows
from bayeskit._fitting.search.node_columns import NodeColumns
from bayeskit._structure.search_protocol import Question, Test, as_independence_test, members
from bayeskit.typing import Floats

# The statistic, its degrees of freedom, and the p-value.
Answer = tuple[float, float, float]


class RememberedTests(ABC):
    """Tests of independence with a cache: only new tests are computed."""

    def __init__(self) -> None:
        self._known: dict[Test, Answer] = {}

    @property
    def n_tested(self) -> int:
        """The number of tests made."""
        return len(self._known)

    def __call__(self, question: Question) -> list[Answer]:
        tests = [Test(min(a, b), max(a, b), z) for a, b, z in cast("Sequence[Test]", question)]
        new = [test for test in dict.fromkeys(tests) if test not in self._known]
        if new:
            self._make(new)
        return [self._known[test] for test in tests]

    @abstractmethod
    def _make(self, tests: list[Test]) -> None:
        """Compute tests that are not known yet, with a < b in each, and store their results in ``_known``."""


Ints = NDArray[np.int64]

# Tests with adjusted degrees of freedom report independence with fewer rows per cell than this.
ADJUSTED_ROWS_PER_CELL = 5


class IndependenceTests(RememberedTests):
    """Tests of conditional independence of two discrete variables: (statistic, degrees of freedom, p).

    Parameters
    ----------
    columns : unsigned integer array of shape (variables, rows)
        Codes, complete: every cell below the size of its variable.
    sizes : int64 array
        The number of declared states of each variable.
    name : "g2", "x2", "g2-adf", "x2-adf", "mi-sh"
        See :class:`~bayeskit._structure.search_protocol.IndependenceTest`. The degrees of freedom are
        (r_a − 1)(r_b − 1) ∏ r_z over declared states. "-adf" uses Σ_z (observed states of a − 1)(observed states of
        b − 1), and reports independence (statistic 0, p = 1) with fewer than five rows per cell.
    min_rows : float
        With fewer rows per degree of freedom the test is not made, because it has no power. p is then NaN, which is
        neither above nor below a significance level, so a search neither removes nor adds an arc. 0: make all tests.
    weights : float64 array, optional
        The weight of each row, which counts as this many rows. By default 1.

    Examples
    --------
    >>> coins = np.array([[0, 0, 1, 1] * 25, [0, 0, 1, 1] * 25, [0, 1] * 50], np.uint8)
    >>> tests = IndependenceTests(coins, np.array([2, 2, 2]))
    >>> [[round(x, 3) for x in answer] for answer in tests([Test(0, 1, 0), Test(0, 2, 0b010)])]
    [[138.629, 1.0, 0.0], [0.0, 2.0, 1.0]]

    References
    ----------
    J. Hausser and K. Strimmer, "Entropy inference and the James-Stein estimator", JMLR 10 (2009), for mi-sh.
    """

    def __init__(
        self,
        columns: NDArray[Any],
        sizes: Ints,
        name: str = "g2",
        min_rows: float = 5.0,
        weights: Floats | None = None,
    ) -> None:
        super().__init__()
        self.test = as_independence_test(name, continuous=False)
        self.min_rows = min_rows
        self.n_rows = columns.shape[1] if weights is None else float(weights.sum())
        self._rows = PackedRows(columns, sizes, weights is None)
        self._weights = weights
        self._sizes = self._rows.sizes
        self._largest = int(self._sizes.max(initial=1))

    def _make(self, tests: list[Test]) -> None:
        # One pass over z and the first variable is enough for all second variables.
        groups: dict[tuple[int, int], list[int]] = defaultdict(list)
        for a, b, given in tests:
            groups[a, given].append(b)
        found = [self._measure(a, given, np.array(others, np.int64)) for (a, given), others in groups.items()]
        measured = np.concatenate(found)
        answers = zip(*measured.T.tolist(), p_values(measured[:, 0], measured[:, 1]).tolist(), strict=True)
        for (a, given), others in groups.items():
            for b in others:
                self._known[Test(a, b, given)] = next(answers)

    def _measure(self, a: int, given: int, others: Ints) -> Floats:
        """Return the statistic and the degrees of freedom of a with each of the others."""
        z = np.array([*members(given)], np.int64)
        r, s = int(self._sizes[a]), self._sizes[others]
        # Use floats: the number of configurations of many variables may overflow integers.
        declared = math.prod([float(self._sizes[v]) for v in z])
        degrees = (r - 1.0) * (s - 1.0) * declared
        out = np.column_stack([np.full(len(others), np.nan), degrees])
        made = self.n_rows >= self.min_rows * degrees
        if self.n_rows == 0:
            out[:, 0] = np.where(made, 0.0, np.nan)
        elif made.all():
            self._count(a, z, others, declared, out)
        elif made.any():
            some = out[made]
            self._count(a, z, others[made], declared, some)
            out[made] = some
        return out

    def _count(self, a: int, z: Ints, others: Ints, declared: float, out: Floats) -> None:
        r, s = int(self._sizes[a]), self._sizes[others]
        name, degrees = self.test.name, out[:, 1].copy()
        if self._rows.suits_bits(np.append(z, a), others, declared * r):
            self._count_by_bits(a, z, others, int(declared), out)
        else:
            self._count_by_rows(a, z, others, declared, out)
        if name.endswith("-adf"):
            sparse = self.n_rows < ADJUSTED_ROWS_PER_CELL * declared * r * s
            out[sparse, 0] = 0.0
        else:
            out[:, 1] = degrees

    def _count_by_bits(self, a: int, z: Ints, others: Ints, declared: int, out: Floats) -> None:
        r = int(self._sizes[a])
        tables, start = self._rows.tables(np.append(z, a), others, declared * r)
        measure_tables(
            tables,
            start,
            self._sizes,
            others,
            declared,
            r,
            self.n_rows,
            float(declared),
            self.test.name == "mi-sh",
            self.test.name.startswith("x2"),
            *np.empty((2, self._largest)),
            out,
        )

    def _count_by_rows(self, a: int, z: Ints, others: Ints, declared: float, out: Floats) -> None:
        r = int(self._sizes[a])
        code, q = self._rows.code(z, declared)
        code = code * np.uint32(r) + self._rows.columns[a]
        cells, room = q * r * int(self._sizes[others].max()), np.empty((2, self._largest))
        how = others, q, r, declared, self.test.name == "mi-sh", self.test.name.startswith("x2")
        rows = self._rows.columns, self._sizes, code
        if self._weights is None:
            measure_extensions(*rows, *how, np.empty(2 * cells, np.int32), *room, out)
        else:
            measure_weighted(*rows, self._weights, self.n_rows, *how, np.empty(cells), *room, out)


def p_values(statistic: Floats, degrees: Floats) -> Floats:
    """Return P(χ² ≥ statistic) with these degrees of freedom; NaN if there was no test."""
    from scipy.special import chdtrc  # questions to a network need no SciPy

    # A variable with one state is independent of everything.
    p = np.where(degrees > 0, chdtrc(np.maximum(degrees, 1.0), np.maximum(statistic, 0.0)), 1.0)
    p[np.isnan(statistic)] = np.nan
    return p


# The smallest variance, as a fraction of the column's own variance. It keeps the likelihood of an exact copy finite.
LEAST_SHARE = 1e-12


class MixedTests(RememberedTests):
    r"""Tests of conditional independence of two variables, discrete or continuous.

    Let :math:`\ell(S)` be the maximum log-likelihood of a set of columns. The discrete columns have any joint
    distribution, and the continuous ones are normal with a mean and covariance for each discrete configuration. Then

    .. math:: G^2 = 2\,[\ell(a, b, z) - \ell(a, z) - \ell(b, z) + \ell(z)],

    which is 2n times the conditional mutual information. For discrete variables it is the G² of tables. For numbers it
    is −n log(1 − ρ²) with the partial correlation ρ. For a number and a discrete variable it is twice the gain in
    log-likelihood of a regression for each state over a single regression. The degrees of freedom are the parameters
    of (a, b, z) and z minus those of (a, z) and (b, z), over the configurations that occur.

    Parameters
    ----------
    columns : NodeColumns, of which the complete rows are used
    name : "mi-cg"
    min_rows : float
        With fewer rows for each degree of freedom the test is not made: p is NaN.
    weights : float64 array, optional
        The weight of each complete row. By default 1.

    Examples
    --------
    >>> from bayeskit._fitting.search.node_columns import read_nodes
    >>> x, y = [0.1, 1.0, -0.1, 1.2] * 25, [0.3, 0.3, 0.5, 0.5] * 25
    >>> tests = MixedTests(read_nodes({"side": ["left", "right"] * 50, "x": x, "y": y}))
    >>> [p < 0.01 for _, _, p in tests([Test(0, 1, 0), Test(0, 2, 0)])]
    [True, False]

    References
    ----------
    B. Andrews, J. Ramsey, G. F. Cooper, "Scoring Bayesian networks of mixed variables", International Journal of Data
    Science and Analytics 6 (2018).
    """

    def __init__(
        self, columns: NodeColumns, name: str = "mi-cg", min_rows: float = 5.0, weights: Floats | None = None
    ) -> None:
        super().__init__()
        self.test = as_independence_test(name, mixed=True)
        self.min_rows = min_rows
        codes, numbers = columns.code_matrix(), columns.number_matrix()
        self._weights = np.ones(codes.shape[1]) if weights is None else weights
        self.n_rows = float(self._weights.sum())
        self._discrete = {int(v): k for k, v in enumerate(np.flatnonzero(columns.is_discrete))}
        self._numeric = {int(v): k for k, v in enumerate(np.flatnonzero(~columns.is_discrete))}
        self._rows = PackedRows(codes, columns.sizes[columns.is_discrete], with_bits=False)
        self._numbers = self._standardised(numbers)
        self._found: dict[int, tuple[float, int]] = {}

    def _make(self, tests: list[Test]) -> None:
        measured = np.array([self._measure(test) for test in tests])
        answers = zip(*measured.T.tolist(), p_values(measured[:, 0], measured[:, 1]).tolist(), strict=True)
        self._known.update(zip(tests, answers, strict=True))

    def _measure(self, test: Test) -> tuple[float, float]:
        a, b, z = test
        with_a, with_b, both = z | 1 << a, z | 1 << b, z | 1 << a | 1 << b
        degrees = self._degrees(a, b, z)
        if self.n_rows < self.min_rows * degrees:
            return math.nan, degrees
        fit = [self._fitted(some)[0] for some in (both, with_a, with_b, z)]
        return max(2.0 * (fit[0] - fit[1] - fit[2] + fit[3]), 0.0), degrees

    def _degrees(self, a: int, b: int, z: int) -> float:
        """Return the number of parameters of (a, b, z) and z minus those of (a, z) and (b, z), in occurring cells."""
        m = sum(v in self._numeric for v in members(z))
        k, k_a, k_b = (self._fitted(some)[1] for some in (z, z | 1 << a, z | 1 << b))
        m_a, m_b = m + (a in self._numeric), m + (b in self._numeric)
        k_both = self._pairs(a, b, z) if m_a == m_b == m else k_a if m_b > m else k_b
        of_both = k_both * _parameters(m_a + m_b - m)
        return float(of_both + k * _parameters(m) - k_a * _parameters(m_a) - k_b * _parameters(m_b))

    def _pairs(self, a: int, b: int, z: int) -> int:
        """Return Σ_z (observed states of a) · (observed states of b)."""
        at, q = self._cells(z)
        found = np.ones(q, np.int64)
        for v in (a, b):
            size = int(self._rows.sizes[self._discrete[v]])
            seen = np.zeros((q, size), np.bool_)
            seen[at, self._rows.columns[self._discrete[v]]] = True
            found *= seen.sum(axis=1)
        return int(found.sum())

    def _cells(self, some: int) -> tuple[NDArray[np.uint32], int]:
        """Return the index of each row's configuration of the discrete members, and the number of configurations."""
        inside = np.array([self._discrete[v] for v in members(some) if v in self._discrete], np.int64)
        return self._rows.code(inside, math.prod(self._rows.sizes[inside].astype(float).tolist()))

    def _fitted(self, some: int) -> tuple[float, int]:
        """Return the log-likelihood of a set of columns, and the number of configurations that occur."""
        if some not in self._found:
            cell, q = self._cells(some)
            n: Floats = np.bincount(cell, self._weights, q).astype(np.float64)
            seen = n > 0.0
            place = np.cumsum(seen) - 1
            n, here = n[seen], place[cell]
            total = float((n * np.log(n / self.n_rows)).sum())
            numeric = [self._numeric[v] for v in members(some) if v in self._numeric]
            if numeric:
                total += self._gaussian(self._numbers[numeric], here, n)
            self._found[some] = total, len(n)
        return self._found[some]

    def _gaussian(self, z: Floats, cell: NDArray[np.intp], n: Floats) -> float:
        """Return the log-likelihood of standardised columns, with a mean and a covariance for each cell."""
        m, w = len(z), self._weights
        scatter = np.empty((len(n), m, m))
        centred = np.array([row - (np.bincount(cell, w * row) / n)[cell] for row in z])
        for i in range(m):
            for j in range(i + 1):
                scatter[:, i, j] = scatter[:, j, i] = np.bincount(cell, w * centred[i] * centred[j])
        floor = LEAST_SHARE * np.eye(m)
        covariance = scatter / n[:, None, None] + floor
        # With too few rows to estimate a covariance, use that of all rows: a cell of one row must not be certain.
        few = n <= m + 1.0
        covariance[few] = (w * z) @ z.T / self.n_rows + floor
        determinant = np.linalg.slogdet(covariance)[1]
        distance = np.where(few, np.einsum("kij,kji->k", np.linalg.inv(covariance), scatter), n * m)
        return float(-0.5 * (n * (m * math.log(2.0 * math.pi) + determinant) + distance).sum())

    def _standardised(self, numbers: Floats) -> Floats:
        """Return the numbers with mean 0 and variance 1, or zeros if constant. G² does not depend on the scale."""
        if not self.n_rows:
            return numbers
        centred = numbers - (numbers @ self._weights / self.n_rows)[:, None]
        spread = np.sqrt(centred**2 @ self._weights / self.n_rows)
        constant = spread <= 1e-14 * np.abs(numbers).max(axis=1, initial=0.0)
        return np.where(constant[:, None], 0.0, centred / np.where(constant, 1.0, spread)[:, None])


def _parameters(m: int) -> int:
    """Return the number of parameters of one configuration: its share, m means and the covariances."""
    return 1 + m + m * (m + 1) // 2


class CorrelationTests(RememberedTests):
    r"""Tests of conditional independence of two Gaussian variables: (statistic, degrees of freedom, p).

    ρ is the partial correlation of a and b given k others, from the inverse of their correlation matrix.

    - ``cor``: t = ρ √((n − 2 − k) / (1 − ρ²)), Student's t with n − 2 − k degrees of freedom
    - ``zf``: z = artanh(ρ) √(n − 3 − k), normal
    - ``mi-g``: −n log(1 − ρ²), χ² with one degree of freedom

    Parameters
    ----------
    correlation : array of shape (variables, variables)
        NaN for a constant column, which is independent of everything.
    n_rows : float
        The number of rows, or their total weight.
    name : "cor", "zf", "mi-g"

    Notes
    -----
    The statistic of ``cor`` is ρ itself, as in bnlearn. Without degrees of freedom the test is not made, and p is NaN.

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
        # Invert the matrices of sets of the same size together.
        groups: dict[int, list[Test]] = defaultdict(list)
        for test in tests:
            groups[test.given.bit_count()].append(test)
        for k, some in groups.items():
            partial = self._partial(np.array([[a, b, *members(given)] for a, b, given in some]))
            self._known.update(
                zip(
                    some,
                    zip(*(column.tolist() for column in self._tested(partial, k)), strict=True),
                    strict=True,
                )
            )

    def _partial(self, sets: NDArray[np.int64]) -> Floats:
        """Return the partial correlation of the first two variables of each set given the rest."""
        blocks = self._correlation[sets[:, :, None], sets[:, None, :]]
        if sets.shape[1] == 2:
            return np.asarray(blocks[:, 0, 1])
        try:
            precision = np.linalg.inv(blocks)
        except np.linalg.LinAlgError:
            # Some of the given variables are functions of others. The pseudo-inverse ignores them.
            precision = np.linalg.pinv(blocks, hermitian=True)
        scale = precision[:, 0, 0] * precision[:, 1, 1]
        found = -precision[:, 0, 1] / np.sqrt(np.where(scale > 0, scale, np.inf))
        return np.asarray(np.clip(found, -1.0, 1.0))

    def _tested(self, partial: Floats, k: int) -> tuple[Floats, Floats, Floats]:
        from scipy.special import chdtrc, ndtr, stdtr

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
