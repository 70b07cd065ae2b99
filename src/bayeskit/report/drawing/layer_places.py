"""Where the vertices of each layer stand, side by side, as near as may be above and below their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from bayeskit.report.drawing.layers import Layers

Floats = list[float]

# A layout in which nothing moves by more than this, in pixels, is done.
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
    >>> from bayeskit.report.drawing.layers import in_layers
    >>> layers = in_layers(3, [(0, 2), (1, 2)])
    >>> [round(x, 6) for x in places(layers, layers.rows, [10.0, 10.0, 10.0], 4.0)]
    [-7.0, 7.0, 0.0]
    """
    x = [0.0] * len(widths)
    for row in rows:
        offsets = _offsets(row, widths, gap)
        for vertex, offset in zip(row, offsets):
            x[vertex] = offset - offsets[-1] / 2
    pairs = _weighed(layers)
    down, up = range(len(rows)), range(len(rows) - 1, -1, -1)
    # First by the layer above on the way down and by the one below on the way up, then by both, which settles.
    for both, times in ((False, 6), (True, 4)):
        for _ in range(times):
            moved = max((_move(rows[r], x, pairs, widths, gap, True, both) for r in down), default=0.0)
            back = max((_move(rows[r], x, pairs, widths, gap, both, True) for r in up), default=0.0)
            if max(moved, back) < NEAR:
                break
    return x


def _weighed(layers: Layers) -> tuple[list[list[tuple[int, float]]], list[list[tuple[int, float]]]]:
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
    """Move one layer to where its neighbours draw it; return the farthest way a vertex went."""
    goals, weights = [], []
    for vertex in row:
        near = (pairs[0][vertex] if use_above else []) + (pairs[1][vertex] if use_below else [])
        total = sum(w for _, w in near)
        # Nothing draws it: it stays, and gives way to whoever is drawn.
        goals.append(sum(x[u] * w for u, w in near) / total if near else x[vertex])
        weights.append(total if near else 1e-3)
    offsets = _offsets(row, widths, gap)
    found = nondecreasing([goal - offset for goal, offset in zip(goals, offsets)], weights)
    farthest = 0.0
    for vertex, place, offset in zip(row, found, offsets):
        farthest = max(farthest, abs(place + offset - x[vertex]))
        x[vertex] = place + offset
    return farthest


def _offsets(row: list[int], widths: Sequence[float], gap: float) -> Floats:
    """Return where the middles stand if the layer is packed as tight as it may be, the first at 0."""
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
    for goal, weight in zip(goals, weights):
        mean, mass, count = goal, weight, 1
        while means and means[-1] > mean:
            before = masses.pop()
            mean = (means.pop() * before + mean * mass) / (before + mass)
            mass += before
            count += counts.pop()
        means.append(mean)
        masses.append(mass)
        counts.append(count)
    return [mean for mean, count in zip(means, counts) for _ in range(count)]
