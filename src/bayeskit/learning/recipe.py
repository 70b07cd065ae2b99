"""How statistics become a model: everything that is decided after the counting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from bayeskit.data.encode import Unseen
from bayeskit.estimation.class_prior import ClassPrior
from bayeskit.estimation.conditional import Conditional
from bayeskit.priors import Lidstone, Smoothing
from bayeskit.schema import Name, Schema
from bayeskit.statistics import Plan, Statistics


class Form(Protocol):
    """The form of a model: which attributes may depend on which, so what to count and how to estimate it."""

    def plan(self, schema: Schema, recipe: Recipe) -> Plan:
        """Say what must be counted."""
        ...

    def settled(self, statistics: Statistics, recipe: Recipe) -> Form:
        """Return the form with all decided that these statistics decide (a tree, constants)."""
        ...

    def conditionals(
        self, statistics: Statistics, recipe: Recipe, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        """Estimate the conditionals of a model from statistics whose classes are weighed already."""
        ...


class RowChoice(NamedTuple):
    """A choice behind a form that no counts can make: the setting that leaves it to rows, and how to do without."""

    setting: str
    way_out: str


def _naive() -> Form:
    from bayeskit.learning.naive import Naive

    return Naive()


@dataclass(frozen=True)
class Recipe:
    """What an estimator says about estimation.

    Attributes
    ----------
    form : Form
        Which attributes may depend on which; naive Bayes unless said otherwise.
    smoothing : Smoothing
        The priors of the tables.
    class_smoothing : prior
        That of the class itself; ``Lidstone(0)`` for scikit-learn's convention.
    families : mapping
        The family of each numeric attribute, by its name in :mod:`bayeskit.estimation.density`.
    numeric : str
        The family of numeric attributes not named.
    absolute_floor : float or None
        scikit-learn's ``var_smoothing``: this share of the largest variance is added to all.
    covariance : "full", "shared" or None
        Take the numeric attributes together instead of one by one.
    block_family : "multinomial", "complement" or "bernoulli"
    """

    form: Form = field(default_factory=_naive)
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
