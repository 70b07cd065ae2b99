"""Bayes decision theory: posterior × loss → action. Needs NumPy and nothing else.

>>> from bayeskit.decision import bayes_rule, decide
>>> mail = bayes_rule({"spam": 0.7, "ham": 0.3}, {"spam": 0.9, "ham": 0.01})
>>> decide(mail, {"delete": {"spam": 0, "ham": 20}, "keep": {"spam": 1, "ham": 0}}).actions
'delete'
"""

from bayeskit.decision.choice import Decision, conditional_risk, decide
from bayeskit.decision.posterior import Posterior, bayes_rule
from bayeskit.decision.risk import BayesRisk, bayes_risk

__all__ = [
    "BayesRisk",
    "Decision",
    "Posterior",
    "bayes_risk",
    "bayes_rule",
    "conditional_risk",
    "decide",
]
