"""Rows against rows that a network classifier would draw."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.classifiers.network_classifier.cells import NodeCells, read_cells, sizes_of
from bayeskit.classifiers.network_classifier.joint import log_joint
from bayeskit.data.chunk import Chunk
from bayeskit.data.encode import match_columns
from bayeskit.data.table import Table
from bayeskit.report.novelty import Novelty, conflicts, shares_among

Floats = NDArray[np.float64]


def log_evidence(network: Any, cells: NodeCells) -> Floats:
    """Return log P(x) of each row: the sum over the classes."""
    return np.asarray(np.logaddexp.reduce(log_joint(network, cells), axis=1))


def network_novelty(model: Any, table: Table, n_drawn: int, seed: Any) -> Novelty:
    """Draw rows of the network's columns, and say how many of them are at most as probable as each row of a table."""
    network = model.network_
    cells = read_cells(model, table)
    value = cells.network
    discrete = [j for j, node in enumerate(value.nodes) if node.is_discrete and node.name != cells.target]
    numeric = [j for j, node in enumerate(value.nodes) if not node.is_discrete]
    sizes = np.array([value.nodes[j].variable.size for j in discrete], np.intp)

    def chunk_of(codes: NDArray[Any], numbers: Floats) -> Chunk:
        held = np.ascontiguousarray(codes[:, discrete], dtype=np.uint32)
        return Chunk(len(codes), held, np.ascontiguousarray(numbers[:, numeric]))

    def score(chunk: Chunk) -> Floats:
        codes = np.tile(sizes_of(value), (chunk.n_rows, 1))
        numbers = np.full(codes.shape, np.nan)
        codes[:, discrete] = chunk.codes
        numbers[:, numeric] = chunk.values
        return log_evidence(network, NodeCells(value, cells.target, codes, numbers))

    rows = chunk_of(cells.codes, cells.numbers)
    drawn = network.sample(n_drawn, seed, as_codes=True)
    log_p, share = shares_among(score, rows, chunk_of(drawn, drawn.astype(np.float64)), sizes)
    conflict = conflicts(score, rows, log_p, sizes)
    return Novelty(log_p, share, conflict, _unseen(model, table, cells), n_drawn)


def _unseen(model: Any, table: Table, cells: NodeCells) -> NDArray[np.intp]:
    """Count the cells of each row that are there and no state of their node."""
    names = tuple(model.schema_.position)
    table = match_columns(table, model.schema_, names if model._named else None, type(model).__name__)
    found = np.zeros(len(cells), np.intp)
    for j, node in enumerate(cells.network.nodes):
        if node.name != cells.target and node.is_discrete and node.variable.cuts is None:
            there = np.asarray(table.factorize(names.index(node.name)).codes) >= 0
            found += there & (cells.codes[:, j] >= node.variable.size)
    return found
