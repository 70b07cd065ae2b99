"""The data of a classifier's charts: nomogram, class profile, regions over two attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayeskit._data.encode import encode
from bayeskit._data.table import Table, open_table
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.model import Model, ModelSpec, class_prior_of, weighted_classes
from bayeskit._fitting.naive import Naive
from bayeskit._messages import Joined
from bayeskit._report.charts.class_profile import (
    ClassProfile,
    all_terms,
    class_profile,
    need_separate_factors,
    nothing_known,
    span_of,
    terms_of,
)
from bayeskit._report.charts.nomogram import Nomogram, nomogram
from bayeskit._report.charts.regions import Regions, Side
from bayeskit._report.row import CodedRow, one_row
from bayeskit._report.words import chart_words
from bayeskit._schema import Label, Name, Schema
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import ColumnError, DataError, SettingError, UsageError
from bayeskit.priors import Lidstone, MEstimate, Smoothing, backs_off
from bayeskit.typing import LabelsLike, RowLike, TableLike

if TYPE_CHECKING:
    from bayeskit._classifiers.base_classifier import BaseClassifier


def _spec(model: BaseClassifier) -> tuple[ModelSpec, FittedState]:
    fitted = model._reader("draw")
    assert fitted.spec is not None
    return fitted.spec, fitted


def nomogram_of(
    model: BaseClassifier,
    label: Label | None,
    against: Label | None,
    row: RowLike | None,
    most: int,
    lang: str,
) -> Nomogram:
    """Return the nomogram of a classifier."""
    spec, fitted = _spec(model)
    estimated, statistics = model._model, model.statistics_
    need_separate_factors(estimated, type(model).__name__, "a nomogram")
    schema = estimated.schema
    terms = all_terms(estimated, statistics.moments if schema.numeric else None)
    readings = []
    if row is not None:
        table = fitted.matched(one_row(row), schema)
        shown = CodedRow(schema, table, encode(table, schema, spec.unseen).chunk(0, 1))
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
    model: BaseClassifier, attributes: Sequence[Name] | None, most: int, lang: str
) -> ClassProfile:
    """Return the class profile of a classifier: each attribute given the class alone, ignoring other parents."""
    spec, _ = _spec(model)
    statistics = model.statistics_
    if statistics.schema.block is not None:
        raise UsageError(
            "{kind} reads all columns as one text, so its profile would have a panel for every word.",
            kind=type(model).__name__,
        )
    alone = _naive_model(statistics, spec)
    terms = all_terms(alone, statistics.moments if statistics.schema.numeric else None)
    labels = model._labels(statistics.schema).tolist()
    target = statistics.schema.target.name
    return class_profile(
        terms, np.exp(alone.log_prior), labels, target=target, attributes=attributes, most=most, lang=lang
    )


def _naive_model(statistics: Statistics, spec: ModelSpec) -> Model:
    """Estimate every attribute given the class, ignoring missing values. MEstimate(1) replaces back-off priors."""
    smoothing = spec.smoothing
    default, by_name = smoothing.default, smoothing.by_name
    plain = MEstimate(1.0) if backs_off(default) else default
    others = {name: MEstimate(1.0) if backs_off(prior) else prior for name, prior in by_name.items()}
    plain_smoothing = Smoothing(plain or Lidstone(1.0), others, smoothing.numeric)
    simple = replace(
        spec, form=Naive(), smoothing=plain_smoothing, missing="ignore", unseen="ignore", covariance=None
    )
    weighted = weighted_classes(statistics, spec)
    prior = class_prior_of(weighted, simple)
    return Model(statistics.schema, prior.log, Naive().conditionals(weighted, simple, prior))


class RegionSettings(NamedTuple):
    """The parameters of ``regions``."""

    x: Name
    y: Name
    given: Mapping[Any, object] | None
    rows: Any
    labels: Any
    grid: int
    lang: str


def regions_of(model: BaseClassifier, view: RegionSettings) -> Regions:
    """Compute the posterior of a classifier of counts over two of its attributes."""
    x, y, given, rows, labels, grid, lang = view
    fitted = _spec(model)[1]

    def span(name: Name, n: int) -> Any:
        statistics = model.statistics_
        return span_of(statistics.moments, statistics.schema.numeric_index[name], n=n)

    chart_words(lang)
    schema, known = model.schema_, dict(given or {})
    if schema.block is not None:
        raise UsageError(
            "{kind} reads all columns as one text; regions are for two attributes.", kind=type(model).__name__
        )
    for name in (x, y, *known):
        if name not in schema.position:
            listed = Joined(repr(v.name) for v in schema.attributes[:12])
            raise ColumnError("There is no attribute {name!r}. There are {listed}.", name=name, listed=listed)
    if x == y or x in known or y in known:
        raise SettingError(
            "x, y and given must name different attributes, not {x!r}, {y!r} and {known!r}.",
            x=x,
            y=y,
            known=list(known),
        )
    if isinstance(grid, bool) or not isinstance(grid, (int, np.integer)) or not 2 <= grid <= 400:
        raise SettingError("grid is {grid!r}; give a whole number from 2 to 400.", grid=grid)
    across, up = (_side(schema, span, name, int(grid)) for name in (x, y))
    n = len(across.values) * len(up.values)
    cells: dict[Name, Any] = {name: [value] * n for name, value in known.items()}
    cells[x] = list(across.values) * len(up.values)
    cells[y] = [value for value in up.values for _ in across.values]
    posterior = model.predict_proba(_rows(schema, cells, n, fitted.named))
    dots = _dots(model, fitted, rows, labels, x, y)
    return Regions(
        schema.target.name,
        tuple(model._labels(schema).tolist()),
        across,
        up,
        posterior.reshape(len(up.values), len(across.values), -1),
        tuple(known.items()),
        dots,
        lang,
    )


def _side(schema: Schema, span: Callable[[Name, int], Any], name: Name, grid: int) -> Side:
    variable = schema[name]
    if variable.cuts is not None:
        if not variable.cuts:
            raise UsageError(
                "{name!r} was cut into a single interval, so it carries no information about the class. Choose "
                "another.",
                name=name,
            )
        margin = 0.5 * (variable.cuts[-1] - variable.cuts[0]) or max(abs(variable.cuts[0]), 1.0) * 0.5
        values = np.linspace(variable.cuts[0] - margin, variable.cuts[-1] + margin, grid)
        return Side(name, True, tuple(values.tolist()))
    if variable.kind == "numeric":
        return Side(name, True, tuple(span(name, grid).tolist()))
    if not variable.size:
        raise UsageError("{name!r} has no states: it was missing in every training row.", name=name)
    return Side(name, False, variable.states)


def _rows(schema: Schema, cells: Mapping[Name, Any], n: int, named: bool) -> Any:
    """Return a table with the given cells; all other cells are missing."""
    columns: dict[Name, Any] = {}
    for variable in schema.attributes:
        numeric = variable.kind == "numeric" or variable.cuts is not None
        column = np.full(n, np.nan) if numeric else np.full(n, None, dtype=object)
        if variable.name in cells:
            column[:] = cells[variable.name]
        columns[variable.name] = column
    if named:
        return columns
    matrix = np.empty((n, len(columns)), dtype=object)
    for j, column in enumerate(columns.values()):
        matrix[:, j] = column
    return matrix


def _dots(
    model: BaseClassifier,
    fitted: FittedState,
    rows: TableLike | None,
    labels: LabelsLike | None,
    x: Name,
    y: Name,
) -> tuple[tuple[Any, Any, int], ...]:
    if rows is None:
        return ()
    table = fitted.matched(open_table(rows), model.schema_)
    classes = model.classes_.tolist()
    found = [None] * table.n_rows if labels is None else np.asarray(labels).tolist()
    if len(found) != table.n_rows or any(label not in classes for label in found):
        raise DataError(
            "labels= must give the class of each of the {n_rows} rows, one of {names}.",
            n_rows=table.n_rows,
            names=Joined(map(repr, classes[:8])),
        )
    columns = [_column(table, model.schema_, name) for name in (x, y)]
    return tuple((a, b, classes.index(label)) for a, b, label in zip(*columns, found, strict=True))


def _column(table: Table, schema: Schema, name: Name) -> list[Any]:
    j = schema.position[name]
    if table.frame is not None:
        cells = table.frame.get_column(table.names[j]).to_list()
    else:
        cells = table.raw(j).tolist()
    return [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
