"""The part of a network that a question needs: relevant factors, and its free variables numbered anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.inference.potentials import Potentials
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


Ints = NDArray[np.int64]
Bits = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Problem:
    """What is left of the potentials when barren nodes are pruned and observed variables sliced out.

    Attributes
    ----------
    place : for every variable its number among the free ones, −1 where it is observed or not needed
    variables : the free variables
    kept : for every factor whether it matters
    sizes : the states of the free variables
    adjacency : for each free variable the bits of those it shares a factor with (of one state: none)
    """

    place: Ints
    variables: Ints
    kept: NDArray[np.bool_]
    sizes: Ints
    adjacency: Bits


def make_problem(
    potentials: Potentials, observed: Ints, asked: NDArray[np.bool_] | None, joined: tuple[int, ...] = ()
) -> Problem:
    """Prune, slice, number.

    Parameters
    ----------
    observed : codes, −1 where free (only which are free matters)
    asked : the variables that must stay: those asked for and those with evidence of any kind; None for all
    joined : variables that are to stand in one clique
    """
    n = potentials.n_variables
    kept = np.ones(potentials.n_factors, np.bool_)
    needed = np.ones(n, np.bool_)
    if asked is not None:
        mark_relevant(
            potentials.scope,
            potentials.scope_start,
            potentials.child,
            potentials.table_of_variable,
            asked,
            needed,
            kept,
            np.empty(n, np.int64),
        )
    return numbered(potentials, observed, needed, kept, joined)


def numbered(
    potentials: Potentials,
    observed: Ints,
    needed: NDArray[np.bool_],
    kept: NDArray[np.bool_],
    joined: tuple[int, ...] = (),
) -> Problem:
    """Return the problem of the needed variables that are not observed, and of the factors that are kept."""
    place, variables = (np.empty(potentials.n_variables, np.int64) for _ in range(2))
    m = number_free(needed, observed, place, variables)
    variables = variables[:m].copy()
    adjacency = np.zeros((m, max(1, (m + 63) >> 6)), np.uint64)
    link(potentials.scope, potentials.scope_start, potentials.sizes, kept, place, adjacency)
    for a in joined:
        for b in joined:
            if a != b and place[a] >= 0 and place[b] >= 0:
                adjacency[place[a], place[b] >> 6] |= np.uint64(1 << int(place[b] & 63))
    return Problem(place, variables, kept, potentials.sizes[variables], adjacency)
