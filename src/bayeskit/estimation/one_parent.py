r"""P(x | c) where every attribute has at most one parent beside the class: TAN, SPODE, forests.

.. math:: P(x \mid c) = \prod_j P(x_j \mid c, x_{pa(j)})
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.chunk import Chunk
from bayeskit.estimation.conditional import DiscreteConditional, DrawRule, ParameterPosterior, Workings
from bayeskit.estimation.kernels.one_parent import add_by_messages, add_children
from bayeskit.estimation.kernels.pair_cells import fill_children
from bayeskit.estimation.pair_cells import PairCells
from bayeskit.statistics import Statistics
from bayeskit.statistics.part import never_counted
from bayeskit.typing import Floats


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
        """The states of each attribute, and a value never learned where it has a share."""
        return np.maximum(self.cells.sizes, np.where(self.cells.sizes > 0, self.cells.alike, 0)).astype(
            np.uintp
        )

    def codes(self, j: int) -> list[int]:
        """The codes that a missing value may stand for: its states, and unseen where that has a share."""
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
        """Add log P(x | c) with the weight ``own`` of each row taken out of its own counts."""
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
        from bayeskit.estimation.drawn_families import TablePosterior
        from bayeskit.estimation.drawn_shares import PairShares

        return TablePosterior(PairShares(self, rule.above_mode, rule.by_rows))

    def explain(self, chunk: Chunk, page: Workings) -> None:
        page.add_pairs(self)
