"""All completions of rows with missing discrete cells, stored once and reweighted in every E-step."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
                    "{place} has all of these missing, and every way to fill them is weighed. Leave this row "
                    "out, or leave out or observe some of these nodes.",
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
                    "These are missing in {place}; the ways to fill all rows together are too many. Raise the "
                    "memory that is allowed, or learn from fewer rows.",
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
