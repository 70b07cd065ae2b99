"""P(parents, node | evidence) of all families at once, against the joint table."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bayeskit._inference.exact as exact
from bayeskit import BayesianNetwork
from bayeskit._inference.exact import Exact
from bayeskit._inference.potentials import Evidence, Potentials
from network_twin import joint_table, log_total, long_chain, margin, random_network, with_evidence


@pytest.mark.parametrize("small_tree", [1e5, 0.0], ids=["whole tree", "plans"])
def test_every_family_has_the_margin_of_the_joint_table(monkeypatch, small_tree):
    monkeypatch.setattr(exact, "SMALL_TREE", small_tree)
    for seed in range(80):
        rng = np.random.default_rng(seed)
        network = random_network(rng, int(rng.integers(1, 8)), 3, 4, zeros=0.3 * (seed % 2))
        joint, p = joint_table(network), Potentials.of(network)
        codes = np.where(rng.random(joint.ndim) < 0.3, rng.integers(0, joint.shape), -1)
        likelihoods = {v: rng.random(joint.shape[v]) for v in range(joint.ndim) if rng.random() < 0.2}
        weighted = with_evidence(joint, {v: c for v, c in enumerate(codes) if c >= 0}, likelihoods)
        found, log_p = Exact(p).family_margins(Evidence(codes, likelihoods))
        assert log_p == pytest.approx(log_total(weighted), abs=1e-12)
        if log_p == -math.inf:
            assert found == []
            continue
        for f, table in enumerate(found):
            wanted = margin(weighted, *p.scope_of(f)) / weighted.sum()
            assert np.abs(table - wanted).max() < 1e-12


def test_the_entropy_of_a_long_chain_takes_one_round_of_messages(monkeypatch):
    n = 10_000
    chain = BayesianNetwork(long_chain(n))
    rounds, propagate = [], Exact._propagate
    monkeypatch.setattr(
        Exact, "_propagate", lambda *given, **how: rounds.append(1) or propagate(*given, **how)
    )
    step = -(0.9 * math.log(0.9) + 0.1 * math.log(0.1))
    assert chain.entropy() == pytest.approx(math.log(2) + (n - 1) * step, rel=1e-10)
    assert len(rounds) == 1
    assert chain.kl(chain.copy()) == pytest.approx(0.0, abs=1e-9)
    assert len(rounds) == 2
