r"""The class prior P(c), the posterior P(c | x) from log P(c, x), and P(c | parents) for a class with parents.

.. math:: \hat P(c \mid u) = \frac{n(u, c) + a_c}{n(u) + \sum_c a_c}
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.posterior_draws import Draws, log_dirichlet
from bayeskit._numba import kernel
from bayeskit._schema import Schema, Variable
from bayeskit._statistics.families import Families
from bayeskit._statistics.part import digits_of, key_of, never_counted
from bayeskit.errors import SettingError
from bayeskit.priors import Prior
from bayeskit.typing import ClassPriorLike, ClassWeight, Codes, Floats


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


Ids = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ClassFamily:
    """P(c | parents), also for leave-one-out.

    Attributes
    ----------
    parents : tuple of int
        The indices of the parents among the categorical attributes.
    radices : list of int
        The number of codes of each parent.
    contexts : int64 array of shape (m,)
        The configurations of the parents that occur, ascending.
    counts : array of shape (m + 1, K)
        n(u, c). The last row stands for all other configurations and is zero.
    mass : array of shape (K,)
        The imaginary counts.
    """

    parents: tuple[int, ...]
    radices: list[int]
    contexts: Ids
    counts: Floats
    mass: Floats

    def log_prob(self, codes: Codes) -> Floats:
        """Return log P(c | parents) of rows that have all parents: shape (n, K)."""
        return self._logs(self.counts_of(codes))

    def counts_of(self, codes: Codes) -> Floats:
        """Return n(parents, c) of the parents of each row: shape (n, K)."""
        return np.asarray(self.counts[self._places(self._keys_of(codes))])

    def log_left_out(self, codes: Codes, target: Codes | None, own: Floats) -> Floats:
        """Return the leave-one-out log P(c | parents), with the weight ``own`` of each row removed."""
        counts, each = self.counts_of(codes), np.arange(len(codes))
        held = counts[each, target]
        left = held - own
        if (left < -1e-9 * held).any() or ((held == 0.0) & (own > 0.0)).any():
            raise never_counted(float(left.min()))
        counts[each, target] = np.where(left <= 4e-15 * held, 0.0, left)
        return self._logs(counts)

    def _logs(self, counts: Floats) -> Floats:
        smoothed = counts + self.mass
        total = smoothed.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(np.where(total > 0.0, smoothed / total, 1.0 / max(len(self.mass), 1)))

    def log_draws(self, codes: Codes, draws: Draws, above_mode: float = 0.0) -> Floats:
        """Return log P(c | parents) under every draw from its posterior: shape (n, draws, K).

        ``above_mode`` is 1 if the estimate is a posterior mode: the Dirichlet has one more count in every cell.
        """
        out = np.empty((len(codes), draws.n, len(self.mass)))
        keys = self._keys_of(codes)
        place = self._places(keys)
        for key in np.unique(keys).tolist():
            rows = np.flatnonzero(keys == key)
            counts = (self.counts[place[rows[0]]] + self.mass + above_mode)[:, None]
            logs = draws.get((0, 1 + key), partial(log_dirichlet, counts=counts, draws=draws.n))
            out[rows] = logs[:, :, 0].T
        return out

    def _keys_of(self, codes: Codes) -> Ids:
        """Return the configuration of the parents of each row, or −1 if one has an unseen state."""
        digits = [codes[:, j].astype(np.int64) for j in self.parents]
        seen = np.ones(len(codes), np.bool_)
        for digit, radix in zip(digits, self.radices, strict=True):
            seen &= digit < radix
        return np.where(seen, key_of(digits, self.radices), -1)

    def _places(self, keys: Ids) -> NDArray[np.intp]:
        last = len(self.contexts)
        if not last:
            return np.zeros(len(keys), np.intp)
        place = np.minimum(np.searchsorted(self.contexts, keys), last - 1)
        return np.where(self.contexts[place] == keys, place, last)


def estimate_class_family(
    families: Families, f: int, schema: Schema, prior: Prior, is_state: Flags
) -> ClassFamily:
    """Estimate P(c | parents) from the counts of the parents with the class.

    Parameters
    ----------
    families : Families
        The members of family f are the parents, in any order.
    prior : Prior
        The prior of the class.
    is_state : bool array over the categorical attributes
        Whether missing is a state. Rows in which another parent is missing are not used.
    """
    first, *rest = families.names_of(f)
    parents, k = (*rest, first), len(families.margin)
    radices = [schema.categorical[j].size + 1 for j in parents]
    keys, counts = families.cells(f)
    contexts, which = np.unique(keys // max(k, 1), return_inverse=True)
    table = np.zeros((len(contexts) + 1, k))
    np.add.at(table, (which.ravel(), keys % max(k, 1)), counts)
    there = np.ones(len(contexts), np.bool_)
    for j, radix, code in zip(parents, radices, digits_of(contexts, radices), strict=True):
        there &= (code != radix - 1) | is_state[j]
    kept = np.append(np.flatnonzero(there), len(contexts))
    configurations = math.prod(schema.categorical[j].size + bool(is_state[j]) for j in parents)
    mass = np.asarray(prior.cells(schema.target, configurations), np.float64)
    return ClassFamily(parents, radices, contexts[there], table[kept], mass)
