"""Models estimated from statistics: the form, the specification, and the model itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from bayeskit._conditionals.class_prior import (
    ClassPrior,
    class_factors,
    estimate_class_prior,
    given_class_prior,
)
from bayeskit._conditionals.conditional import Conditional
from bayeskit._conditionals.scoring import Score, Sum, constant
from bayeskit._counting.backend import in_order
from bayeskit._data.encode import Unseen
from bayeskit._data.encoded import Chunk, EncodedTable
from bayeskit._schema import Name, Schema
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Plan
from bayeskit.errors import InfiniteValue, UsageError
from bayeskit.priors import Lidstone, Smoothing
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit._conditionals.covariance_rule import CovarianceRule


class ModelForm(Protocol):
    """The form of a model: which attributes may depend on which, what to count, and how to estimate."""

    # Whether attributes depend only on the class. Each can then be counted, or be missing, independently of the others.
    is_naive: ClassVar[bool] = False
    # Whether all its smoothing is imaginary rows, so that EM's objective includes their likelihood.
    smooths_by_rows: ClassVar[bool] = False

    def plan(self, schema: Schema, spec: ModelSpec) -> Plan:
        """Return the plan of what must be counted."""
        ...

    def settled(self, statistics: Statistics, spec: ModelSpec) -> ModelForm:
        """Return the form with everything fixed that these statistics determine (a tree, constants)."""
        ...

    def conditionals(
        self, statistics: Statistics, spec: ModelSpec, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        """Estimate the conditionals of a model from statistics with class weights already applied."""
        ...


class RowChoice(NamedTuple):
    """A choice that needs rows, not just counts: the setting that causes it, and how to avoid it."""

    setting: str
    way_out: str


def _naive() -> ModelForm:
    from bayeskit._fitting.naive import Naive

    return Naive()


@dataclass(frozen=True)
class ModelSpec:
    """The settings by which a model is estimated.

    Attributes
    ----------
    form : ModelForm
        Which attributes may depend on which. Naive Bayes by default.
    smoothing : Smoothing
        The priors of the tables.
    class_smoothing : prior
        The prior of the class; ``Lidstone(0)`` for scikit-learn's convention.
    class_prior, class_weight, missing, unseen
        As in :class:`~bayeskit.NaiveBayes`.
    unbiased : bool
        Whether variances are divided by n − 1.
    families : mapping
        The family of each numeric attribute, by the name under which it is registered.
    numeric : str
        The family of the other numeric attributes.
    absolute_floor : float or None
        scikit-learn's ``var_smoothing``: this fraction of the largest variance is added to all.
    covariance : CovarianceRule or None
        How to model the numeric attributes jointly. None: one by one.
    block_family : "multinomial", "complement" or "bernoulli"
    """

    form: ModelForm = field(default_factory=_naive)
    smoothing: Smoothing = field(default_factory=lambda: Smoothing(Lidstone(1.0), {}))
    class_smoothing: Any = field(default_factory=lambda: Lidstone(1.0))
    class_prior: Any = None
    class_weight: Any = None
    unbiased: bool = False
    families: Mapping[Name, str] = field(default_factory=dict)
    numeric: str = "gaussian"
    absolute_floor: float | None = None
    covariance: CovarianceRule | None = None
    block_family: str = "multinomial"
    block_alpha: Any = 1.0
    block_norm: bool = False
    block_above: float | None = None
    missing: str = "ignore"
    unseen: Unseen = "ignore"

    def family(self, name: Name) -> str:
        """Return the family of a numeric attribute."""
        return self.families.get(name, self.numeric)

    @property
    def alpha(self) -> float:
        """The weight of imaginary rows for families other than tables."""
        default = self.smoothing.default
        return float(default.alpha) if isinstance(default, Lidstone) else 1.0


@dataclass(frozen=True)
class Model:
    """P(c) and the conditionals of all attributes; log P(c, x) is their sum.

    A conditional that averages over models (AODE) already includes P(c): its ``adds_prior`` is False.
    """

    schema: Schema
    log_prior: Floats
    conditionals: tuple[Conditional, ...]

    @property
    def adds_prior(self) -> bool:
        """Whether log P(c) must be added to the conditionals."""
        return all(conditional.adds_prior for conditional in self.conditionals)

    @property
    def is_distribution(self) -> bool:
        """Whether P(c, x) is defined. Complement naive Bayes has only scores, a stack only posteriors."""
        return all(conditional.is_distribution for conditional in self.conditionals)

    def joint_chunk(self, chunk: Chunk) -> Floats:
        """Return log P(c, x) of each row: shape (n, K)."""
        out = np.empty((chunk.n_rows, len(self.log_prior)))
        out[:] = self.log_prior if self.adds_prior else 0.0
        self.add_conditionals(chunk, out)
        return out

    def log_excess(self, chunk: Chunk) -> Floats:
        """Return the number by which ``joint_chunk`` exceeds log P(c, x), the same for all classes: shape (n,)."""
        return sum((c.log_excess(chunk) for c in self.conditionals), np.zeros(chunk.n_rows))

    def score(self) -> Score:
        """Return log P(c, x) as a formula, up to terms that are the same for all classes."""
        prior = (constant(self.log_prior),) if self.adds_prior else ()
        return Sum((*prior, *(conditional.score() for conditional in self.conditionals)))

    def add_conditionals(self, chunk: Chunk, out: Floats) -> None:
        """Add log P(x | c) of each row to ``out``."""
        try:
            for conditional in self.conditionals:
                conditional.add_log_prob(chunk, out)
        except InfiniteValue as error:
            # Conditionals identify columns by index. Report the name of the column and the row in the whole table.
            name = self.schema.numeric[int(str(error.column))].name
            raise InfiniteValue(name, chunk.first_row + error.row, error.value) from None

    def joint(self, encoded: EncodedTable, n_jobs: int | None = None) -> Floats:
        bounds = encoded.bounds()
        if len(bounds) == 1:
            return self.joint_chunk(encoded.chunk(*bounds[0]))
        out = np.empty((encoded.n_rows, len(self.log_prior)))

        def score(start: int, stop: int) -> None:
            out[start:stop] = self.joint_chunk(encoded.chunk(start, stop))

        for _ in in_order(score, bounds, n_jobs):
            pass
        return out


def plan_for(schema: Schema, spec: ModelSpec) -> Plan:
    """Return the plan of what must be counted."""
    return spec.form.plan(schema, spec)


def weighted_classes(statistics: Statistics, spec: ModelSpec) -> Statistics:
    """Return the statistics with the ``class_weight`` of the specification applied."""
    if spec.class_weight is None:
        return statistics
    factors = class_factors(spec.class_weight, statistics.class_counts, statistics.schema.target)
    return statistics if factors is None else statistics.scale(factors)


def estimate(statistics: Statistics, spec: ModelSpec) -> Model:
    """Estimate a model from statistics. The statistics do not change."""
    schema = statistics.schema
    if not schema.n_classes:
        raise UsageError("The model holds no rows: all were forgotten. Learn some rows first.")
    statistics = weighted_classes(statistics, spec)
    prior = class_prior_of(statistics, spec)
    return Model(schema, prior.log, spec.form.conditionals(statistics, spec, prior))


def class_prior_of(statistics: Statistics, spec: ModelSpec) -> ClassPrior:
    """Return P(c), as given or as estimated from statistics with class weights already applied."""
    counts, target = statistics.class_counts, statistics.schema.target
    if spec.class_prior is not None:
        return ClassPrior(given_class_prior(spec.class_prior, target), counts, None)
    mass = spec.class_smoothing.cells(target, 1)
    return ClassPrior(estimate_class_prior(counts, mass), counts, mass)
