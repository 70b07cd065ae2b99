"""Scores to search by without data: exact ones of a random network, and arbitrary ones; and random limits."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from bayeskit._graphs.dag import Dag
from bayeskit._structure.search_protocol import Arcs, bits, members


def parents_of(dag):
    position = dag.position
    return tuple(bits([position[p] for p in dag.parents_of(v)]) for v in dag.nodes)


def as_dag(parents):
    return Dag.of({v: list(members(mine)) for v, mine in enumerate(parents)}, range(len(parents)))


def answers(score):
    """Answer families by a function of child and parents."""
    return lambda question: [
        np.array([score(c, p)] if more is None else [score(c, p | 1 << v) for v in more])
        for c, p, more in question
    ]


def total(score, parents):
    return sum(score(v, mine) for v, mine in enumerate(parents))


def entropy_score(rng, parents, rows=1e7):
    """Return the BIC of many rows that follow a random network of these parents exactly."""
    n = len(parents)
    joint = np.ones((2,) * n)
    for v, mine in enumerate(parents):
        scope = [*members(mine), v]
        first = rng.uniform(0.05, 0.95, (2,) * (len(scope) - 1))
        table = np.stack([first, 1 - first], -1).transpose(np.argsort(scope))
        joint = joint * table.reshape([2 if u in scope else 1 for u in range(n)])
    known = {}

    def entropy(some):
        if some not in known:
            p = joint.sum(axis=tuple(u for u in range(n) if not some >> u & 1)).ravel()
            known[some] = -float(p @ np.log(p))
        return known[some]

    return lambda child, mine: (
        rows * (entropy(mine) - entropy(mine | 1 << child)) - 0.5 * math.log(rows) * 2 ** bin(mine).count("1")
    )


def random_parents(rng, n, density):
    order = rng.permutation(n)
    found = [0] * n
    for k in range(n):
        for j in range(k):
            if rng.random() < density:
                found[order[k]] |= 1 << int(order[j])
    return tuple(found)


def random_score(seed):
    """Return any score at all: a number for each family, the same each time it is asked for."""
    return lambda c, p: float(np.random.default_rng([seed, c, p]).normal() * 3 - p.bit_count())


@st.composite
def limits(draw, most=6):
    """Draw limits that some graph keeps: required arcs go up in a hidden order."""
    n = draw(st.integers(2, most))
    order = draw(st.permutations(range(n)))
    max_parents = draw(st.integers(0, n - 1))
    allowed, required = [0] * n, [0] * n
    for j, v in enumerate(order):
        for k, u in enumerate(order):
            kind = draw(st.sampled_from(["may", "may", "must", "never"]))
            if u == v or kind == "never":
                continue
            allowed[v] |= 1 << u
            if kind == "must" and k < j and required[v].bit_count() < max_parents:
                required[v] |= 1 << u
    return Arcs(tuple(allowed), tuple(required), max_parents)
