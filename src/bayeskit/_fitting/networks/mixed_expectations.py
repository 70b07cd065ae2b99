"""The E-step of a network with continuous nodes: configuration weights per row, and expected sums.

No arc leads from a continuous to a discrete node, so the numbers are jointly normal given the discrete nodes. The
weight of each completion of a row's discrete cells is its probability times the density of the observed numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeskit._counting.backend import in_order
from bayeskit._fitting.networks.gaussian_blocks import BlockSums, GaussianBlock, Normals
from bayeskit._graphs.network import Network
from bayeskit._messages import Message, RowNumber
from bayeskit._schema import Name
from bayeskit.errors import TooLarge
from bayeskit.typing import Floats

Ints = NDArray[np.int64]

# The maximum number of completions of one row.
MOST_COMPLETIONS = 2**16


class Completions:
    """The completions of the discrete cells of rows. Rows with the same cells share them.

    The *relevant* nodes are the discrete parents of continuous nodes. Completions that agree in these are adjacent and
    form one *slot*, because the numbers of a row cannot distinguish them.

    Parameters
    ----------
    network : Network
        The discrete nodes and their states. Distributions are not used.
    codes : array of shape (rows, discrete nodes)
        Codes. The code after the last state means missing.
    relevant : names of discrete nodes
    max_memory : bytes

    Attributes
    ----------
    row_of : array of shape (rows,)
        The distinct row of each row.
    slots : array of shape (distinct rows + 1,)
        The first slot of each distinct row, and the number of slots.
    slot_codes : array of shape (slots, relevant nodes)
    n_cells : int
        The number of cells in all tables. These are stored one after the other, each with its child's axis last.
    """

    def __init__(
        self, network: Network, codes: Ints, relevant: Sequence[Name], max_memory: float = math.inf
    ) -> None:
        self.names = tuple(node.name for node in network.nodes if node.is_discrete)
        sizes = np.array(network.sizes_of(self.names), np.int64)
        distinct, self.row_of = _distinct(codes, sizes)
        missing = distinct >= sizes
        self._refuse(missing, sizes, max_memory)
        number = {name: j for j, name in enumerate(self.names)}
        order = [number[name] for name in relevant]
        # Relevant nodes vary slowest, so that the completions of a slot are adjacent.
        order += [j for j in range(len(self.names)) if j not in set(order)]
        inner = np.arange(len(self.names)) >= len(relevant)
        ways = np.where(missing, sizes, 1)[:, order]
        per_row = ways.prod(axis=1)
        per_slot = np.where(inner, ways, 1).prod(axis=1)
        slots = per_row // per_slot
        self.slots = np.concatenate([[0], np.cumsum(slots)])
        filled = _filled(distinct, missing, sizes, order, per_row)
        self._first = np.concatenate([[0], np.cumsum(np.repeat(per_slot, slots))])[:-1]
        self._slot_of = np.repeat(np.arange(self.slots[-1]), np.repeat(per_slot, slots))
        self.slot_codes = filled[self._first][:, order[: len(relevant)]]
        self._bounds = np.zeros(len(self.names) + 1, np.int64)
        self._cells = np.empty((len(self.names), len(filled)), np.int64)
        for j, name in enumerate(self.names):
            shape = network.shape_of(name)
            family = [number[p] for p in (*network[name].parents, name)]
            self._cells[j] = self._bounds[j] + np.ravel_multi_index(tuple(filled.T[family]), shape)
            self._bounds[j + 1] = self._bounds[j] + math.prod(shape)

    @property
    def n_cells(self) -> int:
        return int(self._bounds[-1])

    def weigh(self, log_cells: Floats, hard: bool = False) -> tuple[Floats, Floats]:
        """Return log P of each slot, and the share of each completion in its slot.

        With ``hard``, these are log P of the most probable completion, and a share of 1 for that completion.
        """
        log = np.zeros(len(self._slot_of))
        for cells in self._cells:
            log += log_cells[cells]
        top = np.maximum.reduceat(log, self._first)
        base = np.where(top > -np.inf, top, 0.0)[self._slot_of]
        if hard:
            share = np.zeros(len(log))
            best = np.flatnonzero((log == top[self._slot_of]) & (log > -np.inf))
            # In a tie, take the first.
            share[best[np.unique(self._slot_of[best], return_index=True)[1]]] = 1.0
            return top, share
        share = np.exp(log - base)
        total = np.add.reduceat(share, self._first)
        with np.errstate(divide="ignore"):
            log_slots = np.log(total) + np.where(top > -np.inf, top, 0.0)
        return log_slots, share / np.where(total > 0.0, total, 1.0)[self._slot_of]

    def counts(self, share: Floats, slot_weights: Floats) -> dict[Name, Floats]:
        """Return the expected counts of each discrete node's family as a flat array, given the weights of the slots."""
        weights = share * slot_weights[self._slot_of]
        found: dict[Name, Floats] = {}
        for j, name in enumerate(self.names):
            start, stop = self._bounds[j], self._bounds[j + 1]
            found[name] = np.bincount(self._cells[j] - start, weights, stop - start).astype(np.float64)
        return found

    def _refuse(self, missing: NDArray[np.bool_], sizes: Ints, max_memory: float) -> None:
        """Raise an error if the completions do not fit into memory, before they are allocated."""
        ways = np.exp2(missing @ np.log2(np.maximum(sizes, 1)))
        if not len(ways):
            return
        most = int(ways.argmax())
        # The memory of one completion: its codes, its cells, its share, and some temporaries.
        each = 8 * (2 * len(self.names) + 4)
        allowed = min(MOST_COMPLETIONS * each, max_memory)
        row = int(np.flatnonzero(self.row_of == most)[0])
        absent = [name for name, gone in zip(self.names, missing[most], strict=True) if gone]
        if ways[most] > 1.5 * MOST_COMPLETIONS or ways[most] * each > max_memory:
            raise TooLarge(
                float(ways[most]) * each,
                allowed,
                absent,
                float(ways[most]),
                way_out=Message(
                    "{place} lacks all of these, and every completion is weighted. Leave this row out, or leave out "
                    "or observe some of these nodes.",
                    place=RowNumber(row, begins=True),
                ),
            )
        if ways.sum() * each > max_memory:
            raise TooLarge(
                float(ways.sum()) * each,
                max_memory,
                absent,
                float(ways[most]),
                way_out=Message(
                    "These are missing in {place}; all rows together have too many completions. Raise the memory "
                    "limit, or learn from fewer rows.",
                    place=RowNumber(row),
                ),
            )


