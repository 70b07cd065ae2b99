r"""The choice of the back-off constants from counts.

For each family and level l, every cell (x, context, y) of weight n predicts its own class after d = min(n, 1) of its
weight is removed at all levels:

.. math:: P(y' \mid x, u) \propto \bigl(N_l(u, y') - d\,[y' = y] + P(y')\bigr)\; p_l(x \mid u, y'),
          \qquad P(y') = \frac{n(y') - d\,[y' = y] + 1/K}{N - d + 1}

The loss is −n·log P(y | x, u), summed over cells and families. One constant c is chosen per level, from level 0 up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bayeskit._conditionals.kernels.trie_scores import left_over
from bayeskit._conditionals.tries import Trie, find_cell, lay_tries
from bayeskit._numba import kernel
from bayeskit._schema import Schema
from bayeskit._statistics.families import Cells, Families
from bayeskit._statistics.tables import Pairs
from bayeskit.typing import Floats


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
    """Add the leave-one-out loss of all cells of one level of family f to ``losses``, for each c of the grid.

    Parameters
    ----------
    below : array of shape (level,)
        The constants of the levels below.
    path, contexts, cells : arrays of shape (level + 1,), and (level + 1, K)
        Scratch: the context of each level (initially −1), and N and n in it.
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
            outside = 0.0  # the share of the classes without counts in the context, times N − d + 1
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


GRID = 2.0 ** np.arange(-2, 9)
GRID.flags.writeable = False


def level_losses(
    trie: Trie, base: Floats, margin: Floats, families: Iterable[int], level: int, below: Floats
) -> Floats:
    """Return the leave-one-out loss of each constant of the grid at one level, over families that have it.

    Parameters
    ----------
    trie : Trie
    base : array over the families
        1 / (number of states of the child).
    margin : array of shape (K,)
        n(c).
    families : ints
    level : int
    below : array of shape (level,)
        The constants of the levels below.
    """
    losses, k = np.zeros(len(GRID)), len(margin)
    scratch = (*np.empty((2, level + 1, k)), *np.empty((2, k)), np.empty((len(GRID), k)))
    path = np.full(level + 1, -1, np.int64)
    for f in families:
        if level <= trie.first_parent[f + 1] - trie.first_parent[f]:
            add_losses(trie, f, level, base[f], below, GRID, margin, path, *scratch, losses)
    return losses


def choose_constants(
    trie: Trie, base: Floats, margin: Floats, families: Sequence[int] | None = None
) -> Floats:
    """Choose c of every level from 2⁻² … 2⁸, greedily from level 0 up. In a tie, take the smaller.

    Returns
    -------
    array over the levels of the deepest family

    Examples
    --------
    >>> from bayeskit._schema import Variable
    >>> schema = Schema((Variable("a", "categorical", (0, 1)),), Variable("y", "categorical", ("no", "yes")))
    >>> zero = Families.zero(schema, (("a",),))
    >>> counted = zero.with_cells([(np.array([0, 3]), np.array([9.0, 9.0]))], np.array([9.0, 9.0]))
    >>> choose_constants(lay_tries(counted, schema), np.array([0.5]), counted.margin)
    array([0.25])
    """
    chosen = list(range(len(trie.child))) if families is None else list(families)
    n_parents = np.diff(trie.first_parent)
    constants = np.empty(0)
    for level in range(int(max((n_parents[f] for f in chosen), default=-1)) + 1):
        losses = level_losses(trie, base, margin, chosen, level, constants)
        constants = np.append(constants, GRID[np.argmin(losses)])
    return constants


def choose_pair_constants(
    pairs: Pairs,
    schema: Schema,
    families: Sequence[tuple[int, int]],
    *,
    missing: str = "ignore",
    unseen: str = "ignore",
) -> Floats:
    """Choose the constants of families (child, parent) from the counts of pairs. A parent of −1 means no parent.

    The result equals that of :func:`choose_constants` for the same counts, because a block of pairs is a family.
    """
    counted = families_of_pairs(pairs, schema, families)
    trie = lay_tries(counted, schema, missing)
    states = trie.sizes[trie.child] + trie.is_state[trie.child] + (unseen == "smooth")
    return choose_constants(trie, 1.0 / np.maximum(states, 1), pairs.margin)


def families_of_pairs(pairs: Pairs, schema: Schema, families: Sequence[tuple[int, int]]) -> Families:
    """Return the sparse counts of families with at most one parent."""
    names = [v.name for v in schema.categorical]
    zero = Families.zero(schema, tuple((names[x],) if u < 0 else (names[x], names[u]) for x, u in families))
    return zero.with_cells((_cells_of(pairs, x, u) for x, u in families), pairs.margin)


def _cells_of(pairs: Pairs, x: int, u: int) -> Cells:
    child = np.arange(pairs.offsets[x], pairs.offsets[x + 1])
    parent = np.arange(pairs.offsets[u], pairs.offsets[u + 1])
    block = pairs.counts[child, child] if u < 0 else pairs.counts[np.ix_(parent, child)]
    keys = np.flatnonzero(block)
    return keys.astype(np.int64), block.ravel()[keys]
