"""Classifiers, and the types of values that they return."""

from typing import TYPE_CHECKING

from bayeskit._on_demand import CLASSIFIERS as _CLASSIFIERS
from bayeskit._on_demand import on_demand

# Name → module, imported on demand.
_HOMES = {
    **_CLASSIFIERS,
    "ArcInformation": "bayeskit._classifiers.semi_naive",
    "BayesDecision": "bayeskit._classifiers.bayes_decision",
    "CountClassifier": "bayeskit._classifiers.count_classifier",
    "DependentTable": "bayeskit._classifiers.labelled_tables",
    "Discretizer": "bayeskit._classifiers.discretizer",
    "Drift": "bayeskit._classifiers.drift",
    "DriftMonitor": "bayeskit._classifiers.drift",
    "FamilyChoice": "bayeskit._classifiers.naive_bayes",
    "LabelledTable": "bayeskit._classifiers.labelled_tables",
    "MemberStanding": "bayeskit._classifiers.auto_bayes",
    "SlidingWindow": "bayeskit._classifiers.streams",
    "SqlScript": "bayeskit._export.sql",
    "TallyStore": "bayeskit._classifiers.tally_store",
    "mdl_cut_points": "bayeskit._fitting.cut_points",
}

__all__ = [
    "AODE",
    "KDB",
    "SPODE",
    "TAN",
    "AnDE",
    "ArcInformation",
    "AutoBayes",
    "BayesDecision",
    "BayesNetClassifier",
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "CountClassifier",
    "CountForest",
    "DependentTable",
    "Discretizer",
    "Drift",
    "DriftMonitor",
    "FamilyChoice",
    "GaussianBayes",
    "GaussianNB",
    "LabelledTable",
    "LogLinearBayes",
    "MemberStanding",
    "MultinomialNB",
    "NaiveBayes",
    "SelectiveKDB",
    "SlidingWindow",
    "SqlScript",
    "TallyStore",
    "TextBayes",
    "WeightedNB",
    "mdl_cut_points",
]

if TYPE_CHECKING:
    from bayeskit._classifiers.aode import AODE, AnDE
    from bayeskit._classifiers.auto_bayes import AutoBayes, MemberStanding
    from bayeskit._classifiers.bayes_decision import BayesDecision
    from bayeskit._classifiers.bayes_net import BayesNetClassifier
    from bayeskit._classifiers.count_classifier import CountClassifier
    from bayeskit._classifiers.count_forest import CountForest
    from bayeskit._classifiers.discrete_nb import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
    from bayeskit._classifiers.discretizer import Discretizer
    from bayeskit._classifiers.drift import Drift, DriftMonitor
    from bayeskit._classifiers.gaussian_bayes import GaussianBayes, GaussianNB
    from bayeskit._classifiers.kdb import KDB, SelectiveKDB
    from bayeskit._classifiers.labelled_tables import DependentTable, LabelledTable
    from bayeskit._classifiers.log_linear_bayes import LogLinearBayes
    from bayeskit._classifiers.naive_bayes import FamilyChoice, NaiveBayes
    from bayeskit._classifiers.one_dependence import SPODE, TAN
    from bayeskit._classifiers.semi_naive import ArcInformation
    from bayeskit._classifiers.streams import SlidingWindow
    from bayeskit._classifiers.tally_store import TallyStore
    from bayeskit._classifiers.text_bayes import TextBayes
    from bayeskit._classifiers.weighted_nb import WeightedNB
    from bayeskit._export.sql import SqlScript
    from bayeskit._fitting.cut_points import mdl_cut_points

__getattr__, __dir__ = on_demand(__name__, _HOMES)
