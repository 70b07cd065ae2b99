"""Bayesian classification, from naive Bayes to Bayesian networks: one algebra of counts under every model."""

from typing import TYPE_CHECKING

from bayeskit.on_demand import on_demand
from bayeskit.version import __version__

# Name → module. Nothing is imported until it is asked for (PEP 562), so that `import bayeskit` is quick.
_HOMES = {
    "NaiveBayes": "bayeskit.classifiers.naive_bayes",
    "GaussianBayes": "bayeskit.classifiers.gaussian_bayes",
    "GaussianNB": "bayeskit.classifiers.gaussian_nb",
    "BernoulliNB": "bayeskit.classifiers.discrete_nb",
    "MultinomialNB": "bayeskit.classifiers.discrete_nb",
    "ComplementNB": "bayeskit.classifiers.discrete_nb",
    "CategoricalNB": "bayeskit.classifiers.categorical_nb",
    "SPODE": "bayeskit.classifiers.spode",
    "TAN": "bayeskit.classifiers.tan",
    "AODE": "bayeskit.classifiers.aode",
    "AnDE": "bayeskit.classifiers.ande",
    "KDB": "bayeskit.classifiers.kdb",
    "SelectiveKDB": "bayeskit.classifiers.selective_kdb",
    "AutoBayes": "bayeskit.classifiers.auto_bayes",
    "CountForest": "bayeskit.classifiers.count_forest",
    "WeightedNB": "bayeskit.classifiers.weighted_nb",
    "LogLinearBayes": "bayeskit.classifiers.log_linear_bayes",
    "BayesNetClassifier": "bayeskit.classifiers.bayes_net",
    "BayesDecision": "bayeskit.classifiers.bayes_decision",
    "Discretizer": "bayeskit.classifiers.discretizer",
    "GaussianMixture": "bayeskit.mixtures.gaussian_mixture",
    "LatentClass": "bayeskit.mixtures.latent_class",
    "BayesianNetwork": "bayeskit.networks.bayesian_network",
    "MarkovNetwork": "bayeskit.networks.markov_network",
    "compare": "bayeskit.comparing.run",
    "learn_network": "bayeskit.networks.learned.learning",
    "read_network": "bayeskit.networks.network_io",
    "load": "bayeskit.classifiers.model_files",
    "Batches": "bayeskit.data.source",
    "set_language": "bayeskit.errors",
    "Statistics": "bayeskit.statistics",
}
_MODULES = (
    "comparing",
    "datasets",
    "decision",
    "errors",
    "mixtures",
    "networks",
    "priors",
    "report",
    "structure",
)

__all__ = [
    "AODE",
    "KDB",
    "SPODE",
    "TAN",
    "AnDE",
    "AutoBayes",
    "Batches",
    "BayesDecision",
    "BayesNetClassifier",
    "BayesianNetwork",
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "CountForest",
    "Discretizer",
    "GaussianBayes",
    "GaussianMixture",
    "GaussianNB",
    "LatentClass",
    "LogLinearBayes",
    "MarkovNetwork",
    "MultinomialNB",
    "NaiveBayes",
    "SelectiveKDB",
    "Statistics",
    "WeightedNB",
    "__version__",
    "compare",
    "learn_network",
    "load",
    "read_network",
    "set_language",
]

if TYPE_CHECKING:
    from bayeskit.classifiers.ande import AnDE
    from bayeskit.classifiers.aode import AODE
    from bayeskit.classifiers.auto_bayes import AutoBayes
    from bayeskit.classifiers.bayes_decision import BayesDecision
    from bayeskit.classifiers.bayes_net import BayesNetClassifier
    from bayeskit.classifiers.categorical_nb import CategoricalNB
    from bayeskit.classifiers.count_forest import CountForest
    from bayeskit.classifiers.discrete_nb import BernoulliNB, ComplementNB, MultinomialNB
    from bayeskit.classifiers.discretizer import Discretizer
    from bayeskit.classifiers.gaussian_bayes import GaussianBayes
    from bayeskit.classifiers.gaussian_nb import GaussianNB
    from bayeskit.classifiers.kdb import KDB
    from bayeskit.classifiers.log_linear_bayes import LogLinearBayes
    from bayeskit.classifiers.model_files import load
    from bayeskit.classifiers.naive_bayes import NaiveBayes
    from bayeskit.classifiers.selective_kdb import SelectiveKDB
    from bayeskit.classifiers.spode import SPODE
    from bayeskit.classifiers.tan import TAN
    from bayeskit.classifiers.weighted_nb import WeightedNB
    from bayeskit.comparing.run import compare
    from bayeskit.data.source import Batches
    from bayeskit.errors import set_language
    from bayeskit.mixtures.gaussian_mixture import GaussianMixture
    from bayeskit.mixtures.latent_class import LatentClass
    from bayeskit.networks.bayesian_network import BayesianNetwork
    from bayeskit.networks.learned.learning import learn_network
    from bayeskit.networks.markov_network import MarkovNetwork
    from bayeskit.networks.network_io import read_network
    from bayeskit.statistics import Statistics

__getattr__, __dir__ = on_demand(__name__, _HOMES, _MODULES)
