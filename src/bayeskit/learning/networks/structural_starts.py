"""Where structural EM begins: the rows that say something, and a first graph."""

from __future__ import annotations

import numpy as np

from bayeskit.errors import DataError
from bayeskit.learning.long_runs import Outcome, run_search
from bayeskit.learning.search.family_scores import FamilyScores
from bayeskit.learning.search.node_columns import NodeColumns
from bayeskit.structure.arcs import Arcs
from bayeskit.structure.criteria import Score
from bayeskit.structure.questions import Graph
from bayeskit.structure.search.order import auto, legal
from bayeskit.typing import Floats


def start_graph(
    columns: NodeColumns,
    arcs: Arcs,
    score: Score,
    weights: Floats | None,
    time_limit: float | None,
    seed: int = 0,
) -> Outcome:
    """Return the graph that the default search finds in the rows without a missing cell.

    Where a column is missing in every row there is no such row, and a hidden node without arcs is independent of
    everything, whatever is expected under that: it would stay alone for ever. Hidden nodes begin as parents of all the
    others. Where only some cells are missing in every row, it is the required arcs alone.

    Examples
    --------
    >>> from bayeskit.learning.search.node_columns import read_nodes
    >>> rows = read_nodes({"h": [None, None], "x": ["a", "b"], "y": ["a", "b"]}, {"h": ["one", "two"]})
    >>> start_graph(rows, Arcs.all(3, 2), Score("bic"), None, None).graph.parents
    (0, 1, 1)
    """
    hidden = columns.n_missing == columns.n_rows
    if hidden.any():
        above = sum(1 << int(v) for v in np.flatnonzero(hidden))
        return Outcome(Graph(legal([0 if hidden[v] else above for v in range(arcs.n)], arcs)))
    if not columns.complete.any():
        return Outcome(Graph(arcs.required))
    counted = None if weights is None else weights[columns.complete]
    scores = FamilyScores(columns.code_matrix(), columns.sizes, score, counted)
    return run_search(auto(arcs, rng=np.random.default_rng(seed)), scores, time_limit=time_limit)


def with_cells(columns: NodeColumns, weights: Floats | None) -> tuple[NodeColumns, Floats | None]:
    """Leave out rows without weight, and rows without any cell: they say nothing."""
    idle = np.zeros(columns.n_rows, np.bool_) if weights is None else weights <= 0.0
    seen = np.zeros(columns.n_rows, np.bool_)
    for j in range(len(columns.variables)):
        seen |= columns.present(j)
    rows = np.flatnonzero(seen & ~idle)
    if not len(rows):
        raise DataError("Every cell is missing: there is nothing to learn from.")
    if len(rows) == columns.n_rows:
        return columns, weights
    return columns.take(rows), None if weights is None else weights[rows]
