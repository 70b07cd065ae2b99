"""The nodes of a graph in layers, every arc leading from one layer to the next.

An arc that spans more than one layer is led through a *bend* in each layer between, so that it has a place
of its own there and passes no box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

MOST_ROUNDS = 30


def layer_of(n_nodes: int, arcs: Sequence[tuple[int, int]]) -> list[int]:
    """Return the layer of the nodes 0 … n−1.

    Examples
    --------
    >>> layer_of(4, [(0, 1), (1, 2), (3, 2)])
    [0, 1, 2, 1]

    The pair 4 → 5 moves down as one to where its arc to 3 is short:

    >>> layer_of(7, [(0, 1), (1, 2), (2, 3), (5, 3), (4, 5), (4, 6), (5, 6)])
    [0, 1, 2, 3, 1, 2, 3]
    """
    parents: list[list[int]] = [[] for _ in range(n_nodes)]
    children: list[list[int]] = [[] for _ in range(n_nodes)]
    for parent, child in arcs:
        parents[child].append(parent)
        children[parent].append(child)
    order = _topological(parents, children)
    layer = [0] * n_nodes
    for node in order:
        layer[node] = max((layer[p] + 1 for p in parents[node]), default=0)
    for _ in range(MOST_ROUNDS):
        moved = _move_nodes(layer, order, parents, children)
        moved |= _move_groups(layer, arcs, down=True)
        moved |= _move_groups(layer, arcs, down=False)
        if not moved:
            break
    used = {old: new for new, old in enumerate(sorted(set(layer)))}
    return [used[place] for place in layer]


def _topological(parents: list[list[int]], children: list[list[int]]) -> list[int]:
    waiting = [len(each) for each in parents]
    order = [node for node, count in enumerate(waiting) if count == 0]
    for node in order:  # grows while it is read
        for child in children[node]:
            waiting[child] -= 1
            if waiting[child] == 0:
                order.append(child)
    return order


def _move_nodes(
    layer: list[int], order: list[int], parents: list[list[int]], children: list[list[int]]
) -> bool:
    """Move each node with more children than parents down to them, and the other way round."""
    moved = False
    for node in reversed(order):
        if len(children[node]) > len(parents[node]):
            place = min(layer[c] for c in children[node]) - 1
            moved |= place != layer[node]
            layer[node] = place
    for node in order:
        if len(parents[node]) > len(children[node]):
            place = max(layer[p] for p in parents[node]) + 1
            moved |= place != layer[node]
            layer[node] = place
    return moved


def _move_groups(layer: list[int], arcs: Sequence[tuple[int, int]], down: bool) -> bool:
    """Move every group with more long arcs on this side than on the other to where its nearest ends.

    All may move at once: what they move towards only goes farther the same way, and the sum of the lengths is
    linear in the moves.
    """
    group = _groups(layer, arcs)
    pull = [0] * len(layer)  # long arcs ahead less long arcs behind, by group
    room: list[int | None] = [None] * len(layer)
    for parent, child in arcs:
        slack = layer[child] - layer[parent] - 1
        if slack == 0:
            continue
        behind, ahead = (group[parent], group[child]) if down else (group[child], group[parent])
        if behind == ahead:
            continue
        pull[behind] += 1
        pull[ahead] -= 1
        before = room[behind]
        room[behind] = slack if before is None else min(before, slack)
    moved = False
    for node, number in enumerate(group):
        way = room[number]
        if pull[number] > 0 and way is not None:
            layer[node] += way if down else -way
            moved = True
    return moved


def _groups(layer: list[int], arcs: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each node a number of its group: those that arcs of length one join."""
    near: list[list[int]] = [[] for _ in layer]
    for parent, child in arcs:
        if layer[child] == layer[parent] + 1:
            near[parent].append(child)
            near[child].append(parent)
    group = [-1] * len(layer)
    for start in range(len(layer)):
        if group[start] < 0:
            group[start] = start
            stack = [start]
            while stack:
                for other in near[stack.pop()]:
                    if group[other] < 0:
                        group[other] = start
                        stack.append(other)
    return group


Arc = tuple[int, int]

# Arcs that would need more bends than this, all together, are drawn without: the longest ones first. A graph
# that reaches it has more lines than an eye can follow.
MOST_BENDS = 20_000


@dataclass(frozen=True)
class Layers:
    """Vertices by layer: first the nodes, from ``n_nodes`` on the bends of long arcs.

    Attributes
    ----------
    rows : the vertices of each layer, from left to right
    above, below : for each vertex, its neighbours in the layer before and after
    routes : for each arc, the vertices it runs through, from parent to child
    """

    n_nodes: int
    rows: list[list[int]]
    above: list[list[int]]
    below: list[list[int]]
    routes: list[list[int]]

    def is_bend(self, vertex: int) -> bool:
        return vertex >= self.n_nodes


def in_layers(n_nodes: int, arcs: Sequence[Arc]) -> Layers:
    """Put the nodes 0 … n−1 in layers and lead long arcs through bends.

    Examples
    --------
    >>> layers = in_layers(3, [(0, 1), (1, 2), (0, 2)])
    >>> layers.rows, layers.routes[2]
    ([[0], [1, 3], [2]], [0, 3, 2])
    """
    layer = layer_of(n_nodes, arcs)
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node in range(n_nodes):
        rows[layer[node]].append(node)
    spans = sorted(range(len(arcs)), key=lambda a: layer[arcs[a][1]] - layer[arcs[a][0]])
    routes: list[list[int]] = [[parent, child] for parent, child in arcs]
    n = n_nodes
    for a in spans:
        parent, child = arcs[a]
        between = range(layer[parent] + 1, layer[child])
        if n - n_nodes + len(between) > MOST_BENDS:
            break
        for place in between:
            rows[place].append(n)
            routes[a].insert(-1, n)
            n += 1
    above: list[list[int]] = [[] for _ in range(n)]
    below: list[list[int]] = [[] for _ in range(n)]
    for (parent, child), route in zip(arcs, routes):
        if len(route) - 1 == layer[child] - layer[parent]:
            for upper, lower in pairwise(route):
                below[upper].append(lower)
                above[lower].append(upper)
    return Layers(n_nodes, rows, above, below, routes)
