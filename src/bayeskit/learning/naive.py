"""Statistics × recipe → a naive Bayes model ready for look-up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.counting.backends.threads import in_order
from bayeskit.data.chunk import Chunk
from bayeskit.data.encoded import Encoded
from bayeskit.errors import InfiniteValue, UsageError
from bayeskit.estimation.class_prior import class_factors, estimate_class_prior, given_class_prior
from bayeskit.estimation.presence import estimate_presence
from bayeskit.estimation.table import estimate_tables
from bayeskit.learning.recipe import Recipe
from bayeskit.schema import Schema
from bayeskit.statistics import Plan, Statistics

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Model:
    """P(c) and the conditionals of all attributes; log P(c, x) is their sum."""

    schema: Schema
    log_prior: Floats
    conditionals: tuple[Any, ...]

    @property
    def adds_prior(self) -> bool:
        """Complement naive Bayes scores without the prior (unless there is but one class)."""
        return all(getattr(conditional, "adds_prior", True) for conditional in self.conditionals)

    def joint_chunk(self, chunk: Chunk) -> Floats:
        """Return log P(c, x) of each row: shape (n, K)."""
        out = np.empty((chunk.n_rows, len(self.log_prior)))
        out[:] = self.log_prior if self.adds_prior else 0.0
        self.add_conditionals(chunk, out)
        return out

    def add_conditionals(self, chunk: Chunk, out: Floats) -> None:
        """Add log P(x | c) of each row to ``out``."""
        try:
            for conditional in self.conditionals:
                conditional.add_log_prob(chunk, out)
        except InfiniteValue as error:
            # Conditionals know columns by number; here they have names, and chunks a place in the table.
            name = self.schema.numeric[int(str(error.column))].name
            raise InfiniteValue(name, chunk.first_row + error.row, error.value) from None

    def joint(self, encoded: Encoded, n_jobs: int | None = None) -> Floats:
        bounds = encoded.bounds()
        if len(bounds) == 1:
            return self.joint_chunk(encoded.chunk(*bounds[0]))
        out = np.empty((encoded.n_rows, len(self.log_prior)))

        def score(start: int, stop: int) -> None:
            out[start:stop] = self.joint_chunk(encoded.chunk(start, stop))

        for _ in in_order(score, bounds, n_jobs):
            pass
        return out


def plan_for(schema: Schema, recipe: Recipe) -> Plan:
    """Say what must be counted: every attribute with the class, and what its family needs besides."""
    names = tuple(v.name for v in schema.numeric)
    grids = tuple(n for n in names if recipe.family(n) == "kernel")
    return Plan.naive(schema, scatter=names if recipe.covariance else (), grids=grids)


def estimate(statistics: Statistics, recipe: Recipe) -> Model:
    """Turn statistics into look-up tables. Nothing of this is kept in the statistics."""
    schema = statistics.schema
    if not schema.n_classes:
        raise UsageError(
            "Nothing is left of what was learned: every row was forgotten. Learn some rows first."
        )
    factors = class_factors(recipe.class_weight, statistics.class_counts, schema.target)
    if factors is not None:
        statistics = statistics.scale(factors)
    if recipe.class_prior is None:
        prior = estimate_class_prior(statistics.class_counts, schema.target, recipe.class_smoothing)
    else:
        prior = given_class_prior(recipe.class_prior, schema.target)
    conditionals: list[Any] = []
    if schema.categorical:
        conditionals.append(
            estimate_tables(
                statistics.tables.counts,
                schema,
                recipe.smoothing,
                missing=recipe.missing,
                unseen=recipe.unseen,
            )
        )
    if schema.numeric:
        conditionals += _numeric(statistics, recipe)
    if schema.block is not None:
        conditionals.append(_block(statistics, recipe))
    with np.errstate(divide="ignore"):
        return Model(schema, np.log(prior), tuple(conditionals))


def _numeric(statistics: Statistics, recipe: Recipe) -> list[Any]:
    schema, moments = statistics.schema, statistics.moments
    found: list[Any] = []
    if recipe.missing == "state":
        presence = estimate_presence(moments.weight, statistics.class_counts, recipe.alpha)
        found += [] if presence is None else [presence]
    if recipe.covariance:
        from bayeskit.estimation.covariance import estimate_covariance

        columns = np.arange(len(schema.numeric))
        found.append(
            estimate_covariance(
                statistics.parts["scatter"],  # type: ignore[arg-type]
                columns,
                shared=recipe.covariance == "shared",
                unbiased=recipe.unbiased,
                shrinkage=recipe.shrinkage,
            )
        )
        return found
    by_family: dict[tuple[str, Any], list[int]] = {}
    for j, variable in enumerate(schema.numeric):
        family = recipe.family(variable.name)
        prior = recipe.smoothing.numeric_prior(variable.name) if family == "student" else None
        by_family.setdefault((family, prior), []).append(j)
    for (family, prior), places in by_family.items():
        found.append(_family(family, prior, np.array(places, dtype=np.intp), statistics, recipe))
    return found


def _family(
    family: str, prior: Any, columns: NDArray[np.intp], statistics: Statistics, recipe: Recipe
) -> Any:
    moments = statistics.moments
    part = moments if len(columns) == moments.weight.shape[1] else moments.columns(columns)
    match family:
        case "gaussian":
            from bayeskit.estimation.gaussian import estimate_gaussian

            return estimate_gaussian(
                part, columns, unbiased=recipe.unbiased, absolute_floor=_sklearn_floor(moments, recipe)
            )
        case "student":
            from bayeskit.estimation.student import estimate_student
            from bayeskit.priors import NormalInverseGamma

            return estimate_student(part, columns, prior or NormalInverseGamma())
        case "poisson":
            from bayeskit.estimation.poisson import estimate_poisson

            high, low = part.mean()
            names = tuple(statistics.schema.numeric[j].name for j in columns)
            # Means far beyond any count are refused below; here they must only not overflow.
            total = np.clip(high + low, -1e100, 1e100) * part.weight
            return estimate_poisson(part.weight, total, columns, alpha=recipe.alpha, names=names)
        case _:
            from bayeskit.estimation.kernel_density import estimate_kernel

            return estimate_kernel(statistics.parts["grids"], columns)  # type: ignore[arg-type]


def _sklearn_floor(moments: Any, recipe: Recipe) -> float | None:
    if recipe.absolute_floor is None:
        return None
    return float(recipe.absolute_floor * moments.pooled().variance().max())


def _block(statistics: Statistics, recipe: Recipe) -> Any:
    totals: Any = statistics.parts["totals"]
    if recipe.block_family == "complement":
        from bayeskit.estimation.complement import estimate_complement

        return estimate_complement(totals, recipe.block_alpha, recipe.block_norm)
    if recipe.block_family == "bernoulli":
        from bayeskit.estimation.bernoulli_block import estimate_bernoulli_block

        return estimate_bernoulli_block(totals, recipe.block_alpha, recipe.block_above or 0.0)
    from bayeskit.estimation.multinomial import estimate_multinomial

    return estimate_multinomial(totals, recipe.block_alpha)