def _distinct(codes: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """Return the distinct rows, sorted with missing cells first, and the distinct row of each row.

    The order matters because it is the order of summation.
    """
    if not codes.shape[1]:
        return np.zeros((1, 0), np.int64), np.zeros(len(codes), np.int64)
    rows, inverse = np.unique((codes + 1) % (sizes + 1), axis=0, return_inverse=True)
    return (rows - 1) % (sizes + 1), inverse.reshape(-1)


def _filled(
    distinct: Ints, missing: NDArray[np.bool_], sizes: Ints, order: list[int], per_row: Ints
) -> NDArray[np.int64]:
    """Return every completion of every distinct row. The last node in ``order`` varies fastest."""
    filled = np.repeat(distinct, per_row, axis=0)
    # The index of each completion within its row, whose digits are the codes of the missing cells.
    rest = np.arange(len(filled)) - np.repeat(np.cumsum(per_row) - per_row, per_row)
    for j in reversed(order):
        gone = np.repeat(missing[:, j], per_row)
        filled[gone, j] = rest[gone] % sizes[j]
        rest[gone] //= sizes[j]
    return filled


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
                    "Every row is weighted in every configuration of its missing cells, {place} in {per_row}. Raise "
                    "the memory limit, or learn from fewer rows.",
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
