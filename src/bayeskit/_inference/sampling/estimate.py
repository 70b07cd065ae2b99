"""Estimated posteriors with their standard errors and diagnostics, and estimated distributions of continuous nodes."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bayeskit._graphs.factor import Factor
from bayeskit._inference.mixture_posterior import GaussianMixturePosterior, grouped
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit._schema import Label, Name
from bayeskit.errors import SettingError, TooLarge
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
        """The targets, one for each axis."""
        return self.factor.names

    @property
    def states(self) -> tuple[tuple[Label, ...], ...]:
        """The states of each target."""
        return self.factor.states

    @property
    def values(self) -> NDArray[np.float64]:
        """The estimated probabilities as an array."""
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
        """Return state → number, or (state, …) → number for several targets."""
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


class Marginal(Protocol):
    """The distribution of one continuous node: samples with weights, or a mixture of normal distributions."""

    @property
    def mean(self) -> Any: ...

    @property
    def sd(self) -> Any: ...

    def quantile(self, q: ArrayLike) -> Any:
        """Return the smallest x with P(X ≤ x) ≥ q."""

    def shortened(self, most: int) -> GaussianMixturePosterior:
        """Return a mixture of at most so many normal distributions, to draw the density."""


@dataclass(frozen=True, eq=False)
class WeightedSample:
    """Values with weights, at least one of them positive.

    Examples
    --------
    >>> x = WeightedSample(np.array([3.0, 1.0, 2.0]), np.array([0.5, 1.0, 0.5]))
    >>> float(x.mean), x.quantile([0.5, 0.6, 0.9]).tolist()
    (1.75, [1.0, 2.0, 3.0])
    """

    values: Floats
    weights: Floats

    @cached_property
    def mean(self) -> float:
        # About one of the values, so that equal values have exactly their mean and no spread.
        off = self.values - self.values[0]
        return float(self.values[0] + self.weights @ off / self.weights.sum())

    @cached_property
    def sd(self) -> float:
        off = self.values - self.mean
        return float(np.sqrt(self.weights @ (off * off) / self.weights.sum()))

    @cached_property
    def standard_error(self) -> float:
        r"""The standard error of the mean.

        .. math:: \frac{1}{\sum_i w_i} \sqrt{\sum_i w_i^2 (x_i - \bar x)^2 + w_*^2 s^2}

        The second term is that of one imaginary sample with the largest weight :math:`w_*`, as far from the mean as
        samples are before the evidence is seen (:math:`s`, without weights). Without it, one sample that has all the
        weight would show no error at all.
        """
        total = self.weights.sum()
        own = (self.weights * (self.values - self.mean)) ** 2
        before = (self.values - self.values[0]).std()
        return float(np.sqrt(own.sum() + (self.weights.max() * before) ** 2) / total)

    @cached_property
    def _ordered(self) -> tuple[Floats, Floats]:
        order = np.argsort(self.values, kind="stable")
        ends = np.cumsum(self.weights[order])
        return self.values[order], ends / ends[-1]

    def quantile(self, q: ArrayLike) -> Floats:
        """Return the smallest value up to which the values have the share q of the weight."""
        values, ends = self._ordered
        return values[np.minimum(np.searchsorted(ends, q), len(values) - 1)]

    def shortened(self, most: int) -> GaussianMixturePosterior:
        """Return the density as at most so many normal distributions, of neighbouring values each."""
        weights = self.weights / self.weights.sum()
        found = grouped(weights, self.values, np.zeros(len(weights)), most)
        return GaussianMixturePosterior(*found)


@dataclass(frozen=True, eq=False)
class NumericEstimate:
    """An estimate of the distribution of continuous nodes given the evidence.

    Attributes
    ----------
    names : the nodes
    method : the method of the estimate; "exact" if it is none
    mean, sd : float, or arrays with a number for each node if there are several
    standard_error : float or array
        The standard deviation of the mean over other seeds.
    effective_sample_size : the effective number of independent samples
    n_samples : the number of samples drawn

    Examples
    --------
    >>> from bayeskit import BayesianNetwork
    >>> network = BayesianNetwork({"b": ["a"]}, states=float)
    >>> network.set_gaussian("a", 0.0, variance=1.0)
    >>> network.set_gaussian("b", 1.0, {"a": 2.0}, 1.0)
    >>> found = network.approximate("a", evidence={"b": 3.5}, method="likelihood weighting")
    >>> abs(found.mean - 1.0) < 4 * found.standard_error, round(found.sd, 1)
    (True, 0.4)
    """

    names: tuple[Name, ...]
    method: str
    marginals: tuple[Marginal, ...] = field(repr=False)
    errors: tuple[float, ...] = field(repr=False)
    effective_sample_size: float | None = None
    n_samples: int | None = None

    @property
    def mean(self) -> Any:
        return self._each([float(one.mean) for one in self.marginals])

    @property
    def sd(self) -> Any:
        return self._each([float(one.sd) for one in self.marginals])

    @property
    def standard_error(self) -> Any:
        return self._each(list(self.errors))

    def _each(self, numbers: list[float]) -> Any:
        return numbers[0] if len(numbers) == 1 else np.array(numbers)

    def quantile(self, q: ArrayLike) -> Any:
        """Return the smallest x with P(X ≤ x) ≥ q.

        Parameters
        ----------
        q : a number between 0 and 1, or an array of them

        Returns
        -------
        A number, or an array in the shape of ``q``. For several nodes, the first axis is that of the nodes.
        """
        try:
            asked = np.asarray(q, np.float64)
        except (TypeError, ValueError):
            asked = np.array(np.nan)
        if not np.all((asked > 0.0) & (asked < 1.0)):
            raise SettingError("quantile needs a number between 0 and 1, both excluded, not {q}.", q=q)
        found = [np.asarray(one.quantile(asked)) for one in self.marginals]
        return found[0][()] if len(found) == 1 else np.array(found)

    def interval(self, level: float = 0.95) -> Any:
        """Return the central interval with this probability: (low, high), or an array (nodes, 2) for several nodes."""
        if not isinstance(level, (int, float)) or not 0.0 < level < 1.0:
            raise SettingError(
                "level is {level!r}; give a number between 0 and 1, such as 0.95.", level=level
            )
        ends = self.quantile([0.5 * (1.0 - level), 0.5 * (1.0 + level)])
        return (float(ends[0]), float(ends[1])) if len(self.names) == 1 else ends

    def __repr__(self) -> str:
        facts = f": {self.n_samples} samples" if self.n_samples is not None else ""
        if self.effective_sample_size is not None:
            facts += f", worth {self.effective_sample_size:.0f}"
        how = ", exact" if self.method == "exact" else f" by {self.method}"
        lines = [f"Estimate of {', '.join(map(repr, self.names))}{how}{facts}"]
        for name, one, error in zip(self.names, self.marginals, self.errors, strict=True):
            low, high = (float(end) for end in one.quantile([0.025, 0.975]))
            off = "" if self.method == "exact" else f" ± {error:.2g}"
            lines.append(
                f"  {name!r}: mean {float(one.mean):.4g}{off}, sd {float(one.sd):.4g}, "
                f"95% from {low:.4g} to {high:.4g}"
            )
        return "\n".join(lines)
