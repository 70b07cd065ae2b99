"""Counts chosen sets of attributes, with numbers cut in several ways; also samples rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit._counting.count_tables import class_weights
from bayeskit._data.encoded import Chunk
from bayeskit._numba import kernel
from bayeskit._schema import Schema
from bayeskit._statistics.interactions import Interactions
from bayeskit._statistics.row_sample import RowSample, sample_of
from bayeskit.typing import Floats

_U = np.uintp


@kernel
def count_tables_of_axes(
    axes: Any, target: Any, weights: Any, tables: Any, widths: Any, starts: Any, n_classes: Any, flat: Any
) -> None:
    """Add every row's weight to its cell in each table.

    One table after the other over a block of rows, so that its cells stay in the fastest cache. ``axes`` of
    shape (axes, rows) contains the codes, ``flat`` the counts of shape (cells, K), one row after the other.
    """
    n, k = _U(target.shape[0]), _U(n_classes)
    for t in range(tables.shape[0]):
        a, b, e = tables[t, 0], tables[t, 1], tables[t, 2]
        begin = _U(starts[t])
        if b < 0:
            for i in range(n):
                flat[(begin + _U(axes[a, i])) * k + _U(target[i])] += weights[i]
        elif e < 0:
            width = _U(widths[b])
            for i in range(n):
                cell = begin + _U(axes[a, i]) * width + _U(axes[b, i])
                flat[cell * k + _U(target[i])] += weights[i]
        else:
            width, depth = _U(widths[b]), _U(widths[e])
            for i in range(n):
                cell = begin + (_U(axes[a, i]) * width + _U(axes[b, i])) * depth + _U(axes[e, i])
                flat[cell * k + _U(target[i])] += weights[i]


# Rows counted at a time: their codes stay in the second-level cache for all tables.
_BLOCK = 4096


class Axes(NamedTuple):
    """The axes of the tables: whether each is a number, its column among its kind, its codes and its cut points."""

    is_number: NDArray[np.bool_]
    places: NDArray[np.int64]
    widths: NDArray[np.int64]
    cuts: Floats
    cut_starts: NDArray[np.int64]

    @classmethod
    def of(cls, layout: Interactions, schema: Schema) -> Axes:
        variables = [schema.attributes[column] for column in layout.columns]
        among = {v.name: j for kind in (schema.categorical, schema.numeric) for j, v in enumerate(kind)}
        return cls(
            np.array([v.kind == "numeric" for v in variables], dtype=np.bool_),
            np.array([among[v.name] for v in variables], dtype=np.int64),
            *(layout.widths, layout.cuts, layout.cut_starts),
        )

    def codes(self, chunk: Chunk, rows: slice) -> NDArray[np.int32]:
        """Return the codes of some rows on every axis: shape (axes, rows).

        A numeric value has the number of its interval (cut − 1, cut]; missing comes last. An unseen state counts as
        missing.
        """
        numbers, states = np.ascontiguousarray(chunk.values[rows].T), chunk.codes[rows]
        out = np.empty((len(self.widths), states.shape[0]), dtype=np.int32)
        last = self.widths - 1
        for a, place in enumerate(self.places.tolist()):
            if self.is_number[a]:
                x, cuts = numbers[place], self.cuts[self.cut_starts[a] : self.cut_starts[a + 1]]
                out[a] = np.where(np.isnan(x), last[a], np.searchsorted(cuts, x))
            else:
                out[a] = np.minimum(states[:, place], last[a])
        return out


def blocks(n_rows: int) -> Iterator[slice]:
    """Split rows into blocks whose codes on all axes stay in the cache."""
    for begin in range(0, n_rows, _BLOCK):
        yield slice(begin, min(begin + _BLOCK, n_rows))


def count_interactions(chunk: Chunk, schema: Schema, attributes: tuple[Any, ...]) -> Interactions:
    """Count n(…, c) of every table."""
    target = chunk.target
    assert target is not None
    found = Interactions.zero(schema, attributes)
    found.margin[:] = class_weights(target, chunk.weights, schema.n_classes)
    chunk = in_one_matrix(chunk, schema)
    axes, weights = Axes.of(found, schema), chunk.row_weights
    for rows in blocks(chunk.n_rows):
        add_counts(axes.codes(chunk, rows), target[rows], weights[rows], found, found.counts)
    return found


def add_counts(
    codes: NDArray[np.int32], target: NDArray[Any], weights: Floats, layout: Interactions, out: Floats
) -> None:
    """Add the weights of rows, given by their codes on all axes, to their cells in ``out``."""
    weights = weights.view()
    weights.flags.writeable = False  # as default weights are, so that the loop is compiled for one type alone
    codes_of_class = target.astype(np.uint32, copy=False)
    shape = layout.tables, layout.widths, layout.starts, out.shape[1]
    count_tables_of_axes(codes, codes_of_class, weights, *shape, out.reshape(-1))


def take_sample(chunk: Chunk, schema: Schema, attributes: tuple[Any, ...]) -> RowSample:
    """Sample the rows of a chunk."""
    assert chunk.target is not None
    codes = in_one_matrix(chunk, schema).codes
    return sample_of(schema, attributes[0], codes, chunk.values, chunk.target, chunk.row_weights)


def in_one_matrix(chunk: Chunk, schema: Schema) -> Chunk:
    """Return the chunk with its codes in one matrix."""
    if not isinstance(chunk.codes, tuple):
        return chunk
    columns = [column[:] for column in chunk.codes]
    codes = np.empty((chunk.n_rows, len(columns)), dtype=schema.code_dtype)
    for j, column in enumerate(columns):
        codes[:, j] = column
    return replace(chunk, codes=codes)
