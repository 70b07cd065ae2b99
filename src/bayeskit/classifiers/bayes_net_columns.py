"""Rows and labels as the columns of a network with the class among them, and rows to predict under its names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayeskit.data.labels import as_labels, encode_labels
from bayeskit.data.table import Table
from bayeskit.graphs.network import discrete
from bayeskit.learning.node_columns import NodeColumns, read_nodes
from bayeskit.schema import Name, Variable


def with_class(
    table: Table, y: Any, target: Name | None, states: Mapping[Name, Any] | None, discretize: Any
) -> tuple[NodeColumns, Name]:
    """Return the class and the columns of a table, in this order, and the name of the class.

    The class is called as its column is, else "y"; where a column has that name, "class", or that with a line under it.
    """
    name: Name = "y" if target is None else target
    if name in table.names:
        name = "class"
    while name in table.names:
        name = f"{name}_"
    variable, coded = encode_labels(as_labels(y, table.n_rows), Variable(name, "categorical"), "grow")
    # A run of whole numbers comes with every number between them.
    present, codes = np.unique(coded, return_inverse=True)
    classes = discrete(name, (variable.states[int(code)] for code in present))
    columns = read_nodes(by_node(table, table.names), states, discretize)
    return (
        NodeColumns(
            (classes, *columns.variables),
            (codes.astype(np.int64), *columns.codes),
            (None, *columns.numbers),
            table.n_rows,
        ),
        name,
    )


def by_node(table: Table, names: tuple[Name, ...]) -> Any:
    """Return the columns of a table under these names, as a frame or a mapping."""
    if table.frame is None:
        return {name: table.raw(j) for j, name in enumerate(names)}
    return table.frame if table.names == names else table.frame.rename(dict(zip(table.names, names)))
