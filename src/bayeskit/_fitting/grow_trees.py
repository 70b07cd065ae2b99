"""Trees of tests on binned columns, each grown on a bootstrap of the rows: the splits, and nothing else, are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._counting.backend import in_order
from bayeskit._fitting.cut_points import frequency_cut_points, midpoints
from bayeskit._fitting.long_runs import never
from bayeskit._numba import kernel, repeating
from bayeskit._statistics.row_sample import Words, mixed_words
from bayeskit._statistics.tree_counts import LEAF, LEFT, MISSING, MOST_CODES, RIGHT, STAYS
from bayeskit.typing import Floats

# Draws of all rows together, for each of which there is an entry in the table of x log x.
_MOST_DRAWS = 2**20
# Of a cell with more rows as many are taken as there are: chance would change little.
_LARGEST_MEAN = 500.0


def row_words(columns: list[NDArray[Any]], n_rows: int) -> Words:
    """Return a hash of each row's values, which does not depend on its position."""
    words = np.zeros(n_rows, np.uint64)
    for column in columns:
        words = mixed_words(words + np.uint64(0x9E3779B97F4A7C15) + column.astype(np.uint64))
    return words


def poisson_draws(words: Words, means: Floats, seed: int, t: int) -> NDArray[np.int64]:
    """Draw how often each row is taken into the bootstrap of tree t: Poisson, by its own word.

    It depends on the row, its weight and the seed alone: neither the order of rows nor other rows change it.
    """
    salt = mixed_words(np.array([seed * 2**20 + t + 1], np.uint64))
    uniform = (mixed_words(words ^ salt) >> np.uint64(11)).astype(np.float64) * 2.0**-53
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
        """Return the classes in an order that depends on their rows: their names must not change random choices."""
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
        """Return how often each cell occurs in the bootstrap sample of tree t."""
        return poisson_draws(self._cells[0], self._means, seed, t)

    def out_of_bag(self, seed: int, t: int) -> Floats:
        """Return the probability that none of the draws of a row's cell was this row: shape (n,).

        A row that differs from all others is either out of bag for a tree or not. Of equal rows it is not known which
        were drawn, so each has the probability that it was not.
        """
        _, _, which, weight = self._cells
        one = np.minimum(self.weights, 1.0)  # a row of weight two is two rows
        share = np.divide(one, weight[which], out=np.ones(len(which)), where=weight[which] > 0.0)
        return np.asarray((1.0 - np.minimum(share, 1.0)) ** self.draws(seed, t)[which])

    @cached_property
    def cell_rows(self) -> NDArray[np.intp]:
        """One row of each cell, in an order that does not depend on that of the rows."""
        return self._cells[1]


# Rows up to which inserting is quicker than counting codes.
_FEW = 24
# Columns of more states are ordered at random: an order by classes would itself overfit the rows.
_MOST_ORDERED = 30
# Imaginary rows with the mean share; they smooth the class share by which states are ordered.
_ORDER_ROWS = 5.0


@kernel
def order_rows(column: Any, rows: Any, start: Any, stop: Any, places: Any, ordered: Any) -> Any:
    """Put the rows start … stop − 1 in the order of their codes; return how many are no missing ones.

    ``places`` has 257 cells. Missing (255) comes last.
    """
    n = stop - start
    if n <= _FEW:
        for i in range(n):
            row = rows[start + i]
            code = column[row]
            j = i
            while j > 0 and column[ordered[j - 1]] > code:
                ordered[j] = ordered[j - 1]
                j -= 1
            ordered[j] = row
        present = n
        while present > 0 and column[ordered[present - 1]] == MISSING:
            present -= 1
        return present
    for code in range(257):
        places[code] = 0
    for i in range(start, stop):
        places[np.int64(column[rows[i]]) + 1] += 1
    for code in range(256):
        places[code + 1] += places[code]
    present = places[255]
    for i in range(start, stop):
        code = np.int64(column[rows[i]])
        ordered[places[code]] = rows[i]
        places[code] += 1
    return present


