r"""P(x | c) with at most one parent per attribute besides the class: TAN, SPODE, forests.

.. math:: P(x \mid c) = \prod_j P(x_j \mid c, x_{pa(j)})
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.conditional import DiscreteConditional, DrawRule, ParameterPosterior, Workings
from bayeskit._conditionals.pair_cells import PairCells, cell, fill_children, is_present
from bayeskit._conditionals.scoring import Family, Marginal, Score
from bayeskit._data.encoded import Chunk
from bayeskit._numba import kernel
from bayeskit._statistics.part import never_counted
from bayeskit._statistics.statistics import Statistics
from bayeskit.typing import Floats

_U = np.uintp


@kernel
def add_children(
    codes: Any, parents: Any, starts: Any, widths: Any, sizes: Any, table: Any, holes: Any, out: Any
) -> int:
    """Add Σ_j log P(x_j | c, x_parent) to every complete row. Mark the other rows, and return their number."""
    n, d = codes.shape
    n_classes = out.shape[1]
    n_holes = 0
    for i in range(n):
        whole = True
        for j in range(d):
            x = _U(codes[i, j])
            # A hole is the spare code where that is no state; unseen values have probabilities of their own.
            if x >= sizes[j] and x + _U(2) == widths[j]:
                whole = False
        holes[i] = not whole
        if not whole:
            n_holes += 1
            continue
        for j in range(d):
            row = starts[j] + _U(codes[i, j])
            if parents[j] >= 0:
                row += _U(codes[i, _U(parents[j])]) * widths[j]
            for c in range(n_classes):
                out[i, c] += table[row, c]
    return n_holes


@kernel
def add_by_messages(
    codes: Any,
    target: Any,
    own: Any,
    which: Any,
    cells: Any,
    starts: Any,
    table: Any,
    slots: Any,
    parents: Any,
    order: Any,
    work: Any,
    out: Any,
) -> float:
    """Add the leave-one-out log P(x | c) of some rows. Return the most negative remaining count, or 0.

    Missing attributes are summed over on the tree, children before parents: ``work[j, v, c]`` is the log of the message
    from the children of a missing x_j to its state v. ``slots`` are the numbers of states, including unseen if it has a
    share. For classes other than its own, the row changes no counts, so ``table`` already contains the result.
    """
    counts, offsets, real, sizes, mode, mass, extra, total_mass, alike, first, scale, constants = cells
    n_classes = out.shape[1]
    least = 0.0
    for i in range(len(codes)):
        if not which[i]:
            continue
        least = min(least, _least_left(codes[i], target[i], own[i], counts, offsets, real, parents))
        for j in order:
            if not is_present(real, sizes, j, _U(codes[i, j])):
                for v in range(slots[j]):
                    for c in range(n_classes):
                        work[j, v, c] = 0.0
        for place in range(len(order) - 1, -1, -1):
            j = order[place]
            parent = parents[j]
            here = is_present(real, sizes, j, _U(codes[i, j]))
            above = parent >= 0 and is_present(real, sizes, parent, _U(codes[i, parent]))
            for c in range(n_classes):
                mine = own[i] if target[i] == c else 0.0
                if here and (parent < 0 or above):
                    state = _U(codes[i, parent]) if above else _U(0)
                    if mine == 0.0:
                        row = starts[j] + _U(codes[i, j]) + state * (real[j] + _U(2))
                        out[i, c] += table[row, c]
                        continue
                    p = cell(
                        counts, offsets, real, sizes, mode, mass, extra, total_mass, alike, first, scale, constants,
                        j, _U(codes[i, j]), parent, state, c, mine, mine,
                    )  # fmt: skip
                    out[i, c] += np.log(p)
                elif parent < 0 or above:
                    state = _U(codes[i, parent]) if above else _U(0)
                    out[i, c] += _message(
                        codes[i], cells, slots, j, parent, state, c, here, above, mine, work
                    )
                else:
                    for u in range(slots[parent]):
                        state = _U(u) if _U(u) < sizes[parent] else real[parent] + _U(1)
                        work[parent, u, c] += _message(
                            codes[i], cells, slots, j, parent, state, c, here, above, mine, work
                        )
    return least


@kernel
def _message(
    row: Any,
    cells: Any,
    slots: Any,
    j: Any,
    parent: Any,
    u: Any,
    c: Any,
    here: bool,
    above: bool,
    mine: float,
    work: Any,
) -> Any:
    """Return the log of the message from x_j and its descendants to its parent's state u and class c."""
    counts, offsets, real, sizes, mode, mass, extra, total_mass, alike, first, scale, constants = cells
    if here:
        # The row is part of n(x_j, c), and of n(x_j, x_parent, c) if its parent's state is present.
        p = cell(
            counts, offsets, real, sizes, mode, mass, extra, total_mass, alike, first, scale, constants,
            j, _U(row[j]), parent, u, c, mine, mine if above else 0.0,
        )  # fmt: skip
        return np.log(p)
    best = -np.inf
    for v in range(slots[j]):
        if work[j, v, c] > best:
            best = work[j, v, c]
    if best == -np.inf or best == 0.0:
        # Either nothing is possible, or there is no present descendant, and the probabilities of the states sum to 1.
        idle = True
        for v in range(slots[j]):
            if work[j, v, c] != 0.0:
                idle = False
        if idle:
            return 0.0
        if best == -np.inf:
            return best
    total = 0.0
    for v in range(slots[j]):
        x = _U(v) if _U(v) < sizes[j] else real[j] + _U(1)
        p = cell(
            counts, offsets, real, sizes, mode, mass, extra, total_mass, alike, first, scale, constants,
            j, x, parent, u, c, 0.0, 0.0,
        )  # fmt: skip
        total += p * np.exp(work[j, v, c] - best)
    return best + np.log(total)


