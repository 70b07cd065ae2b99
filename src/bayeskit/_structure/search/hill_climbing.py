"""Hill climbing and tabu search: the best addition, removal or reversal of an arc at each step."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Generator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit._structure.arcs import Arcs
from bayeskit._structure.search_protocol import Family, Graph, Question, Search, Stop, members
from bayeskit.typing import Floats


def hill_climbing(
    arcs: Arcs,
    *,
    start: tuple[int, ...] | None = None,
    tabu: int = 0,
    max_worse: int = 15,
    restarts: int = 0,
    perturb: int | None = None,
    rng: np.random.Generator | None = None,
    candidates: tuple[int, ...] | None = None,
) -> Search:
    """Climb until no single arc makes the score better.

    Parameters
    ----------
    arcs : Arcs
    start : tuple of sets, optional
        The parents of each variable at the start: a graph without a cycle that keeps the limits. The required arcs
        alone unless given.
    tabu : int
        How many of the graphs visited last are not visited again. With a list the search goes on from a summit by the
        best move downwards; without one (0) it ends there.
    max_worse : int
        The most moves, with a tabu list, that lose score before a graph better than all of this climb is reached.
        Moves within a class of equivalent graphs neither gain nor lose: there may be as many as the list is long.
    restarts : int
        How often to climb again from the best graph, some random moves away.
    perturb : int, optional
        The number of random moves; the square root of the number of arcs unless given.
    rng : Generator, optional
        Draws the random moves.
    candidates : tuple of sets, optional
        Only these parents are tried.

    Returns
    -------
    Search
        Answers with the best graph met.

    Examples
    --------
    Three variables; the second is worth more with the first as its parent, and the third with the second.

    >>> from bayeskit._structure.search_protocol import answer_all
    >>> worth = {(1, 0b001): 5.0, (2, 0b010): 3.0, (2, 0b011): 2.0}
    >>> def answer(families):
    ...     sets = ([f.parents | 1 << v for v in f.more] if f.more else [f.parents] for f in families)
    ...     return [[worth.get((f.child, some), 0.0) for some in each] for f, each in zip(families, sets)]
    >>> answer_all(hill_climbing(Arcs.all(3)), answer).parents
    (0, 1, 2)

    References
    ----------
    F. Glover, "Tabu search: part I", ORSA Journal on Computing 1 (1989).
    """
    if candidates is not None:
        arcs = replace(arcs, allowed=tuple(a & c for a, c in zip(arcs.allowed, candidates, strict=True)))
    rng = np.random.default_rng(0) if rng is None else rng
    best = arcs.required if start is None else tuple(start)
    position = Position(arcs, best)
    try:
        yield from position.ask()
        best_total, tie = position.total, position.tie
        for climb in range(restarts + 1):
            if climb:
                position = Position(arcs, best)
                n_arcs = sum(parents.bit_count() for parents in best)
                position.shake(rng, max(1, round(math.sqrt(n_arcs))) if perturb is None else perturb)
                yield from position.ask()
            peak, worse, level = position.total, 0, 0
            visited = deque([position.key], maxlen=tabu)
            while (move := position.best_move(tie, visited)) is not None:
                if move.gain < -tie:
                    worse += 1
                elif move.gain <= tie:
                    level += 1
                if worse > (max_worse if tabu else 0) or level > tabu:
                    break
                position.apply(move)
                yield from position.ask()
                visited.append(position.key)
                # Half a tie: a move that gains more than one must count, whatever the rounding of the totals.
                if position.total > peak + tie / 2:
                    peak, worse, level = position.total, 0, 0
                    if peak > best_total + tie / 2:
                        best, best_total = tuple(position.parents), peak
    except Stop:
        pass
    return Graph(best)


Bools = NDArray[np.bool_]


class Move(NamedTuple):
    """Put in the arc from parent to child, or take it out where it is there; or turn it round."""

    gain: float
    parent: int
    child: int
    turn: bool


class Position:
    """A graph and the scores of all families one arc away: asked once, kept until their child changes.

    Matrices are indexed [parent, child].

    Parameters
    ----------
    limits : Arcs
    parents : sequence of sets
        A graph without a cycle that keeps the limits.

    Attributes
    ----------
    parents : list of sets
    key : int
        A number that tells graphs apart: two have the same one with probability 2⁻⁶⁴.
    """

    def __init__(self, limits: Arcs, parents: Sequence[int]) -> None:
        n = limits.n
        self.parents = list(parents)
        self._limits = limits
        self._allowed = as_matrix(limits.allowed)
        self._free = ~as_matrix(limits.required)
        self._arcs = as_matrix(parents)
        self._paths = np.eye(n, dtype=np.bool_)  # from a variable to itself and to those below it
        for v in _from_the_top(self.parents):
            self._find_paths_to(v)
        self._scores = np.full(n, np.nan)
        self._toggled = np.full((n, n), np.nan)  # the score of a child with one parent more or less
        keys = np.random.default_rng(0).integers(1 << 64, size=(n, n), dtype=np.uint64)
        self._keys: list[list[int]] = keys.tolist()
        self.key = 0
        for child, some in enumerate(parents):
            for parent in members(some):
                self.key ^= self._keys[parent][child]
        self._find_moves()

    @property
    def total(self) -> float:
        """The score of the graph."""
        return float(self._scores.sum())

    @property
    def tie(self) -> float:
        """Changes of score no further apart than this are the same."""
        return slack(self._scores)

    def ask(self) -> Generator[Question, list[Any], None]:
        """Ask for the scores that the moves from here need and that are not known yet."""
        turned = np.zeros_like(self._arcs)
        turned[self._turn_child, self._turn_parent] = True
        wanted = np.isnan(self._toggled)
        wanted &= self._may_toggle | turned
        children = np.flatnonzero(wanted.any(axis=0) | np.isnan(self._scores)).tolist()
        question: list[Family] = []
        places: list[tuple[Floats, Any]] = []
        for child in children:
            parents = self.parents[child]
            if np.isnan(self._scores[child]):
                question.append(Family(child, parents))
                places.append((self._scores, slice(child, child + 1)))
            more = []
            for v in np.flatnonzero(wanted[:, child]).tolist():
                if parents >> v & 1:
                    question.append(Family(child, parents ^ (1 << v)))
                    places.append((self._toggled[:, child], slice(v, v + 1)))
                else:
                    more.append(v)
            if more:
                question.append(Family(child, parents, tuple(more)))
                places.append((self._toggled[:, child], more))
        if question:
            for (scores, where), found in zip(places, (yield question), strict=True):
                scores[where] = found

    def best_move(self, tie: float, visited: Collection[int] = ()) -> Move | None:
        """Return the move that gains most and does not lead to a visited graph; None where there is no such move.

        Of moves that gain the same, additions and deletions come before turns, then the lowest variables.
        """
        change = self._toggled - self._scores
        toggles = np.where(self._may_toggle, change, -np.inf)
        parents, children = self._turn_parent, self._turn_child
        turns = change[parents, children] + change[children, parents]
        while True:
            best_toggle = float(toggles.max(initial=-np.inf))
            best_turn = float(turns.max(initial=-np.inf))
            if max(best_toggle, best_turn) == -np.inf:
                return None
            if best_toggle >= best_turn - tie:
                place = divmod(int(np.argmax(toggles >= best_toggle - tie)), len(toggles))
                move = Move(float(toggles[place]), *place, turn=False)
                toggles[place] = -np.inf
            else:
                k = int(np.argmax(turns >= best_turn - tie))
                move = Move(float(turns[k]), int(parents[k]), int(children[k]), turn=True)
                turns[k] = -np.inf
            if not visited or self._key_after(move) not in visited:
                return move

    def apply(self, move: Move) -> None:
        """Make a move."""
        self._toggle(move.parent, move.child)
        if move.turn:
            self._toggle(move.child, move.parent)
        self._find_moves()

    def shake(self, rng: np.random.Generator, n_moves: int) -> None:
        """Make random moves, each as likely as any other."""
        for _ in range(n_moves):
            toggles = np.argwhere(self._may_toggle)
            n_legal = len(toggles) + len(self._turn_parent)
            if not n_legal:
                return
            k = int(rng.integers(n_legal))
            turn = k >= len(toggles)
            if turn:
                k -= len(toggles)
                place = int(self._turn_parent[k]), int(self._turn_child[k])
            else:
                place = int(toggles[k, 0]), int(toggles[k, 1])
            self.apply(Move(0.0, *place, turn))

    def _key_after(self, move: Move) -> int:
        key = self.key ^ self._keys[move.parent][move.child]
        return key ^ self._keys[move.child][move.parent] if move.turn else key

    def _toggle(self, parent: int, child: int) -> None:
        before = self._scores[child]
        self._scores[child] = self._toggled[parent, child]
        self._toggled[:, child] = np.nan
        self._toggled[parent, child] = before
        self.parents[child] ^= 1 << parent
        self.key ^= self._keys[parent][child]
        added = not self._arcs[parent, child]
        self._arcs[parent, child] = added
        if added:
            self._paths |= np.outer(self._paths[:, parent], self._paths[child])
            return
        # Whatever is below has more variables above it, so this is an order from the top.
        below = np.flatnonzero(self._paths[child])
        for v in below[np.argsort(self._paths[:, below].sum(axis=0), kind="stable")].tolist():
            self._find_paths_to(v)

    def _find_paths_to(self, v: int) -> None:
        """Find what is above a variable from what is above its parents."""
        self._paths[:, v] = self._paths[:, self._arcs[:, v]].any(axis=1)
        self._paths[v, v] = True

    def _find_moves(self) -> None:
        """Find the legal moves."""
        arcs, paths = self._arcs, self._paths
        room = arcs.sum(axis=0) < self._limits.max_parents
        removable = arcs & self._free
        addable = self._allowed & room
        self._may_toggle = (addable & ~arcs & ~paths.T) | removable
        # An arc may be turned where it is the only path from the parent to the child. Among the parents of the
        # child the paths of the parent lead to itself, and must lead to no other.
        parents, children = np.nonzero(removable & addable.T)
        lonely = (paths[parents] & arcs.T[children]).sum(axis=1) == 1
        self._turn_parent, self._turn_child = parents[lonely], children[lonely]


def slack(scores: Floats) -> float:
    """Return how far apart two sums of such scores may be and count as equal: they were added in different orders.

    >>> print(f"{slack(np.array([-4e5, -6e5])):.2e}")
    1.01e-06
    """
    return 1e-8 + 1e-12 * float(np.abs(scores).sum())


def as_matrix(sets: Sequence[int]) -> Bools:
    """Return sets as a matrix: [v, k] tells whether v is in the k-th set.

    >>> as_matrix([0b10, 0b00]).astype(int)
    array([[0, 0],
           [1, 0]])
    """
    n = len(sets)
    width = (n + 7) // 8
    packed = np.frombuffer(b"".join(some.to_bytes(width, "little") for some in sets), np.uint8)
    spread = np.unpackbits(packed.reshape(n, width), axis=1, bitorder="little")
    return np.ascontiguousarray(spread[:, :n].T).astype(np.bool_)


def _from_the_top(parents: Sequence[int]) -> list[int]:
    """Return the variables so that parents come before their children."""
    order: list[int] = []
    done = 0
    left = list(range(len(parents)))
    while left:
        ready = [v for v in left if parents[v] & ~done == 0]
        order += ready
        done |= sum(1 << v for v in ready)
        left = [v for v in left if not done >> v & 1]
    return order
