"""Tests of independence over columns of both kinds, by the likelihood of conditional-Gaussian models."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayeskit.learning.search.independence_tests import p_values
from bayeskit.learning.search.node_columns import NodeColumns
from bayeskit.learning.search.packed_rows import PackedRows
from bayeskit.learning.search.remembered_tests import RememberedTests
from bayeskit.structure.questions import Test, members
from bayeskit.structure.tests_of_independence import as_independence_test
from bayeskit.typing import Floats

# A variance of less than this share of the column's own counts as this share: an exact copy is no reason for an
# infinite likelihood.
LEAST_SHARE = 1e-12


class MixedTests(RememberedTests):
    r"""Answers whether two variables, discrete or continuous, are independent given others.

    With :math:`\ell(S)` the largest log-likelihood of a set of columns, its discrete ones free and its continuous ones
    normal with a mean and covariance for each configuration of those,

    .. math:: G^2 = 2\,[\ell(a, b, z) - \ell(a, z) - \ell(b, z) + \ell(z)],

    which is 2n times the mutual information. Of two discrete variables given discrete ones it is the G² of tables, of
    numbers alone −n log(1 − ρ²) with the partial correlation ρ, of a number and states twice what a regression in each
    state gains over one regression. The degrees of freedom are the parameters that b adds to one side only, over the
    configurations that occur.

    Parameters
    ----------
    columns : NodeColumns; its complete rows are used
    name : "mi-cg"
    min_rows : float
        With fewer rows for each degree of freedom the test is not made: p is NaN.
    weights : float64 array, optional
        What each complete row weighs. One each where it is left out.

    Examples
    --------
    >>> from bayeskit.learning.search.node_columns import read_nodes
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
        answers = zip(*measured.T.tolist(), p_values(measured[:, 0], measured[:, 1]).tolist())
        self._known.update(zip(tests, answers))

    def _measure(self, test: Test) -> tuple[float, float]:
        a, b, z = test
        with_a, with_b, both = z | 1 << a, z | 1 << b, z | 1 << a | 1 << b
        degrees = self._degrees(a, b, z)
        if self.n_rows < self.min_rows * degrees:
            return math.nan, degrees
        fit = [self._fitted(some)[0] for some in (both, with_a, with_b, z)]
        return max(2.0 * (fit[0] - fit[1] - fit[2] + fit[3]), 0.0), degrees

    def _degrees(self, a: int, b: int, z: int) -> float:
        """Return the parameters of (a, b, z) and z less those of (a, z) and (b, z), over what occurs."""
        m = sum(v in self._numeric for v in members(z))
        k, k_a, k_b = (self._fitted(some)[1] for some in (z, z | 1 << a, z | 1 << b))
        m_a, m_b = m + (a in self._numeric), m + (b in self._numeric)
        k_both = self._pairs(a, b, z) if m_a == m_b == m else k_a if m_b > m else k_b
        of_both = k_both * _parameters(m_a + m_b - m)
        return float(of_both + k * _parameters(m) - k_a * _parameters(m_a) - k_b * _parameters(m_b))

    def _pairs(self, a: int, b: int, z: int) -> int:
        """Return Σ_z (states of a there) · (states of b there)."""
        at, q = self._cells(z)
        found = np.ones(q, np.int64)
        for v in (a, b):
            size = int(self._rows.sizes[self._discrete[v]])
            seen = np.zeros((q, size), np.bool_)
            seen[at, self._rows.columns[self._discrete[v]]] = True
            found *= seen.sum(axis=1)
        return int(found.sum())

    def _cells(self, some: int) -> tuple[NDArray[np.uint32], int]:
        """Return the number of each row's configuration of the discrete members, and how many numbers there are."""
        inside = np.array([self._discrete[v] for v in members(some) if v in self._discrete], np.int64)
        return self._rows.code(inside, math.prod(self._rows.sizes[inside].astype(float).tolist()))

    def _fitted(self, some: int) -> tuple[float, int]:
        """Return the log-likelihood of a set of columns, and how many configurations occur."""
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
        """Return the log-likelihood of standardised columns, a mean and a covariance for each cell."""
        m, w = len(z), self._weights
        scatter = np.empty((len(n), m, m))
        centred = np.array([row - (np.bincount(cell, w * row) / n)[cell] for row in z])
        for i in range(m):
            for j in range(i + 1):
                scatter[:, i, j] = scatter[:, j, i] = np.bincount(cell, w * centred[i] * centred[j])
        floor = LEAST_SHARE * np.eye(m)
        covariance = scatter / n[:, None, None] + floor
        # Too few rows to tell a covariance: that of all rows, or every cell of one row would be a certain one.
        few = n <= m + 1.0
        covariance[few] = (w * z) @ z.T / self.n_rows + floor
        determinant = np.linalg.slogdet(covariance)[1]
        distance = np.where(few, np.einsum("kij,kji->k", np.linalg.inv(covariance), scatter), n * m)
        return float(-0.5 * (n * (m * math.log(2.0 * math.pi) + determinant) + distance).sum())

    def _standardised(self, numbers: Floats) -> Floats:
        """Return the numbers with mean 0 and variance 1, zeros where they are constant: G² does not see scales."""
        if not self.n_rows:
            return numbers
        centred = numbers - (numbers @ self._weights / self.n_rows)[:, None]
        spread = np.sqrt(centred**2 @ self._weights / self.n_rows)
        constant = spread <= 1e-14 * np.abs(numbers).max(axis=1, initial=0.0)
        return np.where(constant[:, None], 0.0, centred / np.where(constant, 1.0, spread)[:, None])


def _parameters(m: int) -> int:
    """Return the parameters of one configuration: its share, m means and the covariances."""
    return 1 + m + m * (m + 1) // 2
