"""Columns × method → the arcs between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import DataError, SettingError
from bayeskit.learning.search.answers import Answers
from bayeskit.learning.search.counted_columns import CountedAnswers, CountedColumns
from bayeskit.learning.search.node_columns import NodeColumns
from bayeskit.learning.search.run_search import run_search
from bayeskit.structure.arcs import Arcs
from bayeskit.structure.questions import Family, Search, members
from bayeskit.structure.scores import Score
from bayeskit.structure.search.auto import auto
from bayeskit.structure.search.chow_liu import chow_liu
from bayeskit.structure.search.equivalence import equivalence
from bayeskit.structure.search.exact import exact
from bayeskit.structure.search.extension import extended
from bayeskit.structure.search.hill_climbing import hill_climbing
from bayeskit.structure.search.k2 import k2
from bayeskit.structure.search.mmhc import mmhc
from bayeskit.structure.search.order import order_search
from bayeskit.structure.search.pc import pc
from bayeskit.typing import Codes, Floats

METHODS = ("auto", "hill-climbing", "tabu", "ges", "order", "exact", "k2", "chow-liu", "pc", "mmhc")


@dataclass(frozen=True)
class Settings:
    """How to search; what a method does not need it does not look at."""

    method: str = "auto"
    score: Score = field(default_factory=Score)
    alpha: float = 0.01
    test: str | None = None
    max_given: int | None = 3
    order: Sequence[int] | None = None
    restarts: int = 0
    time_limit: float | None = None
    seed: int = 0
    max_memory: float = 2**30


@dataclass(frozen=True)
class Found:
    """What a search came to.

    ``parents`` holds for each column the places of its parents; ``undirected`` the pairs whose direction the
    method left open (they are directed in ``parents`` all the same, without a cycle).
    """

    parents: tuple[tuple[int, ...], ...]
    undirected: frozenset[tuple[int, int]]
    score: float
    n_asked: int
    stopped: str | None


def search_network(
    columns: NodeColumns,
    arcs: Arcs,
    settings: Settings,
    told: Callable[[int], None] | None = None,
    weights: Floats | None = None,
) -> Found:
    """Learn the arcs between columns; the answer does not depend on their order or names.

    The columns are put in an order of their own before the search and back after it. A row of weight w is as many
    rows as that.
    """
    if weights is not None:
        # A row without weight is none: neither a configuration that occurs nor the logarithm of a count.
        columns, weights = (columns, weights) if weights.all() else _with_weight(columns, weights)
    if not columns.complete.any():
        emptiest = columns.names[int(np.argmax(columns.n_missing))]
        raise DataError(
            "Every row has a missing cell, and scores of different rows cannot be compared. Leave out the columns that "
            f"are missing most, such as {emptiest!r}."
        )
    place = columns.canonical_order(weights)
    counted = None if weights is None else weights[columns.complete]
    answers = Answers(columns.reordered(place), _of_search(settings), settings.test, counted)
    return _searched(columns, place, answers, arcs, settings, told)


def search_counts(
    columns: CountedColumns, arcs: Arcs, settings: Settings, told: Callable[[int], None] | None = None
) -> Found:
    """Learn the arcs between columns that are counted elsewhere; see :func:`search_network`."""
    place = columns.canonical_order()
    answers = CountedAnswers(columns.reordered(place), _of_search(settings), settings.test)
    return _searched(columns, place, answers, arcs, settings, told)


def _of_search(settings: Settings) -> Score:
    # The tree of the largest likelihood is one thing, its score another.
    return Score("loglik") if settings.method == "chow-liu" else settings.score


def _searched(
    columns: NodeColumns | CountedColumns,
    place: NDArray[np.int64],
    answers: Answers | CountedAnswers,
    arcs: Arcs,
    settings: Settings,
    told: Callable[[int], None] | None,
) -> Found:
    """Search over columns in the order of ``place``, which is that of the answers, and put them back."""
    back = np.argsort(place)
    sorted_columns, limits = columns.reordered(place), moved(arcs, place, back)
    order = None if settings.order is None else [int(back[v]) for v in settings.order]
    search = _search(sorted_columns, limits, settings, order)
    tell = None if told is None else lambda: told(answers.n_asked)
    outcome = run_search(search, answers, time_limit=settings.time_limit, told=tell)
    graph = outcome.graph
    directed = extended(graph, limits) if graph.undirected else graph.parents
    final = answers if _of_search(settings) == settings.score else answers.rescored(settings.score)
    score = sum(float(final([Family(v, mine)])[0][0]) for v, mine in enumerate(directed))
    parents = [tuple(sorted(int(place[p]) for p in members(directed[int(back[v])]))) for v in range(limits.n)]
    undirected = frozenset(
        (min(a, b), max(a, b)) for a, b in ((int(place[i]), int(place[j])) for i, j in graph.undirected)
    )
    return Found(tuple(parents), undirected, score, answers.n_asked, outcome.stopped)


def _search(
    columns: NodeColumns | CountedColumns, arcs: Arcs, settings: Settings, order: list[int] | None
) -> Search:
    rng = np.random.default_rng(settings.seed)
    match settings.method:
        case "auto":
            return auto(arcs, rng=rng)
        case "hill-climbing":
            return hill_climbing(arcs, restarts=settings.restarts, rng=rng)
        case "tabu":
            return hill_climbing(arcs, tabu=100, max_worse=15, restarts=settings.restarts, rng=rng)
        case "ges":
            _require_free(arcs, columns, "ges")
            return equivalence(arcs)
        case "order":
            return order_search(arcs, rng=rng)
        case "exact":
            return exact(arcs, max_memory=settings.max_memory, names=columns.names)
        case "k2":
            if order is None:
                raise SettingError(
                    'method="k2" needs order=, the columns in an order in which parents come first.'
                )
            _require_order(arcs, columns, order)
            return k2(arcs, order)
        case "chow-liu":
            _require_free(arcs, columns, "chow-liu")
            if arcs.max_parents == 0 < arcs.n - 1:
                raise SettingError('method="chow-liu" learns a tree, and max_parents is 0.')
            return chow_liu(arcs.n)
        case "pc":
            return pc(arcs, alpha=settings.alpha, max_given=settings.max_given)
        case "mmhc":
            return mmhc(
                arcs,
                alpha=settings.alpha,
                max_given=arcs.n if settings.max_given is None else settings.max_given,
            )
    raise SettingError(f"method is {settings.method!r}; there are {', '.join(METHODS)}.")


def _require_order(arcs: Arcs, columns: NodeColumns | CountedColumns, order: list[int]) -> None:
    rank = {v: k for k, v in enumerate(order)}
    for child, needed in enumerate(arcs.required):
        for parent in members(needed):
            if rank[parent] > rank[child]:
                a, b = columns.names[parent], columns.names[child]
                raise SettingError(f"The arc {a!r} → {b!r} is required, but order names {b!r} before {a!r}.")


def _require_free(arcs: Arcs, columns: NodeColumns | CountedColumns, method: str) -> None:
    if 0 < columns.is_discrete.sum() < arcs.n:
        raise SettingError(
            f"method={method!r} takes discrete columns or continuous ones, not both together: an arc between the two "
            'kinds has only one direction. Use discretize= (numeric= of a classifier), or method="auto".'
        )
    if not arcs.is_free:
        raise SettingError(
            f'method={method!r} cannot keep required or forbidden arcs or tiers. Use "auto", "hill-climbing", "tabu", '
            '"order", "exact" or "pc".'
        )


def moved(arcs: Arcs, place: Codes, back: Codes) -> Arcs:
    """Return the limits of the columns in their new places."""
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
    """Leave out the rows that weigh nothing."""
    rows = np.flatnonzero(weights)
    return columns.take(rows), weights[rows]
