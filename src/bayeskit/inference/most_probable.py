"""The most probable states of all variables; of several equally probable ones, the first."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bayeskit.inference.assignment import Assignment
from bayeskit.inference.kernels.layout import EACH
from bayeskit.inference.potentials import Evidence
from bayeskit.inference.tree import Tree

Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]


def first_best(tree: Tree, good: Bits, tied: Ints) -> Ints:
    """Return the states of the tree's variables in the first assignment all of whose cells are good.

    Parameters
    ----------
    good : for each cell of the tables whether it belongs to a best assignment
    tied : the variables that have several best states

    An assignment of the tied variables is a whole number whose digits are their states, the first variable's
    leading: the first assignment has the least number. Numbers of variables apart add up, so the least one comes
    from messages, as a smallest sum would. They are Python's, which have no largest.
    """
    shift = _shifts(tree, tied)
    best: dict[
        int, dict[int, tuple[int, int]]
    ] = {}  # clique → cell of its separator → least number, and its cell
    for c in tree.shape.sequence[::-1].tolist():
        best[c] = _message(tree, c, good, shift, best)
    codes = np.empty(len(tree.shape.problem.sizes), np.int64)
    chosen: dict[int, int] = {}
    for c in tree.shape.sequence.tolist():
        p = int(tree.shape.parent[c])
        above = 0 if p < 0 else int(_separator_cells(tree, c, np.array([chosen[p]]))[0])
        chosen[c] = best[c][above][1]
        strides = _strides(tree, c)
        for v in tree.axes_of(c)[int(tree.shape.separated[c]) :]:
            codes[v] = chosen[c] // strides[v] % int(tree.shape.problem.sizes[v])
    return codes


def _shifts(tree: Tree, tied: Ints) -> dict[int, int]:
    """Return how many bits the digit of each tied variable stands to the left."""
    shift, found = 0, {}
    for v in reversed(tied.tolist()):
        found[v] = shift
        shift += (int(tree.shape.problem.sizes[v]) - 1).bit_length()
    return found


def _message(
    tree: Tree, c: int, good: Bits, shift: dict[int, int], best: dict[int, dict[int, tuple[int, int]]]
) -> dict[int, tuple[int, int]]:
    shape = tree.shape
    begin, strides = int(shape.offset[c]), _strides(tree, c)
    cells = np.flatnonzero(good[begin : begin + int(shape.table_cells[c])])
    numbers = [0] * len(cells)
    for v in tree.axes_of(c)[int(shape.separated[c]) :]:
        if v in shift:
            states = (cells // strides[v] % int(shape.problem.sizes[v])).tolist()
            numbers = [number + (state << shift[v]) for number, state in zip(numbers, states)]
    kept = [True] * len(cells)
    for child in tree.children[c]:
        from_child = best[child]
        for i, s in enumerate(_separator_cells(tree, child, cells).tolist()):
            if s in from_child:
                numbers[i] += from_child[s][0]
            else:  # by rounding good here and not there
                kept[i] = False
    found: dict[int, tuple[int, int]] = {}
    each = int(shape.edge[c, EACH])
    for cell, number, keep in zip(cells.tolist(), numbers, kept):
        s = cell // each
        if keep and (s not in found or number < found[s][0]):
            found[s] = number, cell
    return found


def _strides(tree: Tree, c: int) -> dict[int, int]:
    stride, found = 1, {}
    for v in reversed(tree.axes_of(c)):
        found[v] = stride
        stride *= int(tree.shape.problem.sizes[v])
    return found


def _separator_cells(tree: Tree, child: int, cells: Ints) -> Ints:
    """Return for cells of the parent the cells of its separator from the child."""
    shape = tree.shape
    strides = _strides(tree, int(shape.parent[child]))
    found = np.zeros(len(cells), np.int64)
    for v in tree.axes_of(child)[: int(shape.separated[child])]:
        size = int(shape.problem.sizes[v])
        found = found * size + cells // strides[v] % size
    return found


Floats = NDArray[np.float64]

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
