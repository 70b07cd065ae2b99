"""Networks to draw from, exact answers, and tests of frequencies."""

from __future__ import annotations

import numpy as np
from scipy import stats

from bayeskit._graphs.network import FactorGraph, Network, Node, discrete
from bayeskit._inference.potentials import Evidence
from bayeskit._inference.sampling.likelihood_weighting import Shares
from bayeskit.networks import Deterministic, Factor, Table
from network_twin import joint_table, margin, with_evidence

NO_YES = ("no", "yes")


def binary(name, table, *parents):
    return Node(discrete(name, NO_YES), parents, Table(np.asarray(table, float)))


def wet_grass():
    """Rain, the sprinkler, Joe's lawn and ours (B), as the textbook has them."""
    return Network(
        (
            binary("R", [0.8, 0.2]),
            binary("S", [0.9, 0.1]),
            binary("J", [[0.8, 0.2], [0, 1]], "R"),
            binary("B", [[[1, 0], [0.1, 0.9]], [[0, 1], [0, 1]]], "R", "S"),
        )
    )


def asia():
    """The chest clinic of Lauritzen and Spiegelhalter (1988)."""
    either = Deterministic(np.array([[0, 1], [1, 1]]), 2)
    return Network(
        (
            binary("asia", [0.99, 0.01]),
            binary("tub", [[0.99, 0.01], [0.95, 0.05]], "asia"),
            binary("smoke", [0.5, 0.5]),
            binary("lung", [[0.99, 0.01], [0.9, 0.1]], "smoke"),
            binary("bronc", [[0.7, 0.3], [0.4, 0.6]], "smoke"),
            Node(discrete("either", NO_YES), ("lung", "tub"), either),
            binary("xray", [[0.95, 0.05], [0.02, 0.98]], "either"),
            binary("dysp", [[[0.9, 0.1], [0.2, 0.8]], [[0.3, 0.7], [0.1, 0.9]]], "bronc", "either"),
        )
    )


def evidence(network, codes=(), likelihoods=None):
    """Evidence in codes from {name: code} and {name: likelihoods}."""
    found = np.full(len(network.nodes), -1, np.int64)
    for name, code in dict(codes).items():
        found[network.dag.position[name]] = code
    soft = {network.dag.position[n]: np.asarray(v, float) for n, v in (likelihoods or {}).items()}
    return Evidence(found, soft)


def within(estimate, exact, times=5.0):
    """Tell whether every number lies within so many standard errors of the exact one."""
    return bool((np.abs(estimate.values - exact) <= times * estimate.standard_error + 1e-12).all())


class Near:
    """Shares under the names that ``within`` reads."""

    def __init__(self, shares: Shares) -> None:
        self.values, self.standard_error = shares.values, shares.standard_error


def exact(network, targets, codes, soft=None):
    position = network.dag.position
    joint = with_evidence(
        joint_table(network),
        {position[k]: v for k, v in codes.items()},
        {position[k]: v for k, v in (soft or {}).items()},
    )
    found = margin(joint, *(position[t] for t in targets))
    return found / found.sum()


def chi_square(codes, joint):
    """Return the p-value of the frequencies of all joint states, those expected less than 5 times together."""
    n = len(codes)
    counts = np.bincount(np.ravel_multi_index(codes.T, joint.shape), minlength=joint.size)
    expected = n * joint.ravel()
    assert not counts[expected == 0].any()
    rare = expected < 5
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    kept = expected > 0
    statistic = ((counts[kept] - expected[kept]) ** 2 / expected[kept]).sum()
    return stats.chi2.sf(statistic, kept.sum() - 1)


def product(potentials):
    """Multiply the tables of potentials, each row divided by its sum."""
    n = potentials.n_variables
    shape = [int(s) for s in potentials.sizes]
    joint = np.ones(shape)
    for f in range(potentials.n_factors):
        scope = potentials.scope_of(f)
        table = potentials.table_of(f)
        if potentials.child[f] >= 0:
            total = table.sum(axis=-1, keepdims=True)
            table = table / np.where(total > 0, total, 1)
        table = table.transpose(np.argsort(scope))
        joint = joint * table.reshape([shape[v] if v in scope else 1 for v in range(n)])
    return joint


def ring(strength, n=4, frustrated=False):
    """Binary variables in a ring that like to be equal; frustrated: one pair likes to differ."""
    names = [f"v{k}" for k in range(n)]
    factors = []
    for k in range(n):
        sign = -1 if frustrated and k == 0 else 1
        values = np.exp(sign * strength * np.array([[1, -1], [-1, 1]]))
        factors.append(Factor([names[k], names[(k + 1) % n]], [[0, 1]] * 2, values))
    factors.append(Factor(["v0"], [[0, 1]], [0.6, 0.4]))
    return FactorGraph(tuple(discrete(name, (0, 1)) for name in names), tuple(factors))
