"""The states of the targets as one number, and shares of samples as probabilities with their errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import TooLarge
from bayeskit.inference.potentials import Evidence, Floats, Ints, Potentials

# Cells of an answer; more could not be estimated by any number of samples.
_MOST_CELLS = 2**22


@dataclass(frozen=True, eq=False)
class Cells:
    """The joint states of the targets, numbered with the last target fastest.

    ``possible`` tells which cells agree with the evidence about the targets themselves.
    """

    targets: tuple[int, ...]
    shape: tuple[int, ...]
    strides: Ints
    possible: NDArray[np.bool_]

    @classmethod
    def of(cls, potentials: Potentials, targets: tuple[int, ...], evidence: Evidence) -> Cells:
        shape = tuple(int(potentials.sizes[t]) for t in targets)
        count = math.prod(shape)
        if count > _MOST_CELLS:
            raise TooLarge(8 * count, 8 * _MOST_CELLS, [potentials.names[t] for t in targets], count)
        strides = np.array([math.prod(shape[k + 1 :]) for k in range(len(shape))], np.int64)
        possible = np.ones(shape, bool)
        for axis, t in enumerate(targets):
            allowed = np.ones(shape[axis], bool)
            if evidence.codes[t] >= 0:
                allowed = np.arange(shape[axis]) == evidence.codes[t]
            if t in evidence.likelihoods:
                allowed &= evidence.likelihoods[t] > 0
            possible &= allowed.reshape([-1 if a == axis else 1 for a in range(len(shape))])
        return cls(targets, shape, strides, possible)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def of_rows(self, codes: Ints) -> Ints:
        """Return the cell of each row of codes."""
        return np.asarray(codes[:, list(self.targets)] @ self.strides, np.int64)

    def errors(self, values: Floats, variances: Floats, heaviest: float) -> Floats:
        r"""Return the standard errors in the shape of the answer.

        .. math:: \sqrt{\operatorname{Var}(\hat P) + h^2 \left(\hat P^2 + (1 - \hat P)^2\right)}

        Samples that all fall into one cell, or nearly so, show no spread; yet the next might fall into another. So
        each error is that of the samples and two imaginary ones, one in the cell and one outside, each with the
        largest share h of the total weight that a sample has: 1/n where all weigh the same, as in (x + 1)/(n + 2).
        It vanishes beside the variance where many samples lie on both sides. Only what the evidence says of the
        targets themselves is certain.
        """
        p = values.reshape(self.shape)
        errors = np.sqrt(variances.reshape(self.shape) + heaviest**2 * (p**2 + (1 - p) ** 2))
        return np.where(self.possible, errors, 0.0) if self.possible.sum() > 1 else np.zeros(self.shape)
