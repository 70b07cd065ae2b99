"""Loops that send messages through a tree of cliques, in plain numbers scaled message by message."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.inference.kernels.fill import observe, weigh
from bayeskit.inference.kernels.layout import (
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
from bayeskit.inference.kernels.scale import LOWEST, rescale
from bayeskit.kernel import kernel

_U = np.uintp


@kernel
def collect(
    pot: Any,
    edge: Any,
    maps: Any,
    up: Any,
    offset: Any,
    table_cells: Any,
    bound: Any,
    scales: Any,
    take_max: bool,
) -> Any:
    """Send messages to the roots; return the log of the scales.

    −inf: nothing is left. NaN: the numbers of some table lie too far apart, and logs must be used.


    A message is the sum (or the largest) over what its clique has alone, divided by its largest number, and
    stays in the separator's table.
    """
    taken = 0.0
    for e in up:
        cells = _U(edge[e, CELLS])
        each = _U(edge[e, EACH])
        at = _U(edge[e, CHILD])
        separator = _U(edge[e, SEPARATOR])
        largest = 0.0
        least = np.inf
        for s in range(cells):
            x = 0.0
            if take_max:
                for u in range(at, at + each):
                    x = max(x, pot[u])
            else:
                for u in range(at, at + each):
                    x += pot[u]
            at += each
            pot[separator + s] = x
            largest = max(largest, x)
            if x > 0.0 and x < least:
                least = x
        if largest <= 0.0:
            return -np.inf
        p = edge[e, PARENT_CLIQUE]
        reach = np.log(least / largest)
        if bound[p] + reach < LOWEST:
            shrunk, bound[p] = rescale(pot, offset[p], table_cells[p])
            taken += shrunk
            if bound[p] + reach < LOWEST:
                return np.nan
        bound[p] += reach
        taken += np.log(largest)
        scale = 1.0 / largest
        scales[e] = scale
        for s in range(separator, separator + cells):
            pot[s] *= scale
        runs = _U(edge[e, RUNS])
        block = _U(edge[e, BLOCK])
        run = _U(edge[e, RUN])
        first = _U(edge[e, MAP])
        at = _U(edge[e, PARENT])
        if edge[e, WALKS] == 0:
            for r in range(runs):
                begin = separator + _U(maps[first + r])
                for b in range(block):
                    x = pot[begin + b]
                    for u in range(at, at + run):
                        pot[u] *= x
                    at += run
        else:
            for r in range(runs):
                begin = separator + _U(maps[first + r])
                for _ in range(block):
                    for u in range(run):
                        pot[at + u] *= pot[begin + u]
                    at += run
    return taken


@kernel
def settle(pot: Any, offset: Any, table_cells: Any, roots: Any, take_max: bool) -> Any:
    """Scale the tables of the roots to sum (or be at most) one; return the log of the scales."""
    taken = 0.0
    for c in roots:
        total = 0.0
        for u in range(offset[c], offset[c] + table_cells[c]):
            if take_max:
                total = max(total, pot[u])
            else:
                total += pot[u]
        if total <= 0.0:
            return -np.inf
        taken += np.log(total)
        for u in range(offset[c], offset[c] + table_cells[c]):
            pot[u] /= total
    return taken


@kernel
def distribute(pot: Any, edge: Any, maps: Any, down: Any, scales: Any, work: Any, take_max: bool) -> None:
    """Send messages from the roots: every table, the separators' too, becomes a marginal; 0/0 = 0."""
    for e in down:
        cells = _U(edge[e, CELLS])
        each = _U(edge[e, EACH])
        separator = _U(edge[e, SEPARATOR])
        runs = _U(edge[e, RUNS])
        block = _U(edge[e, BLOCK])
        run = _U(edge[e, RUN])
        first = _U(edge[e, MAP])
        at = _U(edge[e, PARENT])
        for s in range(cells):
            work[s] = 0.0
        if edge[e, WALKS] == 0:
            for r in range(runs):
                begin = _U(maps[first + r])
                for b in range(begin, begin + block):
                    x = work[b]
                    if take_max:
                        for u in range(at, at + run):
                            x = max(x, pot[u])
                    else:
                        for u in range(at, at + run):
                            x += pot[u]
                    work[b] = x
                    at += run
        else:
            for r in range(runs):
                begin = _U(maps[first + r])
                for _ in range(block):
                    if take_max:
                        for u in range(run):
                            work[begin + u] = max(work[begin + u], pot[at + u])
                    else:
                        for u in range(run):
                            work[begin + u] += pot[at + u]
                    at += run
        at = _U(edge[e, CHILD])
        for s in range(cells):
            z = pot[separator + s]
            # The table was not scaled with its message: divide by the message as it was.
            x = work[s] / z * scales[e] if z > 0.0 else 0.0
            pot[separator + s] = work[s]
            for u in range(at, at + each):
                pot[u] *= x
            at += each


@kernel
def read_marginals(pot: Any, home: Any, start: Any, take_max: bool, out: Any) -> None:
    """Write the marginal (or max-marginal) of each variable from the table where it is read."""
    for v in range(home.shape[0]):
        at = _U(home[v, 0])
        stride = _U(home[v, 2])
        size = home[v, 3]
        o = start[v]
        for k in range(size):
            out[o + k] = 0.0
        for _ in range(home[v, 1] // (home[v, 2] * size)):
            for k in range(size):
                x = out[o + k]
                if take_max:
                    for u in range(at, at + stride):
                        x = max(x, pot[u])
                else:
                    for u in range(at, at + stride):
                        x += pot[u]
                out[o + k] = x
                at += stride
        total = 0.0
        for k in range(size):
            total = max(total, out[o + k]) if take_max else total + out[o + k]
        for k in range(size):
            out[o + k] /= total


@kernel
def propagate(
    pot: Any,
    edge: Any,
    maps: Any,
    up: Any,
    down: Any,
    roots: Any,
    offset: Any,
    table_cells: Any,
    bound: Any,
    scales: Any,
    work: Any,
    take_max: bool,
) -> Any:
    """Make every table a marginal; return the log of their common total, −inf or NaN as ``collect``."""
    taken = collect(pot, edge, maps, up, offset, table_cells, bound, scales, take_max)
    if not taken > -np.inf:
        return taken
    taken += settle(pot, offset, table_cells, roots, take_max)
    if taken > -np.inf and down.shape[0] > 0:
        distribute(pot, edge, maps, down, scales, work, take_max)
    return taken


@kernel
def answer(
    init: Any,
    init_bound: Any,
    pot: Any,
    bound: Any,
    codes: Any,
    soft: Any,
    likelihood: Any,
    soft_start: Any,
    seat: Any,
    seat_clique: Any,
    home: Any,
    start: Any,
    edge: Any,
    maps: Any,
    up: Any,
    down: Any,
    roots: Any,
    offset: Any,
    table_cells: Any,
    scales: Any,
    work: Any,
    take_max: bool,
    out: Any,
) -> Any:
    """Answer from a tree whose tables are filled: copy, put the evidence in, propagate, read."""
    # One by one: a slice that may be its own source is copied aside first, which would double the memory.
    for u in range(_U(init.shape[0])):
        pot[u] = init[u]
    for c in range(_U(init_bound.shape[0])):
        bound[c] = init_bound[c]
    observe(pot, seat, codes)
    taken = weigh(pot, seat, seat_clique, bound, soft, likelihood, soft_start)
    taken += propagate(pot, edge, maps, up, down, roots, offset, table_cells, bound, scales, work, take_max)
    if taken > -np.inf and out.shape[0] > 0:
        read_marginals(pot, home, start, take_max, out)
    return taken
