"""A graph that answers tests of independence by d-separation; and answers without any graph behind them."""

from __future__ import annotations

import random

from bayeskit._graphs.dag import Dag
from bayeskit._graphs.separation import reachable
from bayeskit._structure.search_protocol import bits, members


def random_dag(rng, n, density):
    """Return a graph over 0 … n−1, the numbers in any order."""
    order = rng.sample(range(n), n)
    return Dag.of(
        {v: [p for p in order[:k] if rng.random() < density] for k, v in enumerate(order)}, range(n)
    )


def separations(dag):
    """Return the answers of a graph: p is 1 where it separates, 0 where it does not."""
    known = {}

    def answer(tests):
        for a, _, given in tests:
            if (a, given) not in known:
                known[a, given] = bits(list(reachable(dag, [a], members(given))))
        return [(0.0, 1, float(not known[a, given] >> b & 1)) for a, b, given in tests]

    return answer


def any_answers(seed, place=None, share=0.5, levels=None):
    """Return answers that only depend on which variables are asked about; ``place`` renames them."""

    def answer(tests):
        found = []
        for a, b, given in tests:
            names = [v if place is None else place[v] for v in (a, b)]
            rest = sorted(v if place is None else place[v] for v in members(given))
            rng = random.Random(f"{seed} {sorted(names)} {rest}")
            p = rng.random() ** (0.2 if rng.random() < share else 8)
            found.append((1 - p, 1, p if levels is None else round(p * levels) / levels))
        return found

    return answer


def edges_of(graph):
    """Return (directed, undirected) of what a search found."""
    directed = {(p, v) for v, parents in enumerate(graph.parents) for p in members(parents)}
    return directed, {frozenset(pair) for pair in graph.undirected}


def is_acyclic(parents):
    left = set(range(len(parents)))
    while roots := {v for v in left if not any(p in left for p in members(parents[v]))}:
        left -= roots
    return not left
