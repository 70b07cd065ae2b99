"""Labelled tables of a model: probabilities and counts, by class, parents and state."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from bayeskit._conditionals.conditional import DiscreteConditional
from bayeskit._fitting.model import Model
from bayeskit._markup import framed
from bayeskit._messages import Joined, Message, listed
from bayeskit._schema import Label, Name, Schema
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import ColumnError, UsageError
from bayeskit.typing import Floats


@dataclass(frozen=True)
class LabelledTable:
    """P(x = v | c) and the counts behind it. Rows are classes, columns are states.

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
                "{name!r} has classes {classes!r} and states {states!r}, not {key!r}.",
                name=self.name,
                classes=list(self.classes),
                states=list(self.states),
                key=key,
            ) from None

    def to_frame(self) -> Any:
        """Return the probabilities as a pandas frame: classes × states."""
        import pandas as pd

        return pd.DataFrame(self.probabilities, index=list(self.classes), columns=list(self.states))

    def _repr_html_(self) -> str:
        from bayeskit._display_table import DisplayTable, notebook_html

        pairs = zip(self.classes, self.probabilities.tolist(), self.counts.tolist(), strict=True)
        rows = tuple(
            (str(c), *(f"{p:.4g} ({n:g})" for p, n in zip(ps, ns, strict=True))) for c, ps, ns in pairs
        )
        title = f"P({self.name} | class), with counts"
        return notebook_html(DisplayTable(title, ("class", *map(str, self.states)), rows, (), ()))


def labelled_table(model: Model, statistics: Statistics, name: Name) -> LabelledTable:
    """Return the table of one attribute, or of the class."""
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
    """Return the conditional that contains the tables, or None."""
    found = next((c for c in model.conditionals if c.has_tables), None)
    return cast(DiscreteConditional | None, found)


def table_with_parents(model: Model, statistics: Statistics, name: Name) -> LabelledTable | DependentTable:
    """Return the table of one attribute, given its parents if it has any, or of the class.

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
            "{name!r} has no single table here: the model averages over several. NaiveBayes, SPODE, TAN and "
            "KDB have one.",
            name=name,
        )
    return dependent_table(tables, model.schema, statistics, j)


def _place(schema: Schema, name: Name) -> int:
    names = [v.name for v in schema.categorical]
    if name not in names:
        raise ColumnError(
            "{name!r} has no table: it is {word}. Tables: {names}.",
            name=name,
            word=Message("numeric") if name in schema.position else Message("no attribute"),
            names=listed(map(repr, names), 12) or Message("none"),
        )
    return names.index(name)


# Nobody can read a larger table, and a table with many parents may not fit into memory.
MOST_CELLS = 1_000_000


@dataclass(frozen=True)
class DependentTable:
    """P(x = v | c, parents) and the counts behind it. The axes are the class, each parent, and the states.

    Examples
    --------
    >>> half = np.full((1, 2, 2), 0.5)
    >>> table = DependentTable("wind", ("sky",), ("go",), (("sun", "rain"),), ("calm", "gale"), half, half * 4)
    >>> table["go", "rain", "calm"], table.counts.shape
    (0.5, (1, 2, 2))
    """

    name: Name
    parents: tuple[Name, ...]
    classes: tuple[Label, ...]
    parent_states: tuple[tuple[Label, ...], ...]
    states: tuple[Label, ...]
    probabilities: Floats
    counts: Floats

    def __getitem__(self, key: tuple[Label, ...]) -> float:
        axes = (self.classes, *self.parent_states, self.states)
        wanted = key if isinstance(key, tuple) else (key,)
        try:
            return float(self.probabilities[tuple(a.index(k) for a, k in zip(axes, wanted, strict=True))])
        except ValueError:
            order = Joined(map(str, ("class", *self.parents, self.name)))
            raise ColumnError(
                "The table of {name!r} has no cell {key!r}. Give ({order}), each one of: {names}.",
                name=self.name,
                key=key,
                order=order,
                names=Joined((", ".join(map(str, axis[:12])) for axis in axes), "; "),
            ) from None

    def to_frame(self) -> Any:
        """Return the probabilities as a pandas frame: (class, parents) × states."""
        import pandas as pd

        rows = pd.MultiIndex.from_product(
            [list(axis) for axis in (self.classes, *self.parent_states)], names=["class", *self.parents]
        )
        return pd.DataFrame(
            self.probabilities.reshape(-1, len(self.states)), index=rows, columns=list(self.states)
        )

    def _repr_html_(self) -> str:
        from bayeskit._graphs.factor import Factor, factor_html

        # The name of the class may also be the name of a column, so the index level is called "(class)".
        names = ("(class)", *self.parents, self.name)
        axes = (self.classes, *self.parent_states, self.states)
        given = ", ".join(map(str, ("class", *self.parents)))
        return framed(
            factor_html(Factor(names, axes, self.probabilities), caption=f"P({self.name} | {given})")
        )


def dependent_table(
    tables: DiscreteConditional, schema: Schema, statistics: Statistics, j: int
) -> DependentTable:
    """Return the table of the j-th categorical attribute, without the slots for missing and unseen values."""
    variables, k = schema.categorical, schema.n_classes
    if j not in tables.members():
        raise ColumnError(
            "{name!r} has no table: the model does not use it. See structure_.", name=variables[j].name
        )
    parents = tables.parents_of(j)
    shape = [variables[i].size for i in (*parents, j)]
    cells = math.prod(shape) * k
    if cells > MOST_CELLS:
        raise UsageError(
            "The table of {name!r} has {cells:,} cells, more than {most_cells:,}. Ask explain(row) for "
            "the cells of a row.",
            name=variables[j].name,
            cells=cells,
            most_cells=MOST_CELLS,
        )
    found = tables.table_of(j, parents, [range(size) for size in shape])
    counts = tables.counts_of(statistics, j)
    return DependentTable(
        variables[j].name,
        tuple(variables[i].name for i in parents),
        schema.target.states,
        tuple(variables[i].states for i in parents),
        variables[j].states,
        np.moveaxis(found.reshape(*shape, k), -1, 0).copy(),
        np.moveaxis(counts.reshape(*shape, k), -1, 0).copy(),
    )
