"""P(count | class) by a negative binomial distribution, for overdispersed counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from bayeskit._conditionals.conditional import Codes, DrawRule, ParameterPosterior
from bayeskit._conditionals.density import ColumnSums, FamilyWords, Formula, Parameter, Summary
from bayeskit._conditionals.poisson import CountDensity, estimate_poisson, total_of
from bayeskit._conditionals.posterior_draws import NEVER, Draws, log_gamma_draws
from bayeskit._data.encoded import Chunk
from bayeskit._schema import Name
from bayeskit._statistics.moments import Moments
from bayeskit._statistics.part import never_counted
from bayeskit.typing import Floats

# Below this φ, the distribution is the Poisson up to rounding.
_LEAST = 1e-12
# A difference of sums below this fraction is rounding error.
_ROUNDING = 1e-14
# If leaving a row out leaves less than this share of a sum, it is computed with more digits.
_HEAVY = 1e-3


@dataclass(frozen=True, eq=False)
class NegativeBinomial(CountDensity):
    r"""Negative binomial distributions of some attributes, independent given the class.

    .. math:: P(x \mid c) = \frac{\Gamma(x + r)}{\Gamma(r)\, x!} \left(\frac{r}{r + \mu}\right)^r
              \left(\frac{\mu}{r + \mu}\right)^x, \qquad r = 1/\varphi

    with mean μ and variance μ + φμ². φ = 0 is the Poisson distribution.

    Attributes
    ----------
    columns : array of shape (d,)
        The positions of the attributes among the numeric ones.
    names : tuple of length d
        What to call them in messages.
    rates, dispersion : arrays of shape (K, d)
        μ and φ. An attribute whose means are all 0 was never above 0 and is left out.
    counted, alpha, unbiased
        What they were estimated from.
    """

    columns: NDArray[np.intp]
    names: tuple[Name, ...]
    rates: Floats
    dispersion: Floats
    counted: Moments | None = None
    alpha: float = 1.0
    unbiased: bool = False

    family: ClassVar[str] = "negative-binomial"
    parameters: ClassVar[tuple[str, ...]] = ("rates", "dispersion")
    words: ClassVar[FamilyWords] = FamilyWords(
        "a negative binomial count",
        "counts (negative binomial)",
        "NB(x; μ, φ) is the negative binomial probability, of variance μ + φμ².",
    )

    @classmethod
    def estimate(cls, sums: ColumnSums) -> NegativeBinomial:
        r"""Estimate μ and φ by moments, from n, Σx and Σx².

        .. math:: \mu_c = \frac{\sum x + \alpha\bar\mu}{n_c + \alpha}, \qquad
                  \varphi_c = \max\left(0, \frac{n_c (s_c^2 - \bar x_c) + \alpha \bar e}
                  {n_c \bar x_c^2 + \alpha \bar q}\right)

        where ē and q̄ are the means over all rows of s² − x̄ and x̄². The prior is α imaginary rows with the mean of all
        classes and the variation of rows within classes.
        """
        moments = sums.moments
        total = total_of(moments)
        poisson = estimate_poisson(moments.weight, total, sums.columns, sums.names, alpha=sums.alpha)
        scatter = moments.variance() * moments.weight
        _, dispersion = _by_moments(moments.weight.T, total.T, scatter.T, sums.alpha, sums.unbiased)
        return cls(
            *(sums.columns, sums.names, poisson.rates, np.ascontiguousarray(dispersion.T)),
            counted=moments, alpha=sums.alpha, unbiased=sums.unbiased,
        )  # fmt: skip

    @classmethod
    def suits(cls, moments: Moments, whole: bool) -> bool:
        """Whether some class varies more than a Poisson. Otherwise this family equals the Poisson."""
        if not whole:
            return False
        varies = np.asarray(moments.variance() > np.add(*moments.mean()))
        return bool(varies[moments.weight > 0.0].any())

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        for start, block in self._blocks(chunk):
            for i in np.flatnonzero(self.in_use()).tolist():
                there = np.flatnonzero(~np.isnan(block[:, i]))
                x = block[there, i, None]
                out[start + there] += _log_prob(x, self.rates[:, i], self.dispersion[:, i])

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Estimate again for each row, from the sums without it: exact, since they are all that is needed."""
        assert self.counted is not None and chunk.target is not None
        for start, block in self._blocks(chunk):
            part = slice(start, start + len(block))
            target = np.asarray(chunk.target[part], np.intp)
            for i in range(len(self.columns)):
                there = np.flatnonzero(~np.isnan(block[:, i]))
                x, w, at = block[there, i], own[part][there], target[there]
                held = _without(x, w, at, self.counted.columns(np.array([i])))
                rates, dispersion = _by_moments(*held, self.alpha, self.unbiased)
                scores = _log_prob(x[:, None], rates, dispersion)
                # Where the row alone was above 0, the attribute would be left out.
                out[start + there] += np.where(rates.any(axis=1, keepdims=True), scores, 0.0)

    def sample(self, classes: Codes, rng: np.random.Generator) -> Floats:
        """Draw rates from gamma distributions of mean μ and variance φμ², then counts."""
        rates, dispersion = self.rates[classes], self.dispersion[classes]
        varies = dispersion > 0.0
        shape = 1.0 / np.where(varies, dispersion, 1.0)
        drawn = np.where(varies, rng.gamma(shape, rates / shape), rates)
        return rng.poisson(np.minimum(drawn, 2.0**62)).astype(np.float64)

    def formula(self, i: int, k: int) -> Formula:
        mean, dispersion = float(self.rates[k, i]), float(self.dispersion[k, i])
        return Formula("NB", (Parameter("μ", mean), Parameter("φ", dispersion)))

    def posterior(self, rule: DrawRule) -> ParameterPosterior:
        return _CountPosterior(self)

    def log_prior(self, mean: Floats, alpha: float) -> float:
        used = self.in_use()
        rows = mean[self.columns[used]]
        return self.alpha * float(_log_prob(rows, self.rates[:, used], self.dispersion[:, used]).sum())

    def is_sound(self) -> bool:
        return bool(((self.rates >= 0.0) & (self.dispersion >= 0.0)).all())

    def summary(self) -> Summary:
        return Summary(("mean", "dispersion"), np.stack([self.rates, self.dispersion], axis=-1))


