"""The choice of cut points for the numeric columns of a source, from its rows and classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._counting.backend import backend_of
from bayeskit._data.class_labels import as_labels, batch_weights, encode_labels
from bayeskit._data.encode import match_columns
from bayeskit._data.reading import Reading, cut_variable
from bayeskit._data.source import Rows, Source
from bayeskit._fitting.cut_points import frequency_cut_points, mdl_cut_points
from bayeskit._messages import Joined, Message
from bayeskit._schema import Name, Schema, Variable
from bayeskit.errors import NeedsRows, SettingError

Cuts = dict[Name, tuple[float, ...]]

# The maximum number of rows to keep of a source with many batches. Above it, keep every second row, every fourth, …
MOST_ROWS = 2**20


class _Sample:
    """Values, classes and weights of evenly spaced rows."""

    def __init__(self) -> None:
        self.step = 1
        self.seen = 0
        self.parts: list[tuple[list[NDArray[np.float64]], NDArray[Any], NDArray[np.float64] | None]] = []

    def add(self, columns: list[Any], codes: NDArray[Any], weights: NDArray[np.float64] | None) -> None:
        rows = slice((-self.seen) % self.step, None, self.step)
        self.seen += len(codes)
        kept = [np.asarray(column[rows], dtype=np.float64) for column in columns]
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
    sample = _Sample()
    for rows in source:
        if schema is None:
            schema = reading.schema_of(rows.table, target)
            _check_given(given, schema)
            if isinstance(numeric, Mapping):
                _check_given(numeric, schema, "numeric")
        wanted = _to_choose(schema, given, numeric)
        if not wanted:
            break
        target = _absorb(rows, schema, wanted, target, sample)
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


def _absorb(
    rows: Rows, schema: Schema, wanted: list[Variable], target: Variable, sample: _Sample
) -> Variable:
    names = tuple(v.name for v in schema.attributes)
    table = match_columns(rows.table, schema, names, "the first batch")
    grown, codes = encode_labels(as_labels(rows.y, table.n_rows), target, "grow")
    if grown.size != target.size and sample.parts:
        # New classes may be sorted between the old ones, so update the codes in the sample.
        moved = np.array([grown.codes[label] for label in target.states], dtype=np.int64)
        sample.parts = [(columns, moved[c], w) for columns, c, w in sample.parts]
    columns = [table.numbers(schema.position[v.name]) for v in wanted]
    sample.add(columns, codes.astype(np.int64), batch_weights(rows.weights, table.n_rows))
    return grown
