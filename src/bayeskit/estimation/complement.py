"""Complement naive Bayes: a class scores by how little a text looks like all the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit.counting.totals import refuse_unusable
from bayeskit.data.chunk import Chunk
from bayeskit.errors import UsageError
from bayeskit.estimation.kernels.block import add_product
from bayeskit.estimation.multinomial import checked_alpha
from bayeskit.statistics.totals import Totals

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Complement:
    """Scores Σ_v x_v w_cv. They rank classes; they are no log-probabilities of anything.

    Attributes
    ----------
    table : array of shape (V, K)
        The weights, the classes of a word side by side; 0 in place of an infinite one.
    certain : float array of shape (V, K), or None
        One where the weight is infinite: with ``alpha=0``, no other class has the word.
    """

    table: Floats
    certain: Floats | None

    @property
    def feature_log_prob(self) -> Floats:
        """The weights of shape (K, V): scikit-learn's name for them."""
        if self.certain is None:
            return self.table.T
        return np.where(self.certain > 0, np.inf, self.table).T

    @property
    def adds_prior(self) -> bool:
        """Whether log P(c) belongs to the score: only where there is a single class."""
        return bool(self.table.shape[1] == 1)

    @property
    def is_distribution(self) -> bool:
        """The scores are no log-probabilities of words."""
        return self.adds_prior

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        add_product(chunk.block, self.table, out)
        if not np.isfinite(out).all():
            refuse_unusable(chunk.block, signed=True, first_row=chunk.first_row)
        if self.certain is not None:
            # As alpha → 0 a weight grows as −log alpha: what counts first is how much of the text is
            # certain for each class, and only among equals (up to rounding) the finite rest.
            evidence = np.zeros(out.shape)
            add_product(chunk.block, self.certain, evidence)
            most = evidence.max(axis=1, keepdims=True)
            out[evidence < most - 1e-12 * np.abs(most)] = -np.inf

    def sample(self, classes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        raise UsageError(
            "Complement naive Bayes scores texts but is no distribution of them, so none can be drawn. "
            'Use the "multinomial" family to draw texts.'
        )


def estimate_complement(totals: Totals, alpha: ArrayLike = 1.0, norm: bool = False) -> Complement:
    r"""Weigh every word by its rarity in the complement of each class.

    .. math:: w_{cv} = -\log \frac{\alpha_v + \sum_{c' \ne c} S_{c'v}}
                                  {\sum_v \alpha_v + \sum_{c' \ne c} \sum_v S_{c'v}}

    Parameters
    ----------
    totals : Totals
    alpha : float or array of shape (V,)
    norm : bool
        Divide the weights of each class by their sum (over v of |w|), so that long vocabularies and
        dependent words count no class twice.

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
    n_classes, width = totals.sums.shape
    everywhere = totals.sums.sum(axis=0)
    others = everywhere - totals.sums
    # What a sum of K numbers minus one of them may keep by rounding, or fall below zero.
    others[others <= n_classes * np.finfo(np.float64).eps * everywhere] = 0.0
    others += checked_alpha(alpha, width)
    certain = (others <= 0) if others.min(initial=1.0) <= 0 else None
    whole = others.sum(axis=1, keepdims=True)
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
    )


def _normed(weights: Floats, certain: NDArray[np.bool_] | None) -> Floats:
    """Divide by the sum over words. Infinite weights, all of one size, share the whole among them."""
    if certain is not None:
        endless = certain.any(axis=1)
        weights[endless] = certain[endless]
    whole = weights.sum(axis=1, keepdims=True)
    normed: Floats = np.divide(weights, whole, out=weights, where=whole > 0)
    return normed
