"""Which cut points, pairs and triples a log-linear model counts: those that rows say depend most on each other."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from bayeskit._conditionals.interaction_terms import take_logs
from bayeskit._conditionals.log_linear_weights import MOST_BIASED
from bayeskit._counting.count_interactions import Axes, add_counts
from bayeskit._fitting.choose_cuts import ViewKind, Views, coarse_kinds, draw_views, kinds_of
from bayeskit._fitting.naive import sample_chunk
from bayeskit._numba import repeating
from bayeskit._schema import Name, Schema
from bayeskit._statistics.interactions import Interactions, axis_width
from bayeskit._statistics.row_sample import RowSample
from bayeskit._statistics.statistics import Statistics
from bayeskit.typing import Floats

Names = tuple[Name, ...]

# Numbers that the terms of the rows behind the weights may be, and how many rows these are at least and at most.
MOST_TERMS, LEAST_ROWS, MOST_ROWS = 20_000_000, 2_000, 30_000
# Numbers that these rows may take in all, whatever the least is: 240 MB.
MOST_NUMBERS = 60_000_000
# Views in which pairs, and triples, are ranked; and additions that the ranking of pairs may cost.
_RANKED_IN, _TRIPLES_RANKED_IN, _RANKING_COST = 4, 2, 400_000_000
# Of more attributes than the first number, those are left out that tell no more than chance: the least and the most
# that are kept. Fewer are all kept: on tables of 20 to 90 columns, leaving out gained as often as it lost.
MANY_ATTRIBUTES, LEAST_ATTRIBUTES, MOST_ATTRIBUTES = 100, 20, 300
# The share of the attributes kept that may be chance, and of those kept for what they tell beside another, which is
# looked at in fewer views, where each cell has at least five rows on average.
_CHANCE_AMONG, _CHANCE_AMONG_PAIRS, _RANKED_WITH_ANOTHER, _ROWS_OF_A_CELL = 0.3, 0.05, 2, 5.0
# Triples are searched for among this many attributes, with at most this many codes.
_TRIPLES_AMONG, _TRIPLE_CODES = 14, 13
# If a table of two attributes has more cells, its rows are too few to be informative.
_LARGEST_TABLE = 2**20
# Cells that are counted at once where sets are ranked, and about how often rows are counted for one choice.
_COUNTED_AT_ONCE, _COUNTS_OF_A_CHOICE = 2**20, 10
# Bytes that all tables may take.
BUDGET = 2**28
COARSE_VIEWS = 8


class Choice(NamedTuple):
    """What rows choose for a log-linear model; later batches change counts and weights only."""

    attributes: Names
    views: tuple[dict[Name, tuple[float, ...]], ...]
    coarse_views: tuple[dict[Name, tuple[float, ...]], ...]
    pairs: tuple[Names, ...]
    triples: tuple[Names, ...]
    n_rows: int

    def fits(self, schema: Schema) -> bool:
        """Return whether rows of a schema can have chosen it."""
        numeric = set(schema.numeric_index)
        views = (*self.views, *self.coarse_views) if _are_tuples(self.views, self.coarse_views) else (None,)
        sets = ((self.attributes, 1), (self.pairs, 2), (self.triples, 3))
        return (
            all(type(view) is dict and set(view) == numeric for view in views)
            and all(_ascend(cuts) for view in views if view for cuts in view.values())
            and bool(self.views)
            and bool(self.coarse_views)
            and all(type(some) is tuple and len(set(some)) == len(some) for some, _ in sets)
            and all(name in schema.position for name in self.attributes)
            and all(_are_names(names, size, schema) for some, size in sets[1:] for names in some)
            and type(self.n_rows) is int
            and self.n_rows > 0
        )


def _are_tuples(*values: object) -> bool:
    return all(type(value) is tuple for value in values)


def _ascend(cuts: Any) -> bool:
    numbers = type(cuts) is tuple and all(type(cut) is float and np.isfinite(cut) for cut in cuts)
    return numbers and all(a < b for a, b in itertools.pairwise(cuts))


def _are_names(names: object, size: int, schema: Schema) -> bool:
    return (
        type(names) is tuple
        and len(names) == size == len(set(names))
        and all(name in schema.position for name in names)
    )


def choose_interactions(
    statistics: Statistics, n_views: int, max_pairs: int, max_triples: int, missing: str, seed: int
) -> Choice:
    """Choose cut points, pairs and triples from a sample of rows, and how many rows are to choose the weights."""
    sample: Any = statistics.parts["row_sample"]
    schema, n = statistics.schema, statistics.total
    columns = {v.name: sample.values[:, j] for j, v in enumerate(schema.numeric)}
    has_numbers = bool(columns)
    kinds = kinds_of(n, n_views if has_numbers else 1)
    ranking = _Ranking(sample, schema, missing)
    kept = ranking.attributes(lambda some: draw_views(columns, sample.weight, kinds[:some], (seed, 0)))

    def views_of(kinds: list[ViewKind], stream: int) -> Views:
        """Draw the views of the attributes that are used; others are left whole, which costs nothing."""
        used = {name: values for name, values in columns.items() if name in kept}
        drawn = draw_views(used, sample.weight, kinds, (seed, stream))
        return Views(tuple({name: cuts.get(name, ()) for name in columns} for cuts in drawn.cuts))

    views = views_of(kinds, 0)
    coarse = views_of(coarse_kinds(n, COARSE_VIEWS if has_numbers else 1), 1)
    k = max(schema.n_classes, 1)
    pairs = ranking.pairs(views, kept, max_pairs)
    fine, rough = _Widths(views, schema), _Widths(coarse, schema)
    room = _Room(BUDGET - sum(fine.bytes_of((name,)) for name in kept))
    chosen = tuple(itertools.islice((pair for pair in pairs if room.takes(pair, fine)), max_pairs))
    triples = ranking.triples(coarse, kept, max_triples)
    threes = tuple(itertools.islice((three for three in triples if room.takes(three, rough)), max_triples))
    n_terms = max(len(kept) + len(chosen) + len(threes), 1)
    n_rows = min(max(MOST_TERMS // (n_terms * max(k - 1, 1)), LEAST_ROWS), MOST_ROWS)
    n_numbers = (n_terms + (k if k <= MOST_BIASED else 0)) * max(k - 1, 1)
    n_rows = min(n_rows, max(MOST_NUMBERS // n_numbers, 50))
    return Choice(kept, views.cuts, coarse.cuts, chosen, threes, n_rows)


def telling_attributes(statistics: Statistics, missing: str, seed: int) -> Names:
    """Return the attributes that, by a sample of rows, tell more of the class than chance explains.

    All that vary, up to :data:`MANY_ATTRIBUTES`.
    """
    sample: Any = statistics.parts["row_sample"]
    columns = {v.name: sample.values[:, j] for j, v in enumerate(statistics.schema.numeric)}
    kinds = kinds_of(statistics.total, _RANKED_IN)
    ranking = _Ranking(sample, statistics.schema, missing)
    return ranking.attributes(lambda some: draw_views(columns, sample.weight, kinds[:some], (seed, 0)))


class _Widths:
    """How many codes each attribute has in each view."""

    def __init__(self, views: Views, schema: Schema) -> None:
        self.n_classes = max(schema.n_classes, 1)
        self.of = {
            v.name: np.array(
                [axis_width(schema, (v.name, *cuts.get(v.name, ()))) for cuts in views.cuts], np.float64
            )[: None if v.kind == "numeric" else 1]
            for v in schema.attributes
        }

    def bytes_of(self, names: Names) -> float:
        """Return what the tables of a term take; it has a single one where none of its attributes is cut."""
        cells = self.of[names[0]]
        for name in names[1:]:
            cells = cells * self.of[name]
        return 8.0 * self.n_classes * float(cells.sum())


class _Room:
    """Bytes that tables may still take."""

    def __init__(self, left: float) -> None:
        self.left = left

    def takes(self, names: Names, widths: _Widths) -> bool:
        """Take the room of a term's tables, where there is enough."""
        needed = widths.bytes_of(names)
        fits = needed <= self.left
        self.left -= needed if fits else 0.0
        return fits


