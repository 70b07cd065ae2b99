r"""Calibration of posteriors on leave-one-out predictions.

No validation set is needed: each row is predicted by the model of all other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._data.encoded import Chunk
from bayeskit._data.source import Source
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.leave_one_out import LeaveOneOut, learned_chunks, log_posterior, spread
from bayeskit._fitting.model import class_prior_of, weighted_classes
from bayeskit._messages import Joined, Message
from bayeskit._numba import kernel
from bayeskit._schema import Label
from bayeskit.errors import ModelFormatError, SettingError
from bayeskit.typing import Floats


@kernel
def pool_violators(share: Any, weight: Any, size: Any) -> None:
    """Replace ``share`` by the ascending sequence with the least weighted squared distance; ``size`` is scratch.

    Two adjacent runs are pooled into their mean while the later one is lower (Ayer et al. 1955).
    """
    runs = 0
    n = share.shape[0]
    for i in range(n):
        mean, mass, length = share[i], weight[i], 1
        while runs > 0 and share[runs - 1] >= mean:
            before = weight[runs - 1]
            mean = (share[runs - 1] * before + mean * mass) / (before + mass)
            mass += before
            runs -= 1
            length += size[runs]
        share[runs], weight[runs], size[runs] = mean, mass, length
        runs += 1
    # Runs are stored at the front, so they are expanded from the back.
    stop = n
    for run in range(runs - 1, -1, -1):
        mean = share[run]
        for i in range(stop - size[run], stop):
            share[i] = mean
        stop -= size[run]


def isotonic(share: ArrayLike, weight: ArrayLike) -> Floats:
    """Return the ascending sequence nearest to ``share``.

    >>> isotonic(np.array([0.0, 1.0, 0.0, 1.0]), np.ones(4)).tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    pooled = np.array(share, dtype=np.float64)
    pool_violators(pooled, np.array(weight, dtype=np.float64), np.empty(len(pooled), dtype=np.int64))
    return pooled


Codes = NDArray[np.intp]
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

METHODS = ("temperature", "isotonic")
# The maximum number of rows used for calibration, evenly spaced over the source; fewer if each needs a new estimate.
MOST_ROWS, MOST_REFITS = 100_000, 2_000
# Bounds of 1/t. Beyond them, posteriors are 0 and 1, or all equal.
LEAST_INVERSE, LARGEST_INVERSE = 1e-3, 1e3
_TIE = 1e-10


Curve = tuple[tuple[float, ...], tuple[float, ...]]


class Corrections(Protocol[T_co]):
    """A target language of an export, into which calibrations are translated."""

    def temper(self, t: float, /) -> T_co:
        """Raise posteriors to the power 1/t, and normalise."""
        ...

    def bend(self, curves: Sequence[Curve | None], least: float, /) -> T_co:
        """Map the posterior of each class by its curve (None: unchanged), clip it to [least, 1 − least], normalise."""
        ...


class Calibration(Protocol):
    """A correction of posteriors."""

    def log_posterior(self, log_posterior: Floats, labels: tuple[Label, ...]) -> Floats:
        """Return the calibrated log P(c | x)."""
        ...

    def plain(self) -> dict[str, Any]:
        """Return the calibration as numbers and text, for ``held_`` and for files."""
        ...

    def write(self, corrections: Corrections[T], labels: tuple[Label, ...]) -> T:
        """Call the method for this kind of calibration, with the classes in this order."""
        ...


@dataclass(frozen=True)
class Temperature:
    r"""P(c | x) raised to the power 1/t and normalised. t > 1 makes posteriors less certain.

    Examples
    --------
    >>> np.exp(Temperature(0.5).log_posterior(np.log([[0.5, 0.25, 0.25]]), ())).round(3)
    array([[0.667, 0.167, 0.167]])
    """

    t: float

    @classmethod
    def fitted(cls, log_posterior: Floats, target: Codes, weights: Floats) -> Temperature:
        """Choose the t with the lowest weighted log-loss, which is convex in 1/t.

        One imaginary row in N + 2 has any class (Platt's correction). Without it, posteriors would become 0 and 1 if
        every row is predicted correctly, and the next mistake would have an infinite loss. Rows whose class has
        posterior 0 have an infinite loss under every t and are ignored. If there are no other rows, t is 1.
        """
        scores = log_posterior - log_posterior.max(axis=1, keepdims=True)
        true = scores[np.arange(len(target)), target]
        possible = np.isfinite(true) & (weights > 0.0)
        scores, true, weights = scores[possible], true[possible], weights[possible]
        ruled_out = np.isneginf(scores)
        finite = np.where(ruled_out, 0.0, scores)
        any_class = finite.sum(axis=1) / np.maximum((~ruled_out).sum(axis=1), 1)
        true += (any_class - true) / (weights.sum() + 2.0)

        def slopes(inverse: float) -> tuple[float, float, float]:
            """Return the first and second derivative of the loss in 1/t, and the magnitude of their terms."""
            share = np.where(ruled_out, 0.0, np.exp(inverse * finite))
            share /= share.sum(axis=1, keepdims=True)
            mean = (share * finite).sum(axis=1)
            spread = (share * (finite - mean[:, None]) ** 2).sum(axis=1)
            return weights @ (mean - true), weights @ spread, weights @ (np.abs(mean) + np.abs(true))

        return cls(1.0 / _root(slopes))

    def log_posterior(self, log_posterior: Floats, labels: tuple[Label, ...]) -> Floats:
        """Return the calibrated log P(c | x). The labels are not used."""
        return _normalised(log_posterior / self.t)

    def plain(self) -> dict[str, Any]:
        """Return the calibration as numbers and text, for ``held_`` and for files."""
        return {"method": "temperature", "t": self.t}

    def write(self, corrections: Corrections[T], labels: tuple[Label, ...]) -> T:
        """Call the method of ``corrections`` for this kind of calibration."""
        return corrections.temper(self.t)


