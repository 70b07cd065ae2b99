"""A family of numbers from outside the library: waiting times, by an exponential density, in one file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bayeskit._conditionals.conditional import Codes, DrawRule, ParameterPosterior
from bayeskit._conditionals.posterior_draws import Draws, log_gamma_draws
from bayeskit.extending import Chunk, ColumnSums, Density, FamilyWords, Formula, Parameter
from bayeskit.typing import Floats


@dataclass(frozen=True, eq=False)
class Plain(Density):
    """p(x | c) = exp(−x/m)/m with no more than a family must have."""

    columns: Any
    means: Floats
    counted: Any = None
    alpha: float = 1.0

    family: ClassVar[str] = "plain-exponential"
    parameters: ClassVar[tuple[str, ...]] = ("means",)
    words: ClassVar[FamilyWords] = FamilyWords(
        "a waiting time",
        "numbers (exponential)",
        "Exp(x; μ) is the exponential density.",
        translations={"zh": FamilyWords("等待时间", "数值（指数分布）", "Exp(x; μ) 是指数分布的概率密度。")},
    )

    @classmethod
    def estimate(cls, sums: ColumnSums) -> Any:
        weight = sums.moments.weight
        means = smoothed(weight, np.add(*sums.moments.mean()) * weight, sums.alpha)
        return cls(sums.columns, means, sums.moments, sums.alpha)

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        for i, column in enumerate(self.columns):
            out += log_density(chunk.values[:, column, None], self.means[:, i])

    def sample(self, classes: Codes, rng: np.random.Generator) -> Floats:
        return rng.exponential(self.means[classes])

    def formula(self, i: int, k: int) -> Formula:
        return Formula("Exp", (Parameter("μ", float(self.means[k, i])),))


@dataclass(frozen=True, eq=False)
class Exponential(Plain):
    """The same, with a row left out by a look-up and a posterior of the means."""

    family: ClassVar[str] = "exponential"

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        rows = np.arange(chunk.n_rows)
        target = np.asarray(chunk.target, np.intp)
        for i, column in enumerate(self.columns):
            x = chunk.values[:, column]
            there = ~np.isnan(x)
            weight = np.repeat(self.counted.weight[None, :, i], len(x), axis=0)
            total = weight * np.add(*self.counted.mean())[:, i]
            weight[rows, target] -= np.where(there, own, 0.0)
            total[rows, target] -= np.where(there, own * x, 0.0)
            out += log_density(x[:, None], smoothed(weight.T, total.T, self.alpha).T)

    def posterior(self, rule: DrawRule) -> ParameterPosterior:
        return MeanPosterior(self)


@dataclass(frozen=True, eq=False)
class MeanPosterior:
    """Σx over a gamma of n rows."""

    density: Exponential

    def add(self, chunk: Chunk, draws: Draws, out: Floats) -> None:
        for i, column in enumerate(self.density.columns.tolist()):
            n = self.density.counted.weight[:, i] + self.density.alpha
            logs = draws.get((99, column), partial(log_gamma_draws, shape=n[None], draws=draws.n))[0]
            out += log_density(
                chunk.values[:, column, None, None], self.density.means[:, i] * n / np.exp(logs)
            )


def smoothed(weight: Floats, total: Floats, alpha: float) -> Floats:
    """The means of classes (first axis), with imaginary rows at the mean of all."""
    overall = total.sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-300)
    means: Floats = np.maximum((total + alpha * overall) / np.maximum(weight + alpha, 1e-300), 1e-300)
    return means


def log_density(x: Any, mean: Any) -> Floats:
    scores = np.where(x < 0.0, -np.inf, -x / mean - np.log(mean))
    return np.where(np.isnan(x), 0.0, scores)
