r"""Choosing the family of each numeric attribute by leave-one-out log-loss.

For each attribute alone and each family, the loss is :math:`-\sum_i \log P_{-i}(c_i \mid x_i)`, where the
row's own weight is taken out of its class before it is scored: one more pass, not n fits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.encoded import Chunk
from bayeskit.estimation.density import LARGEST_COUNT, ColumnSums, Density, families
from bayeskit.schema import Name, Schema
from bayeskit.statistics import Statistics
from bayeskit.statistics.moments import Moments
from bayeskit.typing import Floats


@dataclass(frozen=True)
class Candidates:
    """The leave-one-out losses of one attribute, by family."""

    losses: dict[str, float] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """The family of least loss; the Gaussian where there is nothing to tell them apart."""
        return (
            min(self.losses, key=lambda f: (self.losses[f], f != "gaussian")) if self.losses else "gaussian"
        )


def compare_families(
    chunks: Callable[[], Iterator[Chunk]], schema: Schema, statistics: Statistics, alpha: float
) -> dict[Name, Candidates]:
    """Score every numeric attribute under every family that can take its values.

    ``statistics`` must hold grids of all numeric attributes; ``chunks`` opens the rows once more.
    """
    whole = _whole_columns(chunks, len(schema.numeric))
    found: dict[Name, Candidates] = {}
    for j, variable in enumerate(schema.numeric):
        sums = ColumnSums(statistics, np.array([j], dtype=np.intp), alpha)
        densities = [f.estimate(sums) for f in families() if f.suits(sums.moments, bool(whole[j]))]
        losses = dict.fromkeys((density.family for density in densities), 0.0)
        for chunk in chunks():
            for density in densities:
                losses[density.family] += _loss(chunk, j, density, sums.moments, statistics.class_counts)
        found[variable.name] = Candidates(losses)
    return found


def _whole_columns(chunks: Callable[[], Iterator[Chunk]], d: int) -> NDArray[np.bool_]:
    whole = np.ones(d, dtype=bool)
    for chunk in chunks():
        x = np.where(np.isnan(chunk.values), 0.0, chunk.values)
        whole &= ((x == np.rint(x)) & (x >= 0) & (x <= LARGEST_COUNT)).all(axis=0)
    return whole


def _loss(chunk: Chunk, j: int, density: Density, moments: Moments, margin: Floats) -> float:
    assert chunk.target is not None
    x = chunk.values[:, j]
    weights = chunk.row_weights
    rows = np.flatnonzero(~np.isnan(x) & (weights > 0))
    x, w, own = x[rows], weights[rows], chunk.target[rows].astype(np.intp)
    out = np.zeros((chunk.n_rows, len(margin)))
    density.add_log_prob(chunk, out)
    joint = out[rows]
    joint[np.arange(len(rows)), own] = _without(density, x, w, own, moments, joint)
    with np.errstate(divide="ignore"):
        counts = np.log(np.maximum(margin + 1.0, 1e-300))[None, :].repeat(len(rows), axis=0)
        counts[np.arange(len(rows)), own] = np.log(np.maximum(margin[own] - w, 0.0) + 1.0)
    joint += counts
    best = joint.max(axis=1, keepdims=True)
    if np.isneginf(best).any():  # a value that the family cannot have, whatever the class
        return math.inf
    log_total = best[:, 0] + np.log(np.exp(joint - best).sum(axis=1))
    return float(w @ (log_total - joint[np.arange(len(rows)), own]))


def _without(
    density: Density, x: Floats, w: Floats, own: NDArray[np.intp], moments: Moments, joint: Floats
) -> Floats:
    """log p(x | own class) with the row's own weight taken out of the class, also where nothing else is in it."""
    score = density.left_out_alone(x, w, own, joint)
    if not density.in_use()[0]:
        return score
    alone = np.maximum(moments.weight[own, 0] - w, 0.0) <= 1e-9
    unit = max(float(moments.pooled().deviation()[0, 0]), 1e-300)
    return np.where(alone, -0.5 * math.log(2 * math.pi) - math.log(unit) - 1.0, score)
