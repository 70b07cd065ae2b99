"""The arcs of naive Bayes and of TAN between columns, one of which is the class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayeskit.counting.backend import count
from bayeskit.data.encoded import Chunk
from bayeskit.errors import DataError
from bayeskit.learning.search.family_scores import MixedScores
from bayeskit.learning.search.node_columns import NodeColumns
from bayeskit.schema import Name, Schema
from bayeskit.structure.criteria import Score
from bayeskit.structure.learners import learn, tree
from bayeskit.structure.questions import Family, Question, answer_all, members
from bayeskit.structure.search.chow_liu import chow_liu

Parents = dict[Name, tuple[Name, ...]]


def naive_arcs(columns: NodeColumns, target: Name) -> Parents:
    """Return the parents of each column: the class, and nothing else.

    Examples
    --------
    >>> from bayeskit.learning.search.node_columns import read_nodes
    >>> naive_arcs(read_nodes({"y": ["a", "b"], "wind": ["no", "yes"]}), "y")
    {'y': (), 'wind': ('y',)}
    """
    return {name: () if name == target else (target,) for name in columns.names}


def tan_arcs(columns: NodeColumns, target: Name, weights: NDArray[np.float64] | None = None) -> Parents:
    """Return the parents of each column in tree-augmented naive Bayes.

    The discrete columns make the tree of :class:`~bayeskit.TAN`, its root the first of them. The continuous ones make
    a tree of their own: the one of largest likelihood given the class. ``weights`` are those of the rows.
    """
    found = naive_arcs(columns, target)
    trees = {**_discrete_tree(columns, target, weights), **_continuous_tree(columns, target, weights)}
    for name, above in trees.items():
        found[name] = (target, *above)
    return found


def _discrete_tree(columns: NodeColumns, target: Name, weights: NDArray[np.float64] | None) -> Parents:
    places = [v for v, name in enumerate(columns.names) if columns.is_discrete[v] and name != target]
    if not places:
        return {}
    at = columns.names.index(target)
    schema = Schema(tuple(columns.variables[v] for v in places), columns.variables[at])
    codes = np.empty((columns.n_rows, len(places)), schema.code_dtype)
    for j, v in enumerate(places):
        found = columns.codes[v]
        assert found is not None
        codes[:, j] = found
    classes = columns.codes[at]
    assert classes is not None
    none = np.empty((columns.n_rows, 0))
    chunk = Chunk(columns.n_rows, codes, none, target=classes.astype(np.uint32), weights=weights)
    return learn(tree(schema), lambda plan: count(chunk, schema, plan)).as_mapping()


def _continuous_tree(columns: NodeColumns, target: Name, weights: NDArray[np.float64] | None) -> Parents:
    places = np.flatnonzero(~columns.is_discrete).tolist()
    if not places:
        return {}
    at = len(places)
    here = columns.reordered(np.array([*places, columns.names.index(target)], np.int64))
    if not here.complete.any():
        raise DataError(
            "Every row has a missing number, so there is no row to learn a tree from. Leave out the columns that are "
            'missing most, or use method="naive".'
        )
    scores = MixedScores(here, Score("loglik"), None if weights is None else weights[here.complete])

    def answer(question: Question) -> list[np.ndarray]:
        # The tree of Chow and Liu asks for pairs alone; beside the class they are pairs given the class.
        return scores([Family(f.child, f.parents | 1 << at, f.more) for f in question])  # type: ignore[union-attr]

    graph = answer_all(chow_liu(at), answer)
    return {here.names[v]: tuple(here.names[p] for p in members(graph.parents[v])) for v in range(at)}
