"""Rows in bins, and the bootstraps that each stands in: drawn from what the row holds, so they can be drawn again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._fitting.cut_points import frequency_cut_points, midpoints
from bayeskit._statistics.tree_counts import MOST_CODES
from bayeskit.typing import Floats

# Draws of all rows together, for each of which there is an entry in the table of x log x.
_MOST_DRAWS = 2**20
# Of a cell with more rows as many are taken as there are: chance would change little.
_LARGEST_MEAN = 500.0

Words = NDArray[np.uint64]


def _mixed(words: Words) -> Words:
    """Spread words, so that neighbours have nothing in common (the finish of SplitMix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def row_words(columns: list[NDArray[Any]], n_rows: int) -> Words:
    """Return a word for each row that tells rows apart by what they hold, wherever they stand."""
    words = np.zeros(n_rows, np.uint64)
    for column in columns:
        words = _mixed(words + np.uint64(0x9E3779B97F4A7C15) + column.astype(np.uint64))
    return words


def poisson_draws(words: Words, means: Floats, seed: int, t: int) -> NDArray[np.int64]:
    """Draw how often each row is taken into the bootstrap of tree t: Poisson, by its own word.

    It depends on the row, its weight and the seed alone: neither the order of rows nor other rows change it.
    """
    salt = _mixed(np.array([seed * 2**20 + t + 1], np.uint64))
    uniform = (_mixed(words ^ salt) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    draws = np.where(means > _LARGEST_MEAN, np.rint(means), 0.0)
    open_rows = np.flatnonzero(means <= _LARGEST_MEAN)
    term = np.exp(-means[open_rows])
    rest, k = uniform[open_rows] - term, 0
    while len(open_rows):
        above = (rest >= 0.0) & (term > 0.0)
        open_rows, rest, term = open_rows[above], rest[above], term[above]
        k += 1
        draws[open_rows] = k
        term = term * means[open_rows] / k
        rest = rest - term
    return draws.astype(np.int64)


def bin_cuts(values: Floats, weights: Floats) -> tuple[float, ...]:
    """Cut a column into at most 254 intervals: one for each value or, where there are more, of about equal weight.

    A value that outweighs an interval has one to itself, and does not take cuts from the others.
    """
    there = ~np.isnan(values) & (weights > 0.0)
    distinct, place = np.unique(values[there], return_inverse=True)
    if len(distinct) <= MOST_CODES:
        return tuple(midpoints(distinct, np.arange(len(distinct) - 1)).tolist()) if len(distinct) else ()
    weight = np.bincount(place, weights[there])
    weight = np.minimum(weight, weight.sum() / MOST_CODES)
    return tuple(frequency_cut_points(distinct, MOST_CODES, weight).tolist())


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows that trees are grown from.

    Attributes
    ----------
    numbers : uint8 array of shape (n, numeric columns)
        Codes of the trees, 255 where there is no value.
    codes : array of shape (n, categorical columns)
        Codes of the schema.
    sizes : for each categorical column, how many states it has; no value is the code after them
    target : int64 array of shape (n,)
    weights : array of shape (n,)
    n_classes : int
    """

    numbers: NDArray[np.uint8]
    codes: NDArray[Any]
    sizes: tuple[int, ...]
    target: NDArray[np.int64]
    weights: Floats
    n_classes: int

    def class_order(self) -> NDArray[np.intp]:
        """Return the classes in an order that goes by their rows: their names must not change what chance does."""
        words = row_words([*self.numbers.T, *self.codes.T], len(self.target))
        sums = [np.unique(words[self.target == c]).sum(dtype=np.uint64) for c in range(self.n_classes)]
        return np.argsort(np.array(sums, np.uint64), kind="stable")

    @cached_property
    def _cells(self) -> tuple[Words, NDArray[np.intp], NDArray[np.intp], Floats]:
        """Rows that are equal are one: their word, the first of them, which each row is, the weight of all."""
        columns = [*self.numbers.T, *self.codes.T, self.target]
        words, first, which = np.unique(
            row_words(columns, len(self.target)), return_index=True, return_inverse=True
        )
        return words, first, which.ravel(), np.bincount(which.ravel(), self.weights).astype(np.float64)

    @cached_property
    def _means(self) -> Floats:
        """How often each cell is drawn in the mean: its weight, within what can be counted.

        Where weights are shares rather than numbers of rows, as many are drawn as there are cells.
        """
        weight = self._cells[3]
        total = max(float(weight.sum()), 1e-300)
        return weight * min(max(1.0, np.count_nonzero(weight) / total), _MOST_DRAWS / total)

    def draws(self, seed: int, t: int) -> NDArray[np.int64]:
        """Return how often each cell stands in the bootstrap of tree t."""
        return poisson_draws(self._cells[0], self._means, seed, t)

    def out_of_bag(self, seed: int, t: int) -> Floats:
        """Return the probability that none of the draws of a row's cell was this row: shape (n,).

        A row that is unlike all others is out of the bag of a tree, or is not. Of equal rows no one can say which were
        drawn, so each has the share of all cases in which it was not.
        """
        _, _, which, weight = self._cells
        one = np.minimum(self.weights, 1.0)  # a row of weight two is two rows
        share = np.divide(one, weight[which], out=np.ones(len(which)), where=weight[which] > 0.0)
        return np.asarray((1.0 - np.minimum(share, 1.0)) ** self.draws(seed, t)[which])

    @cached_property
    def cell_rows(self) -> NDArray[np.intp]:
        """One row of each cell, in an order that does not depend on that of the rows."""
        return self._cells[1]
