"""The distribution of a few targets from a tree that has them in its clique on top."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayeskit.inference.evidence import Evidence
from bayeskit.inference.grouped import grouped
from bayeskit.inference.kernels.one_way import answer_top
from bayeskit.inference.loaded import Loaded, soft_evidence
from bayeskit.inference.memory import require
from bayeskit.inference.potentials import Potentials
from bayeskit.inference.tree import Tree

Floats = NDArray[np.float64]

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

    ``free`` are the targets that the tree has; the others were observed, or have one state.
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
    """Return the log of the total and the table of the clique on top."""
    shape, problem = tree.shape, tree.shape.problem
    soft, weights, starts, extra = soft_evidence(problem.place, evidence.codes, evidence.likelihoods)
    if extra == -math.inf:
        return extra, np.empty(0)
    laid, divided = p.given(evidence.codes, problem.kept)
    least, most = laid.log_bounds
    pot = np.empty(int(shape.table_cells.max(initial=1)))
    order = shape.sequence[::-1].copy()
    if free:
        top = tree.top_of(free)
        order = np.append(order[order != top], top)
    children, child_start = grouped(shape.parent, shape.n_cliques)
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
        shape.edge,
        tree.maps,
        order,
        shape.parent,
        children,
        child_start,
        tree.seat,
        tree.seat_clique,
        soft,
        weights,
        starts,
        shape.cells - shape.between,
        np.empty(shape.n_cliques),
        np.empty(shape.n_cliques),
        np.zeros(len(problem.sizes), np.int64),
        np.empty(tree.most_axes, np.int64),
        np.empty((3, p.n_factors), np.int64),
        np.empty(shape.n_cliques, np.int64),
        np.empty(shape.between),
        pot,
    )
    if math.isnan(log_p):
        # Numbers that lie too far apart: the slow way, in logs and with all tables.
        require(p, shape.bytes_kept + shape.bytes_used(), max_memory, shape)
        log_p, _, pot = Loaded.of(tree, p, evidence.codes).ask(
            _NOTHING, evidence.likelihoods, marginals=False, keep=False
        )
        if free and log_p > -math.inf:
            top = tree.top_of(free)
            pot = pot[int(shape.offset[top]) :]
        return log_p, pot
    return log_p + extra + divided, pot


def _margin(tree: Tree, table: Floats, targets: list[int]) -> Floats:
    """Sum the table of the clique on top over all but the targets, which come in the order asked."""
    shape = tree.shape
    places = [int(shape.problem.place[v]) for v in targets]
    top = tree.top_of(targets)
    axes = tree.axes_of(top)
    cells = table[: int(shape.table_cells[top])].reshape(shape.problem.sizes[axes])
    kept = [v for v in axes if v in places]
    margin = cells.sum(axis=tuple(a for a, v in enumerate(axes) if v not in places))
    margin = margin.transpose([kept.index(v) for v in places])
    return np.asarray(margin / margin.sum())
