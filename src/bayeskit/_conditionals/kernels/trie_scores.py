"""Kernels that compute probabilities from family counts, also leave-one-out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayeskit._conditionals.tries import find_cell, find_context
from bayeskit._numba import kernel

# How the probabilities of a family are estimated.
PLAIN, BACK_OFF, WITTEN_BELL = 0, 1, 2


class Rule(NamedTuple):
    """How counts become probabilities.

    Attributes
    ----------
    mode : int array over the families
        0: imaginary counts; 1: back-off; 2: back-off after Witten and Bell.
    base : array over the families
        p₋₁, one over the number of states.
    constants : array over the levels
        c of back-off.
    mass_start, mass_total : arrays over the levels
        ``mass[mass_start[g] + x]`` is the imaginary count of the child's state x, then come those of missing as a
        state and of unseen; ``mass_total[g]`` is their sum.
    mass : array
    is_open : bool array over the families
        Whether an unseen state of the child has a probability.
    """

    mode: Any
    base: Any
    constants: Any
    mass_start: Any
    mass_total: Any
    mass: Any
    is_open: Any


@kernel
def left_over(held: Any, own: Any) -> Any:
    """Return a count without a row's own weight, with rounding errors set to 0.

    A negative result means that the row was never counted.
    """
    left = held - own
    if left < -1e-9 * held:
        return left
    return 0.0 if left <= 4e-15 * held else left


@kernel
def family(
    trie: Any,
    rule: Any,
    f: Any,
    n: Any,
    codes: Any,
    there: Any,
    target: Any,
    own: Any,
    p: Any,
    product: Any,
    out: Any,
    every: Any,
    levels: Any,
) -> Any:
    """Multiply ``product`` by P(child | class, parents) of family f for n rows, and return the lowest count.

    A negative count means that a row was never counted. A missing child has the factor 1. Parents from the first
    missing one on are ignored. Before a product underflows, its logarithm is added to ``out``.

    Parameters
    ----------
    codes : array of shape (≥ n, d)
    there : bool array of shape (≥ n, d) or (1, d)
        Whether a code is the row's own: only then is the row part of a count.
    target, own : arrays of shape (≥ n,)
        The class and the weight to remove.
    p : array of shape (K,)
        Scratch.
    product, out : arrays of shape (≥ n, K)
    every, levels : bool, array of shape (n, k + 1, K)
        Whether to write p of all levels to ``levels`` instead of multiplying.
    """
    # Local names for the arrays, and one long loop: getting an array out of a tuple, or passing it on, costs more than
    # using it (measured: 200 ns per level, instead of 60).
    sizes, is_state, parents = trie.sizes, trie.is_state, trie.parents
    shifts, key_start, node_start = trie.shift, trie.key_start, trie.node_start
    hash_keys, node_of = trie.hash_keys, trie.node_of
    cell_start, cell_state = trie.cell_start, trie.cell_state
    entry_start, entry_class, entry_weight, entry_states = (
        trie.entry_start,
        trie.entry_class,
        trie.entry_weight,
        trie.entry_states,
    )
    count_start, count_class, count_weight = trie.count_start, trie.count_class, trie.count_weight
    constants, mass_start, mass_total, mass = rule.constants, rule.mass_start, rule.mass_total, rule.mass
    child, mode, base = trie.child[f], rule.mode[f], rule.base[f]
    size, k = sizes[child], p.shape[0]
    first_level, last_level = trie.first_parent[f] + f, trie.first_parent[f + 1] + f
    least = 0.0
    for i in range(n):
        x = np.int64(codes[i, child])
        mark = i if there.shape[0] > 1 else 0
        at_end = x == size and not is_state[child]
        for c in range(k):
            p[c] = 1.0 if at_end else base
        counted = own[i] if there[mark, child] else 0.0
        g, key, node = first_level, np.int64(0), np.int64(0)
        while not at_end:
            parent = parents[g - f] if g < last_level else np.int64(-1)
            at_end = parent < 0 or (codes[i, parent] == sizes[parent] and not is_state[parent])
            if every or at_end or mode != PLAIN:
                a, total, empty = 0.0, constants[g], 1.0
                if mode == PLAIN:
                    a, total = mass[mass_start[g] + x], mass_total[g]
                    # Neither rows nor a prior: all states are equally probable, and an unseen value has no factor.
                    states_there = size + np.int64(is_state[child])
                    empty = 1.0 / max(states_there, 1) if x < states_there else 1.0
                    unknown = a / total if a > 0.0 or (x <= size and total > 0.0) else empty
                    for c in range(k):
                        p[c] = unknown
                # If a context does not occur, no context with more parents does.
                if node >= 0:
                    node = find_context(shifts[g], hash_keys, key_start[g], node_of, node_start[g], key)
                if node < 0:
                    least = min(least, -counted)
                elif x <= size or mode != PLAIN or a > 0.0:
                    cell = find_cell(cell_start, cell_state, node, x)
                    j = end = np.int64(0)
                    if cell >= 0:
                        j, end = count_start[cell], count_start[cell + 1]
                    met = counted == 0.0
                    for e in range(entry_start[node], entry_start[node + 1]):
                        c = entry_class[e]
                        in_context, in_cell, states = entry_weight[e], 0.0, entry_states[e]
                        if j < end and count_class[j] == c:
                            in_cell = count_weight[j]
                            j += 1
                        if c == target[i] and counted > 0.0:
                            met = True
                            held, in_cell = in_cell, left_over(in_cell, counted)
                            in_context = left_over(in_context, counted)
                            least = min(least, in_cell, in_context)
                            if held > 0.0 and in_cell == 0.0:
                                states -= 1.0
                        if mode == PLAIN:
                            p[c] = (in_cell + a) / (in_context + total) if in_context + total > 0.0 else empty
                        elif in_context > 0.0:
                            weight = states if mode == WITTEN_BELL else total
                            p[c] = (in_cell + weight * p[c]) / (in_context + weight)
                    if not met:
                        least = min(least, -counted)
            if every:
                for c in range(k):
                    levels[i, g - first_level, c] = p[c]
            if not at_end:
                u = np.int64(codes[i, parent])
                if u > sizes[parent]:
                    node = np.int64(-1)  # no context has an unseen state
                if node >= 0:
                    key = key * (sizes[parent] + 1) + u
                if not there[mark, parent]:
                    counted = 0.0
                g += 1
        if every:
            for level in range(g - first_level, levels.shape[1]):
                for c in range(k):
                    levels[i, level, c] = p[c]
        else:
            for c in range(k):
                value = product[i, c] * p[c]
                if value < 1e-290:
                    out[i, c] += np.log(product[i, c]) + np.log(p[c])
                    value = 1.0
                product[i, c] = value
    return least
