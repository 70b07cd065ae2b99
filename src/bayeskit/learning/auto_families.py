r"""Choosing the family of each numeric attribute by leave-one-out log-loss.

For each attribute alone and each family, the loss is :math:`-\sum_i \log P_{-i}(c_i \mid x_i)`, where the
row's own weight is taken out of its class before it is scored: one more pass, not n fits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.chunk import Chunk
from bayeskit.estimation.gaussian import Gaussian, estimate_gaussian
from bayeskit.estimation.kernel_density import BROAD_SHARE, KernelDensity, estimate_kernel
from bayeskit.estimation.poisson import Poisson, estimate_poisson
from bayeskit.schema import Name, Schema
from bayeskit.statistics import Statistics
from bayeskit.statistics.grids import Grids

Floats = NDArray[np.float64]


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
    moments: Any = statistics.moments
    grids: Any = statistics.parts["grids"]
    whole = _whole_columns(chunks, len(schema.numeric))
    found: dict[Name, Candidates] = {}
    for j, variable in enumerate(schema.numeric):
        place = np.array([j], dtype=np.intp)
        part = moments.columns(place)
        families: dict[str, Any] = {
            "gaussian": estimate_gaussian(part, place),
            "kernel": estimate_kernel(Grids.of([grids.grid(j)], n_classes=schema.n_classes), place),
        }
        if whole[j]:
            high, low = part.mean()
            total = (high + low) * part.weight
            families["poisson"] = estimate_poisson(part.weight, total, place, (variable.name,), alpha=alpha)
        losses = dict.fromkeys(families, 0.0)
        for chunk in chunks():
            for name, family in families.items():
                losses[name] += _loss(chunk, j, family, part, grids, statistics.class_counts, alpha)
        found[variable.name] = Candidates(losses)
    return found


def _whole_columns(chunks: Callable[[], Iterator[Chunk]], d: int) -> NDArray[np.bool_]:
    whole = np.ones(d, dtype=bool)
    for chunk in chunks():
        x = np.where(np.isnan(chunk.values), 0.0, chunk.values)
        whole &= ((x == np.rint(x)) & (x >= 0)).all(axis=0)
    return whole


def _loss(chunk: Chunk, j: int, family: Any, part: Any, grids: Any, margin: Floats, alpha: float) -> float:
    assert chunk.target is not None
    x = chunk.values[:, j]
    weights = chunk.row_weights
    rows = np.flatnonzero(~np.isnan(x) & (weights > 0))
    x, w, own = x[rows], weights[rows], chunk.target[rows].astype(np.intp)
    out = np.zeros((chunk.n_rows, len(margin)))
    family.add_log_prob(chunk, out)
    joint = out[rows]
    joint[np.arange(len(rows)), own] = _without(family, x, w, own, part, grids, j, alpha, joint)
    with np.errstate(divide="ignore"):
        counts = np.log(np.maximum(margin + 1.0, 1e-300))[None, :].repeat(len(rows), axis=0)
        counts[np.arange(len(rows)), own] = np.log(np.maximum(margin[own] - w, 0.0) + 1.0)
    joint += counts
    best = joint.max(axis=1, keepdims=True)
    log_total = best[:, 0] + np.log(np.exp(joint - best).sum(axis=1))
    return float(w @ (log_total - joint[np.arange(len(rows)), own]))


def _without(
    family: Any,
    x: Floats,
    w: Floats,
    own: NDArray[np.intp],
    part: Any,
    grids: Any,
    j: int,
    alpha: float,
    joint: Floats,
) -> Floats:
    """log p(x | own class) with the row's own weight taken out of the class."""
    n = part.weight[own, 0]
    left = np.maximum(n - w, 0.0)
    scored = joint[np.arange(len(x)), own]
    alone = left <= 1e-9
    left = np.where(alone, 1.0, left)
    if isinstance(family, Gaussian):
        if not family.used[0]:
            return scored
        # In units of the pooled deviation, where no square leaves the range of a double.
        unit = float(part.pooled().deviation()[0, 0])
        z = ((x - family.mean[own, 0]) - family.mean_low[own, 0]) / unit
        scatter = n * (part.deviation()[own, 0] / unit) ** 2 - w * n / left * z * z
        variance = np.maximum(scatter / left, 1e-9)
        gap = z + z * w / left
        score = -0.5 * np.log(2 * math.pi * variance) - math.log(unit) - gap * gap / (2 * variance)
    elif isinstance(family, Poisson):
        pooled = (part.weight * (part.mean()[0] + part.mean()[1])).sum() / max(part.weight.sum(), 1e-300)
        total = n * (part.mean()[0] + part.mean()[1])[own, 0] - w * x
        rate = np.maximum((np.maximum(total, 0.0) + alpha * pooled) / (left + alpha), 1e-300)
        before = np.maximum(family.rates[own, 0], 1e-300)
        score = scored + x * (np.log(rate) - np.log(before)) - (rate - before)
    else:
        score = _kernel_without(family, x, w, own, grids.grid(j), n, left, scored)
    unit = max(float(part.pooled().deviation()[0, 0]), 1e-300)
    return np.where(alone, -0.5 * math.log(2 * math.pi) - math.log(unit) - 1.0, score)


def _kernel_without(
    family: KernelDensity,
    x: Floats,
    w: Floats,
    own: NDArray[np.intp],
    grid: Any,
    n: Floats,
    left: Floats,
    scored: Floats,
) -> Floats:
    sd = float(family.sd[0])
    if sd == 0.0:
        return scored
    z = (x - family.mean[0]) / sd
    width = math.ldexp(1.0, int(grid.exponent))
    centre = ((np.floor(x / width) + 0.5) * width - family.mean[0]) / sd
    deviation = family.deviations[0, own]
    peak = np.exp(-0.5 * ((z - centre) / deviation) ** 2) / (math.sqrt(2 * math.pi) * deviation * sd)
    broad = BROAD_SHARE / (math.pi * (1.0 + z * z) * sd)
    narrow = np.maximum((np.exp(scored) - broad) * n - (1.0 - BROAD_SHARE) * w * peak, 0.0) / left
    return np.asarray(np.log(narrow + broad))
