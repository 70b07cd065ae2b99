"""A loop that sends messages to one clique for many rows at once, the rows on the innermost axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.inference.kernels.clique_tree import (
    BLOCK,
    CELLS,
    CHILD,
    EACH,
    MAP,
    PARENT,
    PARENT_CLIQUE,
    RUN,
    RUNS,
    SEPARATOR,
    WALKS,
)
from bayeskit.inference.kernels.scale import LOWEST
from bayeskit.kernel import kernel

_U = np.uintp
# Rows that ride together: 16 doubles are two lines of a cache, and more gained nothing.
LANES = 16


@kernel
def _observe_rows(pot: Any, seat: Any, codes: Any, first: int, n_rows: int, target: int, keep: Any) -> None:
    """Take away what disagrees with the observed states of each row; −1 is missing, and so is the target."""
    for v in range(codes.shape[1]):
        seen = False
        for c in range(n_rows):
            seen |= codes[first + c, v] >= 0
        if not seen or v == target:
            continue
        stride = seat[v, 2]
        size = seat[v, 3]
        for k in range(size):
            for c in range(LANES):
                code = codes[first + c, v] if c < n_rows else -1
                keep[c] = 1.0 if code < 0 or code == k else 0.0
            at = seat[v, 0] + k * stride
            for _ in range(seat[v, 1] // (stride * size)):
                for u in range(at, at + stride):
                    for c in range(LANES):
                        pot[u, c] *= keep[c]
                at += stride * size


@kernel
def _reach(largest: Any, least: Any, scale: Any, logs: Any) -> float:
    """Turn the largest of each lane into a scale and a log taken out; return how far the numbers lie apart."""
    reach = 0.0
    for c in range(LANES):
        if largest[c] > 0.0:
            logs[c] += np.log(largest[c])
            scale[c] = 1.0 / largest[c]
            reach = min(reach, np.log(least[c] / largest[c]))
        else:
            logs[c] = -np.inf
            scale[c] = 0.0
    return reach


@kernel
def _extremes(pot: Any, start: Any, cells: Any, largest: Any, least: Any) -> None:
    for c in range(LANES):
        largest[c] = 0.0
        least[c] = np.inf
    for u in range(start, start + cells):
        for c in range(LANES):
            x = pot[u, c]
            largest[c] = max(largest[c], x)
            if x > 0.0 and x < least[c]:
                least[c] = x


@kernel
def _collect_lanes(
    pot: Any, edge: Any, maps: Any, up: Any, offset: Any, table_cells: Any, bound: Any, lanes: Any, logs: Any
) -> bool:
    """Send the messages of all lanes; return whether the numbers stayed within range."""
    largest, least, scale = lanes[0], lanes[1], lanes[2]
    for e in up:
        cells = _U(edge[e, CELLS])
        each = _U(edge[e, EACH])
        at = _U(edge[e, CHILD])
        separator = _U(edge[e, SEPARATOR])
        for s in range(separator, separator + cells):
            for c in range(LANES):
                pot[s, c] = 0.0
            for u in range(at, at + each):
                for c in range(LANES):
                    pot[s, c] += pot[u, c]
            at += each
        _extremes(pot, separator, cells, largest, least)
        reach = _reach(largest, least, scale, logs)
        for s in range(separator, separator + cells):
            for c in range(LANES):
                pot[s, c] *= scale[c]
        p = edge[e, PARENT_CLIQUE]
        if bound[p] + reach < LOWEST:
            start = _U(offset[p])
            _extremes(pot, start, _U(table_cells[p]), largest, least)
            bound[p] = _reach(largest, least, scale, logs)
            for u in range(start, start + _U(table_cells[p])):
                for c in range(LANES):
                    pot[u, c] *= scale[c]
            if bound[p] + reach < LOWEST:
                return False
        bound[p] += reach
        run = _U(edge[e, RUN])
        first = _U(edge[e, MAP])
        walks = edge[e, WALKS] == 1
        at = _U(edge[e, PARENT])
        for r in range(_U(edge[e, RUNS])):
            begin = separator + _U(maps[first + r])
            for b in range(_U(edge[e, BLOCK])):
                for u in range(run):
                    w = begin + u if walks else begin + b
                    for c in range(LANES):
                        pot[at + u, c] *= pot[w, c]
                at += run
    return True


@kernel
def answer_rows(
    init: Any,
    init_bound: Any,
    pot: Any,
    bound: Any,
    lanes: Any,
    codes: Any,
    target: int,
    seat: Any,
    root_place: Any,
    edge: Any,
    maps: Any,
    up: Any,
    roots: Any,
    offset: Any,
    table_cells: Any,
    out: Any,
    log_total: Any,
) -> None:
    """Write P(target | row) and log P(row) of every row; NaN where the numbers lie too far apart.

    ``root_place`` is the record of the target in the table of its root; all other roots add to the log only.
    """
    n = codes.shape[0]
    states = out.shape[1]
    logs, total = lanes[3], lanes[4]
    for first in range(0, n, LANES):
        rows = min(LANES, n - first)
        for u in range(_U(init.shape[0])):
            for c in range(LANES):
                pot[u, c] = init[u]
        bound[:] = init_bound
        logs[:] = 0.0
        _observe_rows(pot, seat, codes, first, rows, target, lanes[0])
        if not _collect_lanes(pot, edge, maps, up, offset, table_cells, bound, lanes, logs):
            for c in range(rows):
                log_total[first + c] = np.nan
            continue
        for root in roots:
            total[:] = 0.0
            for u in range(offset[root], offset[root] + table_cells[root]):
                for c in range(LANES):
                    total[c] += pot[u, c]
            for c in range(LANES):
                logs[c] += np.log(total[c]) if total[c] > 0.0 else -np.inf
        stride = root_place[2]
        for k in range(states):
            total[:] = 0.0
            at = root_place[0] + k * stride
            for _ in range(root_place[1] // (stride * states)):
                for u in range(at, at + stride):
                    for c in range(LANES):
                        total[c] += pot[u, c]
                at += stride * states
            for c in range(rows):
                out[first + c, k] = total[c]
        for c in range(rows):
            log_total[first + c] = logs[c]
            whole = 0.0
            for k in range(states):
                whole += out[first + c, k]
            for k in range(states):
                out[first + c, k] = out[first + c, k] / whole if whole > 0.0 else 0.0
