"""Loops that make a tree of cliques out of an elimination order."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import kernel, lowest_bit, ones


@kernel
def grow_tree(
    order: Any, cliques: Any, when: Any, owner: Any, above: Any, count: Any, head: Any, tail: Any
) -> int:
    """Group the steps of an elimination into maximal cliques; return how many there are.

    Clique c holds the variables of ``cliques[head[c]]``. Step k belongs to clique ``owner[k]``, its next
    variable to go is at step ``above[k]`` (−1: none). The separator of c towards the rest is what
    ``cliques[tail[c]]`` holds without the variable of that step.
    """
    n = order.shape[0]
    words = cliques.shape[1]
    for k in range(n):
        when[order[k]] = k
        owner[k] = -1
    for k in range(n):
        above[k] = n
        size = 0
        for w in range(words):
            bits = cliques[k, w]
            size += ones(bits)
            while bits != np.uint64(0):
                step = when[w * 64 + lowest_bit(bits)]
                bits &= bits - np.uint64(1)
                if step != k and step < above[k]:
                    above[k] = step
        if above[k] == n:
            above[k] = -1
        count[k] = size
    made = 0
    for k in range(n):
        if owner[k] >= 0:
            continue
        owner[k] = made
        head[made] = k
        last = k
        # The next clique is a part of this one: its variables join.
        while above[last] >= 0 and owner[above[last]] < 0 and count[above[last]] == count[last] - 1:
            last = above[last]
            owner[last] = made
        tail[made] = last
        made += 1
    return made


@kernel
def hang_tree(
    n_cliques: int,
    root: int,
    owner: Any,
    above: Any,
    tail: Any,
    parent: Any,
    edge_step: Any,
    sequence: Any,
    work: Any,
) -> None:
    """Give every clique its parent, with clique ``root`` (if ≥ 0) at the top of its tree; parents come first.

    ``edge_step[c]`` is the elimination step whose neighbours are the separator between c and its parent.
    """
    for c in range(n_cliques):
        step = above[tail[c]]
        parent[c] = owner[step] if step >= 0 else -1
        edge_step[c] = tail[c] if step >= 0 else -1
    below = root
    came = -1
    came_step = -1
    while below >= 0:
        onward = parent[below]
        step = edge_step[below]
        parent[below] = came
        edge_step[below] = came_step
        came = below
        came_step = step
        below = onward
    # Children by their parents: a list for each, then a walk from the roots.
    for c in range(n_cliques):
        work[c] = -1
    done = 0
    for c in range(n_cliques):
        if parent[c] < 0:
            sequence[done] = c
            done += 1
    for c in range(n_cliques):
        if parent[c] >= 0:
            work[n_cliques + c] = work[parent[c]]
            work[parent[c]] = c
    at = 0
    while at < done:
        child = work[sequence[at]]
        while child >= 0:
            sequence[done] = child
            done += 1
            child = work[n_cliques + child]
        at += 1


@kernel
def index_members(
    n_cliques: int, cliques: Any, head: Any, sizes: Any, start: Any, holders: Any, weight: Any
) -> None:
    """List for each variable the cliques that hold it, and find the cells of each clique."""
    m = sizes.shape[0]
    for v in range(m + 1):
        start[v] = 0
    for c in range(n_cliques):
        weight[c] = 1.0
        for w in range(cliques.shape[1]):
            bits = cliques[head[c], w]
            while bits != np.uint64(0):
                v = w * 64 + lowest_bit(bits)
                bits &= bits - np.uint64(1)
                weight[c] *= sizes[v]
                start[v + 1] += 1
    for v in range(m):
        start[v + 1] += start[v]
    for c in range(n_cliques - 1, -1, -1):
        for w in range(cliques.shape[1]):
            bits = cliques[head[c], w]
            while bits != np.uint64(0):
                v = w * 64 + lowest_bit(bits)
                bits &= bits - np.uint64(1)
                # Filled from the end; when all are there, each list begins where it should.
                start[v + 1] -= 1
                holders[start[v + 1]] = c
    total = holders.shape[0]
    for v in range(m):
        start[v] = start[v + 1]
    start[m] = total


@kernel
def hang_lightly(
    n_cliques: int,
    order: Any,
    cliques: Any,
    head: Any,
    parent: Any,
    edge_step: Any,
    sequence: Any,
    start: Any,
    holders: Any,
    weight: Any,
    rank: Any,
) -> None:
    """Hang each clique on the smallest one that holds its separator, among those that come before it.

    A message goes through the whole table of the parent, whatever the size of the separator; and any clique
    that holds the separator and is not below will do. So ``sequence`` still has parents first.
    """
    words = cliques.shape[1]
    for i in range(n_cliques):
        rank[sequence[i]] = i
    for c in range(n_cliques):
        step = edge_step[c]
        if step < 0:
            continue
        gone = order[step]
        rarest = -1
        for w in range(words):
            bits = cliques[step, w]
            while bits != np.uint64(0):
                v = w * 64 + lowest_bit(bits)
                bits &= bits - np.uint64(1)
                if v != gone and (rarest < 0 or start[v + 1] - start[v] < start[rarest + 1] - start[rarest]):
                    rarest = v
        for i in range(start[rarest], start[rarest + 1]):
            q = holders[i]
            if rank[q] >= rank[c] or weight[q] >= weight[parent[c]]:
                continue
            holds = True
            for w in range(words):
                lacking = cliques[step, w] & ~cliques[head[q], w]
                if w == gone >> 6:
                    lacking &= ~(np.uint64(1) << np.uint64(gone & 63))
                if lacking != np.uint64(0):
                    holds = False
                    break
            if holds:
                parent[c] = q
