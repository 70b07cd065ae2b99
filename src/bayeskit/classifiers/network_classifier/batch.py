"""More rows for a fitted network: read as the first ones were, with the states that are new among them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayeskit.classifiers.network_classifier.columns import by_node, refuse_missing
from bayeskit.classifiers.network_classifier.states import States, with_states
from bayeskit.data.encode import encode_column, match_columns
from bayeskit.data.labels import as_labels, encode_labels
from bayeskit.data.source import Rows
from bayeskit.graphs.network import Network
from bayeskit.learning.search.node_columns import NodeColumns, read_nodes
from bayeskit.schema import Name, Variable


class Batch(NamedTuple):
    """The class and the columns of some rows, and the states that the nodes have with them."""

    columns: NodeColumns
    states: States


def read_batch(model: Any, network: Network, rows: Rows, grows: set[Name]) -> Batch:
    """Read rows as the nodes of a network.

    Parameters
    ----------
    model : the fitted classifier
    network : Network, with the states known so far
    rows : Rows
    grows : the nodes that may have new states
    """
    names, target = tuple(model.schema_.position), model.target_
    table = match_columns(rows.table, model.schema_, names if model._named else None, type(model).__name__)
    refuse_missing(rows.y, table.n_rows)
    classes, codes = encode_labels(
        as_labels(rows.y, table.n_rows), _start(network[target].variable, target in grows), "grow"
    )
    states: dict[Name, tuple[Any, ...]] = {target: classes.states} if target in grows else {}
    for name in grows - {target}:
        start = _start(network[name].variable, True)
        states[name] = encode_column(table.factorize(names.index(name)), start, "grow")[0].states
    columns: list[tuple[Variable, Any, Any]] = [(network[target].variable, codes.astype(np.int64), None)]
    nodes = [node for node in with_states(network, states).nodes if node.name != target]
    if nodes:
        read = read_nodes(
            by_node(table, names),
            {n.name: n.variable.states for n in nodes if n.is_discrete and n.variable.cuts is None},
            {n.name: list(n.variable.cuts) for n in nodes if n.variable.cuts is not None} or None,
            only=[n.name for n in nodes],
            continuous=[n.name for n in nodes if not n.is_discrete],
        )
        columns += zip(read.variables, read.codes, read.numbers)
    variables, found, numbers = zip(*columns)
    return Batch(NodeColumns(variables, found, numbers, table.n_rows), states)


def _start(variable: Variable, grows: bool) -> Variable:
    """Return a variable that may grow: states that were found have no order of their own, and stay sorted."""
    return Variable(variable.name, "categorical", variable.states) if grows else variable
