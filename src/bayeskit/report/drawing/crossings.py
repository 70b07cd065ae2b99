"""The order of the vertices in each layer, so that few arcs cross.

Sweeps down and up by the median of the neighbours, with swaps of adjacent vertices in between; the best
order met is kept. After Gansner, Koutsofios, North and Vo, *A technique for drawing directed graphs* (1993).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from itertools import pairwise

from bayeskit.report.drawing.layers import Layers

# Sweeps without gain before giving up, and the arcs up to which adjacent vertices are tried in exchange.
PATIENCE = 4
MOST_SWEEPS = 24
MOST_ARCS_TO_SWAP = 4_000


def uncrossed(layers: Layers) -> list[list[int]]:
    """Return the rows of the layers in an order with few crossings.

    Examples
    --------
    >>> from bayeskit.report.drawing.layers import in_layers
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
    for sweep in range(MOST_SWEEPS):
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
        ends: list[int] = []  # of the arcs met so far, sorted
        for vertex in upper:
            mine = sorted(place[v] for v in below[vertex])
            total += sum(len(ends) - bisect_right(ends, end) for end in mine)
            for end in mine:
                insort(ends, end)
    return total


def _walked(layers: Layers, down: bool) -> list[list[int]]:
    """Return the rows in the order in which a walk in depth meets the vertices: a tree has no crossing then."""
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
    """Order each row by the medians of its neighbours in the row before; who has none stays in place."""
    near = layers.above if down else layers.below
    order = range(1, len(rows)) if down else range(len(rows) - 2, -1, -1)
    for r in order:
        place = {vertex: i for i, vertex in enumerate(rows[r - 1 if down else r + 1])}
        median = {v: _median(sorted(place[u] for u in near[v])) for v in rows[r] if near[v]}
        moving = iter(sorted(median, key=median.__getitem__))
        rows[r] = [next(moving) if v in median else v for v in rows[r]]


def _median(places: list[int]) -> float:
    """Return the middle place; of an even number the mean of the two, nearer to where the others crowd."""
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
    """Exchange neighbours in a row while that takes crossings away."""
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
    """Count the crossings between the arcs of two vertices, the first standing left of the second."""
    return sum(bisect_left(right, end) for end in left)
