"""Scores of rows where every attribute has at most one parent beside the class."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.estimation.kernels.pair_cells import cell, is_present
from bayeskit.kernel import kernel

_U = np.uintp


@kernel
def add_children(
    codes: Any, parents: Any, starts: Any, widths: Any, sizes: Any, table: Any, holes: Any, out: Any
) -> int:
    """Add Σ_j log P(x_j | c, x_parent) to every row without holes; mark the others, and count them."""
    n, d = codes.shape
    n_classes = out.shape[1]
    n_holes = 0
    for i in range(n):
        whole = True
        for j in range(d):
            x = _U(codes[i, j])
            # A hole is the spare code where that is no state; unseen values have probabilities of their own.
            if x >= sizes[j] and x + _U(2) == widths[j]:
                whole = False
        holes[i] = not whole
        if not whole:
            n_holes += 1
            continue
        for j in range(d):
            row = starts[j] + _U(codes[i, j])
            if parents[j] >= 0:
                row += _U(codes[i, _U(parents[j])]) * widths[j]
            for c in range(n_classes):
                out[i, c] += table[row, c]
    return n_holes


@kernel
def add_by_messages(
    codes: Any,
    target: Any,
    own: Any,
    which: Any,
    cells: Any,
    starts: Any,
    table: Any,
    slots: Any,
    parents: Any,
    order: Any,
    work: Any,
    out: Any,
) -> float:
    """Add log P(x | c) of some rows, each without ``own`` of itself; return the least count left where negative.

    Attributes that are missing are summed over on the tree, children before parents: ``work[j, v, c]`` is the log
    of what the children of a missing x_j say of its state v. ``slots`` counts the states of each attribute, one
    more where a value never learned has a share. In classes other than its own a row takes nothing away, so ``table``
    holds what is looked for.
    """
    counts, offsets, real, sizes, mode, mass, extra, total_mass, alike, first, scale, constants = cells
    n_classes = out.shape[1]
    least = 0.0
    for i in range(len(codes)):
        if not which[i]:
            continue
        least = min(least, _least_left(codes[i], target[i], own[i], counts, offsets, real, parents))
        for j in order:
            if not is_present(real, sizes, j, _U(codes[i, j])):
                for v in range(slots[j]):
                    for c in range(n_classes):
                        work[j, v, c] = 0.0
        for place in range(len(order) - 1, -1, -1):
            j = order[place]
            parent = parents[j]
            here = is_present(real, sizes, j, _U(codes[i, j]))
            above = parent >= 0 and is_present(real, sizes, parent, _U(codes[i, parent]))
            for c in range(n_classes):
                mine = own[i] if target[i] == c else 0.0
                if here and (parent < 0 or above):
                    state = _U(codes[i, parent]) if above else _U(0)
                    if mine == 0.0:
                        row = starts[j] + _U(codes[i, j]) + state * (real[j] + _U(2))
                        out[i, c] += table[row, c]
                        continue
                    p = cell(
                        counts, offsets, real, sizes, mode, mass, extra, total_mass, alike, first, scale, constants,
                        j, _U(codes[i, j]), parent, state, c, mine, mine,
                    )  # fmt: skip
                    out[i, c] += np.log(p)
                elif parent < 0 or above:
                    state = _U(codes[i, parent]) if above else _U(0)
                    out[i, c] += _message(
                        codes[i], cells, slots, j, parent, state, c, here, above, mine, work
                    )
                else:
                    for u in range(slots[parent]):
                        state = _U(u) if _U(u) < sizes[parent] else real[parent] + _U(1)
                        work[parent, u, c] += _message(
                            codes[i], cells, slots, j, parent, state, c, here, above, mine, work
                        )
    return least


@kernel
def _message(
    row: Any,
    cells: Any,
    slots: Any,
    j: Any,
    parent: Any,
    u: Any,
    c: Any,
    here: bool,
    above: bool,
    mine: float,
    work: Any,
) -> Any:
    """Return the log of what x_j and everything under it say of its parent's state u and class c."""
    counts, offsets, real, sizes, mode, mass, extra, total_mass, alike, first, scale, constants = cells
    if here:
        # The row stands in n(x_j, c), and in n(x_j, x_parent, c) if it has a parent's state too.
        p = cell(
            counts, offsets, real, sizes, mode, mass, extra, total_mass, alike, first, scale, constants,
            j, _U(row[j]), parent, u, c, mine, mine if above else 0.0,
        )  # fmt: skip
        return np.log(p)
    best = -np.inf
    for v in range(slots[j]):
        if work[j, v, c] > best:
            best = work[j, v, c]
    if best == -np.inf or best == 0.0:
        # Either nothing is possible, or nothing present hangs under it: the probabilities of its states add to 1.
        idle = True
        for v in range(slots[j]):
            if work[j, v, c] != 0.0:
                idle = False
        if idle:
            return 0.0
        if best == -np.inf:
            return best
    total = 0.0
    for v in range(slots[j]):
        x = _U(v) if _U(v) < sizes[j] else real[j] + _U(1)
        p = cell(
            counts, offsets, real, sizes, mode, mass, extra, total_mass, alike, first, scale, constants,
            j, x, parent, u, c, 0.0, 0.0,
        )  # fmt: skip
        total += p * np.exp(work[j, v, c] - best)
    return best + np.log(total)


@kernel
def _least_left(row: Any, y: Any, own: float, counts: Any, offsets: Any, real: Any, parents: Any) -> float:
    """Return the least count that would be left of the row's own cells, 0 where none is negative."""
    least = 0.0
    if own == 0.0:
        return least
    for j in range(len(parents)):
        x = _U(row[j])
        if x > real[j]:
            return -own
        g = offsets[j] + x
        left = counts[g, g, y] - own
        i = parents[j]
        if i >= 0 and _U(row[i]) > real[i]:
            return -own
        if i >= 0:
            left = min(left, counts[offsets[i] + _U(row[i]), g, y] - own)
        if left < -1e-9 * own:
            least = min(least, left)
    return least
