"""The Student family: the predictive density of a normal attribute under a conjugate prior."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite, isnan, log1p
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bayeskit._conditionals.conditional import DrawRule, Nodes, ParameterPosterior
from bayeskit._conditionals.density import SMALLEST_DEVIATION, ColumnSums, FamilyWords, Formula, Parameter
from bayeskit._conditionals.gaussian import CentredDensity, CountedMoments
from bayeskit._conditionals.kernels.gaussian_scores import TILE, distance, find_infinite, load_tile
from bayeskit._conditionals.kernels.left_out import add_student
from bayeskit._conditionals.posterior_draws import NormalPosterior, Normals
from bayeskit._conditionals.scoring import Distance, IfPresent, Log, Product, Score, Sum, constant
from bayeskit._data.encoded import Chunk
from bayeskit._intrinsics import fma
from bayeskit._numba import kernel
from bayeskit._statistics.moments import Moments
from bayeskit._statistics.part import never_counted
from bayeskit.priors import NormalInverseGamma
from bayeskit.typing import Floats

# The number of factors 1 + z² to multiply before taking a logarithm. A product overflows only for extreme values, and
# such a row is scored again with one logarithm per factor.
FACTORS = 64


@kernel
def add_log_density(
    values: Any, place: Any, mean: Any, low: Any, inverse: Any, power: Any, norm: Any, total: Any,
    tile: Any, sums: Any, product: Any, out: Any,
) -> Any:  # fmt: skip
    """Add Σ_j (norm_j − power_j·log(1 + z_j²)) to ``out`` (n, K). Return −1, or the index of an infinite value.

    Logarithms dominate the cost, so attributes of equal power share one: ``product`` (TILE,) holds
    q = Π(1 + z²) − 1, which is accurate for small z, and log1p(q) is taken when the power changes.
    """
    n, m, classes = np.uintp(values.shape[0]), np.uintp(place.shape[0]), np.uintp(mean.shape[0])
    one = np.uintp(1)
    start = np.uintp(0)
    while start < n:
        rows = min(np.uintp(TILE), n - start)
        load_tile(values, place, start, rows, tile)
        for k in range(classes):
            held = 0
            for r in range(rows):
                sums[k, r] = total[k]
                product[r] = 0.0
            for j in range(m):
                centre, rest, scale = mean[k, j], low[k, j], inverse[k, j]
                for r in range(rows):
                    z = ((tile[j, r] - centre) - rest) * scale
                    product[r] += fma(product[r], z * z, z * z)
                held += 1
                if held == FACTORS or j + one == m or power[k, j + one] != power[k, j]:
                    held = 0
                    for r in range(rows):
                        sums[k, r] -= power[k, j] * log1p(product[r])
                        product[r] = 0.0
        for r in range(rows):
            finite = True
            for k in range(classes):
                finite &= isfinite(sums[k, r])
            if not finite:
                column = find_infinite(values, start + r, place)
                if column >= 0:
                    return np.int64(start + r) * np.int64(values.shape[1]) + column
                for k in range(classes):
                    sums[k, r] = 0.0
                    for j in range(m):
                        if not isnan(tile[j, r]):
                            z = distance(tile[j, r], mean[k, j], low[k, j], inverse[k, j])
                            sums[k, r] += norm[k, j] - power[k, j] * log1p(z * z)
            for k in range(classes):
                out[start + r, k] += sums[k, r]
        start += rows
    return np.int64(-1)


class NormalPrior(Protocol):
    """A prior of mean and variance. A parameter of None is chosen from the data."""

    @property
    def mean(self) -> float | Floats | None: ...
    @property
    def kappa(self) -> float | Floats | None: ...
    @property
    def alpha(self) -> float | Floats | None: ...
    @property
    def beta(self) -> float | Floats | None: ...


@dataclass(frozen=True, eq=False)
class Student(CentredDensity):
    r"""Independent Student densities of d attributes in each of K classes.

    .. math:: p(x_j \mid c) = t_\nu\left(\frac{x_j - \mu}{s}\right) / s

    Attributes
    ----------
    mean, mean_low : arrays of shape (K, d)
        The centres μ as high + low.
    scale, freedom : arrays of shape (K, d)
        s and ν.
    used : bool array of shape (d,)
        False for an attribute that is left out because it is constant.
    columns : int array of shape (d,)
        The positions of the attributes in ``chunk.values``.
    counted, prior : CountedMoments, tuple of arrays of shape (d,)
        The moments and the prior that they were estimated from: μ0, κ0, α0, β0, or NaN if chosen from the data.
    """

    mean: Floats
    mean_low: Floats
    scale: Floats
    freedom: Floats
    used: NDArray[np.bool_]
    columns: NDArray[np.intp]
    counted: CountedMoments
    prior: tuple[Floats, Floats, Floats, Floats]

    family: ClassVar[str] = "student"
    parameters: ClassVar[tuple[str, ...]] = ("mean", "mean_low", "scale", "freedom")
    takes_prior: ClassVar[bool] = True
    # It is the predictive distribution of a Gaussian attribute, not a distribution of rows in a hidden class.
    can_be_hidden: ClassVar[bool] = False
    words: ClassVar[FamilyWords] = FamilyWords(
        "a Student density", "numbers (Student density)", "t(x; ν, μ, s) is Student's density."
    )

    @classmethod
    def estimate(cls, sums: ColumnSums) -> Student:
        return estimate_student(sums.moments, sums.columns, sums.prior or NormalInverseGamma())

    @classmethod
    def suits(cls, moments: Moments, whole: bool) -> bool:
        """Return False: with many rows it equals the Gaussian, and with few its prior dominates."""
        return False

    @cached_property
    def _tables(self) -> tuple[Floats, ...]:
        """The arguments of the kernel, for the attributes that are used."""
        mean, low, scale, freedom = (
            a[:, self.used] for a in (self.mean, self.mean_low, self.scale, self.freedom)
        )
        norm = half_step(0.5 * freedom) - 0.5 * np.log(np.pi * freedom) - np.log(scale)
        # Dividing by the root first: its product with a scale near the largest double would overflow.
        inverse = (1.0 / np.sqrt(freedom)) / scale
        power = 0.5 * (freedom + 1.0)
        return (*map(np.ascontiguousarray, (mean, low, inverse, power, norm)), norm.sum(axis=1))

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add the leave-one-out values of ``add_log_prob``, with the weight ``own`` of each row removed."""
        values = self.counted.scaled_values(chunk, self.columns)
        scratch = np.empty((4, values.shape[1])), np.empty((4, len(self.mean)))
        negative = add_student(
            values, chunk.target, own, *self.counted.cells, self.counted.power, self.counted.least,
            *self.prior, half_step(0.5 * self.freedom), *scratch, out,
        )  # fmt: skip
        if negative < 0.0:
            raise never_counted(negative)

    def _add_to(
        self, values: Floats, places: NDArray[np.uintp], tile: Floats, sums: Floats, out: Floats
    ) -> int:
        return int(add_log_density(values, places, *self._tables, tile, sums, np.empty(TILE), out))

    def score(self) -> Score:
        mean, low, inverse, power, norm, _ = self._tables
        k, terms = len(mean), []
        for i, column in enumerate(self._places.tolist()):
            z = Distance(column, *(constant(part[:, i]) for part in (mean, low, inverse)))
            tail = Log(Sum((constant(np.ones(k)), Product((z, z)))))
            there = Sum((constant(norm[:, i]), Product((constant(-power[:, i]), tail))))
            terms.append(IfPresent(column, there, constant(np.zeros(k))))
        return Sum(tuple(terms))

    def sample(self, classes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        spread = np.where(self.used, self.scale, 0.0)
        return self.mean[classes] + spread[classes] * rng.standard_t(self.freedom[classes])

    def formula(self, i: int, k: int) -> Formula:
        scale = float(self.scale[k, i])
        freedom = Parameter("ν", float(self.freedom[k, i]))
        return Formula("t", (freedom, Parameter("μ", float(self.mean[k, i]), scale), Parameter("s", scale)))

    def posterior(self, rule: DrawRule) -> ParameterPosterior:
        rows = self.prior[1] + self.counted.classes.weight
        # s² of the predictive is that of the normals times (κ + 1)/κ, because the mean is uncertain, too.
        deviation = self.scale * np.sqrt(rows / (rows + 1.0))
        known: Any = (self.mean, self.mean_low, deviation, self.freedom, rows)
        return NormalPosterior(
            {
                int(self.columns[i]): Normals(*(part[:, i] for part in known))
                for i in np.flatnonzero(self.used).tolist()
            }
        )

    def add_nodes(self, nodes: Nodes) -> None:
        raise nodes.refusal(self, "a Student density", 'Use numeric="gaussian" without a numeric prior.')


def estimate_student(moments: Moments, columns: NDArray[np.intp], prior: NormalPrior) -> Student:
    r"""Estimate predictive densities from moments under a normal-inverse-gamma prior.

    With n rows of mean x̄ and sum of squares S about it,

    .. math:: \kappa_n = \kappa_0 + n, \quad \mu_n = \frac{\kappa_0\mu_0 + n\bar x}{\kappa_n}, \quad
              \alpha_n = \alpha_0 + \frac n2, \quad
              \beta_n = \beta_0 + \frac S2 + \frac{\kappa_0 n (\bar x - \mu_0)^2}{2\kappa_n}

    and x is Student with ν = 2αₙ about μₙ with s² = βₙ(κₙ + 1)/(αₙκₙ). Parameters that the prior does not give are: μ0
    the mean over all classes, κ0 = 1, α0 = 1, β0 half the variance over all classes. A constant attribute is left out
    unless β0 is given.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> moments = Moments.from_sums([[2.0]], [[0.0]], [[2.0]], [[4.0]])
    >>> prior = SimpleNamespace(mean=1.0, kappa=1.0, alpha=1.0, beta=1.0)
    >>> student = estimate_student(moments, np.array([0]), prior)
    >>> student.mean.item(), student.freedom.item()
    (1.0, 4.0)
    """
    pooled = moments.pooled()
    moments = moments.rescaled(pooled.exponent)
    n, unit = moments.weight, moments.exponent
    variance = pooled.scaled_variance()
    # Everything is in the stored scale, x·2^−unit, until the end.
    mean, mean_low = (np.ldexp(part, -unit) for part in moments.mean())
    center, center_low = (np.ldexp(part, -unit) for part in pooled.mean())
    with np.errstate(over="ignore", under="ignore"):
        if prior.mean is not None:
            center, center_low = np.ldexp(prior.mean, -unit), np.zeros_like(center_low)
        beta = 0.5 * variance if prior.beta is None else np.ldexp(prior.beta, -2 * unit)
    kappa = 1.0 if prior.kappa is None else prior.kappa
    alpha = 1.0 if prior.alpha is None else prior.alpha
    # A cell without weight has no mean; its share of κ0/κ0 moves it to μ0.
    apart = (center - mean) + (center_low - mean_low)
    kappa_n, alpha_n = kappa + n, alpha + 0.5 * n
    beta_n = beta + 0.5 * n * moments.scaled_variance() + 0.5 * apart * apart * kappa * n / kappa_n
    mean, mean_low = _add_exactly(mean, mean_low + apart * (kappa / kappa_n))
    mean, mean_low = np.ldexp(mean, unit), np.ldexp(mean_low, unit)
    scale = np.ldexp(np.sqrt(beta_n * (kappa_n + 1.0) / (alpha_n * kappa_n)), unit)
    used = (beta_n > 0.0).all(axis=0) & (pooled.weight[0] > 0.0)
    given = (
        *(np.nan if prior.mean is None else center, kappa),
        *(alpha, np.nan if prior.beta is None else beta),
    )
    d = len(unit)
    held: Any = tuple(
        np.ascontiguousarray(np.broadcast_to(np.asarray(part, np.float64), d)) for part in given
    )
    return Student(
        mean,
        mean_low,
        np.maximum(scale, SMALLEST_DEVIATION),
        2.0 * alpha_n,
        used,
        np.asarray(columns, dtype=np.intp),
        CountedMoments(moments, pooled),
        held,
    )


def half_step(a: Floats) -> Floats:
    """Return log Γ(a + ½) − log Γ(a).

    From 50 on by its asymptotic series: the difference of two large logarithms loses ten digits at 1e6.

    >>> half_step(np.array([0.5, 50.0])).round(8)
    array([-0.57236494,  1.95351154])
    """
    large = np.maximum(a, 50.0)
    series = 0.5 * np.log(large) - 1 / (8 * large) + 1 / (192 * large**3) - 1 / (640 * large**5)
    difference: Floats = gammaln(a + 0.5) - gammaln(a)
    return np.where(a < 50.0, difference, series)


def _add_exactly(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)
