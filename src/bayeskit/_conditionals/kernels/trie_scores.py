"""Kernels that compute probabilities from family counts: also leave-one-out, and summed over missing parents."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayeskit._intrinsics import fibonacci_hash
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
def find_context(shift: Any, hash_keys: Any, begin: Any, node_of: Any, start: Any, key: Any) -> Any:
    """Return the index of a context, or −1 if it does not occur.

    ``begin`` and ``start`` are where the table of its level begins in ``hash_keys`` and ``node_of``.
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
    """Return the index of the cell of state x in a context, or −1 if it does not occur."""
    low, end = cell_start[node], cell_start[node + 1]
    high = end
    # States ascend, so x is at position x if all smaller states were seen too, and before it otherwise.
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


# The maximum number of joint states of missing attributes to sum over. Above it, families back off.
MOST_CONFIGURATIONS = 4_096


class Order(NamedTuple):
    """How the families depend on each other.

    Attributes
    ----------
    backwards : int array over the families
        Children before their parents.
    family_of : int array over the attributes
        The family whose child the attribute is, or −1.
    """

    backwards: Any
    family_of: Any


class Scratch(NamedTuple):
    """Working arrays for rows; each call has its own, so that calls do not share them.

    Attributes
    ----------
    there, needed, rank : arrays over the attributes; the first of shape (1, d)
        Whether the code is the row's own, whether to sum over it, and its rank among the chosen attributes.
    chosen, n_values : arrays over the attributes
        The attributes to sum over, and their numbers of states.
    stage, stage_start, by_stage : arrays over the families
        The rank of the chosen attribute after which a family is known.
    codes : array of shape (BLOCK, d)
        The row, once for each joint state of the attributes set so far.
    target, own : arrays of shape (BLOCK,)
    product, logs : arrays of shape (BLOCK, K)
    p : array of shape (K,)
    unused : array of shape (1, 1, K)
    """

    there: Any
    needed: Any
    rank: Any
    chosen: Any
    n_values: Any
    stage: Any
    stage_start: Any
    by_stage: Any
    codes: Any
    target: Any
    own: Any
    product: Any
    logs: Any
    p: Any
    unused: Any


@kernel
def choose(trie: Any, rule: Any, order: Any, s: Any) -> Any:
    """Find the missing attributes with a present descendant, and return the number of attributes to sum over.

    It is 0 if they have too many joint states, or if one has no family. Families then back off from their first
    missing parent.
    """
    for a in range(s.needed.shape[0]):
        s.needed[a] = False
    for at in range(order.backwards.shape[0]):
        f = order.backwards[at]
        if s.there[0, trie.child[f]] or s.needed[trie.child[f]]:
            for j in range(trie.first_parent[f], trie.first_parent[f + 1]):
                s.needed[trie.parents[j]] |= not s.there[0, trie.parents[j]]
    n, configurations, known = 0, 1, True
    # Parents first, so that a family is known as early as possible.
    for at in range(order.backwards.shape[0] - 1, -1, -1):
        f = order.backwards[at]
        a = trie.child[f]
        if s.needed[a] and 0 < configurations <= MOST_CONFIGURATIONS:
            n += 1
            s.chosen[n] = a
            s.n_values[n] = trie.sizes[a] + (1 if rule.is_open[f] else 0)
            s.rank[a] = n
            configurations *= s.n_values[n]
    for a in range(s.needed.shape[0]):
        known &= not s.needed[a] or order.family_of[a] >= 0
    if not known or not 0 < configurations <= MOST_CONFIGURATIONS:
        for a in range(s.needed.shape[0]):
            s.needed[a] = False
        return 0
    return n


