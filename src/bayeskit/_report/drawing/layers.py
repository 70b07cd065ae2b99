"""The nodes of a graph in layers, with every arc from one layer to the next.

An arc that spans more than one layer goes through a *bend* in each layer between, so that it has its own position there
and does not cross a box.

The vertices of each layer are ordered so that few arcs cross: sweeps down and up by the median of the neighbours, with
swaps of adjacent vertices in between. The best order is kept. Then they get positions, as close as possible above and
below their neighbours. After Gansner, Koutsofios, North and Vo, *A technique for drawing directed graphs* (1993).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

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
    for node in order:  # the list grows during the loop
        for child in children[node]:
            waiting[child] -= 1
            if waiting[child] == 0:
                order.append(child)
    return order


def _move_nodes(
    layer: list[int], order: list[int], parents: list[list[int]], children: list[list[int]]
) -> bool:
    """Move each node with more children than parents down to them, and other nodes up to their parents."""
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
    """Move every group with more long arcs on this side than on the other to the end of its nearest arc.

    All groups may move at once: their targets only move in the same direction, and the sum of the lengths is linear in
    the moves.
    """
    group = _groups(layer, arcs)
    pull = [0] * len(layer)  # long arcs ahead minus long arcs behind, by group
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
    """Return the group of each node: nodes connected by arcs of length one."""
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

# If all arcs together need more bends than this, the longest arcs are drawn without. Such a graph has more lines than
# anyone can follow.
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


def in_layers(n_nodes: int, arcs: Sequence[Arc], layer: Sequence[int] | None = None) -> Layers:
    """Put the nodes 0 … n−1 in layers, by default those of :func:`layer_of`, and route long arcs through bends.

    Examples
    --------
    >>> layers = in_layers(3, [(0, 1), (1, 2), (0, 2)])
    >>> layers.rows, layers.routes[2]
    ([[0], [1, 3], [2]], [0, 3, 2])
    """
    layer = layer_of(n_nodes, arcs) if layer is None else layer
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
    for (parent, child), route in zip(arcs, routes, strict=True):
        if len(route) - 1 == layer[child] - layer[parent]:
            for upper, lower in pairwise(route):
                below[upper].append(lower)
                above[lower].append(upper)
    return Layers(n_nodes, rows, above, below, routes)


def staggered(layers: Layers, rows: list[list[int]], widths: Sequence[float], room: float) -> list[int]:
    """Return the layer of each node, where neighbours of a layer wider than ``room`` take turns in several.

    Arcs to the lower ones run between the nodes of the upper ones.

    Examples
    --------
    >>> layers = in_layers(5, [(0, 1), (0, 2), (0, 3), (0, 4)])
    >>> staggered(layers, layers.rows, [10.0] * 5, 20.0)
    [0, 1, 2, 1, 2]
    """
    found, first = [0] * layers.n_nodes, 0
    for row in rows:
        nodes = [vertex for vertex in row if not layers.is_bend(vertex)]
        turns = min(ceil(sum(widths[vertex] for vertex in row) / room), len(nodes))
        for k, node in enumerate(nodes):
            found[node] = first + k % turns
        first += turns
    return found


Floats = list[float]

# The layout has converged if nothing moves by more than this, in pixels.
NEAR = 0.1


def places(layers: Layers, rows: list[list[int]], widths: Sequence[float], gap: float) -> Floats:
    """Return the middle of each vertex on the axis along its layer.

    Each layer in turn moves to the means of its neighbours, least squares under the order and the least
    distances within the layer. Two vertices of a layer are never nearer than their widths and the gap.

    Parameters
    ----------
    rows : the vertices of each layer in their order
    widths : of each vertex, bends included

    Examples
    --------
    >>> from bayeskit._report.drawing.layers import in_layers
    >>> layers = in_layers(3, [(0, 2), (1, 2)])
    >>> [round(x, 6) for x in places(layers, layers.rows, [10.0, 10.0, 10.0], 4.0)]
    [-7.0, 7.0, 0.0]
    """
    x = [0.0] * len(widths)
    for row in rows:
        offsets = _offsets(row, widths, gap)
        for vertex, offset in zip(row, offsets, strict=True):
            x[vertex] = offset - offsets[-1] / 2
    pairs = _weighted_neighbours(layers)
    down, up = range(len(rows)), range(len(rows) - 1, -1, -1)
    # First use the layer above on the way down and the one below on the way up, then both, which converges.
    for both, times in ((False, 6), (True, 4)):
        for _ in range(times):
            moved = max((_move(rows[r], x, pairs, widths, gap, True, both) for r in down), default=0.0)
            back = max((_move(rows[r], x, pairs, widths, gap, both, True) for r in up), default=0.0)
            if max(moved, back) < NEAR:
                break
    return x


def _weighted_neighbours(
    layers: Layers,
) -> tuple[list[list[tuple[int, float]]], list[list[tuple[int, float]]]]:
    """Return (neighbour, weight) above and below: bends pull most, so that long arcs are straight."""

    def weight(a: int, b: int) -> float:
        return (1.0, 2.0, 8.0)[layers.is_bend(a) + layers.is_bend(b)]

    def each(near: list[list[int]]) -> list[list[tuple[int, float]]]:
        return [[(u, weight(v, u)) for u in others] for v, others in enumerate(near)]

    return each(layers.above), each(layers.below)


def _move(
    row: list[int],
    x: Floats,
    pairs: tuple[list[list[tuple[int, float]]], list[list[tuple[int, float]]]],
    widths: Sequence[float],
    gap: float,
    use_above: bool,
    use_below: bool,
) -> float:
    """Move one layer towards its neighbours. Return the largest distance that a vertex moved."""
    goals, weights = [], []
    for vertex in row:
        near = (pairs[0][vertex] if use_above else []) + (pairs[1][vertex] if use_below else [])
        total = sum(w for _, w in near)
        # A vertex without neighbours stays, and makes room for nodes that move.
        goals.append(sum(x[u] * w for u, w in near) / total if near else x[vertex])
        weights.append(total if near else 1e-3)
    offsets = _offsets(row, widths, gap)
    found = nondecreasing([goal - offset for goal, offset in zip(goals, offsets, strict=True)], weights)
    farthest = 0.0
    for vertex, place, offset in zip(row, found, offsets, strict=True):
        farthest = max(farthest, abs(place + offset - x[vertex]))
        x[vertex] = place + offset
    return farthest


def _offsets(row: list[int], widths: Sequence[float], gap: float) -> Floats:
    """Return the centres if the layer is packed as tightly as possible, the first at 0."""
    found = [0.0]
    for left, right in pairwise(row):
        found.append(found[-1] + (widths[left] + widths[right]) / 2 + gap)
    return found


def nondecreasing(goals: Floats, weights: Floats) -> Floats:
    """Return the nondecreasing numbers nearest to the goals by weighted squares (pool adjacent violators).

    >>> nondecreasing([1.0, 4.0, 2.0], [1.0, 1.0, 1.0])
    [1.0, 3.0, 3.0]
    """
    means: Floats = []
    masses: Floats = []
    counts: list[int] = []
    for goal, weight in zip(goals, weights, strict=True):
        mean, mass, count = goal, weight, 1
        while means and means[-1] > mean:
            before = masses.pop()
            mean = (means.pop() * before + mean * mass) / (before + mass)
            mass += before
            count += counts.pop()
        means.append(mean)
        masses.append(mass)
        counts.append(count)
    return [mean for mean, count in zip(means, counts, strict=True) for _ in range(count)]


# The number of sweeps without gain before stopping, and the maximum number of arcs for swapping adjacent vertices.
PATIENCE = 4
MOST_SWEEPS = 24
MOST_ARCS_TO_SWAP = 4_000


def uncrossed(layers: Layers, most_sweeps: int = MOST_SWEEPS) -> list[list[int]]:
    """Return the rows of the layers in an order with few crossings.

    Examples
    --------
    >>> from bayeskit._report.drawing.layers import in_layers
    >>> uncrossed(in_layers(4, [(0, 3), (1, 2)]))
    [[0, 1], [3, 2]]
    """
    starts = [_walked(layers, down=True), _walked(layers, down=False), layers.rows]
    best, fewest = min(
        ((rows, n_crossings(rows, layers.below)) for rows in starts), key=lambda found: found[1]
    )
    rows = [list(row) for row in best]
    swaps = sum(map(len, layers.below)) <= MOST_ARCS_TO_SWAP
    idle = 0
    for sweep in range(most_sweeps):
        if fewest == 0 or idle == PATIENCE:
            break
        _sweep(rows, layers, down=sweep % 2 == 0)
        if swaps:
            _swap(rows, layers)
        count = n_crossings(rows, layers.below)
        idle += 1
        if count < fewest:
            best, fewest, idle = [list(row) for row in rows], count, 0
    return best


def n_crossings(rows: list[list[int]], below: list[list[int]]) -> int:
    """Count the pairs of arcs that cross between neighbouring layers.

    >>> n_crossings([[0, 1], [2, 3]], [[3], [2], [], []])
    1
    """
    total = 0
    for upper, lower in pairwise(rows):
        place = {vertex: i for i, vertex in enumerate(lower)}
        ends: list[int] = []  # the sorted ends of the arcs so far
        for vertex in upper:
            mine = sorted(place[v] for v in below[vertex])
            total += sum(len(ends) - bisect_right(ends, end) for end in mine)
            for end in mine:
                insort(ends, end)
    return total


def _walked(layers: Layers, down: bool) -> list[list[int]]:
    """Return the rows in depth-first order of the vertices. A tree then has no crossings."""
    onward, back = (layers.below, layers.above) if down else (layers.above, layers.below)
    depth = {vertex: r for r, row in enumerate(layers.rows) for vertex in row}
    rows: list[list[int]] = [[] for _ in layers.rows]
    seen = [False] * len(layers.above)
    for row in layers.rows if down else layers.rows[::-1]:
        for start in row:
            stack = [start] if not back[start] else []
            while stack:
                vertex = stack.pop()
                if not seen[vertex]:
                    seen[vertex] = True
                    rows[depth[vertex]].append(vertex)
                    stack.extend(reversed(onward[vertex]))
    return rows


def _sweep(rows: list[list[int]], layers: Layers, down: bool) -> None:
    """Order each row by the medians of its neighbours in the row before; nodes without any stay in place."""
    near = layers.above if down else layers.below
    order = range(1, len(rows)) if down else range(len(rows) - 2, -1, -1)
    for r in order:
        place = {vertex: i for i, vertex in enumerate(rows[r - 1 if down else r + 1])}
        median = {v: _median(sorted(place[u] for u in near[v])) for v in rows[r] if near[v]}
        moving = iter(sorted(median, key=median.__getitem__))
        rows[r] = [next(moving) if v in median else v for v in rows[r]]


def _median(places: list[int]) -> float:
    """Return the median. For an even number, weight the two middle values towards the denser side."""
    middle, odd = divmod(len(places), 2)
    if odd:
        return float(places[middle])
    if len(places) == 2:
        return sum(places) / 2
    left, right = places[middle - 1] - places[0], places[-1] - places[middle]
    if left + right == 0:
        return (places[middle - 1] + places[middle]) / 2
    return (places[middle - 1] * right + places[middle] * left) / (left + right)


def _swap(rows: list[list[int]], layers: Layers, passes: int = 4) -> None:
    """Swap neighbours in a row while this removes crossings."""
    for _ in range(passes):
        gained = False
        for r, row in enumerate(rows):
            sides = [
                (near, {vertex: i for i, vertex in enumerate(rows[other])})
                for near, other in ((layers.above, r - 1), (layers.below, r + 1))
                if 0 <= other < len(rows)
            ]
            ends = {v: [sorted(place[u] for u in near[v]) for near, place in sides] for v in row}
            for i in range(len(row) - 1):
                a, b = ends[row[i]], ends[row[i + 1]]
                if sum(map(_crossed, a, b)) > sum(map(_crossed, b, a)):
                    row[i], row[i + 1] = row[i + 1], row[i]
                    gained = True
        if not gained:
            break


def _crossed(left: list[int], right: list[int]) -> int:
    """Count the crossings between the arcs of two vertices, the first to the left of the second."""
    return sum(bisect_left(right, end) for end in left)
