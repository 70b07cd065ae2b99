r"""A log-linear model of the class: a weighted sum of logarithms of count ratios.

.. math:: \log P(y \mid x) = \log P(y) + b_y + \sum_i u_i F_i(x, y) + \sum_{ij} w_{ij} G_{ij}(x, y)
          + \sum_{ijk} w_{ijk} H_{ijk}(x, y) + \text{const}

The terms F, G and H are means over *views*, ways to cut the numeric attributes
(:mod:`bayeskit._conditionals.log_linear` has their formulas). Naive Bayes is u = 1, w = 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.conditional import Codes, Conditional, Workings, refuse_infinite
from bayeskit._conditionals.log_linear_weights import RowLosses, Weights, losses_of
from bayeskit._counting.count_interactions import Axes, blocks
from bayeskit._data.encoded import Chunk
from bayeskit._numba import kernel
from bayeskit._schema import Schema
from bayeskit._statistics.interactions import Interactions
from bayeskit.typing import Floats

_U = np.uintp


@kernel
def single_log(n: Any, total: Any, size: Any, strength: Any) -> Any:
    """Return log p_i."""
    return log((n + strength / size) / (total + strength))


@kernel
def pair_log(n: Any, first: Any, second: Any, total: Any, v: Any, u: Any, c1: Any, c2: Any) -> Any:
    """Return log p_ij / (p_i p_j) from n_ij, n_i, n_j and N."""
    base = (first + c1 / v) * (second + c1 / u) / ((total + c1) * (total + c1))
    return log((n + c2 * base) / ((total + c2) * base))


@kernel
def triple_log(
    n: Any, a: Any, b: Any, e: Any, ab: Any, ae: Any, be: Any, total: Any, v: Any, u: Any, s: Any,
    c1: Any, c2: Any, c3: Any,
) -> Any:  # fmt: skip
    """Return log p_ijk / q from the counts of the triple, its attributes and its pairs."""
    pa, pb, pe = (a + c1 / v) / (total + c1), (b + c1 / u) / (total + c1), (e + c1 / s) / (total + c1)
    pairs = (ab + c2 * pa * pb) * (ae + c2 * pa * pe) * (be + c2 * pb * pe)
    base = pairs / ((total + c2) * (total + c2) * (total + c2) * pa * pb * pe)
    return log((n + c3 * base) / ((total + c3) * base))


@kernel
def add_margins(
    counts: Any,
    tables: Any,
    widths: Any,
    starts: Any,
    used: Any,
    margin_starts: Any,
    totals: Any,
    margins: Any,
) -> None:
    """Add up N, n_i and, of three attributes, n_ij of each table, over the cells in use.

    The margins of a table lie one after the other: of two attributes i, j; of three i, j, k, ij, ik, jk.
    """
    k = counts.shape[1]
    for t in range(tables.shape[0]):
        a, b, e = tables[t, 0], tables[t, 1], tables[t, 2]
        wa, wb = widths[a], 1 if b < 0 else widths[b]
        we = 1 if e < 0 else widths[e]
        ua, ub = used[a], 1 if b < 0 else used[b]
        ue = 1 if e < 0 else used[e]
        m = margin_starts[t]
        pairs = m + wa + wb + we
        for v in range(ua):
            for u in range(ub):
                for s in range(ue):
                    cell = starts[t] + (v * wb + u) * we + s
                    for c in range(k):
                        n = counts[cell, c]
                        totals[t, c] += n
                        if b >= 0:
                            margins[m + v, c] += n
                            margins[m + wa + u, c] += n
                        if e >= 0:
                            margins[m + wa + wb + s, c] += n
                            margins[pairs + v * wb + u, c] += n
                            margins[pairs + wa * wb + v * we + s, c] += n
                            margins[pairs + wa * wb + wa * we + u * we + s, c] += n


@kernel
def cell_log(
    t: Any, v: Any, u: Any, s: Any, c: Any, own: Any, counts: Any, tables: Any, widths: Any, starts: Any, used: Any,
    margin_starts: Any, totals: Any, margins: Any, strengths: Any,
) -> Any:  # fmt: skip
    """Return the term of one cell in one class, with ``own`` taken out of every count that contains the cell."""
    a, b, e = tables[t, 0], tables[t, 1], tables[t, 2]
    c1, c2, c3 = strengths[0], strengths[1], strengths[2]
    total = max(totals[t, c] - own, 0.0)
    if b < 0:
        return single_log(max(counts[starts[t] + v, c] - own, 0.0), total, used[a], c1)
    m, wa, wb = margin_starts[t], widths[a], widths[b]
    first, second = max(margins[m + v, c] - own, 0.0), max(margins[m + wa + u, c] - own, 0.0)
    if e < 0:
        n = max(counts[starts[t] + v * wb + u, c] - own, 0.0)
        return pair_log(n, first, second, total, used[a], used[b], c1, c2)
    we = widths[e]
    pairs = m + wa + wb + we
    n = max(counts[starts[t] + (v * wb + u) * we + s, c] - own, 0.0)
    third = max(margins[m + wa + wb + s, c] - own, 0.0)
    ab = max(margins[pairs + v * wb + u, c] - own, 0.0)
    ae = max(margins[pairs + wa * wb + v * we + s, c] - own, 0.0)
    be = max(margins[pairs + wa * wb + wa * we + u * we + s, c] - own, 0.0)
    return triple_log(
        n, first, second, third, ab, ae, be, total, used[a], used[b], used[e], c1, c2, c3
    )  # fmt: skip


@kernel
def fill_logs(
    which: Any, weights: Any, new_starts: Any, counts: Any, tables: Any, widths: Any, starts: Any, used: Any,
    margin_starts: Any, totals: Any, margins: Any, strengths: Any, out: Any,
) -> None:  # fmt: skip
    """Write the weighted term of every used cell of some tables, in every class."""
    k = counts.shape[1]
    for place in range(which.shape[0]):
        t = which[place]
        a, b, e = tables[t, 0], tables[t, 1], tables[t, 2]
        wb, we = 1 if b < 0 else widths[b], 1 if e < 0 else widths[e]
        for v in range(used[a]):
            for u in range(1 if b < 0 else used[b]):
                for s in range(1 if e < 0 else used[e]):
                    cell = new_starts[place] + (v * wb + u) * we + s
                    for c in range(k):
                        out[cell, c] = weights[place] * cell_log(
                            t, v, u, s, c, 0.0, counts, tables, widths, starts, used, margin_starts, totals,
                            margins, strengths,
                        )  # fmt: skip


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


@kernel
def add_terms(
    axes: Any, target: Any, own: Any, usual: Any, term_starts: Any, logs: Any, left_logs: Any, counts: Any,
    tables: Any, widths: Any, starts: Any, used: Any, margin_starts: Any, totals: Any, margins: Any, strengths: Any,
    out: Any,
) -> None:  # fmt: skip
    """Write each row's terms, the mean over the tables of each, to ``out`` of shape (terms, n, K).

    The row itself is left out of the counts of its class, with the weight ``own``. Logarithms are taken when they are
    first needed, and kept: in ``logs``, and in ``left_logs`` those without a row of the ``usual`` weight of its class.
    """
    n, k = out.shape[1], out.shape[2]
    for g in range(out.shape[0]):
        share = 1.0 / (term_starts[g + 1] - term_starts[g])
        for t in range(term_starts[g], term_starts[g + 1]):
            a, b, e = tables[t, 0], tables[t, 1], tables[t, 2]
            wb, we = 1 if b < 0 else widths[b], 1 if e < 0 else widths[e]
            for i in range(n):
                v = axes[a, i]
                u = 0 if b < 0 else axes[b, i]
                s = 0 if e < 0 else axes[e, i]
                if v >= used[a] or (b >= 0 and u >= used[b]) or (e >= 0 and s >= used[e]):
                    continue
                cell = starts[t] + (v * wb + u) * we + s
                for c in range(k):
                    if logs[cell, c] != logs[cell, c]:
                        logs[cell, c] = cell_log(
                            t, v, u, s, c, 0.0, counts, tables, widths, starts, used, margin_starts, totals,
                            margins, strengths,
                        )  # fmt: skip
                    out[g, i, c] += share * logs[cell, c]
                w, y = own[i], target[i]
                if w > 0.0:
                    left = left_logs[cell, y]
                    if w != usual[y] or left != left:
                        left = cell_log(
                            t, v, u, s, y, w, counts, tables, widths, starts, used, margin_starts, totals,
                            margins, strengths,
                        )  # fmt: skip
                    if w == usual[y]:
                        left_logs[cell, y] = left
                    out[g, i, y] += share * (left - logs[cell, y])


Ints = NDArray[np.int64]

# Numbers of a block of terms that is made at a time.
_LARGEST_BLOCK = 2**22


@dataclass(frozen=True, eq=False)
class InteractionTerms:
    """The terms of a log-linear model, each the mean over some tables, as functions of a row and the class.

    Attributes
    ----------
    schema : Schema
    counts : Interactions
        Of classes whose weights are already applied.
    term_starts : array of shape (terms + 1,)
        The first table of each term: its tables lie one after the other.
    strengths : array of shape (3,)
        The imaginary rows c₁, c₂, c₃ behind singles, pairs and triples.
    used : array of shape (axes,)
        The codes of each axis that a term knows, see :func:`used_codes`.
    """

    schema: Schema
    counts: Interactions
    term_starts: Ints
    strengths: Floats
    used: Ints

    @property
    def n_terms(self) -> int:
        return len(self.term_starts) - 1

    @cached_property
    def axes(self) -> Axes:
        return Axes.of(self.counts, self.schema)

    @cached_property
    def _margins(self) -> tuple[Ints, Floats, Floats]:
        """Where the margins of each table begin, N of each table, and the margins."""
        counts, shapes = self.counts, self.counts.shapes
        sizes = np.where(counts.tables[:, 1] < 0, 0, shapes[:, :2].sum(axis=1))
        pairs = shapes[:, 0] * shapes[:, 1] + shapes[:, 0] * shapes[:, 2] + shapes[:, 1] * shapes[:, 2]
        sizes = np.where(counts.tables[:, 2] < 0, sizes + 1, shapes.sum(axis=1) + pairs)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        k = counts.counts.shape[1]
        totals, margins = np.zeros((len(shapes), k)), np.zeros((int(starts[-1]), k))
        add_margins(
            counts.counts, counts.tables, counts.widths, counts.starts, self.used, starts, totals, margins
        )
        return starts, totals, margins

    @property
    def arrays(self) -> tuple[Any, ...]:
        """Counts, layout, margins and strengths, in the order of the loops' arguments."""
        counts, (starts, totals, margins) = self.counts, self._margins
        layout = counts.tables, counts.widths, counts.starts, self.used
        return (counts.counts, *layout, starts, totals, margins, self.strengths)

    def some(self, first: int, stop: int) -> InteractionTerms:
        """Return the terms from one on to another alone."""
        (begin, end), counts = self.term_starts[[first, stop]], self.counts
        cells = counts.counts[counts.starts[begin] : counts.starts[end]]
        fewer = replace(counts, tables=counts.tables[begin:end], counts=cells)
        return replace(self, counts=fewer, term_starts=self.term_starts[first : stop + 1] - begin)

    def without(self, counted: Floats) -> InteractionTerms:
        """Return the terms with some rows taken out of the counts: ``counted`` of the shape of the counts."""
        left = np.maximum(self.counts.counts - counted, 0.0)
        return replace(self, counts=replace(self.counts, counts=left))

    def left_out(self, chunk: Chunk, own: Floats) -> LeftOutTerms:
        """Return the terms of rows that were counted, each row without the weight ``own``."""
        assert chunk.target is not None
        target = chunk.target.astype(np.int64)
        usual = np.zeros(self.schema.n_classes)
        usual[target] = own
        return LeftOutTerms(self, chunk, target, own, usual, self._unknown(), self._unknown())

    def of(self, chunk: Chunk) -> Floats:
        """Return every term of some rows: shape (terms, n, K)."""
        nothing, target = np.zeros(chunk.n_rows), np.zeros(chunk.n_rows, dtype=np.int64)
        usual, logs = np.zeros(self.schema.n_classes), self._unknown()
        return LeftOutTerms(self, chunk, target, nothing, usual, logs, logs[:0]).of(slice(0, chunk.n_rows))

    def steps(self, n_rows: int) -> Iterator[slice]:
        """Cut rows into runs whose terms take little memory."""
        step = max(16, _LARGEST_BLOCK // max(self.n_terms * self.schema.n_classes, 1))
        for begin in range(0, n_rows, step):
            yield slice(begin, min(begin + step, n_rows))

    def _unknown(self) -> Floats:
        return np.full(self.counts.counts.shape, np.nan)


def used_codes(counts: Interactions, missing: str) -> Ints:
    """Return how many codes of each axis are known: its states, and missing where that is one of them and was seen."""
    used = counts.widths - 1
    if missing == "state":
        for t, table in enumerate(counts.tables):
            if table[1] < 0 and counts.table(t)[-1].any():
                same = counts.columns == counts.columns[table[0]]
                used[same] = counts.widths[same]
    return np.maximum(used, 1)


class LeftOutTerms(NamedTuple):
    """The terms of rows, each without the row itself."""

    terms: InteractionTerms
    chunk: Chunk
    target: Ints
    own: Floats
    usual: Floats
    logs: Floats
    left_logs: Floats

    def of(self, rows: slice) -> Floats:
        """Return every term of these rows: shape (terms, n, K)."""
        terms = self.terms
        out = np.zeros((terms.n_terms, rows.stop - rows.start, terms.schema.n_classes))
        add_terms(
            *(terms.axes.codes(self.chunk, rows), self.target[rows], self.own[rows], self.usual),
            *(terms.term_starts, self.logs, self.left_logs, *terms.arrays, out),
        )
        return out


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
        logs = np.zeros((int(starts[-1]), terms.schema.n_classes))
        fill_logs(which, of_table[which], starts, *terms.arrays, logs)
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
        self, chunk: Chunk, own: Floats, log_prior: Floats, had_a_part: NDArray[np.bool_]
    ) -> Floats:
        """Return log P(c | x) of rows left out of counts and, to first order, of weights: shape (n, K).

        ``log_prior`` is log P(c) without each row, of shape (n, K);
        ``had_a_part`` marks the rows that chose the weights.
        """
        assert chunk.target is not None
        out = np.zeros((chunk.n_rows, self.terms.schema.n_classes))
        if out.shape[1] < 2:
            return out
        left_out = self.terms.left_out(chunk, own)
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
