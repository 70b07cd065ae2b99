"""The simple paths between two nodes of an undirected graph, the shortest first, one at a time.

There may be exponentially many, so they are made only when asked for (Yen's algorithm in Lawler's form). A found path
leaves behind the questions "which path begins like it up to its node i, but goes on elsewhere?". Each has a lower
bound on the length of its answer, and a question is answered only when no other can be shorter.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence

from bayeskit.schema import Name

Neighbours = Mapping[Name, Sequence[Name]]


class Effort:
    """How many nodes may still be looked at, and whether that was too few."""

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, nodes: int = 1) -> bool:
        self.left -= nodes
        return self.left >= 0

    @property
    def is_spent(self) -> bool:
        return self.left < 0


def simple_paths(
    neighbours: Neighbours, start: Name, goal: Name, effort: Effort
) -> Iterator[tuple[Name, ...]]:
    """Yield the paths that visit no node twice; stop early where the effort is spent.

    Examples
    --------
    >>> square = {"a": "bc", "b": "ad", "c": "ad", "d": "bc"}
    >>> list(simple_paths(square, "a", "d", Effort(100)))
    [('a', 'b', 'd'), ('a', 'c', 'd')]
    """
    if not effort.spend(len(neighbours)):
        return
    useful = _between(neighbours, start, goal)
    near = {node: [other for other in neighbours[node] if other in useful] for node in useful}
    far = _distances(near, goal)
    if start not in far:
        return
    # (bound on the length, how many were put in before, path, node at which to leave it, where not to go, is it known)
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
            # Up to where it left the path before it, a path has been asked about.
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
    effort: Effort,
) -> list[Name]:
    """Return the shortest path that begins with path[: place + 1] and goes on to none of the banned nodes (A*)."""
    closed = set(path[:place])
    first = path[place]
    before: dict[Name, Name] = {}
    steps = {first: 0}
    # Of equals the one that has come farthest: on a grid this walks straight to the goal.
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
    for node in todo:  # grows while it is read: breadth first
        for other in near.get(node, ()):
            if other not in found:
                found[other] = found[node] + 1
                todo.append(other)
    return found


def _between(neighbours: Neighbours, start: Name, goal: Name) -> set[Name]:
    """Return the nodes on simple paths from start to goal: from anywhere else no path comes back.

    With one more edge from goal to start these are the nodes of that edge's biconnected component. A search from
    start that begins with goal finds them: they are what hangs together below goal (Hopcroft and Tarjan).
    """
    depth, low = {start: 0, goal: 1}, {start: 0, goal: 0}
    path, tried = [goal], [0]
    stack = [goal]  # nodes seen whose component is not finished
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
            if low[node] >= depth[above]:  # above cuts off all that was found since
                while stack.pop() != node:
                    pass
    return {start, *stack}