@dataclass(frozen=True, eq=False)
class _CountPosterior:
    r"""The posterior of μ and φ.

    The estimate of φ by moments of n rows is not correlated with the mean, and has the variance

    .. math:: \mathrm{Var}(\hat\varphi) \approx \frac{2 (1 + \varphi)}{n} \left(\frac{\sigma^2}{\mu^2}\right)^2,
              \qquad \sigma^2 = \mu + \varphi\mu^2.

    So φ is drawn from the gamma distribution of that mean and variance, or, where the estimate is 0, from the right
    half of a normal one; then μ given φ: r/(r + μ) is a beta, of r·n failures and Σx successes.
    """

    counts: NegativeBinomial

    def add(self, chunk: Chunk, draws: Draws, out: Floats) -> None:
        family = self.counts
        assert family.counted is not None
        rows = family.counted.weight + family.alpha
        rows = np.where(rows > 0.0, rows, 1.0)
        for i in np.flatnonzero(family.in_use()).tolist():
            column = int(family.columns[i])
            drawn = draws.get((7, column), partial(self._parameters, rows=rows[:, i], i=i, n=draws.n))
            x = chunk.values[:, column]
            there = np.flatnonzero(~np.isnan(x))
            out[there] += _varying(x[there, None, None], *drawn)

    def _parameters(self, rng: np.random.Generator, rows: Floats, i: int, n: int) -> tuple[Floats, Floats]:
        """Draw log μ and φ: two arrays of shape (n, K)."""
        mean, phi = self.counts.rates[:, i], self.counts.dispersion[:, i]
        known = mean > 0.0
        square = np.where(known, mean * mean, 1.0)
        error = np.sqrt(2.0 * (1.0 + phi) / rows) * (mean + phi * square) / square
        error = np.where(known, error, 1.0)
        about = np.where(phi > 0.0, phi, error)
        shape = (about / error) ** 2
        gamma = rng.standard_gamma(shape, (n, len(phi))) * (about / shape)
        half = np.maximum(error * rng.standard_normal(gamma.shape), 0.0)
        drawn = np.where(phi > 0.0, gamma, half)
        dispersion = np.where(known & (drawn > _LEAST), drawn, 0.0)
        varies = dispersion > 0.0
        safe = np.where(varies, dispersion, 1.0)
        successes = log_gamma_draws(rng, (mean * rows)[None], n)[0]
        failures = np.log(rng.standard_gamma(np.where(varies, rows / safe, 1.0)))
        # μ = r·G(Σx)/G(r·n), which is G(Σx)/n where r has no end.
        log_mean = np.where(varies, successes - failures - np.log(safe), successes - np.log(rows))
        return np.asarray(log_mean), dispersion


def _by_moments(
    weight: Floats, total: Floats, scatter: Floats, alpha: float, unbiased: bool
) -> tuple[Floats, Floats]:
    """Return μ and φ from Σw, Σwx and Σw(x − x̄)², all of shape (…, K).

    >>> mean, dispersion = _by_moments(np.array([4.0]), np.array([8.0]), np.array([40.0]), 0.0, False)
    >>> mean, dispersion  # variance 10 = 2 + φ·2²
    (array([2.]), array([2.]))
    """
    weight, total, scatter = (np.maximum(part, 0.0) for part in (weight, total, scatter))
    whole = np.maximum(weight.sum(axis=-1, keepdims=True), 1e-300)
    held = weight + alpha
    known = held > 0.0
    overall = total.sum(axis=-1, keepdims=True) / whole
    rates = np.where(known, (total + alpha * overall) / np.where(known, held, 1.0), overall)
    if unbiased:
        scatter = np.where(
            weight > 1.0, scatter * weight / np.where(weight > 1.0, weight - 1.0, 1.0), scatter
        )
    excess = scatter - total
    square = total * (total / np.where(weight > 0.0, weight, 1.0))
    excess_a_row, square_a_row = (part.sum(axis=-1, keepdims=True) / whole for part in (excess, square))
    excess = np.where(known, excess + alpha * excess_a_row, excess_a_row)
    square = np.where(known, square + alpha * square_a_row, square_a_row)
    dispersion = np.where(square > 0.0, excess / np.where(square > 0.0, square, 1.0), 0.0)
    return rates, np.where(dispersion > _LEAST, dispersion, 0.0)


