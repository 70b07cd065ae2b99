"""The loop of the look-up engine: one product of table rows for each row of codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import kernel

# Products outside [SMALL, 1 / SMALL] are scaled, so that a target with thousands of children does not underflow,
# nor one whose next table holds 1e-300.
SMALL = 1e-8
TINY, HUGE = 1e-290, 1e290


@kernel
def _add_logs(
    codes: Any,
    i: int,
    strides: Any,
    column: Any,
    part: Any,
    values: Any,
    start: Any,
    step: Any,
    out: Any,
) -> None:
    """Write the product of one row relative to its largest, by way of logs."""
    n_states = out.shape[1]
    for k in range(n_states):
        out[i, k] = 0.0
    for f in range(len(start)):
        cell = start[f]
        for j in range(part[f], part[f + 1]):
            cell += codes[i, column[j]] * strides[j]
        for k in range(n_states):
            x = values[cell + k * step[f]]
            out[i, k] += np.log(x) if x > 0.0 else -np.inf
    largest = -np.inf
    for k in range(n_states):
        largest = max(largest, out[i, k])
    for k in range(n_states):
        out[i, k] = np.exp(out[i, k] - largest) if largest > -np.inf else 0.0


@kernel
def multiply_rows(
    codes: Any, strides: Any, column: Any, part: Any, values: Any, start: Any, step: Any, out: Any
) -> None:
    """Write P(target | row) of each row of codes; zeros where no state of the target is possible.

    Factor f begins at values[start[f]], its states of the target lie step[f] apart; its other variables are the
    columns column[part[f] : part[f + 1]] of the codes, strides[...] apart.
    """
    n_states = out.shape[1]
    for i in range(len(codes)):
        lost = False
        for k in range(n_states):
            out[i, k] = 1.0
        for f in range(len(start)):
            cell = start[f]
            for j in range(part[f], part[f + 1]):
                cell += codes[i, column[j]] * strides[j]
            largest = 0.0
            for k in range(n_states):
                x = values[cell + k * step[f]]
                y = out[i, k] * x
                # A state that falls this far behind may still win: many children, pulling both ways.
                lost |= (y < TINY and x > 0.0 and out[i, k] > 0.0) or y > HUGE
                out[i, k] = y
                largest = max(largest, y)
            if lost or largest == 0.0:
                break
            if largest < SMALL or largest > 1.0 / SMALL:
                for k in range(n_states):
                    lost |= out[i, k] > 0.0 and out[i, k] / largest < TINY
                    out[i, k] /= largest
                if lost:
                    break
        if lost:
            _add_logs(codes, i, strides, column, part, values, start, step, out)
        total = 0.0
        for k in range(n_states):
            total += out[i, k]
        if total > 0.0:
            for k in range(n_states):
                out[i, k] /= total
