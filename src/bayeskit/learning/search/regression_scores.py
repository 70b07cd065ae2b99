"""Scores of families over columns of both kinds: a continuous child is regressed in each configuration of states."""

from __future__ import annotations

import math

import numpy as np

from bayeskit.errors import SettingError
from bayeskit.learning.search.family_scores import MOST_CONFIGURATIONS, FamilyScores
from bayeskit.learning.search.node_columns import NodeColumns
from bayeskit.statistics.regressions import Regressions
from bayeskit.structure.questions import Family, Question, members
from bayeskit.structure.scores import Score
from bayeskit.typing import Floats

# A residual variance of less than this share of the column's own counts as this share: an exact copy is no reason for
# an infinite score.
LEAST_SHARE = 1e-12
# The score of a discrete child with a continuous parent. A number and not −∞: searches take differences.
IMPOSSIBLE = -1e300


class MixedScores:
    r"""Answers what a search asks of discrete and continuous columns together.

    A continuous child with m numeric parents has in every configuration of its discrete parents the
    log-likelihood of its regression,

    .. math:: -\tfrac n2 \log 2\pi s^2 - \tfrac{n - m - 1}{2}, \qquad s^2 = \frac{RSS}{n - m - 1},

    with the *unbiased* variance, as R's bnlearn has it, and m + 2 parameters. Scores by likelihood only. A discrete
    child with a continuous parent is worth next to −∞.

    Parameters
    ----------
    columns : NodeColumns; its complete rows are used
    score : Score
    weights : float64 array, optional
        What each complete row weighs: as many rows as that. One each where it is left out.
    """

    def __init__(self, columns: NodeColumns, score: Score, weights: Floats | None = None) -> None:
        if not score.by_likelihood:
            raise SettingError(
                f"score={score.name!r} is for discrete columns only. Continuous ones are scored by loglik, aic or bic."
            )
        self.score = score
        self._discrete = np.flatnonzero(columns.is_discrete)
        self._place = {int(v): k for k, v in enumerate(self._discrete)}
        self._sizes = columns.sizes
        codes = columns.code_matrix()
        self._codes = codes
        self._tables = FamilyScores(codes, columns.sizes[self._discrete], score, weights)
        self._numbers = {
            int(v): row for v, row in zip(np.flatnonzero(~columns.is_discrete), columns.number_matrix())
        }
        self.n_rows = int(columns.complete.sum())
        self._weights = np.ones(self.n_rows) if weights is None else weights
        self._penalty = score.penalty(float(self._weights.sum()))
        self._known: dict[tuple[int, int], float] = {}
        order = sorted(self._numbers)
        everything = np.column_stack([np.empty((self.n_rows, 0)), *(self._numbers[v] for v in order)])
        # Where no discrete parent parts the rows, one matrix of moments serves every family.
        self._all = Regressions.plainly(everything, np.zeros(self.n_rows, np.int64), self._weights, 1)
        self._in_all = {v: k for k, v in enumerate(order)}

    @property
    def n_scored(self) -> int:
        """How many families were counted."""
        return self._tables.n_scored + len(self._known)

    def __call__(self, question: Question) -> list[Floats]:
        return [self._answer(family) for family in question]  # type: ignore[arg-type]

    def _answer(self, family: Family) -> Floats:
        child, parents, more = family
        if child in self._place:
            return self._of_discrete(family)
        sets = [parents] if more is None else [parents | (1 << v) for v in more]
        for some in sets:
            if (child, some) not in self._known:
                self._known[child, some] = self._regressed(child, [*members(some)])
        return np.array([self._known[child, some] for some in sets])

    def _of_discrete(self, family: Family) -> Floats:
        child, parents, more = family
        found = np.full(1 if more is None else len(more), IMPOSSIBLE)
        if any(v in self._in_all for v in members(parents)):
            return found
        place = self._place
        inside = sum(1 << place[v] for v in members(parents))
        if more is None:
            return self._tables([Family(place[child], inside)])[0]
        there = [k for k, v in enumerate(more) if v in place]
        if there:
            asked = Family(place[child], inside, tuple(place[more[k]] for k in there))
            found[there] = self._tables([asked])[0]
        return found

    def _regressed(self, child: int, parents: list[int]) -> float:
        discrete = [v for v in parents if v in self._place]
        numeric = [v for v in parents if v not in self._place]
        declared = min(math.prod(int(self._sizes[v]) for v in discrete), MOST_CONFIGURATIONS)
        if discrete:
            cell = np.zeros(self.n_rows, np.int64)
            for v in discrete:
                # Numbered anew after each, so that no number outgrows its type.
                wide = cell * int(self._sizes[v]) + self._codes[self._place[v]]
                seen, cell = np.unique(wide, return_inverse=True)
            z = np.column_stack([self._numbers[v] for v in (*numeric, child)])
            moments = Regressions.plainly(z, cell, self._weights, len(seen))
        else:
            moments = self._all.columns([self._in_all[v] for v in (*numeric, child)])
        spread = self._all.columns([self._in_all[child]]).pooled()[1] or 1.0
        total = sum(_log_likelihood(moments, k, spread) for k in range(len(moments.n)))
        return float(total - self._penalty * (len(numeric) + 2) * float(declared))


def _log_likelihood(moments: Regressions, cell: int, spread: float) -> float:
    n, m = float(moments.n[cell]), moments.pivot.shape[1] - 1
    _, _, residual = moments.solve(cell)
    free = n - m - 1.0
    # Too few rows to tell a variance: that of the column, or every cell of one row would be a certain one.
    variance = max(residual / free, LEAST_SHARE * spread) if free > 0.0 else spread
    return -0.5 * n * math.log(2.0 * math.pi * variance) - 0.5 * residual / variance
