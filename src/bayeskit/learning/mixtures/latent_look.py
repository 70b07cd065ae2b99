"""A model of hidden classes as the flat arrays that the loops over rows read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.estimation.gaussian import Gaussian
from bayeskit.estimation.poisson import Poisson
from bayeskit.estimation.presence import Presence
from bayeskit.estimation.table import TableConditional
from bayeskit.learning.model import Model

Floats = NDArray[np.float64]


def padded_width(n_components: int) -> int:
    """Return the room for components: a multiple of four.

    >>> padded_width(2), padded_width(5)
    (4, 8)
    """
    return 4 * -(-n_components // 4)


@dataclass(frozen=True, eq=False)
class Look:
    """The tables of the loops: log P(k), log P(v | k) with a row for missing, and each numeric column's.

    See :mod:`bayeskit.learning.mixtures.kernels.latent` for what the last five mean.
    """

    prior: Floats
    offsets: NDArray[np.uintp]
    table: Floats
    kinds: NDArray[np.uint8]
    centre: Floats
    low: Floats
    scale: Floats
    norm: Floats
    absent: Floats

    @property
    def arrays(self) -> tuple[Any, ...]:
        """All of them, in the order of the loops' arguments."""
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)


def look_of(model: Model, exponent: NDArray[np.int64]) -> Look:
    """Write a model out for values that are held as x·2^−exponent."""
    k, m = len(model.log_prior), len(model.schema.numeric)
    width = padded_width(k)
    prior = np.full(width, -np.inf)
    prior[:k] = model.log_prior
    kinds = np.zeros(m, dtype=np.uint8)
    centre, low, scale, norm, absent = np.zeros((5, m, width))
    table = np.zeros((int(model.schema.offsets[-1]), width))
    for conditional in model.conditionals:
        match conditional:
            case TableConditional():
                table[:, :k] = known_rows(conditional)
            case Gaussian():
                columns, used = conditional.columns, conditional.used
                power = exponent[columns]
                kinds[columns[used]] = 1
                centre[columns, :k] = np.ldexp(conditional.mean, -power).T
                low[columns, :k] = np.ldexp(conditional.mean_low, -power).T
                scale[columns, :k] = np.ldexp(np.sqrt(0.5) / conditional.deviation, power).T
                density = -np.log(conditional.deviation) - 0.5 * np.log(2.0 * np.pi)
                norm[columns, :k] += np.where(used, density, 0.0).T
            case Poisson():
                columns = conditional.columns
                kinds[columns[conditional.rates.any(axis=0)]] = 2
                centre[columns, :k] = conditional.rates.T
                with np.errstate(divide="ignore"):
                    scale[columns, :k] = np.log(conditional.rates).T
                norm[columns, :k] -= conditional.rates.T
            case Presence():
                norm[conditional.columns, :k] += conditional.log_present
                absent[conditional.columns, :k] = conditional.log_missing
    return Look(prior, model.schema.offsets, table.reshape(-1), kinds, centre, low, scale, norm, absent)


def known_rows(conditional: TableConditional) -> Floats:
    """Return the log-probabilities of states and of missing, without the rows of states never seen."""
    keep = np.ones(len(conditional.log_table), dtype=bool)
    keep[conditional.offsets[1:].astype(np.intp) - 1] = False
    return conditional.log_table[keep]
