"""Exact answers against the whole joint table: every kind of question, evidence and size of tree."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest

import bayeskit._inference.exact as exact
from bayeskit._graphs.network import Network, Node, discrete
from bayeskit._inference.exact import Exact
from bayeskit._inference.most_probable import most_probable_targets
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit.networks import Table
from network_twin import joint_table, log_total, margin, random_network, spare, with_evidence

TIE = 1.0 - 1e-10


class Case:
    """A random network with random evidence, hard and soft, and its joint table times the evidence."""

    def __init__(self, seed):
        rng = self.rng = np.random.default_rng(seed)
        self.network = random_network(rng, int(rng.integers(1, 9)), 3, 4, zeros=0.3 * (seed % 2))
        self.joint = joint_table(self.network)
        self.n = self.joint.ndim
        agreeing = np.unravel_index(rng.choice(self.joint.size, p=self.joint.ravel()), self.joint.shape)
        cell = agreeing if seed % 5 else [int(rng.integers(size)) for size in self.joint.shape]
        codes = np.full(self.n, -1)
        likelihoods = {}
        for v in range(self.n):
            if rng.random() < 0.3:
                codes[v] = cell[v]
            if rng.random() < 0.15:
                weight = rng.random(self.joint.shape[v]) * (rng.random(self.joint.shape[v]) < 0.7)
                likelihoods[v] = weight + 1e-3
        self.evidence = Evidence(codes, likelihoods)
        seen = {v: code for v, code in enumerate(codes) if code >= 0}
        self.weighted = with_evidence(self.joint, seen, likelihoods)
        self.log_p = log_total(self.weighted)

    def targets(self):
        size = int(self.rng.integers(1, self.n + 1))
        return tuple(int(v) for v in self.rng.choice(self.n, size, replace=False))

    def rows(self, n):
        draw = self.rng.integers(0, self.joint.shape, (n, self.n))
        return np.where(self.rng.random((n, self.n)) < 0.5, draw, -1)


def best_cell(table, axes):
    """Return the first of the largest cells, axes taken in ascending order."""
    order = np.argsort(axes)
    turned = table.transpose(order)
    cell = np.unravel_index(int((turned >= turned.max() * TIE).argmax()), turned.shape)
    found = np.empty(len(axes), int)
    found[order] = cell
    return found.tolist()


def same(a, b):
    return a == b or abs(a - b) < 1e-12


def check(seed):
    case = Case(seed)
    engine = Exact(Potentials.of(case.network))
    evidence, weighted, total = case.evidence, case.weighted, case.weighted.sum()
    found, log_p = engine.marginals(evidence)
    assert same(log_p, case.log_p)
    assert same(engine.log_probability(evidence), case.log_p)
    targets = case.targets()
    if case.log_p == -math.inf:
        assert engine.joint(targets, evidence)[1] == -math.inf
        assert engine.mpe(evidence).log_probability == -math.inf
        assert engine.map(targets, evidence).log_probability == -math.inf
        return
    wanted = np.concatenate([margin(weighted, v) / total for v in range(case.n)])
    assert abs(found - wanted).max() < 1e-12
    answer, log_p = engine.joint(targets, evidence)
    table = margin(weighted, *targets)
    assert abs(answer - table / total).max() < 1e-12
    assert same(log_p, case.log_p)
    best = engine.mpe(evidence)
    assert same(best.log_probability, math.log(weighted.max()))
    assert best.codes.tolist() == best_cell(weighted, range(case.n))
    for answer in (
        engine.map(targets, evidence),
        most_probable_targets(engine.potentials, targets, evidence, 2**30),
    ):
        assert same(answer.log_probability, math.log(table.max()))
        assert answer.codes.tolist() == best_cell(table, targets)


def check_rows(seed):
    case = Case(seed)
    engine = Exact(Potentials.of(case.network))
    rows, target = case.rows(37), int(case.rng.integers(case.n))
    found, logs = engine.batch(spare(rows, engine.potentials.sizes), target)
    for row, answer, log_p in zip(rows, found, logs, strict=True):
        weighted = with_evidence(case.joint, {v: c for v, c in enumerate(row) if c >= 0 and v != target})
        assert same(log_p, log_total(weighted))
        if log_p > -math.inf:
            assert abs(answer - margin(weighted, target) / weighted.sum()).max() < 1e-12


@pytest.mark.parametrize("small_tree", [1e5, 0.0], ids=["whole tree", "plans"])
def test_answers_are_those_of_the_joint_table(monkeypatch, small_tree):
    monkeypatch.setattr(exact, "SMALL_TREE", small_tree)
    for seed in range(200):
        check(seed)


@pytest.mark.parametrize("small_tree", [1e5, 0.0], ids=["whole tree", "plans"])
def test_batches_are_those_of_the_joint_table(monkeypatch, small_tree):
    monkeypatch.setattr(exact, "SMALL_TREE", small_tree)
    for seed in range(60):
        check_rows(seed)


@pytest.mark.slow
def test_ten_thousand_random_networks(monkeypatch):
    for seed in range(10_000):
        monkeypatch.setattr(exact, "SMALL_TREE", 1e5 if seed % 4 < 2 else 0.0)
        check(seed)
        if seed % 10 == 0:
            check_rows(seed)


def chain(n, size=2):
    table = np.full((size, size), 0.1 / (size - 1))
    np.fill_diagonal(table, 0.9)
    return Network(
        tuple(
            Node(
                discrete(i, range(size)),
                (i - 1,) if i else (),
                Table(table if i else np.full(size, 1 / size)),
            )
            for i in range(n)
        )
    )


def test_a_chain_of_ten_thousand_nodes_is_no_matter():
    engine = Exact(Potentials.of(chain(10_000)))
    codes = np.full(10_000, -1)
    codes[0] = 0
    found, log_p = engine.marginals(Evidence(codes))
    assert log_p == pytest.approx(math.log(0.5), abs=1e-9)
    # P(x_k = x_0) = (1 + 0.8^k) / 2
    assert found[2 * 3] == pytest.approx((1 + 0.8**3) / 2, abs=1e-12)
    assert found[2 * 9_999] == pytest.approx(0.5, abs=1e-12)
    codes[9_999] = 0
    joint, _ = engine.joint((4_000, 4_001), Evidence(codes))
    assert joint == pytest.approx(np.array([[0.45, 0.05], [0.05, 0.45]]), abs=1e-12)


def forward_backward(emission, n):
    """Return the marginals of a hidden two-state chain, scaled step by step."""
    move = np.array([[0.9, 0.1], [0.1, 0.9]])
    forward = np.empty((n, 2))
    forward[0] = 0.5 * emission
    forward[0] /= forward[0].sum()
    for k in range(1, n):
        forward[k] = forward[k - 1] @ move * emission
        forward[k] /= forward[k].sum()
    backward = np.ones((n, 2))
    for k in range(n - 2, -1, -1):
        backward[k] = move @ (emission * backward[k + 1])
        backward[k] /= backward[k].sum()
    found = forward * backward
    return found / found.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("small_tree", [1e9, 0.0], ids=["whole tree", "plans"])
def test_evidence_all_along_a_deep_tree(monkeypatch, small_tree):
    """A hidden chain with 4,000 observations: beliefs must not fade from level to level."""
    monkeypatch.setattr(exact, "SMALL_TREE", small_tree)
    n = 4_000
    seen = [
        Node(discrete(("seen", i), "ny"), (i,), Table([[0.999, 0.001], [0.996, 0.004]])) for i in range(n)
    ]
    engine = Exact(Potentials.of(Network((*chain(n).nodes, *seen))))
    codes = np.r_[np.full(n, -1), np.ones(n, np.int64)]
    found, log_p = engine.marginals(Evidence(codes))
    wanted = forward_backward(np.array([0.001, 0.004]), n)
    assert np.abs(found[: 2 * n].reshape(n, 2) - wanted).max() < 1e-12
    assert log_p < -20_000
    best = engine.mpe(Evidence(codes))
    assert best.codes[:n].tolist() == [1] * n
    assert best.log_probability == pytest.approx(
        math.log(0.5) + (n - 1) * math.log(0.9) + n * math.log(0.004)
    )


def test_the_best_states_of_a_long_chain_are_found_at_once():
    engine = Exact(Potentials.of(chain(9_000)))
    codes = np.full(9_000, -1)
    codes[4_500] = 1
    best = engine.mpe(Evidence(codes))
    assert best.codes.tolist() == [1] * 9_000
    assert best.log_probability == pytest.approx(math.log(0.5) + 8_999 * math.log(0.9))


def star(ratios):
    leaves = [
        Node(discrete(i, "ny"), ("class",), Table([[1 - a, a], [1 - b, b]]))
        for i, (a, b) in enumerate(ratios)
    ]
    return Network((Node(discrete("class", "ab"), (), Table([0.25, 0.75])), *leaves))


@pytest.mark.parametrize("small_tree", [1e5, 0.0], ids=["whole tree", "plans"])
@pytest.mark.parametrize(
    "ratios",
    [
        # 800 observations for one class, then 800 against it: in between the odds are 1e-2300.
        [(0.5, 2.0**-10)] * 800 + [(2.0**-10, 0.5)] * 800,
        # Any order, so that partial products wander.
        [(0.5, 2.0**-10), (2.0**-10, 0.5)] * 500,
        # Numbers near the smallest there are.
        [(2.0**-900, 2.0**-400)] * 2 + [(2.0**-400, 2.0**-900)] * 2,
    ],
    ids=["for and against", "in turns", "tiny"],
)
def test_nothing_underflows(monkeypatch, ratios, small_tree):
    monkeypatch.setattr(exact, "SMALL_TREE", small_tree)
    engine = Exact(Potentials.of(star(ratios)))
    codes = np.ones(len(ratios) + 1, np.int64)
    codes[0] = -1
    found, log_p = engine.marginals(Evidence(codes))
    assert found[:2] == pytest.approx([0.25, 0.75], abs=1e-9)
    assert log_p == pytest.approx(sum(math.log(a) for a, _ in ratios), rel=1e-12)
    rows, logs = engine.batch(spare([codes, codes], engine.potentials.sizes), 0)
    assert rows == pytest.approx(np.array([[0.25, 0.75]] * 2), abs=1e-9)
    assert logs == pytest.approx([log_p] * 2, rel=1e-12)
    assert engine.mpe(Evidence(codes)).codes[0] == 1


def test_a_plan_is_kept_for_its_pattern_and_does_not_hold_its_states(monkeypatch):
    monkeypatch.setattr(exact, "SMALL_TREE", 0.0)
    network = random_network(np.random.default_rng(3), 8, 3, 3)
    engine, joint = Exact(Potentials.of(network)), joint_table(network)
    for state in range(joint.shape[0]):
        codes = np.full(8, -1)
        codes[0] = state
        found, _ = engine.joint((5,), Evidence(codes))
        assert found == pytest.approx(margin(joint[state][None], 5) / joint[state].sum(), abs=1e-13)
    assert len(engine.plans) == 1


def test_sixteen_threads_get_the_answers_of_one(monkeypatch):
    network = random_network(np.random.default_rng(5), 8, 3, 4)
    potentials = Potentials.of(network)
    rng = np.random.default_rng(0)
    questions = [Evidence(np.where(rng.random(8) < 0.4, 0, -1)) for _ in range(60)]
    for small_tree in (1e5, 0.0):
        monkeypatch.setattr(exact, "SMALL_TREE", small_tree)
        alone = [Exact(potentials).marginals(question)[0] for question in questions]
        engine, wrong = Exact(potentials), []

        def work(engine=engine, alone=alone, wrong=wrong):
            for question, answer in zip(questions, alone, strict=True):
                if not np.array_equal(engine.marginals(question)[0], answer):
                    wrong.append(question)

        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
