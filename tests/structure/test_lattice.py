"""Loops over all subsets, against sets of Python."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bayeskit._structure.search.optimal import best_networks, best_of_subsets


@pytest.mark.parametrize("n", range(6))
def test_best_of_subsets(n):
    drawn = np.random.default_rng(n).integers(-9, 9, 1 << n).astype(float)
    drawn[::3] = -np.inf
    best = drawn.copy()
    best_of_subsets(best, n)
    for some in range(1 << n):
        assert best[some] == max(drawn[part] for part in range(1 << n) if part & ~some == 0)


@pytest.mark.parametrize("n", range(1, 6))
def test_best_networks_over_every_set(n):
    """The best order of a set, each member with the best parents before it."""
    tables = np.random.default_rng(n).normal(size=(n, 1 << (n - 1)))
    for v in range(n):
        best_of_subsets(tables[v], n - 1)
    totals, sinks = np.empty(1 << n), np.empty(1 << n, np.int8)
    best_networks(tables, totals, sinks, n)
    for some in range(1, 1 << n):
        members = [v for v in range(n) if some >> v & 1]
        by_order = {}
        for order in itertools.permutations(members):
            before, total = 0, 0.0
            for v in order:
                place = sum(1 << (u - (u > v)) for u in range(n) if before >> u & 1)
                total += tables[v, place]
                before |= 1 << v
            by_order[order] = total
        assert totals[some] == pytest.approx(max(by_order.values()))
        assert any(
            order[-1] == sinks[some] and total == pytest.approx(totals[some])
            for order, total in by_order.items()
        )
