"""Bayesian networks and Markov networks: inference, learning, comparison and analysis."""

from typing import TYPE_CHECKING

from bayeskit._on_demand import on_demand

# Name → module, imported on demand.
_HOMES = {
    "ArcStrengths": "bayeskit._networks.fit.strengths",
    "BayesianNetwork": "bayeskit._networks.bayesian_network",
    "CausalEffect": "bayeskit._report.causal_effect",
    "CausalSet": "bayeskit._networks.analysis.causal_sets",
    "Choice": "bayeskit._networks.decisions",
    "Cpdag": "bayeskit._graphs.dag",
    "DecisionSensitivities": "bayeskit._networks.analysis.decision_sensitivity",
    "DecisionSensitivity": "bayeskit._networks.analysis.decision_sensitivity",
    "Deterministic": "bayeskit._graphs.distributions",
    "DynamicCounts": "bayeskit._fitting.networks.dynamic_em",
    "DynamicNetwork": "bayeskit._networks.dynamic_network",
    "EffectContrast": "bayeskit._report.causal_effect",
    "Estimand": "bayeskit._networks.analysis.estimands",
    "Estimate": "bayeskit._inference.sampling.estimate",
    "Factor": "bayeskit._graphs.factor",
    "GaussianMixturePosterior": "bayeskit._inference.mixture_posterior",
    "Independence": "bayeskit._networks.network_structure",
    "InfluenceDiagram": "bayeskit._networks.influence_diagram",
    "InformationValue": "bayeskit._networks.decisions",
    "InformationValues": "bayeskit._networks.decisions",
    "LinearGaussian": "bayeskit._graphs.distributions",
    "MarkovNetwork": "bayeskit._networks.markov_network",
    "MostProbable": "bayeskit._networks.discrete_adapter",
    "NetworkComparison": "bayeskit._report.network_comparison",
    "NodeInformation": "bayeskit._networks.analysis.measures",
    "NodeInformationTable": "bayeskit._networks.analysis.measures",
    "NoisyMax": "bayeskit._graphs.distributions",
    "Not": "bayeskit._networks.evidence",
    "NumericEstimate": "bayeskit._inference.sampling.estimate",
    "ParameterSensitivity": "bayeskit._networks.analysis.parameters",
    "Policy": "bayeskit._networks.decisions",
    "Softmax": "bayeskit._graphs.distributions",
    "Solution": "bayeskit._networks.decisions",
    "StrategyTree": "bayeskit._networks.strategy_tree",
    "Table": "bayeskit._graphs.distributions",
    "adjusted_effect": "bayeskit._networks.analysis.causal_effect",
    "arc_strengths": "bayeskit._networks.fit.strengths",
    "asia": "bayeskit._networks.examples",
    "compare_networks": "bayeskit._networks.analysis.compare_networks",
    "cpdag": "bayeskit._networks.analysis.compare_networks",
    "get_max_memory": "bayeskit._inference.exact",
    "learn_blanket": "bayeskit._networks.fit.learning",
    "learn_network": "bayeskit._networks.fit.learning",
    "medical_test": "bayeskit._networks.examples",
    "melon": "bayeskit._networks.examples",
    "oil_wildcatter": "bayeskit._networks.examples",
    "plot_comparison": "bayeskit._networks.analysis.compare_networks",
    "read_influence_diagram": "bayeskit._networks.influence_diagram",
    "read_network": "bayeskit._networks.network_io",
    "read_uai_evidence": "bayeskit._io.networks.uai",
    "score": "bayeskit._fitting.networks.network_counts",
    "set_max_memory": "bayeskit._inference.exact",
    "seven": "bayeskit._networks.examples",
    "shd": "bayeskit._networks.analysis.compare_networks",
    "wet_grass": "bayeskit._networks.examples",
}

__all__ = [
    "ArcStrengths",
    "BayesianNetwork",
    "CausalEffect",
    "CausalSet",
    "Choice",
    "Cpdag",
    "DecisionSensitivities",
    "DecisionSensitivity",
    "Deterministic",
    "DynamicCounts",
    "DynamicNetwork",
    "EffectContrast",
    "Estimand",
    "Estimate",
    "Factor",
    "GaussianMixturePosterior",
    "Independence",
    "InfluenceDiagram",
    "InformationValue",
    "InformationValues",
    "LinearGaussian",
    "MarkovNetwork",
    "MostProbable",
    "NetworkComparison",
    "NodeInformation",
    "NodeInformationTable",
    "NoisyMax",
    "Not",
    "NumericEstimate",
    "ParameterSensitivity",
    "Policy",
    "Softmax",
    "Solution",
    "StrategyTree",
    "Table",
    "adjusted_effect",
    "arc_strengths",
    "asia",
    "compare_networks",
    "cpdag",
    "get_max_memory",
    "learn_blanket",
    "learn_network",
    "medical_test",
    "melon",
    "oil_wildcatter",
    "plot_comparison",
    "read_influence_diagram",
    "read_network",
    "read_uai_evidence",
    "score",
    "set_max_memory",
    "seven",
    "shd",
    "wet_grass",
]

if TYPE_CHECKING:
    from bayeskit._fitting.networks.dynamic_em import DynamicCounts
    from bayeskit._fitting.networks.network_counts import score
    from bayeskit._graphs.dag import Cpdag
    from bayeskit._graphs.distributions import Deterministic, LinearGaussian, NoisyMax, Softmax, Table
    from bayeskit._graphs.factor import Factor
    from bayeskit._inference.exact import get_max_memory, set_max_memory
    from bayeskit._inference.mixture_posterior import GaussianMixturePosterior
    from bayeskit._inference.sampling.estimate import Estimate, NumericEstimate
    from bayeskit._io.networks.uai import read_uai_evidence
    from bayeskit._networks.analysis.causal_effect import adjusted_effect
    from bayeskit._networks.analysis.causal_sets import CausalSet
    from bayeskit._networks.analysis.compare_networks import compare_networks, cpdag, plot_comparison, shd
    from bayeskit._networks.analysis.decision_sensitivity import DecisionSensitivities, DecisionSensitivity
    from bayeskit._networks.analysis.estimands import Estimand
    from bayeskit._networks.analysis.measures import NodeInformation, NodeInformationTable
    from bayeskit._networks.analysis.parameters import ParameterSensitivity
    from bayeskit._networks.bayesian_network import BayesianNetwork
    from bayeskit._networks.decisions import (
        Choice,
        InformationValue,
        InformationValues,
        Policy,
        Solution,
    )
    from bayeskit._networks.discrete_adapter import MostProbable
    from bayeskit._networks.dynamic_network import DynamicNetwork
    from bayeskit._networks.evidence import Not
    from bayeskit._networks.examples import asia, medical_test, melon, oil_wildcatter, seven, wet_grass
    from bayeskit._networks.fit.learning import learn_blanket, learn_network
    from bayeskit._networks.fit.strengths import ArcStrengths, arc_strengths
    from bayeskit._networks.influence_diagram import InfluenceDiagram, read_influence_diagram
    from bayeskit._networks.markov_network import MarkovNetwork
    from bayeskit._networks.network_io import read_network
    from bayeskit._networks.network_structure import Independence
    from bayeskit._networks.strategy_tree import StrategyTree
    from bayeskit._report.causal_effect import CausalEffect, EffectContrast
    from bayeskit._report.network_comparison import NetworkComparison

__getattr__, __dir__ = on_demand(__name__, _HOMES)
