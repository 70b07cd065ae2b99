"""Scores of families in which a continuous child is regressed on its numeric parents, computed on demand and cached.

The sums of products of all columns are taken once for each set of discrete parents. A family then needs a Cholesky
factor of a few of their rows, and an extension by each of many parents one more row of it.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from itertools import accumulate, chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._fitting.search.family_scores import MOST_CONFIGURATIONS, FamilyScores, KnownScores
from bayeskit._fitting.search.node_columns import NodeColumns
from bayeskit._numba import kernel
from bayeskit._statistics.regressions import regressed
from bayeskit._structure.search_protocol import Family, Question, Score, members
from bayeskit.errors import SettingError
from bayeskit.typing import Floats

Ints = NDArray[np.int64]

# The smallest residual variance, as a fraction of the column's variance. It keeps the score of an exact copy finite.
LEAST_SHARE = 1e-12
# A residual is read from the Cholesky factor if its share of the child's squares times the smallest pivot is at least
# this. Rounding then changes it by less than 1e-10 of itself; below, the parents may be collinear.
WELL_CONDITIONED = 1e-5
# After this many families with the same discrete parents, the sums of all columns are computed at once for them,
# as long as all such sums need at most this many bytes.
ENOUGH_FAMILIES, LARGEST_SHARED = 16, 2**28
# The score of a discrete child with a continuous parent. It is finite because searches take differences.
IMPOSSIBLE = -1e300


@kernel
def sum_centred(z: Any, some: Any, cell: Any, weights: Any, n: Any, mean: Any, scatter: Any) -> None:
    """Write the weight and the mean of each cell, and Σw(z − mean)(z − mean)ᵀ.

    Parameters
    ----------
    z : array of shape (columns, rows)
    some : the columns to sum, in this order
    cell, weights : the cell and the weight of each row
    n, mean, scatter : arrays of shapes (cells,), (cells, m) and (cells, m, m)
    """
    rows, m, cells = cell.shape[0], some.shape[0], n.shape[0]
    for c in range(cells):
        n[c] = 0.0
    # The first row of a cell is subtracted before adding, so that the mean of equal numbers is exact.
    for i in range(rows):
        c = cell[i]
        if n[c] == 0.0:
            for a in range(m):
                mean[c, a] = z[some[a], i]
        n[c] += weights[i]
    for a in range(m):
        column = z[some[a]]
        for c in range(cells):
            scatter[c, a, a] = 0.0
        for i in range(rows):
            c = cell[i]
            scatter[c, a, a] += weights[i] * (column[i] - mean[c, a])
        for c in range(cells):
            if n[c] > 0.0:
                mean[c, a] += scatter[c, a, a] / n[c]
    for a in range(m):
        first = z[some[a]]
        for b in range(a + 1):
            second = z[some[b]]
            for c in range(cells):
                scatter[c, a, b] = 0.0
            for i in range(rows):
                c = cell[i]
                scatter[c, a, b] += weights[i] * (first[i] - mean[c, a]) * (second[i] - mean[c, b])
            for c in range(cells):
                scatter[c, b, a] = scatter[c, a, b]


@kernel
def residual_squares(
    scatter: Any, inside: Any, more: Any, child: int, enough: float, root: Any, out: Any
) -> int:
    """Write the residual sums of squares of a child regressed on some columns and one more, in each cell.

    They are Schur complements of correlations, by Cholesky. Returns how many are NaN: those in which a column is too
    nearly a combination of others. A column without spread in a cell explains nothing there.

    Parameters
    ----------
    scatter : array of shape (cells, columns, columns)
    inside : the columns that are parents in every case
    more : the one more of each case; negative for none
    child : a column
    enough : the least product of the smallest pivot and the residual share
    root : work space of shape (m + 3, m + 1)
    out : array of shape (cells, cases)
    """
    m = inside.shape[0]
    # The rows of the factor: parents, child, one more; then the roots of the squares, and the pivots' roots.
    last, unit = m + 1, m + 2
    unsure = 0
    for c in range(scatter.shape[0]):
        smallest = 1.0
        share = 1.0
        for a in range(m + 1):
            i = child
            if a < m:
                i = inside[a]
            square = scatter[c, i, i]
            root[unit, a] = math.sqrt(square) if square > 0.0 else 0.0
            pivot = 1.0
            for b in range(a):
                value = 0.0
                if root[unit, a] > 0.0 and root[unit, b] > 0.0:
                    value = scatter[c, i, inside[b]] / (root[unit, a] * root[unit, b])
                    for d in range(b):
                        value -= root[a, d] * root[b, d]
                    value /= root[b, b]
                root[a, b] = value
                pivot -= value * value
            if a < m:
                smallest = min(smallest, pivot)
                root[a, a] = math.sqrt(pivot) if pivot > 0.0 else 1.0
            else:
                share = pivot
        own = scatter[c, child, child]
        for k in range(more.shape[0]):
            v = more[k]
            left, least = share, smallest
            if v >= 0 and scatter[c, v, v] > 0.0:
                long = math.sqrt(scatter[c, v, v])
                pivot = 1.0
                across = 0.0
                if own > 0.0:
                    across = scatter[c, v, child] / (long * root[unit, m])
                for b in range(m):
                    value = 0.0
                    if root[unit, b] > 0.0:
                        value = scatter[c, v, inside[b]] / (long * root[unit, b])
                        for d in range(b):
                            value -= root[last, d] * root[b, d]
                        value /= root[b, b]
                    root[last, b] = value
                    pivot -= value * value
                    across -= value * root[m, b]
                least = min(least, pivot)
                if pivot > 0.0:
                    left -= across * across / pivot
            if own <= 0.0:
                out[c, k] = 0.0
            elif least > 0.0 and least * left >= enough:
                out[c, k] = left * own
            else:
                out[c, k] = math.nan
                unsure += 1
    return unsure


@kernel
def sum_log_likelihoods(n: Any, m: int, residual: Any, spread: float, least: float, out: Any) -> None:
    """Write the log-likelihood of regressions on m columns, summed over cells, from residual sums of squares.

    With too few rows to estimate a variance, that of the column is used. Otherwise a cell of one row would be certain.
    """
    for k in range(out.shape[0]):
        out[k] = 0.0
    for c in range(n.shape[0]):
        if n[c] > 0.0:
            free = n[c] - m - 1.0
            for k in range(out.shape[0]):
                variance = spread
                if free > 0.0:
                    variance = max(residual[c, k] / free, least * spread)
                out[k] -= 0.5 * n[c] * math.log(2.0 * math.pi * variance) + 0.5 * residual[c, k] / variance


@kernel
def score_regressions(
    n: Any,
    scatter: Any,
    child: Any,
    inside: Any,
    first: Any,
    more: Any,
    first_more: Any,
    penalty: float,
    spread: Any,
    enough: float,
    least: float,
    root: Any,
    residual: Any,
    out: Any,
) -> int:
    """Write the scores of many families without discrete parents; return how many residuals are NaN.

    Parameters
    ----------
    n, scatter : as in :class:`Sums`, of one cell
    child : the child of each family
    inside, first : the parents of all families; those of family f begin at ``first[f]``
    more, first_more : the one more parent of each case, negative for none; those of family f begin at ``first_more[f]``
    spread : the variance of each column
    enough, root : as in :func:`residual_squares`, for the largest family
    residual, out : arrays of shapes (1, cases) and (cases,)
    """
    unsure = 0
    for f in range(child.shape[0]):
        parents, cases = inside[first[f] : first[f + 1]], more[first_more[f] : first_more[f + 1]]
        squares, scores = (
            residual[:, first_more[f] : first_more[f + 1]],
            out[first_more[f] : first_more[f + 1]],
        )
        unsure += residual_squares(scatter, parents, cases, child[f], enough, root, squares)
        m = parents.shape[0]
        if cases[0] >= 0:
            m += 1
        sum_log_likelihoods(n, m, squares, spread[child[f]], least, scores)
        for k in range(scores.shape[0]):
            scores[k] -= penalty * (m + 2)
    return unsure


class Sums:
    """n and Σzzᵀ about the mean of some columns, in each configuration that occurs."""

    __slots__ = ("n", "scatter")

    def __init__(self, n: Floats, scatter: Floats) -> None:
        self.n, self.scatter = n, scatter

    def residuals(self, inside: Ints, more: Ints, child: int) -> Floats:
        """Return the residual sums of squares of a child in each cell (rows) and case (columns)."""
        out = np.empty((len(self.n), len(more)))
        root = np.empty((len(inside) + 3, len(inside) + 1))
        if residual_squares(self.scatter, inside, more, child, WELL_CONDITIONED, root, out):
            cell, case = np.nonzero(np.isnan(out))
            some = np.tile(inside, (len(cell), 1))
            if more[0] >= 0:
                some = np.column_stack([some, more[case]])
            some = np.column_stack([some, np.full(len(cell), child)])
            part = self.scatter[cell[:, None, None], some[:, :, None], some[:, None, :]]
            out[cell, case] = regressed(part)[1]
        return out


@lru_cache(maxsize=2**12)
def _array(some: tuple[int, ...]) -> Ints:
    return np.array(some, np.int64)


class MixedScores:
    r"""Scores of families of discrete and continuous columns, for a search.

    A continuous child with m numeric parents has, in every configuration of its discrete parents, the log-likelihood
    of its regression,

    .. math:: -\tfrac n2 \log 2\pi s^2 - \tfrac{n - m - 1}{2}, \qquad s^2 = \frac{RSS}{n - m - 1},

    with the *unbiased* variance, as in R's bnlearn, and m + 2 parameters. Only likelihood scores are supported. The
    score of a discrete child with a continuous parent is almost −∞.

    Parameters
    ----------
    columns : NodeColumns, of which the complete rows are used
    score : Score
    weights : float64 array, optional
        The weight of each complete row, which counts as this many rows. By default 1.
    """

    def __init__(self, columns: NodeColumns, score: Score, weights: Floats | None = None) -> None:
        if not score.by_likelihood:
            raise SettingError(
                "criterion={name!r} is for discrete columns only. Continuous ones are scored by loglik, aic or bic.",
                name=score.name,
            )
        self.score = score
        discrete, numeric = np.flatnonzero(columns.is_discrete), np.flatnonzero(~columns.is_discrete)
        self._place = {v: k for k, v in enumerate(discrete.tolist())}
        self._number = {v: k for k, v in enumerate(numeric.tolist())}
        self._of_states = sum(1 << v for v in self._place)
        self._is_number = ~columns.is_discrete
        self._sizes = columns.sizes
        self._tables = FamilyScores(columns.code_matrix(), columns.sizes[discrete], score, weights)
        self._numbers = np.ascontiguousarray(columns.number_matrix(), np.float64)
        self.n_rows = int(columns.complete.sum())
        self._weights = np.ones(self.n_rows) if weights is None else weights
        self._penalty = score.penalty(float(self._weights.sum()))
        self._known = KnownScores(len(columns.sizes))
        self._n_families: Counter[int] = Counter()
        self._room = LARGEST_SHARED
        # Without discrete parents, one matrix of sums is enough for all families.
        whole = _products(self._numbers, self._weights)
        self._sums_of = {0: whole}
        variance = np.diagonal(whole.scatter[0]) / max(float(whole.n[0]), np.finfo(float).tiny)
        # A constant column has no spread to go by.
        self._spread = np.where(variance > 0.0, variance, 1.0)

    @property
    def n_scored(self) -> int:
        """The number of families counted."""
        return self._tables.n_scored + self._known.n_scored

    def __call__(self, question: Question) -> list[Floats]:
        families: list[Family] = list(question)  # type: ignore[arg-type]
        if not self._place:
            return self._of_numbers(families)
        self._note_requests(families)
        return [self._answer(family) for family in families]

    def _of_numbers(self, families: list[Family]) -> list[Floats]:
        """Score families where all columns are continuous: those that are not known, all at once."""
        found: list[Any] = [None] * len(families)
        new: list[tuple[int, Family, Floats | None]] = []
        for k, family in enumerate(families):
            child, parents, more = family
            if more is None:
                score = self._known.find(child, parents)
                if score is None:
                    new.append((k, Family(child, parents, (-1,)), None))
                else:
                    found[k] = np.array([score])
                continue
            row = self._known.row(child, parents)
            some = row[_array(more)]
            unknown = np.isnan(some)
            n_unknown = np.count_nonzero(unknown)
            if not n_unknown:
                found[k] = some
            elif n_unknown == len(some):
                new.append((k, family, row))
            else:
                new.append((k, Family(child, parents, tuple(_array(more)[unknown].tolist())), row))
        if not new:
            return found
        scores, start = self._regressions([family for _, family, _ in new]), 0
        for k, family, known in new:
            child, parents, more = family
            some = scores[start : start + len(more or ())]
            start += len(some)
            if known is None:
                self._known.keep(child, parents, float(some[0]))
                found[k] = some
                continue
            self._known.fill(known, _array(more), some)
            found[k] = some if family is families[k] else known[_array(families[k].more)]
        return found

    def _regressions(self, families: list[Family]) -> Floats:
        """Return the scores of all cases of these families, one after the other; −1 is for no further parent."""
        sums = self._sums_of[0]
        child, parents, cases = zip(*families, strict=True)
        inside = [members(some) for some in parents]
        first = np.array([0, *accumulate(map(len, inside))])
        first_more = np.array([0, *accumulate(map(len, cases))])
        more = np.array(list(chain.from_iterable(cases)), np.int64)
        largest = max(map(len, inside))
        out, residual = np.empty(len(more)), np.empty((1, len(more)))
        unsure = score_regressions(
            sums.n,
            sums.scatter,
            np.array(child, np.int64),
            np.array(list(chain.from_iterable(inside)), np.int64),
            first,
            more,
            first_more,
            self._penalty,
            self._spread,
            WELL_CONDITIONED,
            LEAST_SHARE,
            np.empty((largest + 3, largest + 1)),
            residual,
            out,
        )
        if unsure:
            for case in np.flatnonzero(np.isnan(residual[0])).tolist():
                f = int(np.searchsorted(first_more, case, "right")) - 1
                some = [] if more[case] < 0 else [int(more[case])]
                out[case] = self._scores(child[f], parents[f], some)[0]
        return out

    def _note_requests(self, families: list[Family]) -> None:
        """Count the families of each set of discrete parents, to decide whose sums are shared."""
        for child, parents, more in families:
            if child in self._number:
                given = parents & self._of_states
                if more is None:
                    self._n_families[given] += 1
                else:
                    for v in more:
                        self._n_families[given | 1 << v if v in self._place else given] += 1

    def _answer(self, family: Family) -> Floats:
        child, parents, more = family
        if child in self._place:
            return self._of_discrete(family)
        if more is None:
            score = self._known.find(child, parents)
            if score is None:
                score = float(self._scores(child, parents, [])[0])
                self._known.keep(child, parents, score)
            return np.array([score])
        wanted = np.array(more, np.int64)
        row, new = self._known.extended(child, parents, wanted)
        if len(new):
            is_number = self._is_number[new]
            numeric = new[is_number]
            if len(numeric):
                self._known.fill(row, numeric, self._scores(child, parents, numeric.tolist()))
            for v in new[~is_number].tolist():
                self._known.fill(row, np.array([v]), self._scores(child, parents | 1 << v, []))
        return row[wanted]

    def _scores(self, child: int, parents: int, more: list[int]) -> Floats:
        """Score the child with these parents, or with each one of ``more`` numeric ones beside them."""
        given = parents & self._of_states
        inside = [self._number[v] for v in members(parents & ~given)]
        others = [self._number[v] for v in more] or [-1]
        place = self._number[child]
        sums = self._shared(given)
        if sums is None:
            # Only the columns of this family, renumbered.
            some = [*inside, *(v for v in others if v >= 0), place]
            sums = self._summed(given, np.array(some, np.int64))
            at = np.arange(len(some), dtype=np.int64)
            inside_at, others_at = at[: len(inside)], at[len(inside) : -1] if more else np.array([-1])
            place = len(some) - 1
        else:
            inside_at, others_at = np.array(inside, np.int64), np.array(others, np.int64)
        m = len(inside) + bool(more)
        residual = sums.residuals(inside_at, others_at, place)
        found = np.empty(len(others))
        sum_log_likelihoods(sums.n, m, residual, float(self._spread[self._number[child]]), LEAST_SHARE, found)
        found -= self._penalty * (m + 2) * float(self._declared(given))
        return found

    def _declared(self, given: int) -> int:
        """Return the number of declared configurations of discrete columns."""
        return min(math.prod(int(self._sizes[v]) for v in members(given)), MOST_CONFIGURATIONS)

    def _shared(self, given: int) -> Sums | None:
        """Return the sums of all columns in each configuration of ``given``, once enough families need them."""
        found = self._sums_of.get(given)
        if found is None and self._n_families[given] >= ENOUGH_FAMILIES:
            width = len(self._number)
            if 8 * min(self.n_rows, self._declared(given)) * width**2 <= self._room:
                found = self._sums_of[given] = self._summed(given, np.arange(width))
                self._room -= found.scatter.nbytes
        return found

    def _summed(self, given: int, some: Ints) -> Sums:
        inside = np.array([self._place[v] for v in members(given)], np.int64)
        code, size = self._tables._rows.code(inside, self._declared(given))
        there = np.bincount(code, minlength=size) > 0
        cell = (np.cumsum(there) - 1)[code]
        cells, m = int(there.sum()), len(some)
        n, mean, scatter = np.empty(cells), np.empty((cells, m)), np.empty((cells, m, m))
        sum_centred(self._numbers, some, cell, self._weights, n, mean, scatter)
        return Sums(n, scatter)

    def _of_discrete(self, family: Family) -> Floats:
        child, parents, more = family
        found = np.full(1 if more is None else len(more), IMPOSSIBLE)
        if any(v in self._number for v in members(parents)):
            return found
        place = self._place
        inside = sum(1 << place[v] for v in members(parents))
        if more is None:
            return self._tables([Family(place[child], inside)])[0]
        there = [k for k, v in enumerate(more) if v in place]
        if there:
            smaller = Family(place[child], inside, tuple(place[more[k]] for k in there))
            found[there] = self._tables([smaller])[0]
        return found


def _products(z: Floats, weights: Floats) -> Sums:
    """Return the sums of all columns in one cell, from numbers of shape (columns, rows)."""
    n = float(weights.sum())
    # The first row is subtracted before adding, so that a constant column is exactly zero about its mean.
    centred = z - z[:, :1]
    centred -= (centred @ weights / n)[:, None]
    rest = centred @ weights
    return Sums(np.array([n]), ((centred * weights) @ centred.T - np.outer(rest, rest) / n)[None])
