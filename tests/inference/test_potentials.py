"""Factors laid out flat: what goes in is found again, and what cannot be a table is refused before it is made."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit._graphs.network import FactorGraph, Network, Node, discrete
from bayeskit._inference.potentials import Potentials
from bayeskit.networks import Factor, NoisyMax, Table
from network_twin import random_network


@given(st.integers(0, 2**32 - 1))
def test_every_table_is_found_again(seed):
    network = random_network(np.random.default_rng(seed), 6, 3, 4)
    p = Potentials.of(network)
    position = network.dag.position
    assert p.names == network.dag.nodes
    assert p.sizes.tolist() == list(network.sizes_of(network.dag.nodes))
    for k, node in enumerate(network.nodes):
        assert p.scope_of(k) == [*(position[name] for name in node.parents), k]
        assert np.array_equal(p.table_of(k), node.distribution.table())
        assert p.child[k] == k and p.table_of_variable[k] == k
    assert p.offsets.tolist() == [sum(p.sizes[:k]) for k in range(7)]


def test_factors_of_a_markov_network_are_no_one_s_table():
    a, b = discrete("a", "xy"), discrete("b", "pqr")
    factor = Factor(("b", "a"), ("pqr", "xy"), np.arange(6.0).reshape(3, 2))
    p = Potentials.of(FactorGraph((a, b), (factor, Factor((), (), np.array(2.5)))))
    assert p.scope_of(0) == [1, 0] and p.scope_of(1) == []
    assert np.array_equal(p.table_of(0), factor.values) and p.table_of(1) == 2.5
    assert p.child.tolist() == [-1, -1] and p.table_of_variable.tolist() == [-1, -1]


def test_bounds_are_those_of_the_positive_numbers():
    tables = [np.array([0.0, 0.25, 4.0]), np.zeros(3), np.array([5e-324, 1e308, 0.0])]
    p = Potentials.laid_out([3], [[0]] * 3, tables, [-1] * 3, ("a",))
    least, most = p.log_bounds
    assert least == pytest.approx([np.log(0.25), 0.0, np.log(5e-324)])
    assert most == pytest.approx([np.log(4.0), -np.inf, np.log(1e308)])


def test_a_rule_of_too_many_cells_is_not_laid_out():
    """Forty causes are forty pairs of numbers, and 2**41 cells."""
    causes = [Node(discrete(f"c{i}", "ny"), (), Table([0.5, 0.5])) for i in range(40)]
    rule = NoisyMax(([[1.0, 0.0], [0.5, 0.5]],) * 40, [1.0, 0.0])
    effect = Node(discrete("effect", "ny"), tuple(c.name for c in causes), rule)
    p = Potentials.of(Network((*causes, effect)))
    assert p.rules == {40: rule} and len(p.values) == 80 and p.scope_of(40) == list(range(41))
    free = np.full(41, -1)
    assert p.cells_given(40, free) == 2**41 and not p.is_positive(40, free)
    # What is left of it where all but two causes are observed is a table as any other.
    codes = np.array([-1, 1, -1, *[0] * 37, 1])
    laid, divided = p.given(codes, np.ones(41, bool))
    assert not laid.rules and laid.scope_of(40) == [0, 2] and laid.child[40] == -1
    assert laid.table_of(40) * np.exp(divided) == pytest.approx(np.array([[0.5, 0.75], [0.75, 0.875]]))
    assert [a[40] for a in laid.log_bounds] == pytest.approx([np.log(0.5 / 0.875), 0.0])
    assert np.array_equal(laid.table_of(39), p.table_of(39))
    # What does not matter is left out.
    nothing, divided = p.given(codes, np.arange(41) < 40)
    assert nothing.scope_of(40) == [] and nothing.table_of(40) == 1.0 and divided == 0.0


def test_nothing_is_laid_out_as_nothing():
    p = Potentials.of(Network(()))
    assert p.n_variables == p.n_factors == len(p.values) == 0
    assert p.offsets.tolist() == [0]
