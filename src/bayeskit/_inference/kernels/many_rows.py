"""Kernels that pass messages through a clique tree in both directions for many rows at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayeskit._inference.kernels.fill import LOWEST
from bayeskit._inference.kernels.tree_layout import (
    BLOCK,
    CELLS,
    CHILD,
    EACH,
    MAP,
    PARENT,
    RUN,
    RUNS,
    SEPARATOR,
    WALKS,
)
from bayeskit._intrinsics import set_all
from bayeskit._numba import kernel

_U = np.uintp
# Rows processed together: 16 doubles are two cache lines, and more gained nothing.
LANES = 16
# Scales are multiplied while they stay in this range: a logarithm costs as much as 20 products.
TINY, HUGE = 1e-100, 1e100


@kernel
def observe_rows(table: Any, cells: Any, stride: Any, size: int, codes: Any, keep: Any) -> None:
    """Set to zero what contradicts the observed states of one variable; a code equal to its size means missing."""
    for k in range(size):
        for c in range(LANES):
            keep[c] = 1.0 if codes[c] == size or codes[c] == k else 0.0
        at = _U(k) * stride
        while at < cells:
            for u in range(at, at + stride):
                for c in range(LANES):
                    table[u, c] *= keep[c]
            at += stride * _U(size)


@kernel
def scale_rows(table: Any, start: Any, cells: Any, largest: Any, least: Any, taken: Any, logs: Any) -> Any:
    """Divide each lane by its largest number, which becomes its scale; return the range of the rest, as a log."""
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
def take_in(table: Any, messages: Any, at: Any, maps: Any, edge: Any) -> None:
    """Multiply a clique's table by the message of one child, which starts at ``at``."""
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


class Walk(NamedTuple):
    """A filled tree as input of these loops.

    ``seats`` from ``seat_start`` are the variables whose evidence a clique takes.
    """

    init: Any
    bound: Any
    seat: Any
    seats: Any
    seat_start: Any
    edge: Any
    maps: Any
    order: Any
    down: Any
    roots: Any
    children: Any
    child_start: Any
    offset: Any
    table_cells: Any


class Room(NamedTuple):
    """The output of these loops: all tables, including separators, and values for each clique and each lane."""

    pot: Any
    apart: Any
    scales: Any
    lanes: Any
    seen: Any
    work: Any


@kernel
def _send_up(walk: Any, room: Any, codes: Any, first: int, rows: int, take_max: bool) -> bool:
    """Fill every table for some rows, enter their evidence, and send messages to the roots.

    A message is the sum (or the maximum) over the variables that only its clique has, divided by its largest
    number; ``scales`` holds the inverse divisors. ``lanes[3]`` becomes log P(row), without the sums of the
    roots. Returns False if numbers differ too much.
    """
    pot, apart, scales, seen, lanes = room.pot, room.apart, room.scales, room.seen, room.lanes
    largest, least, taken, logs, spare = lanes[0], lanes[1], lanes[2], lanes[3], lanes[4]
    edge, maps, seat, offset, table_cells = walk.edge, walk.maps, walk.seat, walk.offset, walk.table_cells
    set_all(taken, 1.0)
    set_all(logs, 0.0)
    for q in walk.order:
        start = _U(offset[q])
        cells = _U(table_cells[q])
        table = pot[start : start + cells]
        for u in range(cells):
            x = walk.init[start + u]
            for c in range(LANES):
                table[u, c] = x
        for i in range(walk.seat_start[q], walk.seat_start[q + 1]):
            v = walk.seats[i]
            missing = seat[v, 3]
            any_seen = False
            for c in range(rows):
                seen[c] = codes[first + c, v]
                any_seen |= seen[c] < missing
            for c in range(rows, LANES):
                seen[c] = missing
            if any_seen:
                observe_rows(table, cells, _U(seat[v, 2]), missing, seen, spare)
        bound = walk.bound[q]
        for i in range(walk.child_start[q], walk.child_start[q + 1]):
            e = walk.children[i]
            if bound + apart[e] < LOWEST:
                bound = scale_rows(table, _U(0), cells, largest, least, taken, logs)
                if bound + apart[e] < LOWEST:
                    return False
            bound += apart[e]
            take_in(table, pot, _U(edge[e, SEPARATOR]), maps, edge[e])
        separator = _U(edge[q, CELLS])
        if separator > 0:
            each = _U(edge[q, EACH])
            begin = _U(edge[q, SEPARATOR])
            at = _U(0)
            for s in range(begin, begin + separator):
                for c in range(LANES):
                    pot[s, c] = table[at, c]
                for u in range(at + _U(1), at + each):
                    if take_max:
                        for c in range(LANES):
                            pot[s, c] = max(pot[s, c], table[u, c])
                    else:
                        for c in range(LANES):
                            pot[s, c] += table[u, c]
                at += each
            apart[q] = scale_rows(pot, begin, separator, scales[q], least, taken, logs)
    for c in range(LANES):
        logs[c] += np.log(taken[c])
    return True


@kernel
def _settle_rows(walk: Any, room: Any, weights: Any) -> None:
    """Finish the logs; scale the tables of the roots to sum to the row's weight, which is zero for impossible rows.

    A row may be impossible in one of several trees, so all of them are checked first.
    """
    pot, total, logs = room.pot, room.lanes[4], room.lanes[3]
    for q in walk.roots:
        begin = _U(walk.offset[q])
        end = begin + _U(walk.table_cells[q])
        set_all(total, 0.0)
        for u in range(begin, end):
            for c in range(LANES):
                total[c] += pot[u, c]
        for c in range(LANES):
            logs[c] += np.log(total[c]) if total[c] > 0.0 else -np.inf
            room.scales[q, c] = 1.0 / total[c] if total[c] > 0.0 else 0.0
    for c in range(LANES):
        if logs[c] == -np.inf:
            weights[c] = 0.0
    for q in walk.roots:
        for c in range(LANES):
            total[c] = room.scales[q, c] * weights[c]
        for u in range(_U(walk.offset[q]), _U(walk.offset[q] + walk.table_cells[q])):
            for c in range(LANES):
                pot[u, c] *= total[c]


