"""Hill climbing and tabu search: the best addition, removal or reversal of an arc at each step.

The score is that of the joint likelihood, or the conditional likelihood of a class given the rest.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from bayeskit._structure.search_protocol import Arcs, Family, Graph, Question, Search, Stop, members
from bayeskit.typing import Floats


class TabuSettings(TypedDict):
    """How far a search goes on from a local optimum; see `hill_climbing`."""

    tabu: int
    max_worse: int


# "tabu" by name, and "hill-climbing", which is to take hardly longer than without any.
TABU: TabuSettings = {"tabu": 100, "max_worse": 15}
SHORT_TABU: TabuSettings = {"tabu": 10, "max_worse": 5}


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
    """Hill-climb until no change of a single arc improves the score.

    Parameters
    ----------
    arcs : Arcs
    start : tuple of sets, optional
        The parents of each variable at the start: an acyclic graph within the limits. By default, the
        required arcs only.
    tabu : int
        The number of recently visited graphs that are not visited again. With a tabu list the search
        continues from a local optimum with the best downward move; without one (0) it ends there.
    max_worse : int
        With a tabu list, the maximum number of moves that lower the score before a graph better than all
        others of this run is reached. Moves within an equivalence class do not change the score; as many are
        allowed as the list is long.
    restarts : int
        The number of further runs from the best graph, perturbed by random moves.
    perturb : int, optional
        The number of random moves; by default, the square root of the number of arcs.
    rng : Generator, optional
        For the random moves.
    candidates : tuple of sets, optional
        Only these parents are tried.

    Returns
    -------
    Search
        Returns the best graph visited.

    Examples
    --------
    Three variables; the second scores better with the first as its parent, and the third with the second.

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
                # Half a tie: a move that gains more than one tie must count, whatever the rounding of the totals.
                if position.total > peak + tie / 2:
                    peak, worse, level = position.total, 0, 0
                    if peak > best_total + tie / 2:
                        best, best_total = tuple(position.parents), peak
    except Stop:
        pass
    return Graph(best)


Bools = NDArray[np.bool_]


class Move(NamedTuple):
    """Add the arc from parent to child, or remove it if it exists; or reverse it."""

    gain: float
    parent: int
    child: int
    turn: bool


class Position:
    """A graph and the scores of all families one arc away, each requested once and kept until its child changes.

    Matrices are indexed [parent, child].

    Parameters
    ----------
    limits : Arcs
    parents : sequence of sets
        An acyclic graph within the limits.

    Attributes
    ----------
    parents : list of sets
    key : int
        A hash that distinguishes graphs: two have the same one with probability 2⁻⁶⁴.
    """

    def __init__(self, limits: Arcs, parents: Sequence[int]) -> None:
        n = limits.n
        self.parents = list(parents)
        self._limits = limits
        self._allowed = as_matrix(limits.allowed)
        self._free = ~as_matrix(limits.required)
        self._arcs = as_matrix(parents)
        self._paths = np.eye(n, dtype=np.bool_)  # from a variable to itself and its descendants
        for v in _from_the_top(self.parents):
            self._find_paths_to(v)
        self._scores = np.full(n, np.nan)
        self._toggled = np.full((n, n), np.nan)  # the score of a child with one parent added or removed
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
        """Changes of score that differ by no more than this are equal."""
        return slack(self._scores)

    def ask(self) -> Generator[Question, list[Any], None]:
        """Request the unknown scores that the moves from here need."""
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
        """Return the best move that does not lead to a visited graph; None if there is none.

        Ties: additions and deletions come before reversals, then the lowest variables.
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
        """Make random moves, drawn uniformly."""
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
        # A variable has more ancestors than any of its ancestors, so this is a topological order.
        below = np.flatnonzero(self._paths[child])
        for v in below[np.argsort(self._paths[:, below].sum(axis=0), kind="stable")].tolist():
            self._find_paths_to(v)

    def _find_paths_to(self, v: int) -> None:
        """Compute the ancestors of a variable from those of its parents."""
        self._paths[:, v] = self._paths[:, self._arcs[:, v]].any(axis=1)
        self._paths[v, v] = True

    def _find_moves(self) -> None:
        """Find the legal moves."""
        arcs, paths = self._arcs, self._paths
        room = arcs.sum(axis=0) < self._limits.max_parents
        removable = arcs & self._free
        addable = self._allowed & room
        self._may_toggle = (addable & ~arcs & ~paths.T) | removable
        # An arc may be reversed if it is the only path from the parent to the child: of all parents of the
        # child, only the parent itself may be reachable from the parent.
        parents, children = np.nonzero(removable & addable.T)
        lonely = (paths[parents] & arcs.T[children]).sum(axis=1) == 1
        self._turn_parent, self._turn_child = parents[lonely], children[lonely]


def slack(scores: Floats) -> float:
    """Return the difference up to which two sums of such scores count as equal, because of rounding.

    >>> print(f"{slack(np.array([-4e5, -6e5])):.2e}")
    1.01e-06
    """
    return 1e-8 + 1e-12 * float(np.abs(scores).sum())


def as_matrix(sets: Sequence[int]) -> Bools:
    """Return sets as a matrix: [v, k] is whether v is in the k-th set.

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
    """Return the variables with parents before their children."""
    order: list[int] = []
    done = 0
    left = list(range(len(parents)))
    while left:
        ready = [v for v in left if parents[v] & ~done == 0]
        order += ready
        done |= sum(1 << v for v in ready)
        left = [v for v in left if not done >> v & 1]
    return order


