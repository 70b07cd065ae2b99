"""Networks with continuous nodes by enumeration: one dense normal for each configuration of the discrete nodes."""

from __future__ import annotations

import itertools
import math

import numpy as np

from bayeskit._graphs.network import Network, Node, continuous, discrete
from bayeskit._inference.gaussian.hybrid import HybridEvidence
from bayeskit.networks import LinearGaussian, Table


def random_hybrid(rng, n_discrete=3, n_continuous=4, max_parents=3, max_states=3, certain=0.0):
    """Return a random conditional-Gaussian network, nodes in random order; ``certain``: the share of zero variances."""
    n = n_discrete + n_continuous
    places = rng.permutation(n)
    kinds = {int(v): place < n_discrete for place, v in enumerate(places)}
    sizes = {v: int(rng.integers(1, max_states + 1)) for v in kinds if kinds[v]}
    before, nodes = [], [None] * n
    # Discrete nodes first among those that may be parents of one another, then the continuous ones.
    for v in [int(v) for v in places]:
        allowed = [u for u in before if kinds[u] or not kinds[v]]
        chosen = rng.permutation(allowed)[: rng.integers(0, min(len(allowed), max_parents) + 1)].astype(int)
        names = tuple(f"x{u}" for u in chosen)
        shape = [sizes[u] for u in chosen if kinds[u]]
        if kinds[v]:
            table = rng.dirichlet(np.ones(sizes[v]), shape)
            nodes[v] = Node(discrete(f"x{v}", tuple(range(sizes[v]))), names, Table(table))
        else:
            k = sum(not kinds[u] for u in chosen)
            variance = rng.uniform(0.2, 2.0, shape) * (rng.random(shape) >= certain)
            gaussian = LinearGaussian(rng.normal(0, 2, shape), rng.normal(0, 1, [*shape, k]), variance)
            nodes[v] = Node(continuous(f"x{v}"), names, gaussian)
        before.append(v)
    return Network(tuple(nodes))


def random_evidence(rng, network, share=0.4, soft=0.2):
    codes, values = np.full(len(network.nodes), -1), np.full(len(network.nodes), np.nan)
    likelihoods = {}
    for v, node in enumerate(network.nodes):
        if rng.random() < share:
            if node.is_discrete:
                codes[v] = rng.integers(node.variable.size)
            else:
                values[v] = rng.normal(0, 2)
        elif node.is_discrete and rng.random() < soft:
            likelihoods[v] = rng.uniform(0.1, 3.0, node.variable.size)
    return HybridEvidence(codes, values, likelihoods)


def dense(network, codes):
    """Return log P(codes), and mean and covariance of the continuous nodes given them (in node order)."""
    position = network.dag.position
    places = [v for v, node in enumerate(network.nodes) if not node.is_discrete]
    number = {v: i for i, v in enumerate(places)}
    d = len(places)
    a, b, v2 = np.zeros(d), np.zeros((d, d)), np.zeros(d)
    log = 0.0
    for v, node in enumerate(network.nodes):
        parents = [position[p] for p in node.parents]
        cell = tuple(int(codes[p]) for p in parents if network.nodes[p].is_discrete)
        if node.is_discrete:
            p = node.distribution.table()[(*cell, int(codes[v]))]
            log += math.log(p) if p > 0 else -math.inf
        else:
            i, given = number[v], node.distribution
            a[i], v2[i] = given.intercept[cell], given.variance[cell]
            numeric = [number[p] for p in parents if not network.nodes[p].is_discrete]
            b[i, numeric] = given.coefficients[cell]
    inverse = np.linalg.inv(np.eye(d) - b)
    return log, inverse @ a, inverse @ np.diag(v2) @ inverse.T, places


def conditioned(mean, covariance, seen, x):
    """Return mean and covariance given values at the places seen, and their log density."""
    if not len(seen):
        return mean, covariance, 0.0
    inner = covariance[np.ix_(seen, seen)]
    gain = np.linalg.solve(inner, covariance[seen]).T
    off = x - mean[seen]
    _, log_det = np.linalg.slogdet(inner)
    log = -0.5 * (off @ np.linalg.solve(inner, off) + log_det + len(seen) * math.log(2 * math.pi))
    return mean + gain @ off, covariance - gain @ covariance[seen], float(log)


def enumerated(network, evidence):
    """Return [(codes, log weight, mean, covariance)] of every configuration that agrees with the evidence."""
    free = [
        range(node.variable.size) if node.is_discrete and evidence.codes[v] < 0 else [int(evidence.codes[v])]
        for v, node in enumerate(network.nodes)
    ]
    found = []
    for codes in itertools.product(*free):
        log, mean, covariance, places = dense(network, codes)
        seen = [i for i, v in enumerate(places) if not np.isnan(evidence.values[v])]
        x = np.array([evidence.values[places[i]] for i in seen])
        mean, covariance, density = conditioned(mean, covariance, seen, x)
        soft = sum(
            math.log(m[codes[v]]) if m[codes[v]] > 0 else -math.inf for v, m in evidence.likelihoods.items()
        )
        found.append((codes, log + density + soft, mean, covariance))
    return found, places


def normalised(found):
    """Return the weights of the configurations and the log of their sum."""
    logs = np.array([log for _, log, _, _ in found])
    top = logs.max()
    weights = np.exp(logs - top)
    return weights / weights.sum(), float(top + math.log(weights.sum()))
