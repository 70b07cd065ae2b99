"""Scores of families of discrete columns over rows in memory, computed on demand and cached.

Columns with few states are packed as bits. ``regression_scores.py`` is for families with a continuous child.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._counting.count_extensions import (
    count_bits,
    family_code,
    pack_states,
    score_extensions,
    score_tables,
    score_weighted,
)
from bayeskit._structure.search_protocol import Family, Question, Score, members
from bayeskit.typing import Floats

Ints = NDArray[np.int64]

# If there are more configurations than this and than rows, the ones that occur are renumbered.
SMALL_TABLE = 4096
# For tables with fewer cells, counting 64 rows at a time by bits is faster than one row at a time.
FEW_CELLS = 150
# Variables with more states are not packed as bits: their bit planes would need more memory than their codes.
MOST_PLANES = 32


class PackedRows:
    """Complete columns of codes, and the bit planes of those with few states.

    Parameters
    ----------
    columns : unsigned integer array of shape (variables, rows)
    sizes : int64 array
        The number of declared states of each variable.
    with_bits : bool
        Whether to pack bits. Must be false if rows have weights, which bits cannot represent.
    """

    def __init__(self, columns: NDArray[Any], sizes: Ints, with_bits: bool = True) -> None:
        self.columns = columns
        self.sizes = np.asarray(sizes, np.int64)
        self.n_rows = int(columns.shape[1])
        self._with_bits = with_bits
        packed = np.where(self.sizes <= (MOST_PLANES if with_bits else 0), self.sizes, 0)
        self._any_wide = bool((packed < self.sizes).any())
        self._first = np.concatenate([[0], np.cumsum(packed)]).astype(np.int64)
        self.planes = np.empty((int(self._first[-1]), (self.n_rows + 63) >> 6), np.uint64)
        pack_states(columns, packed, self._first, self.planes)

    def is_wide(self, some: Ints) -> NDArray[np.bool_]:
        """Return which variables are not packed as bits."""
        return np.asarray(self.sizes[some] > MOST_PLANES)

    def split(self, more: Ints) -> NDArray[np.bool_] | None:
        """Return which variables are wide if only some are, so that the others can still be counted by bits."""
        if not self._any_wide or not self._with_bits:
            return None
        wide = self.is_wide(more)
        return wide if 0 < wide.sum() < len(more) else None

    def suits_bits(self, inside: Ints, more: Ints, configurations: float) -> bool:
        """Return whether tables of this many configurations with each of ``more`` are counted faster by bits."""
        few = self._with_bits and configurations * float(self.sizes[more].mean()) <= FEW_CELLS
        return few and not (self._any_wide and bool(self.is_wide(np.append(inside, more)).any()))

    def tables(self, inside: Ints, more: Ints, configurations: int) -> tuple[Ints, Ints]:
        """Count some variables with each of ``more`` by bits. Return all cells, and the start of each table."""
        start = np.concatenate([[0], np.cumsum(configurations * self.sizes[more])])
        tables = np.empty(int(start[-1]), np.int64)
        count_bits(
            self.planes,
            self._first,
            self.sizes,
            inside,
            more,
            start,
            np.empty((len(inside), self.planes.shape[1]), np.uint64),
            np.empty(len(inside), np.int64),
            tables,
        )
        return tables, start

    def code(self, some: Ints, declared: float) -> tuple[NDArray[np.uint32], int]:
        """Return the index of each row's configuration of some variables, and the number of indices.

        ``declared`` is the number of declared configurations.
        """
        code = np.empty(self.n_rows, np.uint32)
        if declared <= max(SMALL_TABLE, self.n_rows):
            family_code(self.columns, some, self.sizes, code)
            return code, int(declared)
        # Renumber after each variable, so that there are never more indices than rows and they stay within their type.
        code[:], q = 0, 1
        for v in some:
            size = int(self.sizes[v])
            wide = code.astype(np.int64) * size + self.columns[v]
            if q * size <= max(SMALL_TABLE, self.n_rows):
                code, q = wide.astype(np.uint32), q * size
            else:
                seen, numbered = np.unique(wide, return_inverse=True)
                code, q = numbered.astype(np.uint32), len(seen)
        return code, q


class KnownScores:
    """The scores found so far: of families, and of each extended by one variable, as an array over all variables.

    Arrays take eight bytes for a score, where an entry for each family takes hundreds if there are many columns.
    """

    def __init__(self, n: int) -> None:
        self.n_scored = 0
        self._unknown = np.full(n, np.nan)
        self._alone: dict[tuple[int, int], float] = {}
        self._extended: dict[tuple[int, int], Floats] = {}

    def find(self, child: int, parents: int) -> float | None:
        """Return the score of a family; None if it is not known."""
        found = self._alone.get((child, parents))
        if found is None:
            for v in members(parents):
                row = self._extended.get((child, parents ^ 1 << v))
                if row is not None and row[v] == row[v]:
                    found = self._alone[child, parents] = float(row[v])
                    break
        return found

    def keep(self, child: int, parents: int, score: float) -> None:
        self._alone[child, parents] = score
        self.n_scored += 1

    def extended(self, child: int, parents: int, more: Ints) -> tuple[Floats, Ints]:
        """Return the scores with one more parent each, over all variables, and those of ``more`` that are unknown."""
        row = self.row(child, parents)
        new = more[np.isnan(row[more])]
        if len(new):
            for v in new.tolist():
                row[v] = self._alone.get((child, parents | 1 << v), np.nan)
            new = new[np.isnan(row[new])]
        return row, new

    def row(self, child: int, parents: int) -> Floats:
        """Return the scores with one more parent each, over all variables: NaN where they are not known."""
        row = self._extended.get((child, parents))
        if row is None:
            row = self._extended[child, parents] = self._unknown.copy()
        return row

    def fill(self, row: Floats, some: Ints, scores: Floats) -> None:
        """Write new scores to a row."""
        row[some] = scores
        self.n_scored += len(some)


# A table with more cells than this, and more than some cells for each row, is not allocated. The cells that occur are
# sorted instead.
MOST_CELLS, CELLS_A_ROW = 2**16, 8
# Numbers of configurations are limited to this, which is still a finite float.
MOST_CONFIGURATIONS = 10**300


class FamilyScores:
    """Scores of families of discrete columns, for a search.

    Parameters
    ----------
    columns : unsigned integer array of shape (variables, rows)
        Codes, complete: every cell below the size of its variable.
    sizes : int64 array
        The number of declared states of each variable.
    score : Score
    weights : float64 array, optional
        The weight of each row, which counts as this many rows. By default 1.

    Examples
    --------
    >>> coins = FamilyScores(np.array([[0, 0, 1, 1], [0, 0, 1, 1]], np.uint8), np.array([2, 2]), Score("loglik"))
    >>> coins([Family(1, 0), Family(1, 0b01)])  # alone 4 log ½; given the other, it is certain
    [array([-2.77258872]), array([0.])]
    """

    def __init__(
        self, columns: NDArray[Any], sizes: Ints, score: Score, weights: Floats | None = None
    ) -> None:
        n = columns.shape[1]
        # An additional column with a single state stands for a family without a further parent.
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
        self._known = KnownScores(len(sizes))

    @property
    def n_scored(self) -> int:
        """The number of families counted."""
        return self._known.n_scored

    def __call__(self, question: Question) -> list[Floats]:
        return [self._answer(family) for family in question]  # type: ignore[arg-type]

    def _answer(self, family: Family) -> Floats:
        child, parents, more = family
        if more is None:
            score = self._known.find(child, parents)
            if score is None:
                score = float(self._count(child, parents, self._alone)[0])
                self._known.keep(child, parents, score)
            return np.array([score])
        wanted = np.array(more, np.int64)
        row, new = self._known.extended(child, parents, wanted)
        if len(new):
            self._known.fill(row, new, self._count(child, parents, new))
        return row[wanted]

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
        """Score one family from the cells that occur, of which there are at most as many as rows."""
        r = int(self._sizes[child])
        _, above = np.unique(
            code.astype(np.int64) * int(self._sizes[v]) + self._columns[v], return_inverse=True
        )
        _, cell = np.unique(above * r + self._columns[child], return_inverse=True)
        cells, of_parents = np.bincount(cell, self._weights), np.bincount(above, self._weights)
        if self.score.by_likelihood:
            return _sum_x_log_x(cells) - _sum_x_log_x(of_parents)
        from scipy.special import gammaln  # questions to a network need no SciPy

        weight = self.score.weight
        q = float(len(of_parents) if self.score.name == "bds" else declared * int(self._sizes[v]))
        a = -weight if weight < 0.0 else weight / (q * r)
        inside = gammaln(a + cells).sum() - len(cells) * gammaln(a)
        return float(inside - gammaln(a * r + of_parents).sum() + len(of_parents) * gammaln(a * r))


def _sum_x_log_x(counts: NDArray[Any]) -> float:
    return float((counts * np.log(counts)).sum())
