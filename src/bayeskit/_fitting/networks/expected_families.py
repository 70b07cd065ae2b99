"""Expected counts and scores of any family under a network, whether or not its nodes are adjacent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammaln, xlogy

from bayeskit._fitting.networks.network_em import RowPatterns
from bayeskit._fitting.search.family_scores import MOST_CONFIGURATIONS
from bayeskit._inference.exact import MAX_MEMORY, Exact
from bayeskit._structure.search_protocol import Family, Question, Score, members
from bayeskit.errors import TooLarge
from bayeskit.typing import Floats

Ints = NDArray[np.int64]
_Rows = tuple[Ints, Floats, Floats]

# AT_ONCE: the number of doubles to process at a time. KEPT: the maximum size in bytes of the cached posteriors, and of
# the cached tables. Beyond that, they are computed again.
AT_ONCE, KEPT = 2**22, 2**28
# The index of a configuration must fit into one integer.
MOST_CELLS = 2**62


class Extensions(NamedTuple):
    """Expected n(base, v) for a set of variables (the base) and every other variable v, in the cells that occur.

    Attributes
    ----------
    digits : array of shape (cells, variables of the base)
        The codes of the base in each cell.
    counts : array of shape (cells, states of all variables + 1)
        n(cell, v = s), variable by variable. The columns of the base are meaningless. The last column is n(cell).
    """

    digits: Ints
    counts: Floats


class ExpectedFamilies:
    r"""Expected counts of rows with missing values, for any set of variables and every further variable.

    .. math:: \bar n(b, v = s) = \sum_i w_i\, P(b \mid o_i)\, P(v = s \mid b, o_i)

    where o are the observed cells of a row. If cells of the base b are missing, the row is replaced by all its
    completions, each with the share P(b | o) of its weight. This is done one cell at a time, by the chain rule. The
    posteriors of the completed rows then give the counts of all v at once. Nothing is imputed: every completion
    counts, with its probability.

    Parameters
    ----------
    engine : Exact
        The network under which expectations are computed.
    whole, holed : RowPatterns
        Complete rows, which are only counted, and rows with missing cells. None may be impossible.
    max_memory : bytes
    n_jobs : int, optional
        The number of threads. The result does not depend on it.

    Examples
    --------
    A fair coin, and a second coin that mostly agrees with it. In one row the second coin is missing:

    >>> from bayeskit._inference.potentials import Potentials
    >>> tables = [np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9]])]
    >>> engine = Exact(Potentials.laid_out([2, 2], [[0], [0, 1]], tables, [0, 1], ("first", "second")))
    >>> whole = RowPatterns(np.array([[0, 0]]), np.array([3.0]), np.array([0]))
    >>> holed = RowPatterns(np.array([[1, 2]]), np.array([1.0]), np.array([3]))
    >>> ExpectedFamilies(engine, whole, holed).table((1, 0))
    array([[3. , 0.1],
           [0. , 0.9]])
    """

    def __init__(
        self,
        engine: Exact,
        whole: RowPatterns,
        holed: RowPatterns,
        *,
        max_memory: float = MAX_MEMORY,
        n_jobs: int | None = None,
    ) -> None:
        self.sizes, self.offsets = engine.potentials.sizes, engine.potentials.offsets
        self._engine, self._whole, self._holed = engine, whole, holed
        self._max_memory, self._n_jobs = max_memory, n_jobs
        self._most_rows = max(256, AT_ONCE // int(self.offsets[-1]))
        self._posteriors: dict[int, Floats] = {}
        self._tables: dict[int, Extensions] = {}
        self._bytes = 0
        #: The total weight of the rows in which each variable is missing.
        self.missing = holed.weights @ (holed.codes >= self.sizes)

    def extensions(self, base: int) -> Extensions:
        """Return the expected counts of a set of variables with every other variable."""
        found = self._tables.get(base)
        if found is None:
            if self._bytes > KEPT:
                self._tables.clear()
                self._bytes = 0
            found = self._tables[base] = self._count([*members(base)])
            self._bytes += found.counts.nbytes
        return found

    def base_of(self, some: int, child: int) -> int:
        """Return the best base for the counts of a family: the family itself, or the family without one parent.

        Prefer a base that is already counted. Otherwise leave out the parent with the most missing values.
        """
        fewer = [some ^ (1 << v) for v in members(some ^ (1 << child))]
        for base in (some, *fewer):
            if base in self._tables:
                return base
        return min(fewer, key=lambda base: -self.missing[(some ^ base).bit_length() - 1], default=some)

    def table(self, family: Sequence[int]) -> Floats:
        """Return the expected counts of a family, with one axis for each of its variables, in the given order."""
        some = sum(1 << v for v in family)
        base = self.base_of(some, family[-1])
        digits, counts = self.extensions(base)
        order = [*members(base), *members(some ^ base)]
        last = counts[:, -1:]
        if base != some:
            last = counts[:, self.offsets[order[-1]] : self.offsets[order[-1] + 1]]
        inside = self.sizes[[*members(base)]]
        found = np.zeros((*inside, last.shape[1]))
        found[tuple(digits.T)] = last
        found = found.reshape(self.sizes[order])
        return found.transpose([order.index(v) for v in family])

    def _count(self, base: list[int]) -> Extensions:
        sizes = [int(self.sizes[v]) for v in base]
        strides = [1]
        for size in sizes[::-1]:
            strides.append(strides[-1] * size)
        cells, strides = strides[-1], strides[-2::-1]
        if cells > MOST_CELLS:
            raise self._too_large(base, cells)
        places, counts = self._counted(self._whole.codes, self._whole.weights, base, strides)
        for codes, weights, posteriors in self._all_filled(base):
            place, inverse = _places(codes, base, strides)
            more = _summed(inverse, weights, posteriors, len(place))
            # Add one chunk at a time, because all of them together may not fit into memory.
            joined = np.union1d(places, place)
            if joined.size * counts.shape[1] * 8 > self._max_memory:
                raise self._too_large(base, joined.size)
            total = np.zeros((len(joined), counts.shape[1]))
            total[np.searchsorted(joined, places)] = counts
            total[np.searchsorted(joined, place)] += more
            places, counts = joined, total
        digits = np.empty((len(places), len(base)), np.int64)
        for k, (stride, size) in enumerate(zip(strides, sizes, strict=True)):
            digits[:, k] = places // stride % size
        return Extensions(digits, counts)

    def _counted(
        self, codes: Ints, weights: Floats, base: list[int], strides: list[int]
    ) -> tuple[Ints, Floats]:
        """Count complete rows."""
        place, inverse = _places(codes, base, strides)
        counts = np.empty((len(place), int(self.offsets[-1]) + 1))
        for v, size in enumerate(self.sizes.tolist()):
            cell = inverse * size + codes[:, v]
            found = np.bincount(cell, weights, len(place) * size).reshape(-1, size)
            counts[:, self.offsets[v] : self.offsets[v + 1]] = found
        counts[:, -1] = np.bincount(inverse, weights, len(place))
        return place, counts

    def _all_filled(self, base: list[int]) -> Iterator[_Rows]:
        rows = self._holed
        for start in range(0, len(rows.codes), self._most_rows):
            part = slice(start, start + self._most_rows)
            posteriors = self._posteriors.get(start)
            if posteriors is None:
                posteriors = self._query(rows.codes[part])
                if 8 * len(rows.codes) * int(self.offsets[-1]) <= KEPT:
                    self._posteriors[start] = posteriors
            yield from self._filled(base, rows.codes[part], rows.weights[part], posteriors)

    def _filled(self, base: list[int], codes: Ints, weights: Floats, posteriors: Floats) -> Iterator[_Rows]:
        """Yield rows with the base filled in, about ``_most_rows`` at most at a time."""
        for k, v in enumerate(base):
            gone = codes[:, v] >= self.sizes[v]
            if not gone.any():
                continue
            n = len(codes)
            if n > 1 and n + gone.sum() * (self.sizes[v] - 1) > self._most_rows:
                for half in (slice(None, n // 2), slice(n // 2, None)):
                    yield from self._filled(base[k:], codes[half], weights[half], posteriors[half])
                return
            more = self._clamped(v, codes[gone], weights[gone], posteriors[gone])
            there = ~gone
            codes = np.concatenate([codes[there], more[0]])
            weights = np.concatenate([weights[there], more[1]])
            posteriors = np.concatenate([posteriors[there], more[2]])
        yield codes, weights, posteriors

    def _clamped(self, v: int, codes: Ints, weights: Floats, posteriors: Floats) -> _Rows:
        """Return a copy of each row for every possible state of its missing cell."""
        shares = weights[:, None] * posteriors[:, self.offsets[v] : self.offsets[v + 1]]
        row, state = np.nonzero(shares)
        filled = codes[row]
        filled[:, v] = state
        return filled, shares[row, state], self._query(filled)

    def _query(self, codes: Ints) -> Floats:
        return self._engine.margins_rows(codes, self._max_memory, self._n_jobs)[0]

    def _too_large(self, base: list[int], cells: float) -> TooLarge:
        names = [self._engine.potentials.names[v] for v in base]
        needed = 8.0 * cells * float(self.offsets[-1] + 1)
        return TooLarge(
            needed, self._max_memory, names, cells, way_out="Lower max_parents=, or join states of these."
        )


def _places(codes: Ints, base: list[int], strides: list[int]) -> tuple[Ints, Ints]:
    """Return the indices of the configurations that occur, and the configuration of each row among them."""
    number = np.zeros(len(codes), np.int64)
    for v, stride in zip(base, strides, strict=True):
        number += codes[:, v] * stride
    place, inverse = np.unique(number, return_inverse=True)
    return place, inverse.ravel()


def _summed(cell: Ints, weights: Floats, posteriors: Floats, n_cells: int) -> Floats:
    """Sum the weighted posteriors of the rows in each cell; the last column is the sum of their weights."""
    rows = np.arange(len(cell))
    adder = csr_array((weights, (cell, rows)), shape=(n_cells, len(cell)))
    found = np.empty((n_cells, posteriors.shape[1] + 1))
    found[:, :-1] = adder @ posteriors
    found[:, -1] = np.bincount(cell, weights, n_cells)
    return found


class ExpectedScores:
    """Scores of families of discrete columns for a search, computed from expected counts.

    Parameters
    ----------
    families : ExpectedFamilies
    score : Score
    n_rows : float
        The total weight of the rows.

    Examples
    --------
    >>> from bayeskit._inference.exact import Exact
    >>> from bayeskit._inference.potentials import Potentials
    >>> from bayeskit._fitting.networks.network_em import RowPatterns
    >>> coin = Exact(Potentials.laid_out([2], [[0]], [np.array([0.5, 0.5])], [0], ("coin",)))
    >>> none = RowPatterns(np.empty((0, 1), np.int64), np.empty(0), np.empty(0, np.int64))
    >>> unseen = RowPatterns(np.array([[2]]), np.array([4.0]), np.array([0]))
    >>> ExpectedScores(ExpectedFamilies(coin, none, unseen), Score("loglik"), 4.0)([Family(0, 0)])  # 4 log ½
    [array([-2.77258872])]
    """

    def __init__(self, families: ExpectedFamilies, score: Score, n_rows: float) -> None:
        self.families, self.score = families, score
        self._penalty = score.penalty(n_rows)
        # The last column acts as a variable with a single state. It stands for a family without a further parent.
        self._start = families.offsets
        self._sizes = np.append(families.sizes, 1)
        self._known: dict[tuple[int, int], float] = {}

    @property
    def n_scored(self) -> int:
        """The number of families scored."""
        return len(self._known)

    def __call__(self, question: Question) -> list[Floats]:
        families: list[Family] = list(question)  # type: ignore[arg-type]
        # The counts of a base with every other variable also score single families, so these come second.
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
        """Score a child with the rest of the base as parents, alone and together with every other variable."""
        digits, counts = self.families.extensions(base)
        inside = [*members(base)]
        parents = base ^ (1 << child)
        r = int(self._sizes[child])
        declared = min(math.prod(int(self._sizes[v]) for v in members(parents)), MOST_CONFIGURATIONS)
        above = _without(digits, counts, inside.index(child))
        # Columns are states of a further parent, so its number of states multiplies the configurations of the parents.
        q = np.repeat(float(declared) * self._sizes, self._sizes)
        by_variable = np.add.reduceat(fit_of_columns(counts, above, self.score, r, q), self._start)
        found = by_variable - self._penalty * (r - 1) * float(declared) * self._sizes
        self._known[child, parents] = float(found[-1])
        for v, value in enumerate(found[:-1].tolist()):
            if not base >> v & 1:
                self._known[child, parents | 1 << v] = value


def fit_of_columns(cells: Floats, above: Floats, score: Score, r: int, q: Floats) -> Floats:
    """Return the contribution of each column to the score of its family, without the penalty for parameters.

    Parameters
    ----------
    cells : shape (configurations of parents and child that occur, columns)
    above : shape (configurations of parents that occur, columns)
    r : the number of states of the child
    q : the number of declared configurations of the parents, for each column
    """
    if score.by_likelihood:
        return np.asarray(xlogy(cells, cells).sum(axis=0) - xlogy(above, above).sum(axis=0))
    a = np.ones_like(q) if score.weight < 0.0 else score.weight / (q * r)
    inside = (gammaln(a + cells) - gammaln(a)).sum(axis=0)
    return np.asarray(inside - (gammaln(a * r + above) - gammaln(a * r)).sum(axis=0))


def _without(digits: Ints, counts: Floats, axis: int) -> Floats:
    """Sum the counts over the variable at ``axis``."""
    order = np.lexsort(np.delete(digits, axis, axis=1).T) if digits.shape[1] > 1 else np.arange(len(digits))
    rest = np.delete(digits, axis, axis=1)[order]
    new = np.ones(len(rest), np.bool_)
    new[1:] = (rest[1:] != rest[:-1]).any(axis=1)
    return np.asarray(np.add.reduceat(counts[order], np.flatnonzero(new), axis=0))


def _sets(parents: int, more: tuple[int, ...] | None) -> list[int]:
    return [parents] if more is None else [parents | 1 << v for v in more]