@kernel
def best_bound(
    column: Any, ordered: Any, present: Any, n: Any, target: Any, draws: Any, counts: Any, total: Any,
    least: Any, by_missing: Any, table: Any, found: Any,
) -> Any:  # fmt: skip
    """Find the best test of one column: its gain in ``found[0]``, its last row in ``found[1]``; return its way.

    A bound parts the ordered rows. Its score is Σ f(n_c) of both sides less f of their sizes, f(x) = x log x, so the
    best one leaves the least entropy. ``counts`` has a row for all, for those on the left and for those without a
    value, which are tried on the right, then on the left.
    """
    whole, left, holes = counts[0], counts[1], counts[2]
    n_classes, n_holes = whole.shape[0], np.int64(0)
    for c in range(n_classes):
        holes[c] = 0
    for i in range(present, n):
        holes[target[ordered[i]]] += draws[ordered[i]]
        n_holes += draws[ordered[i]]
    if not by_missing:  # rows without a value stay at the node: only the others are split
        total -= n_holes
        for c in range(n_classes):
            whole[c] -= holes[c]
    base = -table[total]
    for c in range(n_classes):
        base += table[whole[c]]
    sent = by_missing and n_holes > 0
    way = np.int64(RIGHT if sent else STAYS)
    found[0], found[1] = -np.inf, -1.0
    for attempt in range(2 if sent else 1):
        passed = n_holes * attempt
        score = 0.0
        for c in range(n_classes):
            left[c] = holes[c] * attempt
            score += table[left[c]] + table[whole[c] - left[c]]
        # Rows that have a value may all be on the left only where others are on the right.
        ends = present if sent and attempt == 0 else present - 1
        for i in range(present):
            row = ordered[i]
            c = target[row]
            d = np.int64(draws[row])
            x = left[c]
            y = whole[c] - x
            score += (table[x + d] - table[x]) + (table[y - d] - table[y])
            left[c] = x + d
            passed += d
            if i >= ends or (i + 1 < present and column[ordered[i + 1]] == column[row]):
                continue
            if passed < least or total - passed < least:
                continue
            here = score - table[passed] - table[total - passed]
            if here > found[0]:
                found[0], found[1] = here, i
                if attempt:
                    way = np.int64(LEFT)
    if not by_missing:
        for c in range(n_classes):
            whole[c] += holes[c]
    found[0] -= base
    return way


@kernel
def part_rows(column: Any, bound: Any, way: Any, rows: Any, bounds: Any) -> None:
    """Put rows start … stop − 1 in order: those on the left, on the right, and those that stay.

    ``bounds`` holds start and stop, and gets where the right ones begin and end.
    """
    low, high, end = bounds[0], bounds[1], bounds[1]
    while low < high:
        row = rows[low]
        code = column[row]
        if code == MISSING and way == STAYS:
            high -= 1
            end -= 1
            rows[low] = rows[high]
            rows[high] = rows[end]
            rows[end] = row
        elif (code == MISSING and way == LEFT) or (code != MISSING and code <= bound):
            low += 1
        else:
            high -= 1
            rows[low] = rows[high]
            rows[high] = row
    bounds[2], bounds[3] = low, end


@kernel
def grow(
    columns: Any, target: Any, draws: Any, rows: Any, limits: Any, by_missing: Any, seed: Any, table: Any,
    attributes: Any, counts: Any, found: Any, places: Any, ordered: Any, span: Any, stack: Any,
    features: Any, bounds: Any, ways: Any,
) -> Any:  # fmt: skip
    """Grow one tree and return the number of its nodes, numbered from the root, left before right.

    ``limits`` are the attributes tried at a node, the rows on either side, and the depth.
    """
    tried, least, deepest = limits[0], limits[1], limits[2]
    whole, n_attributes = counts[0], attributes.shape[0]
    word = np.uint64(seed)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, rows.shape[0], 0
    waiting, n_nodes = 1, 0
    while waiting:
        waiting -= 1
        start, stop, depth = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2]
        node = n_nodes
        n_nodes += 1
        for c in range(whole.shape[0]):
            whole[c] = 0
        for i in range(start, stop):
            whole[target[rows[i]]] += draws[rows[i]]
        total, most = np.int64(0), np.int64(0)
        for c in range(whole.shape[0]):
            total += whole[c]
            most = max(most, whole[c])
        if most == total or total < 2 * least or depth >= deepest:
            continue
        best, looked, way = 1e-9 * total, 0, np.int64(LEAF)
        for k in range(n_attributes):
            if looked >= tried:
                break
            # xorshift: shifts alone, so that plain Python has the same words.
            word ^= word << np.uint64(13)
            word ^= word >> np.uint64(7)
            word ^= word << np.uint64(17)
            other = k + np.int64((word >> np.uint64(11)) % np.uint64(n_attributes - k))
            attribute = attributes[other]
            attributes[other] = attributes[k]
            attributes[k] = attribute
            column = columns[attribute]
            present, n = order_rows(column, rows, start, stop, places, ordered), stop - start
            if present == 0:
                continue
            if column[ordered[0]] == column[ordered[present - 1]] and (present == n or not by_missing):
                continue
            looked += 1
            here = best_bound(
                column, ordered, present, n, target, draws, counts, total, least, by_missing, table, found
            )
            if found[0] > best:
                best, way = found[0], here
                last = np.int64(found[1])
                bound = np.int64(column[ordered[last]])
                if last + 1 < present:  # half-way to the next code that the node has
                    bound = (bound + np.int64(column[ordered[last + 1]])) // 2
                features[node], bounds[node] = attribute, bound
        ways[node] = way
        if way == LEAF:
            continue
        span[0], span[1] = start, stop
        part_rows(columns[features[node]], bounds[node], way, rows, span)
        stack[waiting, 0], stack[waiting, 1], stack[waiting, 2] = span[2], span[3], depth + 1
        stack[waiting + 1, 0], stack[waiting + 1, 1], stack[waiting + 1, 2] = start, span[2], depth + 1
        waiting += 2
    return n_nodes


