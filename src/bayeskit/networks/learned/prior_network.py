"""A network as imaginary data for another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import Incompatible
from bayeskit.graphs.network import Network
from bayeskit.schema import Name

if TYPE_CHECKING:
    from bayeskit.networks.bayesian_network import BayesianNetwork

Floats = NDArray[np.float64]


def imaginary_rows(prior: BayesianNetwork, network: Network, weight: float) -> dict[Name, Floats]:
    r"""Return for each discrete node the counts that ``weight`` rows of a prior network are expected to give.

    .. math:: a_{\pi, v} = w \, P_0(\pi, x = v)

    The prior network may have other arcs; its nodes and states must be the same.
    """
    theirs: Network = prior._network
    found = {}
    for node in network.nodes:
        if not node.is_discrete:
            continue
        family = (*node.parents, node.name)
        for name in family:
            if name not in theirs.dag.position or set(theirs[name].variable.states) != set(
                network[name].variable.states
            ):
                raise Incompatible(f"The prior network has no node {name!r} with the same states.")
        joint = prior.query(*family)
        order = [
            [theirs[name].variable.codes[state] for state in network[name].variable.states] for name in family
        ]
        found[node.name] = weight * joint.values[np.ix_(*order)]
    return found
