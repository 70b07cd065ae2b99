"""Posteriors of one variable for many rows: all patterns in one batch, or pattern by pattern."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bayeskit.inference.evidence import Evidence
from bayeskit.inference.grouped import grouped
from bayeskit.inference.kernels.lanes import LANES
from bayeskit.inference.kernels.rows import answer_rows
from bayeskit.inference.loaded import Loaded
from bayeskit.inference.memory import require
from bayeskit.inference.potentials import Potentials

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Joint(Protocol):
    """Whoever answers one question at a time."""

    potentials: Potentials

    def joint(
        self, targets: tuple[int, ...], evidence: Evidence, max_memory: float
    ) -> tuple[Floats, float]: ...


def answer_whole(
    engine: Joint, loaded: Loaded, rows: Ints, target: int, max_memory: float
) -> tuple[Floats, Floats]:
    """Answer all rows from one tree whose root holds the target; patterns of missing cells do not matter."""
    tree, shape, p = loaded.tree, loaded.tree.shape, engine.potentials
    inside, between = int(shape.table_cells.max(initial=1)), shape.between
    require(p, shape.bytes_kept + 8 * (shape.cells + (inside + between) * LANES), max_memory, shape)
    rows = np.ascontiguousarray(rows)
    out, logs = np.empty((len(rows), int(p.sizes[target]))), np.empty(len(rows))
    if np.isfinite(loaded.taken):
        seats, seat_start = grouped(tree.seat_clique, shape.n_cliques)
        children, child_start = grouped(shape.parent, shape.n_cliques)
        answer_rows(
            loaded.tables,
            loaded.bound,
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
        logs += loaded.taken
    else:
        logs[:] = loaded.taken
    for i in np.flatnonzero(np.isnan(logs)):
        row = rows[i].copy()
        row[target] = p.sizes[target]
        out[i], logs[i] = engine.joint((target,), Evidence.of_row(row, p.sizes), max_memory)
    return out, logs


def answer_patterns(engine: Joint, rows: Ints, target: int, max_memory: float) -> tuple[Floats, Floats]:
    """Answer each distinct row once; a row's plan is that of its pattern of missing cells, which is kept."""
    rows, sizes = np.array(rows, np.int64), engine.potentials.sizes
    rows[:, target] = sizes[target]
    # Sorted by pattern, rows that share a plan follow each other.
    keyed = np.hstack([rows < sizes, rows])
    distinct, inverse = np.unique(keyed, axis=0, return_inverse=True)
    n = rows.shape[1]
    out, logs = np.empty((len(distinct), int(sizes[target]))), np.empty(len(distinct))
    for i, row in enumerate(distinct[:, n:]):
        out[i], logs[i] = engine.joint((target,), Evidence.of_row(row, sizes), max_memory)
    return out[inverse.ravel()], logs[inverse.ravel()]
