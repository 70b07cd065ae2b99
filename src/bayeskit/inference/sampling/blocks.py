"""Variables that Gibbs sampling must redraw together, with the joint states they can have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit.errors import UsageError
from bayeskit.inference.potentials import Ints, Potentials
from bayeskit.inference.sampling.contradiction import Contradiction
from bayeskit.inference.sampling.support import Support, Tie

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
            shown = ", ".join(map(repr, names[:12])) + (", …" if len(names) > 12 else "")
            raise UsageError(
                f"Zeros in the tables tie {shown} together: redrawn one at a time they would not reach all their "
                f"states, and together they have more than {MOST_STATES}, too many to redraw at once. Use "
                'method="likelihood weighting" or "loopy", or query, which is exact.'
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
