"""The loop of Gibbs sampling: each block redrawn given everything else."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.inference.kernels.forward import draw
from bayeskit.kernel import kernel


@kernel
def gibbs_sweeps(
    x: Any,
    uniforms: Any,
    block_start: Any,
    block_variable: Any,
    state_start: Any,
    n_states: Any,
    state_code: Any,
    pair_start: Any,
    pair_base: Any,
    outer_start: Any,
    outer_variable: Any,
    outer_stride: Any,
    inner_start: Any,
    inner: Any,
    log_values: Any,
    weights: Any,
    targets: Any,
    strides: Any,
    cells: Any,
) -> None:
    """Redraw all blocks once for each row of uniforms (sweeps × blocks); write the targets' cell after each.

    A pair is a block and a factor that holds some of its variables. The cell of the factor is pair_base, plus
    code × stride of its variables outside the block, plus inner[…] of the block's joint state.
    """
    for sweep in range(uniforms.shape[0]):
        for b in range(block_start.shape[0] - 1):
            count = n_states[b]
            for s in range(count):
                weights[s] = 0.0
            for pair in range(pair_start[b], pair_start[b + 1]):
                at = pair_base[pair]
                for o in range(outer_start[pair], outer_start[pair + 1]):
                    at += x[outer_variable[o]] * outer_stride[o]
                first = inner_start[pair]
                for s in range(count):
                    weights[s] += log_values[at + inner[first + s]]
            top = -np.inf
            for s in range(count):
                top = max(top, weights[s])
            for s in range(count):
                weights[s] = np.exp(weights[s] - top)
            chosen = draw(weights, 0, count, uniforms[sweep, b])
            width = block_start[b + 1] - block_start[b]
            place = state_start[b] + chosen * width
            for k in range(width):
                x[block_variable[block_start[b] + k]] = state_code[place + k]
        cell = 0
        for t in range(targets.shape[0]):
            cell += x[targets[t]] * strides[t]
        cells[sweep] = cell
