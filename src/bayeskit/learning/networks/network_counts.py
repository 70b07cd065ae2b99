"""The statistics of a network's own families: what its tables and regressions are estimated from."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.counting.count import count
from bayeskit.data.chunk import Chunk
from bayeskit.errors import Incompatible
from bayeskit.graphs.network import Network
from bayeskit.learning.search.counted_scores import EVERYTHING
from bayeskit.learning.search.node_columns import NodeColumns
from bayeskit.schema import Name, Schema
from bayeskit.statistics import Pattern, Plan, Statistics
from bayeskit.statistics.regressions import Regressions

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NetworkCounts:
    """n(child, parents) of every discrete node, the moments of every continuous one, and how many rows there were.

    Missing cells: each node counts the rows where it and its parents are present. ``parents`` are those of the
    continuous nodes, whose moments do not tell them.
    """

    tables: Statistics
    regressions: dict[Name, Regressions]
    parents: dict[Name, tuple[Name, ...]]

    @classmethod
    def of(cls, network: Network, columns: NodeColumns, weights: Floats | None = None) -> NetworkCounts:
        """Count the rows of columns that are named after the nodes, whose states are the nodes'."""
        discrete = [node for node in network.nodes if node.is_discrete]
        schema, plan = wanted(network)
        place = {name: j for j, name in enumerate(columns.names)}
        codes = np.empty((columns.n_rows, len(discrete)), schema.code_dtype)
        for j, node in enumerate(discrete):
            found = columns.codes[place[node.name]]
            assert found is not None
            codes[:, j] = found
        chunk = Chunk(
            columns.n_rows,
            codes,
            np.empty((columns.n_rows, 0)),
            target=np.zeros(columns.n_rows, np.uint32),
            weights=weights,
        )
        each = np.ones(columns.n_rows) if weights is None else weights
        regressions = {
            node.name: _regressions(network, node.name, columns, place, each)
            for node in network.nodes
            if not node.is_discrete
        }
        parents = {name: network[name].parents for name in regressions}
        return cls(count(chunk, schema, plan), regressions, parents)

    @classmethod
    def counted(cls, network: Network, count: Callable[[Plan], Statistics]) -> NetworkCounts:
        """Ask for the counts of a network whose nodes are all discrete, wherever they are taken."""
        return cls(count(wanted(network)[1]), {}, {})

    @property
    def n_rows(self) -> float:
        return self.tables.total

    def table(self, network: Network, name: Name) -> Floats:
        """Return n(parents, child) of a discrete node, the child's axis last."""
        families: Any = self.tables.parts["families"]
        shape = network.shape_of(name)
        (keys, counts), *_ = families.levels(self.tables.schema.position[name], lowest=len(shape) - 1)
        cells = np.zeros(shape)
        # Keys have one code more for each variable, for missing cells, which are not here.
        wide = [size + 1 for size in shape]
        place = np.unravel_index(keys, wide)
        cells[place] = counts
        return cells

    def merge(self, other: NetworkCounts) -> NetworkCounts:
        self._check(other)
        return NetworkCounts(
            self.tables.merge(other.tables),
            {name: mine.merge(other.regressions[name]) for name, mine in self.regressions.items()},
            self.parents,
        )

    def subtract(self, other: NetworkCounts) -> NetworkCounts:
        self._check(other)
        return NetworkCounts(
            self.tables.subtract(other.tables),
            {name: mine.subtract(other.regressions[name]) for name, mine in self.regressions.items()},
            self.parents,
        )

    def _check(self, other: NetworkCounts) -> None:
        mine, theirs = self.tables, other.tables
        if mine.plan != theirs.plan or mine.schema != theirs.schema or self.parents != other.parents:
            raise Incompatible("The two networks have other nodes, states or arcs, and cannot be added.")


def wanted(network: Network) -> tuple[Schema, Plan]:
    """Return the discrete nodes as a schema of one class, and what is counted of them."""
    discrete = [node for node in network.nodes if node.is_discrete]
    families: Any = tuple((node.name, *node.parents) for node in discrete)
    tables = Pattern("tables", tuple(node.name for node in discrete))
    schema = Schema(tuple(node.variable for node in discrete), EVERYTHING)
    return schema, Plan((tables, Pattern("families", families)))


def configurations(network: Network, name: Name) -> tuple[list[Name], list[Name], int]:
    """Return the discrete parents of a node, its numeric ones, and the configurations of the former."""
    parents = network[name].parents
    discrete = [p for p in parents if network[p].is_discrete]
    numeric = [p for p in parents if not network[p].is_discrete]
    return discrete, numeric, math.prod(network.sizes_of(discrete))


def _regressions(
    network: Network, name: Name, columns: NodeColumns, place: dict[Name, int], weights: Floats
) -> Regressions:
    discrete, numeric, size = configurations(network, name)
    values: list[Any] = [columns.numbers[place[other]] for other in (*numeric, name)]
    z = np.column_stack(values)
    whole = ~np.isnan(z).any(axis=1)
    cell = np.zeros(columns.n_rows, np.int64)
    for other in discrete:
        codes = columns.codes[place[other]]
        assert codes is not None
        whole &= codes < network[other].variable.size
        cell = cell * network[other].variable.size + codes
    return Regressions.of(z[whole], cell[whole], weights[whole], size)
