"""Posteriors of one variable for many rows, in one batch or per pattern of missing cells."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from bayeskit._inference.clique_tree import grouped, require
from bayeskit._inference.filled_tree import FilledTree
from bayeskit._inference.kernels.fill import LOWEST
from bayeskit._inference.kernels.many_rows import LANES, observe_rows, scale_rows, take_in
from bayeskit._inference.kernels.tree_layout import CELLS, EACH, SEPARATOR
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit._intrinsics import set_all
from bayeskit._numba import kernel
from bayeskit.typing import Floats, Ints

_U = np.uintp


@kernel
def answer_rows(
    init: Any,
    init_bound: Any,
    table: Any,
    messages: Any,
    apart: Any,
    lanes: Any,
    seen: Any,
    codes: Any,
    target: int,
    seat: Any,
    seats: Any,
    seat_start: Any,
    root_place: Any,
    edge: Any,
    maps: Any,
    order: Any,
    children: Any,
    child_start: Any,
    offset: Any,
    table_cells: Any,
    first_separator: int,
    out: Any,
    log_total: Any,
) -> None:
    """Write P(target | row) and log P(row) of every row; NaN if the numbers differ too much.

    Cliques are processed in ``order``, children before parents, each in the same small table, which stays in
    the fastest cache. The table is filled, multiplied by the evidence of the variables ``seats[seat_start[q]
    : seat_start[q + 1]]`` and by the messages of the children, and summed into its own message.
    ``root_place`` is the record of the target in the table of its root; all other roots contribute to the log
    only.
    """
    n = codes.shape[0]
    largest, least, taken, logs, total = lanes[0], lanes[1], lanes[2], lanes[3], lanes[4]
    for first in range(0, n, LANES):
        rows = min(LANES, n - first)
        set_all(taken, 1.0)
        set_all(logs, 0.0)
        fine = True
        for q in order:
            start = _U(offset[q])
            cells = _U(table_cells[q])
            for u in range(cells):
                for c in range(LANES):
                    table[u, c] = init[start + u]
            for i in range(seat_start[q], seat_start[q + 1]):
                v = seats[i]
                if v == target:
                    continue
                missing = seat[v, 3]
                any_seen = False
                for c in range(rows):
                    seen[c] = codes[first + c, v]
                    any_seen |= seen[c] < missing
                for c in range(rows, LANES):
                    seen[c] = missing
                if any_seen:
                    observe_rows(table, cells, _U(seat[v, 2]), missing, seen, total)
            bound = init_bound[q]
            for i in range(child_start[q], child_start[q + 1]):
                e = children[i]
                if bound + apart[e] < LOWEST:
                    bound = scale_rows(table, _U(0), cells, largest, least, taken, logs)
                    fine &= bound + apart[e] >= LOWEST
                bound += apart[e]
                take_in(table, messages, _U(edge[e, SEPARATOR] - first_separator), maps, edge[e])
            if not fine:
                break
            separator = _U(edge[q, CELLS])
            if separator > 0:
                each = _U(edge[q, EACH])
                begin = _U(edge[q, SEPARATOR] - first_separator)
                at = _U(0)
                for s in range(begin, begin + separator):
                    for c in range(LANES):
                        messages[s, c] = table[at, c]
                    for u in range(at + _U(1), at + each):
                        for c in range(LANES):
                            messages[s, c] += table[u, c]
                    at += each
                apart[q] = scale_rows(messages, begin, separator, largest, least, taken, logs)
                continue
            set_all(total, 0.0)
            for u in range(cells):
                for c in range(LANES):
                    total[c] += table[u, c]
            for c in range(LANES):
                logs[c] += np.log(total[c]) if total[c] > 0.0 else -np.inf
            if offset[q] == root_place[0]:
                _read_target(table, root_place, rows, total, out[first:])
        for c in range(rows):
            log_total[first + c] = logs[c] + np.log(taken[c]) if fine else np.nan


@kernel
def _read_target(table: Any, root_place: Any, rows: int, total: Any, out: Any) -> None:
    """Write the target's distribution in each lane from the table of its root; zeros if nothing is left."""
    states = out.shape[1]
    stride = root_place[2]
    for k in range(states):
        set_all(total, 0.0)
        at = k * stride
        while at < root_place[1]:
            for u in range(_U(at), _U(at + stride)):
                for c in range(LANES):
                    total[c] += table[u, c]
            at += stride * states
        for c in range(rows):
            out[c, k] = total[c]
    for c in range(rows):
        whole = 0.0
        for k in range(states):
            whole += out[c, k]
        for k in range(states):
            out[c, k] = out[c, k] / whole if whole > 0.0 else 0.0


class Joint(Protocol):
    """An engine that answers one query at a time."""

    potentials: Potentials

    def joint(
        self, targets: tuple[int, ...], evidence: Evidence, max_memory: float
    ) -> tuple[Floats, float]: ...


def answer_whole(
    engine: Joint, filled: FilledTree, rows: Ints, target: int, max_memory: float
) -> tuple[Floats, Floats]:
    """Answer all rows with one tree whose root contains the target, whatever cells are missing."""
    tree, shape, p = filled.tree, filled.tree.shape, engine.potentials
    inside, between = int(shape.table_cells.max(initial=1)), shape.between
    require(p, shape.bytes_of_maps + 8 * (shape.cells + (inside + between) * LANES), max_memory, shape)
    rows = np.ascontiguousarray(rows)
    out, logs = np.empty((len(rows), int(p.sizes[target]))), np.empty(len(rows))
    if np.isfinite(filled.taken):
        seats, seat_start = grouped(tree.seat_clique, shape.n_cliques)
        children, child_start = grouped(shape.parent, shape.n_cliques)
        answer_rows(
            filled.tables,
            filled.bound,
            np.empty((inside, LANES)),
            np.empty((between, LANES)),
            np.empty(shape.n_cliques),
            np.empty((5, LANES)),
            np.empty(LANES, np.int64),
            rows,
            target,
            tree.seat,
            seats,
            seat_start,
            tree.root_place(target),
            shape.edge,
            tree.maps,
            shape.sequence[::-1].copy(),
            children,
            child_start,
            shape.offset,
            shape.table_cells,
            shape.cells - between,
            out,
            logs,
        )
        logs += filled.taken
    else:
        logs[:] = filled.taken
    for i in np.flatnonzero(np.isnan(logs)):
        row = rows[i].copy()
        row[target] = p.sizes[target]
        out[i], logs[i] = engine.joint((target,), Evidence.of_row(row, p.sizes), max_memory)
    return out, logs


def answer_patterns(engine: Joint, rows: Ints, target: int, max_memory: float) -> tuple[Floats, Floats]:
    """Answer each distinct row once. The plan of each pattern of missing cells is cached."""
    rows, sizes = np.array(rows, np.int64), engine.potentials.sizes
    rows[:, target] = sizes[target]
    # Sorted by pattern, so that rows with the same plan are adjacent.
    keyed = np.hstack([rows < sizes, rows])
    distinct, inverse = np.unique(keyed, axis=0, return_inverse=True)
    n = rows.shape[1]
    del rows, keyed  # distinct rows may be few
    out, logs = np.empty((len(distinct), int(sizes[target]))), np.empty(len(distinct))
    for i, row in enumerate(distinct[:, n:]):
        out[i], logs[i] = engine.joint((target,), Evidence.of_row(row, sizes), max_memory)
    return out[inverse.ravel()], logs[inverse.ravel()]
