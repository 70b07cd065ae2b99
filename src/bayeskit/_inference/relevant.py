"""Finds the variables that a query can depend on, and the order in which to sample them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from bayeskit._inference.potentials import LARGEST_TABLE, Evidence, Potentials
from bayeskit.errors import TooLarge
from bayeskit.typing import Ints


def factor_of(potentials: Potentials) -> Ints:
    """Return the factor that is the table of each variable (the potentials of a Bayesian network)."""
    found = np.full(potentials.n_variables, -1, np.int64)
    found[potentials.child] = np.arange(potentials.n_factors)
    return found


def is_directed(potentials: Potentials) -> bool:
    """Whether every factor is the table of one variable: a Bayesian network, not a Markov network."""
    return potentials.n_factors == potentials.n_variables and bool((potentials.child >= 0).all())


def ancestral(potentials: Potentials, of: Iterable[int]) -> NDArray[np.bool_]:
    """Return which variables are among these or their ancestors. The others sum to one and can be left out.

    In a Markov network, nothing can be left out.
    """
    if not is_directed(potentials):
        return np.ones(potentials.n_variables, bool)
    tables = factor_of(potentials)
    found = np.zeros(potentials.n_variables, bool)
    waiting = [int(v) for v in of]
    while waiting:
        v = waiting.pop()
        if not found[v]:
            found[v] = True
            waiting.extend(u for u in potentials.scope_of(int(tables[v])) if not found[u])
    return found


def relevant_factors(potentials: Potentials, relevant: NDArray[np.bool_]) -> list[int]:
    """Return the factors that are not tables of irrelevant variables."""
    return [
        f for f in range(potentials.n_factors) if potentials.child[f] < 0 or relevant[potentials.child[f]]
    ]


def with_tables(potentials: Potentials, evidence: Evidence, factors: Iterable[int]) -> Potentials:
    """Return the potentials with these rules as tables of their free variables, and all other rules empty.

    For methods that enumerate cells; likelihood weighting and rejection evaluate the rules themselves.
    """
    kept = np.zeros(potentials.n_factors, bool)
    kept[list(factors)] = True
    for f in potentials.rules:
        cells = potentials.cells_given(f, evidence.codes)
        if kept[f] and cells > LARGEST_TABLE:
            names = [potentials.names[v] for v in potentials.scope_of(f) if evidence.codes[v] < 0]
            raise TooLarge(
                8 * cells,
                8 * LARGEST_TABLE,
                names,
                cells,
                way_out='Observe some of these, or use method="likelihood weighting" or "rejection".',
            )
    return potentials.given(evidence.codes, kept)[0]


def topological(potentials: Potentials) -> Ints:
    """Return the variables of a Bayesian network, parents before children; ties go to lower numbers."""
    n = potentials.n_variables
    children: list[list[int]] = [[] for _ in range(n)]
    waiting_for = [0] * n
    for f in range(potentials.n_factors):
        *parents, child = potentials.scope_of(f)
        waiting_for[child] = len(parents)
        for parent in parents:
            children[parent].append(child)
    order = [v for v in range(n) if not waiting_for[v]]
    for v in order:  # grows during the loop
        for child in children[v]:
            waiting_for[child] -= 1
            if not waiting_for[child]:
                order.append(child)
    return np.array(order, np.int64)
