"""Bayesian networks and Markov networks: the public objects."""

from typing import TYPE_CHECKING

from bayeskit.on_demand import on_demand

# Name → module. Nothing is imported until it is asked for, as in the package itself.
_HOMES = {
    "ArcStrengths": "bayeskit.networks.strengths",
    "BayesianNetwork": "bayeskit.networks.bayesian_network",
    "Estimate": "bayeskit.inference.sampling.estimate",
    "Factor": "bayeskit.graphs.factor",
    "GaussianMixturePosterior": "bayeskit.inference.mixture",
    "MarkovNetwork": "bayeskit.networks.markov_network",
    "Not": "bayeskit.networks.negation",
    "compare": "bayeskit.networks.comparison",
    "arc_strengths": "bayeskit.networks.strengths",
    "cpdag": "bayeskit.networks.distance",
    "get_max_memory": "bayeskit.networks.memory",
    "learn_blanket": "bayeskit.networks.blanket",
    "plot_comparison": "bayeskit.networks.comparison",
    "read_network": "bayeskit.networks.reading",
    "set_max_memory": "bayeskit.networks.memory",
    "shd": "bayeskit.networks.distance",
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
    "compare",
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
    from bayeskit.inference.mixture import GaussianMixturePosterior
    from bayeskit.inference.sampling.estimate import Estimate
    from bayeskit.networks.bayesian_network import BayesianNetwork
    from bayeskit.networks.blanket import learn_blanket
    from bayeskit.networks.comparison import compare, plot_comparison
    from bayeskit.networks.distance import cpdag, shd
    from bayeskit.networks.markov_network import MarkovNetwork
    from bayeskit.networks.memory import get_max_memory, set_max_memory
    from bayeskit.networks.negation import Not
    from bayeskit.networks.reading import read_network
    from bayeskit.networks.strengths import ArcStrengths, arc_strengths

__getattr__, __dir__ = on_demand(__name__, _HOMES)
