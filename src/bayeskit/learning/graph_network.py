"""The estimated families of a graph as the nodes of a network: tables with all their cells, and regressions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import TooLarge
from bayeskit.graphs.distributions import LinearGaussian, Table
from bayeskit.graphs.network import Network, Node, continuous, discrete
from bayeskit.inference.exact import get_max_memory
from bayeskit.schema import Label, Name, Variable
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit.learning.graph_factors import GraphFactors


def network_of_graph(graph: GraphFactors) -> Network:
    """Return the network of a graph; tables that memory cannot hold are refused before they are made.

    A class without parents has all states alike: P(c) is not held by the graph.
    """
    _refuse_large(graph)
    nodes = []
    for name, parents in zip(graph.dag.nodes, graph.dag.parents):
        if name == graph.target:
            variable = discrete(name, graph.schema.target.states)
            nodes.append(Node(variable, parents, Table(class_table(graph, parents))))
        elif graph.places[name][0]:
            nodes.append(Node(_variable(graph, name), parents, Table(_table(graph, name, parents))))
        else:
            nodes.append(Node(continuous(name), parents, _lines(graph, name, parents)))
    return Network(tuple(nodes))


def _variable(graph: GraphFactors, name: Name) -> Variable:
    j = graph.places[name][1]
    variable = graph.schema.categorical[j]
    # With its cut points a node of intervals can be told numbers.
    return replace(discrete(name, state_labels(variable, graph.codes_of(j))), cuts=variable.cuts)


def _refuse_large(graph: GraphFactors) -> None:
    discrete_places = {name: j for name, (is_discrete, j) in graph.places.items() if is_discrete}
    sizes = {name: float(len(graph.codes_of(j))) for name, j in discrete_places.items()}
    sizes[graph.target] = float(graph.schema.n_classes)
    cells = {
        node: math.prod(sizes.get(name, 1.0) for name in (node, *parents))
        for node, parents in zip(graph.dag.nodes, graph.dag.parents)
    }
    if 8.0 * sum(cells.values()) > get_max_memory():
        largest = max(cells, key=cells.__getitem__)
        raise TooLarge(
            8.0 * sum(cells.values()),
            get_max_memory(),
            (largest, *graph.dag.parents_of(largest)),
            cells[largest],
            "Take fewer parents (max_parents=), columns of fewer states, or fewer intervals.",
        )


def _table(graph: GraphFactors, name: Name, parents: tuple[Name, ...]) -> Floats:
    j = graph.places[name][1]
    # The model has its own order of parents, in which it backs off.
    mine = graph.parents_of(j)
    names = [graph.schema.categorical[i].name for i in mine]
    table = graph.table_of(j, mine, [graph.codes_of(i) for i in (*mine, j)])
    order = [names.index(p) if p != graph.target else table.ndim - 1 for p in parents]
    if graph.target not in parents:
        table = table[..., 0]
    return normalised(table.transpose([*order, len(names)]))


def class_table(graph: GraphFactors, parents: tuple[Name, ...]) -> Floats:
    """Return P(c | parents), an axis for each parent and the class last."""
    k = graph.schema.n_classes
    if graph.class_family is None:
        return np.full(k, 1.0 / k)
    rows, shape = _configurations(graph, parents)
    return normalised(np.exp(graph.class_family.log_prob(rows)).reshape(*shape, k))


def _configurations(graph: GraphFactors, names: Sequence[Name]) -> tuple[NDArray[np.int64], list[int]]:
    """Return a row of codes for every configuration of some attributes, and the sizes of these."""
    places = [graph.places[name][1] for name in names]
    shape = [len(graph.codes_of(j)) for j in places]
    rows = np.zeros((math.prod(shape), len(graph.schema.categorical)), np.int64)
    behind = len(rows)
    for j, size in zip(places, shape):
        behind //= size
        rows[:, j] = np.resize(np.repeat(graph.codes_of(j), behind), len(rows))
    return rows, shape


def _lines(graph: GraphFactors, name: Name, parents: tuple[Name, ...]) -> LinearGaussian:
    family = next(family for family in graph.numbers if family.child == graph.places[name][1])
    # Axes as the node has its discrete parents, the class among them.
    names = [p for p in parents if p == graph.target or graph.places[p][0]]
    rows, shape = _configurations(graph, [p for p in names if p != graph.target])
    cell = family.cells_of(rows).reshape(*shape, family.n_classes)
    if graph.target in names:
        wide = np.broadcast_to(cell, (*shape, graph.schema.n_classes))
        cell = np.moveaxis(wide, -1, names.index(graph.target))
    else:
        cell = cell[..., 0]
    order = [family.above.index(graph.places[p][1]) for p in parents if p not in names]
    intercept, slopes, variance = (part[cell] for part in family.lines)
    return LinearGaussian(intercept, slopes[..., order], variance)


def normalised(rows: Floats) -> Floats:
    """Return rows that sum to one: as they are but for rounding."""
    sums = rows.sum(axis=-1, keepdims=True)
    return np.where(np.abs(sums - 1.0) > 1e-12, rows / sums, rows)


def state_labels(variable: Variable, codes: Sequence[int]) -> list[Label]:
    """Return what the states of a node are called; missing and unseen by names that no state has.

    >>> state_labels(Variable("sky", "categorical", ("sun", "rain")), (0, 1, 2))
    ['sun', 'rain', '(missing)']
    """
    more: dict[int, Any] = {variable.size: "(missing)", variable.size + 1: "(unseen)"}
    labels = [variable.states[code] for code in codes if code < variable.size]
    for code in codes[len(labels) :]:
        label = more[code]
        while label in labels:
            label = f"({label})"
        labels.append(label)
    return labels
