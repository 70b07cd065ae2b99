"""The part of a network that a question needs: relevant factors, and its free variables numbered anew."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeskit.inference.kernels.relevance import link, mark_relevant, number_free
from bayeskit.inference.potentials import Potentials

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
