"""Tests of independence of numeric columns, from their correlations alone."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr, stdtr

from bayeskit.learning.search.remembered_tests import RememberedTests
from bayeskit.structure.questions import Test, members
from bayeskit.structure.tests_of_independence import as_independence_test

Floats = NDArray[np.float64]


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
