"""Tests of independence over discrete rows in memory: counted as they are asked for, each once."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from bayeskit.counting.kernels.contingency import measure_extensions, measure_tables
from bayeskit.counting.kernels.weighted_extensions import measure_weighted
from bayeskit.learning.search.packed_rows import PackedRows
from bayeskit.learning.search.remembered_tests import RememberedTests
from bayeskit.structure.questions import Test, members
from bayeskit.structure.tests_of_independence import as_independence_test
from bayeskit.typing import Floats

Ints = NDArray[np.int64]

# Tests with adjusted degrees of freedom find for independence where a cell has fewer rows than this.
ADJUSTED_ROWS_PER_CELL = 5


class IndependenceTests(RememberedTests):
    """Answers whether two discrete variables are independent given others: (statistic, degrees of freedom, p).

    Parameters
    ----------
    columns : unsigned integer array of shape (variables, rows)
        Codes, complete: every cell below the size of its variable.
    sizes : int64 array
        The declared states of each variable.
    name : "g2", "x2", "g2-adf", "x2-adf", "mi-sh"
        See :class:`~bayeskit.structure.tests_of_independence.IndependenceTest`. The degrees of freedom are
        (r_a − 1)(r_b − 1) ∏ r_z over declared states. "-adf" takes Σ_z (states of a seen there − 1)(states of b
        seen there − 1), and finds for independence (statistic 0, p = 1) with fewer than five rows a cell.
    min_rows : float
        With fewer rows for each degree of freedom the test is not made, because it has no power there: p is NaN,
        which is neither above a level nor below it. A search then does not take an arc away, nor add one. 0: all
        tests are made.
    weights : float64 array, optional
        What each row weighs: as many rows as that. One each where it is left out.

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
        # One pass over z and the first variable serves all the second ones.
        groups: dict[tuple[int, int], list[int]] = defaultdict(list)
        for a, b, given in tests:
            groups[a, given].append(b)
        found = [self._measure(a, given, np.array(others, np.int64)) for (a, given), others in groups.items()]
        measured = np.concatenate(found)
        answers = zip(*measured.T.tolist(), p_values(measured[:, 0], measured[:, 1]).tolist())
        for (a, given), others in groups.items():
            for b in others:
                self._known[Test(a, b, given)] = next(answers)

    def _measure(self, a: int, given: int, others: Ints) -> Floats:
        """Return the statistic and the degrees of freedom of a with each of the others."""
        z = np.array([*members(given)], np.int64)
        r, s = int(self._sizes[a]), self._sizes[others]
        # In floats: the configurations of many variables are more than any integer type holds.
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
    """Return how likely χ² of so many degrees of freedom is at least as large; NaN where a test was not made."""
    # A variable of one state depends on nothing.
    p = np.where(degrees > 0, chdtrc(np.maximum(degrees, 1.0), np.maximum(statistic, 0.0)), 1.0)
    p[np.isnan(statistic)] = np.nan
    return p
