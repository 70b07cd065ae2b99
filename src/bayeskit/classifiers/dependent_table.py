"""A table of an attribute that has parents beside the class, with its labels on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.errors import ColumnError, UsageError
from bayeskit.estimation.conditional import DiscreteConditional
from bayeskit.messages import Joined
from bayeskit.schema import Label, Name, Schema
from bayeskit.statistics import Statistics
from bayeskit.typing import Floats

# A table of more cells is nothing to look at, and one of many parents may not fit at all.
MOST_CELLS = 1_000_000


@dataclass(frozen=True)
class DependentTable:
    """P(x = v | c, parents) with the counts it came from: axes are the class, each parent, and the states.

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
        from bayeskit.graphs.factor import Factor, factor_html

        # The class may share its name with no column, so it has a sign of its own.
        names = ("(class)", *self.parents, self.name)
        axes = (self.classes, *self.parent_states, self.states)
        given = ", ".join(map(str, ("class", *self.parents)))
        return factor_html(Factor(names, axes, self.probabilities), caption=f"P({self.name} | {given})")


def dependent_table(
    tables: DiscreteConditional, schema: Schema, statistics: Statistics, j: int
) -> DependentTable:
    """Return the table of the j-th categorical attribute, states only (missing and unseen have no place in it)."""
    variables, k = schema.categorical, schema.n_classes
    if j not in tables.members():
        raise ColumnError(
            "{name!r} has no table: it was not taken into the model. See structure_.", name=variables[j].name
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
