"""Potentials to try the engine on, and obvious twins: the whole joint table in logs, elimination by sets."""

from __future__ import annotations

import math

import numpy as np

from bayeskit._inference.potentials import Evidence, Potentials


def random_field(rng, n=6, max_states=3, n_factors=6, most_scope=3, numbers=None, zeros=0.0):
    """Return potentials with random factors: scopes overlap, repeat, leave variables out. One-state ones occur."""
    sizes = rng.integers(1, max_states + 1, n).tolist()
    scopes, tables = [], []
    for _ in range(n_factors):
        scope = rng.choice(n, int(rng.integers(0, min(n, most_scope) + 1)), replace=False).tolist()
        shape = [sizes[v] for v in scope]
        table = rng.random(shape) + 0.05 if numbers is None else numbers(rng, shape)
        table = np.asarray(np.where(rng.random(shape) < zeros, 0.0, table))
        table.flat[int(rng.integers(table.size))] = 1.0  # no factor is zero everywhere
        scopes.append(scope)
        tables.append(table)
    return Potentials.laid_out(sizes, scopes, tables, [-1] * n_factors, tuple(range(n)))


def window(n, width, states=2, seed=0):
    """Return pairwise factors between all variables less than ``width`` apart: a chain of cliques of that width."""
    rng = np.random.default_rng(seed)
    scopes = [(i, j) for i in range(n) for j in range(max(0, i - width + 1), i)]
    tables = [rng.random((states, states)) + 0.1 for _ in scopes]
    return Potentials.laid_out([states] * n, scopes, tables, [-1] * len(scopes), tuple(range(n)))


def every_pair(n, states=2):
    """Return a factor on every pair of variables."""
    first, second = np.tril_indices(n, -1)
    pairs = len(first)
    cells = states * states
    return Potentials(
        np.full(n, states),
        np.column_stack([first, second]).ravel(),
        np.arange(0, 2 * pairs + 1, 2),
        np.ones(cells * pairs),
        np.arange(0, cells * pairs + 1, cells),
        np.full(pairs, -1),
        tuple(range(n)),
    )


def log_joint(potentials, evidence=None):
    """Return the log of the product of all factors (and the evidence), one axis for each variable."""
    sizes = potentials.sizes.tolist()
    evidence = evidence or Evidence.nothing(len(sizes))
    parts = [(potentials.scope_of(f), potentials.table_of(f)) for f in range(potentials.n_factors)]
    parts += [
        ([v], np.arange(sizes[v]) == code) for v, code in enumerate(evidence.codes.tolist()) if code >= 0
    ]
    parts += [([v], weight) for v, weight in evidence.likelihoods.items()]
    total = np.zeros(sizes)
    with np.errstate(divide="ignore"):
        for scope, table in parts:
            turned = np.log(table).transpose(np.argsort(scope))
            total = total + turned.reshape([sizes[v] if v in scope else 1 for v in range(len(sizes))])
    return total


def log_margin(logs, *axes):
    """Return the log of the sum over all other axes; the axes come in the order asked."""
    top = logs.max()
    if top == -np.inf:
        return np.full([logs.shape[a] for a in axes], -np.inf)
    kept = sorted(axes)
    summed = np.exp(logs - top).sum(axis=tuple(u for u in range(logs.ndim) if u not in axes))
    with np.errstate(divide="ignore"):
        return top + np.log(summed.transpose([kept.index(a) for a in axes]))


def random_evidence(rng, potentials, share=0.3):
    sizes = potentials.sizes
    codes = np.where(rng.random(len(sizes)) < share, rng.integers(0, sizes), -1)
    soft = {
        int(v): rng.random(int(sizes[v])) * (rng.random(int(sizes[v])) < 0.8)
        for v in np.flatnonzero(rng.random(len(sizes)) < 0.2)
    }
    return Evidence(codes.astype(np.int64), soft)


def neighbours(problem):
    """Return the adjacency bits as sets."""
    m = len(problem.sizes)
    return [{u for u in range(m) if int(problem.adjacency[v, u >> 6]) >> (u & 63) & 1} for v in range(m)]


def eliminate_by_sets(around, order):
    """Return for each step of an order the set of the variable and its neighbours at that time."""
    around = [set(near) for near in around]
    cliques = []
    for v in order:
        near = around[v]
        cliques.append(near | {v})
        for u in near:
            around[u] |= near - {u}
            around[u].discard(v)
        around[v] = set()
    return cliques


def cells_of(clique, sizes):
    return math.prod(int(sizes[v]) for v in clique)
