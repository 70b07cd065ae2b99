"""Finds the node at which each row stops in each tree, and counts these nodes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit._counting.count_tables import class_weights
from bayeskit._data.encoded import Chunk
from bayeskit._numba import kernel, repeating
from bayeskit._schema import Schema
from bayeskit._statistics.families import Cells, summed_cells
from bayeskit._statistics.tree_counts import LEFT, MISSING, STAYS, UNKNOWN, TreeCounts, Trees, trees_of

# Counting every node and class is faster than sorting if there are at most this many for each row.
_CELLS_A_ROW = 4


class BinnedRows(NamedTuple):
    """Rows in the codes of trees.

    Attributes
    ----------
    numbers : uint8 array of shape (n, numeric columns)
    codes : array of shape (n, categorical columns)
        The codes of the schema.
    tables : uint8 array of shape (trees, cells)
        The code of each cell in each tree, all columns one after the other.
    offsets : int64 array of shape (categorical columns,)
        Where each column starts in a row of ``tables``.
    """

    numbers: NDArray[np.uint8]
    codes: NDArray[Any]
    tables: NDArray[np.uint8]
    offsets: NDArray[np.int64]


@kernel
def route(
    numbers: Any, codes: Any, table: Any, offsets: Any, first: Any, features: Any, bounds: Any, ways: Any,
    rights: Any, stops: Any,
) -> None:  # fmt: skip
    """Send every row down the tree with root ``first``; write the node at which it stops."""
    n_numbers = numbers.shape[1]
    for i in range(stops.shape[0]):
        node = np.int64(first)
        while ways[node] != 0:
            j = np.int64(features[node])
            if j < n_numbers:
                code = numbers[i, j]
            else:
                code = table[offsets[j - n_numbers] + np.int64(codes[i, j - n_numbers])]
            if code >= UNKNOWN:
                if code == UNKNOWN or ways[node] == STAYS:
                    break
                node = node + 1 if ways[node] == LEFT else rights[node]
            elif code <= bounds[node]:
                node += 1
            else:
                node = rights[node]
        stops[i] = node


def binned(chunk: Chunk, schema: Schema, trees: Trees) -> BinnedRows:
    """Convert rows to the codes of trees."""
    numbers = np.empty((chunk.n_rows, len(trees.numeric)), np.uint8)
    for j, (name, cuts) in enumerate(zip(trees.numeric, trees.cuts, strict=True)):
        values = chunk.values[:, schema.numeric_index[name]]
        numbers[:, j] = np.searchsorted(np.asarray(cuts, np.float64), values)
        numbers[np.isnan(values), j] = MISSING
    position = {v.name: j for j, v in enumerate(schema.categorical)}
    codes = np.empty((chunk.n_rows, len(trees.categorical)), schema.code_dtype)
    for j, name in enumerate(trees.categorical):
        codes[:, j] = chunk.column(position[name])
    places: list[int] = []
    offsets, base = [], 0
    # After the states that the trees know come the codes of unknown and missing.
    n_known: int = trees.ranks.shape[1]
    for name, states in zip(trees.categorical, trees.states, strict=True):
        known = {state: base + i for i, state in enumerate(states)}
        offsets.append(len(places))
        places.extend(known.get(state, n_known) for state in schema[name].states)
        places += [n_known + 1, n_known]
        base += len(states)
    ends = np.broadcast_to(np.array([UNKNOWN, MISSING], np.uint8), (trees.n_trees, 2))
    tables = np.concatenate([trees.ranks, ends], axis=1)[:, np.array(places, np.intp)]
    return BinnedRows(numbers, codes, np.ascontiguousarray(tables), np.array(offsets, np.int64))


def stops_of(rows: BinnedRows, trees: Trees, t: int, stops: NDArray[np.int64]) -> None:
    """Write the node at which each row stops in tree t."""
    route(
        rows.numbers, rows.codes, rows.tables[t], rows.offsets, int(trees.starts[t]), trees.features,
        trees.bounds, trees.ways, trees.rights, stops,
    )  # fmt: skip


def count_trees(chunk: Chunk, schema: Schema, attributes: tuple[Any, ...]) -> TreeCounts:
    """Count n(node, c) in every tree of every forest.

    Examples
    --------
    >>> from bayeskit.statistics import Variable
    >>> from bayeskit._statistics.tree_counts import LEAF, STAYS, forest_of
    >>> schema = Schema((Variable("x", "numeric"),), Variable("y", "categorical", ("no", "yes")))
    >>> one = np.array([0, 0, 0]), np.array([0, 0, 0]), np.array([STAYS, LEAF, LEAF])
    >>> forest = forest_of({"x": (0.5,)}, {}, ("no", "yes"), 0, np.empty((1, 0), np.uint8), [one])
    >>> values = np.array([[0.0], [1.0], [np.nan]])
    >>> rows = Chunk(3, np.empty((3, 0), np.uint8), values, target=np.array([0, 1, 1], np.uint32))
    >>> counted = count_trees(rows, schema, (forest,))
    >>> counted.keys, counted.counts  # a "yes" stops at the root, a "no" on the left, a "yes" on the right
    (array([1, 2, 5]), array([1., 1., 1.]))
    """
    assert chunk.target is not None
    zero, k = TreeCounts.zero(schema, attributes), schema.n_classes
    margin = class_weights(chunk.target, chunk.weights, k)
    target, cells = chunk.target.astype(np.int64), [(zero.keys, zero.counts)]
    stops, first = np.empty(chunk.n_rows, np.int64), 0
    for forest in attributes:
        trees = trees_of(forest)
        rows = binned(chunk, schema, trees)
        with repeating(trees.n_trees):
            for t in range(trees.n_trees):
                stops_of(rows, trees, t, stops)
                start, stop = int(trees.starts[t]), int(trees.starts[t + 1])
                keys, counts = _cells((stops - start) * k + target, chunk.row_weights, (stop - start) * k)
                cells.append((keys + (first + start) * k, counts))
        first += len(trees.ways)
    keys, counts = (np.concatenate([some[i] for some in cells]) for i in (0, 1))
    return zero.with_cells((keys, counts), margin)


def _cells(keys: NDArray[np.int64], weights: NDArray[np.float64], n_keys: int) -> Cells:
    """Add the weights of equal keys; keys are ascending."""
    if n_keys > _CELLS_A_ROW * len(keys):
        return summed_cells(keys, weights)
    sums = np.bincount(keys, weights, n_keys).astype(np.float64)
    there = np.flatnonzero(sums)
    return there.astype(np.int64), sums[there]