@kernel
def _least_left(row: Any, y: Any, own: float, counts: Any, offsets: Any, real: Any, parents: Any) -> float:
    """Return the least count that would be left of the row's own cells, 0 where none is negative."""
    least = 0.0
    if own == 0.0:
        return least
    for j in range(len(parents)):
        x = _U(row[j])
        if x > real[j]:
            return -own
        g = offsets[j] + x
        left = counts[g, g, y] - own
        i = parents[j]
        if i >= 0 and _U(row[i]) > real[i]:
            return -own
        if i >= 0:
            left = min(left, counts[offsets[i] + _U(row[i]), g, y] - own)
        if left < -1e-9 * own:
            least = min(least, left)
    return least


@dataclass(frozen=True, eq=False)
class OneParent(DiscreteConditional):
    """The conditionals of all categorical attributes.

    Attributes
    ----------
    cells : PairCells
    parents : int64 array of shape (d,)
        The parent of each attribute, −1 where it has none.
    """

    cells: PairCells
    parents: NDArray[np.int64]

    @cached_property
    def starts(self) -> NDArray[np.uintp]:
        """Where the table of each child begins."""
        widths = self.cells.real.astype(np.int64) + 2
        heights = np.where(self.parents >= 0, widths[self.parents], 1)
        return np.concatenate([[0], np.cumsum(widths * heights)]).astype(np.uintp)

    @cached_property
    def table(self) -> Floats:
        """log P(x_j | c, x_parent), children one after another: shape (cells, K)."""
        table = np.empty((int(self.starts[-1]), self.cells.counts.shape[2]))
        fill_children(self.cells, self.parents, self.starts, table)
        return table

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The attributes, parents before children."""
        depth = np.zeros(len(self.parents), dtype=np.int64)
        for j in range(len(depth)):
            i = self.parents[j]
            while i >= 0:
                depth[j] += 1
                i = self.parents[i]
        return np.argsort(depth, kind="stable").astype(np.int64)

    @cached_property
    def _slots(self) -> NDArray[np.uintp]:
        """The number of states of each attribute, including unseen if it has a share."""
        return np.maximum(self.cells.sizes, np.where(self.cells.sizes > 0, self.cells.alike, 0)).astype(
            np.uintp
        )

    def codes(self, j: int) -> list[int]:
        """Return the possible codes of a missing value: its states, and unseen where that has a share."""
        states = list(range(int(self.cells.sizes[j])))
        return states + [int(self.cells.real[j]) + 1] * (int(self._slots[j]) - len(states))

    def _work(self) -> Floats:
        largest = int(self._slots.max()) if len(self._slots) else 0
        return np.empty((len(self.parents), largest, self.cells.counts.shape[2]))

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        holes = np.empty(chunk.n_rows, dtype=np.bool_)
        cells = self.cells
        widths = cells.real + np.uintp(2)
        with np.errstate(divide="ignore"):
            found = add_children(
                chunk.codes, self.parents, self.starts, widths, cells.sizes, self.table, holes, out
            )
        if found:
            nobody = np.zeros(chunk.n_rows, dtype=np.uint32)
            none = np.zeros(chunk.n_rows)
            add_by_messages(
                chunk.codes,
                nobody,
                none,
                holes,
                cells,
                self.starts,
                self.table,
                self._slots,
                self.parents,
                self.order,
                self._work(),
                out,
            )

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add the leave-one-out log P(x | c), with the weight ``own`` of each row removed from the counts."""
        every = np.ones(chunk.n_rows, dtype=np.bool_)
        least = add_by_messages(
            chunk.codes,
            chunk.target,
            own,
            every,
            self.cells,
            self.starts,
            self.table,
            self._slots,
            self.parents,
            self.order,
            self._work(),
            out,
        )
        if least < 0.0:
            raise never_counted(least)

    def probabilities(self, j: int) -> Floats:
        """P(x_j = v | c, x_parent = u): shape (states of the parent or 1, states, K)."""
        real, parent = self.cells.real.astype(np.intp), int(self.parents[j])
        height = int(real[parent]) + 2 if parent >= 0 else 1
        block = self.table[int(self.starts[j]) : int(self.starts[j + 1])].reshape(
            height, int(real[j]) + 2, -1
        )
        keep = int(self.cells.sizes[parent]) if parent >= 0 else 1
        return np.exp(block[:keep, : int(self.cells.sizes[j])])

    def sample(self, classes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw codes of shape (n, d), parents first."""
        codes = np.zeros((len(classes), len(self.parents)), dtype=np.intp)
        for j in self.order.tolist():
            if not self.cells.sizes[j]:
                continue  # it has no states: the code 0 means missing
            parent = int(self.parents[j])
            above = codes[:, parent] if parent >= 0 else np.zeros(len(classes), dtype=np.intp)
            cumulative = np.cumsum(self.probabilities(j), axis=1)[above, :, classes]
            draw = rng.random(len(classes)) * cumulative[:, -1]
            codes[:, j] = (draw[:, None] >= cumulative[:, :-1]).sum(axis=1)
        return codes

    def members(self) -> list[int]:
        return list(range(len(self.parents)))

    def parents_of(self, j: int) -> list[int]:
        return [int(i) for i in self.parents[j : j + 1] if i >= 0]

    def codes_of(self, j: int) -> tuple[int, ...]:
        return tuple(self.codes(j))

    def table_of(self, j: int, parents: Sequence[int], codes: Sequence[Sequence[int]]) -> Floats:
        width = int(self.cells.real[j]) + 2
        start, stop = (int(place) for place in self.starts[j : j + 2])
        block = self.table[start:stop].reshape(-1, width, self.table.shape[1])
        # A parent that is not given has no states: its first row is that of missing.
        return np.asarray(np.exp(block[np.ix_(*codes)] if parents else block[0, list(codes[0])]))

    def counts_of(self, statistics: Statistics, j: int) -> Floats:
        pairs: Any = statistics.parts["pairs"]
        parents = self.parents_of(j)
        name = statistics.schema.categorical[j].name
        return np.asarray(pairs.table(parents[0], j) if parents else statistics.table(name))

    def posterior(self, rule: DrawRule) -> ParameterPosterior:
        from bayeskit._conditionals.drawn_tables import PairShares, TablePosterior

        return TablePosterior(PairShares(self, rule.above_mode, rule.by_rows))

    def explain(self, chunk: Chunk, page: Workings) -> None:
        page.add_pairs(self)

    def score(self) -> Score:
        sizes = {j: int(size) for j, size in enumerate(self.cells.real)}
        holes = np.flatnonzero(self.cells.sizes == self.cells.real).tolist()
        families = []
        for j in self.order[::-1].tolist():
            block = self.table[int(self.starts[j]) : int(self.starts[j + 1])]
            above = tuple(self.parents_of(j))
            shape = [sizes[i] + 2 for i in (*above, j)]
            families.append(Family(above, j, block.reshape(*shape, -1)))
        return Marginal(tuple(families), sizes, {j: tuple(self.codes(j)) for j in holes}, None)
