"""Draws of the tables and regressions of a graph from their posterior, and what rows are worth under each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.encoded import Chunk
from bayeskit.errors import UsageError
from bayeskit.estimation.conditional import DrawRule, ParameterPosterior
from bayeskit.estimation.linear_family import LinearFamily
from bayeskit.estimation.posterior_draws import Draws
from bayeskit.learning.graph_factors import Flags, GraphFactors
from bayeskit.learning.graph_sums import (
    MOST_LEFT_OUT,
    Holes,
    Line,
    by_holes,
    integrals,
    same_numbers,
    sum_over_states,
    together_and_apart,
)
from bayeskit.typing import Floats

# Doubles of a block of rows under all draws.
_BLOCK = 2**21


@dataclass(frozen=True, eq=False)
class GraphPosterior:
    """What is known of the parameters of a graph.

    A row of a table is Dirichlet(n + a), a being the imaginary counts of the prior; a regression has the posterior of
    :meth:`~bayeskit.estimation.linear_family.LinearFamily.drawn`.
    """

    factors: GraphFactors
    tables: ParameterPosterior
    apart: ParameterPosterior
    class_above_mode: float

    @classmethod
    def of(cls, factors: GraphFactors, rule: DrawRule) -> GraphPosterior:
        tables, apart = factors.tables.posterior(rule), factors.apart.posterior(rule)
        return cls(factors, tables, apart, rule.class_above_mode)

    def add(self, chunk: Chunk, draws: Draws, out: Floats) -> None:
        hidden = self.factors.hidden(self.factors.known(chunk))
        rows = np.flatnonzero(~hidden.any(axis=1))
        if len(rows):
            out[rows] += self._logs(chunk.take(rows), draws, self.factors.numbers)
        for rows, holes in by_holes(self.factors, hidden):
            _refuse_many(holes, chunk, rows)
            out[rows] += self._summed(chunk.take(rows), draws, holes)

    def _summed(self, chunk: Chunk, draws: Draws, holes: Holes) -> Floats:
        together, apart = together_and_apart(self.factors, holes)

        def line_of(family: LinearFamily, key: int) -> Line:
            numbers, centre = family.drawn(key, draws)
            return Line(numbers[:, 0], numbers[:, 2:], numbers[:, 1] ** 2, centre)

        def logs_of(filled: Chunk, there: Flags, rows: NDArray[np.intp]) -> Floats:
            logs = self._logs(filled, draws, self.factors.numbers if apart is None else apart)
            for some, kept in same_numbers(together, filled) if together else ():
                logs[some] += integrals(self.factors, filled.take(some), together, kept, line_of, draws.n)
            return logs

        k = self.factors.schema.n_classes
        return sum_over_states(chunk, holes, logs_of, max(1, _BLOCK // (draws.n * k)))

    def _logs(self, chunk: Chunk, draws: Draws, numbers: Sequence[LinearFamily]) -> Floats:
        """Return log P(x | c) under every draw of rows that lack no parent: shape (n, draws, K)."""
        factors = self.factors
        out = np.zeros((chunk.n_rows, draws.n, factors.schema.n_classes))
        self.tables.add(chunk, draws, out)
        alike = np.zeros((chunk.n_rows, draws.n, 1))
        self.apart.add(chunk, draws, alike)
        out += alike
        if factors.class_family is not None:
            out += factors.class_family.log_draws(chunk.codes, draws, self.class_above_mode)
        for family in numbers:
            rows = np.flatnonzero(~np.isnan(chunk.values[:, family.child]))
            out[rows] += family.log_draws(chunk.codes[rows], chunk.values[rows], draws)
        return out


def _refuse_many(holes: Holes, chunk: Chunk, rows: NDArray[np.intp]) -> None:
    if holes.n_states > MOST_LEFT_OUT:
        raise UsageError(
            f"Row {chunk.first_row + int(rows[0])} (from 0) lacks {len(holes.discrete)} attributes that others depend "
            f"on, which have {holes.n_states:,} joint states; predict_interval sums over at most {MOST_LEFT_OUT:,}. "
            "Fill some in, or use NaiveBayes, which leaves missing values out."
        )
