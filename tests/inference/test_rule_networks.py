"""Networks of noisy-OR, noisy-MAX and deterministic nodes against enumeration, each rule as its definition says."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bayeskit._inference.exact as exact
import bayeskit._inference.potentials as potentials
from bayeskit._graphs.network import Network, Node, discrete
from bayeskit._inference.exact import Exact
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit.networks import Deterministic, NoisyMax, Table
from network_twin import joint_table, log_total, margin, with_evidence

CLOSE = 1e-12


def random_rows(rng, n, size, zeros):
    rows = rng.dirichlet(np.ones(size), n)
    dropped = rng.random(rows.shape) < zeros
    rows = np.where(dropped & ~dropped.all(axis=1, keepdims=True), 0.0, rows)
    return rows / rows.sum(axis=1, keepdims=True)


def larger(a, b, rising):
    """The distribution of the stronger of two independent effects, state by state."""
    size = len(a)
    out = np.zeros(size, np.longdouble)
    for i in range(size):
        for j in range(size):
            out[max(i, j) if rising else min(i, j)] += np.longdouble(a[i]) * b[j]
    return out


def by_definition(rule):
    """The table of a rule, without its own arithmetic."""
    if isinstance(rule, Deterministic):
        table = np.zeros((*rule.outcome.shape, rule.size))
        for cell in np.ndindex(*rule.outcome.shape):
            table[(*cell, rule.outcome[cell])] = 1.0
        return table
    sizes = tuple(len(cause) for cause in rule.causes)
    table = np.zeros((*sizes, len(rule.leak)), np.longdouble)
    for cell in np.ndindex(*sizes):
        effect = rule.leak.astype(np.longdouble)
        for cause, state in zip(rule.causes, cell, strict=True):
            effect = larger(effect, cause[state], rule.rising)
        table[cell] = effect / effect.sum()
    return table.astype(np.float64)


class Case:
    """A random network of rules, the same of tables, random evidence, and the joint table times the evidence."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 9))
        sizes = [2] * n if seed % 2 else rng.integers(1, 4, n).tolist()
        ruled, tabled = [], []
        for k in range(n):
            above = rng.choice(k, min(k, int(rng.integers(0, 6))), replace=False).tolist() if k else []
            parents = [sizes[p] for p in above]
            kind = rng.random()
            if kind < 0.2 or not above:
                rule = Table(random_rows(rng, math.prod(parents), sizes[k], 0.1).reshape(*parents, sizes[k]))
                table = rule
            else:
                zeros = 0.25 * (seed % 3 == 0)
                causes = tuple(random_rows(rng, size, sizes[k], zeros) for size in parents)
                rule = (
                    Deterministic(rng.integers(0, sizes[k], tuple(parents)), sizes[k])
                    if kind < 0.4
                    else NoisyMax(causes, random_rows(rng, 1, sizes[k], zeros)[0], bool(rng.integers(2)))
                )
                table = Table(by_definition(rule))
            variable, names = discrete(f"x{k}", range(sizes[k])), tuple(f"x{p}" for p in above)
            ruled.append(Node(variable, names, rule))
            tabled.append(Node(variable, names, table))
        self.network, self.sizes = Network(tuple(ruled)), sizes
        joint = joint_table(Network(tuple(tabled)))
        cell = np.unravel_index(rng.choice(joint.size, p=joint.ravel() / joint.sum()), joint.shape)
        codes = np.where(rng.random(n) < 0.35, cell, -1)
        if seed % 7 == 0:
            codes = np.where(codes >= 0, rng.integers(0, sizes), -1)  # which may be impossible
        likelihoods = {v: rng.random(sizes[v]) + 1e-3 for v in range(n) if rng.random() < 0.1}
        self.evidence = Evidence(codes, likelihoods)
        self.weighted = with_evidence(joint, {v: c for v, c in enumerate(codes) if c >= 0}, likelihoods)
        self.log_p = log_total(self.weighted)


def worst(seed):
    """Return the largest difference of any posterior from enumeration; impossible evidence is checked as such."""
    case = Case(seed)
    engine = Exact(Potentials.of(case.network))
    found, log_p = engine.marginals(case.evidence)
    if case.log_p == -math.inf:
        assert log_p == -math.inf
        return 0.0
    total = case.weighted.sum()
    n = len(case.sizes)
    wanted = np.concatenate([margin(case.weighted, v) / total for v in range(n)])
    pair = (n - 1, 0)
    joint, log_joint = engine.joint(pair, case.evidence)
    off = [
        np.abs(found - wanted).max(),
        np.abs(joint - margin(case.weighted, *pair) / total).max(),
        abs(log_p - case.log_p),
        abs(log_joint - case.log_p),
        abs(engine.log_probability(case.evidence) - case.log_p),
    ]
    return float(max(off))


def check(seeds, monkeypatch):
    """Rules are decomposed or laid out as tables, with one tree for all questions or one for each."""
    for seed in seeds:
        monkeypatch.setattr(potentials, "LARGEST_LAID_OUT", 0 if seed % 4 else 2**16)
        monkeypatch.setattr(exact, "SMALL_TREE", 1e5 if seed % 8 < 4 else 0.0)
        off = worst(seed)
        assert off < CLOSE, (seed, off)


def test_rules_in_networks_equal_enumeration(monkeypatch):
    check(range(80), monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_ten_thousand_networks_of_rules_equal_enumeration(part, monkeypatch):
    check(range(1000 * part, 1000 * (part + 1)), monkeypatch)
