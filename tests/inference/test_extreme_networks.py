"""Numbers at the edges, through the public questions: enumeration in logs is the judge, whichever tree answers."""

from __future__ import annotations

import math
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit._inference.exact as exact
from bayeskit import BayesianNetwork, MarkovNetwork
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit.errors import ImpossibleEvidence, SettingError
from bayeskit.networks import Not
from engine_twin import log_joint, log_margin, random_field
from refusals import refuses

TREES = pytest.mark.parametrize("small_tree", [1e5, 0.0], ids=["whole tree", "plans"])
ODD = [0.0, 5e-324, 1e-310, 1e-300, 1e-200, 1e-100, 1e-16, 0.25, 0.5, 1.0]


def extreme_network(rng):
    """Return a network whose rows hold zeros and numbers down to the smallest there is; one-state nodes occur."""
    n = int(rng.integers(1, 7))
    sizes = rng.integers(1, 4, n).tolist()
    parents = {
        v: sorted(rng.choice(v, int(rng.integers(0, min(v, 3) + 1)), replace=False).tolist())
        for v in range(n)
    }
    order = rng.permutation(n).tolist()  # a parent may stand after its child
    network = BayesianNetwork(
        {order[v]: [order[u] for u in parents[v]] for v in range(n)},
        states={order[v]: [f"s{k}" for k in range(sizes[v])] for v in range(n)},
    )
    for v in range(n):
        table = rng.choice(ODD, [*(sizes[u] for u in parents[v]), sizes[v]])
        best = rng.integers(0, sizes[v], table.shape[:-1])
        np.put_along_axis(table, best[..., None], 1.0, axis=-1)
        small = np.where(table < 1e-12, table, 0.0)
        large = table - small
        network.set_cpt(order[v], small + large / large.sum(axis=-1, keepdims=True))
    return network


def extreme_field(rng):
    p = random_field(
        rng,
        n=int(rng.integers(1, 6)),
        n_factors=int(rng.integers(1, 8)),
        numbers=lambda rng, shape: rng.choice([0.0, 1e-300, 1e-150, 1e-3, 1.0, 7.0, 1e100, 1e200], shape),
    )
    states = {v: [f"s{k}" for k in range(int(size))] for v, size in enumerate(p.sizes)}
    return MarkovNetwork(states, [(p.scope_of(f), p.table_of(f)) for f in range(p.n_factors)])


class Told:
    """Evidence as a user gives it, and the log of the joint table times it."""

    def __init__(self, rng, network, share=0.3):
        self.potentials = Potentials.of(network._network)
        names, sizes = self.potentials.names, self.potentials.sizes.tolist()
        self.hard, self.soft, codes, likelihoods = {}, {}, np.full(len(names), -1), {}
        for v, (name, size) in enumerate(zip(names, sizes, strict=True)):
            what = rng.random()
            code = int(rng.integers(size))
            if what < share / 2:
                self.hard[name], codes[v] = f"s{code}", code
            elif what < 0.75 * share and size > 1:
                self.hard[name] = Not(f"s{code}")
                likelihoods[v] = (np.arange(size) != code).astype(float)
            elif what < share:
                likelihoods[v] = rng.choice([1e-300, 1e-30, 1.0, 1e30, 1e300], size)
                self.soft[name] = likelihoods[v]
        self.logs = log_joint(self.potentials, Evidence(codes, likelihoods))
        self.names, self.n = names, len(names)
        self.total = log_margin(self.logs)


def near(a, b):
    return a == b or abs(a - b) <= 1e-9 * max(1.0, abs(b))


def code_of(state):
    return int(state[1:])