@dataclass(frozen=True)
class Isotonic:
    """P(c | x) of each class mapped by an ascending curve, then normalised.

    Attributes
    ----------
    knots : mapping from class to (posteriors, shares)
        The curve is linear between two knots and constant beyond them. A class without knots, which appeared
        later, keeps its posterior.
    least : float
        Shares are clipped to [least, 1 − least] before they are normalised.

    Examples
    --------
    >>> curve = Isotonic({"a": ((0.1, 0.9), (0.3, 0.7)), "b": ((0.1, 0.9), (0.3, 0.7))}, 0.01)
    >>> np.exp(curve.log_posterior(np.log([[0.9, 0.1], [0.5, 0.5]]), ("a", "b"))).round(3)
    array([[0.7, 0.3],
           [0.5, 0.5]])
    """

    knots: Mapping[Label, Curve]
    least: float

    @classmethod
    def fitted(
        cls, log_posterior: Floats, target: Codes, weights: Floats, labels: tuple[Label, ...]
    ) -> Isotonic:
        """Fit one curve for each class against the rest, by pooling adjacent violators."""
        posterior = np.exp(log_posterior)
        rows = np.flatnonzero(weights > 0.0)
        knots = {}
        for c, label in enumerate(labels):
            order = rows[np.argsort(posterior[rows, c], kind="stable")]
            p, w = posterior[order, c], weights[order]
            # Treat posteriors that differ only by rounding as equal. Otherwise the curve would depend on the last bit.
            place = np.cumsum(np.diff(p, prepend=p[:1]) > _TIE * p)
            weight = np.bincount(place, weights=w)
            at = np.bincount(place, weights=w * p) / weight
            share = isotonic(np.bincount(place, weights=w * (target[order] == c)) / weight, weight)
            # Only the ends of each constant run are needed.
            turn = np.diff(share) != 0.0
            end = np.concatenate([[True], turn]) | np.concatenate([turn, [True]])
            knots[label] = (tuple(at[end].tolist()), tuple(share[end].tolist()))
        return cls(knots, 1.0 / (float(weights.sum()) + 2.0))

    def log_posterior(self, log_posterior: Floats, labels: tuple[Label, ...]) -> Floats:
        """Return the calibrated log P(c | x)."""
        share = np.exp(log_posterior)
        for c, label in enumerate(labels):
            if label in self.knots:
                share[:, c] = np.interp(share[:, c], *self.knots[label])
        return _normalised(np.log(np.clip(share, self.least, 1.0 - self.least)))

    def plain(self) -> dict[str, Any]:
        """Return the calibration as numbers and text, for ``held_`` and for files."""
        return {"method": "isotonic", "knots": dict(self.knots), "least": self.least}

    def write(self, corrections: Corrections[T], labels: tuple[Label, ...]) -> T:
        """Call the method of ``corrections`` for this kind of calibration."""
        return corrections.bend([self.knots.get(label) for label in labels], self.least)


def from_held(held: Mapping[str, Any]) -> Temperature | Isotonic | None:
    """Return the calibration that a model holds.

    >>> from_held({"calibration": {"method": "temperature", "t": 2.0}})
    Temperature(t=2.0)
    """
    plain = held.get("calibration")
    if plain is None:
        return None
    try:
        match plain["method"]:
            case "temperature":
                temperature = Temperature(float(plain["t"]))
                if LEAST_INVERSE <= 1.0 / temperature.t <= LARGEST_INVERSE:
                    return temperature
            case "isotonic":
                isotonic = Isotonic(plain["knots"], float(plain["least"]))
                if all(_ascends(*curve) for curve in isotonic.knots.values()) and 0.0 < isotonic.least <= 0.5:
                    return isotonic
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        pass
    raise ModelFormatError(
        Message("{plain} is not a calibration. Fit the model again, then save it.", plain=str(plain)[:200])
    )


