"""The most probable states of all variables; of several equally probable ones, the first."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bayeskit.inference.assignment import Assignment
from bayeskit.inference.evidence import Evidence
from bayeskit.inference.potentials import Potentials

Floats = NDArray[np.float64]

# Products of the same numbers in another order differ by rounding: closer than this is a tie.
TIE = 1e-10


class MaxMarginals(Protocol):
    """Whoever can tell the max-marginals of all variables."""

    potentials: Potentials

    def max_marginals(self, evidence: Evidence, max_memory: float) -> tuple[Floats, float]: ...


def most_probable(engine: MaxMarginals, evidence: Evidence, max_memory: float) -> Assignment:
    """Return the most probable explanation; ties go to the lowest states, variables in order.

    A variable with one best state has that state in every best assignment. Where some variable has
    several, the first such is set to its lowest and the question asked again.
    """
    p, codes = engine.potentials, evidence.codes.copy()
    largest = None
    while True:
        relative, log_best = engine.max_marginals(Evidence(codes, evidence.likelihoods), max_memory)
        if log_best == -math.inf:
            return Assignment(codes, -math.inf)
        largest = log_best if largest is None else largest
        best = relative >= 1.0 - TIE
        ties = np.add.reduceat(best, p.offsets[:-1]) if p.n_variables else np.empty(0, np.int64)
        first = [int(best[a:b].argmax()) for a, b in zip(p.offsets[:-1], p.offsets[1:])]
        tied = np.flatnonzero(ties > 1)
        if not len(tied):
            return Assignment(np.array(first, np.int64), largest)
        codes[tied[0]] = first[tied[0]]


def first_of_best(joint: Floats, targets: tuple[int, ...], log_p: float) -> Assignment:
    """Return the most probable cell of a joint table; ties go to the lowest states, variables in order."""
    if log_p == -math.inf:
        return Assignment(np.zeros(len(targets), np.int64), log_p)
    order = np.argsort(targets)
    turned = joint.transpose(order)
    top = turned.max()
    cell = np.unravel_index(int((turned >= top * (1.0 - TIE)).argmax()), turned.shape)
    codes = np.empty(len(targets), np.int64)
    codes[order] = cell
    return Assignment(codes, math.log(top) + log_p)