def check(rng, network, log_z):
    told = Told(rng, network)
    evidence, soft, logs = told.hard, told.soft, told.logs
    assert near(network.log_probability(evidence, soft=soft), told.total - log_z)
    targets = rng.permutation(told.n)[: int(rng.integers(1, 4))].tolist()
    asked = [told.names[v] for v in targets]
    if told.total == -math.inf:
        for ask in (network.posteriors, network.mpe, partial(network.map, asked)):
            with pytest.raises(ImpossibleEvidence):
                ask(evidence, soft=soft)
        with pytest.raises(ImpossibleEvidence):
            network.query([*asked], evidence=evidence, soft=soft)
        return
    for v, (name, found) in enumerate(network.posteriors(evidence, soft=soft).items()):
        assert name == told.names[v]
        assert found == pytest.approx(np.exp(log_margin(logs, v) - told.total), abs=1e-9)
    table = log_margin(logs, *targets)
    joint = network.query([*asked], evidence=evidence, soft=soft).values
    assert joint == pytest.approx(np.exp(table - told.total), abs=1e-9)
    best = network.mpe(evidence, soft=soft)
    assert near(best.log_probability, logs.max() - log_z)
    assert near(logs[tuple(code_of(best[name]) for name in told.names)], logs.max())
    some = network.map(asked, evidence, soft=soft)
    assert near(some.log_probability, table.max() - log_z)
    assert near(table[tuple(code_of(some[name]) for name in asked)], table.max())


def check_rows(rng, network, log_z):
    p = Potentials.of(network._network)
    n, target = p.n_variables, int(rng.integers(p.n_variables))
    codes = np.where(rng.random((20, n)) < 0.5, rng.integers(0, p.sizes, (20, n)), -1)
    columns = {
        p.names[v]: np.array([None if c < 0 else f"s{c}" for c in codes[:, v]], dtype=object)
        for v in range(n)
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, logs = network.predict_proba(columns, p.names[target]), network.log_prob(columns)
    prior = log_margin(log_joint(p), target)
    for row, answer, log_p in zip(codes, found, logs, strict=True):
        assert near(log_p, log_margin(log_joint(p, Evidence(row))) - log_z)
        row = row.copy()
        row[target] = -1
        wanted = log_margin(log_joint(p, Evidence(row)), target)
        if wanted.max() == -math.inf:
            near_ones = set().union(*(p.scope_of(f) for f in range(p.n_factors) if target in p.scope_of(f)))
            if all(row[v] >= 0 for v in near_ones - {target}):
                assert answer.sum() == pytest.approx(1.0)  # judged by the Markov blanket alone
                continue
            wanted = prior
        assert answer == pytest.approx(np.exp(wanted - np.logaddexp.reduce(wanted)), abs=1e-9)


@TREES
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=150)
def test_networks_with_numbers_at_the_edge(small_tree, seed):
    rng = np.random.default_rng(seed)
    network = extreme_network(rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "SMALL_TREE", small_tree)
        check(rng, network, 0.0)
        check_rows(rng, network, 0.0)


@TREES
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=150)
def test_factors_from_the_least_to_the_largest(small_tree, seed):
    rng = np.random.default_rng(seed)
    network = extreme_field(rng)
    log_z = log_margin(log_joint(Potentials.of(network._network)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "SMALL_TREE", small_tree)
        if log_z == -math.inf:
            assert network.log_partition() == -math.inf
            with refuses(SettingError, "zero"):
                network.posteriors()
            return
        assert near(network.log_partition(), log_z)
        check(rng, network, log_z)
        check_rows(rng, network, log_z)


@TREES
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_many_parts(small_tree, seed):
    """Forty little networks in one: log P adds up, and each part answers for itself."""
    rng = np.random.default_rng(seed)
    parts = [rng.dirichlet(np.ones(2), 3) for _ in range(40)]
    network = BayesianNetwork(
        {(k, x): [(k, "a")] if x == "b" else [] for k in range(40) for x in "ab"}, states=["n", "y"]
    )
    for k, rows in enumerate(parts):
        network.set_cpt((k, "a"), rows[0])
        network.set_cpt((k, "b"), rows[1:])
    seen = {(k, "b"): "y" for k in range(40) if rng.random() < 0.5}
    joints = [rows[0][:, None] * rows[1:] for rows in parts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "SMALL_TREE", small_tree)
        found, log_p = network.posteriors(seen), network.log_probability(seen)
        best = network.mpe(seen)
    wanted = [joint[:, 1] if (k, "b") in seen else joint.sum(axis=1) for k, joint in enumerate(joints)]
    for k in range(40):
        assert found[k, "a"] == pytest.approx(wanted[k] / wanted[k].sum(), abs=1e-12)
    assert log_p == pytest.approx(sum(math.log(w.sum()) for w in wanted), abs=1e-11)
    tops = [(joint[:, 1] if (k, "b") in seen else joint).max() for k, joint in enumerate(joints)]
    assert best.log_probability == pytest.approx(sum(map(math.log, tops)), abs=1e-11)
