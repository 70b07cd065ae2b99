"""Numeric attributes of one row: densities as they are written, and whether the value is there at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.data.chunk import Chunk
from bayeskit.estimation.child_gaussians import ChildGaussians
from bayeskit.estimation.covariance import GaussianClasses
from bayeskit.estimation.presence import Presence
from bayeskit.learning.recipe import Recipe
from bayeskit.report.explanation import Attribute, LeftOut
from bayeskit.report.factors.dependence import Item, child_densities
from bayeskit.report.factors.families import DENSITIES, density_working, is_used
from bayeskit.report.factors.shares import Floats, shares, with_workings
from bayeskit.report.shown import Shown
from bayeskit.statistics import Statistics


def numeric_items(
    conditionals: tuple[Any, ...], statistics: Statistics, recipe: Recipe, row: Shown
) -> dict[Any, Item]:
    """Explain the numeric attributes: a density each, and P(present | c) where missingness is a state."""
    variables, n_classes, chunk = row.schema.numeric, row.schema.n_classes, row.chunk
    found: dict[int, list[tuple[str, Floats, list[str]]]] = {}
    parents: dict[int, int] = {}
    items: dict[Any, Item] = {}
    for conditional in conditionals:
        if isinstance(conditional, Presence):
            for i, place in enumerate(conditional.columns.tolist()):
                missing = bool(np.isnan(chunk.values[0, place]))
                logs = (conditional.log_missing if missing else conditional.log_present)[i]
                workings = _presence_shares(statistics, place, missing, recipe.alpha)
                found.setdefault(place, []).append(("presence", logs, workings))
        elif isinstance(conditional, GaussianClasses):
            items |= _together(conditional, row)
        elif isinstance(conditional, ChildGaussians):
            for place, parents[place], logs, workings in child_densities(conditional, row):
                found.setdefault(place, []).append(("gaussian", logs, workings))
        elif isinstance(conditional, DENSITIES):
            for place, logs, workings in _densities(conditional, chunk, n_classes):
                family = recipe.family(variables[place].name)
                found.setdefault(place, []).append((family, logs, workings))
    for place, variable in enumerate(variables):
        x = float(chunk.values[0, place])
        missing = x != x
        parts = found.get(place, [])
        if parts:
            logs = np.sum([part[1] for part in parts], axis=0)
            workings = [" · ".join(part[2][k] for part in parts) for k in range(n_classes)]
            factors = with_workings(logs, workings)
            value = None if missing else x
            given = row.given([parents.get(place, -1)])
            items[variable.name] = Attribute(variable.name, value, parts[-1][0], factors, missing, given)
        elif missing or recipe.covariance is None:
            items[variable.name] = LeftOut(
                variable.name, None if missing else x, "missing" if missing else "constant"
            )
    return items


def _presence_shares(statistics: Statistics, place: int, missing: bool, alpha: float) -> list[str]:
    present, margin = statistics.moments.weight[:, place], statistics.class_counts
    real = np.maximum(margin - present, 0.0) if missing else present
    return shares(real, np.full(len(real), alpha), margin, 2.0 * alpha, 1)


def _densities(conditional: Any, chunk: Chunk, n_classes: int) -> list[tuple[int, Floats, list[str]]]:
    """Ask for one attribute at a time, all others missing: what is added is the factor of that one alone."""
    places = [(i, int(place)) for i, place in enumerate(conditional.columns)]
    places = [(i, p) for i, p in places if not np.isnan(chunk.values[0, p]) and is_used(conditional, i)]
    values = np.full((len(places), chunk.values.shape[1]), np.nan)
    for row, (_, place) in enumerate(places):
        values[row, place] = chunk.values[0, place]
    out = np.zeros((len(places), n_classes))
    conditional.add_log_prob(Chunk(len(places), np.empty((len(places), 0), np.uint8), values), out)
    return [
        (
            place,
            out[row],
            [density_working(conditional, i, k, float(values[row, place])) for k in range(n_classes)],
        )
        for row, (i, place) in enumerate(places)
    ]


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
