"""Bayesian networks and Markov networks: the public objects."""

from typing import TYPE_CHECKING

from bayeskit.on_demand import on_demand

# Name → module. Nothing is imported until it is asked for, as in the package itself.
_HOMES = {
    "ArcStrengths": "bayeskit.networks.learned.strengths",
    "BayesianNetwork": "bayeskit.networks.bayesian_network",
    "Estimate": "bayeskit.inference.sampling.estimate",
    "Factor": "bayeskit.graphs.factor",
    "GaussianMixturePosterior": "bayeskit.inference.mixture_posterior",
    "MarkovNetwork": "bayeskit.networks.markov_network",
    "Not": "bayeskit.networks.evidence",
    "compare_networks": "bayeskit.networks.analyses.compare_networks",
    "arc_strengths": "bayeskit.networks.learned.strengths",
    "cpdag": "bayeskit.networks.analyses.distance",
    "get_max_memory": "bayeskit.inference.exact",
    "learn_blanket": "bayeskit.networks.learned.learning",
    "plot_comparison": "bayeskit.networks.analyses.compare_networks",
    "read_network": "bayeskit.networks.network_io",
    "set_max_memory": "bayeskit.inference.exact",
    "shd": "bayeskit.networks.analyses.distance",
}

__all__ = [
    "ArcStrengths",
    "BayesianNetwork",
    "Estimate",
    "Factor",
    "GaussianMixturePosterior",
    "MarkovNetwork",
    "Not",
    "arc_strengths",
    "compare_networks",
    "cpdag",
    "get_max_memory",
    "learn_blanket",
    "plot_comparison",
    "read_network",
    "set_max_memory",
    "shd",
]

if TYPE_CHECKING:
    from bayeskit.graphs.factor import Factor
    from bayeskit.inference.exact import get_max_memory, set_max_memory
    from bayeskit.inference.mixture_posterior import GaussianMixturePosterior
    from bayeskit.inference.sampling.estimate import Estimate
    from bayeskit.networks.analyses.compare_networks import compare_networks, plot_comparison
    from bayeskit.networks.analyses.distance import cpdag, shd
    from bayeskit.networks.bayesian_network import BayesianNetwork
    from bayeskit.networks.evidence import Not
    from bayeskit.networks.learned.learning import learn_blanket
    from bayeskit.networks.learned.strengths import ArcStrengths, arc_strengths
    from bayeskit.networks.markov_network import MarkovNetwork
    from bayeskit.networks.network_io import read_network

__getattr__, __dir__ = on_demand(__name__, _HOMES)
