"""The class prior P(c), and the posterior P(c | x) from log P(c, x)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._numba import kernel
from bayeskit._schema import Variable
from bayeskit.errors import SettingError
from bayeskit.typing import ClassPriorLike, ClassWeight, Floats


@kernel
def normalise(joint: Any, log_prior: Any) -> int:
    """Turn log P(c, x) into P(c | x) in place. Return the number of rows for which no class is possible.

    Such rows get the prior (already normalised), so that every posterior is finite and sums to one.
    """
    n, k = joint.shape
    impossible = 0
    for i in range(n):
        best = joint[i, 0]
        for c in range(1, k):
            if joint[i, c] > best:
                best = joint[i, c]
        if best == -np.inf:
            impossible += 1
            for c in range(k):
                joint[i, c] = np.exp(log_prior[c])
            continue
        total = 0.0
        for c in range(k):
            e = np.exp(joint[i, c] - best)
            joint[i, c] = e
            total += e
        scale = 1.0 / total
        for c in range(k):
            joint[i, c] *= scale
    return impossible


@kernel
def log_normalise(joint: Any, log_prior: Any) -> int:
    """Turn log P(c, x) into log P(c | x) in place. Return the number of rows for which no class is possible."""
    n, k = joint.shape
    impossible = 0
    for i in range(n):
        best = joint[i, 0]
        for c in range(1, k):
            if joint[i, c] > best:
                best = joint[i, c]
        if best == -np.inf:
            impossible += 1
            for c in range(k):
                joint[i, c] = log_prior[c]
            continue
        # Subtract the maximum first. If log Σ were added to a large maximum, it would be lost to rounding.
        total = 0.0
        for c in range(k):
            joint[i, c] -= best
            total += np.exp(joint[i, c])
        shift = np.log(total)
        for c in range(k):
            joint[i, c] -= shift
    return impossible


@kernel
def choose(joint: Any, log_prior: Any, out: Any) -> int:
    """Write the most probable class of each row, the first in a tie. Return the number of impossible rows."""
    n, k = joint.shape
    impossible = 0
    fallback = 0
    for c in range(1, k):
        if log_prior[c] > log_prior[fallback]:
            fallback = c
    for i in range(n):
        place = 0
        best = joint[i, 0]
        for c in range(1, k):
            if joint[i, c] > best:
                best = joint[i, c]
                place = c
        if best == -np.inf:
            impossible += 1
            place = fallback
        out[i] = place
    return impossible


@dataclass(frozen=True, eq=False)
class ClassPrior:
    """P(c), also for leave-one-out.

    Attributes
    ----------
    share : array of shape (K,)
    counts : array of shape (K,)
    mass : array of shape (K,), or None if P(c) was given
        The imaginary counts.
    """

    share: Floats
    counts: Floats
    mass: Floats | None

    @property
    def log(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self.share)

    def log_left_out(self, target: NDArray[np.integer[Any]], own: Floats) -> Floats:
        """Return log P(c) with the weight ``own`` of each row removed from its class: shape (n, K)."""
        if self.mass is None:
            return np.repeat(self.log[None, :], len(own), axis=0)
        rows = np.arange(len(own))
        left = np.repeat(self.counts[None, :], len(own), axis=0)
        left[rows, target] = np.maximum(left[rows, target] - own, 0.0)
        left += self.mass
        total = left.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(np.where(total > 0, left / total, 1.0 / max(len(self.counts), 1)))


def estimate_class_prior(counts: Floats, mass: Floats) -> Floats:
    r"""Return P(c) = (n(c) + a)/(N + Σa) with imaginary counts a. Without rows and without these, P(c) is uniform."""
    smoothed = counts + mass
    total = smoothed.sum()
    if total <= 0:
        return np.full(len(counts), 1.0 / max(len(counts), 1))
    return np.asarray(smoothed / total)


def given_class_prior(class_prior: ClassPriorLike, target: Variable) -> Floats:
    """Return a class prior given as numbers in the order of the classes, by label, or as "uniform"."""
    if isinstance(class_prior, str):
        if class_prior != "uniform":
            raise SettingError(
                'class_prior is {class_prior!r}; use numbers, {{label: number}} or "uniform".',
                class_prior=class_prior,
            )
        return np.full(target.size, 1.0 / max(target.size, 1))
    if isinstance(class_prior, Mapping):
        missing = [label for label in target.states if label not in class_prior]
        extra = [label for label in class_prior if label not in target.codes]
        if missing or extra:
            raise SettingError(
                "class_prior names the classes {class_prior!r}, but the classes are {states}.",
                class_prior=list(class_prior),
                states=target.listing(),
            )
        values: list[Any] = [class_prior[label] for label in target.states]
    else:
        values = list(class_prior) if isinstance(class_prior, Iterable) else [class_prior]
    try:
        prior = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise SettingError("Priors must be non-negative numbers, not {values!r}.", values=values) from None
    if prior.ndim != 1 or len(prior) != target.size:
        raise SettingError(
            "Number of priors must match number of classes: {n} priors for {size} classes ({states}).",
            n=len(values),
            size=target.size,
            states=target.listing(),
        )
    if not np.isfinite(prior).all() or (prior < 0).any():
        raise SettingError("Priors must be non-negative numbers, not {values!r}.", values=values)
    if abs(prior.sum() - 1.0) > 1e-8:
        raise SettingError(
            "The sum of the priors should be 1; it is {prior:g}. Divide them by their sum.", prior=prior.sum()
        )
    return prior


def class_factors(class_weight: ClassWeight, counts: Floats, target: Variable) -> Floats | None:
    """Return the factor for the weight of each class, or None without class weights.

    Weighting the rows of a class scales its sums, so the rows are not read again.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise SettingError(
                'class_weight is {class_weight!r}; use None, "balanced" or {{label: weight}}.',
                class_weight=class_weight,
            )
        present = counts > 0
        with np.errstate(divide="ignore"):
            return np.where(present, counts.sum() / (max(present.sum(), 1) * counts), 1.0)
    if not isinstance(class_weight, Mapping):
        raise SettingError(
            'class_weight is {class_weight!r}; use None, "balanced" or {{label: weight}}.',
            class_weight=class_weight,
        )
    strange = [label for label in class_weight if label not in target.codes]
    if strange:
        raise SettingError(
            "class_weight names {strange!r}, which is not a class (they are {states}).",
            strange=strange[0],
            states=target.listing(),
        )
    try:
        factors = np.array([float(class_weight.get(label, 1.0)) for label in target.states])
    except (TypeError, ValueError):
        raise SettingError(
            "Class weights must be numbers, not {class_weight!r}.", class_weight=dict(class_weight)
        ) from None
    if not np.isfinite(factors).all() or (factors < 0).any() or not factors.any():
        raise SettingError(
            "Class weights must be non-negative and not all zero, not {class_weight!r}.",
            class_weight=dict(class_weight),
        )
    return factors
