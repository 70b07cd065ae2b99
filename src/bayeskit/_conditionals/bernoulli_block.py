"""The Bernoulli model of a text: each word is present or absent, and absent words are evidence, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from bayeskit._conditionals.conditional import Conditional, DrawnRows, DrawRule, Nodes, ParameterPosterior
from bayeskit._conditionals.kernels.block_scores import add_product
from bayeskit._conditionals.kernels.left_out import DUST, score_bernoulli
from bayeskit._conditionals.multinomial import checked_alpha, entries_of, imaginary_log
from bayeskit._conditionals.posterior_draws import NEVER, WordPosterior, log_gamma_draws
from bayeskit._conditionals.scoring import IfPresent, Score, Step, Sum, constant
from bayeskit._counting.count_totals import binarizable, is_sparse, refuse_unusable
from bayeskit._data.encoded import Chunk
from bayeskit._statistics.part import never_counted
from bayeskit._statistics.totals import Totals
from bayeskit.errors import DataError
from bayeskit.typing import Floats


@dataclass(frozen=True, eq=False)
class BernoulliBlock(Conditional):
    """log P(x | c) = Σ_v log(1 − p_cv) + Σ_{v in x} (log p_cv − log(1 − p_cv)).

    The first sum is one number per class, so the cost of a document depends on its words, not on the vocabulary.

    Attributes
    ----------
    log_present : array of shape (V, K)
        log p, −inf if p = 0.
    binarize : float
        A word is present if x > binarize.
    table : array of shape (V, K)
        log p − log(1 − p), with log 0 replaced by 0.
    constant : array of shape (K,)
        Σ log(1 − p) over the words with p < 1.
    never, always : float arrays of shape (V, K), or None
        1 if p = 0, and 1 if p = 1. None if there are no such words.
    totals, alpha : Totals, array of shape (V,)
        p was estimated from these.
    """

    log_present: Floats
    binarize: float
    table: Floats
    constant: Floats
    never: Floats | None
    always: Floats | None
    totals: Totals
    alpha: Floats

    @property
    def feature_log_prob(self) -> Floats:
        """log p of shape (K, V)."""
        return self.log_present.T

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        block = binarizable(chunk.block, self.binarize)
        # NaN would compare as absent, so check for it first. One sum is enough.
        with np.errstate(invalid="ignore", over="ignore"):
            sum_of_all = block.data.sum() if is_sparse(block) else block.sum()
        if not np.isfinite(sum_of_all):
            refuse_unusable(block, signed=True, first_row=chunk.first_row)
        add_product(block, self.table, out, above=self.binarize)
        out += self.constant
        if self.never is not None:
            found = np.zeros(out.shape)
            add_product(block, self.never, found, above=self.binarize)
            out[found > 0] = -np.inf
        if self.always is not None:
            found = np.zeros(out.shape)
            add_product(block, self.always, found, above=self.binarize)
            out[found < self.always.sum(axis=0)] = -np.inf

    def score(self) -> Score:
        present = np.where(np.zeros_like(self.table) if self.never is None else self.never, -np.inf, 0.0)
        absent = np.where(np.zeros_like(self.table) if self.always is None else self.always, -np.inf, 0.0)
        words = []
        for v, above in enumerate(self.table + present):
            # A missing cell is 0, as in a sparse matrix.
            missing = above if self.binarize < 0.0 else absent[v]
            words.append(IfPresent(v, Step(v, self.binarize, absent[v], above), constant(missing)))
        return Sum((constant(self.constant), *words))

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add the leave-one-out values of ``add_log_prob``, with the weight ``own`` of each row removed.

        The share of every word changes, even if it is not in the text. But for all rows of the same class and weight
        the change is the same. So the sum is computed once for these, and a row costs only its own words.
        """
        scores = np.zeros(out.shape)
        self.add_log_prob(chunk, scores)
        block, label = chunk.block, np.asarray(chunk.target, dtype=np.intp)
        # Binarize before converting to sparse: with a threshold below 0, the zeros of a dense block are words, too.
        block = entries_of(block if is_sparse(block) else (block > self.binarize).astype(np.float64))
        above = self.binarize if is_sparse(chunk.block) else 0.5
        mine = np.empty(chunk.n_rows)
        keys, group = np.unique(np.column_stack([label, own]), axis=0, return_inverse=True)
        for g, (c, w) in enumerate(keys):
            tables = self._without(int(c), float(w))
            rows = np.flatnonzero(group.ravel() == g)
            negative = score_bernoulli(
                *(block.indptr, block.indices, block.data, above, rows, float(w), self.totals.sums[int(c)]),
                *(*tables, mine),
            )
            if negative < 0.0:
                raise never_counted(negative)
        scores[np.arange(len(label)), label] = mine
        out += scores

    def _without(self, c: int, w: float) -> tuple[Any, ...]:
        """Return log P(absent) of each word in class c, without the weight w of a text that has none of them."""
        rows, sums = self.totals.rows[c], self.totals.sums[c]
        whole = max(rows - w, 0.0) + 2.0 * self.alpha
        whole = np.where(whole > 0.0, whole, 1.0)
        left = (rows - sums) - w
        short = left < -DUST * rows
        # Clear rounding errors, as Totals do. An integer is never a rounding error.
        left[(np.abs(left) <= 1e-12 * rows) & (left != np.rint(left))] = 0.0
        left = np.maximum(left, 0.0) + self.alpha
        zero = left <= 0.0
        absent = np.log(np.where(zero, whole, left) / whole)
        return absent, zero, short, self.alpha, whole, float(absent.sum())

    def sample(self, classes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Draw each word as present (1) or absent (0)."""
        present = rng.random((len(classes), len(self.table))) < np.exp(self.log_present).T[classes]
        return present.astype(np.float64)

    def sample_into(self, rows: DrawnRows, rng: np.random.Generator) -> None:
        rows.block = self.sample(rows.classes, rng)

    def posterior(self, rule: DrawRule) -> ParameterPosterior:
        return WordPosterior(self.table.shape, self._draw, self._present)

    def _draw(self, rng: np.random.Generator, draws: int) -> tuple[Floats, Floats]:
        sums = self.totals.sums
        pair = np.stack([sums, self.totals.rows[:, None] - sums]) + self.alpha
        logs = log_gamma_draws(rng, np.swapaxes(pair, 1, 2), draws)
        present, absent = np.maximum(logs - np.logaddexp(logs[0], logs[1]), NEVER)
        return present - absent, absent.sum(axis=0)

    def _present(self, block: Any) -> Any:
        """Return 1 for each word that is in a text, otherwise 0."""
        if not is_sparse(block):
            return (block > self.binarize).astype(np.float64)
        if self.binarize < 0:  # a word that is not stored counts as present
            return (block.toarray() > self.binarize).astype(np.float64)
        kept = csr_array(block)
        there = (kept.data > self.binarize).astype(np.float64)
        return csr_array((there, kept.indices, kept.indptr), shape=kept.shape)

    def add_nodes(self, nodes: Nodes) -> None:
        with_word, alpha = self.totals.sums.T, self.alpha[:, None]
        without = np.maximum(self.totals.rows - with_word, 0.0)
        counts = np.stack([without + alpha, with_word + alpha], axis=-1)
        whole = counts.sum(axis=-1, keepdims=True)
        # A class without rows and without a prior has no factor.
        nodes.add_words(np.where(whole > 0.0, counts / np.where(whole > 0.0, whole, 1.0), 0.5))

    def log_prior(self, mean: Floats, alpha: float) -> float:
        present = self.log_present
        return imaginary_log(self.alpha[:, None], present + (present - self.table))


def estimate_bernoulli_block(totals: Totals, alpha: ArrayLike = 1.0, binarize: float = 0.0) -> BernoulliBlock:
    r"""Estimate the probability that each word is in a text, for each class.

    .. math:: \hat p_{cv} = \frac{S_{cv} + \alpha_v}{n_c + 2\alpha_v}

    Parameters
    ----------
    totals : Totals
        Totals of zeros and ones, counted with ``binarize``.
    alpha : float or array of shape (V,)
        Imaginary texts with each word, and as many without it, in every class. With 0, a class that
        has no texts at all makes every text impossible.
    binarize : float
        The threshold for new texts.

    Examples
    --------
    >>> model = estimate_bernoulli_block(Totals(np.array([[2., 0.]]), np.array([2.])))
    >>> np.exp(model.feature_log_prob)
    array([[0.75, 0.25]])
    """
    pseudo = checked_alpha(alpha, totals.sums.shape[1])
    with_word, rows = totals.sums.T, totals.rows
    without = rows - with_word
    if (without < -1e-9 * rows).any():
        c = int(np.argwhere(without < -1e-9 * rows)[0, 1])
        raise DataError(
            "The totals of class number {c} exceed its {row:g} rows, so they are not of zeros and ones. "
            "Count them with binarize=0.",
            c=c,
            row=rows[c],
        )
    column = pseudo[:, None] if pseudo.ndim else pseudo
    whole = rows + 2 * column
    log_whole = np.log(np.where(whole > 0, whole, 1.0))
    with np.errstate(divide="ignore"):
        log_present = np.ascontiguousarray(np.log(with_word + column) - log_whole)
        log_absent = np.ascontiguousarray(np.log(np.maximum(without, 0.0) + column) - log_whole)
    never, present = _zeros_apart(log_present)
    always, absent = _zeros_apart(log_absent)
    words = np.array(np.broadcast_to(pseudo, totals.sums.shape[1]))
    return BernoulliBlock(
        *(log_present, float(binarize), present - absent, absent.sum(axis=0), never, always, totals, words)
    )


def _zeros_apart(logs: Floats) -> tuple[Floats | None, Floats]:
    """Return a mask of the logarithms that are −inf (None if there are none), and the logarithms with 0 instead."""
    zero = np.isneginf(logs)
    return (zero.astype(np.float64), np.where(zero, 0.0, logs)) if zero.any() else (None, logs)
