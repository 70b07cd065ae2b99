"""P(count | class) by a Poisson distribution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.conditional import Codes, DrawRule, LatentTables, Nodes, ParameterPosterior
from bayeskit._conditionals.density import (
    LARGEST_COUNT,
    ColumnSums,
    Density,
    FamilyWords,
    Formula,
    Parameter,
    Shape,
    Summary,
)
from bayeskit._conditionals.gaussian import CountedMoments
from bayeskit._conditionals.kernels.left_out import add_poisson
from bayeskit._conditionals.posterior_draws import NEVER, Draws, log_gamma_draws
from bayeskit._conditionals.scoring import IfPresent, Number, Product, Score, Step, Sum, constant
from bayeskit._data.encoded import Chunk
from bayeskit._schema import Name
from bayeskit._statistics.moments import Moments
from bayeskit._statistics.part import never_counted
from bayeskit.errors import DataError, SettingError
from bayeskit.typing import Floats

# Rows taken at a time, so that the working arrays stay in the cache.
_BLOCK = 2_048


class CountDensity(Density):
    """Distributions of counts. A subclass has the fields ``columns``, ``names`` and ``rates`` of shape (K, d)."""

    names: tuple[Name, ...]
    rates: Floats

    of_counts: ClassVar[bool] = True

    def in_use(self) -> NDArray[np.bool_]:
        return np.asarray(self.rates.any(axis=0))

    def _blocks(self, chunk: Chunk) -> Iterator[tuple[int, Floats]]:
        """Yield the values of some rows at a time, with the index of the first. Raise an error for invalid counts."""
        for start in range(0, chunk.n_rows, _BLOCK):
            block = chunk.values[start : start + _BLOCK][:, self.columns]
            self.check_values(block, self.names, chunk.first_row + start + np.arange(len(block)))
            yield start, block


@dataclass(frozen=True)
class Poisson(CountDensity):
    """Poisson distributions of some attributes, independent given the class.

    Attributes
    ----------
    columns : array of shape (d,)
        The positions of the attributes among the numeric ones.
    names : tuple of length d
        What to call them in messages.
    rates : array of shape (K, d)
        λ_c. An attribute whose rates are all 0 was never above 0 and is left out.
    counted, alpha : CountedMoments and float, optional
        The moments and the prior that they were estimated from, for leave-one-out.
    """

    columns: NDArray[np.intp]
    names: tuple[Name, ...]
    rates: Floats
    counted: CountedMoments | None = None
    alpha: float = 1.0

    family: ClassVar[str] = "poisson"
    parameters: ClassVar[tuple[str, ...]] = ("rates",)
    words: ClassVar[FamilyWords] = FamilyWords(
        *("a Poisson count", "counts (Poisson)", "Pois(x; λ) is the Poisson probability."),
        hint="it holds whole numbers that look like counts",
    )

    @classmethod
    def estimate(cls, sums: ColumnSums) -> Poisson:
        return poisson_of(sums.moments, sums.columns, sums.names, alpha=sums.alpha)

    @classmethod
    def hinted(cls, shape: Shape) -> bool:
        return shape.is_whole and shape.top <= 1000 and shape.variance <= 4 * shape.mean

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        """Add x log λ − λ − log Γ(x + 1), which extends the Poisson to values between the integers."""
        from scipy.special import gammaln

        used = self.rates.any(axis=0)
        rates = self.rates[:, used].T
        never = (rates == 0.0).astype(np.float64)
        # Where λ = 0, x log λ is 0 for x = 0; for x > 0 see below.
        log_rates = np.log(rates + never)
        for start, block in self._blocks(chunk):
            block = block[:, used]
            present = ~np.isnan(block)
            x = np.where(present, block, 0.0)
            scores = x @ log_rates - present.astype(np.float64) @ rates
            scores -= gammaln(x + 1.0).sum(axis=1, keepdims=True)
            if never.any():
                scores[(x > 0.0).astype(np.float64) @ never > 0.0] = -np.inf
            out[start : start + _BLOCK] += scores

    def score(self) -> Score:
        """Return x log λ − λ: log Γ(x + 1) is the same in all classes."""
        k, terms = len(self.rates), []
        for i in np.flatnonzero(self.in_use()).tolist():
            column, rate = int(self.columns[i]), self.rates[:, i]
            never = rate == 0.0
            there: list[Score] = [constant(-rate), Product((Number(column), constant(np.log(rate + never))))]
            if never.any():
                there.append(Step(column, 0.0, np.zeros(k), np.where(never, -np.inf, 0.0)))
            terms.append(IfPresent(column, Sum(tuple(there)), constant(np.zeros(k))))
        return Sum(tuple(terms))

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add the leave-one-out values of ``add_log_prob``, with the weight ``own`` of each row removed."""
        assert self.counted is not None
        counts = np.ascontiguousarray(chunk.values[:, self.columns])
        self.check_values(counts, self.names, chunk.first_row + np.arange(len(counts)))
        cells, known = self.counted.cells[:2]
        scratch = np.empty((3, len(self.rates)))
        negative = add_poisson(
            self.counted.scaled_values(chunk, self.columns), counts, chunk.target, own, cells, known,
            self.counted.power, total_of(self.counted.classes), self.alpha, scratch, out,
        )  # fmt: skip
        if negative < 0.0:
            raise never_counted(negative)

    def sample(self, classes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        return rng.poisson(self.rates[classes]).astype(np.float64)

    def formula(self, i: int, k: int) -> Formula:
        return Formula("Pois", (Parameter("λ", float(self.rates[k, i])),))

    def left_out_alone(self, x: Floats, own: Floats, target: Codes, scored: Floats) -> Floats:
        """Score x at the rate without the row. The rate of the prior, that of all rows, is kept fixed."""
        assert self.counted is not None
        weight, total = self.counted.classes.weight, total_of(self.counted.classes)
        pooled = total.sum() / max(weight.sum(), 1e-300)
        left = weight[target, 0] - own
        left = np.where(left > 1e-9, left, 1.0)
        rest = np.maximum(total[target, 0] - own * x, 0.0)
        rate = np.maximum((rest + self.alpha * pooled) / (left + self.alpha), 1e-300)
        before = np.maximum(self.rates[target, 0], 1e-300)
        score = scored[np.arange(len(x)), target]
        return np.asarray(score + x * (np.log(rate) - np.log(before)) - (rate - before))

    def posterior(self, rule: DrawRule) -> ParameterPosterior:
        return _RatePosterior(self)

    def add_nodes(self, nodes: Nodes) -> None:
        way_out = 'Use families={...: "table"}, or numeric="gaussian".'
        raise nodes.refusal(self, "a Poisson distribution", way_out)

    def log_prior(self, mean: Floats, alpha: float) -> float:
        used = self.in_use()
        rates = self.rates[:, used]
        return self.alpha * float((mean[self.columns[used]] * np.log(rates) - rates).sum())

    def is_sound(self) -> bool:
        return bool((self.rates >= 0.0).all())

    def write_tables(self, tables: LatentTables, exponent: NDArray[np.int64]) -> bool:
        columns, k = self.columns, len(self.rates)
        tables.kinds[columns[self.in_use()]] = 2
        tables.centre[columns, :k] = self.rates.T
        with np.errstate(divide="ignore"):
            tables.scale[columns, :k] = np.log(self.rates).T
        tables.norm[columns, :k] -= self.rates.T
        return True

    @classmethod
    def unmoved(cls, values: Floats) -> Floats:
        """−log x!"""
        from scipy.special import gammaln

        return np.asarray(-gammaln(np.nan_to_num(values) + 1.0).sum(axis=1))

    def summary(self) -> Summary:
        return Summary(("rate",), self.rates[:, :, None])


@dataclass(frozen=True, eq=False)
class _RatePosterior:
    """Gamma distributions of the rates."""

    poisson: Poisson

    def add(self, chunk: Chunk, draws: Draws, out: Floats) -> None:
        family = self.poisson
        assert family.counted is not None
        weight = family.counted.classes.weight + family.alpha
        weight = np.where(weight > 0.0, weight, 1.0)
        for i in np.flatnonzero(family.in_use()).tolist():
            column = int(family.columns[i])
            shape = (family.rates[:, i] * weight[:, i])[None]
            logs = draws.get((4, column), partial(log_gamma_draws, shape=shape, draws=draws.n))[0]
            log_rate = logs - np.log(weight[:, i])
            x = chunk.values[:, column]
            there = np.flatnonzero(~np.isnan(x))
            out[there] += x[there, None, None] * np.maximum(log_rate, NEVER) - np.exp(log_rate)


def total_of(moments: Moments) -> Floats:
    """Return Σw·x of each class and attribute.

    >>> total_of(Moments.from_sums([[2.0]], [[1.0]], [[3.0]], [[5.0]]))
    array([[5.]])
    """
    high, low = moments.mean()
    # Means far beyond any count raise an error later. Here they must not overflow.
    return np.clip(high + low, -1e100, 1e100) * moments.weight


def poisson_of(
    moments: Moments, columns: NDArray[np.intp], names: tuple[Name, ...], *, alpha: float = 1.0
) -> Poisson:
    """Estimate rates from moments, with leave-one-out; see :func:`estimate_poisson`."""
    rates = estimate_poisson(moments.weight, total_of(moments), columns, names, alpha=alpha)
    pooled = moments.pooled()
    return replace(rates, counted=CountedMoments(moments.rescaled(pooled.exponent), pooled), alpha=alpha)


def estimate_poisson(
    weight: Floats, total: Floats, columns: NDArray[np.intp], names: tuple[Name, ...], *, alpha: float = 1.0
) -> Poisson:
    r"""Estimate the rate of each attribute in each class.

    .. math:: \lambda_c = \frac{\sum_{D_c} x + \alpha \bar\lambda}{n_c + \alpha}

    The prior is α imaginary rows at the rate λ̄ of all classes together; α = 0 is maximum likelihood (a class
    without values then has the rate λ̄).

    Parameters
    ----------
    weight, total : arrays of shape (K, d)
        Σ w and Σ w·x over the rows of each class where the attribute is present.
    columns : sequence of int
        The positions of the attributes among the numeric columns of a chunk.
    names : tuple of length d
        What to call them in messages.
    alpha : float
        The weight of the prior, in rows.

    Examples
    --------
    >>> estimate_poisson(np.array([[2.0], [2.0]]), np.array([[2.0], [6.0]]), [0], ("calls",), alpha=0.0).rates
    array([[1.],
           [3.]])
    """
    if not 0.0 <= alpha < np.inf:
        raise SettingError(
            "alpha={alpha!r} has no meaning; give a finite number of imaginary rows, 0 or more.", alpha=alpha
        )
    below = total < -1e-6 * np.maximum(weight, 1.0)
    # After rows were removed, sums may be slightly negative because of rounding.
    weight, total = np.maximum(weight, 0.0), np.maximum(total, 0.0)
    n = weight.sum(axis=0)
    pooled = np.divide(total.sum(axis=0), n, out=np.zeros_like(n), where=n > 0.0)
    rates = np.broadcast_to(pooled, weight.shape).copy()
    np.divide(total + alpha * pooled, weight + alpha, out=rates, where=weight + alpha > 0.0)
    wrong = (below | (rates > LARGEST_COUNT)).any(axis=0)
    if wrong.any():
        raise DataError(
            "{name!r} has a mean below 0 or above 2**53 in some class, so it does "
            "not hold counts. Choose another family for it.",
            name=names[int(np.argmax(wrong))],
        )
    return Poisson(np.asarray(columns, np.intp), tuple(names), rates)
