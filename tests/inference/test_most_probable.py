"""The most probable explanation and its ties, against enumeration; thousands of ties at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayeskit._inference.exact as exact
import bayeskit._inference.most_probable as most_probable
from bayeskit._inference.exact import Exact
from bayeskit._inference.most_probable import first_of_best
from bayeskit._inference.potentials import Evidence, Potentials
from engine_twin import log_joint, random_evidence, random_field
from work import check_growth


def round_numbers(rng, shape):
    return rng.choice([1.0, 1.0, 2.0], shape)


@pytest.mark.parametrize("small_tree", [1e5, 0.0], ids=["whole tree", "plans"])
@pytest.mark.parametrize("most_tied", [10**6, 0], ids=["at once", "one by one"])
@given(seed=st.integers(0, 2**32 - 1))
def test_of_many_best_the_first(seed, most_tied, small_tree):
    rng = np.random.default_rng(seed)
    p = random_field(rng, n=7, n_factors=9, numbers=round_numbers, zeros=0.1)
    evidence = random_evidence(rng, p, 0.15)
    evidence = Evidence(evidence.codes, {v: np.ceil(w) for v, w in evidence.likelihoods.items()})
    logs = log_joint(p, evidence)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "SMALL_TREE", small_tree)
        patch.setattr(most_probable, "MOST_TIED", most_tied)
        best = Exact(p).mpe(evidence)
    if logs.max() == -math.inf:
        assert best.log_probability == -math.inf
        return
    assert best.log_probability == pytest.approx(logs.max(), abs=1e-11)
    first = np.unravel_index(int((logs >= logs.max() - 1e-10).argmax()), logs.shape)
    assert best.codes.tolist() == [int(code) for code in first]


@given(seed=st.integers(0, 2**32 - 1))
def test_ties_where_only_logs_can_tell(seed):
    """Numbers a thousand powers of two apart: the tables of the log path say which cells are best too."""
    rng = np.random.default_rng(seed)
    p = random_field(
        rng, n=6, n_factors=8, numbers=lambda rng, shape: 2.0 ** rng.choice([-1000, -500, 0, 500], shape)
    )
    logs = log_joint(p)
    best = Exact(p).mpe(Evidence.nothing(6))
    assert best.log_probability == pytest.approx(logs.max(), abs=1e-9)
    first = np.unravel_index(int((logs >= logs.max() - 1e-9).argmax()), logs.shape)
    assert best.codes.tolist() == [int(code) for code in first]


def uniform_chain(n):
    scopes = [[0], *([i - 1, i] for i in range(1, n))]
    tables = [np.full(2, 0.5), *[np.full((2, 2), 0.5)] * (n - 1)]
    return Potentials.laid_out([2] * n, scopes, tables, list(range(n)), tuple(range(n)))


@pytest.mark.parametrize("apart", [True, False], ids=["isolated", "chain"])
def test_thousands_of_ties_are_no_matter(apart):
    """Tables of nothing but equal numbers, as before any data: every state ties, in every node."""

    def finding(n):
        nodes = list(range(n))
        isolated = Potentials.laid_out(
            [2] * n, [[i] for i in nodes], [np.full(2, 0.5)] * n, nodes, tuple(nodes)
        )
        engine = Exact(isolated if apart else uniform_chain(n))
        return lambda: engine.mpe(Evidence.nothing(n))

    check_growth(finding, 100)
    n = 5_000
    best = finding(n)()
    assert not best.codes.any()
    assert best.log_probability == pytest.approx(n * math.log(0.5))


def test_a_tie_far_along_a_chain_takes_the_first_path():
    """x0 = 0 forces x_n = 1 and the other way round: the lowest first state wins, not the lowest last."""
    n = 50
    turn, keep = np.array([[0.0, 1.0], [1.0, 0.0]]), np.eye(2)
    tables = [np.full(2, 0.5), *[keep] * (n - 2), turn]
    p = Potentials.laid_out(
        [2] * n, [[0], *([i - 1, i] for i in range(1, n))], tables, list(range(n)), tuple(range(n))
    )
    assert Exact(p).mpe(Evidence.nothing(n)).codes.tolist() == [0] * (n - 1) + [1]


def test_the_first_best_cell_of_a_joint_table():
    joint = np.array([[0.1, 0.3], [0.3, 0.3]])
    assert first_of_best(joint, (4, 9), 0.0).codes.tolist() == [0, 1]
    assert first_of_best(joint.T, (9, 4), 0.0).codes.tolist() == [1, 0]
    assert first_of_best(joint, (4, 9), -math.inf).log_probability == -math.inf
    assert first_of_best(np.ones(()), (), -2.0).log_probability == -2.0
