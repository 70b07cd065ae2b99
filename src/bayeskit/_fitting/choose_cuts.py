"""The choice of cut points for numeric attributes: one set from rows and classes, or several random ones, called views.

A single set of cut points is a compromise: few intervals blur the classes, many intervals have few rows each. Averaging
log-posteriors over several views avoids this. The cut points of views do not depend on the classes, so leaving a row
out of the counts leaves it out of the model, except for the positions of the cuts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._counting.backend import backend_of
from bayeskit._data.class_labels import as_labels, batch_weights, encode_labels
from bayeskit._data.encode import match_columns
from bayeskit._data.reading import Reading, cut_variable
from bayeskit._data.source import Rows, Source
from bayeskit._fitting.cut_points import frequency_cut_points, mdl_cut_points
from bayeskit._messages import Joined, Message
from bayeskit._schema import Name, Schema, Variable
from bayeskit.errors import BayeskitError, NeedsRows, SettingError
from bayeskit.typing import Floats

Cuts = dict[Name, tuple[float, ...]]

# The maximum number of rows to keep of a source with many batches. Above it, keep every second row, every fourth, …
MOST_ROWS = 2**20


class NumberSample:
    """Values, classes and weights of evenly spaced rows, and the range of each column over all rows."""

    def __init__(self) -> None:
        self.step = 1
        self.seen = 0
        self.ranges: list[tuple[float, float]] = []
        self.parts: list[tuple[list[NDArray[np.float64]], NDArray[Any], NDArray[np.float64] | None]] = []

    def add(self, columns: list[Any], codes: NDArray[Any], weights: NDArray[np.float64] | None) -> None:
        rows = slice((-self.seen) % self.step, None, self.step)
        self.seen += len(codes)
        kept = [np.asarray(column[rows], dtype=np.float64) for column in columns]
        found = [_range_of(column, weights) for column in columns]
        known = self.ranges or found
        self.ranges = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(known, found, strict=True)]
        self.parts.append((kept, codes[rows], None if weights is None else weights[rows]))
        if len(self.parts) > 1 and sum(len(c) for _, c, _ in self.parts) > MOST_ROWS:
            self._thin()

    def _thin(self) -> None:
        """Drop every second row of the sample, counted over all parts."""
        first, thinned = 0, []
        for columns, codes, weights in self.parts:
            rows = slice(first % 2, None, 2)
            first += len(codes)
            thinned.append(
                ([c[rows] for c in columns], codes[rows], None if weights is None else weights[rows])
            )
        self.parts, self.step = thinned, 2 * self.step

    @property
    def n_rows(self) -> int:
        return sum(len(codes) for _, codes, _ in self.parts)

    def column(self, place: int) -> NDArray[np.float64]:
        return np.concatenate([columns[place] for columns, _, _ in self.parts])

    @property
    def codes(self) -> NDArray[Any]:
        return np.concatenate([codes for _, codes, _ in self.parts])

    @property
    def weights(self) -> NDArray[np.float64] | None:
        if all(weights is None for _, _, weights in self.parts):
            return None
        return np.concatenate([np.ones(len(c)) if w is None else w for _, c, w in self.parts])


def _range_of(column: Any, weights: Floats | None) -> tuple[float, float]:
    """Return the smallest and the largest number of rows with weight; (∞, −∞) if there is none."""
    values = np.asarray(column, dtype=np.float64)
    values = values[~np.isnan(values) if weights is None else ~np.isnan(values) & (weights > 0.0)]
    return (float(values.min()), float(values.max())) if len(values) else (np.inf, -np.inf)


def check_cut_points(cut_points: object, numeric: object = "mdl") -> None:
    """Raise an error for cut points that are no mapping, or are given where nothing is cut."""
    if cut_points is not None and numeric != "mdl":
        raise SettingError(
            'cut_points are for numeric="mdl"; with numeric={numeric!r} nothing is cut.', numeric=numeric
        )
    if cut_points is not None and not isinstance(cut_points, Mapping):
        raise SettingError(
            "cut_points is {cut_points!r}; give a mapping from column to ascending numbers.",
            cut_points=cut_points,
        )


def choose_cut_points(
    source: Source, reading: Reading, given: Cuts, numeric: str | int | Mapping[Any, str | int] = "mdl"
) -> Cuts:
    """Return the cut points of numeric columns: those given, and for other columns those chosen as ``numeric`` says.

    If the rows are in memory, all are used. If the source has batches, at most about a million evenly spaced rows
    are used, so that memory does not grow with the source.

    Parameters
    ----------
    source, reading, given
    numeric : "mdl", "gaussian", int, or mapping from column to one of these
        Cut where the classes differ (MDL), do not cut, or cut into this many intervals with about equal numbers of
        rows. Columns that a mapping does not name are not cut.
    """
    schema: Schema | None = None
    target = Variable("y", "categorical")
    backend = backend_of(source)
    if backend is not None and not source.in_partitions:
        return _given_cuts(source, backend.schema(source, reading, target), given, numeric)
    sample = NumberSample()
    for rows in source:
        if schema is None:
            schema = reading.schema_of(rows.table, target)
            _check_given(given, schema)
            if isinstance(numeric, Mapping):
                _check_given(numeric, schema, "numeric")
        wanted = _to_choose(schema, given, numeric)
        if not wanted:
            break
        target = add_numbers(rows, schema, wanted, target, sample)
    if schema is None:
        return {}
    weights, found = None, dict[Name, tuple[float, ...]]()
    if sample.parts:
        weights = sample.weights
    wanted_names = [v.name for v in _to_choose(schema, given, numeric)]
    for v in schema.numeric:
        if v.name in given:
            found[v.name] = cut_variable(v.name, given[v.name]).cuts or ()
        elif v.name in wanted_names:
            values, how = sample.column(wanted_names.index(v.name)), _way(numeric, v.name)
            if how == "mdl":
                cuts = mdl_cut_points(values, sample.codes, target.size, weights, name=v.name)
            else:
                cuts = frequency_cut_points(values, how, weights, name=v.name)
            found[v.name] = tuple(cuts.tolist())
    return found


def _way(numeric: str | int | Mapping[Any, str | int], name: Name) -> Any:
    return numeric.get(name, "gaussian") if isinstance(numeric, Mapping) else numeric


def _to_choose(schema: Schema, given: Cuts, numeric: str | int | Mapping[Any, str | int]) -> list[Variable]:
    """Return the columns whose cut points must be chosen from rows."""
    return [v for v in schema.numeric if v.name not in given and _way(numeric, v.name) != "gaussian"]


def _given_cuts(
    source: Source, schema: Schema, given: Cuts, numeric: str | int | Mapping[Any, str | int]
) -> Cuts:
    """Return the given cut points of a source that is counted in place. Raise an error if others must be chosen."""
    _check_given(given, schema)
    wanted = [v.name for v in _to_choose(schema, given, numeric)]
    if wanted:
        shown = Joined(map(repr, wanted[:5]))
        raise NeedsRows(
            'numeric="mdl"' if numeric == "mdl" else f"numeric={numeric!r}",
            source.data,
            Message(
                'Give the cut points of {shown} with cut_points=, or use numeric="gaussian".', shown=shown
            ),
        )
    return {v.name: cut_variable(v.name, given[v.name]).cuts or () for v in schema.numeric if v.name in given}


def _check_given(given: Mapping[Name, Any], schema: Schema, setting: str = "cut_points") -> None:
    """Raise an error for cut points of a column that is missing or not numeric."""
    for name in given:
        if name not in schema.position:
            known = Joined(map(repr, list(schema.position)[:12]))
            raise SettingError(
                "{setting} names {name!r}, which is not a column. The columns are {known}.",
                setting=setting,
                name=name,
                known=known,
            )
        if schema[name].kind != "numeric":
            raise SettingError(
                "{setting} names {name!r}, which is {kind}: only numbers can be cut into intervals.",
                setting=setting,
                name=name,
                kind=schema[name].kind,
            )


def add_numbers(
    rows: Rows, schema: Schema, wanted: list[Variable], target: Variable, sample: NumberSample
) -> Variable:
    """Add the wanted columns of some rows to a sample, and return the target with their classes."""
    names = tuple(v.name for v in schema.attributes)
    table = match_columns(rows.table, schema, names, "the first batch")
    grown, codes = target, np.zeros(table.n_rows, np.uint32)
    if not target.closed:
        try:
            labels = as_labels(rows.y, table.n_rows, in_codes=True)
            grown, codes = encode_labels(labels, target, "grow")
        except BayeskitError as error:
            error.move_rows(table.first_row)
            raise
    if grown.size != target.size and sample.parts:
        # New classes may be sorted between the old ones, so update the codes in the sample.
        moved = np.array([grown.codes[label] for label in target.states], dtype=np.int64)
        sample.parts = [(columns, moved[c], w) for columns, c, w in sample.parts]
    columns = [table.numbers(schema.position[v.name]) for v in wanted]
    sample.add(columns, codes.astype(np.int64), batch_weights(rows.weights, table.n_rows))
    return grown


# With fewer rows than FEW_ROWS there are few intervals; from MANY_ROWS on there are many.
FEW_ROWS, MANY_ROWS = 1_000, 8_000
# The minimum number of rows per interval besides those of frequent values.
_LEAST_ROWS = 5
_LARGEST = float(np.finfo(float).max)


class ViewKind(NamedTuple):
    """How to draw a view: the range of the number of intervals, and whether frequent values get their own interval."""

    least: int
    most: int
    atoms: bool


@dataclass(frozen=True)
class Views:
    """Cut points of numeric attributes, one set for each view.

    Attributes
    ----------
    cuts : tuple of mappings from attribute to ascending cut points
        State v of an attribute is the interval (cut v − 1, cut v].
    """

    cuts: tuple[dict[Name, tuple[float, ...]], ...]

    def __len__(self) -> int:
        return len(self.cuts)


def kinds_of(n_rows: float, n_views: int) -> list[ViewKind]:
    """Return how to draw each view, alternating between few and many intervals.

    >>> [tuple(kind) for kind in kinds_of(500, 2)], tuple(kinds_of(5_000, 2)[1])
    ([(2, 6, False), (3, 12, False)], (8, 25, True))
    """
    if n_rows < FEW_ROWS:
        coarse, fine = ViewKind(2, 6, False), ViewKind(3, 12, False)
    elif n_rows < MANY_ROWS:
        coarse, fine = ViewKind(3, 8, False), ViewKind(8, 25, True)
    else:
        coarse, fine = ViewKind(4, 12, False), ViewKind(12, 40, True)
    return [fine if v % 2 else coarse for v in range(n_views)]


def coarse_kinds(n_rows: float, n_views: int) -> list[ViewKind]:
    """Return how to draw views for tables over more attributes, which need fewer intervals."""
    return [ViewKind(2, 5, False) if n_rows < FEW_ROWS else ViewKind(3, 8, False)] * n_views


def draw_views(
    columns: dict[Name, Floats], weights: Floats, kinds: list[ViewKind], seed: tuple[int, ...]
) -> Views:
    """Draw the cut points of every view.

    The values of a column seed its draws, so these do not depend on its name, its position or the order of the rows.

    Parameters
    ----------
    columns : mapping from attribute to array of shape (n,)
        NaN is missing.
    weights : array of shape (n,)
    """
    cuts: tuple[dict[Name, tuple[float, ...]], ...] = tuple({} for _ in kinds)
    for name, values in columns.items():
        present = ~np.isnan(values)
        states, place = np.unique(values[present], return_inverse=True)
        weight = np.bincount(place, weights[present], len(states))
        rng = np.random.default_rng([*seed, crc32(np.ascontiguousarray(states).tobytes())])
        for view, kind in zip(cuts, kinds, strict=True):
            view[name] = tuple(draw_cuts(states, weight, kind, rng).tolist())
    return Views(cuts)


def draw_cuts(states: ArrayLike, weight: ArrayLike, kind: ViewKind, rng: np.random.Generator) -> Floats:
    r"""Return cut points at quantiles :math:`(i + u_i)/m`, with m intervals and u between −½ and ½ drawn at random.

    With ``atoms``, a value with more than 1/m of the rows gets its own interval, and the other values share the rest.
    If there are at most m values, each gets its own.

    Parameters
    ----------
    states : array of shape (v,), ascending
    weight : array of shape (v,)
        The weight of the rows with each value.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> draw_cuts([0.0, 1.0, 2.0], [97.0, 1.0, 2.0], ViewKind(3, 3, True), rng).tolist()
    [0.5, 1.5]
    """
    x, n = np.asarray(states, dtype=np.float64), np.asarray(weight, dtype=np.float64)
    m = int(rng.integers(kind.least, kind.most + 1))
    if len(x) < 2:
        return np.empty(0)
    if not kind.atoms:
        return _between(x, _distinct(_quantiles(n, m, rng)))
    if len(x) <= m:
        return _between(x, np.arange(1, len(x)))
    frequent = np.flatnonzero(n > n.sum() / m)
    if not len(frequent):
        return _between(x, _distinct(_quantiles(n, m, rng)))
    beside = np.concatenate([frequent, frequent + 1])
    rest = np.flatnonzero(n <= n.sum() / m)
    left = int(min(max(m - len(frequent), 1), n[rest].sum() // _LEAST_ROWS))
    if left >= 2:
        beside = np.concatenate([beside, rest[_quantiles(n[rest], left, rng)]])
    return _between(x, np.unique(beside[(beside > 0) & (beside < len(x))]))


def _quantiles(weight: Floats, m: int, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return the indices of the values before which to cut, never the first."""
    shares = (np.arange(1, m) + rng.uniform(-0.5, 0.5, m - 1)) / m
    upto = np.cumsum(weight)
    places = np.searchsorted(upto, np.sort(shares) * upto[-1], side="right")
    return np.asarray(places[(places > 0) & (places < len(weight))])


def _between(x: Floats, places: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Floats:
    """Return the midpoint of each of these values and the one before it, finite and below the value."""
    below, above = np.maximum(x[places - 1], -_LARGEST), np.minimum(x[places], _LARGEST)
    middle = 0.5 * below + 0.5 * above
    return _distinct(np.where(middle < x[places], middle, below))


def _distinct(ascending: NDArray[Any]) -> NDArray[Any]:
    """Return ascending values without repetitions: quicker than ``np.unique``, which sorts them once more."""
    return ascending[np.append(True, ascending[1:] != ascending[:-1])] if len(ascending) else ascending
