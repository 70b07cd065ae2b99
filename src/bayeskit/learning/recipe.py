"""How statistics become a naive Bayes model: everything that is decided after the counting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bayeskit.data.encode import Unseen
from bayeskit.priors import Lidstone, Smoothing
from bayeskit.schema import Name


@dataclass(frozen=True)
class Recipe:
    """What an estimator says about estimation.

    Attributes
    ----------
    smoothing : Smoothing
        The priors of the tables.
    class_smoothing : prior
        That of the class itself; ``Lidstone(0)`` for scikit-learn's convention.
    families : mapping
        The family of each numeric attribute: "gaussian", "student", "kernel" or "poisson".
    numeric : str
        The family of numeric attributes not named.
    absolute_floor : float or None
        scikit-learn's ``var_smoothing``: this share of the largest variance is added to all.
    covariance : "full", "shared" or None
        Take the numeric attributes together instead of one by one.
    block_family : "multinomial", "complement" or "bernoulli"
    """

    smoothing: Smoothing = field(default_factory=lambda: Smoothing(Lidstone(1.0), {}))
    class_smoothing: Any = field(default_factory=lambda: Lidstone(1.0))
    class_prior: Any = None
    class_weight: Any = None
    unbiased: bool = False
    families: Mapping[Name, str] = field(default_factory=dict)
    numeric: str = "gaussian"
    absolute_floor: float | None = None
    covariance: str | None = None
    shrinkage: Any = None
    block_family: str = "multinomial"
    block_alpha: Any = 1.0
    block_norm: bool = False
    block_above: float | None = None
    missing: str = "ignore"
    unseen: Unseen = "ignore"

    def family(self, name: Name) -> str:
        return self.families.get(name, self.numeric)

    @property
    def alpha(self) -> float:
        """The weight of imaginary rows where a family is no table."""
        default = self.smoothing.default
        return float(default.alpha) if isinstance(default, Lidstone) else 1.0