class _Ranking:
    """Ranks attributes, pairs and triples of a sample by their information, corrected for chance."""

    def __init__(self, sample: RowSample, schema: Schema, missing: str) -> None:
        self.schema, self.missing = schema, missing
        self.chunk = sample_chunk(sample, schema)
        self.weights = sample.weight

    def attributes(self, draw: Callable[[int], Views]) -> Names:
        """Return the attributes with more than one value that tell more of the class than chance explains.

        Among many columns of noise, some always seem to tell the class, and weights fitted to the same rows believe
        them. So the rule of Benjamini and Hochberg keeps as many as let about 30% of them be chance, at least the
        best 20 and at most the best 300. Those that tell of the class only beside another are kept, too.
        """
        names = [v.name for v in self.schema.attributes if self._varies(v.name)]
        if len(names) <= MANY_ATTRIBUTES:
            return tuple(names)
        views = [_View(self, cuts, names) for cuts in draw(_RANKED_IN).cuts]
        information = np.mean([view.class_information() for view in views], axis=0)
        freedom = np.mean([view.freedom() for view in views], axis=0)
        # The test of independence by 2 n I, which is χ² by chance.
        p = chdtrc(freedom, 2.0 * views[0].total * np.maximum(information, 0.0))
        order = np.lexsort((-information, p))
        n_kept = _passed(p[order], _CHANCE_AMONG)
        best = order[: min(max(n_kept, LEAST_ATTRIBUTES), MOST_ATTRIBUTES)]
        among = order[:MOST_ATTRIBUTES]
        more = self._told_with_another(views, among, len(best), len(names))
        kept = [*best.tolist(), *more.tolist()][:MOST_ATTRIBUTES]
        return tuple(names[j] for j in sorted(kept))

    def _told_with_another(
        self, views: list[_View], among: NDArray[np.intp], n_kept: int, n_names: int
    ) -> NDArray[np.intp]:
        """Return which attributes beyond the first tell of the class beside another, as both inputs of a XOR do.

        They are the best of more by what they tell alone, so all of these count as tested. Those that are kept
        anyway do not: their many small p would let noise pass.
        """
        pairs = np.array(list(itertools.permutations(range(len(among)), 2)), dtype=np.int64).reshape(-1, 2)
        rows = max(_RANKING_COST // (_RANKED_WITH_ANOTHER * max(len(pairs), 1)), 1_000)
        found = [view.first(rows).information_beside(among[pairs]) for view in views[:_RANKED_WITH_ANOTHER]]
        information, freedom = np.mean(found, axis=0)
        p = np.where(freedom > 0.0, chdtrc(np.maximum(freedom, 1.0), np.maximum(information, 0.0)), 1.0)
        others = np.flatnonzero(pairs[:, 1] >= n_kept)
        order = others[np.argsort(p[others], kind="stable")]
        n_tests = (n_names - n_kept) * (len(among) - 1)
        told = np.zeros(len(among), dtype=bool)
        told[pairs[order[: _passed(p[order], _CHANCE_AMONG_PAIRS, n_tests)], 1]] = True
        return among[told]

    def pairs(self, views: Views, names: Names, most: int) -> list[Names]:
        """Return pairs of attributes, those that depend most on each other within the classes first."""
        if not most or len(names) < 2:
            return []
        places = np.array(list(itertools.combinations(range(len(names)), 2)), dtype=np.int64)
        wide = _View(self, views.cuts[-1], names, 0).widths.astype(np.float64)
        places = places[wide[places].prod(axis=1) * self.schema.n_classes <= _LARGEST_TABLE]
        found: list[Names] = [(names[i], names[j]) for i, j in places]
        if len(found) <= most:
            return found
        rows = max(_RANKING_COST // (_RANKED_IN * len(found)), 1_000)
        information = sum(
            _View(self, cuts, names, rows).pair_information(places) for cuts in views.cuts[:_RANKED_IN]
        )
        return [found[p] for p in np.argsort(-np.asarray(information), kind="stable")]

    def triples(self, views: Views, names: Names, most: int) -> list[Names]:
        """Return triples that depend on each other beyond their pairs, among the most informative attributes."""
        if not most or len(names) < 3:
            return []
        view = _View(self, views.cuts[0], names)
        pairs = np.array(list(itertools.combinations(range(len(names)), 2)), dtype=np.int64)
        pairs = pairs[view.widths[pairs].max(axis=1) <= _TRIPLE_CODES]
        rows = max(_RANKING_COST // max(len(pairs), 1), 1_000)
        information = _View(self, views.cuts[0], names, rows).pair_information(pairs)
        strongest = np.full(len(names), -np.inf)
        np.maximum.at(strongest, pairs[:, 0], information)
        np.maximum.at(strongest, pairs[:, 1], information)
        order = np.argsort(-(view.class_information() + strongest), kind="stable")
        fit = [int(j) for j in order if 2 < view.widths[j] <= _TRIPLE_CODES]
        among = sorted(fit[:_TRIPLES_AMONG])
        threes = np.array(list(itertools.combinations(among, 3)), dtype=np.int64).reshape(-1, 3)
        if not len(threes):
            return []
        score = sum(
            _View(self, cuts, names).triple_information(threes) for cuts in views.cuts[:_TRIPLES_RANKED_IN]
        )
        return [
            (names[i], names[j], names[e])
            for i, j, e in threes[np.argsort(-np.asarray(score), kind="stable")]
        ]

    def _varies(self, name: Name) -> bool:
        variable = self.schema[name]
        if variable.kind == "numeric":
            values = self.chunk.values[:, self.schema.numeric_index[name]]
            present = values[~np.isnan(values)]
            n = 0 if not len(present) else 1 + int(present.min() < present.max())
            n_missing = len(values) - len(present)
        else:
            codes = self.chunk.codes[:, [v.name for v in self.schema.categorical].index(name)]
            n = len(np.unique(codes[codes < variable.size]))
            n_missing = int((codes >= variable.size).sum())
        return n > 1 or (n == 1 and n_missing > 0 and self.missing == "state")


class _View:
    """The rows of a sample with their numbers cut in one way."""

    def __init__(
        self, ranking: _Ranking, cuts: dict[Name, tuple[float, ...]], names: Iterable[Name], most: int = 2**30
    ) -> None:
        axes = tuple((name, *cuts.get(name, ())) for name in names)
        layout = Interactions.zero(ranking.schema, (axes, ()))
        # Rows of a sample lie in the order of their numbers, which is no order: the first are as good as any.
        rows = slice(0, min(most, ranking.chunk.n_rows))
        assert ranking.chunk.target is not None
        self.axes = Axes.of(layout, ranking.schema).codes(ranking.chunk, rows)
        self.layout, self.widths = layout, layout.widths
        self.target = ranking.chunk.target[rows]
        self.weights = ranking.weights[rows]
        self.n_classes = max(ranking.schema.n_classes, 1)
        self.total = max(float(self.weights.sum()), 1e-300)

    def class_information(self) -> Floats:
        """Return I(X; Y) of each axis."""
        singles = np.arange(len(self.widths))[:, None]
        joint, alone = self._sums(singles), self._sums(singles, classes=False)
        information = joint - alone - self._of_class() + self.total * np.log(self.total)
        return np.asarray(information / self.total)

    def first(self, most: int) -> _View:
        """Return the view of at most this many rows."""
        found = copy.copy(self)
        found.axes, found.target = np.ascontiguousarray(self.axes[:, :most]), self.target[:most]
        found.weights = self.weights[:most]
        found.total = max(float(found.weights.sum()), 1e-300)
        return found

    def information_beside(self, pairs: NDArray[np.int64]) -> Floats:
        """Return 2 n I(X_j; Y | X_i) of pairs (i, j), and its mean by chance; 0 and 0 where cells have too few rows."""
        singles = np.arange(len(self.widths))[:, None]
        of_i = (self._sums(singles) - self._sums(singles, classes=False))[pairs[:, 0]]
        one_way = pairs[:, 0] < pairs[:, 1]
        both = self._sums(pairs[one_way]) - self._sums(pairs[one_way], classes=False)
        place = {pair: t for t, pair in enumerate(map(tuple, pairs[one_way].tolist()))}
        of_both = both[[place[min(i, j), max(i, j)] for i, j in pairs.tolist()]]
        n_codes = np.array([np.count_nonzero(np.bincount(axis)) for axis in self.axes], dtype=np.float64)
        n_classes = len(np.unique(self.target))
        freedom = n_codes[pairs[:, 0]] * (n_codes[pairs[:, 1]] - 1.0) * (n_classes - 1.0)
        is_dense = n_codes[pairs].prod(axis=1) * n_classes * _ROWS_OF_A_CELL <= self.total
        return np.where(is_dense, [2.0 * (of_both - of_i), freedom], 0.0)

    def freedom(self) -> Floats:
        """Return the degrees of freedom of each axis and the class, if they are independent; at least 1."""
        n_classes = len(np.unique(self.target))
        n_codes = np.array([np.count_nonzero(np.bincount(axis)) for axis in self.axes], dtype=np.float64)
        return np.maximum((n_codes - 1.0) * (n_classes - 1.0), 1.0)

    def pair_information(self, pairs: NDArray[np.int64]) -> Floats:
        """Return I(X_i; X_j | Y) of pairs, less its mean where there is none."""
        singles = self._sums(np.arange(len(self.widths))[:, None])
        information = self._sums(pairs) - singles[pairs].sum(axis=1) + self._of_class()
        return np.asarray((information - 0.5 * self._chance(pairs)) / self.total)

    def triple_information(self, triples: NDArray[np.int64]) -> Floats:
        """Return the interaction information of three attributes within the classes, beyond their pairs."""
        singles = self._sums(np.arange(len(self.widths))[:, None])[triples].sum(axis=1)
        pairs = sum(self._sums(triples[:, two]) for two in ([0, 1], [0, 2], [1, 2]))
        information = self._sums(triples) - pairs + singles - self._of_class()
        return np.asarray((information - 0.5 * self._chance(triples)) / self.total)

    def _chance(self, sets: NDArray[np.int64]) -> Floats:
        """Return the degrees of freedom of sets of axes: twice the mean of n times their information by chance."""
        codes = np.array([max(int(axis.max(initial=0)), 1) for axis in self.axes], dtype=np.float64)
        return np.asarray(codes[sets].prod(axis=1) * self.n_classes)

    def _of_class(self) -> float:
        n = np.bincount(self.target, self.weights, self.n_classes)
        return float((n[n > 0] * np.log(n[n > 0])).sum())

    def _sums(self, sets: NDArray[np.int64], classes: bool = True) -> Floats:
        """Return Σ n log n of sets of axes, with the class or without."""
        padded = np.full((len(sets), 3), -1, dtype=np.int64)
        padded[:, : sets.shape[1]] = sets
        k, out = self.n_classes if classes else 1, np.zeros(len(sets))
        target = self.target if classes else np.zeros_like(self.target)
        cells = np.append(self.widths, 1)[padded].prod(axis=1)
        for some in _runs(cells * k, _COUNTED_AT_ONCE):
            layout = replace(self.layout, tables=padded[some])
            counts = np.zeros((int(layout.starts[-1]), k))
            with repeating(_COUNTS_OF_A_CHOICE):
                add_counts(self.axes, target, self.weights, layout, counts)
            there = counts > 0.0
            n = counts[there]
            logs = n.copy()
            take_logs(logs)
            of_set = np.repeat(np.arange(len(padded[some])), cells[some] * k)[there.reshape(-1)]
            out[some] = np.bincount(of_set, n * logs, len(padded[some]))
        return out


def _passed(p: Floats, share: float, n_tests: int | None = None) -> int:
    """Return how many of ascending p-values, the least of so many tests, the rule of Benjamini and Hochberg keeps."""
    passed = np.flatnonzero(p <= share * np.arange(1, len(p) + 1) / max(n_tests or len(p), 1))
    return int(passed[-1]) + 1 if len(passed) else 0


def _runs(sizes: NDArray[np.int64], most: int) -> Iterator[slice]:
    """Part things into runs that take no more room together, or are one alone."""
    ends, first = np.cumsum(sizes), 0
    while first < len(sizes):
        before = int(ends[first - 1]) if first else 0
        stop = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
        yield slice(first, stop)
        first = stop
