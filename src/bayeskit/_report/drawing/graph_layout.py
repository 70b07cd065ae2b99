"""The layered layout of a graph: the positions of its boxes and the paths of its arcs.

The method of Sugiyama, Tagawa and Toda (1981): layers, bends for long arcs, few crossings, then positions. It uses no
random numbers, so the same graph always has the same layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bayeskit._graphs.dag import Dag
from bayeskit._report.drawing.layers import Layers, in_layers, places, staggered, uncrossed

Point = tuple[float, float]

# The gap between boxes, the width of a bend, and the smallest and largest gap between layers.
NODE_GAP = 24.0
BEND = 6.0
LAYER_GAP = 48.0
LARGEST_LAYER_GAP = 130.0
# In a part of a graph that is wider than this, and twice as wide as high, nodes side by side take turns in several
# layers. Bends are then nearer to each other: a negative width takes off the gap. There are many more of them, and
# more sweeps against crossings make the picture no narrower.
WIDEST = 2000.0
CLOSE_BEND = -8.0
FEW_SWEEPS = 4
# The fraction of a box's width over which the ends of its arcs are spread, and the largest distance between them.
SPREAD = 0.7
PORT = 16.0


@dataclass(frozen=True)
class ComponentLayout:
    """The upper left corner of each box and the points of each route; the origin is (0, 0)."""

    width: float
    height: float
    corners: list[Point]
    routes: list[list[Point]]


def component_layout(
    arcs: Sequence[tuple[int, int]], sizes: Sequence[tuple[float, float]], nodes: Sequence[int]
) -> ComponentLayout:
    """Lay out boxes of these sizes; arcs name the boxes by ``nodes``."""
    number = {node: k for k, node in enumerate(nodes)}
    between = [(number[parent], number[child]) for parent, child in arcs]
    layers = in_layers(len(nodes), between)
    rows = uncrossed(layers)
    found = _placed(layers, rows, sizes, BEND)
    if found.width > max(WIDEST, 2 * found.height):
        widths = [width + NODE_GAP for width in _widths(layers, sizes, BEND)]
        room = max(WIDEST / 2, 0.4 * (found.width * found.height) ** 0.5)
        layers = in_layers(len(nodes), between, staggered(layers, rows, widths, room))
        other = _placed(layers, uncrossed(layers, FEW_SWEEPS), sizes, CLOSE_BEND)
        if max(other.width, other.height) < found.width:
            return other
    return found


def _widths(layers: Layers, sizes: Sequence[tuple[float, float]], bend: float) -> list[float]:
    return [float(width) for width, _ in sizes] + [bend] * (len(layers.above) - layers.n_nodes)


def _placed(
    layers: Layers, rows: list[list[int]], sizes: Sequence[tuple[float, float]], bend: float
) -> ComponentLayout:
    """Place boxes and routes in layers whose order is known."""
    widths = _widths(layers, sizes, bend)
    x = places(layers, rows, widths, NODE_GAP)
    left = min((place - width / 2 for place, width in zip(x, widths, strict=True)), default=0.0)
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
        max((place + width / 2 for place, width in zip(x, widths, strict=True)), default=0.0),
        bottoms[-1] if bottoms else 0.0,
        [(x[node] - widths[node] / 2, top_of(node)) for node in range(layers.n_nodes)],
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
        for vertex, here, there in zip(route[:-1], across[:-1], across[1:], strict=True):
            reach[row_of[vertex]] = max(reach[row_of[vertex]], abs(there - here))
    tops: list[float] = []
    bottoms: list[float] = []
    y = 0.0
    for row, farthest in zip(rows, reach, strict=True):
        tops.append(y)
        bottoms.append(y + max((float(sizes[v][1]) for v in row if not layers.is_bend(v)), default=0.0))
        y = bottoms[-1] + min(max(LAYER_GAP, 0.2 * farthest), LARGEST_LAYER_GAP)
    return tops, bottoms


@dataclass(frozen=True)
class Component:
    """Nodes that arcs join, in order, and the numbers of these arcs."""

    nodes: tuple[int, ...]
    arcs: tuple[int, ...]


def components(n_nodes: int, arcs: Sequence[tuple[int, int]]) -> list[Component]:
    """Return the connected parts of a graph, by their first node.

    >>> components(3, [(2, 0)])
    [Component(nodes=(0, 2), arcs=(0,)), Component(nodes=(1,), arcs=())]
    """
    near: list[list[int]] = [[] for _ in range(n_nodes)]
    for a, b in arcs:
        near[a].append(b)
        near[b].append(a)
    part = [-1] * n_nodes
    n_parts = 0
    for start in range(n_nodes):
        if part[start] >= 0:
            continue
        part[start] = n_parts
        stack = [start]
        while stack:
            for other in near[stack.pop()]:
                if part[other] < 0:
                    part[other] = n_parts
                    stack.append(other)
        n_parts += 1
    nodes: list[list[int]] = [[] for _ in range(n_parts)]
    inside: list[list[int]] = [[] for _ in range(n_parts)]
    for node, each in enumerate(part):
        nodes[each].append(node)
    for number, (parent, _) in enumerate(arcs):
        inside[part[parent]].append(number)
    return [Component(tuple(n), tuple(a)) for n, a in zip(nodes, inside, strict=True)]


def on_shelves(
    sizes: Sequence[tuple[float, float]], gap: float, shape: float = 1.6
) -> tuple[list[tuple[float, float]], float, float]:
    """Arrange rectangles on shelves, the tallest first. Return their corners, the width and the height.

    ``shape`` is the desired ratio of width to height. A rectangle that is wider gets its own shelf.

    >>> on_shelves([(10, 10), (10, 30)], 5, shape=9)
    ([(15.0, 0.0), (0.0, 0.0)], 25.0, 30.0)
    """
    order = sorted(range(len(sizes)), key=lambda k: -sizes[k][1])
    area = sum((width + gap) * (height + gap) for width, height in sizes)
    room = max([(area * shape) ** 0.5, *(width + gap for width, _ in sizes)], default=0.0)
    corners = [(0.0, 0.0)] * len(sizes)
    x = y = shelf = widest = bottom = 0.0
    for k in order:
        width, height = sizes[k]
        if x > 0 and x + width > room:
            x, y = 0.0, y + shelf + gap
            shelf = 0.0
        corners[k] = (x, y)
        x += width + gap
        shelf = max(shelf, height)
        widest, bottom = max(widest, x - gap), max(bottom, y + height)
    return corners, float(widest), float(bottom)


Direction = Literal["down", "right"]

GAP = 28.0


@dataclass(frozen=True)
class Box:
    """A rectangle: its left upper corner and its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """Boxes in the order of the nodes, routes in the order of the arcs, within 0 … width and 0 … height.

    A route is a list of points, joined by alternating straight lines and curves, starting with a straight line.
    Straight parts run in the direction of the layout, and only these pass next to boxes.
    """

    width: float
    height: float
    boxes: tuple[Box, ...]
    routes: tuple[tuple[Point, ...], ...]
    direction: Direction = "down"

    def turned(self) -> Layout:
        """Return the layout with right and down exchanged."""
        return Layout(
            self.height,
            self.width,
            tuple(Box(b.y, b.x, b.height, b.width) for b in self.boxes),
            tuple(tuple((y, x) for x, y in route) for route in self.routes),
            "down" if self.direction == "right" else "right",
        )


