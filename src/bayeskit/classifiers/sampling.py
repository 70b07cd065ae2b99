"""Rows drawn from a fitted model, in the shape of the rows it was learned from."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import SettingError
from bayeskit.estimation.presence import Presence
from bayeskit.estimation.table import TableConditional
from bayeskit.learning.naive import Model
from bayeskit.schema import Label, Schema


def draw_classes(
    model: Model, n: int, rng: np.random.Generator, given_class: Label | None
) -> NDArray[np.intp]:
    """Draw n classes from the prior, or repeat the one given."""
    if n < 0:
        raise SettingError(f"n is {n!r}; it cannot be negative.")
    if given_class is not None:
        return np.full(n, model.schema.target.code_of(given_class), dtype=np.intp)
    prior = np.exp(model.log_prior)
    return rng.choice(len(prior), size=n, p=prior / prior.sum()).astype(np.intp)


def draw_columns(
    model: Model, classes: NDArray[np.intp], rng: np.random.Generator
) -> dict[Any, NDArray[Any]]:
    """Draw every attribute given the class: a column of labels or numbers each."""
    schema = model.schema
    codes = np.zeros((len(classes), len(schema.categorical)), dtype=np.intp)
    values = np.full((len(classes), len(schema.numeric)), np.nan)
    absent: list[tuple[NDArray[np.intp], NDArray[Any]]] = []
    for conditional in model.conditionals:
        if isinstance(conditional, TableConditional):
            codes = conditional.sample(classes, rng)
        elif isinstance(conditional, Presence):
            absent.append((conditional.columns, np.isnan(conditional.sample(classes, rng))))
        else:
            values[:, conditional.columns] = conditional.sample(classes, rng)
    for columns, missing in absent:
        values[:, columns] = np.where(missing, np.nan, values[:, columns])
    return _labelled(schema, codes, values)


def _labelled(schema: Schema, codes: NDArray[np.intp], values: NDArray[Any]) -> dict[Any, NDArray[Any]]:
    categorical = {v.name: j for j, v in enumerate(schema.categorical)}
    columns: dict[Any, NDArray[Any]] = {}
    for variable in schema.attributes:
        if variable.name in categorical:
            labels = np.empty(variable.size, dtype=object)
            labels[:] = variable.states
            columns[variable.name] = labels[codes[:, categorical[variable.name]]]
        else:
            columns[variable.name] = values[:, schema.numeric_index[variable.name]]
    return columns


def sample_rows(
    model: Model, named: bool, n: int, rng: np.random.Generator, given_class: Label | None
) -> Any:
    """Return (X, class codes): a frame if the model knows column names, else an array."""
    classes = draw_classes(model, n, rng, given_class)
    if model.schema.block is not None:
        return model.conditionals[0].sample(classes, rng), classes
    columns = draw_columns(model, classes, rng)
    if named:
        if find_spec("pandas") is not None:
            import pandas as pd

            return pd.DataFrame(columns), classes
        return columns, classes
    numeric = not model.schema.categorical
    rows = np.empty((n, len(columns)), dtype=np.float64 if numeric else object)
    for j, column in enumerate(columns.values()):
        rows[:, j] = column
    return rows, classes
