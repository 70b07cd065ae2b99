"""The layout of a graph in one piece, arcs leading down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bayeskit.report.drawing.crossings import uncrossed
from bayeskit.report.drawing.layer_places import places
from bayeskit.report.drawing.layers import Layers, in_layers

Point = tuple[float, float]

# Between boxes side by side; what a bend takes; between layers at the least and at the most.
GAP = 24.0
BEND = 6.0
LAYER_GAP = 48.0
LARGEST_LAYER_GAP = 130.0
# The share of a box's width that the ends of its arcs may spread over, and how far apart they stand at most.
SPREAD = 0.7
PORT = 16.0


@dataclass(frozen=True)
class ComponentLayout:
    """The left upper corner of each box and the points of each route; all begins at (0, 0)."""

    width: float
    height: float
    corners: list[Point]
    routes: list[list[Point]]


def component_layout(
    arcs: Sequence[tuple[int, int]], sizes: Sequence[tuple[float, float]], nodes: Sequence[int]
) -> ComponentLayout:
    """Lay out boxes of these sizes; arcs name the boxes by ``nodes``."""
    number = {node: k for k, node in enumerate(nodes)}
    layers = in_layers(len(nodes), [(number[parent], number[child]) for parent, child in arcs])
    rows = uncrossed(layers)
    widths = [float(width) for width, _ in sizes] + [BEND] * (len(layers.above) - len(nodes))
    x = places(layers, rows, widths, GAP)
    left = min((place - width / 2 for place, width in zip(x, widths)), default=0.0)
    x = [place - left for place in x]
    starts, ends = _ports(layers, x, widths)
    tops, bottoms = _bands(layers, rows, sizes, starts, ends, x)
    row_of = {vertex: r for r, row in enumerate(rows) for vertex in row}

    def top_of(node: int) -> float:
        r = row_of[node]
        return (tops[r] + bottoms[r] - sizes[node][1]) / 2

    routes = []
    for a, (first, *bends, last) in enumerate(layers.routes):
        points = [(starts[a], top_of(first) + sizes[first][1]), (starts[a], bottoms[row_of[first]])]
        for bend in bends:
            points += [(x[bend], tops[row_of[bend]]), (x[bend], bottoms[row_of[bend]])]
        routes.append([*points, (ends[a], tops[row_of[last]]), (ends[a], top_of(last))])
    return ComponentLayout(
        max((place + width / 2 for place, width in zip(x, widths)), default=0.0),
        bottoms[-1] if bottoms else 0.0,
        [(x[node] - widths[node] / 2, top_of(node)) for node in range(len(nodes))],
        routes,
    )


def _ports(layers: Layers, x: list[float], widths: list[float]) -> tuple[list[float], list[float]]:
    """Return where each arc leaves its parent's box and where it meets its child's: spread, in the order of where
    it comes from or goes to, so that the arcs of one box do not cross at its rim."""
    starts, ends = [0.0] * len(layers.routes), [0.0] * len(layers.routes)
    for found, end, beside in ((starts, 0, 1), (ends, -1, -2)):
        at: dict[int, list[int]] = {}
        for a, route in enumerate(layers.routes):
            at.setdefault(route[end], []).append(a)
        for node, mine in at.items():
            mine.sort(key=lambda a: x[layers.routes[a][beside]])
            step = min(PORT, widths[node] * SPREAD / len(mine))
            for k, a in enumerate(mine):
                found[a] = x[node] + (k - (len(mine) - 1) / 2) * step
    return starts, ends


def _bands(
    layers: Layers,
    rows: list[list[int]],
    sizes: Sequence[tuple[float, float]],
    starts: list[float],
    ends: list[float],
    x: list[float],
) -> tuple[list[float], list[float]]:
    """Return where each layer begins and ends. Where an arc goes far to the side the gap is larger, so that it does
    not lie flat."""
    row_of = {vertex: r for r, row in enumerate(rows) for vertex in row}
    reach = [0.0] * len(rows)
    for a, route in enumerate(layers.routes):
        across = [starts[a], *(x[bend] for bend in route[1:-1]), ends[a]]
        for vertex, here, there in zip(route, across, across[1:]):
            reach[row_of[vertex]] = max(reach[row_of[vertex]], abs(there - here))
    tops: list[float] = []
    bottoms: list[float] = []
    y = 0.0
    for row, farthest in zip(rows, reach):
        tops.append(y)
        bottoms.append(y + max((float(sizes[v][1]) for v in row if not layers.is_bend(v)), default=0.0))
        y = bottoms[-1] + min(max(LAYER_GAP, 0.2 * farthest), LARGEST_LAYER_GAP)
    return tops, bottoms
