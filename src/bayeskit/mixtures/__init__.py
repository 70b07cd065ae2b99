"""Mixtures: models of rows whose class was never seen."""

from typing import TYPE_CHECKING

from bayeskit.on_demand import on_demand

# Name → module, imported when asked for.
_HOMES = {
    "GaussianMixture": "bayeskit.mixtures.gaussian_mixture",
    "LatentClass": "bayeskit.mixtures.latent_class",
    "Matching": "bayeskit.mixtures.label_matching",
    "MixtureNotConverged": "bayeskit.mixtures.mixture_door",
    "match_labels": "bayeskit.mixtures.label_matching",
}

__all__ = [
    "GaussianMixture",
    "LatentClass",
    "Matching",
    "MixtureNotConverged",
    "match_labels",
]

if TYPE_CHECKING:
    from bayeskit.mixtures.gaussian_mixture import GaussianMixture
    from bayeskit.mixtures.label_matching import Matching, match_labels
    from bayeskit.mixtures.latent_class import LatentClass
    from bayeskit.mixtures.mixture_door import MixtureNotConverged

__getattr__, __dir__ = on_demand(__name__, _HOMES)
