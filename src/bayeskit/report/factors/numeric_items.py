"""Numeric attributes of one row: densities as they are written, and whether the value is there at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayeskit.estimation.child_gaussians import ChildGaussians
from bayeskit.estimation.covariance import GaussianClasses
from bayeskit.estimation.density import Formula, Parameter
from bayeskit.learning.model import Recipe
from bayeskit.report.explanation import Attribute, LeftOut
from bayeskit.report.factors.dependence import Item, child_densities
from bayeskit.report.factors.shares import Floats, shares, with_workings
from bayeskit.report.fractions import centre, number, short
from bayeskit.report.shown import Shown
from bayeskit.statistics import Statistics


class NumericItems:
    """The numeric attributes of a row, as its conditionals tell them: the factors of each, one after the other."""

    def __init__(self, statistics: Statistics, recipe: Recipe, row: Shown) -> None:
        self.statistics, self.recipe, self.row = statistics, recipe, row
        self.found: dict[int, list[tuple[str, Floats, list[str]]]] = {}
        self.given: dict[int, tuple[tuple[Any, Any], ...]] = {}
        self.together: dict[Any, Item] = {}

    @property
    def n_classes(self) -> int:
        return self.row.schema.n_classes

    def add_density(self, column: int, family: str, logs: Floats, formulas: Sequence[Formula]) -> None:
        x = float(self.row.chunk.values[0, column])
        self._add(column, family, logs, [density_working(formula, x) for formula in formulas])

    def add_presence(self, column: int, missing: bool, logs: Floats) -> None:
        workings = _presence_shares(self.statistics, column, missing, self.recipe.alpha)
        self._add(column, "presence", logs, workings)

    def add_children(self, children: ChildGaussians) -> None:
        for column, parent, logs, workings in child_densities(children, self.row):
            self.given[column] = self.row.given([parent])
            self._add(column, "gaussian", logs, workings)

    def add_together(self, joint: GaussianClasses) -> None:
        self.together |= _together(joint, self.row)

    def _add(self, column: int, family: str, logs: Floats, workings: list[str]) -> None:
        self.found.setdefault(column, []).append((family, logs, workings))

    def items(self) -> dict[Any, Item]:
        """Return the attributes: a density each, and P(present | c) where missingness is a state."""
        items, row = dict(self.together), self.row
        for place, variable in enumerate(row.schema.numeric):
            x = float(row.chunk.values[0, place])
            missing = x != x
            parts = self.found.get(place, [])
            if parts:
                logs = np.sum([part[1] for part in parts], axis=0)
                workings = [" · ".join(part[2][k] for part in parts) for k in range(self.n_classes)]
                factors = with_workings(logs, workings)
                value = None if missing else x
                given = self.given.get(place, ())
                family = parts[-1][0]
                items[variable.name] = Attribute(variable.name, value, family, factors, missing, given)
            elif missing or self.recipe.covariance is None:
                items[variable.name] = LeftOut(
                    variable.name, None if missing else x, "missing" if missing else "constant"
                )
        return items


def density_working(formula: Formula, x: float) -> str:
    """Write a distribution at x.

    Examples
    --------
    >>> density_working(Formula("N", (Parameter("μ", 0.525, 0.0959), Parameter("σ²", 0.0092))), 0.6)
    'N(0.6; μ=0.525, σ²=0.0092)'
    """
    said = ", ".join(f"{parameter.letter}={_parameter(parameter)}" for parameter in formula.parameters)
    return f"{formula.symbol}({number(x)}; {said})"


def _parameter(parameter: Parameter) -> str:
    if parameter.spread is None:
        return short(parameter.value)
    return centre(parameter.value, parameter.spread)


def _presence_shares(statistics: Statistics, place: int, missing: bool, alpha: float) -> list[str]:
    present, margin = statistics.moments.weight[:, place], statistics.class_counts
    real = np.maximum(margin - present, 0.0) if missing else present
    return shares(real, np.full(len(real), alpha), margin, 2.0 * alpha, 1)


def _together(conditional: GaussianClasses, row: Shown) -> dict[Any, Item]:
    """Explain attributes that are jointly Gaussian: they are one factor."""
    chunk, numeric = row.chunk, row.schema.numeric
    varying = conditional.columns[conditional.varying].tolist()
    items: dict[Any, Item] = {}
    for place in sorted(set(conditional.columns.tolist()) - set(varying)):
        x = float(chunk.values[0, place])
        name = numeric[place].name
        items[name] = LeftOut(name, None if x != x else x, "missing" if x != x else "constant")
    used = [place for place in varying if not np.isnan(chunk.values[0, place])]
    if used:
        names = tuple(numeric[place].name for place in used)
        out = np.zeros((1, row.schema.n_classes))
        conditional.add_log_prob(chunk, out)
        values = tuple(float(chunk.values[0, place]) for place in used)
        workings = [f"N(x; μ, Σ), {len(used)}d"] * out.shape[1]
        items[names] = Attribute(names, values, "covariance", with_workings(out[0], workings))
    return items
