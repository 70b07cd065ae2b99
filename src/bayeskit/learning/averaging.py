"""The form of AODE: every attribute is the super-parent once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayeskit.estimation.averaged import Averaged, check_memory, joint_mass
from bayeskit.estimation.child_gaussians import ChildGaussians
from bayeskit.estimation.class_prior import ClassPrior
from bayeskit.estimation.conditional import Conditional
from bayeskit.estimation.one_parent import OneParent
from bayeskit.estimation.pair_cells import pair_cells
from bayeskit.learning.model import Form, Recipe
from bayeskit.learning.naive import Naive, presence_conditionals
from bayeskit.learning.one_dependence import Constants, cell_gaussian, pair_constants, pairs_plan
from bayeskit.schema import Schema
from bayeskit.statistics import Plan, Statistics


@dataclass(frozen=True)
class Averaging:
    """An average over super-parents.

    Attributes
    ----------
    min_count : float
        How often a value must have been seen for its attribute to be a super-parent.
    by_information : bool
        Weigh super-parents by I(X_i; Y).
    subsumption : float or None
    constants : back-off constants, or None where they are still to be chosen
    """

    min_count: float = 1.0
    by_information: bool = False
    subsumption: float | None = None
    constants: Constants | None = None

    def plan(self, schema: Schema, recipe: Recipe) -> Plan:
        if schema.categorical:
            check_memory(schema)
        return pairs_plan(schema)

    def settled(self, statistics: Statistics, recipe: Recipe) -> Form:
        if not statistics.schema.categorical:
            return Naive()
        if self.constants is not None:
            return self
        d = len(statistics.schema.categorical)
        families = [(j, i) for j in range(d) for i in range(d) if i != j] or [(0, -1)]
        return replace(self, constants=pair_constants(statistics, recipe, families))

    def conditionals(
        self, statistics: Statistics, recipe: Recipe, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        settled = self.settled(statistics, recipe)
        if not isinstance(settled, Averaging):
            return settled.conditionals(statistics, recipe, prior)
        averaged = settled.discrete(statistics, recipe, prior)
        if not statistics.schema.numeric:
            return (averaged,)
        gaussian = cell_gaussian(statistics, recipe)
        nobody = np.full(len(statistics.schema.numeric), -1, dtype=np.int64)
        alone = (*averaged.alone, ChildGaussians(gaussian, nobody))
        averaged = replace(averaged, alone=alone, numeric=gaussian)
        return (averaged, *presence_conditionals(statistics, recipe))

    def discrete(self, statistics: Statistics, recipe: Recipe, prior: ClassPrior) -> Averaged:
        """Estimate the average over the categorical attributes alone."""
        schema = statistics.schema
        pairs: Any = statistics.parts["pairs"]
        cells = pair_cells(
            pairs, schema, recipe.smoothing, self.constants, missing=recipe.missing, unseen=recipe.unseen
        )
        nobody = np.full(len(schema.categorical), -1, dtype=np.int64)
        return Averaged(
            cells,
            joint_mass(cells, schema, recipe.smoothing),
            self.min_count,
            self.by_information,
            self.subsumption,
            (OneParent(cells, nobody),),
            prior,
        )
