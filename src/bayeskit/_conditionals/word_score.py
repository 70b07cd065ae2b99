r"""The score of the words of a text: a weighted sum of two models.

.. math:: \log P(y \mid x) = \log P(y) + b_y + \sum_v x_v (u \log\theta_{yv} + w \, \omega_{yv}) + \text{const}

θ is the word distribution of the class (:mod:`bayeskit._conditionals.word_models`), ω the weights of complement naive
Bayes (:mod:`bayeskit._conditionals.complement`). A text without a known word adds nothing, not even b.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.complement import Complement, estimate_complement
from bayeskit._conditionals.conditional import Codes, Conditional, Workings
from bayeskit._conditionals.kernels.block_scores import add_scores
from bayeskit._conditionals.word_models import Multinomial, estimate_multinomial
from bayeskit._data.encoded import Chunk
from bayeskit._statistics.totals import Totals
from bayeskit.typing import Floats


@dataclass(frozen=True, eq=False)
class Tempered(Conditional):
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
