"""Mixture models for unlabelled rows, hidden Markov models for sequences, and an EM algorithm for your own models."""

from typing import TYPE_CHECKING

from bayeskit._on_demand import on_demand

# Name → module, imported on demand.
_HOMES = {
    "AcceleratedProblem": "bayeskit._fitting.em",
    "Candidate": "bayeskit._mixtures.component_choice",
    "ClassProfiles": "bayeskit._report.mixture_report",
    "ComponentChoice": "bayeskit._mixtures.component_choice",
    "ComponentTable": "bayeskit._mixtures.gaussian_fitting",
    "EmResult": "bayeskit._fitting.em",
    "Forecast": "bayeskit._mixtures.hidden_answers",
    "GaussianMixture": "bayeskit._mixtures.gaussian_mixture",
    "HiddenCounts": "bayeskit._fitting.mixtures.hidden_states",
    "HiddenMarkov": "bayeskit._mixtures.hidden_markov",
    "LatentClass": "bayeskit._mixtures.latent_class",
    "Matching": "bayeskit._mixtures.component_choice",
    "MixtureNotConverged": "bayeskit._mixtures.mixture_em",
    "Problem": "bayeskit._fitting.em",
    "StoppingRule": "bayeskit._fitting.em",
    "match_labels": "bayeskit._mixtures.component_choice",
    "run_em": "bayeskit._fitting.em",
    "run_em_from_starts": "bayeskit._fitting.em",
}

__all__ = [
    "AcceleratedProblem",
    "Candidate",
    "ClassProfiles",
    "ComponentChoice",
    "ComponentTable",
    "EmResult",
    "Forecast",
    "GaussianMixture",
    "HiddenCounts",
    "HiddenMarkov",
    "LatentClass",
    "Matching",
    "MixtureNotConverged",
    "Problem",
    "StoppingRule",
    "match_labels",
    "run_em",
    "run_em_from_starts",
]

if TYPE_CHECKING:
    from bayeskit._fitting.em import (
        AcceleratedProblem,
        EmResult,
        Problem,
        StoppingRule,
        run_em,
        run_em_from_starts,
    )
    from bayeskit._fitting.mixtures.hidden_states import HiddenCounts
    from bayeskit._mixtures.component_choice import Candidate, ComponentChoice, Matching, match_labels
    from bayeskit._mixtures.gaussian_fitting import ComponentTable
    from bayeskit._mixtures.gaussian_mixture import GaussianMixture
    from bayeskit._mixtures.hidden_answers import Forecast
    from bayeskit._mixtures.hidden_markov import HiddenMarkov
    from bayeskit._mixtures.latent_class import LatentClass
    from bayeskit._mixtures.mixture_em import MixtureNotConverged
    from bayeskit._report.mixture_report import ClassProfiles

__getattr__, __dir__ = on_demand(__name__, _HOMES)
