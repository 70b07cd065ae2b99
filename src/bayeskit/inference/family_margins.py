"""The distribution of every factor's variables together, from one calibrated tree."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bayeskit.inference.potentials import Evidence, Potentials
from bayeskit.inference.tree import Tree

Floats = NDArray[np.float64]


def family_margins(tree: Tree, pot: Floats, p: Potentials, evidence: Evidence) -> Iterator[Floats]:
    """Yield P(scope | evidence) of each factor, with an axis for each variable of its scope.

    ``pot`` are the tables of the tree when messages have gone both ways: each factor's free variables stand
    together in one clique. Variables that were observed, or have one state, have all mass on theirs.
    """
    place = tree.shape.problem.place
    for f in range(p.n_factors):
        scope = p.scope_of(f)
        free = [v for v in scope if place[v] >= 0 and p.sizes[v] > 1]
        out = np.zeros([int(p.sizes[v]) for v in scope])
        index = tuple(slice(None) if v in free else max(int(evidence.codes[v]), 0) for v in scope)
        out[index] = _margin(tree, pot, [int(place[v]) for v in free]) if free else 1.0
        yield out


def _margin(tree: Tree, pot: Floats, places: list[int]) -> Floats:
    shape = tree.shape
    c = int(shape.owner[shape.when[places].min()])
    axes = tree.axes_of(c)
    start = int(shape.offset[c])
    table = pot[start : start + int(shape.table_cells[c])].reshape(shape.problem.sizes[axes])
    kept = [v for v in axes if v in places]
    margin = table.sum(axis=tuple(a for a, v in enumerate(axes) if v not in places))
    return np.asarray(margin.transpose([kept.index(v) for v in places]))
