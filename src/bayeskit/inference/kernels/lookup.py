"""The loop of the look-up engine: one product of table rows for each row of codes."""

from __future__ import annotations

from typing import Any

from bayeskit.kernel import kernel

# Products outside [SMALL, 1 / SMALL] are scaled, so that a target with thousands of children does not underflow,
# nor one whose next table holds 1e-300.
SMALL = 1e-8


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
        for k in range(n_states):
            out[i, k] = 1.0
        for f in range(len(start)):
            cell = start[f]
            for j in range(part[f], part[f + 1]):
                cell += codes[i, column[j]] * strides[j]
            largest = 0.0
            for k in range(n_states):
                out[i, k] *= values[cell + k * step[f]]
                largest = max(largest, out[i, k])
            if largest == 0.0:
                break
            if largest < SMALL or largest > 1.0 / SMALL:
                for k in range(n_states):
                    out[i, k] /= largest
        total = 0.0
        for k in range(n_states):
            total += out[i, k]
        if total > 0.0:
            for k in range(n_states):
                out[i, k] /= total
