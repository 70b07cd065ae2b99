"""Draws of log P(numbers | class) of rows: normals, rates and presences from the posterior of their parameters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.chunk import Chunk
from bayeskit.estimation.child_gaussians import ChildGaussians
from bayeskit.estimation.gaussian import SMALLEST_DEVIATION, Gaussian
from bayeskit.estimation.poisson import Poisson
from bayeskit.estimation.posterior_draws import NEVER, Draws, log_dirichlet, log_gamma_draws, normal_draws
from bayeskit.estimation.presence import Presence
from bayeskit.estimation.student import Student

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Normals:
    """What is known of the normals of one attribute in K classes.

    Attributes
    ----------
    mean, mean_low, deviation : arrays of shape (K,)
    freedom, rows : arrays of shape (K,)
        ν of the variance and κ of the mean.
    least : float
        Added to every variance that is drawn.
    """

    mean: Floats
    mean_low: Floats
    deviation: Floats
    freedom: Floats
    rows: Floats
    least: float = 0.0

    def add(self, x: Floats, draws: Draws, key: tuple[int, ...], out: Floats) -> None:
        """Add the log-density of values to ``out`` of shape (n, draws, K); NaN adds nothing."""

        def make(rng: np.random.Generator) -> tuple[Floats, Floats]:
            away, sigma = normal_draws(rng, self.deviation, self.freedom, self.rows, draws.n)
            return away, np.maximum(np.sqrt(sigma * sigma + self.least), SMALLEST_DEVIATION)

        away, sigma = draws.get(key, make)
        apart = (x[:, None] - self.mean) - self.mean_low
        z = apart[:, None, :] - away
        z *= np.sqrt(0.5) / sigma
        z *= z
        z += np.log(sigma)
        gaps = np.isnan(x)
        if gaps.any():
            z[gaps] = 0.0
        out -= z


def normals_of(gaussian: Gaussian, i: int) -> Normals:
    """Return the posterior of the i-th attribute of a Gaussian family.

    The family has no prior of its own. Beside the rows stands one imaginary row which has the variance within classes
    and says nothing of the mean: so the posterior is proper also for a class of one row, and is that of the reference
    prior for all that larger ones show.
    """
    assert gaussian.counted is not None
    classes, pooled, unit = gaussian.counted.classes, gaussian.counted.pooled, int(gaussian.counted.power[i])
    n = classes.weight[:, i]
    spread = classes.held_variance()[:, i] * n
    overall = float(pooled.held_variance()[0, i])
    within = float(spread.sum() / max(n.sum(), 1e-300))
    within = within if within > 0.0 else overall
    rows = np.where(n > 0.0, n, 1.0)
    variance = np.where(n > 0.0, (spread + within) / rows, overall)
    variance = np.maximum(variance, gaussian.floor * overall)
    least = 0.0
    if gaussian.floor_share is not None:
        least = float(gaussian.floor_share * pooled.variance().max(initial=0.0))
    deviation = np.ldexp(np.sqrt(variance), unit)
    return Normals(gaussian.mean[:, i], gaussian.mean_low[:, i], deviation, rows, rows, least)


def add_number_draws(
    family: Gaussian | Student | Poisson | Presence | ChildGaussians, chunk: Chunk, draws: Draws, out: Floats
) -> None:
    """Add the numeric attributes of one family under each draw of its parameters: ``out`` of shape (n, draws, K)."""
    match family:
        case Gaussian():
            for i in np.flatnonzero(family.used).tolist():
                column = int(family.columns[i])
                normals_of(family, i).add(chunk.values[:, column], draws, (2, column), out)
        case Student():
            _add_student(family, chunk, draws, out)
        case Poisson():
            _add_poisson(family, chunk, draws, out)
        case Presence():
            for i, column in enumerate(family.columns.tolist()):
                counts = np.stack([family.present[i], family.missing[i]]) + family.alpha
                drawn = draws.get((3, column), partial(log_dirichlet, counts=counts, draws=draws.n))
                out += drawn[np.isnan(chunk.values[:, column]).astype(np.intp)]
        case ChildGaussians():
            for column in np.flatnonzero(family.cell_gaussian.used).tolist():
                _add_child(family, column, chunk, draws, out)


def _add_student(family: Student, chunk: Chunk, draws: Draws, out: Floats) -> None:
    rows = family.prior[1] + family.counted.classes.weight
    # s² of the predictive is that of the normals times (κ + 1)/κ, since the mean is not known either.
    deviation = family.scale * np.sqrt(rows / (rows + 1.0))
    for i in np.flatnonzero(family.used).tolist():
        column = int(family.columns[i])
        known: Any = (family.mean, family.mean_low, deviation, family.freedom, rows)
        Normals(*(part[:, i] for part in known)).add(chunk.values[:, column], draws, (2, column), out)


def _add_poisson(family: Poisson, chunk: Chunk, draws: Draws, out: Floats) -> None:
    assert family.counted is not None
    weight = family.counted.classes.weight + family.alpha
    weight = np.where(weight > 0.0, weight, 1.0)
    for i in np.flatnonzero(family.rates.any(axis=0)).tolist():
        column = int(family.columns[i])
        shape = (family.rates[:, i] * weight[:, i])[None]
        logs = draws.get((4, column), partial(log_gamma_draws, shape=shape, draws=draws.n))[0]
        log_rate = logs - np.log(weight[:, i])
        x = chunk.values[:, column]
        there = np.flatnonzero(~np.isnan(x))
        out[there] += x[there, None, None] * np.maximum(log_rate, NEVER) - np.exp(log_rate)


def _add_child(family: ChildGaussians, column: int, chunk: Chunk, draws: Draws, out: Floats) -> None:
    cells, parent = family.cell_gaussian, int(family.parents[column])
    k = cells.mean.shape[1]
    last = len(cells.mean) - 1  # the Gaussian of the class alone
    own = cells.cells.weight.reshape(last, k, -1)[:, :, column]
    classes = np.maximum(cells.classes.weight[:, column], 0.0)
    place = np.full(chunk.n_rows, last)
    if parent >= 0:
        codes = chunk.codes[:, parent].astype(np.intp)
        place = np.where(codes < int(cells.limits[parent]), int(cells.offsets[parent]) + codes, last)
    held = np.ldexp(chunk.values[:, column], -int(cells.exponent[column]))
    for t in np.unique(place).tolist():
        rows = (
            np.where((own[t] > 0) | (cells.alpha > 0), own[t] + cells.alpha, classes) if t < last else classes
        )
        rows = np.where(rows > 0, rows, 1.0)
        mean, low, deviation = (part[t, :, column] for part in (cells.mean, cells.mean_low, cells.deviation))
        some = np.flatnonzero(place == t)
        scores = out[some]
        Normals(mean, low, deviation, rows, rows).add(held[some], draws, (5, column, t), scores)
        out[some] = scores
