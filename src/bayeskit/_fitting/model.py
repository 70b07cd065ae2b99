"""How statistics become a model: the form and the recipe of an estimate, and what is ready for look-up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from bayeskit._conditionals.class_prior import (
    ClassPrior,
    class_factors,
    estimate_class_prior,
    given_class_prior,
)
from bayeskit._conditionals.conditional import Conditional
from bayeskit._counting.backend import in_order
from bayeskit._data.encode import Unseen
from bayeskit._data.encoded import Chunk, EncodedTable
from bayeskit._schema import Name, Schema
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Plan
from bayeskit.errors import InfiniteValue, UsageError
from bayeskit.priors import Lidstone, Smoothing
from bayeskit.typing import Floats


class ModelForm(Protocol):
    """The form of a model: which attributes may depend on which, so what to count and how to estimate it."""

    # Whether attributes depend on the class alone: one can be counted, or be missing, whatever the others are.
    is_naive: ClassVar[bool] = False
    # Whether all its smoothing is imaginary rows, so that EM climbs their likelihood, too.
    smooths_by_rows: ClassVar[bool] = False

    def plan(self, schema: Schema, spec: ModelSpec) -> Plan:
        """Say what must be counted."""
        ...

    def settled(self, statistics: Statistics, spec: ModelSpec) -> ModelForm:
        """Return the form with all decided that these statistics decide (a tree, constants)."""
        ...

    def conditionals(
        self, statistics: Statistics, spec: ModelSpec, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        """Estimate the conditionals of a model from statistics whose classes are weighed already."""
        ...


class RowChoice(NamedTuple):
    """A choice behind a form that no counts can make: the setting that leaves it to rows, and how to do without."""

    setting: str
    way_out: str


def _naive() -> ModelForm:
    from bayeskit._fitting.naive import Naive

    return Naive()


@dataclass(frozen=True)
class ModelSpec:
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
        The family of each numeric attribute, by its name in :mod:`bayeskit._conditionals.density`.
    numeric : str
        The family of numeric attributes not named.
    absolute_floor : float or None
        scikit-learn's ``var_smoothing``: this share of the largest variance is added to all.
    covariance : "full", "shared" or None
        Take the numeric attributes together instead of one by one.
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


@dataclass(frozen=True)
class Model:
    """P(c) and the conditionals of all attributes; log P(c, x) is their sum.

    A conditional that averages over models (AODE) holds P(c) itself: its ``adds_prior`` is False.
    """

    schema: Schema
    log_prior: Floats
    conditionals: tuple[Conditional, ...]

    @property
    def adds_prior(self) -> bool:
        """Whether log P(c) is to be added to what the conditionals say."""
        return all(conditional.adds_prior for conditional in self.conditionals)

    @property
    def is_distribution(self) -> bool:
        """Whether there is a P(c, x). Complement naive Bayes scores classes, a pool has posteriors only."""
        return all(conditional.is_distribution for conditional in self.conditionals)

    def joint_chunk(self, chunk: Chunk) -> Floats:
        """Return log P(c, x) of each row: shape (n, K)."""
        out = np.empty((chunk.n_rows, len(self.log_prior)))
        out[:] = self.log_prior if self.adds_prior else 0.0
        self.add_conditionals(chunk, out)
        return out

    def log_excess(self, chunk: Chunk) -> Floats:
        """Return by how much log P(c, x) of each row is too large, in every class alike: shape (n,)."""
        return sum((c.log_excess(chunk) for c in self.conditionals), np.zeros(chunk.n_rows))

    def add_conditionals(self, chunk: Chunk, out: Floats) -> None:
        """Add log P(x | c) of each row to ``out``."""
        try:
            for conditional in self.conditionals:
                conditional.add_log_prob(chunk, out)
        except InfiniteValue as error:
            # Conditionals know columns by number; here they have names, and chunks a place in the table.
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
    """Say what must be counted."""
    return spec.form.plan(schema, spec)


def weighted_classes(statistics: Statistics, spec: ModelSpec) -> Statistics:
    """Return the statistics with every class weighed as the recipe's ``class_weight`` asks."""
    if spec.class_weight is None:
        return statistics
    factors = class_factors(spec.class_weight, statistics.class_counts, statistics.schema.target)
    return statistics if factors is None else statistics.scale(factors)


def estimate(statistics: Statistics, spec: ModelSpec) -> Model:
    """Turn statistics into look-up tables. Nothing of this is kept in the statistics."""
    schema = statistics.schema
    if not schema.n_classes:
        raise UsageError(
            "Nothing is left of what was learned: every row was forgotten. Learn some rows first."
        )
    statistics = weighted_classes(statistics, spec)
    prior = class_prior_of(statistics, spec)
    return Model(schema, prior.log, spec.form.conditionals(statistics, spec, prior))


def class_prior_of(statistics: Statistics, spec: ModelSpec) -> ClassPrior:
    """Return P(c), as estimated from statistics whose classes are weighed already, or as given."""
    counts, target = statistics.class_counts, statistics.schema.target
    if spec.class_prior is not None:
        return ClassPrior(given_class_prior(spec.class_prior, target), counts, None)
    share = estimate_class_prior(counts, target, spec.class_smoothing)
    return ClassPrior(share, counts, spec.class_smoothing.cells(target, 1))