@dataclass(frozen=True)
class Growth:
    """How trees are grown."""

    n_trees: int
    max_depth: int | None
    min_rows: int
    by_missing: bool
    seed: int
    n_jobs: int | None
    is_over: Callable[[], bool] = never


Nodes = tuple[NDArray[np.uint16], NDArray[np.uint8], NDArray[np.uint8]]


# Trees that are grown in any case, however long they take.
LEAST_TREES = 10


def grow_trees(sample: Sample, growth: Growth) -> tuple[NDArray[np.uint8], list[Nodes]]:
    """Grow trees, each on a bootstrap of its own, with √a attributes tried at a node and entropy to judge them by.

    No more are grown once ``growth.is_over`` returns True, which is called after each of them from the tenth on.

    Returns
    -------
    ranks : uint8 array of shape (trees, states)
        The code that each tree gives to each state of the categorical columns.
    trees : list of (features, bounds, ways)
    """
    rows = sample.cell_rows
    numbers, codes = sample.numbers[rows].T, np.ascontiguousarray(sample.codes[rows].T)
    target = sample.target[rows].astype(np.int32)

    def grown(t: int, _: int) -> tuple[NDArray[np.uint8], Nodes]:
        draws = sample.draws(growth.seed, t).astype(np.int32)
        rng = np.random.default_rng((growth.seed, t))
        ranks = [
            _order(column, size, target, draws, sample.n_classes, rng)
            for column, size in zip(codes, sample.sizes, strict=True)
        ]
        columns = np.concatenate(
            [
                numbers,
                *(np.append(r, np.uint8(MISSING))[c][None, :] for r, c in zip(ranks, codes, strict=True)),
            ]
        )
        known = np.concatenate(ranks) if ranks else np.empty(0, np.uint8)
        return known, _grown(columns, target, draws, sample.n_classes, growth, rng)

    bounds = [(t, t + 1) for t in range(growth.n_trees)]
    found = []
    with repeating(growth.n_trees):
        for one in in_order(grown, bounds, growth.n_jobs):
            found.append(one)
            if len(found) >= LEAST_TREES and growth.is_over():
                break
    return np.stack([ranks for ranks, _ in found]), [tree for _, tree in found]


def _order(
    column: NDArray[np.int64],
    size: int,
    target: NDArray[np.int32],
    draws: NDArray[np.int32],
    n_classes: int,
    rng: np.random.Generator,
) -> NDArray[np.uint8]:
    """Number the states of a column by how often a randomly drawn class occurs with them."""
    chance, label = rng.random(size), rng.integers(max(n_classes, 1))
    if size > _MOST_ORDERED:
        order = np.argsort(chance)
    else:
        mine = np.flatnonzero(target == label)
        n = np.bincount(column, draws, size + 1)[:size]
        hits = np.bincount(column[mine], draws[mine], size + 1)[:size]
        mean = hits.sum() / max(n.sum(), 1.0)
        order = np.lexsort((chance, (hits + _ORDER_ROWS * mean) / (n + _ORDER_ROWS)))
    ranks = np.empty(size, np.int64)
    ranks[order] = np.arange(size)
    return (ranks if size <= MOST_CODES else ranks * MOST_CODES // size).astype(np.uint8)


def _grown(
    columns: NDArray[np.uint8], target: NDArray[np.int32], draws: NDArray[np.int32], n_classes: int,
    growth: Growth, rng: np.random.Generator,
) -> Nodes:  # fmt: skip
    rows = np.flatnonzero(draws).astype(np.int32)
    n, n_attributes = len(rows), len(columns)
    total = int(draws.sum())
    counts = np.arange(total + 1, dtype=np.float64)
    table = counts * np.log(np.maximum(counts, 1.0))
    # A split separates different rows, so there are at most as many leaves as rows.
    features, bounds, ways = np.zeros(2 * n + 1, np.uint16), *np.zeros((2, 2 * n + 1), np.uint8)
    deepest = 2**62 if growth.max_depth is None else growth.max_depth
    limits = np.array([max(1, round(n_attributes**0.5)), growth.min_rows, deepest], np.int64)
    n_nodes = grow(
        np.ascontiguousarray(columns), target, draws, rows, limits, growth.by_missing,
        int(rng.integers(1, 2**62)), table, np.arange(n_attributes), np.zeros((3, n_classes), np.int64),
        np.zeros(2), np.zeros(257, np.int64), np.empty(n, np.int32),
        np.zeros(4, np.int64), np.empty((n + 2, 3), np.int64), features, bounds, ways,
    )  # fmt: skip
    return features[:n_nodes].copy(), bounds[:n_nodes].copy(), ways[:n_nodes].copy()
