r"""A log-linear model of the class: a weighed sum of logarithms of count ratios.

.. math:: \log P(y \mid x) = \log P(y) + b_y + \sum_i u_i F_i(x, y) + \sum_{ij} w_{ij} G_{ij}(x, y)
          + \sum_{ijk} w_{ijk} H_{ijk}(x, y) + \text{const}

The terms F, G and H are means over *views*, ways to cut the numeric attributes
(:mod:`bayeskit._conditionals.kernels.interaction_logs` has their formulas). Naive Bayes is u = 1, w = 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.conditional import Codes, Conditional, Workings
from bayeskit._conditionals.kernels.interaction_logs import add_margins, add_scores, add_terms, fill_logs
from bayeskit._conditionals.log_linear_weights import RowLosses, Weights, losses_of
from bayeskit._counting.count_interactions import Axes, blocks
from bayeskit._data.encoded import Chunk
from bayeskit._schema import Schema
from bayeskit._statistics.interactions import Interactions
from bayeskit.typing import Floats

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
        Of classes that are weighed already.
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
    def _weighed(self) -> tuple[Ints, Ints, Floats]:
        """The tables that have a weight, where they begin, and their logarithms, weighed."""
        terms, n_tables = self.terms, np.diff(self.terms.term_starts)
        of_table = np.repeat(self.chosen.terms / np.maximum(n_tables, 1), n_tables)
        which = np.flatnonzero(of_table).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(np.diff(terms.counts.starts)[which])]).astype(np.int64)
        logs = np.zeros((int(starts[-1]), terms.schema.n_classes))
        fill_logs(which, of_table[which], starts, *terms.arrays, logs)
        return which, starts, logs

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        counts, weighed = self.terms.counts, self._weighed
        out += self.chosen.bias
        for rows in blocks(chunk.n_rows):
            axes = self.terms.axes.codes(chunk, rows)
            which, starts, logs = weighed
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

        ``log_prior`` is log P(c) without each row, of shape (n, K); ``had_a_part`` says which rows chose the weights.
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
        """Attributes of one term share it evenly; the bias of a class stands with its prior."""
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
