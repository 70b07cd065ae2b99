"""Loops that find the part of a network that a question needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import kernel


@kernel
def mark_relevant(
    scope: Any, scope_start: Any, child: Any, table_of: Any, asked: Any, needed: Any, kept: Any, stack: Any
) -> None:
    """Mark the variables asked or observed and their ancestors, and the factors that matter to them.

    A node without a needed descendant sums to one (it is barren). A factor that is no conditional table
    always matters, and with it all its variables; so does a variable without a table, which sums to its states.
    """
    for f in range(child.shape[0]):
        kept[f] = child[f] < 0
    for v in range(needed.shape[0]):
        needed[v] = False
    top = 0
    for v in range(asked.shape[0]):
        if asked[v] or table_of[v] < 0:
            needed[v] = True
            stack[top] = v
            top += 1
    for f in range(child.shape[0]):
        if child[f] < 0:
            for i in range(scope_start[f], scope_start[f + 1]):
                if not needed[scope[i]]:
                    needed[scope[i]] = True
                    stack[top] = scope[i]
                    top += 1
    while top > 0:
        top -= 1
        f = table_of[stack[top]]
        if f < 0:
            continue
        kept[f] = True
        for i in range(scope_start[f], scope_start[f + 1]):
            u = scope[i]
            if not needed[u]:
                needed[u] = True
                stack[top] = u
                top += 1


@kernel
def number_free(needed: Any, codes: Any, place: Any, variables: Any) -> int:
    """Number the needed variables that are not observed; return how many there are."""
    m = 0
    for v in range(needed.shape[0]):
        place[v] = -1
        if needed[v] and codes[v] < 0:
            place[v] = m
            variables[m] = v
            m += 1
    return m


@kernel
def link(scope: Any, scope_start: Any, sizes: Any, kept: Any, place: Any, adjacency: Any) -> None:
    """Set the bit of every two free variables that stand in one kept factor.

    A variable of one state depends on nothing, and stays alone.
    """
    one = np.uint64(1)
    for f in range(kept.shape[0]):
        if not kept[f]:
            continue
        for i in range(scope_start[f], scope_start[f + 1]):
            a = place[scope[i]]
            if a < 0 or sizes[scope[i]] == 1:
                continue
            for j in range(scope_start[f], scope_start[f + 1]):
                b = place[scope[j]]
                if b >= 0 and b != a and sizes[scope[j]] > 1:
                    adjacency[a, b >> 6] |= one << np.uint64(b & 63)
