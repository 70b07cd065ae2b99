"""d-separation: whether nodes are independent given others, and the paths that show why."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Literal

from bayeskit._graphs.dag import Dag, ancestors
from bayeskit._messages import Message
from bayeskit._schema import Name
from bayeskit._visible import visible

# A node, and whether it was entered from one of its parents (from above) or one of its children.
_Visit = tuple[Name, bool]


def reachable(dag: Dag, sources: Iterable[Name], given: Iterable[Name] = ()) -> set[Name]:
    """Return the nodes with an open path to a source, including the sources.

    Observed nodes are not included. All other nodes are d-separated from the sources.

    Examples
    --------
    >>> dag = Dag.of({"wet": ["rain", "sprinkler"]}, ["rain", "sprinkler", "wet"])
    >>> sorted(reachable(dag, ["rain"]))
    ['rain', 'wet']
    >>> sorted(reachable(dag, ["rain"], given=["wet"]))
    ['rain', 'sprinkler']

    References
    ----------
    D. Koller and N. Friedman, *Probabilistic Graphical Models* (2009), algorithm 3.1.
    """
    given = set(given)
    return {node for node, _ in _visits(dag, sources, given) if node not in given}


def d_separated(dag: Dag, a: Iterable[Name], b: Iterable[Name], given: Iterable[Name] = ()) -> bool:
    """Return whether every path between a node of ``a`` and one of ``b`` is blocked.

    Examples
    --------
    >>> dag = Dag.of({"wet": ["rain", "sprinkler"]}, ["rain", "sprinkler", "wet"])
    >>> d_separated(dag, ["rain"], ["sprinkler"]), d_separated(dag, ["rain"], ["sprinkler"], ["wet"])
    (True, False)
    """
    return reachable(dag, a, given).isdisjoint(b)


def open_path(
    dag: Dag, a: Iterable[Name], b: Iterable[Name], given: Iterable[Name] = ()
) -> tuple[Name, ...] | None:
    """Return a shortest open path from ``a`` to ``b``; None if they are d-separated.

    The visits form a simple path. Suppose a node were visited twice. The part between could be left out,
    because the node would still be open: a path that leaves it downwards and returns from below has turned at
    a head-to-head node with an observed descendant, which is also a descendant of this node. And the shorter
    path would have been found first.

    Examples
    --------
    >>> dag = Dag.of({"wet": ["rain", "sprinkler"]}, ["rain", "sprinkler", "wet"])
    >>> open_path(dag, ["rain"], ["sprinkler"], ["wet"])
    ('rain', 'wet', 'sprinkler')
    """
    given, goals = set(given), set(b)
    before = _visits(dag, a, given)
    visit: _Visit | None = next((v for v in before if v[0] in goals and v[0] not in given), None)
    path: list[Name] = []
    while visit is not None:
        path.append(visit[0])
        visit = before[visit]
    return tuple(reversed(path)) or None


def _visits(dag: Dag, sources: Iterable[Name], given: set[Name]) -> dict[_Visit, _Visit | None]:
    """Follow open paths breadth first; return every visit with its predecessor, in the order of the visits."""
    # A head-to-head node is open if it, or one of its descendants, is observed.
    opened = given.union(ancestors(dag, *given))
    found: dict[_Visit, _Visit | None] = {(node, False): None for node in sources}
    todo = deque(found)
    while todo:
        visit = todo.popleft()
        node, from_above = visit
        steps: list[_Visit] = []
        if node not in given:
            steps += [(child, True) for child in dag.children[node]]
        if (node in opened) if from_above else (node not in given):
            steps += [(parent, False) for parent in dag.parents_of(node)]
        for step in steps:
            if step not in found:
                found[step] = visit
                todo.append(step)
    return found


Neighbours = Mapping[Name, Sequence[Name]]


class PathBudget:
    """How many more nodes may be visited, and whether that was too few."""

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, nodes: int = 1) -> bool:
        self.left -= nodes
        return self.left >= 0

    @property
    def is_spent(self) -> bool:
        return self.left < 0


def simple_paths(
    neighbours: Neighbours, start: Name, goal: Name, effort: PathBudget
) -> Iterator[tuple[Name, ...]]:
    """Yield the simple paths; stop early if the budget is spent.

    Examples
    --------
    >>> square = {"a": "bc", "b": "ad", "c": "ad", "d": "bc"}
    >>> list(simple_paths(square, "a", "d", PathBudget(100)))
    [('a', 'b', 'd'), ('a', 'c', 'd')]
    """
    if not effort.spend(len(neighbours)):
        return
    useful = _between(neighbours, start, goal)
    near = {node: [other for other in neighbours[node] if other in useful] for node in useful}
    far = _distances(near, goal)
    if start not in far:
        return
    # (bound on the length, number of earlier entries, path, node to branch off, excluded nodes, is it known)
    heap: list[tuple[int, int, list[Name], int, frozenset[Name], bool]] = [
        (far[start], 0, [start], 0, frozenset(), False)
    ]
    made = 0
    while heap:
        _, _, path, place, banned, known = heapq.heappop(heap)
        if not known:
            found = _shortest(near, far, path, place, banned, goal, effort)
            if effort.is_spent:
                return
            if found:
                made += 1
                heapq.heappush(heap, (len(found) - 1, made, found, place, banned, True))
            continue
        yield tuple(path)
        for i in range(place, len(path) - 1):
            if not effort.spend():
                return
            # Up to the node where it branched off, a path has been examined already.
            shut = (banned if i == place else frozenset()) | {path[i + 1]}
            rest = [
                far[node] for node in near[path[i]] if node not in shut and (i == 0 or node != path[i - 1])
            ]
            if rest:
                made += 1
                heapq.heappush(heap, (i + 1 + min(rest), made, path, i, shut, False))


def _shortest(
    near: Neighbours,
    far: Mapping[Name, int],
    path: Sequence[Name],
    place: int,
    banned: frozenset[Name],
    goal: Name,
    effort: PathBudget,
) -> list[Name]:
    """Return the shortest path that starts with path[: place + 1] and avoids the banned nodes next (A*)."""
    closed = set(path[:place])
    first = path[place]
    before: dict[Name, Name] = {}
    steps = {first: 0}
    # Ties go to the path that has come farthest: on a grid, it goes straight to the goal.
    heap: list[tuple[int, int, int, Name]] = [(far[first], 0, 0, first)]
    made = 0
    while heap:
        _, negative, _, node = heapq.heappop(heap)
        if node in closed:
            continue
        if not effort.spend():
            return []
        if node == goal:
            tail = [node]
            while tail[-1] != first:
                tail.append(before[tail[-1]])
            return [*path[:place], *reversed(tail)]
        closed.add(node)
        come = 1 - negative
        for other in near[node]:
            if other in closed or (node == first and other in banned) or steps.get(other, come + 1) <= come:
                continue
            steps[other] = come
            before[other] = node
            made += 1
            heapq.heappush(heap, (come + far[other], -come, made, other))
    return []


def _distances(near: Neighbours, goal: Name) -> dict[Name, int]:
    found = {goal: 0}
    todo = [goal]
    for node in todo:  # grows during the loop: breadth first
        for other in near.get(node, ()):
            if other not in found:
                found[other] = found[node] + 1
                todo.append(other)
    return found


def _between(neighbours: Neighbours, start: Name, goal: Name) -> set[Name]:
    """Return the nodes on simple paths from start to goal; from all other nodes, no path comes back.

    With an additional edge from goal to start, these are the nodes of that edge's biconnected component. A
    search from start that begins with goal finds the component below goal (Hopcroft and Tarjan).
    """
    depth, low = {start: 0, goal: 1}, {start: 0, goal: 0}
    path, tried = [goal], [0]
    stack = [goal]  # visited nodes whose component is not finished
    while path:
        node = path[-1]
        if tried[-1] < len(neighbours[node]):
            other = neighbours[node][tried[-1]]
            tried[-1] += 1
            if other not in depth:
                depth[other] = low[other] = len(path) + 1
                path.append(other)
                tried.append(0)
                stack.append(other)
            else:
                low[node] = min(low[node], depth[other])
            continue
        path.pop()
        tried.pop()
        if path:
            above = path[-1]
            low[above] = min(low[above], low[node])
            if low[node] >= depth[above]:  # ``above`` separates everything found since
                while stack.pop() != node:
                    pass
    return {start, *stack}


Kind = Literal["tail-to-tail", "head-to-tail", "head-to-head"]

# The number of nodes that a search for paths may visit: about a second.
_EFFORT = 1_000_000


def paths_between(
    dag: Dag, a: Iterable[Name], b: Iterable[Name], given: Iterable[Name] = (), max_paths: int = 50
) -> tuple[tuple[Path, ...], bool]:
    """Return the paths between nodes of ``a`` and of ``b``, the shortest first, and whether these are all.

    If ``a`` and ``b`` are not d-separated, at least one of the paths is open.

    Examples
    --------
    >>> dag = Dag.of({"wet": ["rain", "sprinkler"], "sprinkler": ["rain"]}, ["rain", "sprinkler", "wet"])
    >>> paths, complete = paths_between(dag, ["rain"], ["sprinkler"])
    >>> [str(path) for path in paths], complete
    (['rain → sprinkler', 'rain → wet ← sprinkler'], True)
    """
    a, b, given = tuple(a), tuple(b), tuple(given)
    judge = PathJudge(dag, given)
    near = {
        node: sorted((*parents, *dag.children[node]), key=dag.position.__getitem__)
        for node, parents in zip(dag.nodes, dag.parents, strict=True)
    }
    effort = PathBudget(max(_EFFORT, 20 * len(near)))
    every = heapq.merge(*(simple_paths(near, x, y, effort) for x in a for y in b), key=len)
    found = [judge.path(nodes) for nodes in islice(every, max_paths + 1)]
    complete = len(found) <= max_paths and not effort.is_spent
    found = found[:max_paths]
    if not complete and all(path.blocked for path in found):
        opened = open_path(dag, a, b, given)
        if opened is not None:
            found = [judge.path(opened), *found[: max_paths - 1]]
    return tuple(found), complete


@dataclass(frozen=True)
class PathStep:
    """An inner node of a path, and whether it blocks the path.

    Attributes
    ----------
    node : the node
    kind : "tail-to-tail" (← node →), "head-to-tail" (→ node →, ← node ←) or "head-to-head" (→ node ←)
    blocks : bool
    is_observed : bool
    observed_below : an observed descendant of a head-to-head node that is not observed itself, else None
    """

    node: Name
    kind: Kind
    blocks: bool
    is_observed: bool
    observed_below: Name | None = None

    @property
    def reason(self) -> str:
        """Why it blocks the path, or does not."""
        return self.reason_message.in_language("en")

    @property
    def reason_message(self) -> Message:
        """The reason, for a text in any language."""
        if self.is_observed:
            return Message("is observed")
        if self.kind != "head-to-head":
            return Message("is not observed")
        if self.observed_below is not None:
            below = visible(self.observed_below)
            return Message("is not observed, but its descendant {below} is", below=below)
        return Message("is not observed, nor is any descendant of it")


@dataclass(frozen=True)
class Path:
    """The nodes of a path, the directions of its arcs, and what each inner node does.

    Examples
    --------
    >>> dag = Dag.of({"wet": ["rain", "sprinkler"]}, ["rain", "sprinkler", "wet"])
    >>> path = PathJudge(dag).path(("rain", "wet", "sprinkler"))
    >>> str(path), path.blocked, path.turns[0].reason
    ('rain → wet ← sprinkler', True, 'is not observed, nor is any descendant of it')
    """

    nodes: tuple[Name, ...]
    forward: tuple[bool, ...]
    turns: tuple[PathStep, ...]

    @property
    def blocked(self) -> bool:
        """Whether at least one node blocks it."""
        return any(turn.blocks for turn in self.turns)

    def __str__(self) -> str:
        arrows = [" → " if forward else " ← " for forward in self.forward]
        after = "".join(f"{arrow}{node}" for arrow, node in zip(arrows, self.nodes[1:], strict=True))
        return visible(f"{self.nodes[0]}{after}")


class PathJudge:
    """Decides for any path of a graph whether it is blocked given some observed nodes."""

    def __init__(self, dag: Dag, given: Iterable[Name] = ()) -> None:
        self._dag = dag
        self._given = frozenset(given)
        self._arcs = frozenset(dag.arcs)

    @cached_property
    def _observed_below(self) -> dict[Name, Name]:
        """The nearest observed node at or below each node that has one."""
        found = {node: node for node in self._dag.nodes if node in self._given}
        todo = list(found)
        for node in todo:  # grows during the loop: breadth first
            for parent in self._dag.parents_of(node):
                if parent not in found:
                    found[parent] = found[node]
                    todo.append(parent)
        return found

    def path(self, nodes: tuple[Name, ...]) -> Path:
        """Evaluate one path; consecutive nodes are connected by an arc in either direction."""
        forward = tuple(arc in self._arcs for arc in pairwise(nodes))
        inner = zip(nodes[1:-1], forward[:-1], forward[1:], strict=True)
        return Path(nodes, forward, tuple(self._turn(*parts) for parts in inner))

    def _turn(self, node: Name, enters: bool, leaves: bool) -> PathStep:
        observed = node in self._given
        if enters and not leaves:
            below = self._observed_below.get(node)
            return PathStep(node, "head-to-head", below is None, observed, None if observed else below)
        return PathStep(node, "head-to-tail" if enters == leaves else "tail-to-tail", observed, observed)
