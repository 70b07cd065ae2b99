r"""Complement naive Bayes: a class is scored by the word frequencies of all other classes. And the score of TextBayes.

That is a weighted sum of the multinomial and the complement model:

.. math:: \log P(y \mid x) = \log P(y) + b_y + \sum_v x_v (u \log\theta_{yv} + w \, \omega_{yv}) + \text{const}

θ is the word distribution of the class (:mod:`bayeskit._conditionals.word_models`), ω the weights of complement naive
Bayes. A text without a known word adds nothing, not even b.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._conditionals.conditional import Codes, Conditional, DrawnRows, Workings, no_formula
from bayeskit._conditionals.kernels.block_scores import add_scores
from bayeskit._conditionals.kernels.left_out import remainder
from bayeskit._conditionals.scoring import Score
from bayeskit._conditionals.word_models import (
    Multinomial,
    checked_alpha,
    entries_of,
    estimate_multinomial,
    linear,
)
from bayeskit._counting.count_totals import refuse_unusable
from bayeskit._data.encoded import Chunk
from bayeskit._messages import Message, RowNumber
from bayeskit._numba import kernel
from bayeskit._statistics.part import never_counted
from bayeskit._statistics.totals import Totals
from bayeskit.errors import DataError, UsageError
from bayeskit.typing import Floats


@kernel
def score_complement(
    indptr: Any, indices: Any, data: Any, target: Any, own: Any, sums: Any, everywhere: Any, alpha: Any, whole: Any,
    weighted: Any, live: Any, eps: float, norm: Any, scores: Any, certain: Any,
) -> Any:  # fmt: skip
    """Write the leave-one-out scores of each row to ``scores`` (n, K), and its certain words to ``certain`` (n, K).

    A row of class c is part of the complements of all *other* classes, and only in the cells of its words. No cell may
    be stored twice.

    Parameters
    ----------
    sums, everywhere : (V, K) and (V,), the totals of each class and of all
    alpha : (V,)
    whole : (K,), Σ_v of the complement's total + alpha
    weighted, live : (K,), the sum of the finite weights, and their number
    eps : the fraction of a total that rounding may leave in a complement
    norm : whether weights are divided by their sum

    Returns the most negative total.
    """
    one, n_classes, width = np.uintp(1), np.uintp(sums.shape[1]), float(sums.shape[0])
    for i in range(np.uintp(target.shape[0])):
        label, w = np.uintp(target[i]), own[i]
        first, last = np.uintp(indptr[i]), np.uintp(indptr[i + one])
        length = 0.0
        for q in range(first, last):
            length += data[q]
        for c in range(n_classes):
            left = whole[c] - (0.0 if c == label else w * length)
            log_whole = log(left) if left > 0.0 else 0.0
            before = log(whole[c]) if whole[c] > 0.0 else 0.0
            score, sure, endless = 0.0, 0.0, width - live[c]
            total = weighted[c] + live[c] * (log_whole - before)
            for q in range(first, last):
                x = data[q]
                if x == 0.0:
                    continue
                v = np.uintp(indices[q])
                mine = remainder(sums[v, label], w * x)
                if mine < 0.0:
                    return mine
                all_after = everywhere[v] - sums[v, label] + mine
                rest = all_after - (mine if c == label else sums[v, c])
                if rest <= eps * all_after:
                    rest = 0.0
                rest += alpha[v]
                if rest > 0.0:
                    score += x * (log_whole - log(rest))
                else:
                    sure += x
                if norm:
                    held = everywhere[v] - sums[v, c]
                    held = alpha[v] + (held if held > eps * everywhere[v] else 0.0)
                    if rest > 0.0:
                        total += log(held) - log(rest)
                    elif held > 0.0:
                        endless += 1.0
            certain[i, c] = sure
            if norm and endless > 0.0:
                score, certain[i, c] = sure / endless, 0.0
            elif norm and total > 0.0:
                score /= total
            scores[i, c] = score
    return 0.0


@dataclass(frozen=True, eq=False)
class Complement(Conditional):
    """Scores Σ_v x_v w_cv. They rank classes but are not log-probabilities.

    Attributes
    ----------
    table : array of shape (V, K)
        The weights, with 0 in place of infinite ones.
    certain : float array of shape (V, K), or None
        1 if the weight is infinite: with ``alpha=0``, no other class has the word.
    totals, alpha, norm : Totals, array of shape (V,), bool
        The weights were estimated from these.
    """

    table: Floats
    certain: Floats | None
    totals: Totals
    alpha: Floats
    norm: bool

    @property
    def feature_log_prob(self) -> Floats:
        """The weights of shape (K, V): scikit-learn's name for them."""
        if self.certain is None:
            return self.table.T
        return np.where(self.certain > 0, np.inf, self.table).T

    @property
    def adds_prior(self) -> bool:  # type: ignore[override]
        """Whether log P(c) must be added to the score: only with a single class."""
        return bool(self.table.shape[1] == 1)

    @property
    def is_distribution(self) -> bool:
        """Whether the scores are log-probabilities: only with a single class."""
        return self.adds_prior

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        add_scores(chunk.block, self.table, out, chunk.first_row)
        if self.certain is not None:
            evidence = np.zeros(out.shape)
            add_scores(chunk.block, self.certain, evidence)
            _rule_out(evidence, out)

    def score(self) -> Score:
        if self.certain is not None:
            raise no_formula(Message("A word that only one class has, with alpha=0,"))
        return linear(self.table, None)

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add the leave-one-out values of ``add_log_prob``, with the weight ``own`` of each row removed."""
        block, label = entries_of(chunk.block), np.asarray(chunk.target, dtype=np.intp)
        others, whole = _others(self.totals, self.alpha)
        # A word that is certain for a class has no finite weight there.
        there = others > 0.0
        log_others = np.log(others, out=np.zeros_like(others), where=there)
        log_whole = np.log(whole, out=np.zeros_like(whole), where=whole > 0.0)
        live = there.sum(axis=1).astype(np.float64)
        scores, evidence = np.zeros((2, *out.shape))
        negative = score_complement(
            *(block.indptr, block.indices, block.data, label, own),
            *(np.ascontiguousarray(self.totals.sums.T), self.totals.sums.sum(axis=0), self.alpha, whole),
            *(live * log_whole - log_others.sum(axis=1), live),
            *(len(whole) * float(np.finfo(np.float64).eps), self.norm, scores, evidence),
        )
        if negative < 0.0:
            raise never_counted(negative)
        if not np.isfinite(scores).all():
            refuse_unusable(chunk.block, signed=True, first_row=chunk.first_row)
            row = chunk.first_row + int((~np.isfinite(scores).all(axis=1)).argmax())
            raise DataError(
                "{place} contains numbers that are too large to be left out: its score exceeds the range of "
                "doubles. Divide the columns by a constant.",
                place=RowNumber(row, begins=True),
            )
        if not self.norm:
            _rule_out(evidence, scores)
        out += scores

    def sample(self, classes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        raise UsageError(
            "Complement naive Bayes scores texts and has no distribution of them, so none can be sampled. "
            'Use the "multinomial" family to sample texts.'
        )

    def sample_into(self, rows: DrawnRows, rng: np.random.Generator) -> None:
        rows.block = self.sample(rows.classes, rng)


def estimate_complement(totals: Totals, alpha: ArrayLike = 1.0, norm: bool = False) -> Complement:
    r"""Weight every word by its rarity in the complement of each class.

    .. math:: w_{cv} = -\log \frac{\alpha_v + \sum_{c' \ne c} S_{c'v}}
                                  {\sum_v \alpha_v + \sum_{c' \ne c} \sum_v S_{c'v}}

    Parameters
    ----------
    totals : Totals
    alpha : float or array of shape (V,)
    norm : bool
        Divide the weights of each class by Σ_v |w|, so that classes with many dependent words have no advantage.

    References
    ----------
    Rennie, Shih, Teevan and Karger (2003), Tackling the poor assumptions of naive Bayes text
    classifiers, ICML, Table 4.

    Examples
    --------
    >>> model = estimate_complement(Totals(np.array([[2., 0.], [0., 2.]]), np.ones(2)))
    >>> np.exp(-model.feature_log_prob)
    array([[0.25, 0.75],
           [0.75, 0.25]])
    """
    pseudo = np.array(np.broadcast_to(checked_alpha(alpha, totals.sums.shape[1]), totals.sums.shape[1]))
    others, sums = _others(totals, pseudo)
    certain = (others <= 0) if others.min(initial=1.0) <= 0 else None
    whole = sums[:, None]
    if certain is not None:
        others[certain] = 1.0
        whole[whole <= 0] = 1.0
    others /= whole
    logs = np.log(others, out=others)
    if certain is not None:
        logs[certain] = 0.0
    weights = np.negative(logs, out=logs)
    if norm:
        weights, certain = _normed(weights, certain), None
    return Complement(
        np.ascontiguousarray(weights.T),
        None if certain is None else np.ascontiguousarray(certain.T, dtype=np.float64),
        totals,
        pseudo,
        norm,
    )


def _others(totals: Totals, alpha: Floats) -> tuple[Floats, Floats]:
    """Return the smoothed totals of each class's complement, of shape (K, V), and their sums (K,)."""
    everywhere = totals.sums.sum(axis=0)
    others = everywhere - totals.sums
    # Remainders of this size, positive or negative, are rounding errors of a sum of K numbers minus one of them.
    others[others <= len(others) * np.finfo(np.float64).eps * everywhere] = 0.0
    others += alpha
    return others, others.sum(axis=1)


