r"""How much to trust a context: the constants of back-off, chosen from counts alone.

For each family and level l, every cell (x, context, y) of weight n foretells its own class without d = min(n, 1)
of itself, taken out at all levels:

.. math:: P(y' \mid x, u) \propto \bigl(N_l(u, y') - d\,[y' = y] + P(y')\bigr)\; p_l(x \mid u, y'),
          \qquad P(y') = \frac{n(y') - d\,[y' = y] + 1/K}{N - d + 1}

and the loss is −n·log P(y | x, u), summed over cells and families. One c for each level, from level 0 up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from bayeskit.estimation.kernels.back_off import add_losses
from bayeskit.estimation.kernels.trie import Trie
from bayeskit.estimation.levels import lay_tries
from bayeskit.schema import Schema
from bayeskit.statistics.families import Cells, Families
from bayeskit.statistics.pairs import Pairs

Floats = NDArray[np.float64]

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
        One over the number of the child's states.
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
    """Choose c of every level, greedily from level 0 up, from 2⁻² … 2⁸; ties take the smaller.

    Returns
    -------
    array over the levels of the deepest family

    Examples
    --------
    >>> from bayeskit.schema import Variable
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
    """Choose the constants of families (child, parent) from the counts of pairs; a parent of −1 is none.

    The same as :func:`choose_constants` for the same counts: a block of the pairs is a family.
    """
    counted = families_of_pairs(pairs, schema, families)
    trie = lay_tries(counted, schema, missing)
    states = trie.sizes[trie.child] + trie.is_state[trie.child] + (unseen == "smooth")
    return choose_constants(trie, 1.0 / np.maximum(states, 1), pairs.margin)


def families_of_pairs(pairs: Pairs, schema: Schema, families: Sequence[tuple[int, int]]) -> Families:
    """Return the sparse counts of families of at most one parent."""
    names = [v.name for v in schema.categorical]
    zero = Families.zero(schema, tuple((names[x],) if u < 0 else (names[x], names[u]) for x, u in families))
    return zero.with_cells((_cells_of(pairs, x, u) for x, u in families), pairs.margin)


def _cells_of(pairs: Pairs, x: int, u: int) -> Cells:
    child = np.arange(pairs.offsets[x], pairs.offsets[x + 1])
    parent = np.arange(pairs.offsets[u], pairs.offsets[u + 1])
    block = pairs.counts[child, child] if u < 0 else pairs.counts[np.ix_(parent, child)]
    keys = np.flatnonzero(block)
    return keys.astype(np.int64), block.ravel()[keys]
