"""Estimated posteriors with their standard errors and diagnostics."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bayeskit._graphs.factor import Factor
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit._schema import Label, Name
from bayeskit.errors import TooLarge
from bayeskit.typing import Floats, Ints

_LINES = 40


@dataclass(frozen=True, eq=False)
class Estimate:
    """An estimate of P(targets | evidence) by an approximate method. ``np.asarray`` gives the numbers.

    Attributes
    ----------
    factor : the estimated posterior
    method : the method of the estimate; "exact" if it is none
    standard_error : array of the same shape, or None
        The standard deviation of each number over other seeds. It is 0 only where the evidence determines the
        target. None for loopy belief propagation, which draws no samples.
    effective_sample_size : the effective number of independent samples (the minimum over cells)
    r_hat : split R-hat of Gibbs sampling, the maximum over cells; much over 1.01 means that the chains
        disagree
    n_samples : the number of samples drawn and kept
    n_accepted : the number that agreed with the evidence (rejection only)
    converged, n_iterations : whether the messages converged, and when (loopy belief propagation only)

    Examples
    --------
    >>> rain = Factor(["rain"], [["no", "yes"]], [0.75, 0.25])
    >>> found = Estimate(rain, "rejection", np.array([0.043, 0.043]), 100.0, n_samples=400, n_accepted=100)
    >>> found["yes"]
    0.25
    >>> found
    Estimate of 'rain' by rejection: 400 samples, 100 accepted
      'no': 0.75 ± 0.043
      'yes': 0.25 ± 0.043
    """

    factor: Factor
    method: str
    standard_error: NDArray[np.float64] | None = None
    effective_sample_size: float | None = None
    r_hat: float | None = None
    n_samples: int | None = None
    n_accepted: int | None = None
    converged: bool | None = None
    n_iterations: int | None = None

    @property
    def names(self) -> tuple[Name, ...]:
        return self.factor.names

    @property
    def states(self) -> tuple[tuple[Label, ...], ...]:
        return self.factor.states

    @property
    def values(self) -> NDArray[np.float64]:
        return self.factor.values

    @property
    def marginals(self) -> tuple[NDArray[np.float64], ...]:
        """The estimated probabilities of each target by itself."""
        axes = range(self.values.ndim)
        return tuple(self.values.sum(axis=tuple(other for other in axes if other != k)) for k in axes)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return self.factor.__array__(dtype, copy)

    def __getitem__(self, states: Label) -> float:
        return self.factor[states]

    def to_dict(self) -> dict[Hashable, float]:
        return self.factor.to_dict()

    def __repr__(self) -> str:
        how = ", exact" if self.method == "exact" else f" by {self.method}: {', '.join(self._facts())}"
        lines = [f"Estimate of {', '.join(map(repr, self.names))}{how}"]
        for row, cell in enumerate(np.ndindex(*self.factor.sizes)):
            if row == _LINES:
                lines.append("  …")
                break
            states = ", ".join(repr(s[i]) for s, i in zip(self.states, cell, strict=True))
            errors = None if self.method == "exact" else self.standard_error
            error = "" if errors is None else f" ± {errors[cell]:.2g}"
            lines.append(f"  {states}: {self.values[cell]:.4g}{error}")
        return "\n".join(lines)

    def _facts(self) -> list[str]:
        facts = [] if self.n_samples is None else [f"{self.n_samples} samples"]
        if self.n_accepted is not None:
            facts.append(f"{self.n_accepted} accepted")
        elif self.effective_sample_size is not None:
            facts.append(f"worth {self.effective_sample_size:.0f}")
        if self.r_hat is not None:
            facts.append(f"R-hat {self.r_hat:.3f}")
        if self.converged is not None:
            done = "converged after" if self.converged else "not converged after"
            facts.append(f"{done} {self.n_iterations} iterations")
        return facts


# Cells of an answer; more could not be estimated by any number of samples.
_MOST_CELLS = 2**22


@dataclass(frozen=True, eq=False)
class Cells:
    """The joint states of the targets, numbered with the last target fastest.

    ``possible`` marks the cells that agree with the evidence about the targets themselves.
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

        Samples that (nearly) all fall into one cell show no spread, but the next one might fall into another
        cell. So each error includes two imaginary samples, one in the cell and one outside. Each has the
        largest share h of the total weight that a sample has: 1/n if all weights are equal, as in (x + 1)/(n
        + 2). With many samples on both sides, this is negligible compared with the variance. Only the
        evidence about the targets themselves is certain.
        """
        p = values.reshape(self.shape)
        errors = np.sqrt(variances.reshape(self.shape) + heaviest**2 * (p**2 + (1 - p) ** 2))
        return np.where(self.possible, errors, 0.0) if self.possible.sum() > 1 else np.zeros(self.shape)
