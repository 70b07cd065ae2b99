"""Eliminates continuous variables: the order and its cost, the weights of discrete nodes, the moments.

The exact engine multiplies plain numbers, with each table scaled so that its largest cell is one. Densities
of continuous observations can differ by a thousand orders of magnitude. If that matters, `LogTables` is used
instead: it is slow, but has no limit on ratios of probabilities.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit._graphs.distributions import log_normal
from bayeskit._inference.gaussian.mixed_layout import (
    ROUNDING,
    Layout,
    Regression,
    Scope,
    columns,
    reverse_arc,
    spread,
    union,
)
from bayeskit.errors import TooLarge
from bayeskit.typing import Floats


@dataclass(frozen=True, eq=False)
class LogTable:
    """Logarithms over the states of some nodes, ascending."""

    scope: Scope
    log: Floats


def ascending(scope: Sequence[int], log: Floats) -> LogTable:
    """Return a table with its axes in ascending order."""
    order = sorted(range(len(scope)), key=scope.__getitem__)
    return LogTable(tuple(scope[a] for a in order), log.transpose(order))


def product(tables: Sequence[LogTable]) -> LogTable:
    scope = tuple(sorted({v for table in tables for v in table.scope}))
    log = np.zeros([1] * len(scope))
    for table in tables:
        log = log + spread(table.log, table.scope, scope)
    return LogTable(scope, log)


def log_sum(log: Floats, axis: int) -> Floats:
    """Return log Σ exp along an axis; −∞ if all entries are.

    >>> float(log_sum(np.array([-1000.0, -1000.0]), 0).round(6))
    -999.306853
    """
    top = log.max(axis=axis, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        summed = np.log(np.exp(log - safe).sum(axis=axis, keepdims=True)) + safe
    return np.asarray(summed.squeeze(axis))


class LogTables:
    """A product of tables over numbered discrete nodes."""

    def __init__(self, tables: Sequence[LogTable], sizes: Sequence[int], names: Sequence[object]) -> None:
        self.tables, self.sizes, self.names = list(tables), sizes, names

    def onto(self, targets: Scope, max_memory: float) -> Floats:
        """Return the log of the sum over everything except the targets; axes ascending."""
        tables, _ = self._eliminated(set(targets), max_memory, maximise=False)
        whole = self._multiplied([*tables, *self._ones(targets)], max_memory)
        return whole.log

    def best(self, max_memory: float) -> tuple[dict[int, int], float]:
        """Return the states of all nodes with the largest product, and its log."""
        tables, trail = self._eliminated(set(), max_memory, maximise=True)
        found: dict[int, int] = {}
        for node, table in reversed(trail):
            place = tuple(slice(None) if v == node else found[v] for v in table.scope)
            found[node] = int(table.log[place].argmax())
        return found, float(sum(float(table.log) for table in tables))

    def _ones(self, nodes: Scope) -> list[LogTable]:
        return [LogTable((v,), np.zeros(self.sizes[v])) for v in nodes]

    def _cells(self, scope: set[int]) -> int:
        return math.prod(self.sizes[v] for v in scope)

    def _multiplied(self, tables: Sequence[LogTable], max_memory: float) -> LogTable:
        scope = {v for table in tables for v in table.scope}
        needed = 8 * 3 * self._cells(scope)
        if needed > max_memory:
            raise TooLarge(needed, max_memory, [self.names[v] for v in sorted(scope)], self._cells(scope))
        return product(tables)

    def _eliminated(
        self, kept: set[int], max_memory: float, maximise: bool
    ) -> tuple[list[LogTable], list[tuple[int, LogTable]]]:
        tables, trail = list(self.tables), []
        ahead = {v for table in tables for v in table.scope} - kept
        while ahead:
            around = {v: {u for t in tables if v in t.scope for u in t.scope} for v in ahead}
            node = min(ahead, key=lambda v: (self._cells(around[v]), v))
            ahead.discard(node)
            joined = self._multiplied([t for t in tables if node in t.scope], max_memory)
            trail.append((node, joined))
            axis = joined.scope.index(node)
            log = joined.log.max(axis=axis) if maximise else log_sum(joined.log, axis)
            rest = tuple(v for v in joined.scope if v != node)
            tables = [t for t in tables if node not in t.scope] + [LogTable(rest, log)]
        return tables, trail


# exp(−700) is still a normal number; smaller cells relative to the largest would not be.
LOWEST = -700.0


@dataclass(frozen=True, eq=False)
class Weight:
    """The log density of an observation for each configuration of the scope.

    ``hits`` counts the values of nodes with variance zero. There the number is the log of a probability, not
    of a density, and takes precedence over any density.
    """

    scope: Scope
    log: Floats
    hits: Floats


@dataclass(frozen=True, eq=False)
class ScaledWeight:
    """Weights whose largest cell is one each (log 0), and the log of the scale.

    ``dropped``: some cell is too small to distinguish from zero. ``outweighed``: a density gave way to a
    probability.
    """

    tables: list[LogTable]
    taken: float
    dropped: bool
    outweighed: bool


def merged(weights: Sequence[Weight]) -> list[Weight]:
    """Merge each weight into one over a superset of its nodes, if there is one.

    This leaves fewer tables, and no two over the same nodes that contradict each other.
    """
    homes: dict[Scope, Weight] = {}
    for weight in sorted(weights, key=lambda w: -len(w.scope)):
        nodes = set(weight.scope)
        home = weight.scope
        if home not in homes:
            home = next((s for s in homes if nodes.issubset(s)), weight.scope)
        if home in homes:
            known = homes[home]
            log, hits = (spread(a, weight.scope, home) for a in (weight.log, weight.hits))
            weight = Weight(home, known.log + log, known.hits + hits)
        homes[home] = weight
    return list(homes.values())


def scaled(weights: Sequence[Weight], outweigh: bool) -> ScaledWeight:
    """Divide each weight by its largest cell; with ``outweigh``, probabilities first exclude mere densities."""
    tables, taken, dropped, outweighed = [], 0.0, False, False
    for weight in weights:
        log = weight.log
        if outweigh:
            possible = log > -np.inf
            most = np.max(weight.hits, where=possible, initial=0.0)
            less = possible & (weight.hits < most)
            outweighed = outweighed or bool(less.any())
            log = np.where(less, -np.inf, log)
        top = float(log.max())
        taken += top
        if top > -math.inf:
            log = log - top
            dropped = dropped or bool(((log < LOWEST) & (log > -np.inf)).any())
        tables.append(LogTable(weight.scope, log))
    return ScaledWeight(tables, taken, dropped, outweighed)


# In addition to its input and output, an update holds about this many arrays of the same size. The moments of
# one node need about this many arrays of the size of its covariances with its neighbours. Both were measured.
UPDATE, MOMENTS = 2, 3


@dataclass(frozen=True)
class Step:
    """Eliminate a node by reversing its arcs to these children, in this order.

    ``near`` are its remaining continuous neighbours; ``scope`` are the discrete nodes on which its equation
    depends afterwards.
    """

    node: int
    children: tuple[int, ...]
    near: tuple[int, ...]
    scope: Scope


@dataclass(frozen=True)
class Plan:
    """Steps in order. ``bytes_in`` is the peak memory of elimination, ``bytes_out`` that of computing moments."""

    steps: tuple[Step, ...]
    bytes_in: int
    bytes_out: int
    largest: tuple[int, ...]
    cells: int

    def allow(self, layout: Layout, max_memory: float, moments: bool) -> None:
        needed = max(self.bytes_in, self.bytes_out if moments else 0)
        if needed > max_memory:
            raise TooLarge(needed, max_memory, [layout.names[k] for k in self.largest], self.cells)


class _Symbols:
    """Symbolic elimination: the variables and discrete nodes of each row, without its numbers."""

    def __init__(self, layout: Layout, rows: Mapping[int, Regression]) -> None:
        self.sizes, self.rank = layout.sizes, layout.rank
        self.variables = {k: set(row.variables) for k, row in rows.items()}
        self.scope = {k: frozenset(row.scope) for k, row in rows.items()}
        free = [k for k, row in rows.items() if not row.observed]
        self.users: dict[int, set[int]] = {k: set() for k in free}
        self.near: dict[int, set[int]] = {k: set() for k in free}
        self.observed = {k for k, row in rows.items() if row.observed}
        self.live = 0  # floats held; the initial rows are views of the network's arrays
        self.peak = 0
        self._cells_of: dict[int, int] = {}
        for k, row in rows.items():
            together = {*row.variables} if row.observed else {*row.variables, k}
            for v in row.variables:
                self.users[v].add(k)
            for v in together:
                self.near[v] |= together
        for k in free:
            self.near[k].discard(k)

    def cells(self, scope: Iterable[int]) -> int:
        return math.prod(self.sizes[node] for node in scope)

    def cost(self, x: int) -> int:
        scope = self.scope[x].union(*(self.scope[k] for k in self.users[x]))
        # Observed rows are updated until no variable is left in them, so many of them make a step expensive.
        carried = 1 + len(self.users[x] & self.observed)
        return self.cells(scope) * (1 + len(self.near[x])) ** 2 * carried

    def eliminate(self, x: int) -> Step:
        """Apply the elimination to the scopes, and count the floats held."""
        children = sorted(self.users[x], key=self.rank.__getitem__)
        variables, scope = set(self.variables[x]), self.scope[x]
        pivot = self._cells_of.pop(x, 0)
        for child in children:
            variables |= self.variables[child]
            variables.discard(x)
            scope = scope | self.scope[child]
            for v in variables - self.variables[child]:
                self.users[v].add(child)
            self.variables[child], self.scope[child] = set(variables), scope
            made = self.cells(scope) * (len(variables) + 3)
            if child not in self.observed:
                variables.add(child)
            now = self.cells(scope) * (len(variables) + 3)
            beside = self.cells(scope) * UPDATE * (len(variables) + 3)
            self.peak = max(self.peak, self.live + made + now + beside)
            self.live += made - self._cells_of.get(child, 0) + now - pivot
            self._cells_of[child], pivot = made, now
        for v in self.variables[x]:
            self.users[v].discard(x)
        near = self.near.pop(x)
        for v in near:
            self.near[v] |= near
            self.near[v] -= {v, x}
        self.peak = max(self.peak, self.live)
        return Step(x, tuple(children), tuple(sorted(near)), tuple(sorted(scope)))


def plan(layout: Layout, rows: Mapping[int, Regression], last: Sequence[int] = ()) -> Plan:
    """Choose greedily the variable with the smallest clique; variables in ``last`` come last.

    A node without observed descendants never costs more than its parents, and ties go to the lower node. So
    such nodes are eliminated first, and the equations of their parents do not change.
    """
    symbols = _Symbols(layout, rows)
    steps: list[Step] = []
    held = set(last)
    for group in ([k for k in symbols.near if k not in held], list(last)):
        ahead = set(group)
        cost = {k: symbols.cost(k) for k in group}
        heap = [(cost[k], -layout.rank[k], k) for k in group]
        heapq.heapify(heap)
        while heap:
            price, _, x = heapq.heappop(heap)
            if x not in ahead or price != cost[x]:
                continue
            ahead.discard(x)
            step = symbols.eliminate(x)
            steps.append(step)
            for k in step.near:
                if k in ahead:
                    cost[k] = symbols.cost(k)
                    heapq.heappush(heap, (cost[k], -layout.rank[k], k))
    largest, cells, moments = _moments(layout, steps)
    return Plan(tuple(steps), 8 * symbols.peak, 8 * (symbols.live + moments), largest, cells)


def parent_steps(steps: Sequence[Step]) -> list[int]:
    """Return, for each step, the step of its first eliminated neighbour; −1 if it has none."""
    place = {step.node: i for i, step in enumerate(steps)}
    return [min((place[k] for k in step.near), default=-1) for step in steps]


def _moments(layout: Layout, steps: Sequence[Step]) -> tuple[tuple[int, ...], int, int]:
    """Return the largest clique, its cells, and the number of floats of all means and covariances."""
    parents = parent_steps(steps)
    inner = set(parents)
    scopes: list[frozenset[int]] = [frozenset()] * len(steps)
    floats, cells, most = 0, 0, 0
    largest: tuple[int, ...] = ()
    for i in range(len(steps) - 1, -1, -1):
        step = steps[i]
        above = scopes[parents[i]] if parents[i] >= 0 else frozenset()
        scopes[i] = above.union(step.scope)
        n_cells = math.prod(layout.sizes[node] for node in scopes[i])
        width = 1 + len(step.near)
        floats += n_cells * (2 + (width * (width + 1) if i in inner else 0))
        most = max(most, n_cells * (MOMENTS * (width - 1) + 1))
        if n_cells * width * width > cells:
            cells = n_cells * width * width
            largest = (*sorted(scopes[i]), step.node, *step.near)
    return largest, cells, floats + most


@dataclass(frozen=True, eq=False)
class EliminationResult:
    """``given_later[x]`` is x regressed on variables eliminated later; ``weights`` come from the observations."""

    given_later: Mapping[int, Regression]
    weights: list[Weight]


def eliminate(rows: Mapping[int, Regression], steps: Iterable[Step]) -> EliminationResult:
    """Reverse arcs according to the steps, then evaluate the observed rows, in which only constants are left."""
    rows = dict(rows)
    given_later: dict[int, Regression] = {}
    for step in steps:
        pivot = rows.pop(step.node)
        for child in step.children:
            pivot, rows[child] = reverse_arc(pivot, rows[child])
        given_later[step.node] = pivot
    return EliminationResult(given_later, [weight(row) for row in rows.values()])


def weight(row: Regression) -> Weight:
    r"""Return :math:`\log N(0; b, v)` of an observed row, in each cell of its scope."""
    log, hits = log_normal(row.intercept, row.variance, row.size)
    return Weight(row.scope, log, hits)


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and (co)variance of one or several nodes, for each configuration of the scope."""

    scope: Scope
    mean: Floats
    variance: Floats

    def narrowed(self) -> Moments:
        """Drop discrete nodes on which no number depends."""
        scope, mean, variance = list(self.scope), self.mean, self.variance
        for axis in range(len(scope) - 1, -1, -1):
            if _constant(mean, axis) and _constant(variance, axis):
                mean, variance = (np.asarray(m.take(0, axis)) for m in (mean, variance))
                del scope[axis]
        return Moments(tuple(scope), mean, variance)


