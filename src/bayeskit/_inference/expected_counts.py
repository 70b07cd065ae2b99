"""The E-step by rows: expected family counts, posteriors of all variables, or the best completion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

import numpy as np

from bayeskit._counting.backend import in_order
from bayeskit._data.source import thread_count
from bayeskit._inference.clique_tree import Tree, grouped, require
from bayeskit._inference.filled_tree import FilledTree
from bayeskit._inference.kernels.many_rows import (
    LANES,
    Room,
    Walk,
    complete_rows,
    expect_rows,
    margins_of_rows,
)
from bayeskit._inference.most_probable import Assignment
from bayeskit._inference.potentials import Evidence, Potentials
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
