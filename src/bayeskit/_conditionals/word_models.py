"""Models of the words of a text: the multinomial and the Bernoulli model.

In the multinomial model words are drawn one by one from the class's distribution. In the Bernoulli model each word is
present or absent, and absent words are evidence, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._conditionals.conditional import Conditional, DrawnRows, DrawRule, Nodes, ParameterPosterior
from bayeskit._conditionals.kernels.block_scores import add_product, add_scores
from bayeskit._conditionals.kernels.left_out import DUST, score_bernoulli, score_multinomial
from bayeskit._conditionals.posterior_draws import NEVER, WordPosterior, log_dirichlet, log_gamma_draws
from bayeskit._conditionals.scoring import IfPresent, Number, Product, Score, Step, Sum, constant
from bayeskit._counting.count_totals import binarizable, is_sparse, refuse_unusable, summed
from bayeskit._data.encoded import Chunk
from bayeskit._statistics.part import never_counted
from bayeskit._statistics.totals import Totals
from bayeskit.errors import DataError, SettingError
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit._data.encoded import Block


@dataclass(frozen=True, eq=False)
class Multinomial(Conditional):
    """log P(x | c) = Σ_v x_v log θ_cv, where x is the vector of word counts of a document.

    Attributes
    ----------
    table : array of shape (V, K)
        log θ, the classes of a word side by side; 0 in place of log 0.
    impossible : float array of shape (V, K), or None
        1 if θ = 0. Stored separately because 0·log 0 is 0: a word that is not in the document has no effect.
    mean_length : array of shape (K,)
        The mean Σ_v x_v of the class's documents.
    include_coefficient : bool
        Add the multinomial coefficient, which is the same for all classes, so that log P(x) is correct.
    totals, alpha : Totals, array of shape (V,)
        θ was estimated from these.
    """

    table: Floats
    impossible: Floats | None
    mean_length: Floats
    include_coefficient: bool
    totals: Totals
    alpha: Floats

    @property
    def feature_log_prob(self) -> Floats:
        """log θ of shape (K, V), −inf where a word cannot occur."""
        if self.impossible is None:
            return self.table.T
        return np.where(self.impossible > 0, -np.inf, self.table).T

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        block = chunk.block
        add_scores(block, self.table, out, chunk.first_row)
        if self.impossible is not None:
            violations = np.zeros(out.shape)
            add_product(summed(block), self.impossible, violations, above=0.0)
            out[violations > 0] = -np.inf
        if self.include_coefficient:
            out += log_coefficient(block)[:, None]

    def score(self) -> Score:
        return linear(self.table, self.impossible)

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add the leave-one-out values of ``add_log_prob``, with the weight ``own`` of each row removed."""
        scores = np.zeros(out.shape)
        self.add_log_prob(chunk, scores)
        block, label = entries_of(chunk.block), np.asarray(chunk.target, dtype=np.intp)
        whole = self.totals.sums.sum(axis=1) + self.alpha.sum()
        mine = np.empty(chunk.n_rows)
        negative = score_multinomial(
            *(block.indptr, block.indices, block.data, label, own),
            *(self.totals.sums, whole, self.alpha, mine),
        )
        if negative < 0.0:
            raise never_counted(negative)
        if self.include_coefficient:
            mine += log_coefficient(block)
        scores[np.arange(len(label)), label] = mine
        out += scores

    def sample(self, classes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Draw documents whose lengths are Poisson about the class's mean length."""
        drawn = np.zeros((len(classes), len(self.table)))
        theta = np.exp(self.feature_log_prob)
        for c in np.unique(classes):
            whole = theta[c].sum()
            if whole > 0:
                rows = np.flatnonzero(classes == c)
                lengths = rng.poisson(self.mean_length[c], len(rows))
                drawn[rows] = rng.multinomial(lengths, theta[c] / whole)
        return drawn

    def sample_into(self, rows: DrawnRows, rng: np.random.Generator) -> None:
        rows.block = self.sample(rows.classes, rng)

    def posterior(self, rule: DrawRule) -> ParameterPosterior:
        return WordPosterior(self.table.shape, self._draw, lambda block: block)

    def _draw(self, rng: np.random.Generator, draws: int) -> tuple[Floats, Floats]:
        counts = (self.totals.sums + self.alpha).T
        return log_dirichlet(rng, counts, draws), np.zeros((draws, counts.shape[1]))

    def add_nodes(self, nodes: Nodes) -> None:
        what = "a multinomial distribution over all columns"
        raise nodes.refusal(self, what, "BernoulliNB has a node for each column.")

    def log_excess(self, chunk: Chunk) -> Floats:
        """Return −log of the multinomial coefficient. Predictions omit it because it is the same for every class."""
        return np.zeros(chunk.n_rows) if self.include_coefficient else -log_coefficient(chunk.block)

    def log_prior(self, mean: Floats, alpha: float) -> float:
        return imaginary_log(self.alpha[:, None], self.feature_log_prob.T)


def linear(table: Floats, impossible: Floats | None) -> Score:
    """Return Σ_v x_v·table[v] of the columns of a block, −inf where a column that cannot occur is above 0."""
    k, terms = table.shape[1], []
    for v, weights in enumerate(table):
        there: list[Score] = [Product((Number(v), constant(weights)))]
        if impossible is not None and impossible[v].any():
            there.append(Step(v, 0.0, np.zeros(k), np.where(impossible[v] > 0, -np.inf, 0.0)))
        terms.append(IfPresent(v, Sum(tuple(there)), constant(np.zeros(k))))
    return Sum(tuple(terms))


def imaginary_log(mass: Floats, logs: Floats) -> float:
    """Return Σ a log θ, in which 0 log 0 is 0."""
    mass = np.broadcast_to(mass, logs.shape)
    return float((mass * np.where(mass > 0.0, logs, 0.0)).sum())


def estimate_multinomial(
    totals: Totals, alpha: ArrayLike = 1.0, include_coefficient: bool = False
) -> Multinomial:
    r"""Estimate the word distribution of each class.

    .. math:: \hat\theta_{cv} = \frac{S_{cv} + \alpha_v}{\sum_v S_{cv} + \sum_v \alpha_v}

    Parameters
    ----------
    totals : Totals
    alpha : float or array of shape (V,)
        Imaginary occurrences of every word in every class; 0 gives relative frequencies. A class that
        has no words at all then gives every word probability zero.
    include_coefficient : bool
        Let scores be log P(x | c) with the multinomial coefficient.

    Examples
    --------
    >>> model = estimate_multinomial(Totals(np.array([[2., 0.]]), np.array([1.])))
    >>> np.exp(model.feature_log_prob)
    array([[0.75, 0.25]])
    """
    smoothed = totals.sums + checked_alpha(alpha, totals.sums.shape[1])
    whole = smoothed.sum(axis=1)
    never = (smoothed <= 0) if smoothed.min(initial=1.0) <= 0 else None
    if never is not None:
        smoothed[never] = 1.0
    logs = np.log(smoothed, out=smoothed)
    logs -= np.log(np.where(whole > 0, whole, 1.0))[:, None]
    if never is not None:
        logs[never] = 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_length = np.where(totals.rows > 0, totals.sums.sum(axis=1) / totals.rows, 0.0)
    impossible = None if never is None else np.ascontiguousarray(never.T, dtype=np.float64)
    pseudo = np.array(np.broadcast_to(np.asarray(alpha, np.float64), totals.sums.shape[1]))
    return Multinomial(
        np.ascontiguousarray(logs.T), impossible, mean_length, include_coefficient, totals, pseudo
    )


def entries_of(block: Block) -> Any:
    """Return a block as sparse rows, each cell stored once.

    >>> entries_of(np.array([[0.0, 2.0]])).indices.tolist()
    [1]
    """
    if not is_sparse(block):
        from scipy.sparse import csr_array

        block = csr_array(block)
    return summed(block)


def checked_alpha(alpha: ArrayLike, width: int) -> Floats:
    """Return the pseudo-counts as an array of shape () or (width,)."""
    pseudo = np.asarray(alpha, dtype=np.float64)
    if pseudo.ndim and pseudo.shape != (width,):
        raise SettingError(
            "alpha has shape {shape}; give one number, or an array with one for each of the {width} columns.",
            shape=pseudo.shape,
            width=width,
        )
    if not (np.isfinite(pseudo).all() and (pseudo >= 0).all()):
        raise SettingError("alpha is {alpha!r}; imaginary counts are finite and not negative.", alpha=alpha)
    return pseudo


def log_coefficient(block: Block) -> Floats:
    r"""Return the log of the multinomial coefficient of each row; −inf where its numbers are no counts, or no
    factorial of them is a double.

    .. math:: \log \frac{(\sum_v x_v)!}{\prod_v x_v!}

    Examples
    --------
    >>> float(np.exp(log_coefficient(np.array([[2., 1.]])))[0].round(12))
    3.0
    """
    block = summed(block)
    with np.errstate(over="ignore", invalid="ignore"):
        if is_sparse(block):
            lengths = np.asarray(block.sum(axis=1)).ravel()
            arrangements = block.copy()
            arrangements.data = _log_factorial(block.data)
            same = np.asarray(arrangements.sum(axis=1)).ravel()
        else:
            lengths, same = block.sum(axis=1), _log_factorial(block).sum(axis=1)
        coefficient: Floats = _log_factorial(lengths) - same
    return np.where(np.isfinite(coefficient), coefficient, -np.inf)


def _log_factorial(counts: Floats) -> Any:
    """log x!, inf where x is below zero."""
    from scipy.special import gammaln

    return np.where(counts < 0, np.inf, gammaln(counts + 1.0))


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

    def _present(self, block: Block) -> Any:
        """Return 1 for each word that is in a text, otherwise 0."""
        if not is_sparse(block):
            return (block > self.binarize).astype(np.float64)
        if self.binarize < 0:  # a word that is not stored counts as present
            return (block.toarray() > self.binarize).astype(np.float64)
        from scipy.sparse import csr_array

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
            "The totals of class {c} (by number) exceed its {row:g} rows, so they are not counts of zeros "
            "and ones. Count them with binarize=0.",
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
