"""The most probable states of all variables (MPE) or of some (MAP). Ties go to the first.

For MAP, all other variables are summed out first. It is used if the targets do not fit into one table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bayeskit._inference.clique_tree import Tree, guarded_shape, make_tree
from bayeskit._inference.filled_tree import FilledTree
from bayeskit._inference.kernels.tree_layout import EACH
from bayeskit._inference.log_tree import log_sum, spread
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit._inference.triangulation import BEYOND, Problem, make_problem, triangulate
from bayeskit.errors import TooLarge
from bayeskit.typing import Floats, Ints


@dataclass(frozen=True, eq=False)
class Assignment:
    """Codes of states, and the log of their probability together with the evidence (−inf: impossible)."""

    codes: NDArray[np.int64]
    log_probability: float


Bits = NDArray[np.bool_]


def first_best(tree: Tree, good: Bits, tied: Ints) -> Ints:
    """Return the first assignment, as states of the tree's variables, whose cells are all good.

    Parameters
    ----------
    good : for each cell of the tables, whether it belongs to a best assignment
    tied : the variables with several best states

    An assignment of the tied variables is encoded as an integer whose digits are their states, with the first
    variable as the leading digit. So the first assignment has the smallest integer. The digits of separate
    variables add up, so messages find the smallest integer as they would a smallest sum. The integers are
    Python's and cannot overflow.
    """
    shift = _shifts(tree, tied)
    best: dict[
        int, dict[int, tuple[int, int]]
    ] = {}  # clique → cell of its separator → smallest integer, and its cell
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
    """Return the number of bits by which the digit of each tied variable is shifted."""
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
            numbers = [number + (state << shift[v]) for number, state in zip(numbers, states, strict=True)]
    kept = [True] * len(cells)
    for child in tree.children[c]:
        from_child = best[child]
        for i, s in enumerate(_separator_cells(tree, child, cells).tolist()):
            if s in from_child:
                numbers[i] += from_child[s][0]
            else:  # good here but not there, because of rounding
                kept[i] = False
    found: dict[int, tuple[int, int]] = {}
    each = int(shape.edge[c, EACH])
    for cell, number, keep in zip(cells.tolist(), numbers, kept, strict=True):
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
    """Return the separator cells of the child that belong to these cells of the parent."""
    shape = tree.shape
    strides = _strides(tree, int(shape.parent[child]))
    found = np.zeros(len(cells), np.int64)
    for v in tree.axes_of(child)[: int(shape.separated[child])]:
        size = int(shape.problem.sizes[v])
        found = found * size + cells // strides[v] % size
    return found


# Products of the same numbers in another order differ by rounding: a smaller difference is a tie.
TIE = 1e-10
# If more cells than this tie for the best, some variables are fixed and the query is repeated.
MOST_TIED = 500_000


class MaxTables(Protocol):
    """An engine that computes the largest probability of each cell of a tree."""

    def max_tables(self, evidence: Evidence, max_memory: float) -> tuple[Tree, float, Floats, Floats]:
        """Return a tree, the log of the largest probability, and the max-marginals and tables relative to it."""
        ...


def most_probable(engine: MaxTables, evidence: Evidence, max_memory: float) -> Assignment:
    """Return the most probable explanation; ties go to the lowest states, in the order of the variables.

    A variable with one best state has that state in every best assignment. If some have several, the first
    best assignment is assembled from the tied cells of the cliques.
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
        # Separate trees are independent: the first variable of each tree takes its lowest state.
        for v in _first_of_each_tree(tree, tied):
            codes[free[v]] = lowest[v]


def _lowest(tree: Tree, relative: Floats) -> tuple[Ints, Ints]:
    """Return the lowest best state of each variable, and the variables with several best states."""
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
    """Return the most probable cell of a joint table; ties go to the lowest states, in the order of the variables."""
    if log_p == -math.inf:
        return Assignment(np.zeros(len(targets), np.int64), log_p)
    order = np.argsort(targets)
    turned = joint.transpose(order)
    top = turned.max()
    cell = np.unravel_index(int((turned >= top * (1.0 - TIE)).argmax()), turned.shape)
    codes = np.empty(len(targets), np.int64)
    codes[order] = cell
    return Assignment(codes, math.log(top) + log_p)


