"""The E-step of a network with continuous nodes: configuration weights per row, and expected sums.

No arc leads from a continuous to a discrete node, so the numbers are jointly normal given the discrete nodes. The
weight of each completion of a row's discrete cells is its probability times the density of the observed numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeskit._counting.backend import in_order
from bayeskit._fitting.networks.discrete_completions import Completions
from bayeskit._fitting.networks.gaussian_blocks import BlockSums, GaussianBlock, Normals
from bayeskit._messages import Message, RowNumber
from bayeskit.errors import TooLarge
from bayeskit.typing import Floats

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# The number of rows to process at a time. It does not depend on the number of threads.
ROWS_AT_ONCE = 2**14


@dataclass(frozen=True, eq=False)
class Group:
    """Pairs ``start`` to ``stop`` of a part, which have the same configuration and the same missing numbers."""

    configuration: int
    hidden: Flags
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of a row and a configuration of one block that it may have, for the rows of a part.

    ``of_slot`` is the pair of each slot of the part. ``row`` is the row of each pair.
    """

    of_slot: Ints
    row: Ints
    groups: list[Group]


@dataclass(frozen=True, eq=False)
class PartSums:
    """The contribution of a part: its log-likelihood, the weights of its slots, the sums of each block."""

    value: float
    slots: slice
    slot_weights: Floats
    sums: list[BlockSums]


class MixedRows:
    """Rows prepared for the E-step once, and reweighted in every step.

    Parameters
    ----------
    completions : Completions
    blocks : the continuous nodes
    numbers : for each block, an array of shape (rows, nodes of the block), minus their centre; NaN is missing
    weights : one positive number for each row
    impossible : function that takes the index of a row with probability zero and returns the error to raise
    """

    def __init__(
        self,
        completions: Completions,
        blocks: Sequence[GaussianBlock],
        numbers: Sequence[Floats],
        weights: Floats,
        max_memory: float,
        impossible: Callable[[int], Exception],
    ) -> None:
        self._completions, self._blocks, self._numbers = completions, list(blocks), list(numbers)
        self._weights, self._impossible = weights, impossible
        self._refuse(max_memory)
        # Put rows with the same discrete cells next to each other, so that a part has few slots.
        order = np.argsort(completions.row_of, kind="stable")
        self._parts = [
            _Part(self, order[start : start + ROWS_AT_ONCE]) for start in range(0, len(order), ROWS_AT_ONCE)
        ]

    def expect(
        self, log_slots: Floats, normals: Sequence[Normals], hard: bool, n_jobs: int | None
    ) -> tuple[float, Floats, list[BlockSums]]:
        """Return the log-likelihood, the weight of each slot, and the sums of each block."""
        value, slot_weights = 0.0, np.zeros(len(log_slots))
        sums = [BlockSums.zero(block) for block in self._blocks]
        tasks = [(k, k + 1) for k in range(len(self._parts))]
        for found in in_order(lambda k, _: self._parts[k].weigh(log_slots, normals, hard), tasks, n_jobs):
            value += found.value
            slot_weights[found.slots] += found.slot_weights
            sums = [mine.merge(theirs) for mine, theirs in zip(sums, found.sums, strict=True)]
        return value, slot_weights, sums

    def _refuse(self, max_memory: float) -> None:
        per_row = np.diff(self._completions.slots)[self._completions.row_of]
        # For each slot of a row: its index, its row and its pair in each block. Then the sums of each configuration.
        needed = 8.0 * float(per_row.sum()) * (3 + 2 * len(self._blocks))
        needed += sum(8.0 * 4 * block.n_configurations * len(block.names) ** 2 for block in self._blocks)
        if needed > max_memory:
            row = int(per_row.argmax())
            raise TooLarge(
                needed,
                max_memory,
                self._completions.names,
                float(per_row.sum()),
                way_out=Message(
                    "Every row is weighed in every configuration of its missing cells, {place} in "
                    "{per_row}. Raise the memory that is allowed, or learn from fewer rows.",
                    place=RowNumber(row),
                    per_row=int(per_row[row]),
                ),
            )


