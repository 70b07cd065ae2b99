"""Samples of rows from a fitted model, in the same form as the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.conditional import Codes, Conditional, DrawnRows
from bayeskit._fitting.model import Model
from bayeskit._schema import Label, Schema
from bayeskit.errors import SettingError
from bayeskit.typing import Floats


def draw_classes(model: Model, n: int, rng: np.random.Generator, given_class: Label | None) -> Codes:
    """Draw n classes from the prior, or repeat the one given."""
    if given_class is not None:
        return np.full(n, model.schema.target.code_of(given_class), dtype=np.intp)
    prior = np.exp(model.log_prior)
    return rng.choice(len(prior), size=n, p=prior / prior.sum()).astype(np.intp)


def draw_codes(
    model: Model, n: int, rng: np.random.Generator, given_class: Label | None = None
) -> tuple[Codes, Codes, Floats]:
    """Draw classes, codes and numbers: first the class, then the attributes, each after its parents."""
    conditionals = model.conditionals
    first = next((c for c in conditionals if c.supports("sample_all")), None)
    if first is not None:
        others = tuple(c for c in conditionals if c is not first)
        only = None if given_class is None else model.schema.target.code_of(given_class)
        rows = first.sample_all(n, rng, only)
        if rows is not None:
            return _draw_attributes(others, rows, rng)
        conditionals = (*first.in_its_place(), *others)
    classes = draw_classes(model, n, rng, given_class)
    codes = np.zeros((n, len(model.schema.categorical)), dtype=np.intp)
    values = np.full((n, len(model.schema.numeric)), np.nan)
    # Conditionals that draw codes come before those whose parents are codes.
    ordered = sorted(conditionals, key=lambda conditional: not conditional.has_tables)
    return _draw_attributes(ordered, DrawnRows(classes, codes, values), rng)


def _draw_attributes(
    conditionals: Sequence[Conditional], rows: DrawnRows, rng: np.random.Generator
) -> tuple[Codes, Codes, Floats]:
    """Draw all attributes of the rows. If missing is a state, draw at the end which numbers are missing."""
    for conditional in conditionals:
        conditional.sample_into(rows, rng)
    return rows.classes, rows.codes, rows.finished()


def _labelled(schema: Schema, codes: Codes, values: Floats) -> dict[Any, NDArray[Any]]:
    categorical = {v.name: j for j, v in enumerate(schema.categorical)}
    columns: dict[Any, NDArray[Any]] = {}
    for variable in schema.attributes:
        if variable.name in categorical:
            # The code after the last state means missing, and a model may draw it like a state.
            labels = np.empty(variable.size + 1, dtype=object)
            labels[:-1], labels[-1] = variable.states, None
            columns[variable.name] = labels[codes[:, categorical[variable.name]]]
        else:
            columns[variable.name] = values[:, schema.numeric_index[variable.name]]
    return columns


def sample_rows(
    model: Model, named: bool, n: int, rng: np.random.Generator, given_class: Label | None
) -> Any:
    """Return (X, class codes): a frame if the model knows column names, else an array.

    A numeric attribute that the model has cut into intervals is drawn as the label of its interval, because
    nothing is known about the distribution within the interval. The cell is None if missing is a state of an
    attribute with parents, or if the attribute is not in the model.
    """
    if n < 0:
        raise SettingError("n_samples is {n_samples!r}; it cannot be negative.", n_samples=n)
    if model.schema.block is not None:
        classes = draw_classes(model, n, rng, given_class)
        rows = DrawnRows(classes, np.zeros((n, 0), dtype=np.intp), np.zeros((n, 0)))
        for conditional in model.conditionals:
            conditional.sample_into(rows, rng)
        return rows.block, classes
    classes, codes, values = draw_codes(model, n, rng, given_class)
    columns = _labelled(model.schema, codes, values)
    if named:
        if find_spec("pandas") is not None:
            import pandas as pd

            return pd.DataFrame(columns), classes
        return columns, classes
    numeric = not model.schema.categorical
    array = np.empty((n, len(columns)), dtype=np.float64 if numeric else object)
    for j, column in enumerate(columns.values()):
        array[:, j] = column
    return array, classes
