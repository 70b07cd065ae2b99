"""The posterior of a continuous node: a mixture of normal distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayeskit._graphs.distributions import frozen
from bayeskit.errors import SettingError, UsageError
from bayeskit.typing import Floats


class GaussianMixturePosterior:
    r"""An immutable mixture of normal distributions.

    .. math:: p(x) = \sum_k w_k \, N(x; \mu_k, \sigma_k^2)

    Parameters
    ----------
    weights : array of shape (k,)
        Nonnegative numbers that sum to one.
    means : array of shape (k,), or (k, d) for d variables jointly
    variances : array of shape (k,), or covariance matrices of shape (k, d, d)
        A variance of zero means that all mass of the component is on its mean.

    Examples
    --------
    >>> x = GaussianMixturePosterior([0.25, 0.75], [0.0, 4.0], [1.0, 1.0])
    >>> float(x.mean), float(x.variance), float(x.cdf(2.0).round(4))
    (3.0, 4.0, 0.2614)
    >>> x
    GaussianMixturePosterior(mean 3, sd 2: 0.25 × N(0, 1²) + 0.75 × N(4, 1²))
    """

    __slots__ = ("means", "variances", "weights")

    weights: Floats
    means: Floats
    variances: Floats

    def __init__(self, weights: ArrayLike, means: ArrayLike, variances: ArrayLike) -> None:
        self.weights, self.means, self.variances = frozen(weights), frozen(means), frozen(variances)
        k, tail = len(self.weights), self.means.shape[1:]
        if self.means.shape[:1] != (k,) or len(tail) > 1 or self.variances.shape != (k, *tail, *tail):
            raise SettingError(
                "{k} weights, means of shape {shape} and variances of shape {shape2} do not make a mixture: "
                "give (k,), (k,), (k,), or (k,), (k, d), (k, d, d).",
                k=k,
                shape=self.means.shape,
                shape2=self.variances.shape,
            )
        if not np.all(self.weights >= 0.0) or not abs(float(self.weights.sum()) - 1.0) <= 1e-6:
            raise SettingError(
                "The weights of a mixture sum to one and none is negative: {weights}.", weights=self.weights
            )

    @classmethod
    def at(cls, value: float) -> GaussianMixturePosterior:
        """Return a point mass, as for an observed node."""
        return cls([1.0], [value], [0.0])

    @property
    def n_variables(self) -> int:
        """The number of variables."""
        return 1 if self.means.ndim == 1 else int(self.means.shape[1])

    @property
    def mean(self) -> Any:
        """The mean: a number, or an array of shape (d,)."""
        return self.weights @ self.means

    @property
    def variance(self) -> Any:
        """The variance, within and between components. For d variables, a (d, d) matrix."""
        off = self.means - self.mean
        if self.means.ndim == 1:
            with np.errstate(over="ignore"):  # infinite beyond the largest float
                return self.weights @ (self.variances + off * off)
        return np.einsum("k,kij->ij", self.weights, self.variances + off[:, :, None] * off[:, None, :])

    @property
    def sd(self) -> Any:
        """The standard deviation: a number, or an array of shape (d,)."""
        return np.sqrt(self.variance if self.means.ndim == 1 else np.diagonal(self.variance))

    def marginal(self, *places: int) -> GaussianMixturePosterior:
        """Return the marginal of some variables, by position. For one variable, it is a mixture over numbers."""
        if self.means.ndim == 1 or not places or not all(0 <= p < self.n_variables for p in places):
            raise SettingError(
                "Places {places} of a mixture over {n_variables} variables: give some of 0 … {n_variables2}. A "
                "mixture over one variable has no places.",
                places=places,
                n_variables=self.n_variables,
                n_variables2=self.n_variables - 1,
            )
        if len(places) == 1:
            p = places[0]
            return GaussianMixturePosterior(self.weights, self.means[:, p], self.variances[:, p, p])
        chosen = np.array(places)
        return GaussianMixturePosterior(
            self.weights, self.means[:, chosen], self.variances[:, chosen[:, None], chosen]
        )

    def shortened(self, most: int) -> GaussianMixturePosterior:
        """Return at most so many components (two or more), for one variable only.

        The heavier half is kept. The others are taken together in groups of neighbours, which keeps mean and variance.

        Examples
        --------
        >>> x = GaussianMixturePosterior(np.full(100, 0.01), np.arange(100.0), np.ones(100))
        >>> short = x.shortened(10)
        >>> len(short.weights), round(float(short.mean), 9), bool(abs(short.sd - x.sd) < 1e-9)
        (10, 49.5, True)
        """
        self._require_one("shortened")
        if len(self.weights) <= most:
            return self
        by_weight = np.argsort(-self.weights, kind="stable")
        heavy, light = by_weight[: most // 2], by_weight[most // 2 :]
        rest = grouped(self.weights[light], self.means[light], self.variances[light], most - most // 2)
        kept = (self.weights[heavy], self.means[heavy], self.variances[heavy])
        weights, means, variances = (np.concatenate(both) for both in zip(kept, rest, strict=True))
        return GaussianMixturePosterior(weights / weights.sum(), means, variances)

    def pdf(self, x: ArrayLike) -> Any:
        """Return the density at each x; for d variables the last axis of x has length d.

        A component of variance zero has infinite density at its mean and zero elsewhere.
        """
        x = _points(x)
        if self.means.ndim == 2:
            return self._joint_pdf(x)
        off = x[..., None] - self.means
        certain = self.variances == 0.0
        some = np.where(certain, 1.0, self.variances)
        density = np.exp(-0.5 * off * off / some) / np.sqrt(2.0 * np.pi * some)
        density = np.where(certain, np.where(off == 0.0, np.inf, 0.0), density)
        live = self.weights > 0.0
        return density[..., live] @ self.weights[live]

    def _joint_pdf(self, x: Floats) -> Any:
        if x.shape[-1:] != (self.n_variables,):
            raise SettingError(
                "A point has {n_variables} numbers here; the given shape is {shape}.",
                n_variables=self.n_variables,
                shape=x.shape,
            )
        total = np.zeros(x.shape[:-1])
        for w, mean, covariance in zip(self.weights, self.means, self.variances, strict=True):
            try:
                root = np.linalg.cholesky(covariance)
            except np.linalg.LinAlgError:
                raise UsageError(
                    "There is no joint density: some of these variables determine others. Use marginal(place)."
                ) from None
            off = np.linalg.solve(root, (x - mean).reshape(-1, len(mean)).T)
            height = np.log(np.diagonal(root)).sum() + 0.5 * len(mean) * np.log(2.0 * np.pi)
            total = total + w * np.exp(-0.5 * (off * off).sum(axis=0) - height).reshape(x.shape[:-1])
        return total

    def cdf(self, x: ArrayLike) -> Any:
        """Return P(X ≤ x) at each x, for one variable only."""
        from scipy.special import ndtr

        self._require_one("cdf")
        off = _points(x)[..., None] - self.means
        sd = np.sqrt(self.variances)
        below = np.where(sd > 0.0, ndtr(off / np.where(sd > 0.0, sd, 1.0)), off >= 0.0)
        return below @ self.weights

    def quantile(self, q: ArrayLike) -> Any:
        """Return the smallest x with P(X ≤ x) ≥ q, for each q in (0, 1), for one variable only.

        Examples
        --------
        >>> x = GaussianMixturePosterior([0.5, 0.5], [-1.0, 1.0], [1.0, 1.0])
        >>> abs(float(x.quantile(0.5))) < 1e-12
        True
        """
        from scipy.special import ndtri

        self._require_one("quantile")
        q = _points(q)
        if not np.all((q > 0.0) & (q < 1.0)):
            raise SettingError("quantile needs a number between 0 and 1, both excluded, not {q}.", q=q)
        # The mixture's quantile lies between those of its components: bisect.
        live = self.weights > 0.0
        of_each = self.means[live] + ndtri(q)[..., None] * np.sqrt(self.variances[live])
        low, high = of_each.min(axis=-1), of_each.max(axis=-1)
        # One component, or several equal ones: no bisection, and no rounding.
        met = low == high
        low = low - 1e-9 * np.maximum(np.abs(low), 1e-300)
        for _ in range(2000):
            middle = 0.5 * (low + high)
            inside = (middle > low) & (middle < high) & ~met
            if not inside.any():
                break
            enough = self.cdf(middle) >= q
            high = np.where(inside & enough, middle, high)
            low = np.where(inside & ~enough, middle, low)
        return high[()]

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval with this probability, leaving equal tails."""
        if not np.all((_points(level) > 0.0) & (_points(level) < 1.0)) or np.ndim(level):
            raise SettingError(
                "level is {level!r}; give a number between 0 and 1, such as 0.95.", level=level
            )
        low, high = self.quantile([0.5 * (1.0 - level), 0.5 * (1.0 + level)])
        return float(low), float(high)

    def _require_one(self, what: str) -> None:
        if self.means.ndim != 1:
            raise UsageError(
                "{what} is for one variable; this mixture is over several. Use marginal(place).{what}.",
                what=what,
            )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, GaussianMixturePosterior)
            and np.array_equal(self.weights, other.weights)
            and np.array_equal(self.means, other.means)
            and np.array_equal(self.variances, other.variances)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if self.means.ndim == 2:
            means = ", ".join(f"{m:.4g}" for m in self.mean)
            sds = ", ".join(f"{s:.4g}" for s in self.sd)
            parts = "1 component" if len(self.weights) == 1 else f"{len(self.weights)} components"
            return (
                f"GaussianMixturePosterior({self.n_variables} variables, mean [{means}], sd [{sds}], {parts})"
            )
        shown = " + ".join(
            f"{w:.4g} × N({m:.4g}, {s:.4g}²)"
            for w, m, s in zip(self.weights[:6], self.means[:6], np.sqrt(self.variances[:6]), strict=True)
        )
        if len(self.weights) == 1:
            return f"GaussianMixturePosterior(N({self.means[0]:.4g}, {float(self.sd):.4g}²))"
        more = f" + {len(self.weights) - 6} more" if len(self.weights) > 6 else ""
        return f"GaussianMixturePosterior(mean {self.mean:.4g}, sd {float(self.sd):.4g}: {shown}{more})"


def grouped(weights: Floats, means: Floats, variances: Floats, most: int) -> tuple[Floats, Floats, Floats]:
    """Return at most so many components of about equal weights, each with the moments of neighbours together."""
    order = np.argsort(means, kind="stable")
    w, m, v = weights[order], means[order], variances[order]
    middle = np.cumsum(w) - 0.5 * w
    total = w.sum()
    group = np.minimum((most * (middle / total if total > 0.0 else middle)).astype(np.int64), most - 1)
    sums: Floats = np.bincount(group, w, most).astype(np.float64)
    live = sums > 0.0
    off = m - m[0]  # about one of the means: equal means have no spread
    centre = np.bincount(group, w * off, most)[live] / sums[live]
    at = np.cumsum(live)[group] - 1
    spread = np.bincount(group, w * (v + np.where(live[group], off - centre[at], 0.0) ** 2), most)
    return sums[live], m[0] + centre, spread[live] / sums[live]


def _points(x: ArrayLike) -> Floats:
    try:
        return np.asarray(x, np.float64)
    except (TypeError, ValueError):
        raise SettingError(
            "{x!r} was given where a number, or an array of numbers, is needed.", x=x
        ) from None
