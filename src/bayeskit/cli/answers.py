"""What a network answers, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from bayeskit.visible import plain

if TYPE_CHECKING:
    from bayeskit.networks.bayesian_network import BayesianNetwork
    from bayeskit.networks.markov_network import MarkovNetwork


def answers_of(
    network: BayesianNetwork | MarkovNetwork, groups: Sequence[Sequence[Any]], evidence: Mapping[Any, Any]
) -> list[dict[str, Any]]:
    """Return P(group | evidence) for each group of nodes.

    Examples
    --------
    >>> from bayeskit.networks.examples import wet_grass
    >>> found = answers_of(wet_grass(), [["rain"]], {"wet": "yes"})
    >>> found[0]["cells"][1]["states"], round(found[0]["cells"][1]["probability"], 4)
    (['yes'], 0.7353)
    """
    found = []
    for group in groups:
        answer = network.query(*group, evidence=dict(evidence))
        nodes = [plain(name) for name in group]
        if hasattr(answer, "states"):
            cells = zip(product(*answer.states), answer.values.ravel().tolist())
            told: dict[str, Any] = {
                "cells": [{"states": plain(list(states)), "probability": p} for states, p in cells]
            }
        elif len(group) == 1:
            told = {"mean": float(answer.mean), "sd": float(answer.sd)}
            told["weights"] = answer.weights.tolist()
            told["means"], told["variances"] = answer.means.tolist(), answer.variances.tolist()
        else:
            told = {"mean": plain(answer.mean.tolist()), "covariance": plain(answer.variance.tolist())}
        found.append({"nodes": nodes, **told})
    return found