def _constant(array: Floats, axis: int) -> bool:
    return bool((array == array.take([0], axis)).all())


def all_moments(steps: Sequence[Step], given_later: Mapping[int, Regression]) -> dict[int, Moments]:
    """Return mean and variance of every eliminated node.

    The neighbours of a node at its elimination are all in the clique of the neighbour that is eliminated
    first. So the joint moments follow from those of that clique.
    """
    parents = parent_steps(steps)
    inner = set(parents)
    cliques: dict[int, tuple[tuple[int, ...], Moments]] = {}
    found: dict[int, Moments] = {}
    nothing: tuple[tuple[int, ...], Moments] = ((), Moments((), np.empty(0), np.empty((0, 0))))
    for i in range(len(steps) - 1, -1, -1):
        step = steps[i]
        members, clique = cliques[parents[i]] if parents[i] >= 0 else nothing
        near = step.near
        if near != members:
            place = {v: k for k, v in enumerate(members)}
            chosen = np.array([place[v] for v in near], np.intp)
            clique = Moments(
                clique.scope, clique.mean[..., chosen], clique.variance[..., chosen[:, None], chosen]
            )
        scope, mean, across, variance = extended(given_later[step.node], near, clique)
        found[step.node] = Moments(scope, mean, variance)
        if i in inner:
            cliques[i] = ((*near, step.node), joined(scope, clique, mean, across, variance))
    return found


