"""Model × statistics × one row → its explanation: the same numbers as the prediction, taken one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.chunk import Chunk
from bayeskit.data.columns import is_missing
from bayeskit.data.encode import Policy, encode
from bayeskit.data.table import Table
from bayeskit.errors import DataError
from bayeskit.estimation.class_prior import class_factors
from bayeskit.estimation.covariance import GaussianClasses
from bayeskit.estimation.presence import Presence
from bayeskit.estimation.table import TableConditional
from bayeskit.learning.naive import Model
from bayeskit.learning.recipe import Recipe
from bayeskit.report.explanation import Attribute, Explanation, Factor, LeftOut, PriorSource
from bayeskit.report.families import density_working, is_used
from bayeskit.report.fractions import fraction
from bayeskit.report.words import words_of
from bayeskit.schema import Variable
from bayeskit.statistics import Statistics

Floats = NDArray[np.float64]
Item = Attribute | LeftOut


def explain(
    model: Model,
    statistics: Statistics,
    recipe: Recipe,
    table: Table,
    labels: Any = None,
    *,
    threshold: float | None = None,
    lang: str = "en",
) -> Explanation:
    """Take the prediction of one row apart into its factors.

    Parameters
    ----------
    model : Model
        As estimated from ``statistics`` by ``recipe``.
    statistics : Statistics
        The raw counts, from which the fractions are written.
    recipe : Recipe
    table : Table
        One row, its columns in the order of the schema.
    labels : sequence, optional
        What to call the classes; the states of the target unless given.
    threshold : float, optional
        Where a block of words is cut into present and absent.
    lang : "en" or "zh"

    Examples
    --------
    >>> from bayeskit import NaiveBayes
    >>> from bayeskit.report import one_row
    >>> nb = NaiveBayes().fit([["a"], ["b"], ["a"]], ["yes", "no", "yes"])
    >>> page = explain(nb._model, nb.statistics_, nb._fitted.recipe, one_row(["a"]))
    >>> [f.working for f in page.prior], [f.working for f in page.attributes[0].factors]
    (['(1+1)/(3+2)', '(2+1)/(3+2)'], ['(0+1)/(1+2)', '(2+1)/(2+2)'])
    """
    words_of(lang)
    if table.n_rows != 1:
        raise DataError(f"One row is explained at a time, not {table.n_rows}.")
    schema = model.schema
    policy: Policy = recipe.unseen
    chunk = encode(table, schema, policy, threshold=threshold).chunk(0, 1)
    weights = class_factors(recipe.class_weight, statistics.class_counts, schema.target)
    if weights is not None:
        statistics = statistics.scale(weights)
    prior, source = _prior(model, statistics, recipe)
    items: dict[Any, Item] = {}
    for conditional in model.conditionals:
        if isinstance(conditional, TableConditional):
            items |= _tables(conditional, chunk, statistics, recipe, table)
    items |= _numeric(model, chunk, statistics, recipe)
    if schema.block is not None:
        items[schema.block.name] = _block(model, chunk, schema.block, recipe)
    places = {v.name: i for i, v in enumerate(schema.attributes)}
    ordered = [items[name] for name in sorted(items, key=lambda name: places.get(name, len(places)))]
    states = schema.target.states if labels is None else labels
    return Explanation(
        target=schema.target.name,
        classes=tuple(s.item() if isinstance(s, np.generic) else s for s in states),
        prior=prior,
        attributes=tuple(item for item in ordered if isinstance(item, Attribute)),
        left_out=tuple(item for item in ordered if isinstance(item, LeftOut)),
        prior_source=source,
        lang=lang,
    )


def _prior(model: Model, statistics: Statistics, recipe: Recipe) -> tuple[tuple[Factor, ...], PriorSource]:
    k = len(model.log_prior)
    if not model.adds_prior:
        return (Factor(0.0),) * k, "unused"
    if recipe.class_prior is not None:
        return tuple(Factor(float(log)) for log in model.log_prior), "given"
    counts = statistics.class_counts
    imaginary = recipe.class_smoothing.cells(model.schema.target, 1)
    workings = _shares(counts, imaginary, np.full(k, counts.sum()), float(imaginary.sum()), k)
    return _with_workings(model.log_prior, workings), "counts"


def _tables(
    conditional: TableConditional, chunk: Chunk, statistics: Statistics, recipe: Recipe, table: Table
) -> dict[Any, Item]:
    schema = statistics.schema
    items: dict[Any, Item] = {}
    for i, variable in enumerate(schema.categorical):
        code = int(chunk.codes[0, i])
        logs = conditional.log_table[int(conditional.offsets[i]) + code]
        raw = _cell(table, schema.position[variable.name])
        if code < variable.size:
            raw = variable.states[code]
        elif not logs.any():
            items[variable.name] = LeftOut(variable.name, raw, "unseen" if raw is not None else "missing")
            continue
        start, stop = int(schema.offsets[i]), int(schema.offsets[i + 1])
        workings = _cell_shares(
            statistics.tables.counts[start:stop], variable, code, schema.n_classes, recipe
        )
        factors = _with_workings(logs, workings)
        items[variable.name] = Attribute(variable.name, raw, "table", factors, code == variable.size)
    return items


def _cell_shares(counts: Floats, variable: Variable, code: int, n_classes: int, recipe: Recipe) -> list[str]:
    """Write P(code | c) for each class, from n(v, c) with the missing ones in the last row."""
    imaginary = recipe.smoothing.of(variable).cells(variable, n_classes)
    one_more = float(imaginary.mean()) if variable.size else 1.0
    total, prior_total = counts[:-1].sum(axis=0), float(imaginary.sum())
    if recipe.missing == "state" and counts[-1].any():
        total, prior_total = total + counts[-1], prior_total + one_more
    if recipe.unseen == "smooth":
        prior_total += one_more
    real = counts[code] if code <= variable.size else np.zeros(n_classes)
    added = imaginary[code] if code < variable.size else one_more
    return _shares(real, np.full(n_classes, added), total, prior_total, variable.size)


def _shares(real: Floats, imaginary: Floats, total: Floats, prior_total: float, states: int) -> list[str]:
    """Write each (n + a)/(N + A); without rows and prior every state is alike."""
    return [
        fraction(n, a, whole, prior_total) if whole + prior_total > 0 else fraction(1.0, 0.0, states, 0.0)
        for n, a, whole in zip(real.tolist(), imaginary.tolist(), total.tolist())
    ]


def _numeric(model: Model, chunk: Chunk, statistics: Statistics, recipe: Recipe) -> dict[Any, Item]:
    """Explain the numeric attributes: a density each, and P(present | c) where missingness is a state."""
    variables, n_classes = model.schema.numeric, len(model.log_prior)
    found: dict[int, list[tuple[str, Floats, list[str]]]] = {}
    items: dict[Any, Item] = {}
    for conditional in model.conditionals:
        if isinstance(conditional, Presence):
            for i, place in enumerate(conditional.columns.tolist()):
                missing = bool(np.isnan(chunk.values[0, place]))
                logs = (conditional.log_missing if missing else conditional.log_present)[i]
                workings = _presence_shares(statistics, place, missing, recipe.alpha)
                found.setdefault(place, []).append(("presence", logs, workings))
        elif isinstance(conditional, GaussianClasses):
            items |= _together(conditional, chunk, model)
        elif hasattr(conditional, "columns"):
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
            factors = _with_workings(logs, workings)
            items[variable.name] = Attribute(
                variable.name, None if missing else x, parts[-1][0], factors, missing
            )
        elif missing or recipe.covariance is None:
            items[variable.name] = LeftOut(
                variable.name, None if missing else x, "missing" if missing else "constant"
            )
    return items


def _presence_shares(statistics: Statistics, place: int, missing: bool, alpha: float) -> list[str]:
    present, margin = statistics.moments.weight[:, place], statistics.class_counts
    real = np.maximum(margin - present, 0.0) if missing else present
    return _shares(real, np.full(len(real), alpha), margin, 2.0 * alpha, 1)


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


def _together(conditional: GaussianClasses, chunk: Chunk, model: Model) -> dict[Any, Item]:
    """Explain attributes that are jointly Gaussian: they are one factor."""
    varying = conditional.columns[conditional.varying].tolist()
    items: dict[Any, Item] = {}
    for place in sorted(set(conditional.columns.tolist()) - set(varying)):
        x = float(chunk.values[0, place])
        name = model.schema.numeric[place].name
        items[name] = LeftOut(name, None if x != x else x, "missing" if x != x else "constant")
    used = [place for place in varying if not np.isnan(chunk.values[0, place])]
    if used:
        names = tuple(model.schema.numeric[place].name for place in used)
        out = np.zeros((1, len(model.log_prior)))
        conditional.add_log_prob(chunk, out)
        values = tuple(float(chunk.values[0, place]) for place in used)
        workings = [f"N(x; μ, Σ), {len(used)}d"] * out.shape[1]
        items[names] = Attribute(names, values, "covariance", _with_workings(out[0], workings))
    return items


def _block(model: Model, chunk: Chunk, variable: Variable, recipe: Recipe) -> Attribute:
    out = np.zeros((1, len(model.log_prior)))
    for conditional in model.conditionals:
        conditional.add_log_prob(chunk, out)
    present = int(chunk.block.nnz if hasattr(chunk.block, "nnz") else np.count_nonzero(chunk.block))
    factors = tuple(Factor(float(log)) for log in out[0])
    return Attribute(variable.name, f"{present}/{variable.width}", recipe.block_family, factors)


def _with_workings(logs: Floats, workings: list[str]) -> tuple[Factor, ...]:
    return tuple(Factor(float(log), working) for log, working in zip(logs, workings, strict=True))


def _cell(table: Table, j: int) -> Any:
    """Return the value as it was given; None where it is missing."""
    value = table.raw(j)[0] if table.frame is None else table.frame.get_column(table.names[j]).to_list()[0]
    return None if is_missing(value) else value.item() if isinstance(value, np.generic) else value
