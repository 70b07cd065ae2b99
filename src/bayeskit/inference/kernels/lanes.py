"""Loops over the table of one clique for many rows at once, the rows on the innermost axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.inference.kernels.layout import BLOCK, MAP, RUN, RUNS, WALKS
from bayeskit.kernel import kernel

_U = np.uintp
# Rows that ride together: 16 doubles are two lines of a cache, and more gained nothing.
LANES = 16
# What is taken out of messages is multiplied while it stays in this range: a logarithm costs as much as 20 products.
TINY, HUGE = 1e-100, 1e100


@kernel
def observe_rows(table: Any, cells: Any, stride: Any, size: int, codes: Any, keep: Any) -> None:
    """Take away what disagrees with the observed states of one variable; its size, the code after them, is missing."""
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
def take_in(table: Any, messages: Any, at: Any, maps: Any, edge: Any) -> None:
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
