"""Scores of families over rows in memory: counted as they are asked for, each once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bayeskit.counting.kernels.extensions import score_extensions, score_tables
from bayeskit.counting.kernels.weighted_extensions import score_weighted
from bayeskit.learning.search.packed_rows import PackedRows
from bayeskit.structure.questions import Family, Question, members
from bayeskit.structure.scores import Score
from bayeskit.typing import Floats

Ints = NDArray[np.int64]

# A table of more cells than this, and than a few for each row, is not laid out: the cells that occur are sorted.
MOST_CELLS, CELLS_A_ROW = 2**16, 8
# More configurations than this are as good as infinitely many, and still a number.
MOST_CONFIGURATIONS = 10**300


class FamilyScores:
    """Answers what a search asks of discrete columns.

    Parameters
    ----------
    columns : unsigned integer array of shape (variables, rows)
        Codes, complete: every cell below the size of its variable.
    sizes : int64 array
        The declared states of each variable.
    score : Score
    weights : float64 array, optional
        What each row weighs: as many rows as that. One each where it is left out.

    Examples
    --------
    >>> coins = FamilyScores(np.array([[0, 0, 1, 1], [0, 0, 1, 1]], np.uint8), np.array([2, 2]), Score("loglik"))
    >>> coins([Family(1, 0), Family(1, 0b01)])  # alone 4 log ½; given the other it is sure
    [array([-2.77258872]), array([0.])]
    """

    def __init__(
        self, columns: NDArray[Any], sizes: Ints, score: Score, weights: Floats | None = None
    ) -> None:
        n = columns.shape[1]
        # One more column, of one state: a family without further parents is one with this.
        alone = np.zeros((1, n), columns.dtype)
        self._rows = PackedRows(np.vstack([columns, alone]), np.append(sizes, 1), weights is None)
        self._weights = weights
        self._columns, self._sizes = self._rows.columns, self._rows.sizes
        self._alone = np.array([len(sizes)], np.int64)
        self.score = score
        self.n_rows = n
        self._penalty = score.penalty(n if weights is None else float(weights.sum()))
        counts = np.arange(n + 1 if weights is None else 0, dtype=np.float64)
        self._x_log_x = counts * np.log(np.maximum(counts, 1.0))
        self._known: dict[tuple[int, int], float] = {}

    @property
    def n_scored(self) -> int:
        """How many families were counted."""
        return len(self._known)

    def __call__(self, question: Question) -> list[Floats]:
        return [self._answer(family) for family in question]  # type: ignore[arg-type]

    def _answer(self, family: Family) -> Floats:
        child, parents, more = family
        known = self._known
        if more is None:
            if (child, parents) not in known:
                known[child, parents] = float(self._count(child, parents, self._alone)[0])
            return np.array([known[child, parents]])
        sets = [parents | (1 << v) for v in more]
        new = [v for v, some in zip(more, sets) if (child, some) not in known]
        if new:
            found = self._count(child, parents, np.array(new, np.int64))
            for v, score in zip(new, found.tolist()):
                known[child, parents | (1 << v)] = score
        return np.array([known[child, some] for some in sets])

    def _count(self, child: int, parents: int, more: Ints) -> Floats:
        sizes = self._sizes[more]
        out = np.empty(len(more))
        wide = self._rows.split(more)
        if wide is not None:
            out[wide] = self._count(child, parents, more[wide])
            out[~wide] = self._count(child, parents, more[~wide])
            return out
        inside = np.array([*members(parents)], np.int64)
        r = int(self._sizes[child])
        declared = min(math.prod(self._sizes[inside].tolist()), MOST_CONFIGURATIONS)
        if self._rows.suits_bits(np.append(inside, child), more, declared * r):
            self._count_by_bits(child, inside, more, declared, out)
        else:
            self._count_by_rows(child, inside, more, declared, out)
        if self._penalty:
            out -= self._penalty * (r - 1) * float(declared) * sizes
        return out

    def _count_by_bits(self, child: int, parents: Ints, more: Ints, declared: int, out: Floats) -> None:
        r = int(self._sizes[child])
        tables, start = self._rows.tables(np.append(parents, child), more, declared * r)
        score_tables(
            tables,
            start,
            self._sizes,
            more,
            declared,
            r,
            self.score.by_likelihood,
            self.score.weight,
            self.score.name == "bds",
            self._x_log_x,
            out,
        )

    def _count_by_rows(self, child: int, parents: Ints, more: Ints, declared: int, out: Floats) -> None:
        r = int(self._sizes[child])
        code, q = self._rows.code(parents, declared)
        largest = int(self._sizes[more].max())
        if q * r * largest > max(MOST_CELLS, CELLS_A_ROW * self.n_rows):
            for m, v in enumerate(more.tolist()):
                out[m] = self._count_by_sorting(child, v, code, declared)
            return
        code = code * np.uint32(r) + self._columns[child]
        by_score = self.score.by_likelihood, self.score.weight, self.score.name == "bds", float(declared)
        if self._weights is None:
            cells = np.empty(2 * q * r * largest, np.int32)
            of_rows = self._columns, self._sizes, code, q, r, more
            score_extensions(*of_rows, *by_score, self._x_log_x, cells, out)
        else:
            weighted = self._columns, self._sizes, code, self._weights, q, r, more
            score_weighted(*weighted, *by_score, np.empty(q * r * largest), out)

    def _count_by_sorting(self, child: int, v: int, code: NDArray[np.uint32], declared: int) -> float:
        """Score one family from the cells that occur: never more than there are rows."""
        r = int(self._sizes[child])
        _, above = np.unique(
            code.astype(np.int64) * int(self._sizes[v]) + self._columns[v], return_inverse=True
        )
        _, cell = np.unique(above * r + self._columns[child], return_inverse=True)
        cells, of_parents = np.bincount(cell, self._weights), np.bincount(above, self._weights)
        if self.score.by_likelihood:
            return _sum_x_log_x(cells) - _sum_x_log_x(of_parents)
        weight = self.score.weight
        q = float(len(of_parents) if self.score.name == "bds" else declared * int(self._sizes[v]))
        a = -weight if weight < 0.0 else weight / (q * r)
        inside = gammaln(a + cells).sum() - len(cells) * gammaln(a)
        return float(inside - gammaln(a * r + of_parents).sum() + len(of_parents) * gammaln(a * r))


def _sum_x_log_x(counts: NDArray[Any]) -> float:
    return float((counts * np.log(counts)).sum())
