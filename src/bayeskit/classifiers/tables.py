"""A table of the model with its labels on: classes × states, probabilities and counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from bayeskit.classifiers.dependent_table import DependentTable, dependent_table
from bayeskit.errors import ColumnError, UsageError
from bayeskit.estimation.conditional import DiscreteConditional
from bayeskit.learning.model import Model
from bayeskit.schema import Label, Name, Schema
from bayeskit.statistics import Statistics
from bayeskit.typing import Floats


@dataclass(frozen=True)
class LabelledTable:
    """P(x = v | c) with the counts it came from; rows are classes, columns states.

    Examples
    --------
    >>> from bayeskit import NaiveBayes
    >>> table = NaiveBayes().fit([["a"], ["b"], ["a"]], [0, 0, 1]).table("x0")
    >>> table.states, table.counts.tolist()
    (('a', 'b'), [[1.0, 1.0], [1.0, 0.0]])
    >>> float(table[1, "a"])
    0.6666666666666666
    """

    name: Name
    classes: tuple[Label, ...]
    states: tuple[Label, ...]
    probabilities: Floats
    counts: Floats

    def __getitem__(self, key: tuple[Label, Label]) -> float:
        label, state = key
        try:
            return float(self.probabilities[self.classes.index(label), self.states.index(state)])
        except ValueError:
            raise ColumnError(
                f"{self.name!r} has classes {list(self.classes)!r} and states {list(self.states)!r}, not {key!r}."
            ) from None

    def to_frame(self) -> Any:
        """Return the probabilities as a pandas frame: classes × states."""
        import pandas as pd

        return pd.DataFrame(self.probabilities, index=list(self.classes), columns=list(self.states))

    def _repr_html_(self) -> str:
        from bayeskit.report.html import as_html
        from bayeskit.report.page import Page

        pairs = zip(self.classes, self.probabilities.tolist(), self.counts.tolist())
        rows = tuple((str(c), *(f"{p:.4g} ({n:g})" for p, n in zip(ps, ns))) for c, ps, ns in pairs)
        title = f"P({self.name} | class), with counts"
        return as_html(Page(title, ("class", *map(str, self.states)), rows, (), ()))


def labelled_table(model: Model, statistics: Statistics, name: Name) -> LabelledTable:
    """Find the table of one attribute, or of the class itself."""
    schema = model.schema
    classes = schema.target.states
    if name == schema.target.name:
        prior = np.exp(model.log_prior)
        return LabelledTable(name, classes, ("P",), prior[:, None], statistics.class_counts[:, None])
    j = _place(schema, name)
    tables = _tables(model)
    assert tables is not None
    probabilities = tables.table_of(j, (), [range(schema[name].size)]).T
    counts = tables.counts_of(statistics, j).T
    return LabelledTable(name, classes, schema[name].states, probabilities.copy(), counts.copy())


def _tables(model: Model) -> DiscreteConditional | None:
    """Return the conditional that has the tables, if one has."""
    found = next((c for c in model.conditionals if c.has_tables), None)
    return cast(DiscreteConditional | None, found)


def table_with_parents(model: Model, statistics: Statistics, name: Name) -> LabelledTable | DependentTable:
    """Find the table of one attribute where attributes may have parents, or that of the class.

    Examples
    --------
    >>> from bayeskit import SPODE
    >>> model = SPODE(super_parent="x0").fit([["a", "u"], ["b", "v"], ["a", "v"]], [0, 0, 1])
    >>> table = table_with_parents(model._model, model.statistics_, "x1")
    >>> table.parents, float(table[0, "a", "u"])  # one of the one row of class 0 with a: (1+1)/(1+2)
    (('x0',), 0.6666666666666666)
    """
    tables = _tables(model)
    if name == model.schema.target.name or (tables is not None and not tables.takes_parents):
        return labelled_table(model, statistics, name)
    j = _place(model.schema, name)
    if tables is None:
        raise UsageError(
            f"{name!r} has no one table here: the model averages over many. NaiveBayes, SPODE, TAN and KDB have one."
        )
    return dependent_table(tables, model.schema, statistics, j)


def _place(schema: Schema, name: Name) -> int:
    names = [v.name for v in schema.categorical]
    if name not in names:
        raise ColumnError(
            f"{name!r} has no table: it is {'numeric' if name in schema.position else 'no attribute'}. "
            f"Tables: {', '.join(map(repr, names[:12])) or 'none'}."
        )
    return names.index(name)
