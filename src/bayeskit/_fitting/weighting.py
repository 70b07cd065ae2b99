r"""Weighted naive Bayes (WANBIA): the weights that maximise the posterior of the true classes.

.. math:: P(c \mid x) \propto P(c) \prod_i P(x_i \mid c)^{w_i}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from bayeskit._conditionals.class_prior import ClassPrior, class_factors
from bayeskit._conditionals.conditional import Conditional
from bayeskit._conditionals.kernels.gaussian_scores import distance
from bayeskit._counting.backend import in_order
from bayeskit._data.encoded import Chunk
from bayeskit._fitting.model import ModelSpec, class_prior_of, weighted_classes
from bayeskit._fitting.naive import CountedAsNaive, Naive
from bayeskit._numba import kernel
from bayeskit._schema import Name
from bayeskit._statistics.statistics import Statistics
from bayeskit.typing import Floats

_U = np.uintp
# The logarithm of the smallest double. Without this bound, the slope of an attribute that rules out a class is −∞.
LEAST = -745.0


@kernel
def add_loss(
    codes: Any, values: Any, target: Any, rows: Any, log_prior: Any, places: Any, log_table: Any,
    mean: Any, low: Any, inverse: Any, norm: Any, missing: Any, weights: Any, terms: Any, scores: Any, slope: Any,
    curvature: Any,
) -> Any:  # fmt: skip
    r"""Return −Σ_i r_i log P(y_i | x_i); add its derivatives in the weights to ``slope`` and ``curvature``.

    .. math:: \frac{\partial}{\partial w_j} = \sum_i r_i \left(\sum_c P(c \mid x_i) t_{jc} - t_{j y_i}\right)

    with t = log P(x_j | c): first the categorical attributes, by look-up, then the numeric ones, where ``norm`` is for
    present values and ``missing`` for missing ones. ``rows`` (n,) are the weights r of the rows. ``terms`` (numeric, K)
    and ``scores`` (K,) are scratch. A row whose own class is impossible is ignored. If ``curvature`` is not empty, the
    second derivatives Σ_i r_i Var_c(t_jc) are added to it.
    """
    d, m, k = _U(codes.shape[1]), _U(mean.shape[0]), _U(scores.shape[0])
    loss = 0.0
    for i in range(_U(codes.shape[0])):
        r = rows[i]
        if r == 0.0:
            continue
        for c in range(k):
            scores[c] = log_prior[c]
        for j in range(d):
            w = weights[j]
            if w > 0.0:
                g = places[j] + _U(codes[i, j])
                for c in range(k):
                    scores[c] += w * log_table[g, c]
        for j in range(m):
            x, w = values[i, j], weights[d + j]
            for c in range(k):
                if x == x:
                    z = distance(x, mean[j, c], low[j, c], inverse[j, c])
                    terms[j, c] = norm[j, c] - z * z
                else:
                    terms[j, c] = missing[j, c]
                if w > 0.0:
                    scores[c] += w * terms[j, c]
        label = _U(target[i])
        if scores[label] == -np.inf:
            continue
        best = scores[label]
        for c in range(k):
            best = max(best, scores[c])
        total = 0.0
        mine = scores[label] - best
        for c in range(k):
            scores[c] = exp(scores[c] - best)
            total += scores[c]
        loss += r * (log(total) - mine)
        for c in range(k):
            scores[c] /= total
        for j in range(_U(curvature.shape[0])):
            first, second = 0.0, 0.0
            for c in range(k):
                t = max(log_table[places[j] + _U(codes[i, j]), c], LEAST) if j < d else terms[j - d, c]
                first += scores[c] * t
                second += scores[c] * t * t
            curvature[j] += r * max(second - first * first, 0.0)
        for c in range(k):
            share = r * (scores[c] - 1.0) if c == label else r * scores[c]
            if share != 0.0:
                for j in range(d):
                    slope[j] += share * max(log_table[places[j] + _U(codes[i, j]), c], LEAST)
                for j in range(m):
                    slope[d + j] += share * terms[j, c]
    return loss


Chunks = Callable[[], Iterable[Chunk]]

# The search converges if no slope of the mean loss exceeds this, and stops after at most this many steps.
LEVEL, MOST_STEPS = 1e-6, 200


@dataclass(frozen=True)
class WeightedNaive(CountedAsNaive):
    """P(c) ∏ P(x_i | c)^w_i with given weights, counted and estimated as in naive Bayes.

    Attributes
    ----------
    weights : mapping from attribute to weight
        Attributes that are not named have weight 1.
    """

    weights: Mapping[Name, float]

    def conditionals(
        self, statistics: Statistics, spec: ModelSpec, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        schema = statistics.schema
        discrete, numeric = (self._of(variables) for variables in (schema.categorical, schema.numeric))
        plain = Naive().conditionals(statistics, spec, prior)
        return tuple(conditional.with_attribute_weights(discrete, numeric) for conditional in plain)

    def _of(self, variables: Iterable[Any]) -> Floats:
        return np.array([float(self.weights.get(v.name, 1.0)) for v in variables])


@dataclass(eq=False)
class Terms:
    """log P(c) and log P(x_i | c) of every attribute, in the order of the loop's arguments."""

    log_prior: Floats
    places: NDArray[np.uintp]
    log_table: Floats
    mean: Floats
    low: Floats
    inverse: Floats
    norm: Floats
    missing: Floats

    @property
    def arrays(self) -> tuple[Any, ...]:
        return tuple(vars(self).values())


