"""The form of trees whose splits are held, how rows choose them, and predictions for out-of-bag rows."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.class_prior import ClassPrior, log_normalise
from bayeskit._conditionals.conditional import Conditional
from bayeskit._conditionals.tree_posteriors import TreePosteriors, estimate_trees
from bayeskit._counting.backend import count, in_order
from bayeskit._counting.count_trees import binned
from bayeskit._data.encoded import Chunk
from bayeskit._fitting.calibration import Temperature
from bayeskit._fitting.grow_trees import Growth, Sample, bin_cuts, grow_trees
from bayeskit._fitting.leave_one_out import spread
from bayeskit._fitting.model import ModelForm, ModelSpec, estimate
from bayeskit._schema import Schema, label_order
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Pattern, Plan
from bayeskit._statistics.tree_counts import MOST_COLUMNS, Forest, forest_of, trees_of, with_power
from bayeskit.errors import DataError
from bayeskit.typing import Floats

# Rows that trees are grown from: all of them, then every second, fourth, … Counted are all, whatever their number.
MOST_ROWS = 2**17
# Rows on which the power of the mean is chosen.
MOST_JUDGED = 2**14


@dataclass(frozen=True)
class CountTrees(ModelForm):
    """Trees of held splits: the mean of their posteriors.

    Attributes
    ----------
    forest : Forest
    constant : float
        The weight of the parent node in the posterior of a node, in rows.
    """

    forest: Forest
    constant: float

    def plan(self, schema: Schema, spec: ModelSpec) -> Plan:
        return Plan((*Plan.naive(schema).patterns, Pattern("trees", (self.forest,))))

    def settled(self, statistics: Statistics, spec: ModelSpec) -> ModelForm:
        return self

    def conditionals(
        self, statistics: Statistics, spec: ModelSpec, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        return (estimate_trees(statistics, self.forest, self.constant, prior),)


def joined(chunks: Iterable[Chunk], most: int = sys.maxsize) -> Chunk:
    """Join the rows of chunks, up to a maximum number, evenly spread."""

    def columns(chunk: Chunk) -> tuple[NDArray[Any], ...]:
        assert chunk.target is not None
        return chunk.codes, chunk.values, chunk.target, chunk.row_weights

    codes, values, target, weights = spread(chunks, columns, most)
    return Chunk(
        len(target), codes, values, target=target, weights=None if (weights == 1.0).all() else weights
    )


def sample_of(rows: Chunk, schema: Schema, forest: Forest) -> Sample:
    """Put rows into the codes of a forest, to draw its bootstraps from."""
    trees = trees_of(forest)
    found = binned(rows, schema, trees)
    assert rows.target is not None
    sizes = tuple(len(states) for states in trees.states)
    # The codes of states are those that the trees were grown with, whatever the schema has become since.
    codes = np.empty(found.codes.shape, np.int64)
    for j, (name, states) in enumerate(zip(trees.categorical, trees.states, strict=True)):
        place = {state: i for i, state in enumerate(states)}
        moves = [place.get(state, len(states) + 1) for state in schema[name].states]
        codes[:, j] = np.array([*moves, len(states), len(states) + 1])[found.codes[:, j]]
    place = {label: i for i, label in enumerate(trees.classes)}
    classes = np.array([place.get(label, len(place)) for label in schema.target.states], np.int64)
    target = classes[rows.target] if len(classes) else rows.target.astype(np.int64)
    return Sample(found.numbers, codes, sizes, target, rows.row_weights, len(trees.classes))


def grown_forest(rows: Chunk, schema: Schema, growth: Growth) -> Forest:
    """Cut the columns, then grow trees."""
    if len(schema.attributes) > MOST_COLUMNS:
        raise DataError(
            "Trees test at most {most} columns, and there are {n}. Leave some out.",
            most=MOST_COLUMNS,
            n=len(schema.attributes),
        )
    # By name: the order of the columns must not change what chance does.
    order = sorted((v.name for v in schema.attributes), key=label_order)
    numbers, kinds = schema.numeric_index, {v.name: v for v in schema.categorical}
    numeric = {
        name: bin_cuts(rows.values[:, numbers[name]], rows.row_weights) for name in order if name in numbers
    }
    categorical = {name: kinds[name].states for name in order if name in kinds}
    n_states = sum(map(len, categorical.values()))
    root = np.zeros(1, np.uint8)
    bare = forest_of(
        numeric, categorical, schema.target.states, growth.seed, np.zeros((1, n_states), np.uint8),
        [(root, root, root)],
    )  # fmt: skip
    sample = sample_of(rows, schema, bare)
    by_rows = sample.class_order()
    classes = tuple(schema.target.states[c] for c in by_rows)
    ranks, trees = grow_trees(replace(sample, target=np.argsort(by_rows)[sample.target]), growth)
    return forest_of(numeric, categorical, classes, growth.seed, ranks, trees)


def out_of_bag_shares(
    rows: Chunk, schema: Schema, forest: Forest, some: slice | NDArray[np.intp] = slice(None)
) -> Floats:
    """Return the weight of each tree for training rows: 1 for out-of-bag rows, otherwise 0.

    ``rows`` are all that it was grown from, ``some`` those to predict; the shape is (some, trees).
    """
    sample, trees = sample_of(rows, schema, forest), trees_of(forest)
    return np.column_stack([sample.out_of_bag(trees.seed, t)[some] for t in range(trees.n_trees)])


def log_out_of_bag(
    conditional: TreePosteriors, rows: Chunk, own: Floats, shares: Floats, n_jobs: int | None = None
) -> Floats:
    """Return log P(c | x) of rows by the trees that had not seen them, and without their own counts: shape (n, K).

    ``own`` is the weight that each row has in the counts, ``shares`` the result of :func:`out_of_bag_shares`.
    """
    out, power = np.empty((rows.n_rows, len(conditional.prior.log))), conditional.trees.power

    def score(start: int, stop: int) -> None:
        some = slice(start, stop)
        out[some] = power * conditional.log_left_out(rows.take(some), own[some], shares[some])

    step = 2**14
    bounds = [(start, min(start + step, rows.n_rows)) for start in range(0, rows.n_rows, step)]
    for _ in in_order(score, bounds, n_jobs):
        pass
    log_normalise(out, np.zeros(out.shape[1]))
    return out


def calibrated_forest(
    rows: Chunk, schema: Schema, forest: Forest, spec: ModelSpec, n_jobs: int | None
) -> Forest:
    """Return the forest with the power of least log-loss on rows that are out of the bag.

    Trees that differ are less sure together than they are right: the power makes up for it.
    """
    assert isinstance(spec.form, CountTrees) and rows.target is not None
    spec = replace(spec, class_weight=None)
    names = tuple(v.name for v in schema.categorical)
    counted = count(rows, schema, Plan((Pattern("tables", names), Pattern("trees", (forest,)))))
    (conditional,) = estimate(counted, spec).conditionals
    assert isinstance(conditional, TreePosteriors)
    some = np.arange(0, rows.n_rows, -(-rows.n_rows // MOST_JUDGED))
    shares = out_of_bag_shares(rows, schema, forest, some)
    rows = rows.take(some)
    assert rows.target is not None
    posterior = log_out_of_bag(conditional, rows, np.minimum(rows.row_weights, 1.0), shares, n_jobs)
    temperature = Temperature.fitted(posterior, rows.target.astype(np.intp), rows.row_weights)
    # Four digits: the order of the rows must not change the last one.
    return with_power(forest, round(1.0 / temperature.t, 4))