class _Part:
    """Some rows, with everything that does not change between E-steps."""

    def __init__(self, rows: MixedRows, numbers: Ints) -> None:
        completions = rows._completions
        self._all, self._rows = rows, numbers
        distinct = completions.row_of[numbers]
        first = completions.slots[distinct]
        many = completions.slots[distinct + 1] - first
        self._starts = np.cumsum(many) - many
        self._local = np.repeat(np.arange(len(numbers)), many)
        self._slot = first[self._local] + np.arange(len(self._local)) - self._starts[self._local]
        self._slots = slice(int(self._slot.min()), int(self._slot.max()) + 1)
        self._pairs = [self._paired(block, x) for block, x in zip(rows._blocks, rows._numbers, strict=True)]

    def _paired(self, block: GaussianBlock, x: Floats) -> Pairs:
        """Return the pairs of rows and configurations, sorted by missing numbers, then by configuration."""
        hidden = np.isnan(x[self._rows])
        patterns, pattern = np.unique(hidden, axis=0, return_inverse=True)
        n = block.n_configurations
        group = pattern.reshape(-1)[self._local] * n + block.of_slot[self._slot]
        keys, of_slot = np.unique(group * len(self._rows) + self._local, return_inverse=True)
        group, local = np.divmod(keys, len(self._rows))
        found, starts = np.unique(group, return_index=True)
        stops = [*starts[1:], len(group)]
        groups = [
            Group(int(g % n), patterns[g // n], int(start), int(stop))
            for g, start, stop in zip(found, starts, stops, strict=True)
        ]
        return Pairs(of_slot.reshape(-1), self._rows[local], groups)

    def weigh(self, log_slots: Floats, normals: Sequence[Normals], hard: bool) -> PartSums:
        rows = self._all
        log = log_slots[self._slot]
        completed = []
        # Overflow makes a row impossible, which raises an error below.
        with np.errstate(over="ignore", invalid="ignore"):
            for pairs, x, normal in zip(self._pairs, rows._numbers, normals, strict=True):
                density, found = _densities(pairs, x, normal, hard)
                log += density[pairs.of_slot]
                completed.append(found)
        top = np.maximum.reduceat(log, self._starts)
        if not (top > -np.inf).all():
            raise rows._impossible(int(self._rows[~(top > -np.inf)].min()))
        each = rows._weights[self._rows]
        if hard:
            weights = self._first_best(log, top)
        else:
            weights = np.exp(log - top[self._local])
            total = np.add.reduceat(weights, self._starts)
            weights /= total[self._local]
            top = top + np.log(total)
        value = float(each @ top)
        weights *= each[self._local]
        n_slots = self._slots.stop - self._slots.start
        slot_weights: Floats = np.bincount(self._slot - self._slots.start, weights, n_slots).astype(
            np.float64
        )
        sums = []
        for block, pairs, found in zip(rows._blocks, self._pairs, completed, strict=True):
            sums.append(BlockSums.zero(block))
            mine: Floats = np.bincount(pairs.of_slot, weights, len(pairs.row)).astype(np.float64)
            for group, (away, covariance) in zip(pairs.groups, found, strict=True):
                here = mine[group.start : group.stop]
                sums[-1].add(group.configuration, away, here, group.hidden, covariance)
        return PartSums(value, self._slots, slot_weights, sums)

    def _first_best(self, log: Floats, top: Floats) -> Floats:
        """Return weights that assign each row to its best slot, the first in a tie."""
        best = np.flatnonzero(log == top[self._local])
        weights = np.zeros(len(log))
        weights[best[np.unique(self._local[best], return_index=True)[1]]] = 1.0
        return weights


def _densities(
    pairs: Pairs, x: Floats, normals: Normals, hard: bool
) -> tuple[Floats, list[tuple[Floats, Floats]]]:
    """Return the log density of each pair, and for each group its completed rows and their covariance."""
    density = np.empty(len(pairs.row))
    completed = []
    for group in pairs.groups:
        here = x[pairs.row[group.start : group.stop]]
        away, log, covariance = normals.completed(group.configuration, here, group.hidden, hard)
        density[group.start : group.stop] = log
        completed.append((away, covariance))
    return density, completed