class Loss:
    """The mean of −log P(y | x) over rows as a function of the weights, which is convex, with its gradient.

    Parameters
    ----------
    statistics, spec
        The factors are estimated from these, once for all weights.
    chunks : callable
        Returns the encoded rows with their classes. It is called for every evaluation. A list is processed by threads.
    n_jobs : int, optional
    """

    def __init__(
        self, statistics: Statistics, spec: ModelSpec, chunks: Chunks, n_jobs: int | None = None
    ) -> None:
        schema = statistics.schema
        self.names = [v.name for v in (*schema.categorical, *schema.numeric)]
        self.factors = class_factors(spec.class_weight, statistics.class_counts, schema.target)
        statistics = weighted_classes(statistics, spec)
        self.total = max(statistics.total, 1e-300)
        self.terms = _terms(statistics, spec)
        self.chunks = chunks
        self.n_jobs = n_jobs

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Return the mean loss and its gradient, shape (d,): the categorical attributes, then the numeric ones."""
        loss, slope, _ = self._sum(weights, 0)
        return loss / self.total, slope / self.total

    def curvature(self, weights: Floats) -> Floats:
        """Return the second derivative of the mean loss in each weight."""
        return self._sum(weights, len(weights))[2] / self.total

    def _sum(self, weights: Floats, curved: int) -> tuple[float, Floats, Floats]:
        chunks = self.chunks()
        if isinstance(chunks, list):
            held, bounds = chunks, [(i, i + 1) for i in range(len(chunks))]
            parts = in_order(lambda i, _: self._of(held[i], weights, curved), bounds, self.n_jobs)
        else:
            parts = (self._of(chunk, weights, curved) for chunk in chunks)
        loss, slope, curvature = 0.0, np.zeros(len(weights)), np.zeros(curved)
        for some, its_slope, its_curvature in parts:
            loss += some
            slope += its_slope
            curvature += its_curvature
        return loss, slope, curvature

    def _of(self, chunk: Chunk, weights: Floats, curved: int) -> tuple[float, Floats, Floats]:
        rows, k = chunk.row_weights, len(self.terms.log_prior)
        if self.factors is not None:
            rows = rows * self.factors[chunk.target]
        slope, curvature = np.zeros(len(weights)), np.zeros(curved)
        out = np.empty((len(self.terms.mean), k)), np.empty(k), slope, curvature
        loss = add_loss(chunk.codes, chunk.values, chunk.target, rows, *self.terms.arrays, weights, *out)
        return float(loss), slope, curvature


def choose_weights(loss: Loss) -> dict[Name, float]:
    """Return the weights between 0 and 1 with the lowest loss, by L-BFGS-B starting from 1."""
    d = len(loss.names)
    if not d:
        return {}
    # Scaling the weights to equal curvature halves or quarters the number of evaluations. The curvature is computed at
    # weights 1/d, where no posterior is so certain that it vanishes.
    unit = np.sqrt(loss.curvature(np.full(d, 1.0 / d)))
    unit = np.where(unit > 1e-8, unit, 1.0)
    best = np.inf, np.ones(d)

    def evaluate(steps: Floats) -> tuple[float, Floats]:
        nonlocal best
        weights = np.clip(steps / unit, 0.0, 1.0)
        value, slope = loss(weights)
        if value < best[0]:
            best = value, weights
        return value, slope / unit

    minimize(
        evaluate,
        unit,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, most) for most in unit],
        # The search also ends if the loss changes only in the last digit.
        options={"maxiter": MOST_STEPS, "gtol": LEVEL / max(1.0, unit.max()), "ftol": 1e-15},
    )
    return dict(zip(loss.names, best[1].tolist(), strict=True))


def _terms(statistics: Statistics, spec: ModelSpec) -> Terms:
    schema = statistics.schema
    k, numeric = schema.n_classes, len(schema.numeric)
    prior = class_prior_of(statistics, spec)
    terms = Terms(prior.log, np.zeros(1, dtype=np.uintp), np.zeros((0, k)), *np.zeros((5, numeric, k)))
    for conditional in Naive().conditionals(statistics, spec, prior):
        conditional.put_terms(terms)
    return terms
