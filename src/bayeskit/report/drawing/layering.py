"""The layer of each node of a graph: parents before children, the arcs short all together.

The longest path to a node comes first. Then whatever has more arcs on one side moves there: single nodes, and
groups that arcs of length one hold together. Each move takes away from the sum of the lengths, so it ends; the
least sum (which the network simplex finds) is not promised.
"""

from __future__ import annotations

from collections.abc import Sequence

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
