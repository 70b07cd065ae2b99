"""Bayes decision theory: from posteriors and losses to actions. It needs only NumPy.

>>> from bayeskit.decision import bayes_rule, decide
>>> mail = bayes_rule({"spam": 0.7, "ham": 0.3}, {"spam": 0.9, "ham": 0.01})
>>> decide(mail, {"delete": {"spam": 0, "ham": 20}, "keep": {"spam": 1, "ham": 0}}).actions
'delete'
"""

from typing import TYPE_CHECKING

from bayeskit._on_demand import on_demand

# Name → module, imported on demand.
_HOMES = {
    "BayesRisk": "bayeskit._decision.choice",
    "Decision": "bayeskit._decision.choice",
    "Posterior": "bayeskit._decision.posterior",
    "bayes_risk": "bayeskit._decision.choice",
    "bayes_rule": "bayeskit._decision.posterior",
    "conditional_risk": "bayeskit._decision.choice",
    "decide": "bayeskit._decision.choice",
}

__all__ = [
    "BayesRisk",
    "Decision",
    "Posterior",
    "bayes_risk",
    "bayes_rule",
    "conditional_risk",
    "decide",
]

if TYPE_CHECKING:
    from bayeskit._decision.choice import BayesRisk, Decision, bayes_risk, conditional_risk, decide
    from bayeskit._decision.posterior import Posterior, bayes_rule

__getattr__, __dir__ = on_demand(__name__, _HOMES)
