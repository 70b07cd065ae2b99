"""Rows and labels as the columns of a network with the class among them, and rows to predict under its names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.labels import as_labels, encode_labels
from bayeskit.data.missing_labels import MissingLabels
from bayeskit.data.table import Table
from bayeskit.errors import DataError
from bayeskit.graphs.dag import Dag
from bayeskit.graphs.network import Network, Node, discrete
from bayeskit.learning.search.node_columns import NodeColumns, read_nodes
from bayeskit.schema import Name, Variable


def with_class(
    table: Table,
    y: Any,
    target: Name | None,
    states: Mapping[Name, Any] | None,
    discretize: Any,
    *,
    missing: NDArray[np.bool_] | None = None,
    continuous: Sequence[Name] = (),
) -> tuple[NodeColumns, Name]:
    """Return the class and the columns of a table, in this order, and the name of the class.

    The class is called as its column is, else "y"; where a column has that name, "class", or that with a line under it.
    ``missing`` says which rows have no class, where some may have none; ``continuous`` names columns of numbers.
    """
    name: Name = "y" if target is None else target
    if name in table.names:
        name = "class"
    while name in table.names:
        name = f"{name}_"
    labels = as_labels(y, table.n_rows)
    if missing is None:
        refuse_missing(y, table.n_rows)
        missing = np.zeros(table.n_rows, np.bool_)
    known = np.flatnonzero(~missing)
    variable, coded = encode_labels(labels[known], Variable(name, "categorical"), "grow")
    # A run of whole numbers comes with every number between them.
    present, places = np.unique(coded, return_inverse=True)
    classes = discrete(name, (variable.states[int(code)] for code in present))
    codes = np.full(table.n_rows, classes.size)
    codes[known] = places
    columns = read_nodes(by_node(table, table.names), states, discretize, continuous=continuous)
    return (
        NodeColumns(
            (classes, *columns.variables),
            (codes, *columns.codes),
            (None, *columns.numbers),
            table.n_rows,
        ),
        name,
    )


def network_of(dag: Dag, columns: NodeColumns) -> Network:
    """Return the network of a graph over some of the columns, with their states and no tables yet."""
    variables = dict(zip(columns.names, columns.variables))
    nodes = (Node(variables[node], parents) for node, parents in zip(dag.nodes, dag.parents))
    return Network(tuple(nodes), name="BayesNetClassifier")


def refuse_missing(y: Any, n_rows: int) -> None:
    missing = MissingLabels().rows(y, n_rows)
    if missing.any():
        raise DataError(
            f"Input y contains NaN: the class of row {int(missing.argmax())} is missing. Leave such rows out, or pass "
            "semi_supervised=True to learn from them."
        )


def by_node(table: Table, names: tuple[Name, ...]) -> Any:
    """Return the columns of a table under these names, as a frame or a mapping."""
    if table.frame is None:
        return {name: table.raw(j) for j, name in enumerate(names)}
    return table.frame if table.names == names else table.frame.rename(dict(zip(table.names, names)))
