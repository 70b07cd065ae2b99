"""The naive form: no attribute has a parent but the class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.estimation.class_prior import ClassPrior
from bayeskit.estimation.conditional import Conditional
from bayeskit.estimation.density import ColumnSums, Density, family_of
from bayeskit.estimation.presence import estimate_presence
from bayeskit.estimation.table import estimate_tables
from bayeskit.learning.model import Form, Recipe
from bayeskit.schema import Name, Schema
from bayeskit.statistics import Plan, Statistics


@dataclass(frozen=True)
class Naive:
    """P(c, x) = P(c) ∏ P(x_i | c), each attribute by the family of its kind."""

    def plan(self, schema: Schema, recipe: Recipe) -> Plan:
        """Ask for every attribute with the class, and what its family needs besides."""
        names = tuple(v.name for v in schema.numeric)
        patterns = {
            family: family_of(family).pattern for family in {recipe.numeric, *recipe.families.values()}
        }
        grids: tuple[Name, ...] = ()
        if "grids" in patterns.values():
            grids = tuple(n for n in names if patterns[recipe.families.get(n, recipe.numeric)] == "grids")
        return Plan.naive(schema, scatter=names if recipe.covariance else (), grids=grids)

    def settled(self, statistics: Statistics, recipe: Recipe) -> Form:
        return self

    def conditionals(
        self, statistics: Statistics, recipe: Recipe, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        schema = statistics.schema
        found: list[Any] = []
        if schema.categorical:
            found.append(
                estimate_tables(
                    statistics.tables.counts,
                    schema,
                    recipe.smoothing,
                    missing=recipe.missing,
                    unseen=recipe.unseen,
                    counts_low=statistics.tables.counts_low,
                )
            )
        if schema.numeric:
            found += numeric_conditionals(statistics, recipe)
        if schema.block is not None:
            found.append(_block(statistics, recipe))
        return tuple(found)


def presence_conditionals(statistics: Statistics, recipe: Recipe) -> list[Any]:
    """Where missing is a state: how likely each class leaves a numeric attribute out."""
    if recipe.missing != "state" or not statistics.schema.numeric:
        return []
    presence = estimate_presence(statistics.moments.weight, statistics.class_counts, recipe.alpha)
    return [] if presence is None else [presence]


def numeric_conditionals(statistics: Statistics, recipe: Recipe) -> list[Any]:
    """Estimate the numeric attributes, each given the class, by their families."""
    schema = statistics.schema
    found = presence_conditionals(statistics, recipe)
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
    by_family: dict[tuple[type[Density], Any], list[int]] = {}
    alpha, homes = (
        recipe.alpha,
        {name: family_of(name) for name in {recipe.numeric, *recipe.families.values()}},
    )
    for j, variable in enumerate(schema.numeric):
        family = homes[recipe.families.get(variable.name, recipe.numeric)]
        prior = recipe.smoothing.numeric_prior(variable.name) if family.takes_prior else None
        by_family.setdefault((family, prior), []).append(j)
    for (family, prior), places in by_family.items():
        columns = np.array(places, dtype=np.intp)
        sums = ColumnSums(statistics, columns, alpha, recipe.unbiased, recipe.absolute_floor, prior)
        found.append(family.estimate(sums))
    return found


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
