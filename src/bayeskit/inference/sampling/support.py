"""Which states the zeros of the tables leave, and which variables they tie together."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayeskit.inference.potentials import Evidence, Ints, Potentials
from bayeskit.inference.sampling.contradiction import Contradiction

Bools = NDArray[np.bool_]
# Variables, and which of their joint (allowed) states are possible.
Tie = tuple[tuple[int, ...], Bools]


class Support:
    """The states that zeros, one table at a time, do not rule out; and the zeros that are left.

    Attributes
    ----------
    allowed : for each variable, the codes still possible
    ties : the tables that still hold a zero among allowed states, reduced to the variables whose states the
        zeros depend on. Every other table is positive whatever allowed states its variables have, so a state of
        everything is possible exactly where all ties allow it.
    """

    def __init__(self, potentials: Potentials, factors: Sequence[int], evidence: Evidence) -> None:
        self._potentials = potentials
        self._mask = [np.ones(int(size), bool) for size in potentials.sizes]
        for v in np.flatnonzero(evidence.codes >= 0).tolist():
            self._mask[v] = np.arange(len(self._mask[v])) == evidence.codes[v]
        for v, likelihood in evidence.likelihoods.items():
            self._mask[v] &= likelihood > 0
        if any(not mask.any() for mask in self._mask):
            raise Contradiction
        with_zeros = [f for f in factors if not (potentials.table_of(f) > 0).all()]
        self._settle(with_zeros)
        self.allowed: list[Ints] = [np.flatnonzero(mask) for mask in self._mask]
        self.ties: list[Tie] = [tie for f in with_zeros for tie in self._tie(f)]

    def _possible(self, f: int) -> tuple[list[int], Bools]:
        """Return the scope of a factor and which of its allowed states are positive."""
        scope = self._potentials.scope_of(f)
        table = self._potentials.table_of(f)
        return scope, table[np.ix_(*(np.flatnonzero(self._mask[v]) for v in scope))] > 0

    def _settle(self, factors: list[int]) -> None:
        """Rule out states that some table gives nothing but zeros, until nothing changes."""
        holding: dict[int, list[int]] = {}
        for f in factors:
            for v in self._potentials.scope_of(f):
                holding.setdefault(v, []).append(f)
        waiting, queued = deque(factors), set(factors)
        while waiting:
            f = waiting.popleft()
            queued.discard(f)
            scope, possible = self._possible(f)
            if not possible.any():
                raise Contradiction
            for axis, v in enumerate(scope):
                alive = possible.any(axis=tuple(a for a in range(possible.ndim) if a != axis))
                if not alive.all():
                    self._mask[v][np.flatnonzero(self._mask[v])[~alive]] = False
                    again = [g for g in holding[v] if g not in queued]
                    waiting.extend(again)
                    queued.update(again)

    def _tie(self, f: int) -> list[Tie]:
        scope, possible = self._possible(f)
        if possible.all():
            return []
        varying = [axis for axis in range(possible.ndim) if (possible != possible.take([0], axis=axis)).any()]
        kept = tuple(slice(None) if axis in varying else 0 for axis in range(possible.ndim))
        return [(tuple(scope[axis] for axis in varying), possible[kept])]