@kernel
def _send_down(walk: Any, room: Any) -> None:
    """Send messages from the roots. Every table, including separators, becomes a marginal; 0/0 = 0."""
    pot, work, edge, maps = room.pot, room.work, walk.edge, walk.maps
    for e in walk.down:
        cells = _U(edge[e, CELLS])
        each = _U(edge[e, EACH])
        separator = _U(edge[e, SEPARATOR])
        run = _U(edge[e, RUN])
        block = _U(edge[e, BLOCK])
        first = _U(edge[e, MAP])
        walks = edge[e, WALKS] == 1
        at = _U(edge[e, PARENT])
        for s in range(cells):
            for c in range(LANES):
                work[s, c] = 0.0
        for r in range(_U(edge[e, RUNS])):
            begin = _U(maps[first + r])
            for b in range(block):
                for i in range(run):
                    w = begin + i if walks else begin + b
                    for c in range(LANES):
                        work[w, c] += pot[at + i, c]
                at += run
        at = _U(edge[e, CHILD])
        scale = room.scales[e]
        for s in range(cells):
            for c in range(LANES):
                z = pot[separator + s, c]
                pot[separator + s, c] = work[s, c]
                # The table was not scaled together with its message: divide by the unscaled message.
                work[s, c] = work[s, c] / (z if z > 0.0 else 1.0) * scale[c]
            for u in range(at, at + each):
                for c in range(LANES):
                    pot[u, c] *= work[s, c]
            at += each


@kernel
def expect_rows(walk: Any, room: Any, codes: Any, weights: Any, sums: Any, log_total: Any) -> None:
    """Add P(clique | row) · weight of every row to ``sums``, by lane; write log P(row), NaN where logs are needed.

    Sums over rows are linear, so a family's margin is read only once, from the sums of its clique.
    """
    n = codes.shape[0]
    pot, each, logs = room.pot, room.lanes[5], room.lanes[3]
    for first in range(0, n, LANES):
        rows = min(LANES, n - first)
        fine = _send_up(walk, room, codes, first, rows, False)
        if not fine:
            set_all(log_total[first : first + rows], np.nan)
            continue
        for c in range(LANES):
            each[c] = weights[first + c] if c < rows else 0.0
        _settle_rows(walk, room, each)
        _send_down(walk, room)
        for u in range(_U(sums.shape[0])):
            for c in range(LANES):
                sums[u, c] += pot[u, c]
        for c in range(rows):
            log_total[first + c] = logs[c]


@kernel
def margins_of_rows(
    walk: Any, room: Any, codes: Any, home: Any, start: Any, out: Any, log_total: Any
) -> None:
    """Write P(v | row) of every variable and log P(row): NaN where logs are needed, zeros where it is −inf."""
    n = codes.shape[0]
    pot, each, total, logs = room.pot, room.lanes[5], room.lanes[4], room.lanes[3]
    for first in range(0, n, LANES):
        rows = min(LANES, n - first)
        fine = _send_up(walk, room, codes, first, rows, False)
        if not fine:
            set_all(log_total[first : first + rows], np.nan)
            continue
        set_all(each, 1.0)
        _settle_rows(walk, room, each)
        _send_down(walk, room)
        for v in range(home.shape[0]):
            stride, size = home[v, 2], home[v, 3]
            for k in range(size):
                set_all(total, 0.0)
                at = k * stride
                while at < home[v, 1]:
                    for u in range(_U(home[v, 0] + at), _U(home[v, 0] + at + stride)):
                        for c in range(LANES):
                            total[c] += pot[u, c]
                    at += stride * size
                for c in range(rows):
                    out[first + c, start[v] + k] = total[c]
        for c in range(rows):
            log_total[first + c] = logs[c]


@kernel
def complete_rows(
    walk: Any,
    room: Any,
    codes: Any,
    axes: Any,
    axis_start: Any,
    length: Any,
    separated: Any,
    sizes: Any,
    out: Any,
    log_total: Any,
) -> None:
    """Write the most probable states of every row, and the log of their probability: NaN where logs are needed.

    From the roots downwards, each clique takes its first largest cell that agrees with its parent.
    """
    n = codes.shape[0]
    pot, logs, edge = room.pot, room.lanes[3], walk.edge
    for first in range(0, n, LANES):
        rows = min(LANES, n - first)
        fine = _send_up(walk, room, codes, first, rows, True)
        if not fine:
            set_all(log_total[first : first + rows], np.nan)
            continue
        for i in range(walk.order.shape[0] - 1, -1, -1):
            q = walk.order[i]
            middle = axis_start[q] + separated[q]
            end = axis_start[q] + length[q]
            for c in range(rows):
                place = 0
                for a in range(axis_start[q], middle):
                    place = place * sizes[axes[a]] + out[first + c, axes[a]]
                begin = walk.offset[q] + place * edge[q, EACH]
                best = begin
                for u in range(begin + 1, begin + edge[q, EACH]):
                    if pot[u, c] > pot[best, c]:
                        best = u
                if edge[q, CELLS] == 0:
                    x = pot[best, c]
                    logs[c] += np.log(x) if x > 0.0 else -np.inf
                place = best - begin
                for a in range(end - 1, middle - 1, -1):
                    size = sizes[axes[a]]
                    out[first + c, axes[a]] = place % size
                    place //= size
        for c in range(rows):
            log_total[first + c] = logs[c]
