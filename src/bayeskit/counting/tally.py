"""Statistics that grow and shrink: the one place where counts change."""

from __future__ import annotations

import numpy as np

from bayeskit.counting.backends.threads import count_rows
from bayeskit.data.encoded import Encoded
from bayeskit.errors import SettingError
from bayeskit.schema import Schema
from bayeskit.statistics import Plan, Statistics


class Tally:
    """Statistics with the verbs of incremental use.

    Every verb is all or nothing: the statistics are replaced only when the new ones are complete.
    """

    def __init__(self, schema: Schema, plan: Plan, n_jobs: int | None = None) -> None:
        self.statistics = Statistics.zero(schema, plan)
        self.n_jobs = n_jobs

    @classmethod
    def of(cls, encoded: Encoded, plan: Plan, n_jobs: int | None = None) -> Tally:
        """Count the first rows: what zero and these add up to, without the zero."""
        tally = cls.__new__(cls)
        tally.statistics, tally.n_jobs = count_rows(encoded, plan, n_jobs).pruned(), n_jobs
        return tally

    @property
    def schema(self) -> Schema:
        return self.statistics.schema

    def absorb(self, encoded: Encoded) -> None:
        """Add rows."""
        new = count_rows(encoded, self.statistics.plan, self.n_jobs)
        # Zero + a is a, without the copy (its schema was grown from this one).
        self.statistics = (self.statistics.merge(new) if self.statistics.total else new).pruned()

    def forget(self, encoded: Encoded) -> None:
        """Take rows away that were added before; what nothing speaks for any more leaves the schema."""
        self.subtract(count_rows(encoded, self.statistics.plan, self.n_jobs))

    def fade(self, factor: float) -> None:
        """Multiply every weight by a factor between 0 and 1: yesterday counts for less."""
        if not (isinstance(factor, (int, float, np.number)) and 0.0 < factor <= 1.0):
            raise SettingError(f"fade takes a factor above 0 and at most 1, not {factor!r}.")
        self.statistics = self.statistics.scale(float(factor))

    def merge(self, statistics: Statistics) -> None:
        """Add what was counted elsewhere, by another tally or a backend; the schema grows by its states."""
        self.statistics = self.statistics.merge(statistics).pruned()

    def subtract(self, statistics: Statistics) -> None:
        """Take away what was counted elsewhere of rows that were added before."""
        self.statistics = self.statistics.subtract(statistics).pruned()
