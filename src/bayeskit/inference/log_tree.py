"""The same messages in logs: slow, and right whatever the numbers.

Used where the numbers of one table lie further apart than 1e−300: many observations that pull different ways.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bayeskit.inference.kernels.clique_tree import (
    BLOCK,
    CELLS,
    CHILD,
    EACH,
    MAP,
    PARENT,
    RUN,
    RUNS,
    SEPARATOR,
    WALKS,
)
from bayeskit.inference.potentials import Potentials
from bayeskit.inference.tree import Tree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def log_tables(tree: Tree, potentials: Potentials, codes: Ints) -> tuple[Floats, float]:
    """Return the logs of the filled tables, and the log of the factors that have no free variable."""
    shape, place = tree.shape, tree.shape.problem.place
    pot, taken = np.zeros(shape.cells), 0.0
    with np.errstate(divide="ignore"):
        for f in np.flatnonzero(shape.problem.kept).tolist():
            scope = potentials.scope_of(f)
            index = tuple(slice(None) if place[v] >= 0 else codes[v] for v in scope)
            table = np.log(potentials.table_of(f)[index])
            free = [int(place[v]) for v in scope if place[v] >= 0]
            if not free:
                taken += float(table)
                continue
            c = shape.owner[shape.when[free].min()]
            axes = shape.axes[shape.axis_start[c] : shape.axis_start[c] + shape.length[c]].tolist()
            size = [int(shape.problem.sizes[v]) for v in axes]
            part = pot[shape.offset[c] : shape.offset[c] + shape.table_cells[c]].reshape(size)
            part += spread(table, free, axes)
    return pot, taken


def log_evidence(tree: Tree, pot: Floats, codes: Ints, likelihoods: Mapping[int, Floats]) -> None:
    """Put observed states (of free variables, by their numbers in the tree) and likelihoods in."""
    weights = dict(likelihoods)
    for v in np.flatnonzero(codes >= 0).tolist():
        one = np.zeros(int(tree.seat[v, 3]))
        one[codes[v]] = 1.0
        weights[v] = weights[v] * one if v in weights else one
    for v, weight in weights.items():
        start, cells, stride, size = tree.seat[v].tolist()
        with np.errstate(divide="ignore"):
            pot[start : start + cells].reshape(-1, size, stride)[...] += np.log(weight)[:, None]


def log_propagate(tree: Tree, pot: Floats, *, take_max: bool, down: bool) -> float:
    """Make every table the log of a marginal; return the log of the total taken out, −inf if nothing is left."""
    edge = tree.shape.edge
    taken = 0.0
    for e in tree.up.tolist():
        message = _over_rest(pot, edge[e], take_max)
        largest = message.max()
        if largest == -np.inf:
            return -np.inf
        taken += float(largest)
        separator = _separator(pot, edge[e])
        separator[:] = message - largest
        table = _parent(pot, edge[e])
        table += separator[_cells_of(tree, edge[e])]
    for c in tree.roots.tolist():
        start, cells = int(tree.shape.offset[c]), int(tree.shape.table_cells[c])
        table = pot[start : start + cells]
        total = float(_reduce(table[None], take_max)[0])
        if total == -np.inf:
            return -np.inf
        taken += total
        table -= total
    for e in tree.down.tolist() if down else ():
        cells_of, table = _cells_of(tree, edge[e]), _parent(pot, edge[e])
        separator = _separator(pot, edge[e])
        order = np.argsort(cells_of, kind="stable")
        new = _reduce(table[order].reshape(len(separator), -1), take_max)
        with np.errstate(invalid="ignore"):
            change = np.where(separator > -np.inf, new - separator, -np.inf)
        separator[:] = new
        start, cells, each = int(edge[e, CHILD]), int(edge[e, CELLS]), int(edge[e, EACH])
        pot[start : start + cells * each].reshape(cells, each)[...] += change[:, None]
    return taken


def log_marginals(tree: Tree, pot: Floats, *, take_max: bool) -> Floats:
    """Return the marginals of the free variables, one after the other, as plain numbers."""
    found = []
    for start, cells, stride, size in tree.home.tolist():
        table = pot[start : start + cells].reshape(-1, size, stride).transpose(1, 0, 2).reshape(size, -1)
        margin = np.exp(_reduce(table, take_max))
        found.append(margin / (margin.max() if take_max else margin.sum()))
    return np.concatenate([np.empty(0), *found])


def _reduce(table: Floats, take_max: bool) -> Floats:
    """Return the log of the sum (or the largest) along the last axis."""
    return np.asarray(table.max(axis=-1)) if take_max else log_sum(table)


def spread(table: Floats, scope: Sequence[int], axes: Sequence[int]) -> Floats:
    """Return a table over a scope with an axis for each of ``axes``, of length one where it has none."""
    place = {v: i for i, v in enumerate(scope)}
    turned = table.transpose([place[v] for v in axes if v in place])
    return turned.reshape([table.shape[place[v]] if v in place else 1 for v in axes])


def log_sum(table: Floats) -> Floats:
    """Return the log of the sum of exponentials along the last axis; −inf where all are."""
    largest = table.max(axis=-1)
    safe = np.where(largest > -np.inf, largest, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(safe + np.log(np.exp(table - safe[..., None]).sum(axis=-1)))


def _over_rest(pot: Floats, record: Ints, take_max: bool) -> Floats:
    start, cells, each = int(record[CHILD]), int(record[CELLS]), int(record[EACH])
    return _reduce(pot[start : start + cells * each].reshape(cells, each), take_max)


def _separator(pot: Floats, record: Ints) -> Floats:
    start = int(record[SEPARATOR])
    return pot[start : start + int(record[CELLS])]


def _parent(pot: Floats, record: Ints) -> Floats:
    start = int(record[PARENT])
    return pot[start : start + int(record[RUNS] * record[BLOCK] * record[RUN])]


def _cells_of(tree: Tree, record: Ints) -> Ints:
    """Return for every cell of the parent its cell of the separator."""
    runs = tree.maps[record[MAP] : record[MAP] + record[RUNS]].astype(np.int64)
    block, run = int(record[BLOCK]), int(record[RUN])
    walk = np.tile(np.arange(run), block) if record[WALKS] else np.repeat(np.arange(block), run)
    return (runs[:, None] + walk).ravel()