def _rule_out(evidence: Floats, out: Floats) -> None:
    """Set the scores of classes to −inf if another class has more certain words in the text.

    As alpha → 0, the weight of a certain word grows like −log alpha. So classes are ranked by the amount of certain
    words first, and by the finite rest only in a tie (up to rounding).
    """
    most = evidence.max(axis=1, keepdims=True)
    out[evidence < most - 1e-12 * np.abs(most)] = -np.inf


def _normed(weights: Floats, certain: NDArray[np.bool_] | None) -> Floats:
    """Divide by the sum over words. If there are infinite weights, they share the total equally."""
    if certain is not None:
        endless = certain.any(axis=1)
        weights[endless] = certain[endless]
    whole = weights.sum(axis=1, keepdims=True)
    normed: Floats = np.divide(weights, whole, out=weights, where=whole > 0)
    return normed


@dataclass(frozen=True, eq=False)
class FactorPower(Conditional):
    """A factor raised to a power: P(x | y)^r."""

    factor: Conditional
    power: float

    @property
    def is_distribution(self) -> bool:
        return False

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        logs = np.zeros_like(out)
        self.factor.add_log_prob(chunk, logs)
        out += self.power * logs

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        logs = np.zeros_like(out)
        self.factor.add_left_out(chunk, own, logs)
        out += self.power * logs

    def add_separate(self, chunk: Chunk, categorical: Codes, numeric: Codes, out: Floats) -> None:
        logs = np.zeros_like(out)
        self.factor.add_separate(chunk, categorical, numeric, logs)
        out += self.power * logs

    def explain(self, chunk: Chunk, page: Workings) -> None:
        self.factor.explain(chunk, page)
        page.raise_columns(self.power)


