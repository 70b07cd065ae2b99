"""Bayesian networks and Markov networks: the public objects."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Name → module. Nothing is imported until it is asked for, as in the package itself.
_HOMES = {
    "ArcStrengths": "bayeskit.networks.arc_strengths",
    "BayesianNetwork": "bayeskit.networks.bayesian_network",
    "Estimate": "bayeskit.inference.sampling.estimate",
    "Factor": "bayeskit.graphs.factor",
    "GaussianMixturePosterior": "bayeskit.inference.mixture",
    "MarkovNetwork": "bayeskit.networks.markov_network",
    "Not": "bayeskit.networks.negation",
    "compare": "bayeskit.networks.comparison",
    "arc_strengths": "bayeskit.networks.arc_strengths",
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
    from bayeskit.networks.arc_strengths import ArcStrengths, arc_strengths
    from bayeskit.networks.bayesian_network import BayesianNetwork
    from bayeskit.networks.blanket import learn_blanket
    from bayeskit.networks.comparison import compare, plot_comparison
    from bayeskit.networks.distance import cpdag, shd
    from bayeskit.networks.markov_network import MarkovNetwork
    from bayeskit.networks.memory import get_max_memory, set_max_memory
    from bayeskit.networks.negation import Not
    from bayeskit.networks.reading import read_network


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'bayeskit.networks' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
