"""The loop that tells how well one family foretells the class, for several back-off constants at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.estimation.kernels.families import left_over
from bayeskit.estimation.kernels.trie import find_cell
from bayeskit.kernel import kernel


@kernel
def add_losses(
    trie: Any,
    f: Any,
    level: Any,
    base: Any,
    below: Any,
    grid: Any,
    margin: Any,
    path: Any,
    contexts: Any,
    cells: Any,
    p: Any,
    others: Any,
    shares: Any,
    losses: Any,
) -> None:
    """Add the leave-one-out loss of all cells of one level of family f to ``losses``, one for each c of the grid.

    Parameters
    ----------
    below : array of shape (level,)
        The constants of the levels below.
    path, contexts, cells : arrays of shape (level + 1,), and (level + 1, K)
        Scratch: the context of each level (−1 at first), and N and n in it.
    p, others, shares : arrays of shape (K,), (K,) and (grid, K)
        Scratch: p_{l−1}; N_l + P of the classes of a context, and their p_l for each constant.
    """
    entry_start, entry_class, entry_weight = trie.entry_start, trie.entry_class, trie.entry_weight
    count_start, count_class, count_weight = trie.count_start, trie.count_class, trie.count_weight
    cell_start, cell_state, up = trie.cell_start, trie.cell_state, trie.up
    k, n_all = margin.shape[0], 0.0
    for c in range(k):
        n_all += margin[c]
    g = trie.first_parent[f] + f + level
    for node in range(trie.first_context[g], trie.first_context[g + 1]):
        context = np.int64(node)
        for depth in range(level, -1, -1):
            if path[depth] != context:
                path[depth] = context
                for c in range(k):
                    contexts[depth, c] = 0.0
                for e in range(entry_start[context], entry_start[context + 1]):
                    contexts[depth, entry_class[e]] = entry_weight[e]
            context = np.int64(up[context])
        for cell in range(cell_start[node], cell_start[node + 1]):
            for depth in range(level + 1):
                for c in range(k):
                    cells[depth, c] = 0.0
                held = find_cell(cell_start, cell_state, path[depth], np.int64(cell_state[cell]))
                for e in range(count_start[held], count_start[held + 1]):
                    cells[depth, count_class[e]] = count_weight[e]
            outside = 0.0  # the part of the classes not seen in the context, times N − d + 1
            for c in range(k):
                p[c] = base
                for depth in range(level):
                    if contexts[depth, c] > 0.0:
                        p[c] = (cells[depth, c] + below[depth] * p[c]) / (contexts[depth, c] + below[depth])
                if contexts[level, c] <= 0.0:
                    outside += (margin[c] + 1.0 / k) * p[c]
            first, n_inside = entry_start[node], entry_start[node + 1] - entry_start[node]
            for e in range(n_inside):
                c = entry_class[first + e]
                for at in range(grid.shape[0]):
                    shares[at, e] = (cells[level, c] + grid[at] * p[c]) / (contexts[level, c] + grid[at])
            for j in range(count_start[cell], count_start[cell + 1]):
                y, n = count_class[j], count_weight[j]
                d = min(n, 1.0)
                all_left = n_all - d + 1.0
                own = base  # p_{l−1} of class y without d
                for depth in range(level):
                    in_context = left_over(contexts[depth, y], d)
                    if in_context > 0.0:
                        in_cell = left_over(cells[depth, y], d)
                        own = (in_cell + below[depth] * own) / (in_context + below[depth])
                in_context, in_cell = left_over(contexts[level, y], d), left_over(cells[level, y], d)
                weight = in_context + (margin[y] - d + 1.0 / k) / all_left
                for e in range(n_inside):
                    c = entry_class[first + e]
                    others[e] = contexts[level, c] + (margin[c] + 1.0 / k) / all_left if c != y else 0.0
                for at in range(grid.shape[0]):
                    share = own
                    if in_context > 0.0:
                        share = (in_cell + grid[at] * own) / (in_context + grid[at])
                    total = outside / all_left + weight * share
                    for e in range(n_inside):
                        total += others[e] * shares[at, e]
                    losses[at] -= n * np.log(weight * share / total)
