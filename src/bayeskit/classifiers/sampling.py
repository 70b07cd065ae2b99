"""Rows drawn from a fitted model, in the shape of the rows it was learned from."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.classifiers.sampling_average import draw_average
from bayeskit.classifiers.sampling_gaussian import draw_children
from bayeskit.errors import SettingError, UsageError
from bayeskit.estimation.averaged import Averaged
from bayeskit.estimation.child_gaussians import ChildGaussians
from bayeskit.estimation.covariance import GaussianClasses
from bayeskit.estimation.families import FamilyTries
from bayeskit.estimation.gaussian import Gaussian
from bayeskit.estimation.kernel_density import KernelDensity
from bayeskit.estimation.one_parent import OneParent
from bayeskit.estimation.poisson import Poisson
from bayeskit.estimation.presence import Presence
from bayeskit.estimation.student import Student
from bayeskit.estimation.table import TableConditional
from bayeskit.learning.model import Model
from bayeskit.schema import Label, Schema

Codes = NDArray[np.intp]
Floats = NDArray[np.float64]

# Those that draw codes come before those that are given codes.
_OF_CODES = (TableConditional, OneParent, FamilyTries)
_OF_VALUES = (Gaussian, Student, KernelDensity, Poisson, GaussianClasses)
_KNOWN = (*_OF_CODES, *_OF_VALUES, ChildGaussians, Presence)


def draw_classes(model: Model, n: int, rng: np.random.Generator, given_class: Label | None) -> Codes:
    """Draw n classes from the prior, or repeat the one given."""
    if given_class is not None:
        return np.full(n, model.schema.target.code_of(given_class), dtype=np.intp)
    prior = np.exp(model.log_prior)
    return rng.choice(len(prior), size=n, p=prior / prior.sum()).astype(np.intp)


def draw_codes(
    model: Model, n: int, rng: np.random.Generator, given_class: Label | None = None
) -> tuple[Codes, Codes, Floats]:
    """Draw classes, codes and numbers: first the class, then every attribute after its parents."""
    conditionals = model.conditionals
    averaged = next((c for c in conditionals if isinstance(c, Averaged)), None)
    if averaged is not None:
        others = tuple(c for c in conditionals if c is not averaged)
        only = None if given_class is None else model.schema.target.code_of(given_class)
        drawn = draw_average(averaged, n, rng, only)
        if drawn is not None:
            return (*drawn[:2], _draw_values(others, drawn[0], drawn[1], drawn[2], rng))
        conditionals = (*averaged.alone, *others)
    strange = next((c for c in conditionals if not isinstance(c, _KNOWN)), None)
    if strange is not None:
        raise UsageError(
            f"No rows can be drawn from a model of {type(strange).__name__}: it has no distribution that is drawn "
            "one attribute after the other. NaiveBayes, SPODE, TAN, KDB and AODE have one."
        )
    classes = draw_classes(model, n, rng, given_class)
    codes = np.zeros((n, len(model.schema.categorical)), dtype=np.intp)
    for conditional in conditionals:
        if isinstance(conditional, _OF_CODES):
            codes = conditional.sample(classes, rng)
    values = np.full((n, len(model.schema.numeric)), np.nan)
    return classes, codes, _draw_values(conditionals, classes, codes, values, rng)


def _draw_values(
    conditionals: tuple[Any, ...], classes: Codes, codes: Codes, values: Floats, rng: np.random.Generator
) -> Floats:
    """Draw the numeric attributes into ``values``; last, which of them are missing where that is a state."""
    absent: list[tuple[NDArray[np.intp], NDArray[np.bool_]]] = []
    for conditional in conditionals:
        if isinstance(conditional, Presence):
            absent.append((conditional.columns, np.isnan(conditional.sample(classes, rng))))
        elif isinstance(conditional, ChildGaussians):
            values = draw_children(conditional.cell_gaussian, conditional.parents, classes, codes, rng)
        elif isinstance(conditional, _OF_VALUES):
            values[:, conditional.columns] = conditional.sample(classes, rng)
    for columns, missing in absent:
        values[:, columns] = np.where(missing, np.nan, values[:, columns])
    return values


def _labelled(schema: Schema, codes: Codes, values: Floats) -> dict[Any, NDArray[Any]]:
    categorical = {v.name: j for j, v in enumerate(schema.categorical)}
    columns: dict[Any, NDArray[Any]] = {}
    for variable in schema.attributes:
        if variable.name in categorical:
            # The code after the last state is "missing", which a model may draw as a state of its own.
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

    A numeric attribute that the model has cut into intervals is drawn as the label of its interval, for nothing is
    known of where in it the numbers lie. Where missing is a state of an attribute with parents, or an attribute was
    not taken into the model, the cell is None.
    """
    if n < 0:
        raise SettingError(f"n is {n!r}; it cannot be negative.")
    if model.schema.block is not None:
        classes = draw_classes(model, n, rng, given_class)
        return model.conditionals[0].sample(classes, rng), classes
    classes, codes, values = draw_codes(model, n, rng, given_class)
    columns = _labelled(model.schema, codes, values)
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
