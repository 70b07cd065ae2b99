"""The log-probability terms of each attribute value, in models with one factor per attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._data.encoded import Chunk
from bayeskit._fitting.model import Model
from bayeskit._schema import Label, Name, Variable
from bayeskit._statistics.moments import Moments
from bayeskit.errors import UsageError

Floats = NDArray[np.float64]

GRID = 161


@dataclass(frozen=True, eq=False)
class Terms:
    """Values of one attribute, and log P(value | c) − log P(unknown | c) of each: shape (m, K)."""

    name: Name
    numeric: bool
    values: tuple[Label, ...]
    logs: Floats


def need_separate_factors(model: Model, who: str, what: str) -> None:
    """Raise an error for a model in which the factor of an attribute depends on others."""
    if model.schema.block is not None:
        raise UsageError(
            "{who} reads all columns as one text, and {what} of every word is no picture. explain(row) takes a row "
            "apart.",
            who=who,
            what=what,
        )
    if not all(conditional.is_separate for conditional in model.conditionals):
        raise UsageError(
            "In {who} what a value says depends on other values, so it has no points of its own. {what} is for "
            "NaiveBayes, GaussianNB, CategoricalNB and WeightedNB; explain(row) takes a row of any model apart.",
            who=who,
            what=what,
        )


def nothing_known(model: Model, n: int = 1) -> Chunk:
    """Return rows in which everything is missing."""
    schema = model.schema
    codes = np.array([[v.size for v in schema.categorical]] * n, dtype=schema.code_dtype)
    values = np.full((n, len(schema.numeric)), np.nan)
    return Chunk(n, codes.reshape(n, len(schema.categorical)), values)


def terms_of(model: Model, variable: Variable, cells: ArrayLike) -> Floats:
    """Return log P(x | c) − log P(unknown | c) of one attribute for these codes or numbers: shape (m, K)."""
    cells = np.asarray(cells)
    chunk, names = nothing_known(model, len(cells)), model.schema
    before = model.joint_chunk(nothing_known(model))
    if variable.kind == "numeric":
        chunk.values[:, names.numeric_index[variable.name]] = cells
    else:
        chunk.codes[:, [v.name for v in names.categorical].index(variable.name)] = cells
    return np.asarray(model.joint_chunk(chunk) - before)


def all_terms(model: Model, moments: Moments | None) -> list[Terms]:
    """Return the terms of every attribute, for all its states or for numbers over the range of its classes."""
    found = []
    for variable in model.schema.attributes:
        if variable.kind == "numeric":
            assert moments is not None
            cells: Any = span_of(moments, model.schema.numeric_index[variable.name], _least(model, variable))
            values: tuple[Label, ...] = tuple(cells.tolist())
        else:
            cells, values = np.arange(variable.size), variable.states
        if len(cells):
            found.append(
                Terms(variable.name, variable.kind == "numeric", values, terms_of(model, variable, cells))
            )
    return found


def span_of(moments: Moments, column: int, least: float = -np.inf, n: int = GRID) -> Floats:
    """Return numbers over the range of the classes: means ± 2.5 standard deviations.

    >>> span_of(Moments.from_sums([[4.0]], [[0.0]], [[0.0]], [[4.0]]), 0, n=3)
    array([-2.5,  0. ,  2.5])
    """
    seen = moments.weight[:, column] > 0
    mean, deviation = moments.mean()[0][seen, column], moments.deviation()[seen, column]
    if not len(mean):
        return np.zeros(1)
    low, high = float((mean - 2.5 * deviation).min()), float((mean + 2.5 * deviation).max())
    return np.linspace(max(low, least), high, n) if high > max(low, least) else np.array([high])


def _least(model: Model, variable: Variable) -> float:
    """Return the lowest value to draw: 0 for a count attribute."""
    return max(c.least(model.schema.numeric_index[variable.name]) for c in model.conditionals)