def joint_moments(nodes: Sequence[int], given_later: Mapping[int, Regression]) -> Moments:
    """Return the joint moments of the last eliminated nodes, in the order of their elimination."""
    members: tuple[int, ...] = ()
    joint = Moments((), np.empty(0), np.empty((0, 0)))
    for node in reversed(nodes):
        scope, mean, across, variance = extended(given_later[node], members, joint)
        joint = joined(scope, joint, mean, across, variance)
        members = (*members, node)
    order = np.array([members.index(node) for node in nodes], np.intp)
    return Moments(joint.scope, joint.mean[..., order], joint.variance[..., order[:, None], order])


def extended(
    row: Regression, members: tuple[int, ...], known: Moments
) -> tuple[Scope, Floats, Floats, Floats]:
    """Return the mean of a row's child, its covariance with its regressors, and its variance."""
    scope = union(row.scope, known.scope)
    c = spread(columns(row.coefficients, row.variables, members), row.scope, scope)
    if not members:
        return row.scope, row.intercept, c, row.variance
    mean = spread(known.mean, known.scope, scope)
    covariance = spread(known.variance, known.scope, scope)
    across = (covariance @ c[..., None])[..., 0]
    added = (c * across).sum(axis=-1)
    if len(members) > 1:
        # Terms that cancel leave rounding errors, which are not variance.
        terms = (np.abs(c) * np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))).sum(axis=-1)
        added = np.where(added <= ROUNDING * terms * terms, 0.0, added)
    return (
        scope,
        spread(row.intercept, row.scope, scope) + (c * mean).sum(axis=-1),
        across,
        spread(row.variance, row.scope, scope) + added,
    )


def joined(scope: Scope, known: Moments, mean: Floats, across: Floats, variance: Floats) -> Moments:
    """Append one variable to joint moments."""
    cells = mean.shape
    k = across.shape[-1]
    means, covariances = np.empty((*cells, k + 1)), np.empty((*cells, k + 1, k + 1))
    means[..., :k], means[..., k] = spread(known.mean, known.scope, scope), mean
    covariances[..., :k, :k] = spread(known.variance, known.scope, scope)
    covariances[..., :k, k] = covariances[..., k, :k] = across
    covariances[..., k, k] = variance
    return Moments(scope, means, covariances)
