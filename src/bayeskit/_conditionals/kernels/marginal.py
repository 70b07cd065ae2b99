"""Kernels that score rows with missing parents by summing the product of all families over their states."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayeskit._conditionals.kernels.trie_scores import family
from bayeskit._numba import kernel

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
