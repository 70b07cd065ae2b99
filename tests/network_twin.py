"""Networks by enumeration: the whole joint table, slow and obvious; and random networks to try it on."""

from __future__ import annotations

import math

import numpy as np

from bayeskit._graphs.network import Network, Node, discrete
from bayeskit.networks import Table


def joint_table(network):
    """Return P(x_1, …, x_n), one axis for each node in order."""
    position = network.dag.position
    shape = network.sizes_of(network.dag.nodes)
    joint = np.ones(shape)
    for k, node in enumerate(network.nodes):
        scope = [*(position[p] for p in node.parents), k]
        table = node.distribution.table().transpose(np.argsort(scope))
        joint = joint * table.reshape([shape[v] if v in scope else 1 for v in range(len(shape))])
    return joint


def long_chain(n):
    """Return x_0 → x_1 → …, each in the state of the one before with probability 0.9."""
    first, other = Table([0.5, 0.5]), Table([[0.9, 0.1], [0.1, 0.9]])
    nodes = [Node(discrete(i, [0, 1]), (i - 1,) if i else (), other if i else first) for i in range(n)]
    return Network(tuple(nodes))


def with_evidence(joint, codes, likelihoods=None):
    """Return the joint table times the evidence, not normalised. ``codes``: {axis: state}."""
    n = joint.ndim
    for v, code in codes.items():
        one = np.zeros(joint.shape[v])
        one[code] = 1.0
        joint = joint * one.reshape([-1 if u == v else 1 for u in range(n)])
    for v, likelihood in (likelihoods or {}).items():
        joint = joint * np.reshape(likelihood, [-1 if u == v else 1 for u in range(n)])
    return joint


def margin(joint, *axes):
    """Sum over all other axes; the axes come in the order asked."""
    kept = sorted(axes)
    summed = joint.sum(axis=tuple(u for u in range(joint.ndim) if u not in axes))
    return summed.transpose([kept.index(a) for a in axes])


def log_total(joint):
    total = float(joint.sum())
    return math.log(total) if total > 0 else -math.inf


def random_network(rng, n_nodes=6, max_parents=3, max_states=4, zeros=0.0, name=lambda k: f"x{k}"):
    """Return a network with random arcs and tables; ``zeros``: the share of cells that are exactly zero.

    Nodes stand in random order, so parents may come after their children. One-state nodes occur.
    """
    order = rng.permutation(n_nodes)
    sizes = rng.integers(1, max_states + 1, n_nodes)
    parents = {int(order[0]): []} if n_nodes else {}
    for place in range(1, n_nodes):
        most = min(place, max_parents)
        chosen = rng.choice(order[:place], int(rng.integers(0, most + 1)), replace=False)
        parents[int(order[place])] = [int(p) for p in chosen]
    nodes = []
    for k in range(n_nodes):
        table = rng.dirichlet(np.ones(sizes[k]), [int(sizes[p]) for p in parents[k]])
        if zeros and sizes[k] > 1:
            dropped = rng.random(table.shape) < zeros
            dropped[..., 0] &= ~dropped.all(axis=-1)
            table = np.where(dropped, 0.0, table)
            table /= table.sum(axis=-1, keepdims=True)
        states = tuple(f"s{i}" for i in range(sizes[k]))
        nodes.append(Node(discrete(name(k), states), tuple(name(p) for p in parents[k]), Table(table)))
    return Network(tuple(nodes))


def spare(codes, sizes):
    """Write missing cells, −1 in the tests, as rows below the doors have them: the code after the last state."""
    codes = np.asarray(codes)
    return np.where(codes < 0, np.asarray(sizes), codes).astype(np.int64)
