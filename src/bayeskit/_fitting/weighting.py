r"""Weighted naive Bayes: weights of attributes (WANBIA) or of words that maximise the posterior of the true classes.

.. math:: P(c \mid x) \propto P(c) \prod_i P(x_i \mid c)^{w_i}

With words x_v beside the columns, the columns share one power r, and words have two scores, multinomial θ and
complement ω:

.. math:: P(y \mid x) \propto P(y) \prod_i P(x_i \mid y)^r
          \cdot e^{b_y} \prod_v \bigl(\theta_{yv}^{u} e^{w \omega_{yv}}\bigr)^{x_v}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array

from bayeskit._conditionals.class_prior import ClassPrior, class_factors
from bayeskit._conditionals.complement import FactorPower, WordScore, estimate_word_score, has_words
from bayeskit._conditionals.conditional import Conditional
from bayeskit._conditionals.kernels.gaussian_scores import distance
from bayeskit._counting.backend import in_order
from bayeskit._data.encoded import Chunk
from bayeskit._data.source import Source
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.leave_one_out import learned_chunks, spread
from bayeskit._fitting.model import ModelSpec, class_prior_of, weighted_classes
from bayeskit._fitting.naive import CountedAsNaive, Naive, column_conditionals
from bayeskit._numba import kernel
from bayeskit._schema import Label, Name
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


# The imaginary occurrences of each word in each class, for the multinomial and the complement. They have the lowest
# mean leave-one-out log-loss over five collections of texts (benchmarks/text.py).
ALPHAS = (0.02, 0.1)
# The maximum number of texts used to choose the few weights. More texts would change them little, and each costs as
# much as a prediction.
MOST_TEXTS = 10_000
# The standard deviation of the normal prior of b. Together with one imaginary text in N + 2 of any class, it keeps the
# weights bounded if every left-out text is classified correctly.
DEVIATION_OF_BIAS = 1.0
MOST_STEPS = 200


@dataclass(frozen=True)
class WeighedWords(CountedAsNaive):
    """The form of TextBayes: naive Bayes of the columns, and a weighted score of the words.

    Attributes
    ----------
    weights : (u, w), the weights of the multinomial and of the complement
    columns : r, the power of the factors of the other columns
    biases : ((class, b), …); 0 for a class that appeared later
    alphas : the imaginary occurrences of each word in the multinomial and in the complement
    """

    weights: tuple[float, float] = (1.0, 0.0)
    columns: float = 1.0
    biases: tuple[tuple[Label, float], ...] = ()
    alphas: tuple[float, float] = ALPHAS

    def conditionals(
        self, statistics: Statistics, spec: ModelSpec, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        columns = column_conditionals(statistics, spec)
        return (*(FactorPower(factor, self.columns) for factor in columns), self.word_score(statistics))

    def word_score(self, statistics: Statistics) -> WordScore:
        """Estimate the factor of the words."""
        totals: Any = statistics.parts["totals"]
        known = dict(self.biases)
        bias = np.array([known.get(label, 0.0) for label in statistics.schema.target.states])
        return estimate_word_score(totals, self.alphas, self.weights, bias)


@dataclass(frozen=True, eq=False)
class WordWeights:
    """The chosen weights: u, w, r ≥ 0 and b."""

    multinomial: float
    complement: float
    columns: float
    bias: Mapping[Label, float]

    def plain(self) -> dict[str, Any]:
        """Return the weights as numbers and labels, for ``held_`` and for files."""
        return {**vars(self), "bias": dict(self.bias)}


def choose_word_weights(fitted: FittedState, source: Source, rare: NDArray[np.bool_]) -> WordWeights:
    """Return the weights with the lowest leave-one-out log-loss: a convex problem, with one pass over the rows.

    ``rare`` marks the words that would not be in the vocabulary if any one of their texts were left out.
    """
    statistics, spec = fitted.statistics, fitted.spec
    assert spec is not None and isinstance(spec.form, WeighedWords)
    words, columns = spec.form.word_score(statistics), column_conditionals(statistics, spec)
    prior, labels = class_prior_of(statistics, spec), statistics.schema.target.states

    def score(part: Chunk) -> tuple[NDArray[Any], ...]:
        assert part.target is not None
        own = np.minimum(part.row_weights, 1.0)
        beside = np.zeros((part.n_rows, len(labels)))
        for conditional in columns:
            conditional.add_left_out(part, own, beside)
        met, its_own = _without_rare_words(part, own, rare)
        terms = np.stack([*words.left_out(met, its_own), beside], axis=1)
        return terms, prior.log_left_out(part.target, own), has_words(met), part.target, part.row_weights

    terms, log_prior, known, target, weights = spread(learned_chunks(fitted, source), score, MOST_TEXTS)
    possible = np.isfinite(terms).all(axis=(1, 2))
    if len(labels) < 2 or not possible.any():
        return WordWeights(1.0, 0.0, 1.0, dict.fromkeys(labels, 0.0))
    parts = (terms, log_prior, known, target.astype(np.intp), weights)
    return _WordLoss(*(part[possible] for part in parts)).least(labels)


def _without_rare_words(chunk: Chunk, own: Floats, rare: NDArray[np.bool_]) -> tuple[Chunk, Floats]:
    """Return texts without rare words, which would be unknown to a model fitted to the other texts.

    This may be half the words of a text. The remaining text is scaled to norm 1 again, like any new text. The weight
    to leave out is scaled inversely, so that their product does not change.
    """
    block = chunk.block
    rows = np.repeat(np.arange(chunk.n_rows), np.diff(block.indptr))
    known = ~rare[block.indices]
    rows, words, data = rows[known], block.indices[known], block.data[known]
    length = np.sqrt(np.bincount(rows, weights=data**2, minlength=chunk.n_rows))
    met = csr_array((data / length[rows], (rows, words)), shape=block.shape)
    return replace(chunk, block=met), own * length


class _WordLoss:
    """The log-loss as a function of u, w, r and b, with its gradient.

    The weights multiply ``terms`` (n, 3, K). ``known`` marks the texts with a known word, which have a bias.
    """

    def __init__(
        self,
        terms: Floats,
        log_prior: Floats,
        known: NDArray[np.bool_],
        target: NDArray[np.intp],
        weights: Floats,
    ) -> None:
        self.terms = np.moveaxis(terms - terms.mean(axis=2, keepdims=True), 1, 0).copy()
        # Scaling all terms to size 1 reduces the number of steps. A term that is zero stays zero.
        size = self.terms.std(axis=(1, 2))
        self.unit = np.divide(1.0, size, out=np.zeros_like(size), where=size > 1e-12)
        self.log_prior, self.known, self.weights = log_prior, known.astype(np.float64), weights
        n, k = log_prior.shape
        right = np.zeros((n, k))
        right[np.arange(n), target] = 1.0
        self.right = right + (1.0 / k - right) / (weights.sum() + 2.0)

    def __call__(self, free: Floats) -> tuple[float, Floats]:
        steps, bias = free[:3] * self.unit, free[3:]
        scores = self.log_prior + self.known[:, None] * bias
        for step, term in zip(steps, self.terms, strict=True):
            if step:
                scores += step * term
        scores -= scores.max(axis=1, keepdims=True)
        scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
        wrong = self.weights[:, None] * (np.exp(scores) - self.right)
        slope = self.unit * np.einsum("nk,tnk->t", wrong, self.terms)
        pull = bias / DEVIATION_OF_BIAS**2
        loss = -float(self.weights @ (self.right * scores).sum(axis=1)) + 0.5 * float(bias @ pull)
        return loss, np.concatenate([slope, self.known @ wrong + pull])

    def least(self, labels: tuple[Label, ...]) -> WordWeights:
        """Return the weights with the lowest loss."""
        start = np.concatenate([np.full(3, 0.5), np.zeros(len(labels))])
        bounds = [(0.0, None)] * 3 + [(None, None)] * len(labels)
        found = minimize(
            self, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": MOST_STEPS}
        ).x
        u, w, r = np.where(self.unit > 0.0, found[:3] * self.unit, 1.0).tolist()
        return WordWeights(u, w, r, dict(zip(labels, found[3:].tolist(), strict=True)))
