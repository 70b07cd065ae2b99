r"""A log-linear model of the class: a weighted sum of logarithms of count ratios.

.. math:: \log P(y \mid x) = \log P(y) + b_y + \sum_i u_i F_i(x, y) + \sum_{ij} w_{ij} G_{ij}(x, y)
          + \sum_{ijk} w_{ijk} H_{ijk}(x, y) + \text{const}

The terms F, G and H are means over *views*, ways to cut the numeric attributes; their formulas are in
:mod:`bayeskit._conditionals.interaction_terms`. Naive Bayes is u = 1, w = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.conditional import Codes, Conditional, Workings, refuse_infinite
from bayeskit._conditionals.interaction_terms import InteractionTerms, Ints
from bayeskit._conditionals.log_linear_weights import RowLosses, Weights, losses_of
from bayeskit._counting.count_interactions import blocks
from bayeskit._data.encoded import Chunk
from bayeskit._numba import kernel
from bayeskit.typing import Floats

_U = np.uintp


@kernel
def add_scores(axes: Any, which: Any, tables: Any, widths: Any, new_starts: Any, logs: Any, out: Any) -> None:
    """Add the weighted logarithms of every row's cells to ``out`` of shape (n, K).

    ``which`` are the tables that have a weight; theirs begin at ``new_starts`` in ``logs``.
    """
    n, k = _U(out.shape[0]), _U(out.shape[1])
    for place in range(which.shape[0]):
        t = which[place]
        a, b, e = tables[t, 0], tables[t, 1], tables[t, 2]
        begin = new_starts[place]
        wb, we = 1 if b < 0 else widths[b], 1 if e < 0 else widths[e]
        for i in range(n):
            cell = axes[a, i]
            if b >= 0:
                cell = cell * wb + axes[b, i]
            if e >= 0:
                cell = cell * we + axes[e, i]
            row = _U(begin + cell)
            for c in range(k):
                out[i, c] += logs[row, c]


@dataclass(frozen=True, eq=False)
class LogLinearScore(Conditional):
    """b_y + Σ weight × term of each row.

    Attributes
    ----------
    terms : InteractionTerms
    names : the attributes of each term
    chosen : Weights
    """

    terms: InteractionTerms
    names: tuple[tuple[Any, ...], ...]
    chosen: Weights

    is_distribution = False

    @cached_property
    def _weighted_tables(self) -> tuple[Ints, Ints, Floats]:
        """The tables with a nonzero weight, where they begin, and their weighted logarithms."""
        terms, n_tables = self.terms, np.diff(self.terms.term_starts)
        of_table = np.repeat(self.chosen.terms / np.maximum(n_tables, 1), n_tables)
        which = np.flatnonzero(of_table).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(np.diff(terms.counts.starts)[which])]).astype(np.int64)
        logs = terms.tables_of_logs(which) * np.repeat(of_table[which], np.diff(starts))[:, None]
        return which, starts, logs

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        refuse_infinite(chunk)
        counts, tables = self.terms.counts, self._weighted_tables
        out += self.chosen.bias
        for rows in blocks(chunk.n_rows):
            axes = self.terms.axes.codes(chunk, rows)
            which, starts, logs = tables
            add_scores(axes, which, counts.tables, counts.widths, starts, logs, out[rows])

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        out += self.chosen.bias
        left_out = self.terms.left_out(chunk, own)
        for rows in self.terms.steps(chunk.n_rows):
            out[rows] += np.tensordot(self.chosen.terms, left_out.of(rows), 1)

    def approximate_left_out(
        self,
        chunk: Chunk,
        own: Floats,
        log_prior: Floats,
        had_a_part: NDArray[np.bool_],
        unseen: NDArray[np.bool_],
    ) -> Floats:
        """Return log P(c | x) of rows left out of counts and, to first order, of weights: shape (n, K).

        ``log_prior`` is log P(c) without each row, of shape (n, K);
        ``had_a_part`` marks the rows that chose the weights, and ``unseen`` their states that no other row has.
        """
        assert chunk.target is not None
        out = np.zeros((chunk.n_rows, self.terms.schema.n_classes))
        if out.shape[1] < 2:
            return out
        left_out = self.terms.left_out(chunk, own, unseen)
        for rows in self.terms.steps(chunk.n_rows):
            target = left_out.target[rows]
            losses = RowLosses.of(left_out.of(rows), log_prior[rows], target, own[rows])
            loss, shares = losses_of(
                self.chosen.scores_left_out(losses, np.where(had_a_part[rows], own[rows], 0.0))
            )
            with np.errstate(divide="ignore"):
                others = np.log(shares)
            row = np.arange(len(target))
            columns = np.arange(shares.shape[1]) + (np.arange(shares.shape[1]) >= target[:, None])
            out[rows][row[:, None], columns] = others
            out[rows][row, target] = -loss
        return out

    def add_separate(self, chunk: Chunk, categorical: Codes, numeric: Codes, out: Floats) -> None:
        """Divide each term evenly among its attributes; the bias of a class belongs to its prior."""
        schema = self.terms.schema
        places = {
            v.name: place
            for variables, some in ((schema.categorical, categorical), (schema.numeric, numeric))
            for v, place in zip(variables, some, strict=True)
        }
        out[:, 0] += self.chosen.bias
        for rows in self.terms.steps(chunk.n_rows):
            found = self.terms.of(chunk.take(rows))
            for names, weight, term in zip(self.names, self.chosen.terms, found, strict=True):
                for name in names:
                    out[rows, places[name]] += weight / len(names) * term

    def explain(self, chunk: Chunk, page: Workings) -> None:
        page.add_log_linear(self)