def check_method(method: object) -> None:
    """Raise an error for an unknown method of calibration."""
    if method is not None and not (isinstance(method, str) and method in METHODS):
        raise SettingError(
            "calibration is {method!r}; choose from None, {names}.",
            method=method,
            names=Joined(map(repr, METHODS)),
        )


def calibrate(fitted: FittedState, source: Source, method: str) -> Temperature | Isotonic:
    """Calibrate a model on leave-one-out predictions of its own rows, in one more pass over the source.

    A row of weight w counts as w rows of weight 1: min(w, 1) is left out of the counts, and its loss has weight w.
    """
    posterior, target, weights = spread_posteriors(fitted, source)
    weights = weights * _wanted_shares(fitted, target, weights)
    if method == "temperature":
        return Temperature.fitted(posterior, target, weights)
    return Isotonic.fitted(posterior, target, weights, fitted.schema.target.states)


def spread_posteriors(fitted: FittedState, source: Source) -> tuple[Floats, Codes, Floats]:
    """Return the leave-one-out log-posteriors, classes and weights of evenly spaced rows of a source."""
    assert fitted.spec is not None
    return spread_left_out(LeaveOneOut(fitted.statistics, fitted.spec), learned_chunks(fitted, source))


def spread_left_out(
    left_out: LeaveOneOut, chunks: Iterable[Chunk], most: int | None = None
) -> tuple[Floats, Codes, Floats]:
    """Return the leave-one-out log-posteriors, classes and weights of evenly spaced rows of some chunks.

    ``most`` is the maximum number of rows. By default, it is smaller if each row needs a new estimate.
    """
    if most is None:
        most = MOST_ROWS if left_out.fast and not left_out.balanced else MOST_REFITS

    def score(part: Chunk) -> tuple[Floats, Codes, Floats]:
        assert part.target is not None
        joint, log_prior = left_out.scores(part, np.minimum(part.row_weights, 1.0))
        return log_posterior(joint, log_prior), part.target.astype(np.intp), part.row_weights

    posterior, target, weights = spread(chunks, score, most)
    return posterior, target, weights


def _wanted_shares(fitted: FittedState, target: Codes, weights: Floats) -> Floats:
    """Return a factor for each row's weight, so that the classes have the frequencies that the user asked for.

    Class weights or a given class prior mean that future rows have other class frequencies than these rows. A
    calibration fitted to the frequencies of these rows would undo that. The total weight stays the same.
    """
    assert fitted.spec is not None
    weighted = weighted_classes(fitted.statistics, fitted.spec)
    shares, before = weighted.class_counts, fitted.statistics.class_counts
    if fitted.spec.class_prior is not None:
        shares = class_prior_of(weighted, fitted.spec).share
    factors = np.divide(shares, before, out=np.zeros_like(before), where=before > 0.0)[target]
    total = weights @ factors
    return factors * (weights.sum() / total) if total > 0.0 else np.ones_like(weights)


def _root(slopes: Callable[[float], tuple[float, float, float]]) -> float:
    """Return the root of an ascending slope between the bounds, by bracketed Newton steps."""
    slope, bend, size = slopes(1.0)
    if abs(slope) <= 1e-15 * size:
        return 1.0
    low, high = (LEAST_INVERSE, 1.0) if slope > 0.0 else (1.0, LARGEST_INVERSE)
    bound = low if slope > 0.0 else high
    if slopes(bound)[0] * slope >= 0.0:
        return bound
    inverse, before = 1.0, 0.0
    while abs(inverse - before) > 1e-14 * inverse and abs(slope) > 1e-15 * size:
        step = inverse - slope / bend if bend * high > abs(slope) else 0.0  # a longer one leaves the bounds
        before, inverse = inverse, (step if low < step < high else float(np.sqrt(low * high)))
        slope, bend, size = slopes(inverse)
        low, high = (low, inverse) if slope > 0.0 else (inverse, high)
    return float(inverse)


def _normalised(log_share: Floats) -> Floats:
    log_share = log_share - log_share.max(axis=1, keepdims=True)
    return np.asarray(log_share - np.log(np.exp(log_share).sum(axis=1, keepdims=True)))


def _ascends(at: ArrayLike, share: ArrayLike) -> bool:
    """Whether a curve is valid: as many shares as positions, both ascending between 0 and 1."""
    x, y = np.asarray(at, dtype=np.float64), np.asarray(share, dtype=np.float64)
    fine = x.ndim == 1 and x.shape == y.shape and len(x) > 0
    return bool(
        fine and all(((a >= 0) & (a <= 1.0 + 1e-9)).all() and (np.diff(a) >= 0).all() for a in (x, y))
    )
