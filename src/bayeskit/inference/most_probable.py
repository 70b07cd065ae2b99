"""The most probable states of all variables; of several equally probable ones, the first."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bayeskit.inference.assignment import Assignment
from bayeskit.inference.evidence import Evidence
from bayeskit.inference.first_best import first_best
from bayeskit.inference.tree import Tree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Products of the same numbers in another order differ by rounding: closer than this is a tie.
TIE = 1e-10
# Where more cells than this are as good as the best, some variables are set and the question asked again.
MOST_TIED = 500_000


class MaxTables(Protocol):
    """Whoever can tell the largest probability of each cell of a tree."""

    def max_tables(self, evidence: Evidence, max_memory: float) -> tuple[Tree, float, Floats, Floats]:
        """Return a tree, the log of the largest probability, the max-marginals and the tables relative to it."""
        ...


def most_probable(engine: MaxTables, evidence: Evidence, max_memory: float) -> Assignment:
    """Return the most probable explanation; ties go to the lowest states, variables in order.

    A variable with one best state has that state in every best assignment. Where some have several, the first
    of the best assignments is put together from the cells of the cliques that are as good as the best.
    """
    codes = evidence.codes.copy()
    largest = None
    while True:
        tree, log_best, relative, tables = engine.max_tables(
            Evidence(codes, evidence.likelihoods), max_memory
        )
        if log_best == -math.inf:
            return Assignment(codes, -math.inf)
        largest = log_best if largest is None else largest
        free = tree.shape.problem.variables
        lowest, tied = _lowest(tree, relative)
        if not len(tied):
            codes[free] = lowest
            return Assignment(codes, largest)
        good = tables >= 1.0 - TIE
        if int(good.sum()) <= MOST_TIED:
            codes[free] = first_best(tree, good, tied)
            return Assignment(codes, largest)
        # What is in another tree does not matter: the first of each tree takes its lowest state.
        for v in _first_of_each_tree(tree, tied):
            codes[free[v]] = lowest[v]


def _lowest(tree: Tree, relative: Floats) -> tuple[Ints, Ints]:
    """Return the lowest best state of each variable, and the variables that have several."""
    begin, end = tree.start[:-1], tree.start[1:]
    best = np.flatnonzero(relative >= 1.0 - TIE)
    first = np.searchsorted(best, begin)
    return best[first] - begin, np.flatnonzero(np.searchsorted(best, end) - first > 1)


def _first_of_each_tree(tree: Tree, tied: Ints) -> list[int]:
    shape = tree.shape
    root = np.arange(shape.n_cliques)
    for c in tree.down.tolist():  # parents come first
        root[c] = root[shape.parent[c]]
    _, first = np.unique(root[shape.owner[shape.when[tied]]], return_index=True)
    return [int(v) for v in tied[first]]


def first_of_best(joint: Floats, targets: tuple[int, ...], log_p: float) -> Assignment:
    """Return the most probable cell of a joint table; ties go to the lowest states, variables in order."""
    if log_p == -math.inf:
        return Assignment(np.zeros(len(targets), np.int64), log_p)
    order = np.argsort(targets)
    turned = joint.transpose(order)
    top = turned.max()
    cell = np.unravel_index(int((turned >= top * (1.0 - TIE)).argmax()), turned.shape)
    codes = np.empty(len(targets), np.int64)
    codes[order] = cell
    return Assignment(codes, math.log(top) + log_p)
