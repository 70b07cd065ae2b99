"""Finds variables that zeros in the tables tie together, which Gibbs must resample together."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeskit._inference.potentials import Contradiction, Evidence, Potentials
from bayeskit._messages import listed
from bayeskit.errors import UsageError
from bayeskit.typing import Ints

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


MOST_STATES = 4096


@dataclass(frozen=True, eq=False)
class Block:
    """Variables and their possible joint states, one a row."""

    variables: tuple[int, ...]
    states: Ints


def blocks_of(potentials: Potentials, support: Support, variables: list[int]) -> list[Block]:
    """Return the blocks of the variables that are not settled already.

    Variables that share a tie are in one block, so every tie lies inside a block. The possible states of
    everything are then all combinations of possible states of the blocks: from any of them, redrawing block
    after block reaches any other, and the chain cannot be disconnected.
    """
    root = {v: v for v in variables}

    def top(v: int) -> int:
        while root[v] != v:
            root[v] = root[root[v]]
            v = root[v]
        return v

    for scope, _ in support.ties:
        for v in scope[1:]:
            root[top(v)] = top(scope[0])
    members: dict[int, list[int]] = {}
    for v in variables:
        members.setdefault(top(v), []).append(v)
    ties: dict[int, list[Tie]] = {}
    for tie in support.ties:
        ties.setdefault(top(tie[0][0]), []).append(tie)
    found = []
    for first, block in members.items():
        if len(block) > 1:
            found.append(_joint(potentials, support, ties[first]))
        elif len(support.allowed[block[0]]) > 1:
            found.append(Block((block[0],), support.allowed[block[0]][:, None]))
    return found


def _joint(potentials: Potentials, support: Support, ties: list[Tie]) -> Block:
    """Return the joint states that all ties allow, by adding one variable at a time."""
    order = _connected(ties)
    column = {v: k for k, v in enumerate(order)}
    # A tie can be looked at when the last of its variables has come.
    ready: dict[int, list[Tie]] = {}
    for tie in ties:
        ready.setdefault(max(column[v] for v in tie[0]), []).append(tie)
    states = np.zeros((1, 0), np.int64)  # places among the allowed codes
    for k, v in enumerate(order):
        new = np.arange(len(support.allowed[v]))
        states = np.column_stack([np.repeat(states, len(new), axis=0), np.tile(new, len(states))])
        for scope, possible in ready.get(k, ()):
            states = states[possible[tuple(states[:, column[u]] for u in scope)]]
        if len(states) > MOST_STATES:
            names = [potentials.names[u] for u in order]
            shown = listed(map(repr, names), 12)
            raise UsageError(
                "Zeros in the tables tie {shown} together: redrawn one at a time they would not reach all their "
                "states, and together they have more than {most_states}, too many to redraw at once. Use "
                'method="likelihood weighting" or "loopy", or query, which is exact.',
                shown=shown,
                most_states=MOST_STATES,
            )
    if not len(states):
        raise Contradiction
    codes = np.column_stack([support.allowed[v][states[:, k]] for k, v in enumerate(order)])
    return Block(tuple(order), codes)


def _connected(ties: list[Tie]) -> list[int]:
    """Return the variables of the ties so that each shares a tie with one before it."""
    holding: dict[int, list[int]] = {}
    for t, (scope, _) in enumerate(ties):
        for v in scope:
            holding.setdefault(v, []).append(t)
    first = min(holding)
    order, seen, used = [first], {first}, set()
    for v in order:  # grows while it is read
        for t in holding[v]:
            if t not in used:
                used.add(t)
                fresh = [u for u in ties[t][0] if u not in seen]
                seen.update(fresh)
                order.extend(fresh)
    return order
