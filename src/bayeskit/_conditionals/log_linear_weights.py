r"""The weights of a log-linear model: the least penalised log-loss of rows that are left out of the counts.

.. math:: \min_{w \ge 0,\, b} \; \sum_r -\log P(y_r \mid x_r) + \lambda \sum_k (w_k - \bar w_{g(k)})^2
          + \tfrac12 \sum_y b_y^2

The terms of a row are those of the counts without it. Even so they reveal its class a little, since that class is
always one count short, and a negative weight would use it. So no weight is below zero. The centre of each weight is
the best common weight of all terms of its kind (singles, pairs, triples).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular

from bayeskit._blas import one_blas_thread
from bayeskit.typing import Floats

Ints = NDArray[np.int64]

# The penalties tried, from the largest on, each from the weights of the one before.
PATH = (100.0, 30.0, 10.0, 3.0, 1.0)
# On fewer rows the least penalties look better than they are.
FEW_ROWS, LEAST_ON_FEW = 1_000, 10.0
# λ of the biases, and of the weights that all terms of a kind share.
_OF_BIASES, _OF_KINDS = 0.5, 1e-2
# A step that gains less than this share of the loss is the last but one.
_LEAST_GAIN = 1e-9
_MOST_STEPS = 60
# Numbers beyond which terms are held in single precision: twice as many in the cache, twice as fast.
_MOST_DOUBLES = 2**20
# With more classes there is no bias for each: they would cost more than all terms together, and P(c) is counted.
MOST_BIASED = 40
# Numbers of a block of rows whose leverages are made at a time.
_BLOCK = 2**22


@dataclass(frozen=True, eq=False)
class RowLosses:
    """The log-loss of rows as a function of weights, each other class of a row measured against its true one.

    Attributes
    ----------
    features : array of shape (weights, n × (K − 1))
        By how much each term scores another class above the true one; last come the biases of the classes.
    base : array of shape (n, K − 1)
        The same of log P(c).
    weights : array of shape (n,)
        How much the loss of each row counts.
    """

    features: Floats
    base: Floats
    weights: Floats

    @classmethod
    def of(cls, terms: Floats, log_prior: Floats, target: Ints, weights: Floats) -> RowLosses:
        """Return the losses of rows with these terms, of shape (G, n, K), and log P(c), of shape (n, K)."""
        g, n, k = terms.shape
        others = np.arange(k - 1) + (np.arange(k - 1) >= target[:, None])
        rows = np.arange(n)
        dtype = np.float64 if terms.size <= _MOST_DOUBLES else np.float32
        n_biases = k if k <= MOST_BIASED else 0
        features = np.empty((g + n_biases, n, k - 1), dtype=dtype)
        for j in range(g):
            features[j] = np.take_along_axis(terms[j], others, 1) - terms[j, rows, target][:, None]
        for c in range(n_biases):
            features[g + c] = (others == c).astype(dtype) - (target == c)[:, None]
        # A class whose prior is 0 stays out, and no weight can help it.
        log_prior = np.maximum(log_prior, -745.0)
        base = np.take_along_axis(log_prior, others, 1) - log_prior[rows, target][:, None]
        return cls(features.reshape(g + n_biases, n * (k - 1)), base, weights)

    @property
    def shape(self) -> tuple[int, int]:
        return self.base.shape[0], self.base.shape[1]

    def some(self, known: NDArray[np.bool_]) -> RowLosses:
        """Return the losses as a function of the weights of some terms, and of the biases."""
        biases = np.ones(len(self.features) - len(known), dtype=bool)
        return replace(self, features=self.features[np.concatenate([known, biases])])

    def summed(self, kinds: Ints, there: Ints) -> RowLosses:
        """Return the losses as a function of one weight for all terms of each kind."""
        sums = [self.features[: len(kinds)][kinds == kind].sum(axis=0, keepdims=True) for kind in there]
        return replace(self, features=np.vstack([*sums, self.features[len(kinds) :]]))

    def scores(self, w: Floats) -> Floats:
        """Return by how much each other class scores above the true one: shape (n, K − 1)."""
        found = w.astype(self.features.dtype) @ self.features
        return np.asarray(found.reshape(self.shape) + self.base)

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Return the loss of all rows, and P(other class): shape (n, K − 1)."""
        losses, shares = losses_of(self.scores(w))
        return float(self.weights @ losses), shares

    def slope(self, shares: Floats) -> Floats:
        pull = (self.weights[:, None] * shares).astype(self.features.dtype)
        return np.asarray(self.features @ pull.reshape(-1), dtype=np.float64)

    def curvature(self, shares: Floats) -> Floats:
        """Return the second derivatives of the loss: shape (G + K, G + K)."""
        n, others = self.shape
        pull = self.weights[:, None] * (shares * (1.0 - shares) if others == 1 else shares)
        bent = self.features * pull.reshape(-1).astype(self.features.dtype)
        found = (bent @ self.features.T).astype(np.float64)
        if others > 1:
            share = shares.astype(self.features.dtype)
            mean = np.einsum("gnc,nc->gn", self.features.reshape(-1, n, others), share)
            root = np.sqrt(self.weights).astype(mean.dtype)
            mean *= root
            found -= mean @ mean.T
        return 0.5 * (found + found.T)


