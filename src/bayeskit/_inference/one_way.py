"""The joint posterior of a few targets, from a tree with all of them in its root clique."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayeskit._inference.clique_tree import Tree, require
from bayeskit._inference.filled_tree import answer_in_logs, soft_evidence
from bayeskit._inference.kernels.fill import LOWEST, assign_factors, fill_clique, multiply, rescale, weigh_one
from bayeskit._inference.kernels.tree_layout import CELLS, EACH
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit._numba import kernel
from bayeskit.typing import Floats

_U = np.uintp


@kernel
def _send(pot: Any, between: Any, begin: int, cells: int, each: int) -> Any:
    """Sum the table at 0 into its message; return the log of the scale, and of the smallest number afterwards."""
    largest = 0.0
    least = np.inf
    at = _U(0)
    for s in range(_U(begin), _U(begin + cells)):
        x = 0.0
        for u in range(at, at + _U(each)):
            x += pot[u]
        at += _U(each)
        between[s] = x
        largest = max(largest, x)
        if x > 0.0 and x < least:
            least = x
    if largest <= 0.0:
        return -np.inf, 0.0
    for s in range(_U(begin), _U(begin + cells)):
        between[s] /= largest
    return np.log(largest), np.log(least / largest)


@kernel
def answer_top(
    codes: Any,
    place: Any,
    all_sizes: Any,
    scope: Any,
    scope_start: Any,
    values: Any,
    value_start: Any,
    log_least: Any,
    log_most: Any,
    kept: Any,
    sizes: Any,
    when: Any,
    owner: Any,
    axes: Any,
    axis_start: Any,
    length: Any,
    offset: Any,
    table_cells: Any,
    separated: Any,
    edge: Any,
    order: Any,
    parent: Any,
    children: Any,
    child_start: Any,
    begin: Any,
    seat: Any,
    seat_clique: Any,
    soft: Any,
    likelihood: Any,
    soft_start: Any,
    bound: Any,
    reach: Any,
    stride_of: Any,
    digits: Any,
    lists: Any,
    first: Any,
    between: Any,
    pot: Any,
) -> Any:
    """Leave the normalised table of the last clique of ``order`` in ``pot``; return the log of the total.

    In ``order``, every clique follows its descendants; its message starts at ``begin``, where the messages that it
    absorbed are no longer needed. −inf if nothing is left, NaN if the numbers of some table differ too much.
    """
    taken = assign_factors(
        codes,
        place,
        all_sizes,
        scope,
        scope_start,
        values,
        value_start,
        kept,
        when,
        owner,
        axes,
        axis_start,
        lists[0],
        lists[1],
        lists[2],
        first,
    )
    if taken == -np.inf:
        return taken
    for c in order:
        taken += fill_clique(
            c,
            0,
            place,
            all_sizes,
            scope,
            scope_start,
            values,
            log_least,
            log_most,
            sizes,
            axes,
            axis_start[c],
            length[c],
            bound,
            stride_of,
            digits,
            lists,
            first,
            pot,
        )
        for i in range(soft.shape[0]):
            v = soft[i]
            if seat_clique[v] == c:
                taken += weigh_one(
                    pot,
                    seat[v, 0] - offset[c],
                    seat[v, 1],
                    seat[v, 2],
                    seat[v, 3],
                    likelihood,
                    soft_start[i],
                    bound,
                    c,
                )
        if np.isnan(taken):
            return taken
        for i in range(child_start[c], child_start[c + 1]):
            e = children[i]
            if bound[c] + reach[e] < LOWEST:
                shrunk, bound[c] = rescale(pot, 0, table_cells[c])
                taken += shrunk
                if bound[c] + reach[e] < LOWEST:
                    return np.nan
            bound[c] += reach[e]
            stride = 1
            for a in range(axis_start[e] + separated[e] - 1, axis_start[e] - 1, -1):
                stride_of[axes[a]] = stride
                stride *= sizes[axes[a]]
            multiply(pot, 0, between, begin[e], 1.0, axis_start[c], length[c], axes, sizes, stride_of, digits)
            for a in range(axis_start[e], axis_start[e] + separated[e]):
                stride_of[axes[a]] = 0
        if parent[c] >= 0:
            scale, reach[c] = _send(pot, between, begin[c], edge[c, CELLS], edge[c, EACH])
            if scale == -np.inf:
                return scale
            taken += scale
        else:
            total = 0.0
            for u in range(_U(table_cells[c])):
                total += pot[u]
            if total <= 0.0:
                return -np.inf
            taken += np.log(total)
            for u in range(_U(table_cells[c])):
                pot[u] /= total
    return taken


_NOTHING = np.empty(0, np.int64)


def top_margin(
    tree: Tree,
    p: Potentials,
    targets: tuple[int, ...],
    free: list[int],
    evidence: Evidence,
    max_memory: float,
) -> tuple[Floats, float]:
    """Return P(targets | evidence) with an axis for each target, and the log of the total.

    ``free`` are the targets in the tree; the others are observed or have one state.
    """
    codes = evidence.codes
    out = np.zeros([int(p.sizes[v]) for v in targets])
    log_p, table = _top_table(tree, p, free, evidence, max_memory)
    if log_p > -np.inf:
        index = tuple(slice(None) if v in free else max(codes[v], 0) for v in targets)
        out[index] = _margin(tree, table, free) if free else 1.0
    return out, log_p


def _top_table(
    tree: Tree, p: Potentials, free: list[int], evidence: Evidence, max_memory: float
) -> tuple[float, Floats]:
    """Return the log of the total and the table of the root clique."""
    shape, problem = tree.shape, tree.shape.problem
    soft, weights, starts, extra = soft_evidence(problem.place, evidence.codes, evidence.likelihoods)
    if extra == -math.inf:
        return extra, np.empty(0)
    laid, divided = p.given(evidence.codes, problem.kept)
    least, most = laid.log_bounds
    pot = np.empty(int(shape.table_cells.max(initial=1)))
    way = shape.one_way
    log_p = answer_top(
        evidence.codes,
        problem.place,
        laid.sizes,
        laid.scope,
        laid.scope_start,
        laid.values,
        laid.value_start,
        least,
        most,
        problem.kept,
        problem.sizes,
        shape.when,
        shape.owner,
        shape.axes,
        shape.axis_start,
        shape.length,
        shape.offset,
        shape.table_cells,
        shape.separated,
        shape.edge,
        way.order,
        shape.parent,
        way.children,
        way.child_start,
        way.begin,
        tree.seat,
        tree.seat_clique,
        soft,
        weights,
        starts,
        np.empty(shape.n_cliques),
        np.empty(shape.n_cliques),
        np.zeros(len(problem.sizes), np.int64),
        np.empty(tree.most_axes, np.int64),
        np.empty((3, p.n_factors), np.int64),
        np.empty(shape.n_cliques, np.int64),
        np.empty(way.cells),
        pot,
    )
    if math.isnan(log_p):
        # The numbers differ too much: use logs and all tables, which is slower.
        require(p, shape.bytes_used(), max_memory, shape)
        pot = np.empty(shape.cells)
        log_p, _ = answer_in_logs(
            tree, p, evidence.codes, pot, _NOTHING, evidence.likelihoods, take_max=False, marginals=False
        )
        if free and log_p > -math.inf:
            pot = pot[int(shape.offset[tree.top_of(free)]) :]
        return log_p + extra, pot
    return log_p + extra + divided, pot


def _margin(tree: Tree, table: Floats, targets: list[int]) -> Floats:
    """Sum the table of the root clique over everything except the targets, in the given order."""
    shape = tree.shape
    places = [int(shape.problem.place[v]) for v in targets]
    top = tree.top_of(targets)
    axes = tree.axes_of(top)
    cells = table[: int(shape.table_cells[top])].reshape(shape.problem.sizes[axes])
    kept = [v for v in axes if v in places]
    margin = cells.sum(axis=tuple(a for a, v in enumerate(axes) if v not in places))
    margin = margin.transpose([kept.index(v) for v in places])
    return np.asarray(margin / margin.sum())
