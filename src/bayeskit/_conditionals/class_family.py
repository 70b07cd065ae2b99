r"""The class as a child: P(c | parents), if attributes are parents of the class in a graph.

.. math:: \hat P(c \mid u) = \frac{n(u, c) + a_c}{n(u) + \sum_c a_c}
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.posterior_draws import Draws, log_dirichlet
from bayeskit._schema import Schema
from bayeskit._statistics.families import Families
from bayeskit._statistics.part import digits_of, key_of, never_counted
from bayeskit.priors import Prior
from bayeskit.typing import Codes, Floats

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