def losses_of(scores: Floats) -> tuple[Floats, Floats]:
    """Return −log P of the true class, and P of each other, from how much these score above it."""
    best = np.maximum(scores.max(axis=1, initial=0.0), 0.0)
    shares = np.exp(scores - best[:, None])
    total = np.exp(-best) + shares.sum(axis=1)
    return best + np.log(total), shares / total[:, None]


@dataclass(frozen=True, eq=False)
class Penalty:
    """λ (w − centre)² of every weight, and which may not be below zero."""

    strength: Floats
    centre: Floats
    bounded: NDArray[np.bool_]

    def __call__(self, w: Floats) -> float:
        return float(self.strength @ (w - self.centre) ** 2)


def minimise(
    losses: RowLosses, penalty: Penalty, start: Floats, curvature: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return the weights of least loss and penalty, and the second derivatives of the loss there.

    Newton's steps, projected, with the bounds that hold set aside. The second derivatives are kept while the gains
    fall fast: making them costs more than all else. Those of a point near by may be given.
    """
    w = start.copy()
    loss, shares = losses(w)
    value, before = loss + penalty(w), np.inf
    newton = _Newton(penalty)
    for _ in range(_MOST_STEPS):
        is_fresh = curvature is None
        if curvature is None:
            curvature = losses.curvature(shares)
        slope, step = newton.step(losses, w, shares, curvature)
        moved = _along(losses, penalty, w, value, slope, step)
        if moved is None and is_fresh:
            break
        if moved is None:
            curvature = None
            continue
        gain = value - moved[1]
        w, value, shares = moved
        if gain < _LEAST_GAIN * value:
            break
        if gain > 0.1 * before:
            curvature = None
        before = gain
    # The values no longer show how near the minimum is, but the steps do: the last step is taken in full.
    curvature = losses.curvature(shares)
    last = w + newton.step(losses, w, shares, curvature)[1]
    return np.where(penalty.bounded, np.maximum(last, 0.0), last), curvature


class _Newton:
    """Newton's steps. The factor of second derivatives serves as long as they and the weights at zero stay the same."""

    def __init__(self, penalty: Penalty) -> None:
        self.penalty = penalty
        self._of: tuple[Floats, NDArray[np.bool_]] | None = None
        self._factored = np.empty((0, 0))

    def step(self, losses: RowLosses, w: Floats, shares: Floats, curvature: Floats) -> tuple[Floats, Floats]:
        """Return the slope, and Newton's step of the weights that are not held at zero."""
        penalty = self.penalty
        slope = losses.slope(shares) + 2.0 * penalty.strength * (w - penalty.centre)
        free = ~(penalty.bounded & (w <= 0.0) & (slope > 0.0))
        if self._of is None or self._of[0] is not curvature or not np.array_equal(self._of[1], free):
            bend = curvature[np.ix_(free, free)] + np.diag(2.0 * penalty.strength[free])
            self._of, self._factored = (curvature, free), _factor(bend)
        step = np.zeros_like(w)
        step[free] = -cho_solve((self._factored, True), slope[free])
        return slope, step


def _along(
    losses: RowLosses, penalty: Penalty, w: Floats, value: float, slope: Floats, step: Floats
) -> tuple[Floats, float, Floats] | None:
    """Go along a step, back towards the start until the value falls; None where it does not."""
    length = 1.0
    for _ in range(12):
        tried = w + length * step
        tried[penalty.bounded] = np.maximum(tried[penalty.bounded], 0.0)
        loss, shares = losses(tried)
        found = loss + penalty(tried)
        if found <= value + 1e-4 * float(slope @ (tried - w)) and found < value:
            return tried, found, shares
        length *= 0.5
    return None


def _factor(bend: Floats) -> Floats:
    """Return the lower triangular root of second derivatives, which rounding may have made singular."""
    least = 1e-9 * max(1.0, float(np.trace(bend)) / max(len(bend), 1))
    return np.asarray(cholesky(bend + least * np.eye(len(bend)), lower=True))


@dataclass(frozen=True, eq=False)
class Leverage:
    """How much a row moves the weights, and so its own scores, when it is taken out of those that chose them.

    Attributes
    ----------
    free : mask of shape (G + K,)
        The weights that are not held at zero, and the biases.
    factor : lower triangular array
        Of the second derivatives of loss and penalty in these.
    """

    free: NDArray[np.bool_]
    factor: Floats

    @classmethod
    def at(cls, curvature: Floats, penalty: Penalty, w: Floats) -> Leverage:
        free = ~(penalty.bounded & (w <= 0.0))
        bend = curvature[np.ix_(free, free)] + np.diag(2.0 * penalty.strength[free])
        return cls(free, _factor(bend))

    @one_blas_thread
    def left_out(self, losses: RowLosses, w: Floats, own: Floats) -> Floats:
        r"""Return the scores of each row by weights that it had no part in, to first order: shape (n, K − 1).

        .. math:: s + A (I - r W A)^{-1} r p, \quad A = X^\top H^{-1} X, \; W = \operatorname{diag}(p) - p p^\top

        with X the terms of the row, H the second derivatives, r the weight ``own`` of the row in the loss.
        """
        scores = losses.scores(w)
        if not self.free.any():
            return scores
        shares = losses_of(scores)[1]
        n, others = losses.shape
        factor = self.factor.astype(losses.features.dtype)
        features = losses.features.reshape(-1, n, others)
        n_free = int(self.free.sum())
        step = max(16, _BLOCK // max(n_free * others, min(n_free, others) ** 2, 1))
        for begin in range(0, n, step):
            rows = slice(begin, min(begin + step, n))
            some = np.ascontiguousarray(features[:, rows][self.free])
            spread = solve_triangular(factor, some.reshape(len(some), -1), lower=True, check_finite=False)
            spread = spread.reshape(some.shape).transpose(1, 0, 2)
            p, r = shares[rows], own[rows]
            if len(some) < others:  # A = S'S: the same by a matrix of as many rows as there are weights
                moved = (spread @ p[:, :, None])[:, :, 0]
                inner = (spread * p[:, None, :]) @ spread.transpose(0, 2, 1) - moved[:, :, None] * moved[
                    :, None, :
                ]
                pull = np.eye(len(some)) - r[:, None, None] * inner
                solved = np.linalg.solve(pull, (r[:, None] * moved)[:, :, None])
                scores[rows] += (spread.transpose(0, 2, 1) @ solved)[:, :, 0]
                continue
            own_spread = (spread.transpose(0, 2, 1) @ spread).astype(np.float64)
            bend = -p[:, :, None] * p[:, None, :]
            bend[:, np.arange(others), np.arange(others)] += p
            pull = np.eye(others) - r[:, None, None] * (bend @ own_spread)
            scores[rows] += (own_spread @ np.linalg.solve(pull, (r[:, None] * p)[:, :, None]))[:, :, 0]
        return scores


@dataclass(frozen=True, eq=False)
class Weights:
    """What was chosen: one weight for each term, a bias for each class, and how.

    Attributes
    ----------
    terms : array of shape (G,)
    bias : array of shape (K,)
    penalty : float
        The λ chosen.
    leverage : Leverage
    losses : mapping from λ to the mean log-loss of rows that neither counts nor weights know
    left_out : array of shape (n,)
        That loss of each row.
    """

    terms: Floats
    bias: Floats
    penalty: float
    leverage: Leverage
    losses: dict[float, float]
    left_out: Floats

    @classmethod
    def none(cls, n_terms: int, n_classes: int) -> Weights:
        """Return the weights where there is nothing to choose them by: the class prior answers."""
        free = np.zeros(n_terms + n_classes, dtype=bool)
        nothing = np.zeros(0)
        return cls(
            np.zeros(n_terms), np.zeros(n_classes), 0.0, Leverage(free, nothing.reshape(0, 0)), {}, nothing
        )

    def among(self, known: NDArray[np.bool_]) -> Weights:
        """Return the weights of more terms, those not among the ``known`` ones held at zero."""
        terms = np.zeros(len(known))
        terms[known] = self.terms
        n_biases = len(self.leverage.free) - len(self.terms)
        free = np.ones(len(known) + n_biases, dtype=bool)
        free[: len(known)] = False
        free[: len(known)][known] = self.leverage.free[: len(self.terms)]
        return replace(self, terms=terms, leverage=replace(self.leverage, free=free))

    @one_blas_thread
    def scores_left_out(self, losses: RowLosses, own: Floats) -> Floats:
        """Return the scores of rows by counts and weights that neither knows of, to first order: shape (n, K − 1)."""
        w = np.concatenate([self.terms, self.bias])[: len(losses.features)]  # biases last, if there are any
        return self.leverage.left_out(losses, w, own)


@one_blas_thread
def choose_weights(losses: RowLosses, kinds: Ints, own: Floats, path: tuple[float, ...]) -> Weights:
    """Choose weights and penalty: the largest λ whose loss is within one standard error of the least.

    Parameters
    ----------
    losses : RowLosses
    kinds : array of shape (G,)
        0, 1 or 2: whether a term is of one, two or three attributes.
    own : array of shape (n,)
        The weight of one copy of each row.
    path : the penalties to try, descending
    """
    n_classes, n_biases = losses.shape[1] + 1, len(losses.features) - len(kinds)
    centre = np.concatenate([_of_kinds(losses, kinds)[kinds], np.zeros(n_biases)])
    bounded = np.arange(len(centre)) < len(kinds)
    tried: list[Weights] = []
    w, curvature = centre, None
    means: dict[float, float] = {}
    for strength in path:
        penalty = Penalty(np.where(bounded, strength, _OF_BIASES), centre, bounded)
        w, curvature = minimise(losses, penalty, w, curvature)
        leverage = Leverage.at(curvature, penalty, w)
        left_out = losses_of(leverage.left_out(losses, w, own))[0]
        means[strength] = float(losses.weights @ left_out / losses.weights.sum())
        bias = w[len(kinds) :] if n_biases else np.zeros(n_classes)
        tried.append(Weights(w[: len(kinds)], bias, strength, leverage, means, left_out))
        least = list(means.values())
        if len(least) >= 3 and least[-1] > least[-2] > least[-3]:
            break
    best = min(tried, key=lambda one: means[one.penalty])
    return next(one for one in tried if not is_worse(one.left_out, best.left_out, losses.weights, own))


def _of_kinds(losses: RowLosses, kinds: Ints) -> Floats:
    """Return the best common weight of the terms of each kind; 0 for a kind without terms."""
    there, n_biases = np.unique(kinds), len(losses.features) - len(kinds)
    start = [0.5 if kind == 0 else 1.0 / max(int((kinds == 0).sum()), 1) for kind in there]
    bounded = np.arange(len(there) + n_biases) < len(there)
    centre = np.array([*start, *np.zeros(n_biases)])
    penalty = Penalty(np.where(bounded, _OF_KINDS, _OF_BIASES), centre, bounded)
    found = np.zeros(3)
    found[there] = minimise(losses.summed(kinds, there), penalty, centre)[0][: len(there)]
    return found


def is_worse(losses: Floats, others: Floats, weights: Floats, own: Floats) -> bool:
    """Return whether losses are on average more than one standard error above others of the same rows."""
    excess, total = losses - others, weights.sum()
    mean = float(weights @ excess / total)
    spread = float(np.sqrt(weights @ (excess - mean) ** 2 / total))
    n = float((weights / own).sum())
    # Where next to nothing differs, neither is worse: rounding is not to decide.
    return bool(mean > spread / np.sqrt(n) + 1e-6)
