"""Targets apart from what is too large: answered alone where the rest cannot make the evidence impossible."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayeskit._inference.exact as exact
from bayeskit._inference.exact import Exact, connected
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit._inference.triangulation import make_problem
from bayeskit.errors import TooLarge
from engine_twin import log_joint, log_margin, random_evidence, random_field, window


def beside(small, large):
    """Return two fields as one, the small one's variables first."""
    n = small.n_variables
    scopes = [small.scope_of(f) for f in range(small.n_factors)]
    scopes += [[v + n for v in large.scope_of(f)] for f in range(large.n_factors)]
    tables = [small.table_of(f) for f in range(small.n_factors)] + [
        large.table_of(f) for f in range(large.n_factors)
    ]
    sizes = [*small.sizes.tolist(), *large.sizes.tolist()]
    return Potentials.laid_out(sizes, scopes, tables, [-1] * len(scopes), tuple(range(len(sizes))))


@given(st.integers(0, 2**32 - 1))
def test_the_answer_is_that_of_the_small_part(seed):
    rng = np.random.default_rng(seed)
    small = random_field(rng, n=5, zeros=0.15)
    p = beside(small, window(40, 40))
    own = random_evidence(rng, small, 0.2)
    evidence = Evidence(np.r_[own.codes, np.full(40, -1)], own.likelihoods)
    targets = tuple(int(v) for v in rng.choice(5, int(rng.integers(1, 4)), replace=False))
    engine = Exact(p)
    with pytest.raises(TooLarge):
        engine.joint(targets, evidence)
    table = log_margin(log_joint(small, own), *targets)
    free = [v for v in targets if own.codes[v] < 0 and small.sizes[v] > 1]
    try:
        found = engine.posterior(targets, evidence)
    except TooLarge:
        # Nothing to ask for, or another part of the small field holds zeros and cannot be left out unlooked at.
        assert (
            not free or any((small.table_of(f) == 0).any() for f in range(small.n_factors)) or own.likelihoods
        )
        return
    if found is None:
        assert table.max() == -math.inf
        return
    assert found == pytest.approx(np.exp(table - np.logaddexp.reduce(table.ravel())), abs=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_without_need_it_is_the_joint(seed):
    rng = np.random.default_rng(seed)
    p = random_field(rng, n=6, zeros=0.2)
    evidence = random_evidence(rng, p, 0.2)
    targets = (int(rng.integers(6)),)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "SMALL_TREE", 0.0)
        engine = Exact(p)
        joint, log_p = engine.joint(targets, evidence)
        found = engine.posterior(targets, evidence)
    assert (found is None) == (log_p == -math.inf)
    assert found is None or np.array_equal(found, joint)


def test_zeros_in_the_part_left_out_forbid_it():
    small = Potentials.laid_out([2], [[0]], [np.array([0.25, 0.75])], [-1], (0,))
    large = window(40, 40)
    nothing = Evidence.nothing(41)
    assert Exact(beside(small, large)).posterior((0,), nothing) == pytest.approx([0.25, 0.75])
    large.values[0] = 0.0
    with pytest.raises(TooLarge):
        Exact(beside(small, large)).posterior((0,), nothing)
    # Where the zero is observed away, it cannot matter.
    first, second = (v + 1 for v in large.scope_of(0))
    codes = np.full(41, -1)
    codes[first] = 1
    assert Exact(beside(small, large)).posterior((0,), Evidence(codes)) == pytest.approx([0.25, 0.75])
    codes[[first, second]] = 0
    with pytest.raises(TooLarge):
        Exact(beside(small, large)).posterior((0,), Evidence(codes))


def test_likelihoods_of_what_is_left_out():
    small = Potentials.laid_out([2], [[0]], [np.array([0.25, 0.75])], [-1], (0,))
    p = beside(small, window(40, 40))
    nothing = np.full(41, -1)
    soft = {0: np.array([3.0, 1.0]), 7: np.array([0.0, 1.0])}
    assert Exact(p).posterior((0,), Evidence(nothing, soft)) == pytest.approx([0.5, 0.5])
    with pytest.raises(TooLarge):
        Exact(p).posterior((0,), Evidence(nothing, {7: np.zeros(2)}))
    seen = nothing.copy()
    seen[7] = 0
    with pytest.raises(TooLarge):
        Exact(p).posterior((0,), Evidence(seen, soft))


def test_what_is_connected_keeps_its_factors_and_no_others():
    p = Potentials.laid_out(
        [2] * 6,
        [[0, 1], [1, 2], [3, 4], [5]],
        [np.ones((2, 2))] * 3 + [np.ones(2)],
        [-1] * 4,
        tuple("abcdef"),
    )
    codes = np.array([-1, -1, 0, -1, -1, -1])
    problem = make_problem(p, codes, None)
    part = connected(p, problem, [0], Evidence(codes))
    assert part.variables.tolist() == [0, 1] and part.kept.tolist() == [True, True, False, False]
    both = connected(p, problem, [1, 3], Evidence(codes))
    assert both.variables.tolist() == [0, 1, 3, 4] and both.kept.tolist() == [True, True, True, False]
