"""Rows in the codes and numbers of a network's nodes, the class not being known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.classifiers.network_classifier.columns import by_node
from bayeskit.data.encode import match_columns
from bayeskit.data.table import Table
from bayeskit.graphs.network import Network
from bayeskit.graphs.relations import ancestors
from bayeskit.networks.data_rows import Rows
from bayeskit.schema import Name

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class CodedRows:
    """Rows that need no reading any more, under the names by which a network's door asks for cells."""

    def __init__(self, codes: Ints, numbers: Floats) -> None:
        self.n_rows, self._codes, self._numbers = len(codes), codes, numbers

    def matrix(self, places: Iterable[int]) -> Ints:
        return self._codes[:, list(places)]

    def codes(self, place: int) -> Ints:
        return self._codes[:, place]

    def numbers(self, place: int) -> Floats:
        return self._numbers[:, place]


@dataclass(frozen=True, eq=False)
class NodeCells:
    """Many rows, a column for each node of a network in its order.

    Attributes
    ----------
    network : Network
    target : name of the class
    codes : int array of shape (n, nodes)
        The code after the last state where a cell is missing, where a node is continuous (0), and in the column of
        the class.
    numbers : array of shape (n, nodes)
        NaN where a cell is missing or a node is discrete.
    """

    network: Network
    target: Name
    codes: Ints
    numbers: Floats

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def n_classes(self) -> int:
        return self.network[self.target].variable.size

    @cached_property
    def known(self) -> Flags:
        """Which cells are there."""
        return (self.codes < sizes_of(self.network)) | ~np.isnan(self.numbers)

    def take(self, rows: NDArray[np.intp]) -> NodeCells:
        """Return some rows."""
        return replace(self, codes=self.codes[rows], numbers=self.numbers[rows])

    def only(self, names: Iterable[Name]) -> NodeCells:
        """Return the rows with the cells of these nodes alone; all others are missing."""
        kept = np.zeros(self.codes.shape[1], np.bool_)
        kept[[self.network.dag.position[name] for name in names]] = True
        return replace(
            self,
            codes=np.where(kept, self.codes, sizes_of(self.network)),
            numbers=np.where(kept, self.numbers, np.nan),
        )

    def of_each_class(self) -> CodedRows:
        """Return every row once for each class, which is then known."""
        k = self.n_classes
        codes = np.repeat(self.codes, k, axis=0)
        codes[:, self.network.dag.position[self.target]] = np.tile(np.arange(k), len(self))
        return CodedRows(codes, np.repeat(self.numbers, k, axis=0))

    def by_holes(self) -> Iterator[tuple[NDArray[np.intp], list[Name]]]:
        """Yield rows that have the same cells, and the nodes of these."""
        patterns, which = np.unique(self.known, axis=0, return_inverse=True)
        names = self.network.dag.nodes
        for p, pattern in enumerate(patterns):
            yield (
                np.flatnonzero(which.ravel() == p),
                [name for name, there in zip(names, pattern) if there],
            )


def read_cells(model: Any, table: Table) -> NodeCells:
    """Read the columns of a table that a fitted network classifier looks at."""
    names = tuple(model.schema_.position)
    table = match_columns(table, model.schema_, names if model._named else None, type(model).__name__)
    network: Network = model.network_._network
    rows = Rows(by_node(table, names), [node.variable for node in network.nodes], model.unseen)
    codes = np.tile(sizes_of(network), (table.n_rows, 1))
    numbers = np.full(codes.shape, np.nan)
    for place, node in enumerate(network.nodes):
        if node.name == model.target_:
            continue
        if node.is_discrete:
            codes[:, place] = rows.codes(place)
        else:
            numbers[:, place] = rows.numbers(place)
    return NodeCells(network, model.target_, codes, numbers)


def sizes_of(network: Network) -> Ints:
    """Return the states of each node, which is also the code of a missing cell; 0 of a continuous one."""
    return np.array([node.variable.size for node in network.nodes], np.int64)


def hidden_of(network: Network, target: Name, known: Iterable[Name]) -> list[Name]:
    """Return the missing nodes from which something known, or the class, descends: they are summed over."""
    there = {*known, target}
    return [name for name in ancestors(network.dag, *there) if name not in there]
