"""Missingness as a state of numeric attributes: present or not, given the class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.chunk import Chunk
from bayeskit.statistics.part import never_counted

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Presence:
    """P(present | c) and P(missing | c) of numeric attributes: arrays of shape (d, K).

    ``present`` and ``missing`` are the weights they were estimated from, with ``alpha`` imaginary rows each.
    """

    columns: NDArray[np.intp]
    log_present: Floats
    log_missing: Floats
    present: Floats
    missing: Floats
    alpha: float

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        missing = np.isnan(chunk.values[:, self.columns])
        out += np.where(missing[:, :, None], self.log_missing, self.log_present).sum(axis=1)

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add what ``add_log_prob`` would, had each row been counted with ``own`` less of its weight."""
        label = np.asarray(chunk.target, dtype=np.intp)
        missing = np.isnan(chunk.values[:, self.columns])
        terms = np.where(missing[:, :, None], self.log_missing, self.log_present)
        held = np.where(missing, self.missing[:, label].T, self.present[:, label].T)
        other = np.where(missing, self.present[:, label].T, self.missing[:, label].T)
        left = held - own[:, None]
        if (left < -1e-9 * (held + other)).any():
            raise never_counted(float(left.min()))
        # What is missing is a difference: no more than its rounding is nothing.
        left = np.where(left <= 4e-15 * (held + other), 0.0, left) + self.alpha
        total = left + other + self.alpha
        with np.errstate(divide="ignore"):
            mine = np.log(left / np.where(total > 0, total, 1.0))
        rows = np.arange(len(label))
        terms[rows, :, label] = np.where(own[:, None] > 0, mine, terms[rows, :, label])
        # Where the row alone had no value, missingness would be no state of the attribute.
        everyone = self.missing.sum(axis=1)
        weight = (self.present + self.missing).sum(axis=1)
        alone = missing & (everyone - own[:, None] <= 1e-9 * np.maximum(weight - own[:, None], 1.0))
        terms[alone] = 0.0
        out += terms.sum(axis=1)

    def sample(self, classes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Draw 1.0 where present and NaN where missing: shape (n, d)."""
        draw = rng.random((len(classes), len(self.columns)))
        return np.where(draw < np.exp(self.log_present[:, classes]).T, 1.0, np.nan)


def estimate_presence(present: Floats, margin: Floats, alpha: float) -> Presence | None:
    """Estimate from Σw of present values (K, d) and n(c); None where nothing was ever missing."""
    missing = np.maximum(margin[:, None] - present, 0.0)
    columns = np.flatnonzero(missing.sum(axis=0) > 1e-9 * max(margin.sum(), 1.0))
    if not len(columns):
        return None
    there, not_there = present[:, columns] + alpha, missing[:, columns] + alpha
    total = np.where(there + not_there > 0, there + not_there, 1.0)
    with np.errstate(divide="ignore"):
        logs = np.log(there / total).T.copy(), np.log(not_there / total).T.copy()
    return Presence(columns, *logs, present[:, columns].T, missing[:, columns].T, alpha)