@kernel
def sort_by_stage(trie: Any, n: Any, s: Any) -> None:
    """Sort the families by stage: a family of stage m is known when the m-th chosen attribute has its state.

    Families of stage 0 are known from the start. Those of stage n + 1 are left out, because no present attribute
    depends on them.
    """
    for m in range(n + 3):
        s.stage_start[m] = 0
    for f in range(trie.child.shape[0]):
        a = trie.child[f]
        stage = s.rank[a] if s.needed[a] else 0
        for j in range(trie.first_parent[f], trie.first_parent[f + 1]):
            if s.needed[trie.parents[j]]:
                stage = max(stage, s.rank[trie.parents[j]])
        s.stage[f] = stage if s.there[0, a] or s.needed[a] else n + 1
        s.stage_start[s.stage[f] + 1] += 1
    for m in range(n + 2):
        s.stage_start[m + 1] += s.stage_start[m]
    for f in range(trie.child.shape[0]):
        place = s.stage_start[s.stage[f]]
        s.by_stage[place] = f
        s.stage_start[s.stage[f]] = place + 1
    # Each start has moved to its end, which is the start of the next stage.
    for m in range(n + 2, 0, -1):
        s.stage_start[m] = s.stage_start[m - 1]
    s.stage_start[0] = 0


@kernel
def set_states(trie: Any, m: Any, n: Any, s: Any) -> Any:
    """Copy the first n rows of the scratch, once for each state of the m-th chosen attribute but the first."""
    a = s.chosen[m]
    for v in range(s.n_values[m] - 1, -1, -1):
        for i in range(n):
            if v > 0:
                for j in range(s.codes.shape[1]):
                    s.codes[v * n + i, j] = s.codes[i, j]
                for c in range(s.p.shape[0]):
                    s.product[v * n + i, c] = s.product[i, c]
                    s.logs[v * n + i, c] = s.logs[i, c]
            s.codes[v * n + i, a] = v if v < trie.sizes[a] else trie.sizes[a] + 1
    return n * s.n_values[m]


@kernel
def add_sums(
    trie: Any, rule: Any, order: Any, rows: Any, codes: Any, target: Any, own: Any, s: Any, out: Any
) -> Any:
    """Add log P(attributes | class) of ``rows`` with missing values. Return the lowest count (negative: not counted).

    This is the sum of the product of the families over all states of the chosen attributes. The states are set one
    attribute at a time, and a family is looked up as soon as it is known.
    """
    least, k = 0.0, out.shape[1]
    for i in rows:
        for j in range(codes.shape[1]):
            s.codes[0, j] = codes[i, j]
            s.there[0, j] = codes[i, j] != trie.sizes[j] or trie.is_state[j]
        for at in range(s.own.shape[0]):
            s.own[at] = own[i]
            s.target[at] = target[i]
        for c in range(k):
            s.product[0, c] = 1.0
            s.logs[0, c] = 0.0
        n_chosen, n = choose(trie, rule, order, s), 1
        sort_by_stage(trie, n_chosen, s)
        for m in range(n_chosen + 1):
            if m > 0:
                n = set_states(trie, m, n, s)
            for at in range(s.stage_start[m], s.stage_start[m + 1]):
                found = family(
                    trie,
                    rule,
                    s.by_stage[at],
                    n,
                    s.codes,
                    s.there,
                    s.target,
                    s.own,
                    s.p,
                    s.product,
                    s.logs,
                    False,
                    s.unused,
                )
                least = min(least, found)
        for c in range(k):
            largest, total = -np.inf, 0.0
            for at in range(n):
                s.logs[at, c] += np.log(s.product[at, c])
                largest = max(largest, s.logs[at, c])
            if largest > -np.inf:
                for at in range(n):
                    total += np.exp(s.logs[at, c] - largest)
                largest += np.log(total)
            out[i, c] += largest
    return least


@kernel
def find_holes(trie: Any, codes: Any, holes: Any) -> Any:
    """Mark the rows in which an attribute is missing, and return how many there are."""
    n = 0
    for i in range(codes.shape[0]):
        whole = True
        for j in range(codes.shape[1]):
            whole &= codes[i, j] != trie.sizes[j] or trie.is_state[j]
        holes[i] = not whole
        n += not whole
    return n