LogFactor = tuple[tuple[int, ...], Floats]

# The logs of a factor of the targets span at most this range; a wider factor is split into several.
SPAN = 600.0


def most_probable_targets(
    potentials: Potentials, targets: tuple[int, ...], evidence: Evidence, max_memory: float
) -> Assignment:
    """Return the most probable states of the targets; ties go to the lowest states, in the order of the variables.

    All other variables are summed out before any target is maximised, because maximum and sum do not commute.
    That constrains the order, so the tables may be larger than for other queries.
    """
    codes = np.where(
        potentials.sizes == 1, 0, evidence.codes
    )  # arrays have a limited number of axes: leave these out
    free = sorted(v for v in targets if codes[v] < 0)
    factors, total = _sum_out(potentials, free, codes, evidence, max_memory)
    if total == -math.inf:
        return Assignment(np.zeros(len(targets), np.int64), total)
    alone, taken = _as_potentials(factors, potentials, free)
    del factors
    left = max_memory - alone.values.nbytes
    best = most_probable(_Maxima(alone), Evidence.nothing(len(free)), left)
    codes[free] = np.maximum(best.codes, 0)  # −1 if everything is impossible
    return Assignment(codes[list(targets)], best.log_probability + total + taken)


class _Maxima:
    """The max-marginals of potentials that are queried once or twice: nothing is cached."""

    def __init__(self, potentials: Potentials) -> None:
        self.potentials = potentials

    def max_tables(self, evidence: Evidence, max_memory: float) -> tuple[Tree, float, Floats, Floats]:
        problem = make_problem(self.potentials, evidence.codes, None)
        tree = make_tree(guarded_shape(self.potentials, problem, triangulate(problem), max_memory))
        filled = FilledTree.of(tree, self.potentials, evidence.codes)
        none = np.empty(0, np.int64)
        return tree, *filled.ask(none, {}, take_max=True, keep=False)


def _sum_out(
    p: Potentials, targets: list[int], codes: Ints, evidence: Evidence, max_memory: float
) -> tuple[list[LogFactor], float]:
    """Return the logs of factors over the targets, numbered among themselves, and the log of the rest."""
    required = evidence.codes >= 0
    required[targets] = True
    required[list(evidence.likelihoods)] = True
    problem = make_problem(p, codes, required)
    place = problem.place
    late = np.zeros(len(problem.sizes), np.bool_)
    late[place[targets]] = True
    triangulation = triangulate(problem, late)
    steps = len(problem.sizes) - len(targets)
    if triangulation.cells == math.inf:
        members, cells = triangulation.largest(problem.sizes)
        raise _refusal(p, problem, 16 * cells, max_memory, members)
    _require(p, problem, triangulation.order[:steps].tolist(), evidence, max_memory)
    factors, total = _log_factors(p, problem, codes, evidence)
    buckets = Buckets([scope for scope, _ in factors])
    alive: dict[int, LogFactor] = dict(enumerate(factors))
    del factors
    for v in triangulation.order[:steps].tolist():
        numbers, number, scope = buckets.sum_out(v)
        mine = [alive.pop(f) for f in numbers]
        product = np.zeros([int(problem.sizes[u]) for u in (*scope, v)])
        for own, values in mine:
            product += spread(values, own, (*scope, v))
        summed = log_sum(product)[..., 0]
        del mine, product
        if scope:
            alive[number] = scope, summed
        else:
            total += float(summed)
    numbered = {int(place[v]): i for i, v in enumerate(targets)}
    return [(tuple(numbered[v] for v in scope), values) for scope, values in alive.values()], total


def _log_factors(
    p: Potentials, problem: Problem, codes: Ints, evidence: Evidence
) -> tuple[list[LogFactor], float]:
    """Return the logs of the relevant factors at the observed states, and the sum of those without variables."""
    place, found, total = problem.place, [], 0.0
    logs = [(p.scope_of(f), p.log_slice(f, codes)) for f in np.flatnonzero(problem.kept).tolist()]
    with np.errstate(divide="ignore"):
        for v, weight in evidence.likelihoods.items():
            logs.append(([v], np.log(weight if place[v] >= 0 else weight[codes[v]])))
    for scope, values in logs:
        free = tuple(int(place[v]) for v in scope if place[v] >= 0)
        if free:
            found.append((free, values))
        else:
            total += float(values)
    return found, total


