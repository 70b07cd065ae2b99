"""Log weights of discrete configurations given the evidence, and their elimination.

The exact engine multiplies plain numbers, with each table scaled so that its largest cell is one. Densities
of continuous observations can differ by a thousand orders of magnitude. If that matters, `LogTables` is used
instead: it is slow, but has no limit on ratios of probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit._inference.gaussian.mixed_layout import Scope, spread
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
