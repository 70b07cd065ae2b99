"""Mixtures: models of rows whose class was never seen."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'bayeskit.mixtures' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
