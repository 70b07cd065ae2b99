"""The tree of TAN: a maximum spanning tree of the information that attributes share given the class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayeskit.graphs.dag import Dag
from bayeskit.schema import Name, Schema
from bayeskit.statistics import Plan
from bayeskit.statistics.information import pair_information
from bayeskit.statistics.pairs import Pairs
from bayeskit.structure import Learner
from bayeskit.typing import Floats

# Informations that differ by less are the same number added up in different orders.
_TIE = 1e-12


def tree(
    schema: Schema,
    root: Name | None = None,
    penalty: str | None = None,
    order: Sequence[Name] | None = None,
) -> Learner:
    r"""Learn the tree of Friedman, Geiger and Goldszmidt over the categorical attributes.

    Parameters
    ----------
    root : name, optional
        The attribute from which arcs lead outwards; the first one unless given.
    penalty : None, "aic" or "bic"
        Keep an arc only where :math:`N I(x_i; x_j \mid y)` exceeds its K(r_i − 1)(r_j − 1) parameters times
        1 (AIC) or ½ log N (BIC): the result is a forest.
    order : sequence of names, optional
        Which attribute is the first, and which arc of equal ones: an order of all attributes instead of the columns'.
    """
    statistics = yield Plan.pairs(schema)
    pairs: Any = statistics.parts["pairs"]
    names = tuple(v.name for v in statistics.schema.categorical)
    ranked = names if order is None else tuple(order)
    weights = pair_information(pairs)
    if penalty is not None:
        weights = _penalised(weights, pairs, penalty)
    places = [names.index(name) for name in ranked]
    edges = _spanning_forest(weights[np.ix_(places, places)], at_least=0.0 if penalty else None)
    parents = _directed(edges, len(names), 0 if root is None else ranked.index(root))
    above = {name: (ranked[i],) if i >= 0 else () for name, i in zip(ranked, parents)}
    return Dag(names, tuple(above[name] for name in names))


def _penalised(information: Floats, pairs: Pairs, penalty: str) -> Floats:
    """Return N·I less what the parameters of each arc cost, N being the rows where both are present."""
    d, n_classes = len(information), len(pairs.margin)
    sizes = np.diff(pairs.offsets) - 1
    rows = np.array([[pairs.table(i, j).sum() if i != j else 0.0 for j in range(d)] for i in range(d)])
    rows = rows.reshape(d, d)
    parameters = n_classes * np.outer(sizes - 1, sizes - 1)
    each = np.ones_like(rows) if penalty == "aic" else 0.5 * np.log(np.maximum(rows, 1.0))
    return np.asarray(rows * information - each * parameters)


def _spanning_forest(weights: Floats, at_least: float | None) -> list[tuple[int, int]]:
    """Return the edges of a maximum spanning forest (Kruskal); of equal edges the first in order."""
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
    """Direct edges outwards: from the root, and in other trees of a forest from their first attribute."""
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
