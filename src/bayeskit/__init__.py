"""Bayesian classification from naive Bayes to Bayesian networks, with all models estimated from counts."""

from typing import TYPE_CHECKING

from bayeskit._on_demand import CLASSIFIERS as _CLASSIFIERS
from bayeskit._on_demand import on_demand
from bayeskit._version import __version__

# Name → module. Modules are imported on demand (PEP 562), so that `import bayeskit` is quick.
_HOMES = {
    **_CLASSIFIERS,
    "BayesDecision": "bayeskit._classifiers.bayes_decision",
    "Discretizer": "bayeskit._classifiers.discretizer",
    "GaussianMixture": "bayeskit._mixtures.gaussian_mixture",
    "LatentClass": "bayeskit._mixtures.latent_class",
    "HiddenMarkov": "bayeskit._mixtures.hidden_markov",
    "BayesianNetwork": "bayeskit._networks.bayesian_network",
    "DynamicNetwork": "bayeskit._networks.dynamic_network",
    "MarkovNetwork": "bayeskit._networks.markov_network",
    "compare": "bayeskit._comparison.run",
    "learn_network": "bayeskit._networks.fit.learning",
    "read_network": "bayeskit._networks.network_io",
    "load": "bayeskit._classifiers.model_files",
    "TallyStore": "bayeskit._classifiers.tally_store",
    "Batches": "bayeskit._data.batches",
    "set_language": "bayeskit.errors",
    "Statistics": "bayeskit._statistics.statistics",
}
_MODULES = (
    "charts",
    "classifiers",
    "comparison",
    "datasets",
    "decision",
    "errors",
    "explanations",
    "extending",
    "mixtures",
    "networks",
    "priors",
    "statistics",
    "typing",
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
    "DynamicNetwork",
    "GaussianBayes",
    "GaussianMixture",
    "GaussianNB",
    "HiddenMarkov",
    "LatentClass",
    "LogLinearBayes",
    "MarkovNetwork",
    "MultinomialNB",
    "NaiveBayes",
    "SelectiveKDB",
    "Statistics",
    "TallyStore",
    "TextBayes",
    "WeightedNB",
    "__version__",
    "compare",
    "learn_network",
    "load",
    "read_network",
    "set_language",
]

if TYPE_CHECKING:
    from bayeskit._classifiers.aode import AODE, AnDE
    from bayeskit._classifiers.auto_bayes import AutoBayes
    from bayeskit._classifiers.bayes_decision import BayesDecision
    from bayeskit._classifiers.bayes_net import BayesNetClassifier
    from bayeskit._classifiers.count_forest import CountForest
    from bayeskit._classifiers.discrete_nb import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
    from bayeskit._classifiers.discretizer import Discretizer
    from bayeskit._classifiers.gaussian_bayes import GaussianBayes, GaussianNB
    from bayeskit._classifiers.kdb import KDB, SelectiveKDB
    from bayeskit._classifiers.log_linear_bayes import LogLinearBayes
    from bayeskit._classifiers.model_files import load
    from bayeskit._classifiers.naive_bayes import NaiveBayes
    from bayeskit._classifiers.one_dependence import SPODE, TAN
    from bayeskit._classifiers.tally_store import TallyStore
    from bayeskit._classifiers.text_bayes import TextBayes
    from bayeskit._classifiers.weighted_nb import WeightedNB
    from bayeskit._comparison.run import compare
    from bayeskit._data.batches import Batches
    from bayeskit._mixtures.gaussian_mixture import GaussianMixture
    from bayeskit._mixtures.hidden_markov import HiddenMarkov
    from bayeskit._mixtures.latent_class import LatentClass
    from bayeskit._networks.bayesian_network import BayesianNetwork
    from bayeskit._networks.dynamic_network import DynamicNetwork
    from bayeskit._networks.fit.learning import learn_network
    from bayeskit._networks.markov_network import MarkovNetwork
    from bayeskit._networks.network_io import read_network
    from bayeskit._statistics.statistics import Statistics
    from bayeskit.errors import set_language

__getattr__, __dir__ = on_demand(__name__, _HOMES, _MODULES)
