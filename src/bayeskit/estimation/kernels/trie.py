"""The counts of families, level by level, laid out for look-up; and the loops that lay and find them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayeskit.kernel import fibonacci_hash, kernel


class Trie(NamedTuple):
    """Level l of a family holds, for each context (values of the first l parents) that was seen, N_l(context, c)
    and the n_l(context, x, c) of the child's states x that were seen in it; both sparse over the classes.

    The level l of family f has the number g = first_parent[f] + f + l. Contexts of all families and levels are
    numbered through, and so are cells (a context and a state of the child).

    Attributes
    ----------
    sizes, is_state : arrays over the categorical attributes
        r, and whether the code r (missing) is one more state.
    child, first_parent, parents : arrays over the families
        ``parents[first_parent[f]:first_parent[f + 1]]`` are those of family f.
    first_context : array over the levels
        The contexts of level g are numbered from first_context[g] to first_context[g + 1].
    shift, key_start, node_start : arrays over the levels
        Where the look-up table of the level stands. A shift of −1 says that a key is itself the address.
    hash_keys, node_of : arrays
        An open hash from the key of a context to its number, −1 where there is none.
    up : array over the contexts
        The context without the last parent.
    entry_start, entry_class, entry_weight, entry_states : arrays
        c, N_l(context, c) and the number of states with n_l > 0, classes ascending.
    cell_start, cell_state : arrays
        The child's states seen in a context, ascending.
    count_start, count_class, count_weight : arrays
        c and n_l of a cell, classes ascending.
    """

    sizes: Any
    is_state: Any
    child: Any
    first_parent: Any
    parents: Any
    first_context: Any
    shift: Any
    key_start: Any
    node_start: Any
    hash_keys: Any
    node_of: Any
    up: Any
    entry_start: Any
    entry_class: Any
    entry_weight: Any
    entry_states: Any
    cell_start: Any
    cell_state: Any
    count_start: Any
    count_class: Any
    count_weight: Any


@kernel
def sum_contexts(
    cell_start: Any, count_start: Any, classes: Any, weights: Any, sums: Any, states: Any, out: Any
) -> Any:
    """Write N(context, c) and the number of states with weight, classes ascending, and return how many there are.

    ``sums`` and ``states`` have K zeros, and have them again at the end; ``out`` is (where the entries of each
    context begin, their classes, weights and numbers of states).
    """
    begins, out_class, out_weight, out_states = out
    n = 0
    for node in range(cell_start.shape[0] - 1):
        begins[node] = n
        first = n
        for j in range(count_start[cell_start[node]], count_start[cell_start[node + 1]]):
            c = classes[j]
            if states[c] == 0.0:
                place = n
                while place > first and out_class[place - 1] > c:
                    out_class[place] = out_class[place - 1]
                    place -= 1
                out_class[place] = c
                n += 1
            sums[c] += weights[j]
            states[c] += 1.0
        for e in range(first, n):
            c = out_class[e]
            out_weight[e] = sums[c]
            out_states[e] = states[c]
            sums[c] = 0.0
            states[c] = 0.0
    begins[cell_start.shape[0] - 1] = n
    return n


@kernel
def fill_hash(keys: Any, first: Any, shift: Any, hash_keys: Any, node_of: Any) -> None:
    """Put the keys of contexts, numbered from ``first``, into an empty table (−1 everywhere)."""
    mask = np.uint64(hash_keys.shape[0] - 1)
    for i in range(keys.shape[0]):
        slot = fibonacci_hash(np.uint64(keys[i])) >> np.uint64(shift)
        while hash_keys[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        hash_keys[slot] = keys[i]
        node_of[slot] = first + i


@kernel
def find_context(shift: Any, hash_keys: Any, begin: Any, node_of: Any, start: Any, key: Any) -> Any:
    """Return the number of a context, −1 where it was never seen.

    ``begin`` and ``start`` say where the table of its level begins in ``hash_keys`` and ``node_of``.
    """
    if shift < 0:
        return np.int64(node_of[start + key])
    mask = (np.uint64(1) << np.uint64(64 - shift)) - np.uint64(1)
    slot = fibonacci_hash(np.uint64(key)) >> np.uint64(shift)
    while hash_keys[begin + np.int64(slot)] != key:
        if hash_keys[begin + np.int64(slot)] < 0:
            return np.int64(-1)
        slot = (slot + np.uint64(1)) & mask
    return np.int64(node_of[start + np.int64(slot)])


@kernel
def find_cell(cell_start: Any, cell_state: Any, node: Any, x: Any) -> Any:
    """Return the number of the cell of state x in a context, −1 where it was never seen."""
    low, end = cell_start[node], cell_start[node + 1]
    high = end
    # States ascend, so x stands at its own place or before; there, where all below it were seen too.
    if low + x < end:
        if cell_state[low + x] == x:
            return np.int64(low + x)
        high = low + x
    while low < high:
        middle = (low + high) >> 1
        if cell_state[middle] < x:
            low = middle + 1
        else:
            high = middle
    if low < end and cell_state[low] == x:
        return np.int64(low)
    return np.int64(-1)
