"""Networks as users build them; random evidence of every kind; and the joint table given it, by enumeration."""

from __future__ import annotations

import numpy as np

from bayeskit import BayesianNetwork, MarkovNetwork
from bayeskit._graphs.network import FactorGraph
from bayeskit.networks import Not
from network_twin import joint_table, with_evidence


def public(network):
    """Return the object that users hold of a network value."""
    return MarkovNetwork._of(network) if isinstance(network, FactorGraph) else BayesianNetwork._of(network)


def node(name, parents, distribution, states=("no", "yes")):
    """Return a node for `built`; ``float`` instead of states makes it continuous."""
    return name, list(parents), distribution, states


def built(*nodes):
    """Build a network of nodes by its public methods; a node may have no distribution (None)."""
    parents = {name: above for name, above, _, _ in nodes}
    network = BayesianNetwork(parents, states={name: states for name, _, _, states in nodes})
    for name, _, distribution, _ in nodes:
        if distribution is not None:
            network.set_cpt(name, distribution)
    return network


def wet_grass():
    """Rain, Sprinkler, Joe's lawn, own lawn (the textbook's numbers)."""
    return built(
        node("R", [], [0.8, 0.2]),
        node("S", [], [0.9, 0.1]),
        node("J", ["R"], [[0.8, 0.2], [0, 1]]),
        node("B", ["R", "S"], [[[1, 0], [0.1, 0.9]], [[0, 1], [0, 1]]]),
    )


def asia():
    """The chest clinic of Lauritzen and Spiegelhalter."""
    return built(
        node("asia", [], [0.99, 0.01]),
        node("tub", ["asia"], [[0.99, 0.01], [0.95, 0.05]]),
        node("smoke", [], [0.5, 0.5]),
        node("lung", ["smoke"], [[0.99, 0.01], [0.9, 0.1]]),
        node("bronc", ["smoke"], [[0.7, 0.3], [0.4, 0.6]]),
        node("either", ["tub", "lung"], [[[1, 0], [0, 1]], [[0, 1], [0, 1]]]),
        node("xray", ["either"], [[0.95, 0.05], [0.02, 0.98]]),
        node("dysp", ["either", "bronc"], [[[0.9, 0.1], [0.2, 0.8]], [[0.3, 0.7], [0.1, 0.9]]]),
    )


def random_evidence(rng, network, share=0.5):
    """Return evidence and soft evidence as a user writes them, and the likelihoods they amount to by axis."""
    hard, soft, likelihoods = {}, {}, {}
    for axis, one in enumerate(network.nodes):
        size, states = one.variable.size, one.variable.states
        total = np.ones(size)
        kind = rng.choice(
            ["none", "state", "not", "soft", "not and soft", "state and soft"],
            p=[1 - share, *[share / 5] * 5],
        )
        if "state" in kind:
            code = int(rng.integers(size))
            hard[one.name] = states[code]
            total = total * (np.arange(size) == code)
        if "not" in kind and size > 1:
            out = rng.choice(size, int(rng.integers(1, size)), replace=False)
            hard[one.name] = Not(*(states[k] for k in out))
            total[out] = 0.0
        if "soft" in kind:
            given = rng.random(size) * 10.0 ** rng.integers(-3, 4)
            given[rng.random(size) < 0.3] = 0.0
            given[int(rng.integers(size))] += 0.5
            soft[one.name] = given if rng.random() < 0.5 else dict(zip(states, given.tolist(), strict=True))
            total = total * given
        likelihoods[axis] = total
    return hard, soft, likelihoods


def joint_with_evidence(network, likelihoods):
    """Return the whole joint table times the evidence."""
    return with_evidence(joint_table(network), {}, likelihoods)
