"""Many rows at a time: expected counts of families, posteriors of one or all variables, best completions.

Rows go through one tree in batches, or through one for each pattern of missing cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import numpy as np

from bayeskit._counting.backend import in_order
from bayeskit._data.source import thread_count
from bayeskit._inference.clique_tree import Tree, grouped, require
from bayeskit._inference.filled_tree import FilledTree
from bayeskit._inference.kernels.fill import LOWEST
from bayeskit._inference.kernels.many_rows import (
    LANES,
    Room,
    Walk,
    complete_rows,
    expect_rows,
    margins_of_rows,
    observe_rows,
    scale_rows,
    take_in,
)
from bayeskit._inference.kernels.tree_layout import CELLS, EACH, SEPARATOR
from bayeskit._inference.most_probable import Assignment
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit._intrinsics import set_all
from bayeskit._numba import kernel
from bayeskit.typing import Floats, Ints


def family_margins(tree: Tree, pot: Floats, p: Potentials, evidence: Evidence) -> Iterator[Floats]:
    """Yield P(scope | evidence) of each factor, with an axis for each variable of its scope.

    ``pot`` are the tables of the tree after messages in both directions; the free variables of each factor
    are together in one clique. Variables that are observed or have one state have all mass on it.
    """
    place = tree.shape.problem.place
    for f in range(p.n_factors):
        scope = p.scope_of(f)
        free = [v for v in scope if place[v] >= 0 and p.sizes[v] > 1]
        out = np.zeros([int(p.sizes[v]) for v in scope])
        index = tuple(slice(None) if v in free else max(int(evidence.codes[v]), 0) for v in scope)
        out[index] = _margin(tree, pot, [int(place[v]) for v in free]) if free else 1.0
        yield out


def _margin(tree: Tree, pot: Floats, places: list[int]) -> Floats:
    shape = tree.shape
    c = int(shape.owner[shape.when[places].min()])
    axes = tree.axes_of(c)
    start = int(shape.offset[c])
    table = pot[start : start + int(shape.table_cells[c])].reshape(shape.problem.sizes[axes])
    kept = [v for v in axes if v in places]
    margin = table.sum(axis=tuple(a for a, v in enumerate(axes) if v not in places))
    return np.asarray(margin.transpose([kept.index(v) for v in places]))


T = TypeVar("T")

# Rows per task: fixed, so that the sums do not depend on the number of threads.
TASK_ROWS = 1024


class RowByRow(Protocol):
    """An engine that answers for one row at a time, for any range of numbers."""

    potentials: Potentials

    def family_margins(self, evidence: Evidence, max_memory: float) -> tuple[list[Floats], float]: ...

    def marginals(self, evidence: Evidence, max_memory: float) -> tuple[Floats, float]: ...

    def mpe(self, evidence: Evidence, max_memory: float) -> Assignment: ...


class BatchTree:
    """One tree for all rows, 16 at a time, whatever cells are missing.

    Rows whose numbers differ too much for plain products are answered one by one.
    """

    def __init__(self, engine: RowByRow, filled: FilledTree, max_memory: float, n_jobs: int | None) -> None:
        tree, shape = filled.tree, filled.tree.shape
        # The tables of 16 rows and their sums, for each thread.
        room = 8 * LANES * (2 * shape.cells + shape.widest) * thread_count(n_jobs)
        require(engine.potentials, shape.bytes_of_maps + 8 * shape.cells + room, max_memory, shape)
        self.engine, self.filled, self.max_memory, self.n_jobs = engine, filled, max_memory, n_jobs
        seats, seat_start = grouped(tree.seat_clique, shape.n_cliques)
        children, child_start = grouped(shape.parent, shape.n_cliques)
        self._walk = Walk(
            filled.tables,
            filled.bound,
            tree.seat,
            seats,
            seat_start,
            shape.edge,
            tree.maps,
            shape.sequence[::-1].copy(),
            tree.down,
            tree.roots,
            children,
            child_start,
            shape.offset,
            shape.table_cells,
        )

    def expected(self, rows: Ints, weights: Floats) -> tuple[Floats, Floats]:
        """Return the expected counts of all families, in the layout of the tables, and log P(row) of each row."""
        shape, p = self.filled.tree.shape, self.engine.potentials
        logs, cells = np.empty(len(rows)), shape.cells - shape.between

        def task(start: int, stop: int) -> Floats:
            sums = np.zeros((cells, LANES))
            part = slice(start, stop)
            expect_rows(self._walk, self._room(), rows[part], weights[part], sums, logs[part])
            return np.asarray(sums.sum(axis=1))

        sums = sum(self._run(task, logs), np.zeros(cells))
        possible = weights[logs > -np.inf].sum()
        counts = np.empty(len(p.values))
        nothing = Evidence.nothing(p.n_variables)
        for f, margin in enumerate(family_margins(self.filled.tree, sums, p, nothing)):
            # A family whose nodes all have one state is in no clique.
            counts[p.value_start[f] : p.value_start[f + 1]] = margin.ravel() if margin.size > 1 else possible
        apart = np.isnan(logs)
        if apart.any():
            more, logs[apart] = expected_one_by_one(self.engine, rows[apart], weights[apart], self.max_memory)
            counts += more
        return counts, logs

    def margins(self, rows: Ints) -> tuple[Floats, Floats]:
        """Return P(v | row) of every variable, one after the other, and log P(row) of each row."""
        tree, sizes = self.filled.tree, self.engine.potentials.sizes
        out, logs = np.zeros((len(rows), tree.n_marginals)), np.empty(len(rows))

        def task(start: int, stop: int) -> None:
            part = slice(start, stop)
            margins_of_rows(
                self._walk, self._room(), rows[part], tree.home, tree.start, out[part], logs[part]
            )

        list(self._run(task, logs))
        for i in np.flatnonzero(np.isnan(logs)):
            found, logs[i] = self.engine.marginals(Evidence.of_row(rows[i], sizes), self.max_memory)
            out[i] = found if logs[i] > -np.inf else 0.0
        return out, logs

    def completed(self, rows: Ints) -> tuple[Ints, Floats]:
        """Return every row completed by its most probable states, and the log of that probability."""
        shape, sizes = self.filled.tree.shape, self.engine.potentials.sizes
        out, logs = np.zeros(rows.shape, np.int64), np.empty(len(rows))

        def task(start: int, stop: int) -> None:
            part = slice(start, stop)
            complete_rows(
                self._walk,
                self._room(),
                rows[part],
                shape.axes,
                shape.axis_start,
                shape.length,
                shape.separated,
                shape.problem.sizes,
                out[part],
                logs[part],
            )

        list(self._run(task, logs))
        for i in np.flatnonzero(np.isnan(logs)):
            best = self.engine.mpe(Evidence.of_row(rows[i], sizes), self.max_memory)
            out[i], logs[i] = best.codes, best.log_probability
        return out, logs

    def _run(self, task: Callable[[int, int], T], logs: Floats) -> list[T]:
        """Run a task over all rows; add the scale of the tables to the logs."""
        taken, n = self.filled.taken, len(logs)
        if not np.isfinite(taken):
            logs[:] = taken
            return []
        bounds = [(start, min(start + TASK_ROWS, n)) for start in range(0, n, TASK_ROWS)]
        found = list(in_order(task, bounds, self.n_jobs)) if bounds else []
        logs += taken
        return found

    def _room(self) -> Room:
        shape = self.filled.tree.shape
        return Room(
            np.empty((shape.cells, LANES)),
            np.empty(shape.n_cliques),
            np.empty((shape.n_cliques, LANES)),
            np.empty((6, LANES)),
            np.empty(LANES, np.int64),
            np.empty((shape.widest, LANES)),
        )


def expected_one_by_one(
    engine: RowByRow, rows: Ints, weights: Floats, max_memory: float
) -> tuple[Floats, Floats]:
    """Return expected counts and logs like a batch, but row by row: each pattern has its own small tree."""
    p = engine.potentials
    counts, logs = np.zeros(len(p.values)), np.empty(len(rows))
    for i in _by_pattern(rows, p.sizes):
        margins, logs[i] = engine.family_margins(Evidence.of_row(rows[i], p.sizes), max_memory)
        for f, margin in enumerate(margins):
            counts[p.value_start[f] : p.value_start[f + 1]] += weights[i] * margin.ravel()
    return counts, logs


def margins_one_by_one(engine: RowByRow, rows: Ints, max_memory: float) -> tuple[Floats, Floats]:
    """Return the posteriors of every variable, and logs, row by row."""
    p = engine.potentials
    out, logs = np.zeros((len(rows), int(p.offsets[-1]))), np.empty(len(rows))
    for i in _by_pattern(rows, p.sizes):
        found, logs[i] = engine.marginals(Evidence.of_row(rows[i], p.sizes), max_memory)
        if logs[i] > -np.inf:
            out[i] = found
    return out, logs


def completed_one_by_one(engine: RowByRow, rows: Ints, max_memory: float) -> tuple[Ints, Floats]:
    """Return the best completion of every row, and logs, row by row."""
    out, logs = np.empty(rows.shape, np.int64), np.empty(len(rows))
    sizes = engine.potentials.sizes
    for i in _by_pattern(rows, sizes):
        best = engine.mpe(Evidence.of_row(rows[i], sizes), max_memory)
        out[i], logs[i] = best.codes, best.log_probability
    return out, logs


def _by_pattern(rows: Ints, sizes: Ints) -> Ints:
    """Return the rows in an order in which rows with the same plan are adjacent."""
    if not len(rows):
        return np.empty(0, np.int64)
    return np.unique(rows < sizes, axis=0, return_inverse=True)[1].ravel().argsort(kind="stable")


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
