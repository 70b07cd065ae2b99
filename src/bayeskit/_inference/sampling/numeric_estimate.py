"""Estimated distributions of continuous nodes: means, standard deviations and quantiles of weighted samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from bayeskit._inference.mixture_posterior import GaussianMixturePosterior, grouped
from bayeskit._schema import Name
from bayeskit.errors import SettingError
from bayeskit.typing import Floats


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
            raise SettingError("Quantiles are asked between 0 and 1, both excluded; {q} was given.", q=q)
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