# A gain below this share of the score is rounding.
_TIE = 1e-10


class ClassFamilies(NamedTuple):
    """Requests the conditional log-likelihood of a class for these families: its own and those of its children.

    No other family affects P(class | rest). The answer is one number; larger is better.
    """

    families: tuple[tuple[int, int], ...]


ConditionalSearch = Generator[list[ClassFamilies], list[Any], Graph]


def conditional(arcs: Arcs, target: int, start: tuple[int, ...] | None = None) -> ConditionalSearch:
    """Hill-climb while some move improves the prediction of the target.

    The moves are those that change P(target | rest): add or remove an arc into the target, out of it, or into
    one of its children; reverse an arc of the target. The best move is taken, and ties go to the first. So
    the result is never worse than the start.

    Parameters
    ----------
    arcs : Arcs
    target : int
    start : tuple of sets, optional
        The parents of each variable at the start, without a cycle; by default, the required arcs only.

    Examples
    --------
    Only the third variable helps to predict the first.

    >>> from bayeskit._structure.search_protocol import answer_all
    >>> def answer(questions):
    ...     return [float((2, 0b001) in q.families) - 0.1 * len(q.families) for q in questions]
    >>> answer_all(conditional(Arcs.all(3), 0), answer).parents
    (0, 0, 1)

    References
    ----------
    D. Grossman and P. Domingos, "Learning Bayesian network classifiers by maximizing conditional likelihood", ICML
    2004.
    """
    here = arcs.required if start is None else tuple(start)
    try:
        while True:
            found = [here, *_neighbours(arcs, target, here)]
            scores = np.array((yield [deciding(parents, target) for parents in found]), np.float64)
            best = int(np.argmax(scores))
            if scores[best] <= scores[0] + _TIE * max(1.0, abs(float(scores[0]))):
                break
            here = found[best]
    except Stop:
        pass
    return Graph(here)


def deciding(parents: tuple[int, ...], target: int) -> ClassFamilies:
    """Return the families of the target and of its children.

    >>> deciding((0, 0b101, 0), 0)
    ClassFamilies(families=((0, 0), (1, 5)))
    """
    return ClassFamilies(
        tuple((v, mine) for v, mine in enumerate(parents) if v == target or mine >> target & 1)
    )


def _neighbours(arcs: Arcs, target: int, parents: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the neighbouring graphs: arcs added, then removed, then reversed."""
    above = [_ancestors(parents, v) for v in range(arcs.n)]

    def may_have(child: int, parent: int) -> bool:
        room = parents[child].bit_count() < arcs.max_parents
        return room and bool(arcs.allowed[child] >> parent & 1)

    pairs = [(p, v) for v in range(arcs.n) for p in range(arcs.n) if p != v]
    for p, v in pairs:
        matters = target in (p, v) or parents[v] >> target & 1
        if matters and not parents[v] >> p & 1 and may_have(v, p) and not above[p] >> v & 1:
            yield _changed(parents, v, parents[v] | 1 << p)
    for p, v in pairs:
        if not parents[v] >> p & 1 or arcs.required[v] >> p & 1:
            continue
        if target in (p, v) or parents[v] >> target & 1:
            yield _changed(parents, v, parents[v] ^ 1 << p)
    for p, v in pairs:
        if not parents[v] >> p & 1 or arcs.required[v] >> p & 1 or target not in (p, v) or not may_have(p, v):
            continue
        without = _changed(parents, v, parents[v] ^ 1 << p)
        if not _ancestors(without, v) >> p & 1:
            yield _changed(without, p, without[p] | 1 << v)


def _changed(parents: tuple[int, ...], v: int, mine: int) -> tuple[int, ...]:
    return (*parents[:v], mine, *parents[v + 1 :])


def _ancestors(parents: tuple[int, ...], v: int) -> int:
    """Return a variable and its ancestors."""
    found, new = 1 << v, 1 << v
    while new:
        above = 0
        for u in members(new):
            above |= parents[u]
        new = above & ~found
        found |= new
    return found
