"""Reduces a network to what a query needs, and finds the elimination order of its free variables.

The cliques of the tree follow from that order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._inference.potentials import Potentials
from bayeskit._intrinsics import lowest_bit, ones
from bayeskit._numba import kernel
from bayeskit.typing import Floats, Ints


@kernel
def mark_relevant(
    scope: Any, scope_start: Any, child: Any, table_of: Any, required: Any, needed: Any, kept: Any, stack: Any
) -> None:
    """Mark the required and observed variables with their ancestors, and the factors that matter to them.

    A node without a needed descendant sums to one (it is barren). A factor that is not a conditional table
    always matters, with all its variables. A variable without a table also matters, since it sums to its
    number of states.
    """
    for f in range(child.shape[0]):
        kept[f] = child[f] < 0
    for v in range(needed.shape[0]):
        needed[v] = False
    top = 0
    for v in range(required.shape[0]):
        if required[v] or table_of[v] < 0:
            needed[v] = True
            stack[top] = v
            top += 1
    for f in range(child.shape[0]):
        if child[f] < 0:
            for i in range(scope_start[f], scope_start[f + 1]):
                if not needed[scope[i]]:
                    needed[scope[i]] = True
                    stack[top] = scope[i]
                    top += 1
    while top > 0:
        top -= 1
        f = table_of[stack[top]]
        if f < 0:
            continue
        kept[f] = True
        for i in range(scope_start[f], scope_start[f + 1]):
            u = scope[i]
            if not needed[u]:
                needed[u] = True
                stack[top] = u
                top += 1


@kernel
def number_free(needed: Any, codes: Any, place: Any, variables: Any) -> int:
    """Number the needed free variables; return how many there are."""
    m = 0
    for v in range(needed.shape[0]):
        place[v] = -1
        if needed[v] and codes[v] < 0:
            place[v] = m
            variables[m] = v
            m += 1
    return m


@kernel
def link(scope: Any, scope_start: Any, sizes: Any, kept: Any, place: Any, adjacency: Any) -> None:
    """Set the bit of every two free variables that share a kept factor.

    A variable with one state depends on nothing, and stays alone.
    """
    one = np.uint64(1)
    for f in range(kept.shape[0]):
        if not kept[f]:
            continue
        for i in range(scope_start[f], scope_start[f + 1]):
            a = place[scope[i]]
            if a < 0 or sizes[scope[i]] == 1:
                continue
            for j in range(scope_start[f], scope_start[f + 1]):
                b = place[scope[j]]
                if b >= 0 and b != a and sizes[scope[j]] > 1:
                    adjacency[a, b >> 6] |= one << np.uint64(b & 63)


Bits = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Problem:
    """The rest of the potentials after barren nodes are pruned and observed variables are sliced out.

    Attributes
    ----------
    place : for every variable its number among the free ones, −1 if it is observed or not needed
    variables : the free variables
    kept : for every factor, whether it matters
    sizes : the states of the free variables
    adjacency : for each free variable the bits of those it shares a factor with (none if it has one state)
    sweep : an order of elimination to try, with ties (`Potentials.sweep`); empty if there is none
    """

    place: Ints
    variables: Ints
    kept: NDArray[np.bool_]
    sizes: Ints
    adjacency: Bits
    sweep: Ints


def make_problem(
    potentials: Potentials, observed: Ints, required: NDArray[np.bool_] | None, joined: tuple[int, ...] = ()
) -> Problem:
    """Prune, slice, number.

    Parameters
    ----------
    observed : codes, −1 if free (only which are free matters)
    required : the variables that must stay: the targets and those with evidence of any kind; None for all
    joined : variables that must be in one clique
    """
    n = potentials.n_variables
    kept = np.ones(potentials.n_factors, np.bool_)
    needed = np.ones(n, np.bool_)
    if required is not None:
        mark_relevant(
            potentials.scope,
            potentials.scope_start,
            potentials.child,
            potentials.table_of_variable,
            required,
            needed,
            kept,
            np.empty(n, np.int64),
        )
    return numbered(potentials, observed, needed, kept, joined)


def numbered(
    potentials: Potentials,
    observed: Ints,
    needed: NDArray[np.bool_],
    kept: NDArray[np.bool_],
    joined: tuple[int, ...] = (),
) -> Problem:
    """Return the problem of the needed free variables and the kept factors."""
    place, variables = (np.empty(potentials.n_variables, np.int64) for _ in range(2))
    m = number_free(needed, observed, place, variables)
    variables = variables[:m].copy()
    adjacency = np.zeros((m, max(1, (m + 63) >> 6)), np.uint64)
    link(potentials.scope, potentials.scope_start, potentials.sizes, kept, place, adjacency)
    for a in joined:
        for b in joined:
            if a != b and place[a] >= 0 and place[b] >= 0:
                adjacency[place[a], place[b] >> 6] |= np.uint64(1 << int(place[b] & 63))
    sweep = potentials.sweep[variables] if len(potentials.sweep) else potentials.sweep
    return Problem(place, variables, kept, potentials.sizes[variables], adjacency, sweep)


# The rules: the variable with the smallest value is eliminated first; the second number breaks ties.
MIN_FILL, WEIGHTED_MIN_FILL, MIN_WEIGHT, MIN_DEGREE = 0, 1, 2, 3
# The largest value of a rule: less than the offset that keeps late variables after all others.
LARGEST_COST = 1e280


@kernel
def _score(
    adjacency: Any, sizes: Any, v: int, rule: int, after: Any, favour: Any, first: Any, second: Any
) -> None:
    """Score a variable: the edges that its elimination would add (or their weight), and the cells of its clique."""
    words = adjacency.shape[1]
    weight = sizes[v]
    degree = 0
    missing = 0.0
    for w in range(words):
        bits = adjacency[v, w]
        while bits != np.uint64(0):
            u = w * 64 + lowest_bit(bits)
            bits &= bits - np.uint64(1)
            weight *= sizes[u]
            degree += 1
            if rule == MIN_FILL:
                for x in range(words):
                    missing += ones(adjacency[v, x] & ~adjacency[u, x])
                missing -= 1.0  # u itself is not one of its neighbours
            elif rule == WEIGHTED_MIN_FILL:
                for x in range(words):
                    lacking = adjacency[v, x] & ~adjacency[u, x]
                    while lacking != np.uint64(0):
                        other = x * 64 + lowest_bit(lacking)
                        lacking &= lacking - np.uint64(1)
                        if other != u:
                            missing += sizes[u] * sizes[other]
    weight *= favour[v]
    if rule in (MIN_FILL, WEIGHTED_MIN_FILL):
        first[v] = missing
        second[v] = weight
    elif rule == MIN_WEIGHT:
        first[v] = weight
        second[v] = degree
    else:
        first[v] = degree
        second[v] = weight
    first[v] = min(first[v], LARGEST_COST) + after[v]


@kernel
def eliminate(
    adjacency: Any,
    sizes: Any,
    rule: int,
    most: float,
    after: Any,
    favour: Any,
    order: Any,
    cliques: Any,
    first: Any,
    second: Any,
    touched: Any,
) -> Any:
    """Eliminate every variable by a rule; ``adjacency`` is overwritten.

    ``after`` is added to the value of a variable, ``favour`` multiplies the weight of its clique.

    ``order[k]`` is the k-th eliminated variable, ``cliques[k]`` it and its neighbours at that time. Returns
    an upper bound of the cells of all cliques, and the number of eliminated variables. If the bound exceeds
    ``most``, it is infinity and the last variable is the one whose clique did it.
    """
    n = order.shape[0]
    words = adjacency.shape[1]
    one = np.uint64(1)
    zero = np.uint64(0)
    for v in range(n):
        _score(adjacency, sizes, v, rule, after, favour, first, second)
    total = 0.0
    for k in range(n):
        v = -1
        for u in range(n):
            if first[u] >= 0.0 and (
                v < 0 or first[u] < first[v] or (first[u] == first[v] and second[u] < second[v])
            ):
                v = u
        order[k] = v
        cells = sizes[v]
        for w in range(words):
            cliques[k, w] = adjacency[v, w]
            touched[w] = adjacency[v, w]
            bits = adjacency[v, w]
            while bits != zero:
                cells *= sizes[w * 64 + lowest_bit(bits)]
                bits &= bits - one
        cliques[k, v >> 6] |= one << np.uint64(v & 63)
        total += cells
        if total > most:
            return np.inf, k + 1
        for w in range(words):
            bits = cliques[k, w]
            while bits != zero:
                u = w * 64 + lowest_bit(bits)
                bits &= bits - one
                if u == v:
                    continue
                for x in range(words):
                    new = cliques[k, x] & ~adjacency[u, x]
                    if x == (u >> 6):
                        new &= ~(one << np.uint64(u & 63))
                    if x == (v >> 6):
                        new &= ~(one << np.uint64(v & 63))
                    if rule in (MIN_FILL, WEIGHTED_MIN_FILL):
                        lacking = new
                        while lacking != zero:
                            other = x * 64 + lowest_bit(lacking)
                            lacking &= lacking - one
                            # A variable that is adjacent to both ends of a new edge has one less to add.
                            for y in range(words):
                                touched[y] |= adjacency[u, y] & adjacency[other, y]
                    adjacency[u, x] |= new
                adjacency[u, v >> 6] &= ~(one << np.uint64(v & 63))
        first[v] = -1.0
        touched[v >> 6] &= ~(one << np.uint64(v & 63))
        for w in range(words):
            bits = touched[w]
            while bits != zero:
                u = w * 64 + lowest_bit(bits)
                bits &= bits - one
                if first[u] >= 0.0:
                    _score(adjacency, sizes, u, rule, after, favour, first, second)
    return total, n


# With fewer cells than this, a better order saves less time than the search for it takes.
SMALL = 20_000.0
# A trial costs as much as filling and propagating this many cells per variable; a tenth of that time may be spent.
CELLS_PER_TRY = 2500.0
MOST_TRIES = 24
# With more cells than this, a sweep over the graph is tried, too.
LARGE = 1e6
# More than the value of any rule: variables with other multiples of it are eliminated in their order.
STEP = 2 * LARGEST_COST
# More than all steps.
LATE = 1e290
# No machine holds this many cells, and 64-bit integers can still count them: there is no need to go on.
BEYOND = 2.0**60


@dataclass(frozen=True, eq=False)
class Triangulation:
    """``order[k]`` is eliminated at step k; ``cliques[k]`` are the bits of it and its neighbours at that time.

    ``cells`` is an upper bound of the cells of all cliques (including cliques that are subsets of others). If
    it is infinite, the order ends with the variable whose clique exceeded all bounds.
    """

    order: NDArray[np.int64]
    cliques: NDArray[np.uint64]
    cells: float

    def members(self, step: int) -> list[int]:
        """Return the variables of the clique of a step."""
        bits = np.unpackbits(self.cliques[step].astype("<u8").view(np.uint8), bitorder="little")
        return [int(v) for v in np.flatnonzero(bits)]

    def first_of(self, variables: list[int]) -> int:
        """Return the first eliminated of these, −1 if there are none.

        If they are joined, its clique contains all of them.
        """
        wanted = set(variables)
        return next((v for v in self.order.tolist() if v in wanted), -1)

    def largest(self, sizes: NDArray[np.int64]) -> tuple[list[int], int]:
        """Return the variables of the largest clique and its cells, which may exceed any machine number."""
        logs = np.log2(sizes)
        best: list[int] = []
        most = -math.inf
        for step in range(len(self.order)):
            members = self.members(step)
            cells = float(logs[members].sum())
            if cells > most:
                best, most = members, cells
        return best, math.prod(int(sizes[v]) for v in best)


def by_min_fill(problem: Problem, most: float) -> Triangulation:
    """Eliminate by min-fill alone; with more cells than ``most``, their number is infinite."""
    m = len(problem.sizes)
    return _by_rule(problem, MIN_FILL, most, np.zeros(m), np.ones(m))


def triangulate(problem: Problem, late: NDArray[np.bool_] | None = None) -> Triangulation:
    """Eliminate by min-fill; if the tables are large, try three more rules and take the smallest result.

    No rule is safe alone: on known networks each of them loses to another by a factor of 2 to 47. Ties are
    frequent, and for very large tables it also helps to break them at random a few times. Variables that are
    ``late`` are eliminated after all others. If every rule exceeds all bounds, ``cells`` is infinite.
    """
    m = len(problem.sizes)
    after = np.zeros(m) if late is None else np.where(late, LATE, 0.0)
    best = _by_rule(problem, MIN_FILL, BEYOND, after, np.ones(m))
    if best.cells <= SMALL:
        return best
    if len(problem.sweep):
        # Chains side by side: min-fill does not see that they can be summed out together, a step of each at a time.
        other = _by_rule(
            problem, MIN_DEGREE, min(best.cells, BEYOND), after + STEP * problem.sweep, np.ones(m)
        )
        best = other if other.cells < best.cells else best
    rng = np.random.default_rng(0)
    tries = int(min(MOST_TRIES, best.cells / (CELLS_PER_TRY * m))) if best.cells < math.inf else 0
    for attempt in range(4 + tries):
        even = attempt < 4
        rule = (MIN_FILL, WEIGHTED_MIN_FILL, MIN_WEIGHT, MIN_DEGREE)[attempt % 4 if even else attempt % 2]
        if attempt:
            other = _by_rule(
                problem,
                rule,
                min(best.cells, BEYOND),
                after,
                np.ones(m) if even else rng.uniform(0.5, 2.0, m),
            )
            if other.cells < best.cells:
                best = other
    if best.cells > LARGE:
        # On wide grids every rule begins everywhere at once, and the fronts that meet are wide.
        swept = after + STEP * breadth_first(problem.adjacency)
        other = _by_rule(problem, MIN_DEGREE, min(best.cells, BEYOND), swept, np.ones(m))
        best = other if other.cells < best.cells else best
    return best


def sweep_from(problem: Problem, start: int) -> Triangulation:
    """Eliminate in the order of a sweep over the graph that begins with a variable."""
    rank = breadth_first(problem.adjacency, start).astype(np.float64)
    return _by_rule(problem, MIN_DEGREE, BEYOND, STEP * rank, np.ones(len(rank)))


def breadth_first(adjacency: Bits, start: int = -1) -> Ints:
    """Return the position of each variable in a sweep over the graph (Cuthill and McKee).

    It begins with ``start``, or with a variable of few neighbours at the far end of its part of the graph, and visits
    neighbours by their number of neighbours.
    """
    bits = np.unpackbits(adjacency.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    near = [np.flatnonzero(row) for row in bits]
    degree = np.array([len(found) for found in near])
    rank = np.full(len(near), -1, np.int64)
    n_ranked = 0
    for first in [start] * (start >= 0) + np.argsort(degree, kind="stable").tolist():
        if rank[first] >= 0:
            continue
        end = first if first == start else _sweep(first, near, degree)[-1]
        order = _sweep(end, near, degree)
        rank[order] = n_ranked + np.arange(len(order))
        n_ranked += len(order)
    return rank


def _sweep(first: int, near: list[Ints], degree: Ints) -> list[int]:
    """Return the variables that can be reached from the first, nearest first."""
    order, seen = [first], {first}
    for v in order:
        around = near[v][np.argsort(degree[near[v]], kind="stable")]
        new = [u for u in around.tolist() if u not in seen]
        seen.update(new)
        order += new
    return order


def _by_rule(problem: Problem, rule: int, most: float, after: Floats, favour: Floats) -> Triangulation:
    m, words = problem.adjacency.shape
    order, cliques = np.empty(m, np.int64), np.empty((m, words), np.uint64)
    cells, steps = eliminate(
        problem.adjacency.copy(),
        problem.sizes.astype(np.float64),
        rule,
        most,
        after,
        favour,
        order,
        cliques,
        np.empty(m),
        np.empty(m),
        np.empty(words, np.uint64),
    )
    return Triangulation(order[:steps], cliques[:steps], float(cells))