def lay_out(dag: Dag, sizes: Sequence[tuple[float, float]], direction: Direction = "down") -> Layout:
    """Return the layout of a graph.

    Parameters
    ----------
    dag : the graph
    sizes : (width, height) of each node's box
    direction : "down" or "right", the direction of the arcs

    Examples
    --------
    >>> layout = lay_out(Dag.of({"wet": ["rain"]}, ["rain", "wet"]), [(60, 20), (60, 20)])
    >>> [(box.x, box.y) for box in layout.boxes]
    [(0.0, 0.0), (0.0, 68.0)]
    """
    if direction == "right":
        return lay_out(dag, [(height, width) for width, height in sizes]).turned()
    arcs = [(dag.position[parent], dag.position[child]) for parent, child in dag.arcs]
    boxes: list[Box] = [Box(0.0, 0.0, 0.0, 0.0)] * len(dag.nodes)
    routes: list[tuple[Point, ...]] = [()] * len(arcs)
    parts = components(len(dag.nodes), arcs)
    drawn = [
        component_layout([arcs[a] for a in part.arcs], [sizes[node] for node in part.nodes], part.nodes)
        for part in parts
    ]
    corners, width, height = on_shelves([(each.width, each.height) for each in drawn], GAP)
    for part, each, (left, top) in zip(parts, drawn, corners, strict=True):
        for node, (x, y) in zip(part.nodes, each.corners, strict=True):
            boxes[node] = Box(left + x, top + y, *map(float, sizes[node]))
        for a, route in zip(part.arcs, each.routes, strict=True):
            routes[a] = tuple((left + x, top + y) for x, y in route)
    return Layout(width, height, tuple(boxes), tuple(routes))