def _without(x: Floats, own: Floats, target: Codes, moments: Moments) -> tuple[Floats, Floats, Floats]:
    """Return Σw, Σwx and Σw(x − x̄)² of all classes without each row's own weight: three arrays of shape (n, K)."""
    weight, total = moments.weight[:, 0], total_of(moments)[:, 0]
    scatter, mean = moments.variance()[:, 0] * weight, np.add(*moments.mean())[:, 0]
    sums = [np.repeat(part[None], len(x), axis=0) for part in (weight, total, scatter)]
    left, rest = weight[target] - own, total[target] - own * x
    least = np.minimum(left + 1e-9 * weight[target], rest + 1e-9 * total[target])
    if (least < 0.0).any():
        raise never_counted(float(least.min()))
    left = np.where(left <= _ROUNDING * weight[target], 0.0, left)
    apart = x - mean[target]
    spread = scatter[target] - own * weight[target] / np.where(left > 0.0, left, 1.0) * apart * apart
    rows = np.arange(len(x))
    sums[0][rows, target] = left
    sums[1][rows, target] = np.where((left > 0.0) & (rest > _ROUNDING * total[target]), rest, 0.0)
    sums[2][rows, target] = np.where(left > 0.0, spread, 0.0)
    # Where a row has nearly all there is, the difference has few digits; the moments themselves have twice as many.
    heavy = (spread < _HEAVY * scatter[target]) | (rest < _HEAVY * total[target])
    for row in np.flatnonzero(heavy & (left > 0.0) & (own > 0.0)).tolist():
        one, k = np.zeros((4, len(weight), 1)), target[row]
        one[:2, k, 0] = own[row], x[row]
        others = moments.subtract(Moments.from_sums(*one))
        sums[1][row, k] = total_of(others)[k, 0]
        sums[2][row, k] = others.variance()[k, 0] * others.weight[k, 0]
    return sums[0], sums[1], sums[2]


def _log_prob(x: Floats, mean: Floats, dispersion: Floats) -> Floats:
    """Return log P(x), for values between the integers too; −inf for a count above 0 where the mean is 0.

    >>> np.exp(_log_prob(np.array(1.0), np.array(2.0), np.array([0.0, 1.0]))).round(4)  # 2e⁻² and 2/9
    array([0.2707, 0.2222])
    """
    with np.errstate(divide="ignore"):
        return np.asarray(_varying(x, np.log(mean), dispersion) - gammaln(x + 1.0))


def _varying(x: Floats, log_mean: Floats, dispersion: Floats) -> Floats:
    """log P(x) + log x!, which is all that the parameters move."""
    mean, varies = np.exp(log_mean), dispersion > 0.0
    phi = np.where(varies, dispersion, 1.0)
    # x log μ is 0 where both are 0.
    counts = np.where(x > 0.0, x * np.maximum(log_mean, NEVER), 0.0)
    counts = np.where((x > 0.0) & np.isneginf(log_mean), -np.inf, counts)
    poisson = counts - mean
    mixed = counts + _log_rising(x, phi) - (x + 1.0 / phi) * np.log1p(phi * mean)
    return np.where(varies, mixed, poisson)


def _log_rising(x: Floats, phi: Floats) -> Floats:
    """Return log Γ(x + r) − log Γ(r) − x log r with r = 1/φ: 0 for the Poisson.

    From r = 50 on by Stirling's series: the difference of two large logarithms loses ten digits at 1e6.

    >>> _log_rising(np.array([2.0, 2.0]), np.array([1.0, 1e-8])).round(10)  # log 2, and log(1 + φ)
    array([6.93147181e-01, 1.00000000e-08])
    """
    r = 1.0 / phi
    small, large = np.minimum(r, 50.0), np.maximum(r, 50.0)
    direct = gammaln(x + small) - gammaln(small) - xlogy(x, small)
    series = (large + x - 0.5) * np.log1p(x / large) - x + _stirling(large + x) - _stirling(large)
    return np.where(r < 50.0, direct, series)


def _stirling(z: Floats) -> Floats:
    return np.asarray(1 / (12 * z) - 1 / (360 * z**3) + 1 / (1260 * z**5))
