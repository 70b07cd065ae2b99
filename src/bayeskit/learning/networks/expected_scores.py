"""Scores of families over rows with holes: from what the missing cells are expected to hold."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from bayeskit.learning.networks.expected_families import ExpectedFamilies
from bayeskit.learning.search.family_scores import MOST_CONFIGURATIONS
from bayeskit.structure.criteria import Score
from bayeskit.structure.questions import Family, Question, members
from bayeskit.typing import Floats

Ints = NDArray[np.int64]


class ExpectedScores:
    """Answers what a search asks of discrete columns from expected counts, as if they were counts of rows.

    Parameters
    ----------
    families : ExpectedFamilies
    score : Score
    n_rows : float
        What the rows weigh together.

    Examples
    --------
    >>> from bayeskit.inference.exact import Exact
    >>> from bayeskit.inference.potentials import Potentials
    >>> from bayeskit.learning.networks.row_patterns import RowPatterns
    >>> coin = Exact(Potentials.laid_out([2], [[0]], [np.array([0.5, 0.5])], [0], ("coin",)))
    >>> none = RowPatterns(np.empty((0, 1), np.int64), np.empty(0), np.empty(0, np.int64))
    >>> unseen = RowPatterns(np.array([[2]]), np.array([4.0]), np.array([0]))
    >>> ExpectedScores(ExpectedFamilies(coin, none, unseen), Score("loglik"), 4.0)([Family(0, 0)])  # 4 log ½
    [array([-2.77258872])]
    """

    def __init__(self, families: ExpectedFamilies, score: Score, n_rows: float) -> None:
        self.families, self.score = families, score
        self._penalty = score.penalty(n_rows)
        # The last column is one of a single state: a family without further parents is one with this.
        self._start = families.offsets
        self._sizes = np.append(families.sizes, 1)
        self._known: dict[tuple[int, int], float] = {}

    @property
    def n_scored(self) -> int:
        """How many families were scored."""
        return len(self._known)

    def __call__(self, question: Question) -> list[Floats]:
        families: list[Family] = list(question)  # type: ignore[arg-type]
        # Counts of a base with every column answer for single families too: these come after.
        for child, parents, more in families:
            if more is not None and not all((child, parents | 1 << v) in self._known for v in more):
                self._learn(child, parents | 1 << child)
        for child, parents, more in families:
            if more is None and (child, parents) not in self._known:
                self._learn(child, self.families.base_of(parents | 1 << child, child))
        return [
            np.array([self._known[child, some] for some in _sets(parents, more)])
            for child, parents, more in families
        ]

    def total(self, parents: Sequence[int]) -> float:
        """Return the score of a graph."""
        return float(sum(found[0] for found in self([Family(v, mine) for v, mine in enumerate(parents)])))

    def _learn(self, child: int, base: int) -> None:
        """Score a child with the rest of a base, alone and with every other column."""
        digits, counts = self.families.extensions(base)
        inside = [*members(base)]
        parents = base ^ (1 << child)
        r = int(self._sizes[child])
        declared = min(math.prod(int(self._sizes[v]) for v in members(parents)), MOST_CONFIGURATIONS)
        above = _without(digits, counts, inside.index(child))
        # Columns are states of a further parent: each adds its configurations to those of the parents.
        q = np.repeat(float(declared) * self._sizes, self._sizes)
        by_variable = np.add.reduceat(fit_of_columns(counts, above, self.score, r, q), self._start)
        found = by_variable - self._penalty * (r - 1) * float(declared) * self._sizes
        self._known[child, parents] = float(found[-1])
        for v, value in enumerate(found[:-1].tolist()):
            if not base >> v & 1:
                self._known[child, parents | 1 << v] = value


def fit_of_columns(cells: Floats, above: Floats, score: Score, r: int, q: Floats) -> Floats:
    """Return what each column adds to the score of its family, before what parameters cost.

    Parameters
    ----------
    cells : shape (configurations of parents and child that occur, columns)
    above : shape (configurations of parents that occur, columns)
    r : the states of the child
    q : the declared configurations of the parents, for each column
    """
    if score.by_likelihood:
        return np.asarray(xlogy(cells, cells).sum(axis=0) - xlogy(above, above).sum(axis=0))
    a = np.ones_like(q) if score.weight < 0.0 else score.weight / (q * r)
    inside = (gammaln(a + cells) - gammaln(a)).sum(axis=0)
    return np.asarray(inside - (gammaln(a * r + above) - gammaln(a * r)).sum(axis=0))


def _without(digits: Ints, counts: Floats, axis: int) -> Floats:
    """Sum the child out."""
    order = np.lexsort(np.delete(digits, axis, axis=1).T) if digits.shape[1] > 1 else np.arange(len(digits))
    rest = np.delete(digits, axis, axis=1)[order]
    new = np.ones(len(rest), np.bool_)
    new[1:] = (rest[1:] != rest[:-1]).any(axis=1)
    return np.asarray(np.add.reduceat(counts[order], np.flatnonzero(new), axis=0))


def _sets(parents: int, more: tuple[int, ...] | None) -> list[int]:
    return [parents] if more is None else [parents | 1 << v for v in more]
