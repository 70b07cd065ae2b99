"""n(class, node): the nodes at which rows stop, in trees with fixed splits."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayeskit._messages import Message
from bayeskit._numba import kernel
from bayeskit._schema import Label, Name, Schema
from bayeskit._statistics.families import Cells, summed_cells, united_cells
from bayeskit._statistics.part import CellTable, Embedding, Gone, Part, left_of, weight_gone
from bayeskit._statistics.term import Term
from bayeskit.errors import ColumnError, DataError
from bayeskit.typing import Floats

# The splits of a forest as plain, comparable values, for plans, held choices and files.
Forest = tuple[Any, ...]

# The codes of a column are 0 … 253. Two more codes mean a state that the trees do not know, and a missing value.
MOST_CODES, UNKNOWN, MISSING = 254, 254, 255
# Nodes store the index of a column in two bytes.
MOST_COLUMNS = 2**16
# The kind of a node: a leaf without a test, or a test at which a row with a missing value stays, goes left or goes
# right.
LEAF, STAYS, LEFT, RIGHT = 0, 1, 2, 3
# Bounds of the power of a forest. With few rows, all predicted correctly, the power would be unbounded.
LEAST_POWER, LARGEST_POWER = 0.25, 4.0


@kernel
def link_nodes(ways: Any, starts: Any, stack: Any, rights: Any, parents: Any) -> Any:
    """Find the right child and the parent of every node. Return False if the nodes do not form trees.

    Nodes are in depth-first order, left before right, so a node with a test is followed by its left child.
    """
    for t in range(starts.shape[0] - 1):
        waiting = 0
        parents[starts[t]] = -1
        for node in range(starts[t], starts[t + 1]):
            if node > starts[t] and ways[node - 1] == LEAF:
                if waiting == 0:
                    return False
                waiting -= 1
                rights[stack[waiting]] = node
                parents[node] = stack[waiting]
            elif node > starts[t]:
                parents[node] = node - 1
            rights[node] = -1
            if ways[node] != LEAF:
                stack[waiting] = node
                waiting += 1
        if waiting:
            return False
    return True


@dataclass(frozen=True, eq=False)
class Trees:
    """The splits of a forest as arrays: the nodes of all trees one after the other, each tree from its root.

    Attributes
    ----------
    numeric, categorical : names of the columns; tests refer to them by index in this order
    cuts : the cut points of each numeric column: code k is the interval (cuts[k − 1], cuts[k]]
    states : for each categorical column, the states that the trees know
    ranks : uint8 array of shape (trees, states of all columns)
        The code of each state, which differs between trees.
    classes : the classes that the trees were grown for
    seed : int
        The seed of the bootstraps.
    power : float
        The power to which the mean of the posteriors is raised.
    starts : array of shape (trees + 1,)
        The first node of each tree.
    features, bounds, ways : arrays of shape (nodes,)
        The test of each node: a row goes left if the code of the column is at most the bound.
    rights, parents : int64 arrays of shape (nodes,)
        The left child of a node is the next one.
    """

    numeric: tuple[Name, ...]
    categorical: tuple[Name, ...]
    cuts: tuple[tuple[float, ...], ...]
    states: tuple[tuple[Label, ...], ...]
    ranks: NDArray[np.uint8]
    classes: tuple[Label, ...]
    seed: int
    power: float
    starts: NDArray[np.int64]
    features: NDArray[np.uint16]
    bounds: NDArray[np.uint8]
    ways: NDArray[np.uint8]
    rights: NDArray[np.int64]
    parents: NDArray[np.int64]

    @property
    def n_trees(self) -> int:
        return len(self.starts) - 1

    @property
    def names(self) -> tuple[Name, ...]:
        """The columns, in the order of their indices in tests."""
        return (*self.numeric, *self.categorical)

    def tree(self, t: int) -> slice:
        """Return the slice of the nodes of a tree."""
        return slice(int(self.starts[t]), int(self.starts[t + 1]))


def forest_of(
    numeric: Mapping[Name, tuple[float, ...]],
    categorical: Mapping[Name, tuple[Label, ...]],
    classes: tuple[Label, ...],
    seed: int,
    ranks: NDArray[np.uint8],
    trees: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]],
) -> Forest:
    """Return splits as plain values; each tree is given as (features, bounds, ways) of its nodes."""
    sizes = np.array([len(ways) for _, _, ways in trees], "<u4")
    return (
        tuple(numeric),
        tuple(numeric.values()),
        tuple(categorical),
        tuple(categorical.values()),
        classes,
        seed,
        1.0,
        _text(sizes),
        _text(np.concatenate([f for f, _, _ in trees]).astype("<u2")),
        *(_text(np.concatenate([tree[i] for tree in trees]).astype("u1")) for i in (1, 2)),
        _text(np.ascontiguousarray(ranks, "u1")),
    )


def with_power(forest: Forest, power: float) -> Forest:
    """Return the forest with its mean raised to a power, kept within bounds."""
    return (*forest[:6], min(max(power, LEAST_POWER), LARGEST_POWER), *forest[7:])


def _text(array: NDArray[Any]) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")


def _numbers(text: str, dtype: str) -> NDArray[Any]:
    return np.frombuffer(base64.b64decode(text, validate=True), dtype)


@lru_cache(maxsize=8)
def trees_of(forest: Forest) -> Trees:
    """Return the splits as arrays. Raise a :class:`~bayeskit.errors.DataError` if they are not trees.

    Examples
    --------
    >>> one = np.array([0, 0, 0]), np.array([0, 0, 0]), np.array([STAYS, LEAF, LEAF])
    >>> trees_of(forest_of({"x": (0.5,)}, {}, ("no", "yes"), 0, np.empty((1, 0), np.uint8), [one])).rights
    array([ 2, -1, -1])
    """
    try:
        numeric, cuts, categorical, states, classes, seed, power, *texts = forest
        sizes, features, bounds, ways, ranks = (
            _numbers(text, dtype) for text, dtype in zip(texts, ("<u4", "<u2", "u1", "u1", "u1"), strict=True)
        )
        ranks = ranks.reshape(len(sizes), sum(map(len, states)))
        starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        n_columns, n_nodes = len(numeric) + len(categorical), int(starts[-1])
        fits = (
            len(features) == len(bounds) == len(ways) == n_nodes
            and (sizes > 0).all()
            and len(numeric) == len(cuts)
            and len(categorical) == len(states)
            and all(list(c) == sorted(set(c)) and len(c) < MOST_CODES for c in cuts)
            and all(len(set(s)) == len(s) for s in states)
            and bool((features[ways != LEAF] < n_columns).all())
            and ways.max(initial=0) <= RIGHT
            and type(seed) is int
            and 0 <= seed < 2**32
            and LEAST_POWER <= power <= LARGEST_POWER
        )
    except (TypeError, ValueError) as error:
        raise _no_trees() from error
    rights, parents, stack = np.empty((3, n_nodes), np.int64)
    if not fits or not link_nodes(ways.copy(), starts, stack, rights, parents):
        raise _no_trees()
    return Trees(
        numeric, categorical, cuts, states, ranks, classes, seed, power, starts,
        features.astype(np.uint16), bounds.copy(), ways.copy(), rights, parents,
    )  # fmt: skip


def _no_trees() -> DataError:
    return DataError("The given splits do not form trees. Fit the model again.")


@dataclass(frozen=True, eq=False)
class TreeCounts(Part):
    """Counts of order 0: the weight of each class that stops at each node of each tree. Empty cells are not stored.

    A row stops at a leaf, or at a test of a column that is missing. The weight that passed through a node is the sum
    over the nodes below it, so every row is counted once in each tree.

    Attributes
    ----------
    margin : array of shape (K,)
        n(c): the weight of each class.
    starts : int64 array of shape (trees + 1,)
        The first node of each tree, over the trees of all forests.
    keys, counts : arrays of shape (m,)
        node·K + c, ascending, and the weight there.
    """

    kind = "trees"
    weight_arrays = "margin", "counts"
    free_arrays = "keys", "counts"
    fixed_arrays = ("starts",)

    margin: Floats
    starts: NDArray[np.int64]
    keys: NDArray[np.int64]
    counts: Floats

    @classmethod
    def is_pattern(cls, schema: Schema, attributes: tuple[Any, ...]) -> bool:
        try:
            cls.zero(schema, attributes)
            return len(set(attributes)) == len(attributes)
        except (ColumnError, DataError, TypeError):
            return False

    @classmethod
    def terms(cls, schema: Schema, attributes: tuple[Any, ...]) -> Iterator[Term]:
        target = schema.target.name
        yield Term((target,))
        for forest in attributes:
            name = hashlib.sha256("".join(forest[-5:]).encode()).hexdigest()[:12]
            yield from (Term((target,), (f"tree {t} of {name}",)) for t in range(trees_of(forest).n_trees))

    @classmethod
    def memory(cls, schema: Schema, attributes: tuple[Any, ...]) -> int:
        # About one cell of 16 bytes for each node: many leaves have a single class, and few rows stop at inner nodes.
        return 16 * sum(len(trees_of(forest).ways) for forest in attributes)

    @classmethod
    def zero(cls, schema: Schema, attributes: tuple[Any, ...]) -> Self:
        kinds = {v.name: v.kind for v in schema.attributes}
        starts = [np.zeros(1, np.int64)]
        for forest in attributes:
            trees = trees_of(forest)
            wanted = {
                **dict.fromkeys(trees.numeric, "numeric"),
                **dict.fromkeys(trees.categorical, "categorical"),
            }
            for name, kind in wanted.items():
                if kinds.get(name) != kind:
                    raise ColumnError(
                        "The trees test {name!r} as a {kind} column, and there is none.", name=name, kind=kind
                    )
            starts.append(starts[-1][-1] + trees.starts[1:])
        return cls(np.zeros(schema.n_classes), np.concatenate(starts), np.empty(0, np.int64), np.empty(0))

    @property
    def cells(self) -> Cells:
        return self.keys, self.counts

    def tree_cells(self, t: int) -> Cells:
        """Return the cells of one tree, with its nodes numbered from 0."""
        k = len(self.margin)
        first, last = np.searchsorted(self.keys, self.starts[t : t + 2] * k)
        return self.keys[first:last] - self.starts[t] * k, self.counts[first:last]

    def merge(self, other: Self) -> Self:
        keys, mine, others = united_cells(self.cells, other.cells)
        return self.with_cells((keys, mine + others), self.margin + other.margin)

    def subtract(self, other: Self, gone: Gone | None = None) -> Self:
        weight, k = weight_gone(gone, other.margin), max(len(self.margin), 1)
        margin = left_of(self.margin, other.margin, self.margin, weight)
        keys, mine, others = united_cells(self.cells, other.cells)
        left = left_of(mine, others, self.margin[keys % k], weight[keys % k])
        return self.with_cells((keys, left), margin)

    def scale(self, factor: float | Floats) -> Self:
        by_class = np.broadcast_to(np.asarray(factor, np.float64), self.margin.shape)
        scaled = self.counts * by_class[self.keys % max(len(self.margin), 1)]
        return self.with_cells((self.keys, scaled), self.margin * factor)

    def embed(self, embedding: Embedding) -> Self:
        old, new = embedding.old.n_classes, embedding.new.n_classes
        classes = embedding.classes[self.keys % max(old, 1)]
        alive = classes >= 0
        moved = (self.keys // max(old, 1))[alive] * new + classes[alive]
        cells = summed_cells(moved, self.counts[alive])
        return self.with_cells(cells, embedding.move_classes(self.margin))

    def deficit(self) -> float:
        return 0.0  # subtract raises an error for negative counts

    def with_cells(self, cells: Cells, margin: Floats) -> Self:
        """Return the same trees with other counts, without empty cells."""
        keys, counts = cells
        there = counts != 0.0
        if not there.all():
            keys, counts = keys[there], counts[there]
        return replace(self, margin=margin, keys=keys, counts=counts)

    @classmethod
    def flaw(
        cls, arrays: Mapping[str, NDArray[Any]], schema: Schema, beside: Mapping[str, NDArray[Any]]
    ) -> str | Message | None:
        keys, counts, starts, k = arrays["keys"], arrays["counts"], arrays["starts"], schema.n_classes
        if len(keys) != len(counts) or (np.diff(keys) <= 0).any():
            return "its array trees/keys is not in ascending order, one for each count"
        if len(keys) and not (keys[0] >= 0 and keys[-1] < starts[-1] * k):
            return "its array trees/keys holds nodes that its trees do not have"
        trees = np.searchsorted(starts, keys // max(k, 1), side="right") - 1
        sums = np.zeros((len(starts) - 1, k))
        np.add.at(sums, (trees, keys % max(k, 1)), counts)
        if not np.allclose(sums, arrays["margin"], rtol=1e-6, atol=1e-6):
            return "its array trees/counts does not count every row once in each tree"
        return None

    def cell_tables(self, schema: Schema, attributes: tuple[Any, ...]) -> Iterator[CellTable]:
        margin, *terms = TreeCounts.terms(schema, attributes)
        yield CellTable.of_array(margin, self.margin)
        k = max(len(self.margin), 1)
        for t, term in enumerate(terms):
            keys, counts = self.tree_cells(t)
            yield CellTable(term, np.column_stack([keys % k, keys // k]), counts)

    @classmethod
    def from_cell_tables(
        cls, schema: Schema, attributes: tuple[Any, ...], tables: Mapping[Term, CellTable]
    ) -> Self:
        zero, k = cls.zero(schema, attributes), schema.n_classes
        margin, *terms = TreeCounts.terms(schema, attributes)
        keys, counts = [zero.keys], [zero.counts]
        for t, term in enumerate(terms):
            c, node = tables[term].codes.T
            keys.append((node + zero.starts[t]) * k + c)
            counts.append(tables[term].n)
        cells = summed_cells(np.concatenate(keys), np.concatenate(counts))
        return zero.with_cells(cells, tables[margin].dense((k,)))
