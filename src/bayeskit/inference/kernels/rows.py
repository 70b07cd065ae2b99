"""A loop that sends messages to one clique for many rows at once, the rows on the innermost axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.inference.kernels.layout import BLOCK, CELLS, EACH, MAP, RUN, RUNS, SEPARATOR, WALKS
from bayeskit.inference.kernels.scale import LOWEST
from bayeskit.kernel import kernel

_U = np.uintp
# Rows that ride together: 16 doubles are two lines of a cache, and more gained nothing.
LANES = 16
# What is taken out of messages is multiplied while it stays in this range: a logarithm costs as much as 20 products.
TINY, HUGE = 1e-100, 1e100


@kernel
def _observe_rows(table: Any, cells: Any, stride: Any, size: int, codes: Any, keep: Any) -> None:
    """Take away what disagrees with the observed states of one variable; −1 is missing."""
    for k in range(size):
        for c in range(LANES):
            keep[c] = 1.0 if codes[c] < 0 or codes[c] == k else 0.0
        at = _U(k) * stride
        while at < cells:
            for u in range(at, at + stride):
                for c in range(LANES):
                    table[u, c] *= keep[c]
            at += stride * _U(size)


@kernel
def _scales(table: Any, start: Any, cells: Any, largest: Any, least: Any, taken: Any, logs: Any) -> Any:
    """Divide by the largest number of each lane, which is taken out; return how far the rest lies apart, as a log."""
    for c in range(LANES):
        largest[c] = 0.0
        least[c] = np.inf
    for u in range(start, start + cells):
        for c in range(LANES):
            x = table[u, c]
            y = x if x > 0.0 else np.inf
            largest[c] = x if x > largest[c] else largest[c]
            least[c] = y if y < least[c] else least[c]
    apart = 1.0
    for c in range(LANES):
        x = largest[c]
        if x > 0.0:
            apart = min(apart, least[c] / x)
            if taken[c] < TINY or taken[c] > HUGE:
                logs[c] += np.log(taken[c])
                taken[c] = 1.0
            if x < TINY or x > HUGE:
                logs[c] += np.log(x)
            else:
                taken[c] *= x
            largest[c] = 1.0 / x
        else:
            logs[c] = -np.inf
    for u in range(start, start + cells):
        for c in range(LANES):
            table[u, c] *= largest[c]
    return np.log(apart)


@kernel
def _take_in(table: Any, messages: Any, at: Any, maps: Any, edge: Any) -> None:
    """Multiply a clique's table by the message of one child, which begins at ``at``."""
    run = _U(edge[RUN])
    block = _U(edge[BLOCK])
    first = _U(edge[MAP])
    walks = edge[WALKS] == 1
    u = _U(0)
    for r in range(_U(edge[RUNS])):
        begin = at + _U(maps[first + r])
        for b in range(block):
            for i in range(run):
                w = begin + i if walks else begin + b
                for c in range(LANES):
                    table[u + i, c] *= messages[w, c]
            u += run


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
    """Write P(target | row) and log P(row) of every row; NaN where the numbers lie too far apart.

    Cliques are taken in ``order``, children before parents, each in the same small table: filled, the evidence of
    the variables ``seats[seat_start[q] : seat_start[q + 1]]`` and the messages of its children put in, and summed
    into its own message. So all that is worked on stays in the nearest cache. ``root_place`` is the record of the
    target in the table of its root; all other roots add to the log only.
    """
    n = codes.shape[0]
    largest, least, taken, logs, total = lanes[0], lanes[1], lanes[2], lanes[3], lanes[4]
    for first in range(0, n, LANES):
        rows = min(LANES, n - first)
        taken[:] = 1.0
        logs[:] = 0.0
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
                any_seen = False
                for c in range(rows):
                    seen[c] = codes[first + c, v]
                    any_seen |= seen[c] >= 0
                for c in range(rows, LANES):
                    seen[c] = -1
                if any_seen:
                    _observe_rows(table, cells, _U(seat[v, 2]), seat[v, 3], seen, total)
            bound = init_bound[q]
            for i in range(child_start[q], child_start[q + 1]):
                e = children[i]
                if bound + apart[e] < LOWEST:
                    bound = _scales(table, _U(0), cells, largest, least, taken, logs)
                    fine &= bound + apart[e] >= LOWEST
                bound += apart[e]
                _take_in(table, messages, _U(edge[e, SEPARATOR] - first_separator), maps, edge[e])
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
                apart[q] = _scales(messages, begin, separator, largest, least, taken, logs)
                continue
            total[:] = 0.0
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
    """Write the distribution of the target in each lane from the table of its root; zeros where nothing is left."""
    states = out.shape[1]
    stride = root_place[2]
    for k in range(states):
        total[:] = 0.0
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
