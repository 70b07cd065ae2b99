"""The form of A2DE: every two attributes are super-parents once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from bayeskit.estimation.child_gaussians import ChildGaussians
from bayeskit.estimation.class_prior import ClassPrior
from bayeskit.estimation.conditional import Conditional
from bayeskit.estimation.two_parents import estimate_two_parents
from bayeskit.graphs.dag import Dag
from bayeskit.learning.averaging import Averaging
from bayeskit.learning.model import Form, Recipe
from bayeskit.learning.naive import presence_conditionals
from bayeskit.learning.one_dependence import cell_gaussian, numeric_places, pairs_plan, with_numeric
from bayeskit.schema import Name, Schema
from bayeskit.statistics import Pattern, Plan, Statistics


@dataclass(frozen=True)
class TwoDependence:
    """An average over pairs of super-parents; a row where no pair qualifies is answered by AODE.

    Attributes
    ----------
    super_parents : names
    min_count : float
        How often two values must have been seen together for their attributes to be super-parents.
    numeric : Dag or None
        The parents of numeric attributes; derived from the counts where None.
    """

    super_parents: tuple[Name, ...]
    min_count: float = 1.0
    numeric: Dag | None = None

    def plan(self, schema: Schema, recipe: Recipe) -> Plan:
        plan = pairs_plan(schema)
        if not self._applies(schema):
            return plan
        return Plan((*plan.patterns, Pattern("triples", self.super_parents)))

    def _applies(self, schema: Schema) -> bool:
        return len(schema.categorical) > 1 and len(self.super_parents) > 1

    def settled(self, statistics: Statistics, recipe: Recipe) -> Form:
        schema = statistics.schema
        if not self._applies(schema):
            return Averaging(self.min_count).settled(statistics, recipe)
        if self.numeric is not None or not schema.numeric:
            return self
        alone = Dag.of({}, (v.name for v in schema.categorical))
        return replace(self, numeric=with_numeric(alone, statistics))

    def conditionals(
        self, statistics: Statistics, recipe: Recipe, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        settled = self.settled(statistics, recipe)
        if not isinstance(settled, TwoDependence):
            return settled.conditionals(statistics, recipe, prior)
        schema = statistics.schema
        triples: Any = statistics.parts["triples"]
        fallback = Averaging(self.min_count).discrete(statistics, recipe, prior)
        found: list[Any] = [
            estimate_two_parents(
                triples,
                schema,
                recipe.smoothing,
                self.super_parents,
                fallback=fallback,
                min_count=self.min_count,
                missing=recipe.missing,
                unseen=recipe.unseen,
            )
        ]
        if settled.numeric is not None:
            found += presence_conditionals(statistics, recipe)
            places = numeric_places(settled.numeric, schema)
            found.append(ChildGaussians(cell_gaussian(statistics, recipe), places))
        return tuple(found)
