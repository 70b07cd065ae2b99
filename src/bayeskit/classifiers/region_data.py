"""The numbers of a picture of regions: the posterior on a grid over two attributes, and rows as dots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayeskit.data.encode import match_columns
from bayeskit.data.table import Table, open_table
from bayeskit.errors import ColumnError, DataError, SettingError, UsageError
from bayeskit.report.charts.regions import Regions, Side
from bayeskit.report.charts.words import chart_words
from bayeskit.schema import Name, Schema
from bayeskit.typing import LabelsLike, TableLike

if TYPE_CHECKING:
    from bayeskit.classifiers.asked import Asked


class View(NamedTuple):
    """What is to be seen; the parameters of ``regions``."""

    x: Name
    y: Name
    given: Mapping[Any, object] | None
    rows: Any
    labels: Any
    grid: int
    lang: str


class Reader(NamedTuple):
    """What is known of the columns that a model was learned from."""

    names: tuple[Name, ...]
    named: bool
    who: str


def regions_of(model: Asked, reader: Reader, span: Callable[[Name, int], Any], view: View) -> Regions:
    """Ask a classifier for the posterior over two of its attributes; ``span`` tells which numbers one has."""
    x, y, given, rows, labels, grid, lang = view
    chart_words(lang)
    schema, known = model.schema_, dict(given or {})
    if schema.block is not None:
        raise UsageError(
            f"{type(model).__name__} reads all columns as one text; regions are for two attributes."
        )
    for name in (x, y, *known):
        if name not in schema.position:
            listed = ", ".join(repr(v.name) for v in schema.attributes[:12])
            raise ColumnError(f"There is no attribute {name!r}. There are {listed}.")
    if x == y or x in known or y in known:
        raise SettingError(
            f"x, y and given must name different attributes, not {x!r}, {y!r} and {list(known)!r}."
        )
    if isinstance(grid, bool) or not isinstance(grid, (int, np.integer)) or not 2 <= grid <= 400:
        raise SettingError(f"grid is {grid!r}; give a whole number from 2 to 400.")
    across, up = (_side(schema, span, name, int(grid)) for name in (x, y))
    n = len(across.values) * len(up.values)
    cells: dict[Name, Any] = {name: [value] * n for name, value in known.items()}
    cells[x] = list(across.values) * len(up.values)
    cells[y] = [value for value in up.values for _ in across.values]
    posterior = model.predict_proba(_rows(schema, cells, n, reader.named))
    dots = _dots(model, reader, rows, labels, x, y)
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
                f"{name!r} was cut into one interval: it tells nothing of the class. Choose another."
            )
        margin = 0.5 * (variable.cuts[-1] - variable.cuts[0]) or max(abs(variable.cuts[0]), 1.0) * 0.5
        values = np.linspace(variable.cuts[0] - margin, variable.cuts[-1] + margin, grid)
        return Side(name, True, tuple(values.tolist()))
    if variable.kind == "numeric":
        return Side(name, True, tuple(span(name, grid).tolist()))
    if not variable.size:
        raise UsageError(f"{name!r} has no states: it was missing in every row learned.")
    return Side(name, False, variable.states)


def _rows(schema: Schema, cells: Mapping[Name, Any], n: int, named: bool) -> Any:
    """Make a table of these cells, all others missing."""
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
    model: Asked, reader: Reader, rows: TableLike | None, labels: LabelsLike | None, x: Name, y: Name
) -> tuple[tuple[Any, Any, int], ...]:
    if rows is None:
        return ()
    table = match_columns(open_table(rows), model.schema_, reader.names if reader.named else None, reader.who)
    classes = model.classes_.tolist()
    found = [None] * table.n_rows if labels is None else np.asarray(labels).tolist()
    if len(found) != table.n_rows or any(label not in classes for label in found):
        raise DataError(
            f"labels= gives the class of each of the {table.n_rows} rows, one of {', '.join(map(repr, classes[:8]))}."
        )
    columns = [_column(table, model.schema_, name) for name in (x, y)]
    return tuple((a, b, classes.index(label)) for a, b, label in zip(*columns, found))


def _column(table: Table, schema: Schema, name: Name) -> list[Any]:
    j = schema.position[name]
    if table.frame is not None:
        cells = table.frame.get_column(table.names[j]).to_list()
    else:
        cells = table.raw(j).tolist()
    return [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
