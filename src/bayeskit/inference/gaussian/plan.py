"""The order in which continuous variables are eliminated, and what that will cost, before any number is touched."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bayeskit.errors import TooLarge
from bayeskit.inference.gaussian.layout import Layout
from bayeskit.inference.gaussian.regression import Regression, Scope

# Beside what it starts from and what it makes, an update holds about this many arrays as large; and the moments
# of one node about this many as large as its covariances with its neighbours. Both were measured.
UPDATE, MOMENTS = 2, 3


@dataclass(frozen=True)
class Step:
    """Eliminate a node: turn its arcs to these children round, in this order.

    ``near`` are the continuous nodes still there that it meets; ``scope`` the discrete ones its equation
    depends on afterwards.
    """

    node: int
    children: tuple[int, ...]
    near: tuple[int, ...]
    scope: Scope


@dataclass(frozen=True)
class Plan:
    """Steps in order; ``bytes_in`` is the peak of eliminating, ``bytes_out`` that of taking moments back."""

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
    """Rows without their numbers: which variables and discrete nodes each is over."""

    def __init__(self, layout: Layout, rows: Mapping[int, Regression]) -> None:
        self.sizes, self.rank = layout.sizes, layout.rank
        self.variables = {k: set(row.variables) for k, row in rows.items()}
        self.scope = {k: frozenset(row.scope) for k, row in rows.items()}
        free = [k for k, row in rows.items() if not row.observed]
        self.users: dict[int, set[int]] = {k: set() for k in free}
        self.near: dict[int, set[int]] = {k: set() for k in free}
        self.observed = {k for k, row in rows.items() if row.observed}
        self.live = 0  # floats held; the rows to begin with are views of the network's own arrays
        self.peak = 0
        self._held: dict[int, int] = {}
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
        # Observed rows are carried along until nothing is left in them: many that travel are many to update.
        carried = 1 + len(self.users[x] & self.observed)
        return self.cells(scope) * (1 + len(self.near[x])) ** 2 * carried

    def eliminate(self, x: int) -> Step:
        """Do to the scopes what elimination does to the numbers, and count the floats that are held."""
        children = sorted(self.users[x], key=self.rank.__getitem__)
        variables, scope = set(self.variables[x]), self.scope[x]
        pivot = self._held.pop(x, 0)
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
            self.live += made - self._held.get(child, 0) + now - pivot
            self._held[child], pivot = made, now
        for v in self.variables[x]:
            self.users[v].discard(x)
        near = self.near.pop(x)
        for v in near:
            self.near[v] |= near
            self.near[v] -= {v, x}
        self.peak = max(self.peak, self.live)
        return Step(x, tuple(children), tuple(sorted(near)), tuple(sorted(scope)))


def plan(layout: Layout, rows: Mapping[int, Regression], last: Sequence[int] = ()) -> Plan:
    """Choose, one after the other, the variable whose clique is smallest; those in ``last`` only then.

    A node below which nothing is observed never costs more than its parents, and ties go to the lower node:
    such nodes go first, and leave their parents' equations alone.
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
    """Return, for each step, the step of the first of its neighbours to be eliminated; −1 where it has none."""
    place = {step.node: i for i, step in enumerate(steps)}
    return [min((place[k] for k in step.near), default=-1) for step in steps]


def _moments(layout: Layout, steps: Sequence[Step]) -> tuple[tuple[int, ...], int, int]:
    """Return the largest clique, its cells, and the floats that all means and covariances will take."""
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
