"""The imaginary rows of a table in which the class is a variable like any other: P(c, x_i, x_j, …)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayeskit.priors.back_off import backs_off
from bayeskit.priors.imaginary import BDeu, Floats, Lidstone, MEstimate
from bayeskit.schema import Variable


def joint_cells(prior: Any, variables: Sequence[Variable], n_classes: int) -> Floats:
    """Return the imaginary count of each cell of P(c, x_i, x_j, …), the same for every class.

    >>> joint_cells(MEstimate(1), [Variable("x", "categorical", ("a", "b"))], 5)
    array([0.1, 0.1])
    """
    shape = tuple(v.size for v in variables)
    if isinstance(prior, (MEstimate, BDeu)):
        rows = prior.m if isinstance(prior, MEstimate) else prior.ess
        return np.full(shape, rows / max(n_classes * int(np.prod(shape)), 1))
    if backs_off(prior):
        return joint_cells(MEstimate(1.0), variables, n_classes)
    if isinstance(prior, Lidstone):
        return np.full(shape, float(prior.alpha))
    cells = np.ones(())
    for variable in variables:
        cells = np.multiply.outer(cells, prior.cells(variable, n_classes))
    return np.asarray(cells)
