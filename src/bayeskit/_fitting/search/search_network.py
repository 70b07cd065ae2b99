"""The search for arcs between columns by a given method, over rows in memory with equal rows merged."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit._fitting.long_runs import run_search
from bayeskit._fitting.search.counted_columns import CountedAnswers, CountedColumns
from bayeskit._fitting.search.family_scores import FamilyScores
from bayeskit._fitting.search.independence_tests import CorrelationTests, IndependenceTests, MixedTests
from bayeskit._fitting.search.node_columns import NodeColumns
from bayeskit._fitting.search.regression_scores import MixedScores
from bayeskit._intrinsics import fibonacci_hash
from bayeskit._messages import Joined, Message, listed
from bayeskit._numba import kernel
from bayeskit._structure.search.equivalence import equivalence, extended
from bayeskit._structure.search.hill_climbing import SHORT_TABU, TABU, hill_climbing
from bayeskit._structure.search.k2 import k2
from bayeskit._structure.search.neighbourhoods import mmhc
from bayeskit._structure.search.optimal import chow_liu, exact
from bayeskit._structure.search.order import auto, default_seconds, order_search
from bayeskit._structure.search.pc import pc
from bayeskit._structure.search_protocol import (
    Arcs,
    Family,
    Graph,
    Question,
    Score,
    Search,
    Test,
    default_test,
    members,
)
from bayeskit.errors import DataError, SettingError, SuspectResult
from bayeskit.typing import Codes, Floats


@dataclass(frozen=True)
class SearchSettings:
    """The settings of a search. Each method ignores those that it does not need."""

    method: str = "auto"
    score: Score = field(default_factory=Score)
    significance: float = 0.01
    test: str | None = None
    max_given: int | None = 3
    order: Sequence[int] | None = None
    restarts: int = 0
    time_limit: float | None = None
    seed: int = 0
    max_memory: float = 2**30


@dataclass(frozen=True)
class SearchResult:
    """The result of a search.

    ``parents`` holds the indices of the parents of each column. ``undirected`` holds the pairs whose direction the
    method did not determine. In ``parents`` these have a direction, too, without a cycle. ``seconds`` is the time
    limit that held.
    """

    parents: tuple[tuple[int, ...], ...]
    undirected: frozenset[tuple[int, int]]
    score: float
    n_evaluated: int
    stopped: str | None
    seconds: float | None = None


def seconds_for(settings: SearchSettings, n: int) -> float | None:
    """Return the time limit of a search over n columns: that of the settings, or that of the default method."""
    if settings.time_limit is None and settings.method == "auto":
        return default_seconds(n)
    return settings.time_limit


def search_network(
    columns: NodeColumns,
    arcs: Arcs,
    settings: SearchSettings,
    on_step: Callable[[int], None] | None = None,
    weights: Floats | None = None,
) -> SearchResult:
    """Learn the arcs between columns. The result does not depend on their order or names.

    The columns are sorted into a canonical order for the search. A row of weight w counts as w rows.
    """
    if weights is not None:
        # Drop rows without weight: their configurations do not occur, and log 0 must not be taken.
        columns, weights = (columns, weights) if weights.all() else _with_weight(columns, weights)
    if not columns.complete.any():
        emptiest = columns.names[int(np.argmax(columns.n_missing))]
        raise DataError(
            "Every row has a missing cell, and scores of different rows cannot be compared. Leave out the columns that "
            "are missing most, such as {emptiest!r}.",
            emptiest=emptiest,
        )
    place = columns.canonical_order(weights)
    counted = None if weights is None else weights[columns.complete]
    ordered = columns.reordered(place)
    answers = SearchAnswers(ordered, _of_search(settings), settings.test, counted)
    copies = ordered.copies() if settings.method in ("pc", "mmhc") else {}
    if copies:
        told = [f"{ordered.names[v]!r} = {ordered.names[u]!r}" for v, u in copies.items()]
        warnings.warn(
            SuspectResult(
                "Columns repeat others row by row ({copies}), and tests find that one of them makes the others "
                "superfluous. {how} Leave such columns out (exclude=).",
                copies=listed(told, 6),
                how=Message("The search runs without them, and each is joined to the one that it repeats.")
                if arcs.is_free
                else Message("So arcs of both may be missing."),
            ),
            stacklevel=3,
        )
    return _searched(columns, place, answers, arcs, settings, on_step, copies if arcs.is_free else {})


def search_counts(
    columns: CountedColumns,
    arcs: Arcs,
    settings: SearchSettings,
    on_step: Callable[[int], None] | None = None,
) -> SearchResult:
    """Learn the arcs between columns that are counted elsewhere; see :func:`search_network`."""
    place = columns.canonical_order()
    answers = CountedAnswers(columns.reordered(place), _of_search(settings), settings.test)
    return _searched(columns, place, answers, arcs, settings, on_step)


def _of_search(settings: SearchSettings) -> Score:
    # Chow and Liu's tree always maximises the likelihood, regardless of the score that is reported.
    return Score("loglik") if settings.method == "chow-liu" else settings.score


def _searched(
    columns: NodeColumns | CountedColumns,
    place: NDArray[np.int64],
    answers: SearchAnswers | CountedAnswers,
    arcs: Arcs,
    settings: SearchSettings,
    on_step: Callable[[int], None] | None,
    copies: Mapping[int, int] = MappingProxyType({}),
) -> SearchResult:
    """Search over columns in the order ``place``, and return the result in the original order.

    ``copies`` are columns, in that order, that repeat another one. They are joined to it after the search.
    """
    back = np.argsort(place)
    sorted_columns, limits = columns.reordered(place), moved(arcs, place, back)
    order = None if settings.order is None else [int(back[v]) for v in settings.order]
    search = _search(sorted_columns, _without(limits, copies), settings, order)
    tell = None if on_step is None else lambda: on_step(answers.n_evaluated)
    seconds = seconds_for(settings, limits.n)
    outcome = run_search(search, answers, time_limit=seconds, on_step=tell)
    graph = _joined(outcome.graph, copies if limits.max_parents else {}, settings.method == "pc")
    directed = extended(graph, limits) if graph.undirected else graph.parents
    final = answers if _of_search(settings) == settings.score else answers.rescored(settings.score)
    score = sum(float(final([Family(v, mine)])[0][0]) for v, mine in enumerate(directed))
    parents = [tuple(sorted(int(place[p]) for p in members(directed[int(back[v])]))) for v in range(limits.n)]
    undirected = frozenset(
        (min(a, b), max(a, b)) for a, b in ((int(place[i]), int(place[j])) for i, j in graph.undirected)
    )
    return SearchResult(tuple(parents), undirected, score, answers.n_evaluated, outcome.stopped, seconds)


def _without(arcs: Arcs, copies: Mapping[int, int]) -> Arcs:
    """Return the limits where some variables have no arcs."""
    some = sum(1 << v for v in copies)
    allowed = tuple(0 if v in copies else mine & ~some for v, mine in enumerate(arcs.allowed))
    return Arcs(allowed, arcs.required, arcs.max_parents) if some else arcs


def _joined(graph: Graph, copies: Mapping[int, int], by_edges: bool) -> Graph:
    """Return the graph with an arc to each copy; or by an edge, if the one that it repeats has no parents."""
    parents, edges = list(graph.parents), set(graph.undirected)
    for v, first in copies.items():
        if by_edges and not parents[first]:
            edges.add((min(v, first), max(v, first)))
        else:
            parents[v] = 1 << first
    return Graph(tuple(parents), frozenset(edges))


@dataclass(frozen=True)
class Problem:
    """What a search is made for. The columns are in the order of the search, as are ``arcs`` and ``order``."""

    columns: NodeColumns | CountedColumns
    arcs: Arcs
    settings: SearchSettings
    order: list[int] | None

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.settings.seed)

    @property
    def max_given(self) -> int:
        return self.arcs.n if self.settings.max_given is None else self.settings.max_given


@dataclass(frozen=True)
class Method:
    """A search that users choose by name, and the settings that it uses beside ``time_limit`` and ``random_state``.

    Any other setting is refused with the names of the methods that use it.
    """

    search: Callable[[Problem], Search]
    takes: tuple[str, ...] = ("criterion", "max_parents")


def _k2(p: Problem) -> Search:
    if p.order is None:
        raise SettingError('method="k2" needs order=, the columns in an order in which parents come first.')
    _require_order(p.arcs, p.columns, p.order)
    return k2(p.arcs, p.order)


def _ges(p: Problem) -> Search:
    _require_free(p, "ges")
    return equivalence(p.arcs)


def _chow_liu(p: Problem) -> Search:
    _require_free(p, "chow-liu")
    if p.arcs.max_parents == 0 < p.arcs.n - 1:
        raise SettingError('method="chow-liu" learns a tree, but max_parents is 0.')
    return chow_liu(p.arcs.n)


_CLIMBING = ("criterion", "max_parents", "restarts")
_TESTS = ("significance", "test", "max_given")
METHODS: dict[str, Method] = {
    "auto": Method(lambda p: auto(p.arcs, rng=p.rng, nearby=not p.columns.is_discrete.any())),
    "hill-climbing": Method(
        lambda p: hill_climbing(p.arcs, **SHORT_TABU, restarts=p.settings.restarts, rng=p.rng), _CLIMBING
    ),
    "tabu": Method(
        lambda p: hill_climbing(p.arcs, **TABU, restarts=p.settings.restarts, rng=p.rng), _CLIMBING
    ),
    "ges": Method(_ges),
    "order": Method(lambda p: order_search(p.arcs, rng=p.rng)),
    "exact": Method(lambda p: exact(p.arcs, max_memory=p.settings.max_memory, names=p.columns.names)),
    "k2": Method(_k2, ("criterion", "max_parents", "order")),
    "chow-liu": Method(_chow_liu, ("max_parents",)),
    "pc": Method(
        lambda p: pc(p.arcs, significance=p.settings.significance, max_given=p.settings.max_given), _TESTS
    ),
    "mmhc": Method(
        lambda p: mmhc(p.arcs, significance=p.settings.significance, max_given=p.max_given),
        ("criterion", "max_parents", *_TESTS),
    ),
}


def _search(
    columns: NodeColumns | CountedColumns, arcs: Arcs, settings: SearchSettings, order: list[int] | None
) -> Search:
    if settings.method not in METHODS:
        raise SettingError(
            "method is {method!r}; choose from {names}.", method=settings.method, names=Joined(METHODS)
        )
    return METHODS[settings.method].search(Problem(columns, arcs, settings, order))


def _require_order(arcs: Arcs, columns: NodeColumns | CountedColumns, order: list[int]) -> None:
    rank = {v: k for k, v in enumerate(order)}
    for child, needed in enumerate(arcs.required):
        for parent in members(needed):
            if rank[parent] > rank[child]:
                a, b = columns.names[parent], columns.names[child]
                raise SettingError(
                    "The arc {a!r} → {b!r} is required, but order names {b!r} before {a!r}.", a=a, b=b
                )


def _require_free(p: Problem, method: str) -> None:
    if 0 < p.columns.is_discrete.sum() < p.arcs.n:
        raise SettingError(
            "method={method!r} takes discrete columns or continuous ones, not both together: an arc between the two "
            'kinds has only one direction. Use discretize= (numeric= of a classifier), or method="auto".',
            method=method,
        )
    if not p.arcs.is_free:
        raise SettingError(
            'method={method!r} cannot keep required or forbidden arcs or tiers. Use "auto", "hill-climbing", "tabu", '
            '"order", "exact" or "pc".',
            method=method,
        )


def moved(arcs: Arcs, place: Codes, back: Codes) -> Arcs:
    """Return the limits on arcs for the columns in another order."""
    if arcs.is_free:
        return arcs

    def new(some: int) -> int:
        return sum(1 << int(back[v]) for v in members(some))

    return Arcs(
        tuple(new(arcs.allowed[int(v)]) for v in place),
        tuple(new(arcs.required[int(v)]) for v in place),
        arcs.max_parents,
    )


def _with_weight(columns: NodeColumns, weights: Floats) -> tuple[NodeColumns, Floats]:
    """Drop rows without weight."""
    rows = np.flatnonzero(weights)
    return columns.take(rows), weights[rows]


_U = np.uintp


@kernel
def hash_rows(columns: Any, hashes: Any) -> None:
    """Write a hash of each row to ``hashes``; ``columns`` has shape (variables, rows)."""
    for i in range(hashes.shape[0]):
        hashes[i] = np.uint64(0)
    for v in range(columns.shape[0]):
        column = columns[v]
        for i in range(hashes.shape[0]):
            # The shift moves the upper bits, which depend on all cells so far, down to where the next cell is added.
            mixed = (hashes[i] ^ (hashes[i] >> np.uint64(29))) + np.uint64(column[i]) + np.uint64(1)
            hashes[i] = fibonacci_hash(mixed)


@kernel
def find_distinct(
    columns: Any, hashes: Any, weights: Any, most: int, table: Any, first: Any, sums: Any
) -> int:
    """Merge equal rows. Return the number of distinct rows, or −1 if there are more than ``most``.

    ``first`` and ``sums`` become the index of the first of each group of equal rows, and their total weight. ``table``
    is a hash table of positions in ``first``, with −1 for free slots; its length is a power of two above ``most``. If
    ``weights`` is empty, every row has weight 1.
    """
    mask = _U(table.shape[0] - 1)
    weighted = weights.shape[0] > 0
    found = 0
    for i in range(hashes.shape[0]):
        place = _U(hashes[i] >> np.uint64(32)) & mask
        while True:
            at = table[place]
            if at < 0:
                if found == most:
                    return -1
                table[place] = found
                first[found] = i
                sums[found] = weights[i] if weighted else 1.0
                found += 1
                break
            other = first[at]
            same = hashes[other] == hashes[i]
            v = 0
            while same and v < columns.shape[0]:
                same = columns[v, other] == columns[v, i]
                v += 1
            if same:
                sums[at] += weights[i] if weighted else 1.0
                break
            place = (place + _U(1)) & mask
    return found


# With fewer rows than this, counting all rows is faster than merging equal ones.
FEWEST_ROWS = 2**14
# One row in this many, evenly spaced, is compared first. If more than half of them are distinct, the rows are not
# merged.
SAMPLED = 16
# Weighted rows are counted one at a time, others 64 at a time by bits. Merging pays if at most one row in this many is
# distinct.
PAYS = 16


class DistinctRows(NamedTuple):
    """Columns whose rows are all distinct, and the weight of each row."""

    columns: NDArray[Any]
    weights: Floats


def distinct_rows(columns: NDArray[Any], weights: Floats | None, most: int) -> DistinctRows | None:
    """Return the distinct rows in the order of their first occurrence, or None if there are more than ``most``.

    Parameters
    ----------
    columns : unsigned integer array of shape (variables, rows)
    weights : float64 array, optional
        The weight of each row. By default, 1.
    most : int

    Examples
    --------
    >>> rows = distinct_rows(np.array([[0, 1, 0], [2, 2, 2]], np.uint8), None, 3)
    >>> rows.columns.tolist(), rows.weights
    ([[0, 1], [2, 2]], array([2., 1.]))
    """
    n = columns.shape[1]
    most = min(most, n)
    hashes = np.empty(n, np.uint64)
    hash_rows(columns, hashes)
    first, sums = np.empty(most, np.int64), np.empty(most)
    table = np.full(1 << (2 * most).bit_length(), -1, np.int64)
    given = np.empty(0) if weights is None else weights
    found = find_distinct(columns, hashes, given, most, table, first, sums)
    if found < 0:
        return None
    return DistinctRows(np.ascontiguousarray(columns[:, first[:found]]), sums[:found])


def joined_where_it_pays(columns: NDArray[Any], weights: Floats | None) -> DistinctRows | None:
    """Return the distinct rows with their weights if merging pays, otherwise None.

    A sample is compared first, so that almost no time is lost if most rows are distinct.
    """
    n = columns.shape[1]
    if n < FEWEST_ROWS or not len(columns):
        return None
    sample = np.ascontiguousarray(columns[:, ::SAMPLED])
    if distinct_rows(sample, None, sample.shape[1] // 2) is None:
        return None
    return distinct_rows(columns, weights, n // PAYS)


class SearchAnswers:
    """Scores and independence tests for a search, over the complete rows of some columns.

    ``weights`` are the weights of the complete rows. Equal rows are merged if this pays. Scores and tests are prepared
    on first use.
    """

    def __init__(
        self,
        columns: NodeColumns,
        score: Score,
        test: str | None = None,
        weights: Floats | None = None,
        joined: DistinctRows | None = None,
    ) -> None:
        self._columns, self._score, self._weights = columns, score, weights
        discrete = int(columns.is_discrete.sum())
        self._test = default_test(discrete, len(columns.variables) - discrete) if test is None else test
        self._is_mixed = discrete < len(columns.variables)
        self._scores: Any = None
        self._tests: Any = None
        self.joined = joined

    def __call__(self, question: Question) -> list[Any]:
        asks_for_tests = bool(question) and isinstance(question[0], Test)
        if asks_for_tests and self._tests is None:
            self._tests = self._make_tests()
        if not asks_for_tests and self._scores is None:
            self._scores = self._make_scores()
        found: list[Any] = (self._tests if asks_for_tests else self._scores)(question)
        return found

    def rescored(self, score: Score) -> SearchAnswers:
        """Return the same with another score, over the same rows."""
        return SearchAnswers(self._columns, score, None, self._weights, self.joined)

    @property
    def n_evaluated(self) -> int:
        """The number of families scored and tests made."""
        scored = 0 if self._scores is None else int(self._scores.n_scored)
        return scored + (0 if self._tests is None else int(self._tests.n_tested))

    def _make_scores(self) -> Any:
        if self._is_mixed:
            return MixedScores(self._columns, self._score, self._weights)
        codes, weights = self._rows()
        return FamilyScores(codes, self._columns.sizes, self._score, weights)

    def _make_tests(self) -> Any:
        if self._is_mixed and self._columns.is_discrete.any():
            return MixedTests(self._columns, self._test, weights=self._weights)
        if self._is_mixed:
            return _correlation_tests(self._columns.number_matrix(), self._weights, self._test)
        codes, weights = self._rows()
        return IndependenceTests(codes, self._columns.sizes, self._test, weights=weights)

    def _rows(self) -> tuple[NDArray[Any], Floats | None]:
        if self.joined is not None:
            return self.joined
        codes = self._columns.code_matrix()
        self.joined = joined_where_it_pays(codes, self._weights)
        return (codes, self._weights) if self.joined is None else self.joined


def _correlation_tests(numbers: Floats, weights: Floats | None, name: str) -> CorrelationTests:
    """Return tests of numeric columns. The correlation of a constant column is NaN."""
    w = np.ones(numbers.shape[1]) if weights is None else weights
    n = float(w.sum())
    centred = numbers - (numbers @ w / n)[:, None]
    # Divide each column by its largest number, so that no square overflows.
    centred /= np.maximum(np.abs(centred).max(axis=1, initial=0.0), np.finfo(float).tiny)[:, None]
    scatter = (w * centred) @ centred.T
    spread = np.sqrt(np.diag(scatter))
    constant = np.ptp(numbers, axis=1) == 0.0
    spread[constant] = np.nan
    return CorrelationTests(np.clip(scatter / np.outer(spread, spread), -1.0, 1.0), n, name)
