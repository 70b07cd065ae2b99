"""From a fitted classifier to the numbers of its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.classifiers.region_data import Reader, View, regions_of
from bayeskit.data.encode import encode, match_columns
from bayeskit.errors import UsageError
from bayeskit.learning.model import Model, Recipe, class_prior_of, weighted_classes
from bayeskit.learning.naive import Naive
from bayeskit.priors import Lidstone, MEstimate, Smoothing, backs_off
from bayeskit.report.charts.class_profile import ClassProfile, class_profile
from bayeskit.report.charts.nomogram import Nomogram, nomogram
from bayeskit.report.charts.regions import Regions
from bayeskit.report.charts.terms import all_terms, need_separate_factors, nothing_known, span_of, terms_of
from bayeskit.report.row import one_row
from bayeskit.report.shown import Shown
from bayeskit.schema import Label, Name
from bayeskit.statistics import Statistics
from bayeskit.typing import RowLike

if TYPE_CHECKING:
    from bayeskit.classifiers.base import CountClassifier


def _recipe(model: CountClassifier) -> tuple[Recipe, Any]:
    fitted = model._reader("draw")
    assert fitted.recipe is not None
    return fitted.recipe, fitted


def nomogram_of(
    model: CountClassifier,
    label: Label | None,
    against: Label | None,
    row: RowLike | None,
    most: int,
    lang: str,
) -> Nomogram:
    """Make the nomogram of a classifier."""
    recipe, fitted = _recipe(model)
    estimated, statistics = model._model, model.statistics_
    need_separate_factors(estimated, type(model).__name__, "a nomogram")
    schema = estimated.schema
    terms = all_terms(estimated, statistics.moments if schema.numeric else None)
    readings = []
    if row is not None:
        names = fitted.names if fitted.named else None
        table = match_columns(one_row(row), schema, names, type(model).__name__)
        shown = Shown(schema, table, encode(table, schema, recipe.unseen).chunk(0, 1))
        for variable in schema.attributes:
            if variable.kind == "numeric":
                cell = shown.chunk.values[:, schema.numeric_index[variable.name]]
            else:
                cell = shown.chunk.codes[:, [v.name for v in schema.categorical].index(variable.name)]
            readings.append((variable.name, shown.raw(variable.name), terms_of(estimated, variable, cell)[0]))
    return nomogram(
        terms,
        estimated.joint_chunk(nothing_known(estimated))[0],
        model._labels(schema).tolist(),
        target=schema.target.name,
        label=label,
        against=against,
        row=readings,
        most=most,
        lang=lang,
    )


def class_profile_of(
    model: CountClassifier, attributes: Sequence[Name] | None, most: int, lang: str
) -> ClassProfile:
    """Make the class profile of a classifier, whatever depends on what in it: each attribute given the class alone."""
    recipe, _ = _recipe(model)
    statistics = model.statistics_
    if statistics.schema.block is not None:
        raise UsageError(
            f"{type(model).__name__} reads all columns as one text; a profile of every word is no picture."
        )
    alone = _naive_model(statistics, recipe)
    terms = all_terms(alone, statistics.moments if statistics.schema.numeric else None)
    labels = model._labels(statistics.schema).tolist()
    target = statistics.schema.target.name
    return class_profile(
        terms, np.exp(alone.log_prior), labels, target=target, attributes=attributes, most=most, lang=lang
    )


def _naive_model(statistics: Statistics, recipe: Recipe) -> Model:
    """Estimate every attribute given the class, present values only; a prior that leans on parents spreads one row."""
    smoothing = recipe.smoothing
    default, by_name = smoothing.default, smoothing.by_name
    plain = MEstimate(1.0) if backs_off(default) else default
    others = {name: MEstimate(1.0) if backs_off(prior) else prior for name, prior in by_name.items()}
    plain_smoothing = Smoothing(plain or Lidstone(1.0), others, smoothing.numeric)
    simple = replace(
        recipe, form=Naive(), smoothing=plain_smoothing, missing="ignore", unseen="ignore", covariance=None
    )
    weighted = weighted_classes(statistics, recipe)
    prior = class_prior_of(weighted, simple)
    return Model(statistics.schema, prior.log, Naive().conditionals(weighted, simple, prior))


def counted_regions(model: CountClassifier, view: View) -> Regions:
    """Ask a classifier of counts for the posterior over two of its attributes."""
    fitted = _recipe(model)[1]

    def span(name: Name, n: int) -> Any:
        statistics = model.statistics_
        return span_of(statistics.moments, statistics.schema.numeric_index[name], n=n)

    return regions_of(model, Reader(fitted.names, fitted.named, fitted.who), span, view)
