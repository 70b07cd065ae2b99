"""Learns the structures of classifiers: the tree of TAN, the parents of kDB.

A learner is a generator: it yields the plan of what to count, is sent the statistics, and returns a
:class:`~bayeskit._graphs.dag.Dag`. So the same code runs on stored counts, on a source or on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

from bayeskit._graphs.dag import Dag
from bayeskit._schema import Name, Schema
from bayeskit._statistics.information import class_information, pair_information
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.tables import Pairs
from bayeskit._statistics.term import Plan
from bayeskit.typing import Floats

Learner = Generator[Plan, Statistics, Dag]

# Smaller differences of information come from the order of summation.
_TIE = 1e-12


def learn(learner: Learner, answer: Callable[[Plan], Statistics]) -> Dag:
    """Run a learner; ``answer`` counts its plans."""
    try:
        plan = next(learner)
        while True:
            plan = learner.send(answer(plan))
    except StopIteration as end:
        dag: Dag = end.value
        return dag


def tree(
    schema: Schema,
    root: Name | None = None,
    criterion: str | None = None,
    order: Sequence[Name] | None = None,
) -> Learner:
    r"""Learn the tree of Friedman, Geiger and Goldszmidt over the categorical attributes.

    Parameters
    ----------
    root : name, optional
        The attribute from which arcs lead outwards; by default, the first one.
    criterion : None, "aic" or "bic"
        Keep an arc only if :math:`N I(x_i; x_j \mid y)` exceeds its K(r_i − 1)(r_j − 1) parameters times 1
        (AIC) or ½ log N (BIC). The result is a forest.
    order : sequence of names, optional
        The order of all attributes that determines the first one and breaks ties; by default, that of the columns.
    """
    statistics = yield Plan.pairs(schema)
    pairs: Any = statistics.parts["pairs"]
    names = tuple(v.name for v in statistics.schema.categorical)
    ranked = names if order is None else tuple(order)
    weights = pair_information(pairs)
    if criterion is not None:
        weights = _penalised(weights, pairs, criterion)
    places = [names.index(name) for name in ranked]
    edges = _spanning_forest(weights[np.ix_(places, places)], at_least=0.0 if criterion else None)
    parents = _directed(edges, len(names), 0 if root is None else ranked.index(root))
    above = {name: (ranked[i],) if i >= 0 else () for name, i in zip(ranked, parents, strict=True)}
    return Dag(names, tuple(above[name] for name in names))


def _penalised(information: Floats, pairs: Pairs, criterion: str) -> Floats:
    """Return N·I minus the penalty of each arc's parameters, where N counts the rows with both attributes present."""
    d, n_classes = len(information), len(pairs.margin)
    sizes = np.diff(pairs.offsets) - 1
    rows = np.array([[pairs.table(i, j).sum() if i != j else 0.0 for j in range(d)] for i in range(d)])
    rows = rows.reshape(d, d)
    parameters = n_classes * np.outer(sizes - 1, sizes - 1)
    each = np.ones_like(rows) if criterion == "aic" else 0.5 * np.log(np.maximum(rows, 1.0))
    # An attribute of a single state has nothing to pay for, and its information is rounding alone.
    return np.where(parameters > 0, rows * information - each * parameters, 0.0)


def _spanning_forest(weights: Floats, at_least: float | None) -> list[tuple[int, int]]:
    """Return the edges of a maximum spanning forest (Kruskal); ties go to the first."""
    d = len(weights)
    rows, columns = np.triu_indices(d, 1)
    found = weights[rows, columns]
    order = np.argsort(-np.round(found / _TIE) if found.max(initial=0) < 1e3 else -found, kind="stable")
    group = list(range(d))

    def leader(i: int) -> int:
        while group[i] != i:
            group[i] = group[group[i]]
            i = group[i]
        return i

    edges: list[tuple[int, int]] = []
    for place in order.tolist():
        i, j = int(rows[place]), int(columns[place])
        if at_least is not None and found[place] <= at_least:
            break
        a, b = leader(i), leader(j)
        if a != b:
            group[max(a, b)] = min(a, b)
            edges.append((i, j))
            if len(edges) == d - 1:
                break
    return edges


def _directed(edges: list[tuple[int, int]], d: int, root: int) -> list[int]:
    """Direct edges outwards from the root; in other trees of a forest, from their first attribute."""
    near: list[list[int]] = [[] for _ in range(d)]
    for i, j in edges:
        near[i].append(j)
        near[j].append(i)
    parents = [-1] * d
    seen = [False] * d
    for start in [root, *range(d)] if d else []:
        if seen[start]:
            continue
        seen[start] = True
        reached = [start]
        for i in reached:
            for j in sorted(near[i]):
                if not seen[j]:
                    seen[j] = True
                    parents[j] = i
                    reached.append(j)
    return parents


# Smaller differences of information come from the order of summation.


def k_dependence(schema: Schema, k: int) -> Learner:
    """Learn the structure of Sahami's k-dependence classifier over the categorical attributes.

    Attributes are taken in descending order of I(X; Y). Each gets as parents the k earlier attributes with
    the largest I(X_i; X_j | Y), the closest first, so that a model that backs off leaves out the last one
    first. Ties go to the first column. The nodes of the result are in that order.
    """
    statistics = yield Plan.pairs(schema)
    pairs: Any = statistics.parts["pairs"]
    names = [v.name for v in statistics.schema.categorical]
    order = _descending(class_information(pairs.tables.counts, pairs.offsets))
    shared = pair_information(pairs) if k else np.zeros((len(names), len(names)))
    parents = []
    for rank, j in enumerate(order):
        # Candidates in column order, so that ties go to the first column.
        before = sorted(order[:rank])
        best = [before[place] for place in _descending(shared[j, before])[:k]]
        parents.append(tuple(names[i] for i in best))
    return Dag(tuple(names[j] for j in order), tuple(parents))


def _descending(values: Floats) -> list[int]:
    found: list[int] = np.argsort(-np.round(np.asarray(values) / _TIE), kind="stable").tolist()
    return found
