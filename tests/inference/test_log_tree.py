"""Messages in logs: the plain path's answers where both can answer, enumeration's where only logs can."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit._inference.clique_tree import make_tree, shape_tree
from bayeskit._inference.filled_tree import FilledTree
from bayeskit._inference.log_tree import (
    log_evidence,
    log_marginals,
    log_propagate,
    log_sum,
    log_tables,
    spread,
)
from bayeskit._inference.potentials import Potentials
from bayeskit._inference.triangulation import make_problem, triangulate
from engine_twin import log_joint, log_margin, random_evidence, random_field
from network_twin import random_network


def in_logs(tree, potentials, evidence, take_max):
    """Return the log of the total and the marginals, observed variables sliced out of the tree."""
    pot = np.full(tree.shape.cells, np.nan)  # whatever was there is written over
    place = tree.shape.problem.place
    taken = log_tables(tree, potentials, evidence.codes, pot)
    free = {int(place[v]): w for v, w in evidence.likelihoods.items() if place[v] >= 0}
    log_evidence(tree, pot, np.empty(0, np.int64), free)
    total = taken + log_propagate(tree, pot, take_max=take_max, down=True)
    for v, weight in evidence.likelihoods.items():
        if place[v] < 0:
            x = float(weight[evidence.codes[v]])
            total += math.log(x) if x > 0 else -math.inf
    return total, log_marginals(tree, pot, take_max=take_max) if total > -math.inf else None


def planned(potentials, codes):
    problem = make_problem(potentials, codes, None)
    return make_tree(shape_tree(problem, triangulate(problem)))


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_logs_and_plain_numbers_agree(seed, take_max):
    rng = np.random.default_rng(seed)
    p = Potentials.of(random_network(rng, int(rng.integers(1, 8)), 3, 4, zeros=0.3 * (seed % 2)))
    evidence = random_evidence(rng, p)
    tree = planned(p, evidence.codes)
    loaded = FilledTree.of(tree, p, evidence.codes)
    plain, found, _ = loaded.ask(np.empty(0, np.int64), evidence.likelihoods, take_max=take_max)
    total, marginals = in_logs(tree, p, evidence, take_max)
    assert total == plain or abs(total - plain) < 1e-11
    if total > -math.inf:
        assert np.abs(marginals - found).max(initial=0.0) < 1e-12


@given(st.integers(0, 2**32 - 1))
def test_observing_in_the_tree_is_slicing_before_it(seed):
    rng = np.random.default_rng(seed)
    p = random_field(rng, n=6, zeros=0.1)
    evidence = random_evidence(rng, p)
    whole = planned(p, np.full(6, -1))
    pot = np.empty(whole.shape.cells)
    taken = log_tables(whole, p, np.full(6, -1), pot)
    log_evidence(whole, pot, evidence.codes, evidence.likelihoods)
    total = taken + log_propagate(whole, pot, take_max=False, down=False)
    sliced, _ = in_logs(planned(p, evidence.codes), p, evidence, False)
    assert total == sliced or abs(total - sliced) < 1e-11


def far_apart(rng, shape):
    return np.exp(rng.uniform(-700.0, 460.0, shape))


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_numbers_however_far_apart_equal_enumeration(seed, take_max):
    """Products of factors from 1e-304 to 1e199: plain numbers cannot hold them."""
    rng = np.random.default_rng(seed)
    p = random_field(rng, n=5, n_factors=7, numbers=far_apart, zeros=0.1)
    evidence = random_evidence(rng, p, 0.15)
    logs = log_joint(p, evidence)
    total, found = in_logs(planned(p, evidence.codes), p, evidence, take_max)
    wanted = logs.max() if take_max else log_margin(logs)
    assert total == wanted or abs(total - wanted) < 1e-9
    if wanted == -math.inf:
        return
    at = 0
    for v in np.flatnonzero(evidence.codes < 0).tolist():
        rest = tuple(u for u in range(5) if u != v)
        margin = np.exp(logs.max(axis=rest) - wanted) if take_max else np.exp(log_margin(logs, v) - wanted)
        assert found[at : at + len(margin)] == pytest.approx(margin, abs=1e-9)
        at += len(margin)
    assert at == len(found)


@pytest.mark.parametrize("take_max", [False, True])
def test_where_nothing_is_left_the_total_is_minus_infinity(take_max):
    tables = [np.array([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 0.0])]
    p = Potentials.laid_out([2, 2], [[0], [0, 1], [1]], tables, [-1] * 3, ("a", "b"))
    tree = planned(p, np.full(2, -1))
    pot = np.empty(tree.shape.cells)
    log_tables(tree, p, np.full(2, -1), pot)
    assert log_propagate(tree, pot, take_max=take_max, down=True) == -math.inf


def test_sums_of_logs():
    table = np.log([[1.0, 2.0, 3.0], [0.5, 0.25, 0.25]])
    assert np.exp(log_sum(table)) == pytest.approx(np.array([[6.0], [1.0]]))
    assert np.exp(log_sum(table, (0,))) == pytest.approx(np.array([[1.5, 2.25, 3.25]]))
    assert log_sum(np.array([-1e6, -1e6]))[0] == pytest.approx(-1e6 + math.log(2))
    assert log_sum(np.array([-np.inf, -np.inf]))[0] == -np.inf


def test_a_table_is_turned_and_spread():
    table = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(spread(table, (4, 1), (1, 2, 4)), table.T.reshape(3, 1, 2))