def _as_potentials(factors: list[LogFactor], p: Potentials, targets: list[int]) -> tuple[Potentials, float]:
    """Convert log factors to plain numbers; also return the log of the scale. The logs are overwritten.

    Logs with too wide a range for plain numbers are split into sums of several.
    """
    scopes, tables, taken = [], [], 0.0
    while factors:
        scope, rest = factors.pop()
        largest = float(rest.max())
        if largest > -math.inf:
            taken += largest
            rest = rest - largest
        while True:
            scopes.append(scope)
            part = np.where(rest > -np.inf, np.maximum(rest, -SPAN), rest)
            tables.append(np.exp(part, out=part))
            rest = np.where(rest > -np.inf, np.minimum(rest + SPAN, 0.0), 0.0)
            if not rest.any():
                break
    sizes, names = [int(p.sizes[v]) for v in targets], tuple(p.names[v] for v in targets)
    return Potentials.laid_out(sizes, scopes, tables, [-1] * len(scopes), names), taken


class Buckets:
    """The factors of each variable while variables are summed out one by one."""

    def __init__(self, scopes: list[tuple[int, ...]]) -> None:
        self.scopes = dict(enumerate(scopes))
        self._next = len(scopes)
        self._holding: dict[int, set[int]] = {}
        for number, scope in self.scopes.items():
            for v in scope:
                self._holding.setdefault(v, set()).add(number)

    def sum_out(self, v: int) -> tuple[list[int], int, tuple[int, ...]]:
        """Return the factors of a variable, the number of the factor that replaces them, and its scope."""
        numbers = sorted(self._holding.pop(v, ()))
        scope = tuple(sorted({u for f in numbers for u in self.scopes.pop(f)} - {v}))
        for u in scope:
            self._holding[u] = self._holding[u].difference(numbers) | {self._next}
        if scope:
            self.scopes[self._next] = scope
        self._next += 1
        return numbers, self._next - 1, scope


def _require(
    p: Potentials, problem: Problem, order: list[int], evidence: Evidence, max_memory: float
) -> None:
    """Simulate the sums without numbers, and raise TooLarge if the peak memory exceeds the limit."""
    place, sizes = problem.place, problem.sizes

    def cells(scope: tuple[int, ...]) -> int:
        return math.prod(int(sizes[v]) for v in scope)

    scopes = [p.scope_of(f) for f in np.flatnonzero(problem.kept).tolist()] + [
        [v] for v in evidence.likelihoods
    ]
    free = [tuple(int(place[v]) for v in scope if place[v] >= 0) for scope in scopes]
    buckets = Buckets([scope for scope in free if scope])
    size_of = {f: cells(scope) for f, scope in buckets.scopes.items()}
    held = most = sum(size_of.values())
    largest: tuple[int, ...] = ()
    for v in order:
        numbers, number, scope = buckets.sum_out(v)
        # The product, its exponentials while they are summed, their maxima and their sums.
        most = max(most, held + 2 * cells((*scope, v)) + 2 * cells(scope))
        largest = max(largest, (*scope, v), key=cells)
        size_of[number] = cells(scope) if scope else 0
        held += size_of[number] - sum(size_of.pop(f) for f in numbers)
    # The rest becomes plain numbers, in one array.
    most = max(most, 2 * held)
    if 8 * most > max_memory:
        raise _refusal(p, problem, 8 * most, max_memory, list(largest))


def _refusal(p: Potentials, problem: Problem, needed: int, max_memory: float, members: list[int]) -> TooLarge:
    names = [p.names[int(problem.variables[v])] for v in members]
    cells = math.prod(int(problem.sizes[v]) for v in members)
    return TooLarge(needed, min(max_memory, 8.0 * BEYOND), names, cells)
