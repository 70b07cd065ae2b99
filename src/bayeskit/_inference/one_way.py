"""The joint posterior of a few targets, from a tree with all of them in its root clique."""

from __future__ import annotations

import math
from dataclasses import dataclass
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
    """Sum the table at 0 into its message, and divide that by its largest number.

    Returns the largest number (0: nothing is left), and the log of the smallest one after the division.
    """
    largest = 0.0
    least = np.inf
    at = _U(0)
    for s in range(_U(begin), _U(begin + cells)):
        # Two sums side by side: an addition does not wait for the one before.
        x = 0.0
        y = 0.0
        for u in range(_U(each // 2)):
            x += pot[at + u + u]
            y += pot[at + u + u + _U(1)]
        if each % 2 == 1:
            x += pot[at + _U(each - 1)]
        x += y
        at += _U(each)
        between[s] = x
        largest = max(largest, x)
        if x > 0.0 and x < least:
            least = x
    if largest <= 0.0:
        return 0.0, 0.0
    for s in range(_U(begin), _U(begin + cells)):
        between[s] /= largest
    return largest, np.log(least / largest)


@kernel
def message_strides(e: int, axes: Any, axis_start: Any, separated: Any, sizes: Any, stride_of: Any) -> None:
    """Note the stride of every variable in the message of a clique."""
    stride = 1
    for a in range(axis_start[e] + separated[e] - 1, axis_start[e] - 1, -1):
        stride_of[axes[a]] = stride
        stride *= sizes[axes[a]]


@kernel
def forget_strides(e: int, axes: Any, axis_start: Any, separated: Any, stride_of: Any) -> None:
    for a in range(axis_start[e], axis_start[e] + separated[e]):
        stride_of[axes[a]] = 0


@kernel
def send_up(
    order: Any,
    parent: Any,
    edge: Any,
    factors: Any,
    layout: Any,
    tree: Any,
    soft: Any,
    work: Any,
    largest: Any,
    between: Any,
    pot: Any,
    sends: bool,
) -> Any:
    """Send the messages of these cliques to their parents; return the log of the scales.

    A table is the product of its factors, its soft evidence, and the messages of its children. In ``order``, every
    clique follows its children, whose messages are in ``between``, each at its ``begin``. The normalised table of the
    last clique is left in ``pot`` if it is a root; without ``sends``, as it is. −inf if nothing is left, NaN if the
    numbers of some table differ too much. ``largest`` is the number by which each message was divided.
    """
    place, all_sizes, scope, scope_start, values, log_least, log_most = factors
    sizes, axes, axis_start, length, offset, table_cells, separated = layout
    children, child_start, begin = tree
    variable, likelihood, soft_start, seat, seat_clique = soft
    bound, reach, stride_of, digits, lists, first = work
    taken = 0.0
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
        for i in range(variable.shape[0]):
            v = variable[i]
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
            message_strides(e, axes, axis_start, separated, sizes, stride_of)
            multiply(pot, 0, between, begin[e], 1.0, axis_start[c], length[c], axes, sizes, stride_of, digits)
            forget_strides(e, axes, axis_start, separated, stride_of)
        if not sends:
            continue
        if parent[c] >= 0:
            largest[c], reach[c] = _send(pot, between, begin[c], edge[c, CELLS], edge[c, EACH])
            if largest[c] == 0.0:
                return -np.inf
            taken += np.log(largest[c])
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


@dataclass(frozen=True, eq=False)
class OneTable:
    """What messages need if only one table of a clique exists at a time: arrays in groups, as the kernels take them.

    ``taken`` is the log of the factors without free variables; −inf if one of them is zero.
    """

    factors: tuple[Any, ...]
    layout: tuple[Any, ...]
    soft: tuple[Any, ...]
    work: tuple[Any, ...]
    largest: Floats
    taken: float

    @classmethod
    def of(cls, tree: Tree, p: Potentials, evidence: Evidence) -> OneTable:
        shape, problem = tree.shape, tree.shape.problem
        soft, weights, starts, extra = soft_evidence(problem.place, evidence.codes, evidence.likelihoods)
        laid, divided = p.given(evidence.codes, problem.kept)
        least, most = laid.log_bounds_of(problem.kept)
        n = shape.n_cliques
        lists, first = np.empty((3, p.n_factors), np.int64), np.empty(n, np.int64)
        taken = extra + divided
        if taken > -math.inf:
            taken += assign_factors(
                evidence.codes,
                problem.place,
                laid.sizes,
                laid.scope,
                laid.scope_start,
                laid.values,
                laid.value_start,
                problem.kept,
                shape.when,
                shape.owner,
                shape.axes,
                shape.axis_start,
                lists[0],
                lists[1],
                lists[2],
                first,
            )
        strides, digits = np.zeros(len(problem.sizes), np.int64), np.empty(tree.most_axes, np.int64)
        return cls(
            (problem.place, laid.sizes, laid.scope, laid.scope_start, laid.values, least, most),
            (
                problem.sizes,
                shape.axes,
                shape.axis_start,
                shape.length,
                shape.offset,
                shape.table_cells,
                shape.separated,
            ),
            (soft, weights, starts, tree.seat, tree.seat_clique),
            (np.empty(n), np.empty(n), strides, digits, lists, first),
            np.ones(n),
            float(taken),
        )


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
    log_p, table = top_table(tree, p, free, evidence, max_memory)
    if log_p > -np.inf:
        index = tuple(slice(None) if v in free else max(codes[v], 0) for v in targets)
        out[index] = _margin(tree, table, free) if free else 1.0
    return out, log_p


def top_table(
    tree: Tree, p: Potentials, free: list[int], evidence: Evidence, max_memory: float
) -> tuple[float, Floats]:
    """Return the log of the total and the table of the root clique."""
    shape = tree.shape
    one = OneTable.of(tree, p, evidence)
    if one.taken == -math.inf:
        return one.taken, np.empty(0)
    pot = np.empty(int(shape.table_cells.max(initial=1)))
    way = shape.one_way
    log_p = one.taken + send_up(
        way.order,
        shape.parent,
        shape.edge,
        one.factors,
        one.layout,
        (way.children, way.child_start, way.begin),
        one.soft,
        one.work,
        one.largest,
        np.empty(way.cells),
        pot,
        True,
    )
    if math.isnan(log_p):
        # The numbers differ too much: use logs and all tables, which is slower.
        extra = soft_evidence(shape.problem.place, evidence.codes, evidence.likelihoods)[-1]
        require(p, shape.bytes_used(), max_memory, shape)
        pot = np.empty(shape.cells)
        log_p, _ = answer_in_logs(
            tree, p, evidence.codes, pot, _NOTHING, evidence.likelihoods, take_max=False, marginals=False
        )
        if free and log_p > -math.inf:
            pot = pot[int(shape.offset[tree.top_of(free)]) :]
        return log_p + extra, pot
    return log_p, pot


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
