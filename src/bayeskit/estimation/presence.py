"""Missingness as a state of numeric attributes: present or not, given the class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.chunk import Chunk

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Presence:
    """P(present | c) and P(missing | c) of numeric attributes: arrays of shape (d, K)."""

    columns: NDArray[np.intp]
    log_present: Floats
    log_missing: Floats

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        missing = np.isnan(chunk.values[:, self.columns])
        out += np.where(missing[:, :, None], self.log_missing, self.log_present).sum(axis=1)

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
        return Presence(columns, np.log(there / total).T.copy(), np.log(not_there / total).T.copy())
