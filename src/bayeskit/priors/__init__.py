"""Priors as imaginary data: what is added to the counts before they are normalised.

.. math:: \\hat P(x = v \\mid c) = \\frac{n_{c,v} + a_v}{N_c + \\sum_u a_u}

Maximum likelihood adds nothing, Laplace one to every cell, BDeu ess/(q·r). The statistic kept is always
the raw one, so a prior can be changed after the counting.
"""

from bayeskit.priors.back_off import BackOff, WittenBell, backs_off
from bayeskit.priors.imaginary import (
    MAP,
    MLE,
    BDeu,
    Dirichlet,
    Laplace,
    Lidstone,
    MEstimate,
    NormalInverseGamma,
    Prior,
    one_more_cell,
)
from bayeskit.priors.joint import joint_cells
from bayeskit.priors.smoothing import Smoothing, as_prior, as_smoothing

# Every prior there is, for whoever must know them by name (a saved model).
PRIORS = (Lidstone, Dirichlet, MEstimate, BDeu, MAP, NormalInverseGamma, BackOff, WittenBell)

__all__ = [
    "MAP",
    "MLE",
    "PRIORS",
    "BDeu",
    "BackOff",
    "Dirichlet",
    "Laplace",
    "Lidstone",
    "MEstimate",
    "NormalInverseGamma",
    "Prior",
    "Smoothing",
    "WittenBell",
    "as_prior",
    "as_smoothing",
    "backs_off",
    "joint_cells",
    "one_more_cell",
]
