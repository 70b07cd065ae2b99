r"""The form of a model of texts, and the choice of its weights.

.. math:: P(y \mid x) \propto P(y) \prod_i P(x_i \mid y)^r
          \cdot e^{b_y} \prod_v \bigl(\theta_{yv}^{u} e^{w \omega_{yv}}\bigr)^{x_v}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array

from bayeskit._conditionals.class_prior import ClassPrior
from bayeskit._conditionals.conditional import Conditional
from bayeskit._conditionals.word_score import Tempered, WordScore, estimate_word_score, has_words
from bayeskit._data.encoded import Chunk
from bayeskit._data.source import Source
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.model import ModelSpec, class_prior_of
from bayeskit._fitting.naive import CountedAsNaive, column_conditionals
from bayeskit._fitting.rows_again import learned_chunks, spread
from bayeskit._schema import Label
from bayeskit._statistics.statistics import Statistics
from bayeskit.typing import Floats

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
        return (*(Tempered(factor, self.columns) for factor in columns), self.word_score(statistics))

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
    return _Loss(*(part[possible] for part in parts)).least(labels)


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


class _Loss:
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
