"""Message passing in logarithms: slow, but safe for any range of numbers.

Used if the numbers of one table differ by more than 1e−300, as with many conflicting observations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bayeskit._inference.clique_tree import Tree
from bayeskit._inference.kernels.tree_layout import CELLS, CHILD, EACH, SEPARATOR
from bayeskit._inference.potentials import Potentials
from bayeskit.typing import Floats, Ints


def log_tables(tree: Tree, potentials: Potentials, codes: Ints, pot: Floats) -> float:
    """Write the logs of the filled tables; return the log of the factors without free variables."""
    shape, place, sizes = tree.shape, tree.shape.problem.place, potentials.sizes
    # A variable with one state is alone in its clique, and no factor depends on it.
    at = np.where(place < 0, codes, np.where(sizes > 1, -1, 0))
    taken = 0.0
    pot[:] = 0.0
    for f in np.flatnonzero(shape.problem.kept).tolist():
        scope = potentials.scope_of(f)
        free = [int(place[v]) for v in scope if at[v] < 0]
        table = potentials.log_slice(f, at)
        if not free:
            taken += float(table)
            continue
        c = int(shape.owner[shape.when[free].min()])
        part, axes = _table(tree, pot, c)
        part += spread(table, free, axes)
    return taken


def log_evidence(tree: Tree, pot: Floats, codes: Ints, likelihoods: Mapping[int, Floats]) -> None:
    """Enter likelihoods and the observed states of free variables, by their numbers in the tree."""
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
    """Turn every table into the log of a marginal; return the log of the total, −inf if nothing is left."""
    shape = tree.shape
    taken = 0.0
    for c in tree.up.tolist():
        separator, child, parent, _ = _edge(tree, pot, c)
        message = _reduce(child, (1,), take_max)
        largest = message.max()
        if largest == -np.inf:
            return -np.inf
        taken += float(largest)
        child -= largest  # otherwise the marginals below would contain it
        separator[...] = (message - largest).reshape(separator.shape)
        parent += separator
    for c in tree.roots.tolist():
        start, cells = int(shape.offset[c]), int(shape.table_cells[c])
        table = pot[start : start + cells]
        total = float(_reduce(table, (0,), take_max)[0])
        if total == -np.inf:
            return -np.inf
        taken += total
        table -= total
    for c in tree.down.tolist() if down else ():
        separator, child, parent, rest = _edge(tree, pot, c)
        new = _reduce(parent, rest, take_max)
        with np.errstate(invalid="ignore"):
            change = np.where(separator > -np.inf, new - separator, -np.inf)
        separator[...] = new
        child += change.reshape(-1, 1)
    return taken


def log_marginals(tree: Tree, pot: Floats, *, take_max: bool) -> Floats:
    """Return the marginals of the free variables, one after the other, as plain numbers."""
    found = []
    for start, cells, stride, size in tree.home.tolist():
        table = pot[start : start + cells].reshape(-1, size, stride)
        margin = np.exp(_reduce(table, (0, 2), take_max)).ravel()
        found.append(margin / (margin.max() if take_max else margin.sum()))
    return np.concatenate([np.empty(0), *found])


def spread(table: Floats, scope: Sequence[int], axes: Sequence[int]) -> Floats:
    """Return a table over a scope with an axis for each of ``axes``, of length one if it does not depend on it."""
    place = {v: i for i, v in enumerate(scope)}
    turned = table.transpose([place[v] for v in axes if v in place])
    return turned.reshape([table.shape[place[v]] if v in place else 1 for v in axes])


def log_sum(table: Floats, axes: tuple[int, ...] = (-1,)) -> Floats:
    """Return the log of the sum of exponentials along some axes, which stay with length one; −inf where all are."""
    largest = np.asarray(table.max(axis=axes, keepdims=True))
    largest[largest == -np.inf] = 0.0
    shares = np.subtract(table, largest)
    np.exp(shares, out=shares)
    total = np.asarray(shares.sum(axis=axes, keepdims=True))
    with np.errstate(divide="ignore"):
        np.log(total, out=total)
    total += largest
    return total


def _reduce(table: Floats, axes: tuple[int, ...], take_max: bool) -> Floats:
    """Return the log of the sum (or the largest) along some axes, which stay with length one."""
    return np.asarray(table.max(axis=axes, keepdims=True)) if take_max else log_sum(table, axes)


def _table(tree: Tree, pot: Floats, clique: int) -> tuple[Floats, list[int]]:
    """Return the table of a clique, and its axes."""
    shape = tree.shape
    axes = tree.axes_of(clique)
    start, cells = int(shape.offset[clique]), int(shape.table_cells[clique])
    return pot[start : start + cells].reshape(shape.problem.sizes[axes]), axes


def _edge(tree: Tree, pot: Floats, clique: int) -> tuple[Floats, Floats, Floats, tuple[int, ...]]:
    """Return the separator above a clique, the clique, its parent, and the parent's other axes.

    The separator has the axes of the parent, the clique those of (separator, rest). The other axes are those of
    the parent that are not in the separator.
    """
    shape = tree.shape
    record = shape.edge[clique]
    parent, axes = _table(tree, pot, int(shape.parent[clique]))
    between = set(tree.axes_of(clique)[: int(shape.separated[clique])])
    start, cells, each = int(record[SEPARATOR]), int(record[CELLS]), int(record[EACH])
    separator = pot[start : start + cells].reshape(
        [int(shape.problem.sizes[v]) if v in between else 1 for v in axes]
    )
    begin = int(record[CHILD])
    child = pot[begin : begin + cells * each].reshape(cells, each)
    return separator, child, parent, tuple(a for a, v in enumerate(axes) if v not in between)