@dataclass(frozen=True, eq=False)
class WordScore(Conditional):
    """The score of a text in each class.

    Attributes
    ----------
    multinomial, complement : the two models, both estimated from the same totals
    weights : (u, w)
    bias : b, array of shape (K,)
    """

    multinomial: Multinomial
    complement: Complement
    weights: tuple[float, float]
    bias: Floats

    @property
    def is_distribution(self) -> bool:
        """False: the scores are not a distribution of texts."""
        return False

    @cached_property
    def table(self) -> Floats:
        """The score of one unit of each word in each class: shape (V, K)."""
        u, w = self.weights
        return np.ascontiguousarray(u * self.multinomial.table + w * self.complement.table)

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        add_scores(chunk.block, self.table, out, chunk.first_row)
        out += has_words(chunk)[:, None] * self.bias

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add the leave-one-out values of ``add_log_prob``, with the weight ``own`` of each row removed."""
        both = self.left_out(chunk, own)
        for weight, scores in zip(self.weights, both, strict=True):
            out += weight * scores
        out += has_words(chunk)[:, None] * self.bias

    def left_out(self, chunk: Chunk, own: Floats) -> tuple[Floats, Floats]:
        """Return the leave-one-out scores of the two models: arrays of shape (n, K)."""
        first, second = np.zeros((2, chunk.n_rows, len(self.bias)))
        self.multinomial.add_left_out(chunk, own, first)
        self.complement.add_left_out(chunk, own, second)
        return first, second

    def add_separate(self, chunk: Chunk, categorical: Codes, numeric: Codes, out: Floats) -> None:
        # The block of words is the last attribute.
        words = np.zeros((chunk.n_rows, len(self.bias)))
        self.add_log_prob(chunk, words)
        out[:, -1] += words

    def explain(self, chunk: Chunk, page: Workings) -> None:
        page.add_words(self)


def has_words(chunk: Chunk) -> NDArray[np.bool_]:
    """Return for each row whether it has a word of the vocabulary."""
    block: Any = chunk.block
    return np.asarray(np.diff(block.indptr) > 0)


def estimate_word_score(
    totals: Totals, alphas: tuple[float, float], weights: tuple[float, float], bias: Floats
) -> WordScore:
    """Estimate both models, each with its imaginary occurrences of every word."""
    first, second = alphas
    return WordScore(estimate_multinomial(totals, first), estimate_complement(totals, second), weights, bias)
