"""A model of hidden classes as the flat arrays that the loops over rows read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.learning.mixtures.latent_model import components_of
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

    See :mod:`bayeskit.learning.mixtures.kernels.latent` for what the five before the last mean. ``complete`` says that
    they hold all of the model: else only its sums can be taken by them, about ``centre``.
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
    complete: bool = True

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The tables, in the order of the loops' arguments."""
        return tuple(getattr(self, name) for name in self.__dataclass_fields__ if name != "complete")


def look_of(model: Model, exponent: NDArray[np.int64], centre: Floats) -> Look:
    """Write a model out for values that are held as x·2^−exponent; sums are taken about the components' own centres.

    ``centre`` are those of columns that the tables have no place for.
    """
    k, m = len(model.log_prior), len(model.schema.numeric)
    width = padded_width(k)
    prior = np.full(width, -np.inf)
    prior[:k] = model.log_prior
    table = np.zeros((int(model.schema.offsets[-1]), width))
    kinds = np.zeros(m, dtype=np.uint8)
    look = Look(prior, model.schema.offsets, table, kinds, *np.zeros((5, m, width)))
    look.centre[:, :k] = centre[:, None]
    written = [component.write_look(look, exponent) for component in components_of(model)]
    return replace(look, table=table.reshape(-1), complete=all(written))
